"""The released data, in every form in which people hold them, as samples."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.benchmarks.mime import names, shards
from vivant.benchmarks.mime.files import csv_rows, json_lines, texts
from vivant.benchmarks.multiple_choice import option_name
from vivant.core.errors import DataError
from vivant.core.types import Option, Sample, Video

COLUMNS = (
    "action",
    "angle",
    "avatar",
    "background_config",
    "background_name",
    "distractors",
    "label",
    "sample_id",
    "s3_url",
    "type",
    "split",
    "file_name",
    "config_name",
)
_OTHERS = ("background", "video", "video_path", "actor")
"""Columns that stand in for others, or that only some editions have."""
_METADATA = ("metadata.jsonl", "metadata.csv", "metadata.parquet")
_SPLITS = ("train", "test", "validation", "demo")
_READ_SUFFIXES = (".jsonl", ".csv", *shards.SUFFIXES)


class Row(Struct, frozen=True):
    """One row of a metadata file, and where it stands."""

    file: Path
    where: str
    """`row 5` or `line 5`."""
    values: Mapping[str, Any]

    def fault(self, reason: str) -> DataError:
        """An error that names this row."""
        return DataError(f"{self.file}, {self.where}: {reason}")

    def text(self, column: str) -> str:
        """A cell as text; nothing where it is absent or empty."""
        value = self.values.get(column)
        if value is None:
            return ""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value).strip()


def load(root: Path, task: str, data_help: str) -> list[Sample]:
    """All samples of a task (`mime/mcq` or `mime/ff`) below `root`, in the order of the files' rows."""
    base = media_root(root)
    seen: dict[str, Row] = {}
    samples: list[Sample] = []
    for file in sources(root, data_help):
        for row in _rows(file):
            sample = _sample(row, base, task)
            if sample.id in seen:
                other = seen[sample.id]
                place = other.where if other.file == file else f"{other.file}, {other.where}"
                raise row.fault(
                    f"the id '{sample.id}' stands already in {place}; remove one, or name one folder"
                )
            seen[sample.id] = row
            samples.append(sample)
    if not samples:
        raise DataError(f"{root} holds no rows. {data_help}")
    return samples


def media_root(root: Path) -> Path:
    """The folder that video paths are relative to, for a folder or file of data.

    In Hugging Face's cache a snapshot holds links to `blobs/` beside `snapshots/`: media may not leave their
    folder, so it is the one that holds both.
    """
    folder = Path(os.path.normpath(root if root.is_dir() else root.parent))
    for place in (folder, *folder.parents):
        if place.name == "snapshots" and (place.parent / "blobs").is_dir():
            return place.parent
    return folder


# ── finding the files ────────────────────────────────────────────────────────────────────────────


