"""Everything that is wrong with the data, at once: pieces, questions, keys, videos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from vivant.benchmarks.base import DataReport
from vivant.benchmarks.mmrv import names
from vivant.benchmarks.mmrv.data import VIDEO_FOLDERS, Item, VideoIndex, format_id, read_items, to_sample
from vivant.benchmarks.mmrv.options import find_skipped_letters
from vivant.core.errors import DataError
from vivant.core.file_parts import FilePart, check_parts, find_parts
from vivant.core.progress import ProgressCallback
from vivant.core.types import Sample, Video
from vivant.media.archives import UnpackResult
from vivant.media.archives import unpack_archive as unpack_archive

STEM = "videos.tar.part."
LAST_PIECE = "av"
"""The release comes in 22 pieces, aa to av."""
WHOLE = ("videos.tar", "videos.tar.gz", "videos.tgz")

Verify = Callable[[Path], str | None]


# ── Archives ─────────────────────────────────────────────────────────────────────────────────────


def unpack(root: Path, progress: ProgressCallback | None = None) -> UnpackResult | None:
    """Join and unpack the videos' archive into `videos/`; None where there is no archive.

    May be interrupted and run again. The data name videos without a folder, so folders in the archive are
    dropped.
    """
    pieces = find_parts(root, STEM)
    problems: list[str] = []
    if pieces:
        sources, problems = check_parts(pieces, STEM)
    else:
        sources = [root / name for name in WHOLE if (root / name).is_file()][:1]
    if not sources:
        return UnpackResult(pieces=(), written=0, present=0, problems=tuple(problems)) if problems else None
    result = unpack_archive(
        sources, root / VIDEO_FOLDERS[0], choose_path=lambda path: PurePosixPath(path.name), progress=progress
    )
    last = sources[-1].name.removeprefix(STEM)
    if pieces and not problems and not result.complete and last < LAST_PIECE:
        problems = [
            f"{root}: the release has pieces up to {STEM}{LAST_PIECE}; here they end at {sources[-1].name}"
        ]
    return UnpackResult(
        pieces=result.pieces,
        written=result.written,
        present=result.present,
        problems=(*problems, *result.problems),
    )


# ── Questions and videos ─────────────────────────────────────────────────────────────────────────


def check(root: Path, progress: ProgressCallback | None = None, verify: Verify | None = None) -> DataReport:
    """Unpack what is in pieces, then list all that is there and all that is wrong."""
    lines: list[str] = []
    problems: list[str] = []
    folder = root if root.is_dir() else root.parent
    unpacked = unpack(folder, progress)
    if unpacked is not None:
        lines += [_format_piece(piece) for piece in unpacked.pieces]
        lines.append(f"archive: {unpacked.written} video(s) extracted, {unpacked.present} there already")
        problems += unpacked.problems
    try:
        items, file = read_items(root)
    except DataError as error:
        return DataReport(contents=tuple(lines), problems=(*problems, str(error)))
    samples, faults = _build_samples(items, VideoIndex(folder))
    problems += faults
    for _, sample in samples:
        problems += [f"{file}, question_idx {sample.id}: {line}" for line in _list_oddities(sample)]
    lines += _summarise(file, [sample for _, sample in samples])
    video_problems, sound = _check_videos(folder, [sample for _, sample in samples], verify)
    lines.append(f"videos: {sound} of {len({s.cluster for _, s in samples})} open")
    return DataReport(contents=tuple(lines), problems=(*problems, *video_problems))


def _format_piece(piece: FilePart) -> str:
    return f"{piece.name}: {piece.size:,} bytes, sha256 {piece.sha256}"


def _build_samples(
    items: Sequence[tuple[str, Item]], videos: VideoIndex
) -> tuple[list[tuple[str, Sample]], list[str]]:
    """Samples that can be made, and a line for every item that cannot, or whose id is taken."""
    samples: list[tuple[str, Sample]] = []
    problems: list[str] = []
    first_places: dict[str, str] = {}
    with_id = any(item.get("question_idx") is not None for _, item in items)
    for number, (where, item) in enumerate(items):
        value = item.get("question_idx") if with_id else number
        if value is None:
            problems.append(f"{where}: no question_idx, though other items have one")
            continue
        name = format_id(value)
        if name in first_places:
            problems.append(f"{where}: question_idx {name} stands already in {first_places[name]}")
            continue
        first_places[name] = where
        try:
            samples.append((where, to_sample(item, where, name, videos)))
        except DataError as error:
            problems.append(str(error))
    return samples, problems


def _list_oddities(sample: Sample) -> Iterator[str]:
    """What a run can live with and a reader of its figures should know."""
    letters = "".join(option.name for option in sample.options)
    if sample.key is None:
        key = sample.extra["bad_key"]
        yield f"the key {key!r} is no option ({letters}): nobody is right in `paper`, left out in `strict`"
    if beyond := sorted(set(letters) - set(names.LETTERS)):
        yield f"option(s) {', '.join(beyond)} lie beyond L, which the `paper` rules cannot read"
    if sample.facets["ability"] == "other":
        yield f"unknown ability {sample.facets['l2']!r}"
    if not names.is_known_l3(sample.facets["l3"]):
        yield f"unknown level-3 ability {sample.facets['l3']!r}"
    if sample.facets["type"] not in names.VIDEO_TYPES:
        yield f"unknown video type {sample.facets['type']!r}"


def _summarise(file: Path, samples: Sequence[Sample]) -> Iterator[str]:
    types = Counter(sample.facets["type"] for sample in samples)
    sides = Counter(sample.facets["l1"] for sample in samples)
    abilities = Counter(sample.facets["ability"] for sample in samples)
    yield f"{file}: {len(samples)} questions about {len({s.cluster for s in samples})} videos"
    yield "types: " + ", ".join(f"{name} {types[name]}" for name in sorted(types))
    yield "reasoning: " + ", ".join(f"{name} {sides[name]}" for name in sorted(sides))
    order = [code for code in (*names.ABILITIES, "other") if abilities[code]]
    yield "abilities: " + ", ".join(f"{code} {abilities[code]}" for code in order)
    skipped = [(s.id, find_skipped_letters(s.options)) for s in samples if find_skipped_letters(s.options)]
    if skipped:
        listing = ", ".join(f"{name} ({letters})" for name, letters in skipped[:8])
        more = " …" if len(skipped) > 8 else ""
        yield f"letters skipped in {len(skipped)} question(s): {listing}{more}"


def _check_videos(folder: Path, samples: Sequence[Sample], verify: Verify | None) -> tuple[list[str], int]:
    """A line for every video that is missing or does not open, and how many do."""
    if verify is None:
        from vivant.media import verify as verify_media

        verify = verify_media
    users: dict[str, list[str]] = {}
    for sample in samples:
        for part in sample.question:
            if isinstance(part, Video):
                users.setdefault(part.path, []).append(sample.id)
    problems: list[str] = []
    for name, ids in users.items():
        path = folder / name
        used_by = f"question_idx {ids[0]}" + (f" and {len(ids) - 1} more" if len(ids) > 1 else "")
        if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            problems.append(f"{name}: leads out of the data folder ({used_by})")
        elif not path.is_file():
            problems.append(f"{path}: missing ({used_by})")
        elif fault := verify(path):
            problems.append(f"{path}: {fault} ({used_by})")
    return problems, len(users) - len(problems)
