"""Which files of a folder hold MMIE's items, in every form met: JSON, JSON lines, Parquet, here or below `data/`.

`overview.json` of the release is an example of the format and is never taken for the set. Several files are one set
where no id stands in two of them (parts, shards), or where all hold the same ids (one set in two forms: the first is
read). Anything else is refused, because nothing says which file counts.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vivant.benchmarks.data_files import decode_json, iter_json_lines, iter_parquet_rows, read_bytes
from vivant.core.errors import DataError
from vivant.core.files import write_atomic

EXAMPLE, EVALUATION = "overview.json", "data.json"
IMAGES = "images"
SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet")
_NOT_DATA = {"eval_result.json", "dataset_info.json", "dataset_infos.json", "state.json", "source.json"}
_DEPTH = 3
"""Folders below the data folder that are looked into: data/train/part."""
_SHARD = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})")


def find_files(root: Path, name: str = "", *, answers: bool = False) -> list[Path]:
    """The files with the items of a folder.

    Args:
        root: The folder, or the one file.
        name: The file that the user names, relative to the folder.
        answers: Look for prepared answers, which the original calls `data.json`.
    """
    if root.is_file():
        return [root]
    if name:
        if not (root / name).is_file():
            raise DataError(f"{root} holds no {name}")
        return [root / name]
    if answers and (root / EVALUATION).is_file():
        return [root / EVALUATION]
    files = [path for path in _list_candidates(root) if path.name != EXAMPLE]
    if files:
        _check_shards(files)
        return files
    if any(path.name == EXAMPLE for path in _list_candidates(root)):
        raise DataError(
            f"{root} holds {EXAMPLE} alone, which shows the format in a few items and is not the set; fetch the "
            f"whole release into this folder, or try the example: --task-option file={EXAMPLE}"
        )
    raise DataError(f"{root} holds no file of items: .json, .jsonl or .parquet, in the folder or below data/")


def _list_candidates(root: Path) -> list[Path]:
    """Data files by name, those nearest to the folder first; pictures' folders are not looked into."""
    paths: list[Path] = []
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        depth = len(here.relative_to(root).parts)
        folders[:] = sorted(
            name for name in folders if depth < _DEPTH and name != IMAGES and not name.startswith(".")
        )
        paths += [
            here / name
            for name in sorted(names)
            if name.endswith(SUFFIXES) and name not in _NOT_DATA and not name.startswith(".")
        ]
    return paths


def _check_shards(files: Sequence[Path]) -> None:
    """Shards are numbered: one that is missing would make a small set look whole."""
    shards: dict[tuple[Path, str, int], set[int]] = {}
    for file in files:
        if match := _SHARD.fullmatch(file.stem):
            key = file.parent, match["stem"], int(match["count"])
            shards.setdefault(key, set()).add(int(match["number"]))
    for (folder, stem, count), numbers in shards.items():
        missing = sorted(set(range(count)) - numbers)
        if missing:
            raise DataError(
                f"{folder}: shard {missing[0]:05d} of {stem} is missing ({len(missing)} of {count}); fetch it too"
            )


def choose_files(contents: Mapping[Path, Sequence[str]], root: Path) -> list[Path]:
    """Of files with these ids, those that make the set."""
    files = list(contents)
    sets = [set(ids) for ids in contents.values()]
    if len(files) == 1 or sum(map(len, sets)) == len(set().union(*sets)):
        return files
    by_suffix: dict[str, list[Path]] = {}
    for file in files:
        by_suffix.setdefault("lines" if file.suffix in (".jsonl", ".ndjson") else file.suffix, []).append(
            file
        )
    forms = [sorted(name for file in group for name in contents[file]) for group in by_suffix.values()]
    if len(forms) > 1 and all(form == forms[0] for form in forms):
        return next(iter(by_suffix.values()))
    if all(ids == sets[0] for ids in sets):
        return files[:1]
    names = ", ".join(str(path.relative_to(root)) for path in files[:6])
    raise DataError(
        f"{root} holds several data files with some ids in common ({names}); name one: --task-option file=NAME"
    )


