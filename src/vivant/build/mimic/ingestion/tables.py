"""Tables in any shape (CSV, TSV, JSON lines, JSON, Parquet) by a mapping file: see docs/mimic.md for its form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vivant.benchmarks.mimic.mapping import iter_fields, read_mapping
from vivant.build.mimic.ingestion import values
from vivant.build.mimic.ingestion.values import InvalidValueError, parse_row
from vivant.build.mimic.ingestion.writer import RecordWriter
from vivant.build.mimic.ingestion.ytdlp import SourceDefaults, add_raw_comments
from vivant.core.errors import DataError

_THEIRS = {"id": "id", "text": "text", "like_count": "likes", "timestamp": "time", "parent": "reply_to"}


def ingest_tables(mapping: Path, writer: RecordWriter, defaults: SourceDefaults) -> None:
    """Read the tables that a mapping names into the writer; rows that cannot be used go into its quarantine."""
    mapped = read_mapping(mapping)
    for place, fields in iter_fields(mapped.videos, mapping.parent):
        if isinstance(fields, DataError):
            writer.leave(place, "", str(fields), kind="broken row")
        else:
            _video(fields, place, writer, defaults)
    if mapped.comments is None:
        return
    for number, (place, fields) in enumerate(iter_fields(mapped.comments, mapping.parent), 1):
        if isinstance(fields, DataError):
            writer.leave_comments(place, f"broken row: {fields}", 1, new=True)
            continue
        video = values.parse_text(fields.get("video"))
        if not video:
            writer.leave_comments(place, "names no video", 1, new=True)
            continue
        # Where rows have no ids of their own, their places serve.
        fields.setdefault("id", f"c{number}")
        add_raw_comments(video if "/" in video else f"?/{video}", [_comment(fields)], (), writer)


def _comment(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields.get(ours) for name, ours in _THEIRS.items()}


def _video(fields: dict[str, Any], place: str, writer: RecordWriter, defaults: SourceDefaults) -> None:
    fields.setdefault("platform", defaults.platform)
    fields.setdefault("licence", defaults.licence)
    comments = fields.pop("comments", None) or []
    try:
        row, problems = parse_row(fields)
    except InvalidValueError as wrong:
        writer.leave(place, "", str(wrong))
        return
    ref = writer.video(row)
    for problem in problems:
        writer.mend(place, ref, problem)
    made = [{"text": one} if isinstance(one, str) else _comment(one) for one in _listed(comments)]
    add_raw_comments(ref, made, (), writer)


def _listed(comments: Any) -> Iterator[Any]:
    if isinstance(comments, list | tuple):
        yield from (one for one in comments if isinstance(one, str | Mapping))