def walk(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Folders below `root` with the names of their files, sorted; hidden folders are passed over."""

    def refuse(error: OSError) -> None:
        raise DataError(f"{error.filename} cannot be read: {error.strerror}") from error

    for place, folders, files in os.walk(root, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield Path(place), sorted(files)


def sources(root: Path, data_help: str) -> list[Path]:
    """The files that describe the samples below `root`."""
    if not root.exists():
        raise DataError(f"{root} does not exist. {data_help}")
    if root.is_file():
        if root.suffix not in _READ_SUFFIXES:
            raise DataError(f"{root} is none of {', '.join(_READ_SUFFIXES)}. {data_help}")
        return [root]
    found = [folder / name for folder, files in walk(root) for name in _described_by(files)]
    if not found:
        raise DataError(
            f"{root} holds no metadata.csv, metadata.jsonl, *_legacy.jsonl or *.parquet. {data_help}"
        )
    return found


def _described_by(files: list[str]) -> list[str]:
    """Which of a folder's files describe its samples: one description, not the same twice in two formats."""
    for name in _METADATA:
        if name in files:
            return [name]
    shard_names = [n for n in files if n.endswith(shards.SUFFIXES) and not n.startswith("cache-")]
    return shard_names or [name for name in files if name.endswith("_legacy.jsonl")]


# ── reading them ─────────────────────────────────────────────────────────────────────────────────


def _rows(file: Path) -> Iterator[Row]:
    if file.suffix == ".jsonl":
        found = [Row(file, f"line {number}", values) for number, values in json_lines(file)]
    elif file.suffix == ".csv":
        found = [Row(file, f"row {number}", values) for number, values in csv_rows(file)]
    else:
        found = [Row(file, f"row {number}", values) for number, values in enumerate(shards.rows(file), 1)]
    for row in found:
        _check_columns(row)
        yield row


def _check_columns(row: Row) -> None:
    """Refuse a misspelt column: read as absent, it would cost facets or labels without a word."""
    strange = [name for name in row.values if name not in COLUMNS and name not in _OTHERS]
    for column in COLUMNS:
        if column in row.values:
            continue
        near = difflib.get_close_matches(column, strange, n=1, cutoff=0.8)
        if near:
            raise row.fault(f"the column '{near[0]}' is not known; did you mean '{column}'?")


def _sample(row: Row, base: Path, task: str) -> Sample:
    place = row.text("video") or row.text("video_path") or row.text("file_name")
    name = names.file_name(row.text("file_name") or row.text("s3_url") or place)
    if not name:
        raise row.fault("there is no file_name (nor video, nor s3_url); name the video in a column file_name")
    known = names.parse(name)
    labels = texts(row.values.get("label"))
    if not labels:
        if "label" not in row.values:
            near = difflib.get_close_matches("label", list(row.values), n=1, cutoff=0.5)
            raise row.fault("there is no column 'label'" + (f"; did you mean '{near[0]}'?" if near else ""))
        raise row.fault(f"'{name}' has no label; fill in its column 'label'")
    options = _options(row, name, labels) if task == "mime/mcq" else ()
    facets = _facets(row, known)
    return Sample(
        id=row.text("sample_id") or names.stem(name),
        task=task,
        question=(Video(_video(row, base, place or name, facets["split"])),),
        options=options,
        key=0 if options else None,
        answers=labels,
        facets=facets,
        cluster=facets["action"],
        extra={"file_name": name},
    )


def _options(row: Row, name: str, labels: tuple[str, ...]) -> tuple[Option, ...]:
    """The first label, then the distractors; the order in which they are shown is drawn later."""
    distractors = texts(row.values.get("distractors"))
    if not distractors:
        raise row.fault(f"'{name}' has a label but no options; fill in its column 'distractors' (a|b|c)")
    both = next((text for text in distractors if text in labels), None)
    if both is not None:
        raise row.fault(
            f"'{both}' is a label of '{name}' and also one of its distractors; replace the distractor"
        )
    return tuple(Option(option_name(i), text) for i, text in enumerate((labels[0], *distractors)))


def _facets(row: Row, known: names.Named) -> dict[str, str]:
    dataset = (row.text("type") or known.dataset or "MIME").upper()
    real = dataset == "REAL"
    absent = names.NOT_APPLICABLE
    avatar = row.text("avatar") or known.avatar or absent
    angle = row.text("angle") or known.angle or absent
    background = row.text("background_config") or row.text("background")
    background = background or ("blank" if known.background == "blank" else "")
    variant = row.text("config_name") or (names.REAL if real else names.variant(avatar, background, angle))
    action = row.text("action") or known.action
    if not action:
        raise row.fault("there is no action; name it in a column 'action'")
    if not variant:
        raise row.fault(
            "there is no config_name, and avatar, background_config and angle do not give it; "
            "add a column config_name"
        )
    folder = row.file.parent.name
    return {
        "variant": variant,
        "action": action,
        "actor": row.text("actor") or known.actor or absent,
        "avatar": avatar,
        "background": background or absent,
        "background_name": row.text("background_name") or known.background or absent,
        "angle": angle,
        "dataset": dataset,
        "split": row.text("split") or (folder if folder in _SPLITS else absent),
    }


def _video(row: Row, base: Path, name: str, split: str) -> str:
    """The video's path from `base`: beside the file that names it, in `videos/` or in its split's folder."""
    folder = row.file.parent
    path = folder / name
    for place in (folder, folder / "videos", folder / split):
        if (place / name).is_file():
            path = place / name
            break
    # Lexically: links may lead out of the folder (a hub's snapshot does), names may not.
    relative = os.path.relpath(os.path.normpath(path), os.path.normpath(base))
    if relative.startswith(".."):
        raise row.fault(
            f"the video '{name}' lies outside the data folder {base}; give its path relative to the file"
        )
    return Path(relative).as_posix()
