"""Uploaders that are one creator, by the names, handles and profile links that they share."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from vivant_build.mimic.database import parquet_source
from vivant_build.mimic.ingestion.creators import FILE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_SHARING = 6
"""A key of more uploaders is a common name and links nobody."""


class CreatorLinks(Struct, frozen=True):
    """Which uploaders are one creator."""

    creators: dict[str, str]
    """Uploader → the first of its creator's uploaders; those that stand alone are not in it."""
    kinds: dict[str, int]
    """By what they were linked → how many keys did."""
    common: int
    """Keys that too many share."""

    @property
    def groups(self) -> int:
        """Creators with several uploaders."""
        return len(set(self.creators.values()))


def link_creators(connection: DuckDBPyConnection, work: Path) -> CreatorLinks | None:
    """Put uploaders together that share a key; None where ingest has written no keys."""
    path = work / "ingest" / FILE
    if not path.is_file():
        return None
    rows = connection.execute(
        f"SELECT key, list(DISTINCT uploader ORDER BY uploader), min(kind) FROM {parquet_source(path)} "
        "GROUP BY key HAVING count(DISTINCT uploader) > 1 ORDER BY key"
    ).fetchall()
    parents: dict[str, str] = {}

    def find(uploader: str) -> str:
        while parents.setdefault(uploader, uploader) != uploader:
            parents[uploader] = parents[parents[uploader]]
            uploader = parents[uploader]
        return uploader

    kinds: Counter[str] = Counter()
    common = 0
    for _, uploaders, kind in rows:
        if len(uploaders) > MOST_SHARING:
            common += 1
            continue
        kinds[kind] += 1
        for other in uploaders[1:]:
            first, second = sorted((find(uploaders[0]), find(other)))
            parents[second] = first
    return CreatorLinks({uploader: find(uploader) for uploader in sorted(parents)}, dict(kinds), common)
