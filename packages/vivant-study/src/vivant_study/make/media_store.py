"""Media of a new study: linked or copied into its folder under names that say nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from vivant.core.errors import MediaError, UsageError
from vivant.core.generated_images import PREFIX
from vivant.core.types import Audio, Part, Text, Video
from vivant.media.paths import resolve_media
from vivant_study.design import MEDIA_DIR, StudyMedia, StudyText
from vivant_study.playback import find_playback_fault, transcode_video


class MediaStore:
    """Puts files into a study's media folder, each once.

    A file gets a second name there (a hard link), so that it takes no room and cannot lead out of the folder;
    on another disk that is impossible, and it is copied.
    """

    def __init__(self, folder: Path, seed: int, *, copy: bool, transcode: bool = False) -> None:
        self.folder = folder / MEDIA_DIR
        self.copied = self.linked = self.transcoded = 0
        self.unplayable: dict[str, str] = {}
        """Videos that some browsers do not play, and why."""
        self._transcode = transcode
        self._seed = seed
        self._copy = copy
        self._names: dict[str, str] = {}

    def content(
        self, parts: Iterable[Part], root: Path, run: Path | None = None
    ) -> tuple[StudyText | StudyMedia, ...]:
        """Parts of a question or an answer as a study shows them. Raises MediaError where a file is missing."""
        return tuple(self._convert(parts, root, run))

    def _convert(
        self, parts: Iterable[Part], root: Path, run: Path | None
    ) -> Iterator[StudyText | StudyMedia]:
        for part in parts:
            if isinstance(part, Text):
                if part.text.strip():
                    yield StudyText(part.text.strip())
            elif isinstance(part, Video):
                if part.start is not None or part.end is not None:
                    raise MediaError(f"{part.path} is shown in part only; cut the video for a study")
                yield StudyMedia(self._add(part.path, root, run, video=True), "video")
            elif isinstance(part, Audio):
                yield StudyMedia(self._add(part.path, root, run), "audio")
            else:
                for path in part.tiles or (part.path,):
                    yield StudyMedia(self._add(path, root, run), "image")

    def _add(self, path: str, root: Path, run: Path | None, *, video: bool = False) -> str:
        in_run = path.startswith(PREFIX)
        if in_run and run is None:
            raise MediaError(f"{path} belongs to a run, and there is none")
        source = resolve_media(run if in_run and run is not None else root, path.removeprefix(PREFIX))
        if source not in self._names:
            digest = hashlib.sha256(f"{self._seed}\x1f{source}".encode()).hexdigest()
            fault = find_playback_fault(Path(source), "video") if video else None
            convert = fault is not None and self._transcode
            name = digest[:20] + (".mp4" if convert else Path(source).suffix.lower())
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                if convert:
                    transcode_video(Path(source), self.folder / name)
                    self.transcoded += 1
                else:
                    self._copy_or_link(source, self.folder / name)
            except OSError as error:
                raise UsageError(f"Cannot write {self.folder / name}: {error.strerror}") from error
            if fault is not None and not convert:
                self.unplayable[path] = fault
            self._names[source] = name
        return self._names[source]

    def _copy_or_link(self, source: str, target: Path) -> None:
        if not self._copy:
            try:
                os.link(source, target)
            except OSError:
                # Another disk, or one without links: the file itself is as good, and `copied` tells of it.
                pass
            else:
                self.linked += 1
                return
        shutil.copyfile(source, target)
        self.copied += 1
