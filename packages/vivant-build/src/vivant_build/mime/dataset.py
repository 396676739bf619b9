"""A rendered folder as a dataset to share: editions in two sizes, splits by action, a data sheet, checksums.

    OUT/README.md, plan.json, SHA256SUMS (written last: its presence says that all is there)
    OUT/original/{train,validation,test}/metadata.jsonl and the videos as they were rendered
    OUT/cropped/…  the same, cut around the middle to 640×480

Each edition is a folder that the loader reads: `vivant run mime --data OUT/cropped`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import msgspec
from msgspec import Struct

from vivant.core import randomness as chance
from vivant.core.checksums import SUMS, digest_file, list_files, write_sums
from vivant.core.errors import DataError, MediaError
from vivant.core.files import is_temporary
from vivant.core.progress import ProgressCallback
from vivant.core.yaml_files import write_text
from vivant.media.encoding import FrameEncoder
from vivant.media.scan import open_media, video_stream
from vivant_build.mime.check import check_folder
from vivant_build.mime.edition import METADATA, PLAN, SHEET, Edition, read_edition
from vivant_build.mime.plan import MimeMetadataRow
from vivant_build.mime.rasterizer import Picture
from vivant_build.mime.video import crop_centre, encode

SPLITS = ("train", "validation", "test")
SHARES = (36, 14, 36)
"""MIME's own actions for training, validation and test."""
CROPPED = (640, 480)
CROPS = ".crops"
"""One line a cropped video: the SHA-256 of the video it was cut from, its own, and its name."""

_NAMED = 3
"""How many faults of a folder a refusal names."""


class MimeDataset(Struct, frozen=True, kw_only=True):
    """What a folder of a dataset holds."""

    folder: Path
    editions: Mapping[str, tuple[int, int]]
    """Name → width and height of its videos."""
    splits: Mapping[str, str]
    """Action → split."""
    videos: int
    """In each edition."""
    bytes: int
    files: int


def split_actions(actions: Sequence[str], seed: int, shares: Sequence[int] = SHARES) -> dict[str, str]:
    """Each action's split: all its variants go together, so that no motion is both trained and tested on.

    In proportion to `shares`, by largest remainders; three actions or more leave no split empty. An action's
    place depends on its name and the seed, not on the order of actions.
    """
    names = sorted(set(actions), key=lambda name: (chance.derive_seed(seed, "mime-split", name), name))
    total, count = sum(shares), len(names)
    sizes = [count * share // total for share in shares]
    by_rest = sorted(range(len(shares)), key=lambda index: (-(count * shares[index] % total), -index))
    for index in by_rest[: count - sum(sizes)]:
        sizes[index] += 1
    for index in range(len(sizes)):
        if count >= len(sizes) and not sizes[index]:
            sizes[sizes.index(max(sizes))] -= 1
            sizes[index] += 1
    remaining = iter(names)
    return {next(remaining): split for split, size in zip(SPLITS, sizes, strict=True) for _ in range(size)}


def make_dataset(
    source: Path,
    out: Path,
    *,
    seed: int = 29,
    licence: str = "",
    title: str = "",
    workers: int = 1,
    progress: ProgressCallback | None = None,
) -> MimeDataset:
    """Make a dataset in `out` from a folder that `vivant build mime render` made. Run again, it goes on.

    Raises where `check_folder` finds a fault in it.
    """
    from vivant_build.mime.cards import format_card

    edition = read_edition(source)
    rows = _read_rows(source)
    splits = split_actions([row.action for row in rows], seed)
    rows = [msgspec.structs.replace(row, split=splits[row.action]) for row in rows]
    editions = _editions(edition.specification.size)
    if out.resolve() == source.resolve():
        raise DataError(f"{out} is the folder of the rendered videos; name another one with --out")
    try:
        _refuse_strangers(out, editions)
        report = check_folder(source, workers=workers, progress=progress)
        if report.lines:
            raise DataError(report.summary(source, _NAMED))
        (out / SUMS).unlink(missing_ok=True)
        for name in editions:
            _tidy(out / name, {row.file_name: row.split for row in rows})
        _fill(source, out, edition, rows, editions, workers, progress)
        for name in editions:
            for split in SPLITS:
                lines = [msgspec.json.encode(row) + b"\n" for row in rows if row.split == split]
                if lines:
                    write_text(out / name / split / METADATA, b"".join(lines).decode())
        shutil.copyfile(source / PLAN, out / PLAN)
        sizes = {path: (out / path).stat().st_size for path in list_files(out) if path not in (SUMS, SHEET)}
        dataset = MimeDataset(
            folder=out,
            editions=editions,
            splits=splits,
            videos=len(rows),
            bytes=sum(sizes.values()),
            files=len(sizes) + 2,
        )
        write_text(out / SHEET, format_card(dataset, edition, rows, licence=licence, title=title))
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror or error}") from None
    _check_loads(dataset)
    write_sums(out)
    return dataset


