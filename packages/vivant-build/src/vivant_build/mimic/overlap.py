"""Texts that stand on both sides of the split although videos, uploaders and near-duplicates do not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from vivant_build.mimic.database import parquet_source
from vivant_build.mimic.split import BENCH, TRAIN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class TextOverlap(Struct, frozen=True, kw_only=True):
    """A title or description of a benchmark video that a training video has too, in whatever order of words."""

    field: str
    bench: str
    train: str
    """One of them."""
    text: str
    count: int
    """Training videos that have it."""


_WORDS = 4
"""Shorter titles are the same by accident: `Part 2`, `My cat`."""
MOST = 1000


def find_overlaps(connection: DuckDBPyConnection, work: Path) -> list[TextOverlap]:
    """Titles and descriptions with the same words on both sides, at most `MOST` of each."""
    overlaps: list[TextOverlap] = []
    for field in ("title", "description"):
        rows = connection.execute(f"""
            WITH texts AS (
                SELECT v.ref, s.part, v.{field} AS text,
                       list_sort(list_distinct(regexp_extract_all(lower(v.{field}), '[\\p{{L}}\\p{{N}}]+'))) AS words
                FROM {parquet_source(work / "clean" / "videos")} v
                JOIN {parquet_source(work / "split" / "videos.parquet")} s USING (ref)
                WHERE s.part IN ('{BENCH}', '{TRAIN}')
            ),
            keyed AS (SELECT ref, part, text, hash(words) AS words FROM texts WHERE len(words) >= {_WORDS})
            SELECT b.ref, min(t.ref), any_value(b.text), count(*)
            FROM keyed b JOIN keyed t ON b.words = t.words AND b.part = '{BENCH}' AND t.part = '{TRAIN}'
            GROUP BY b.ref ORDER BY b.ref LIMIT {MOST}
        """).fetchall()
        overlaps += [
            TextOverlap(field=field, bench=bench, train=train, text=text, count=count)
            for bench, train, text, count in rows
        ]
    return overlaps
