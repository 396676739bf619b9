"""The data sheet of what was taken in: where it comes from, under which licences, and what was done to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vivant.build.mimic.database import connect, parquet_source
from vivant.build.mimic.ingestion.writer import IngestReport
from vivant.build.mimic.settings import IngestSettings

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAME = "datasheet.md"
_DONE = {
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
    with connect(folder.parent, memory, workers) as db:
        parts = [
            "# Data sheet of the data taken in\n",
            f"- records read: {report.videos_in:,} videos, {report.comments_in:,} comments",
            f"- taken in: {report.videos:,} videos, {report.comments:,} comments",
            f"- left out, with reasons in `quarantine.parquet`: {report.videos_in - report.videos:,} videos, "
            f"{report.comments_in - report.comments:,} comments; {report.mended:,} values taken as unknown",
            f"- read from: {', '.join(f'`{source.name}`' for source in sources)}",
            _between(db, folder),
            "\n## What was done to people's names\n",
            "- uploaders: a hash with the work folder's own random salt, which is not part of any publication",
            "- names of commenters: never read",
            f"- @-mentions in texts: {_DONE[settings.mentions]}",
            f"- links, e-mail addresses, telephone numbers in texts: {_DONE[settings.links]}",
            "- the uploader's own name in the video's texts and comments: taken out where it stands as a word",
            "- what remains: ids of videos, which lead anyone to the public page, and whatever people said of "
            "themselves in their own words",
            "\n## Licence and source\n",
            "Each row of `videos/` has them. In sum:\n",
            *_counts(db, folder, "licence", "none stated"),
            "\n## Platforms\n",
            *_counts(db, folder, "platform", ""),
            "\n## Categories\n",
            *_counts(db, folder, "category", "none"),
        ]
    (folder / NAME).write_text("\n".join(parts) + "\n", encoding="utf-8")


def _between(db: DuckDBPyConnection, folder: Path) -> str:
    found: Any = db.execute(
        f"SELECT min(uploaded)::DATE, max(uploaded)::DATE FROM {parquet_source(folder / 'videos')}"
    ).fetchone()
    return f"- uploaded between {found[0]} and {found[1]}" if found[0] else "- times of upload are not known"


def _counts(db: DuckDBPyConnection, folder: Path, column: str, empty: str) -> list[str]:
    rows = db.execute(
        f"SELECT {column}, count(*) FROM {parquet_source(folder / 'videos')} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 40"
    ).fetchall()
    body = [
        f"| {' '.join((name or empty).replace('|', '/').split())} | {number:,} |" for name, number in rows
    ]
    return [f"| {column} | videos |", "|---|---|", *body]