def _editions(size: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """Original and cropped; one of them where videos are not larger than the crop."""
    if size == CROPPED:
        return {"cropped": CROPPED}
    if size[0] < CROPPED[0] or size[1] < CROPPED[1]:
        return {"original": size}
    return {"original": size, "cropped": CROPPED}


def _read_rows(source: Path) -> list[MimeMetadataRow]:
    file = source / METADATA
    try:
        lines = file.read_bytes().splitlines()
        rows = [msgspec.json.decode(line, type=MimeMetadataRow) for line in lines if line.strip()]
    except FileNotFoundError:
        raise DataError(
            f"{file} is not there, so not all videos are; run `vivant build mime render … --out {source}` to the end"
        ) from None
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise DataError(f"{file} is not metadata of this version: {error}; render it anew") from None
    missing = [row.file_name for row in rows if not (source / row.file_name).is_file()]
    if missing or not rows:
        named = (
            f"'{missing[0]}' and {len(missing) - 1} more are"
            if len(missing) > 1
            else f"'{''.join(missing)}' is"
        )
        raise DataError(f"{source}: {named} missing; `vivant build mime render` makes them anew")
    return rows


# ── videos ───────────────────────────────────────────────────────────────────────────────────────


def _refuse_strangers(out: Path, editions: Mapping[str, tuple[int, int]]) -> None:
    """Refuse a folder that holds other things: they would be overwritten, or given out with the dataset."""
    present = _list_visible(out)
    files = (PLAN, SHEET, SUMS) if set(present) & set(editions) else ()
    strangers = [out / name for name in present if name not in (*editions, *files)]
    for edition in editions:
        strangers += [out / edition / name for name in _list_visible(out / edition) if name not in SPLITS]
    if strangers:
        raise DataError(
            f"{strangers[0]} is not of this dataset; remove it, or name an empty folder with --out"
        )


def _list_visible(folder: Path) -> list[str]:
    if not folder.exists():
        return []
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def _tidy(folder: Path, places: Mapping[str, str]) -> None:
    """Bring videos of an earlier try to the splits they belong to now; refuse what is not of this dataset."""
    for split in SPLITS:
        (folder / split).mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        for video in sorted((folder / split).iterdir()):
            if video.name == METADATA or is_temporary(video):
                video.unlink()
            elif video.name not in places:
                raise DataError(
                    f"{video} is not of this dataset; remove it, or name an empty folder with --out"
                )
            elif places[video.name] != split:
                video.replace(folder / places[video.name] / video.name)


def _fill(
    source: Path,
    out: Path,
    edition: Edition,
    rows: Sequence[MimeMetadataRow],
    editions: Mapping[str, tuple[int, int]],
    workers: int,
    progress: ProgressCallback | None,
) -> None:
    spec, crops = edition.specification, _read_crops(out / CROPS)
    lock = Lock()

    def put(work: tuple[str, MimeMetadataRow]) -> str:
        name, row = work
        video, target = source / row.file_name, out / name / row.split / row.file_name
        if editions[name] == spec.size:
            if not _same(video, target):
                target.unlink(missing_ok=True)
                _link(video, target)
            return target.name
        cut_from = digest_file(video)
        if target.exists() and crops.get(target.name) == (cut_from, digest_file(target)):
            return target.name
        frames = _count(video)
        frames_written = encode(
            _cut(video, editions[name]), target, spec.fps, crf=spec.quality, preset=spec.effort
        )
        if frames_written != frames:
            target.unlink()
            raise MediaError(f"{video}: {frames_written} of {frames} frames could be decoded; render it anew")
        with lock, (out / CROPS).open("a", encoding="utf-8") as file:
            file.write(f"{cut_from}  {digest_file(target)}  {target.name}\n")
        return target.name

    work = [(name, row) for name in editions for row in rows]
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for done, name in enumerate(pool.map(put, work), 1):
            if progress is not None:
                progress(done, len(work), name)


def _read_crops(file: Path) -> dict[str, tuple[str, str]]:
    """The last line of each cropped video. A line that a kill tore matches no file, which is then cut again."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    parts = [line.split("  ", 2) for line in lines]
    return {part[2]: (part[0], part[1]) for part in parts if len(part) == 3}


def _same(first: Path, other: Path) -> bool:
    if not other.exists():
        return False
    return first.samefile(other) or (
        first.stat().st_size == other.stat().st_size and digest_file(first) == digest_file(other)
    )


def _link(video: Path, target: Path) -> None:
    """A second name for the same bytes; a copy where the disk is another one. Rendering never writes into a file."""
    try:
        os.link(video, target)
    except OSError:
        shutil.copy2(video, target)


def _count(video: Path) -> int:
    with open_media(str(video), str(video)) as container:
        stream = video_stream(container, str(video), threads=1)
        return stream.frames or sum(1 for _ in container.decode(stream))


def _cut(video: Path, size: tuple[int, int]) -> Iterator[Picture]:
    encoder = FrameEncoder()
    with open_media(str(video), str(video)) as container:
        for frame in container.decode(video_stream(container, str(video), threads=1)):
            yield crop_centre(encoder.pixels(frame), size)


def _check_loads(dataset: MimeDataset) -> None:
    """Read every edition as a run would; a dataset that its own loader refuses is not given out."""
    from vivant.benchmarks.mime import Mime

    for name in dataset.editions:
        samples = Mime().load(dataset.folder / name, "mime/mcq")
        wrong = [s.id for s in samples if s.facets["split"] != dataset.splits[s.facets["action"]]]
        if len(samples) != dataset.videos or wrong:
            raise DataError(
                f"{dataset.folder / name}: {len(samples)} of {dataset.videos} videos can be read back"
            )
