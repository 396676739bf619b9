"""The released files on disk → samples: JSON, JSON Lines or Parquet, and the folder of videos."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vivant.benchmarks.data_files import first_line, iter_json_lines, iter_parquet_rows, read_json
from vivant.benchmarks.mmrv import names
from vivant.benchmarks.mmrv.options import parse_key, parse_options, split_options
from vivant.core.errors import DataError
from vivant.core.optional_packages import require_package
from vivant.core.types import Sample, Text, Video

TASK = "mmrv/mcq"
FIELDS = ("video", "videoType", "question", "options", "correctAnswer", "abilityType_L2", "abilityType_L3")
NATIVE = ("videoType", "correctAnswer", "abilityType_L2", "abilityType_L3")
"""Fields whose own spelling is kept, so that an export gives it back."""
FILE_TYPES = (".json", ".jsonl", ".ndjson", ".parquet")
VIDEO_FOLDERS = ("videos", "videos_extracted", "MMR-V/videos", "")
"""Where videos are looked for, relative to the data folder; the first is where they belong."""

AS_WRITTEN = "as_written"
"""Where a sample keeps question and options with their own blanks and brackets, if these were cleaned."""

Item = Mapping[str, Any]


# ── Files ────────────────────────────────────────────────────────────────────────────────────────


def find_question_files(root: Path) -> list[Path]:
    """The file with the questions, or its shards; of two forms of one set, the first.

    Raises DataError where there is none, or where two files do not agree.
    """
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise DataError(f"{root}: no such folder")
    candidates = [
        path
        for folder in (root, root / "data", root / "test")
        if folder.is_dir()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.suffix in FILE_TYPES and not path.name.startswith(".")
    ]
    groups: dict[str, list[Path]] = {}
    for path in candidates:
        if _holds_questions(path):
            groups.setdefault(re.sub(r"-\d{5}-of-\d{5}", "", str(path)), []).append(path)
    if not groups:
        examined = ", ".join(path.name for path in candidates[:5]) or "no JSON, JSON Lines or Parquet file"
        raise DataError(
            f"{root}: no file with MMR-V questions (found: {examined}); give the file itself with --data"
        )
    first, *others = groups.values()
    for other in others:
        difference = _find_difference(first, other)
        if difference:
            both = f"{first[0].relative_to(root)} and {other[0].relative_to(root)}"
            raise DataError(
                f"{root}: {both} both hold MMR-V questions and do not agree: {difference}; give one with --data"
            )
    return first


def _find_difference(first: Sequence[Path], second: Sequence[Path]) -> str:
    """What the questions of two files differ in; empty where one is the other in another form."""
    both = []
    for files in (first, second):
        items = [pair for file in files for pair in read_file(file)]
        both.append({sample.id: sample for sample in to_samples(items, files[0])})
    a, b = both
    alone = [name for name in (*a, *b) if name not in a or name not in b]
    if alone:
        return f"{len(a)} and {len(b)} questions, question_idx {alone[0]} in one alone"
    for name, sample in a.items():
        changed = [
            field for field in sample.__struct_fields__ if getattr(sample, field) != getattr(b[name], field)
        ]
        if changed:
            return f"question_idx {name} has other {changed[0]}"
    return ""


def _holds_questions(path: Path) -> bool:
    """Whether the first item looks like a question of this benchmark, and not like somebody's results."""
    if path.suffix == ".parquet":
        require_package("polars", "parquet", f"Reading {path}")
        import polars

        try:
            columns = set(polars.read_parquet_schema(path))
        except (polars.exceptions.PolarsError, OSError) as error:
            raise DataError(f"{path} is not a readable Parquet file: {first_line(error)}") from error
        return {"video", "question", "options"} <= columns
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return (
        b'"video"' in head and b'"question' in head and b'"options"' in head and b"_raw_response" not in head
    )


def read_items(root: Path) -> tuple[list[tuple[str, Item]], Path]:
    """Items with the place each has in its file, for messages; and the first file."""
    files = find_question_files(root)
    items = [pair for file in files for pair in read_file(file)]
    if not items:
        raise DataError(f"{files[0]}: holds no questions")
    return items, files[0]


def read_file(path: Path) -> list[tuple[str, Item]]:
    """Items of one file in any of its forms, one per question; videos that list `questions` are laid flat."""
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.suffix == ".parquet":
        rows: list[Any] = list(iter_parquet_rows(path))
    else:
        rows = read_rows(path)
    items: list[tuple[str, Item]] = []
    for number, row in enumerate(rows):
        where = f"{path}, item {number}"
        if not isinstance(row, dict):
            raise DataError(f"{where}: {type(row).__name__} where an object is expected")
        items += [(where, item) for item in _flatten_row(row)]
    return items


