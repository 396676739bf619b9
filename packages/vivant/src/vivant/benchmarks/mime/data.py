"""The released data, in every form in which people hold them, as samples."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.benchmarks.data_files import iter_csv_rows, iter_json_objects
from vivant.benchmarks.mime import names, shards
from vivant.benchmarks.mime.text_lists import split_texts
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


class MetadataCells(Struct, frozen=True):
    """One row of a metadata file, and where it stands."""

    file: Path
    where: str
    """`row 5` or `line 5`."""
    values: Mapping[str, Any]

    def error(self, reason: str) -> DataError:
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
    base = find_media_root(root)
    first_rows: dict[str, MetadataCells] = {}
    samples: list[Sample] = []
    for file in find_metadata_files(root, data_help):
        for row in _iter_rows(file):
            sample = _build_sample(row, base, task)
            if sample.id in first_rows:
                earlier = first_rows[sample.id]
                location = earlier.where if earlier.file == file else f"{earlier.file}, {earlier.where}"
                raise row.error(
                    f"the id '{sample.id}' stands already in {location}; remove one, or name one folder"
                )
            first_rows[sample.id] = row
            samples.append(sample)
    if not samples:
        raise DataError(f"{root} holds no rows. {data_help}")
    return samples


def find_media_root(root: Path) -> Path:
    """The folder that video paths are relative to, for a folder or file of data.

    In Hugging Face's cache a snapshot holds links to `blobs/` beside `snapshots/`: media may not leave their
    folder, so it is the one that holds both.
    """
    folder = Path(os.path.normpath(root if root.is_dir() else root.parent))
    for ancestor in (folder, *folder.parents):
        if ancestor.name == "snapshots" and (ancestor.parent / "blobs").is_dir():
            return ancestor.parent
    return folder


# ── finding the files ────────────────────────────────────────────────────────────────────────────


def walk_folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Folders below `root` with the names of their files, sorted; hidden folders are passed over."""

    def refuse(error: OSError) -> None:
        raise DataError(f"{error.filename} cannot be read: {error.strerror}") from error

    for path, folders, files in os.walk(root, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield Path(path), sorted(files)


def find_metadata_files(root: Path, data_help: str) -> list[Path]:
    """The files that describe the samples below `root`."""
    if not root.exists():
        raise DataError(f"{root} does not exist. {data_help}")
    if root.is_file():
        if root.suffix not in _READ_SUFFIXES:
            raise DataError(f"{root} is none of {', '.join(_READ_SUFFIXES)}. {data_help}")
        return [root]
    paths = [folder / name for folder, files in walk_folders(root) for name in _select_metadata(files)]
    if not paths:
        raise DataError(
            f"{root} holds no metadata.csv, metadata.jsonl, *_legacy.jsonl or *.parquet. {data_help}"
        )
    return paths


def _select_metadata(files: list[str]) -> list[str]:
    """Which of a folder's files describe its samples: one description, not the same twice in two formats."""
    for name in _METADATA:
        if name in files:
            return [name]
    shard_names = [n for n in files if n.endswith(shards.SUFFIXES) and not n.startswith("cache-")]
    return shard_names or [name for name in files if name.endswith("_legacy.jsonl")]


# ── reading them ─────────────────────────────────────────────────────────────────────────────────


def _iter_rows(file: Path) -> Iterator[MetadataCells]:
    if file.suffix == ".jsonl":
        rows = [MetadataCells(file, f"line {number}", values) for number, values in iter_json_objects(file)]
    elif file.suffix == ".csv":
        rows = [MetadataCells(file, f"row {number}", values) for number, values in iter_csv_rows(file)]
    else:
        rows = [
            MetadataCells(file, f"row {number}", values)
            for number, values in enumerate(shards.read_shard(file), 1)
        ]
    for row in rows:
        _check_columns(row)
        yield row


def _check_columns(row: MetadataCells) -> None:
    """Refuse a misspelt column: read as absent, it would cost facets or labels without a word."""
    unknown_names = [name for name in row.values if name not in COLUMNS and name not in _OTHERS]
    for column in COLUMNS:
        if column in row.values:
            continue
        close = difflib.get_close_matches(column, unknown_names, n=1, cutoff=0.8)
        if close:
            raise row.error(f"the column '{close[0]}' is not known; did you mean '{column}'?")


def _build_sample(row: MetadataCells, base: Path, task: str) -> Sample:
    path = row.text("video") or row.text("video_path") or row.text("file_name")
    name = names.file_name(row.text("file_name") or row.text("s3_url") or path)
    if not name:
        raise row.error("there is no file_name (nor video, nor s3_url); name the video in a column file_name")
    parsed = names.parse_video_name(name)
    labels = split_texts(row.values.get("label"))
    if not labels:
        if "label" not in row.values:
            close = difflib.get_close_matches("label", list(row.values), n=1, cutoff=0.5)
            raise row.error("there is no column 'label'" + (f"; did you mean '{close[0]}'?" if close else ""))
        raise row.error(f"'{name}' has no label; fill in its column 'label'")
    options = _build_options(row, name, labels) if task == "mime/mcq" else ()
    facets = _build_facets(row, parsed)
    return Sample(
        id=row.text("sample_id") or names.stem(name),
        task=task,
        question=(Video(_find_video(row, base, path or name, facets["split"])),),
        options=options,
        key=0 if options else None,
        answers=labels,
        facets=facets,
        cluster=facets["action"],
        extra={"file_name": name},
    )


def _build_options(row: MetadataCells, name: str, labels: tuple[str, ...]) -> tuple[Option, ...]:
    """The first label, then the distractors; the order in which they are shown is drawn later."""
    distractors = split_texts(row.values.get("distractors"))
    if not distractors:
        raise row.error(f"'{name}' has a label but no options; fill in its column 'distractors' (a|b|c)")
    both = next((text for text in distractors if text in labels), None)
    if both is not None:
        raise row.error(
            f"'{both}' is a label of '{name}' and also one of its distractors; replace the distractor"
        )
    return tuple(Option(option_name(i), text) for i, text in enumerate((labels[0], *distractors)))


def _build_facets(row: MetadataCells, parsed: names.VideoNameParts) -> dict[str, str]:
    dataset = (row.text("type") or parsed.dataset or "MIME").upper()
    real = dataset == "REAL"
    absent = names.NOT_APPLICABLE
    avatar = row.text("avatar") or parsed.avatar or absent
    angle = row.text("angle") or parsed.angle or absent
    background = row.text("background_config") or row.text("background")
    background = background or ("blank" if parsed.background == "blank" else "")
    variant = row.text("config_name") or (
        names.REAL if real else names.format_variant(avatar, background, angle)
    )
    action = row.text("action") or parsed.action
    if not action:
        raise row.error("there is no action; name it in a column 'action'")
    if not variant:
        raise row.error(
            "there is no config_name, and avatar, background_config and angle do not give it; add "
            "a column config_name"
        )
    folder = row.file.parent.name
    return {
        "variant": variant,
        "action": action,
        "actor": row.text("actor") or parsed.actor or absent,
        "avatar": avatar,
        "background": background or absent,
        "background_name": row.text("background_name") or parsed.background or absent,
        "angle": angle,
        "dataset": dataset,
        "split": row.text("split") or (folder if folder in _SPLITS else absent),
    }


def _find_video(row: MetadataCells, base: Path, name: str, split: str) -> str:
    """The video's path from `base`: beside the file that names it, in `videos/` or in its split's folder."""
    folder = row.file.parent
    path = folder / name
    for parent in (folder, folder / "videos", folder / split):
        if (parent / name).is_file():
            path = parent / name
            break
    # Lexically: links may lead out of the folder (a hub's snapshot does), names may not.
    relative = os.path.relpath(os.path.normpath(path), os.path.normpath(base))
    if relative.startswith(".."):
        raise row.error(
            f"the video '{name}' lies outside the data folder {base}; give its path relative to the file"
        )
    return Path(relative).as_posix()
