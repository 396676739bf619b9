"""Media of an export, thinned: small copies of videos and pictures, each once, within a limit in all."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from vivant.core.errors import VivantError
from vivant.core.types import Image, Text, Video
from vivant.core.worker_pool import ProcessPool
from vivant.view.catalog import RunEntry
from vivant.view.context import SampleDetails
from vivant.view.export_links import FileLinks
from vivant.view.media import MediaAccess, RequestImages, count_images, list_media

PICTURES = 4
"""Pictures of a sample that are exported, spread over those that the model saw."""
SIDE = 320
"""Pixels of the longer side, of pictures and videos."""
RATE = 8
"""Frames a second of videos."""
_SHARE = 2 / 3
"""Of the limit, the most that videos and sound take; pictures have the rest."""

Selected = dict[str, list[SampleDetails]]
"""By run, the samples that are exported."""


class _Source(Struct, frozen=True):
    """A file that samples name, and its copy."""

    kind: str
    path: str
    name: str
    target: Path


class MediaExporter:
    """Writes copies into `media/` and tells the links."""

    def __init__(self, out: Path, links: FileLinks, megabytes: float) -> None:
        self._out, self._links = out, links
        self.limit = int(megabytes * 1_000_000)
        self.used = 0
        self.videos = 0
        self.problems: list[str] = []
        self._access = MediaAccess(None)

    async def add(self, runs: Sequence[RunEntry], details: Selected) -> None:
        """Videos and sound first, then pictures, in turns over the runs, so that the limit cuts all of them alike."""
        (self._out / "media").mkdir()
        self._add_files(runs, details)
        images = RequestImages(self._access)
        try:
            for run, each, index in _list_pictures(runs, details):
                if each.record is None:
                    continue
                key = each.row["key"]
                try:
                    data = shrink_picture((await images.load(run, each.record, index)).data)
                except (VivantError, OSError) as error:
                    self.problems.append(f"{run.name}, {key}: {error}")
                    continue
                name = self._write(data, "jpg")
                if name is None:
                    return
                self._links.pictures[run.rid, key, index] = name
        finally:
            images.close()

    def _write(self, data: bytes, ending: str) -> str | None:
        """Write a copy unless there is the same already; None where the limit is reached."""
        name = f"media/{hashlib.sha256(data).hexdigest()[:20]}.{ending}"
        if not (self._out / name).exists():
            if self.used + len(data) > self.limit:
                return None
            self.used += len(data)
            (self._out / name).write_bytes(data)
        return name

    def _add_files(self, runs: Sequence[RunEntry], details: Selected) -> None:
        """Files that questions and prompts name: samples and runs often share them, so each is copied once."""
        wanted: dict[str, list[tuple[str, str, int]]] = {}
        sources: dict[str, _Source] = {}
        for run, each in _interleave(runs, details):
            for index, part in enumerate(list_media(each.sample, each.record)):
                if isinstance(part, Text) or (isinstance(part, Image) and part.tiles):
                    continue
                try:
                    file = self._access.find(run, each.row["task"], part)
                except (VivantError, OSError) as error:
                    self.problems.append(f"{run.name}, {each.row['key']}: {error}")
                    continue
                kind = "video" if isinstance(part, Video) else "image" if isinstance(part, Image) else "audio"
                path = os.path.realpath(file.path)
                wanted.setdefault(path, []).append((run.rid, each.row["key"], index))
                target = self._out / "media" / f"draft-{len(sources)}"
                sources.setdefault(path, _Source(kind, path, part.path, target))
        pool = ProcessPool(2, partial(_copy_file, side=SIDE, rate=RATE))
        for source, problem in pool.run(list(sources.values())):
            if problem is None:
                problem = f"{source.name} ended the process that read it"
            if problem:
                self.problems.append(problem)
            elif not self._keep(source, wanted[source.path]):
                break
        for source in sources.values():
            source.target.unlink(missing_ok=True)

    def _keep(self, source: _Source, places: Sequence[tuple[str, str, int]]) -> bool:
        data = source.target.read_bytes()
        if source.kind != "image" and self.used + len(data) > self.limit * _SHARE:
            return False
        ending = (
            {"video": "mp4", "image": "jpg"}.get(source.kind) or Path(source.path).suffix.lstrip(".") or "bin"
        )
        name = self._write(data, ending)
        if name is None:
            return False
        self.videos += source.kind == "video"
        self._links.files.update(dict.fromkeys(places, name))
        return True


def _copy_file(source: _Source, side: int, rate: float) -> str:
    """Write a thinned copy, in a process of its own: a damaged file may end it. What went wrong, or nothing."""
    try:
        if source.kind == "video":
            from vivant.media.preview import write_preview

            write_preview(source.path, source.name, source.target, side=side, fps=rate)
        else:
            data = Path(source.path).read_bytes()
            source.target.write_bytes(shrink_picture(data, side) if source.kind == "image" else data)
    except (VivantError, OSError) as error:
        return str(error)
    return ""


def _interleave(runs: Sequence[RunEntry], details: Selected) -> Iterator[tuple[RunEntry, SampleDetails]]:
    longest = max((len(each) for each in details.values()), default=0)
    for index in range(longest):
        for run in runs:
            if index < len(details[run.rid]):
                yield run, details[run.rid][index]


def _list_pictures(
    runs: Sequence[RunEntry], details: Selected
) -> Iterator[tuple[RunEntry, SampleDetails, int]]:
    for run, each in _interleave(runs, details):
        count = count_images(each.record) if each.record is not None else 0
        picture_count = min(PICTURES, count)
        for step in range(picture_count):
            yield run, each, step * (count - 1) // max(1, picture_count - 1)


def shrink_picture(data: bytes, side: int = SIDE) -> bytes:
    """A picture as a small JPEG."""
    from PIL import Image as PillowImage

    with PillowImage.open(io.BytesIO(data)) as picture:
        small = picture.convert("RGB")
        small.thumbnail((side, side))
        buffer = io.BytesIO()
        small.save(buffer, "JPEG", quality=80)
    return buffer.getvalue()
