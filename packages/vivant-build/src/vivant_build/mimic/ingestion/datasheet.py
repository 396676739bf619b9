"""The data sheet of what was taken in: where it comes from, under which licences, and what was done to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vivant_build.mimic.database import connect, parquet_source
from vivant_build.mimic.ingestion.writer import IngestReport
from vivant_build.mimic.settings import IngestSettings
from vivant_build.templates import render_markdown

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAME = "datasheet.md"
_TREATMENTS = {
    "hash": "replaced by @ and six letters that depend on a secret salt",
    "remove": "taken out",
    "keep": "LEFT IN at the user's wish",
}


def write_datasheet(
    folder: Path,
    report: IngestReport,
    sources: Sequence[Path],
    settings: IngestSettings,
    memory: str,
    workers: int,
) -> None:
    """Write `datasheet.md` beside the files."""
    videos = parquet_source(folder / "videos")
    with connect(folder.parent, memory, workers) as db:
        span: Any = db.execute(f"SELECT min(uploaded)::DATE, max(uploaded)::DATE FROM {videos}").fetchone()
        tables = [
            (column, title, _count_videos(db, videos, column, empty))
            for column, title, empty in (
                ("licence", "", "none stated"),
                ("platform", "Platforms", ""),
                ("category", "Categories", "none"),
            )
        ]
    text = render_markdown(
        "vivant_build.mimic",
        "ingest_datasheet.md.j2",
        report=report,
        sources=[source.name for source in sorted(sources)],
        first=span[0],
        last=span[1],
        mentions=_TREATMENTS[settings.mentions],
        links=_TREATMENTS[settings.links],
        tables=tables,
    )
    (folder / NAME).write_text(text, encoding="utf-8")


def _count_videos(db: DuckDBPyConnection, videos: str, column: str, empty: str) -> list[tuple[str, int]]:
    rows = db.execute(
        f"SELECT {column}, count(*) FROM {videos} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 40"
    ).fetchall()
    return [(" ".join((name or empty).replace("|", "/").split()), number) for name, number in rows]