def read_rows(path: Path) -> list[Any]:
    """A JSON list, a JSON object of items by id, or one JSON object a line."""
    if path.suffix in (".jsonl", ".ndjson"):
        return [row for _, row in iter_json_lines(path, object)]
    data = read_json(path)
    if isinstance(data, dict):
        for holder in ("data", "test", "questions", "samples", "results"):
            if isinstance(data.get(holder), list):
                return list(data[holder])
        if data and all(isinstance(value, dict) for value in data.values()):
            return [{"question_idx": name, **value} for name, value in data.items()]
    if not isinstance(data, list):
        raise DataError(f"{path}: holds no list of questions")
    return data


def _flatten_row(row: Mapping[str, Any]) -> Iterator[Item]:
    inner = row.get("questions")
    if not isinstance(inner, list):
        yield row
        return
    outer = {name: value for name, value in row.items() if name != "questions"}
    for item in inner:
        if isinstance(item, dict):
            yield {**outer, **item}


# ── Videos ───────────────────────────────────────────────────────────────────────────────────────


class VideoIndex:
    """Finds a video by the name that the data give it, whatever normal form the disk keeps names in."""

    def __init__(self, folder: Path) -> None:
        self._paths: dict[str, str] = {}
        for subfolder in VIDEO_FOLDERS:
            if (folder / subfolder).is_dir():
                for path in (folder / subfolder).iterdir():
                    name = unicodedata.normalize("NFC", path.name)
                    self._paths.setdefault(name, f"{subfolder}/{path.name}" if subfolder else path.name)

    def find_path(self, name: str) -> str:
        """Relative to the data folder; where the video is not there, where it should be."""
        normalised = unicodedata.normalize("NFC", name.removeprefix("./").removeprefix("videos/"))
        return self._paths.get(normalised, f"{VIDEO_FOLDERS[0]}/{normalised}")


# ── Samples ──────────────────────────────────────────────────────────────────────────────────────


def load(root: Path) -> list[Sample]:
    """All questions. A fault of the file is a DataError; oddities that a run can live with are kept."""
    items, file = read_items(root)
    samples = to_samples(items, file, VideoIndex(file.parent if root.is_file() else root))
    first_places: dict[str, str] = {}
    for (where, _), sample in zip(items, samples, strict=True):
        if sample.id in first_places:
            raise DataError(f"{where}: question_idx {sample.id} stands already in {first_places[sample.id]}")
        first_places[sample.id] = where
    return samples


def to_samples(
    items: Sequence[tuple[str, Item]], file: Path, videos: VideoIndex | None = None
) -> list[Sample]:
    """Items as samples, in order. Where no item has a `question_idx`, the place in the file is the id."""
    with_id = sum(item.get("question_idx") is not None for _, item in items)
    if 0 < with_id < len(items):
        where = next(where for where, item in items if item.get("question_idx") is None)
        raise DataError(f"{where}: no question_idx, though other items of {file.name} have one")
    return [
        to_sample(item, where, format_id(item["question_idx"]) if with_id else str(number), videos)
        for number, (where, item) in enumerate(items)
    ]


def format_id(value: Any) -> str:
    """A `question_idx` as an id: 20, 20.0 and "20" are one question."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def to_sample(item: Item, where: str, name: str, videos: VideoIndex | None = None) -> Sample:
    """One question, its oddities noted in `extra`."""
    for field in FIELDS:
        if item.get(field) is None:
            raise DataError(f"{where} (question_idx {name}): the field `{field}` is missing")
        if field != "options" and not isinstance(item[field], str):
            kind = type(item[field]).__name__
            raise DataError(f"{where} (question_idx {name}): the field `{field}` is {kind}, not a text")
    try:
        options = parse_options(split_options(item["options"]))
    except DataError as error:
        raise DataError(f"{where} (question_idx {name}): {error}") from error
    if len(options) < 2:
        raise DataError(f"{where} (question_idx {name}): {len(options)} option(s), at least two are needed")
    gold = parse_key(item["correctAnswer"], options)
    key = next((index for index, option in enumerate(options) if option.name == gold), None)
    code = names.find_ability_code(item["abilityType_L2"])
    video = str(item["video"])
    extra: dict[str, Any] = {"gold": gold, "native": {name: item[name] for name in NATIVE}}
    if key is None:
        extra["bad_key"] = item["correctAnswer"]
    written = {"question": item["question"], "options": item["options"]}
    clean = {"question": item["question"].strip(), "options": [f"({o.name}) {o.text}" for o in options]}
    if written != clean and isinstance(item["options"], list) and len(item["options"]) == len(options):
        extra[AS_WRITTEN] = written
    return Sample(
        id=name,
        task=TASK,
        question=(
            Text(item["question"].strip()),
            Video(videos.find_path(video) if videos else f"videos/{video}"),
        ),
        options=options,
        key=key,
        facets={
            "type": names.normalise_video_type(item["videoType"]),
            "l1": names.find_level1(code),
            "l2": names.ABILITIES[code] if code else " ".join(item["abilityType_L2"].split()),
            "ability": code or "other",
            "l3": names.normalise_l3(item["abilityType_L3"]),
            "video": video,
            "n_options": str(len(options)),
        },
        cluster=video,
        extra=extra,
    )