def iter_values(file: Path) -> Iterator[tuple[str, Any]]:
    """The place and raw value of every item of a file."""
    if file.suffix == ".parquet":
        for number, row in enumerate(iter_parquet_rows(file), 1):
            yield f"row {number}", _unpack_row(row, file)
    elif file.suffix == ".json":
        yield from _iter_json(file)
    else:
        yield from ((f"line {number}", value) for number, value in iter_json_lines(file, object))


def _iter_json(file: Path) -> Iterator[tuple[str, Any]]:
    data = read_bytes(file)
    try:
        content: Any = decode_json(data, str(file))
    except DataError:
        # JSON lines are often called .json.
        if not data.lstrip().startswith(b"{") or b"\n" not in data.strip():
            raise
        yield from ((f"line {number}", value) for number, value in iter_json_lines(file, object))
        return
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        if "id" in content:
            content = [content]
        elif lists and len(lists) == len(content):  # {"train": […]}
            content = [item for items in lists for item in items]
    if not isinstance(content, list):
        raise DataError(f"{file} should hold a list of items, not {type(content).__name__}")
    yield from ((f"item {number}", value) for number, value in enumerate(content, 1))


# ── Parquet ──────────────────────────────────────────────────────────────────────────────────────


def _unpack_row(row: dict[str, Any], file: Path) -> dict[str, Any]:
    """A row as JSON would have it: nested columns written as texts are read, pictures become files."""
    value = {name: _read_nested(cell) for name, cell in row.items() if cell is not None}
    for name in ("conversations", "question", "answer", "gt_answer"):
        if name in value:
            value[name] = _unpack_pictures(value[name], file)
    return value


def _read_nested(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(("[{", "[ {")):
        try:
            return msgspec.json.decode(cell)
        except msgspec.DecodeError:
            return cell
    return cell


def _unpack_pictures(value: Any, file: Path) -> Any:
    if isinstance(value, list):
        return [_unpack_pictures(entry, file) for entry in value]
    if isinstance(value, dict):
        if set(value) == {"bytes", "path"}:
            return _write_picture(value["bytes"], value["path"], file)
        return {name: _unpack_pictures(entry, file) for name, entry in value.items()}
    return value


def _write_picture(data: bytes | None, path: str | None, file: Path) -> str | None:
    """A picture that a Parquet file holds inside is written out once, named by its content."""
    if data is None:
        return path
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", Path(path or "").stem)[:60]
    name = f"{hashlib.sha256(data).hexdigest()[:16]}-{stem}{Path(path or '').suffix or '.png'}"
    target = file.parent / ".vivant" / IMAGES / name
    try:
        if not target.is_file() or target.stat().st_size != len(data):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, data)
    except OSError as error:
        raise DataError(
            f"{file} holds its pictures inside, and they cannot be written to {target.parent} "
            f"({error.strerror or error}); copy the data to a folder that you may write to"
        ) from error
    return f".vivant/{IMAGES}/{name}"


# ── Pictures ─────────────────────────────────────────────────────────────────────────────────────


class PictureFinder:
    """Where a picture lies that an item names: with or without `images/`, beside the file or in the data folder."""

    def __init__(self, root: Path) -> None:
        self._root = root if root.is_dir() else root.parent
        self._known: dict[tuple[Path, str], str] = {}

    def find(self, path: str, file: Path) -> str:
        """The path relative to the data folder; as the item states it where there is no such file."""
        key = file.parent, path
        if key not in self._known:
            self._known[key] = self._find(path, file)
        return self._known[key]

    def _find(self, path: str, file: Path) -> str:
        stated = path.removeprefix("./")
        tail = stated.replace("\\", "/").rpartition(f"{IMAGES}/")[2].lstrip("/")
        beside = file.parent.relative_to(self._root).as_posix() if file.parent != self._root else ""
        for folder in dict.fromkeys(("", beside)):
            prefix = f"{folder}/" if folder else ""
            for name in (stated, f"{IMAGES}/{tail}", tail):
                if (
                    not name.startswith("/")
                    and ".." not in name.split("/")
                    and (self._root / prefix / name).is_file()
                ):
                    return prefix + name
        return stated
