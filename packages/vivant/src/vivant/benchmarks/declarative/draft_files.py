"""Which files of a folder or repository a drafted description reads, and what it is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from vivant.benchmarks.data_files import read_json
from vivant.benchmarks.declarative.rows import MEDIA, TABLES
from vivant.core.errors import UsageError


def find_inner_rows(file: Path) -> str:
    """Where a JSON file holds its rows, if that is not at the top: the only field with a list of objects."""
    value = read_json(file) if file.suffix.lower() == ".json" else None
    if not isinstance(value, dict):
        return ""
    lists = [
        key for key, rows in value.items() if isinstance(rows, list) and rows and isinstance(rows[0], dict)
    ]
    return lists[0] if len(lists) == 1 else ""


def choose_media(names: Sequence[str]) -> list[str]:
    """Media files in folders, where there is no data file: each is a question and its folder the answer."""
    endings = {PurePosixPath(name).suffix.lower() for name in names}
    media = [name for name in names if PurePosixPath(name).suffix.lower() in MEDIA and "/" in name]
    if not media or endings & set(TABLES):
        return []
    return [name for name in sorted(media) if make_pattern(name) == make_pattern(media[0])]


def choose_tables(names: Sequence[str]) -> list[str]:
    """The data files that belong together, of all that a folder or repository holds: the test split before others.

    Raises UsageError where there are none.
    """
    tables = [
        name for name in names if PurePosixPath(name).suffix.lower() in TABLES and not name.startswith(".")
    ]
    tables = [
        name for name in tables if PurePosixPath(name).name not in ("dataset_infos.json", "metadata.json")
    ]
    if not tables:
        raise UsageError(f"There is no {', '.join(TABLES)} file among the {len(names)} files there")

    def rank(name: str) -> tuple[int, int, str]:
        split = next((i for i, word in enumerate(("test", "val", "dev", "train")) if word in name.lower()), 9)
        return split, TABLES.index(PurePosixPath(name).suffix.lower()), name

    first = min(tables, key=rank)
    pattern = make_pattern(first)
    return [name for name in sorted(tables) if make_pattern(name) == pattern]


def make_pattern(name: str) -> str:
    """A file's name with the number of its shard left open; for a media file, its folder and name."""
    path = PurePosixPath(name)
    if path.suffix.lower() in MEDIA:
        return "/".join(["*"] * (len(path.parts) - 1) + [f"*{path.suffix}"])
    return re.sub(r"-\d{5}-of-\d{5}(-\w+)?", "-*", name)


def make_name(text: str) -> str:
    """A benchmark's name from a file's or dataset's."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "-".join(words) or "mine"
