"""A look into a dataset on the hub: all file names, and one data file to read columns from."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks.declarative.draft_files import choose_tables, make_pattern
from vivant.benchmarks.sources import DataSource, Repo
from vivant.core.disk_space import format_size
from vivant.core.errors import UsageError
from vivant.core.progress import ProgressCallback
from vivant.fetch.hub import fetch_files, find_missing, list_hub_files

LARGEST = 2 << 30
"""A larger file is fetched only where the user names it."""


class HubSample(Struct, frozen=True, kw_only=True):
    """What there is of a dataset."""

    file: Path
    """The data file that was fetched."""
    pattern: str
    """How a description names it and the other shards."""
    names: tuple[str, ...]
    """All files of the repository."""
    tables: tuple[str, ...]
    """Patterns of all data files."""


def fetch_sample(
    identity: str, folder: Path, pattern: str = "", progress: ProgressCallback | None = None
) -> HubSample:
    """List a dataset and fetch the smallest of its data files that belong together, the test split before others.

    Args:
        identity: `ORG/NAME`.
        folder: Where the file goes, at its place in the repository.
        pattern: A pattern of the data files to look at.
        progress: Called as bytes arrive.
    """
    source = DataSource(repos=(Repo(id=identity),), licence="as the hub's page says")
    listing = list_hub_files(identity, source)
    names = tuple(sorted(file.name for file in listing.files))
    tables = sorted({make_pattern(choice) for choice in _list_tables(names)})
    matching = [name for name in names if not pattern or fnmatch(name, pattern)]
    if not matching:
        others = ", ".join(tables[:8]) or "none"
        raise UsageError(f"--file {pattern}: {identity} has no such file; its data files: {others}")
    chosen = choose_tables(matching)
    smallest = min((file for file in listing.files if file.name in chosen), key=lambda file: file.size)
    if smallest.size > LARGEST and not pattern:
        raise UsageError(
            f"{smallest.name} holds {format_size(smallest.size)}; to fetch it all the same: --file '{smallest.name}'"
        )
    part = msgspec.structs.replace(listing, files=(smallest,))
    fetch_files(part, find_missing(part, folder), progress)
    return HubSample(
        file=folder / smallest.name, pattern=make_pattern(smallest.name), names=names, tables=tuple(tables)
    )


def _list_tables(names: tuple[str, ...]) -> list[str]:
    from vivant.benchmarks.declarative.rows import TABLES

    return [name for name in names if Path(name).suffix in TABLES]
