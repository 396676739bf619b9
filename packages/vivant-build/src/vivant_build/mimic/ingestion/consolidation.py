"""After all parts are written: videos that came twice, comments whose video never came, and the data sheet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vivant_build.mimic.database import connect, parquet_source, spill_early
from vivant_build.mimic.ingestion.creators import gather_creators
from vivant_build.mimic.ingestion.people import read_names
from vivant_build.mimic.ingestion.writer import PARTS, IngestReport, write_missing_tables
from vivant_build.mimic.notes import count_noun
from vivant_build.mimic.schema import COMMENTS, QUARANTINE, VIDEOS
from vivant_build.privacy import NameBook, find_vocabulary

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SETTLED = "settled.parquet"
_ROW_GROUP = 100_000
_AT_ONCE = 10_000
"""Rows whose names are looked for together."""
_SAMPLE = 200_000
"""Comments in which words are counted."""
_KEYS = ("likes", "text", "time", "reply_to")
_TWICE = "the same video twice"
_ORPHANS = "its video was not taken in"
_REPEATED = "the same comment twice"


def consolidate(
    folder: Path, reports: Sequence[IngestReport], *, memory: str, workers: int, keep_names: bool = False
) -> IngestReport:
    """All parts as one report and one file of each kind, with duplicates and orphans put into the quarantine.

    The parts stay as they are, so that a run that is killed here can begin again.
    Names of the crawl's people leave the texts on the way, unless they are kept.
    What is written is sorted by id, so that the same records give the same bytes, in whatever order they were read.
    """
    report = _merge_reports(reports)
    parts = folder / PARTS
    write_missing_tables(parts)
    pa.default_memory_pool().release_unused()  # what the readers needed
    with connect(folder.parent, memory, workers) as db:
        names = NameBook(()) if keep_names else _make_name_book(db, parts)
        pa.default_memory_pool().release_unused()
        for sort in (_sort_videos, _sort_comments):
            spill_early(db, memory, workers, partial(sort, db, folder, report, names))
    gather_creators(parts, folder)
    _write_quarantine(folder, report)
    return report


def _merge_reports(reports: Sequence[IngestReport]) -> IngestReport:
    total = IngestReport()
    reasons, left_comments, notes = Counter[str](), Counter[str](), Counter[str]()
    for part in reports:
        total.videos += part.videos
        total.videos_in += part.videos_in
        total.comments += part.comments
        total.comments_in += part.comments_in
        total.mended += part.mended
        total.quarantine += part.quarantine
        reasons.update(part.left)
        left_comments.update(part.left_comments)
        notes.update(part.notes)
    total.left, total.left_comments, total.notes = dict(reasons), dict(left_comments), dict(notes)
    return total


def _make_name_book(db: DuckDBPyConnection, parts: Path) -> NameBook:
    """The names of the crawl's people, but those that are words of its texts."""
    names = read_names(parts)
    return NameBook(names, find_vocabulary(names, _iter_comments(db, parts)))


def _iter_comments(db: DuckDBPyConnection, parts: Path) -> Iterator[pa.RecordBatch]:
    """Yield a sample of the comments, each with its video's uploader. Nothing is read until the first is asked for."""
    comments, videos = parquet_source(parts / "comments"), parquet_source(parts / "videos")
    every: int = db.execute(f"SELECT count(*) FROM {comments}").fetchall()[0][0]
    # Chosen by the hash of the id, so that the order in which files were read does not matter.
    texts = db.sql(
        f"SELECT text, coalesce(nullif(owner, ''), ref) FROM {comments} "
        f"LEFT JOIN (SELECT ref, max(uploader) AS owner FROM {videos} GROUP BY ref) USING (ref) "
        f"WHERE hash(ref, id) % {max(1, every // _SAMPLE)} = 0"
    )
    yield from texts.to_arrow_reader(_ROW_GROUP)


def _sort_videos(db: DuckDBPyConnection, folder: Path, report: IngestReport, names: NameBook) -> None:
    """Each video once, in the order of refs. Of several records the one with the most views stays: the latest crawl."""
    videos = parquet_source(folder / PARTS / "videos")
    repeated = db.execute(
        f"SELECT ref, count(*) FROM {videos} GROUP BY ref HAVING count(*) > 1 ORDER BY ref"
    ).fetchall()
    # Every column is a tie-breaker, so that neither the order of files nor that of threads decides. A key is held
    # beside the rows while they are sorted: only records that need it have one.
    db.execute(
        "CREATE OR REPLACE TEMP TABLE repeated AS SELECT unnest(?::VARCHAR[]) AS ref",
        [[ref for ref, _ in repeated]],
    )
    columns = ", ".join(f"CASE WHEN ref IN (FROM repeated) THEN {name}::VARCHAR END" for name in VIDEOS.names)
    query = f"SELECT * FROM {videos} ORDER BY ref, id, views DESC NULLS LAST, comment_count DESC NULLS LAST, {columns}"
    _write_settled(folder / "videos", VIDEOS, _drop_repeated(_run(db, query)), names)
    extra = sum(number - 1 for _, number in repeated)
    if extra:
        report.videos -= extra
        report.left[_TWICE] = report.left.get(_TWICE, 0) + extra
    report.quarantine += [
        (ref, f"{number} records", f"{_TWICE}; the one with the most views was kept")
        for ref, number in repeated
    ]


def _sort_comments(db: DuckDBPyConnection, folder: Path, report: IngestReport, names: NameBook) -> None:
    """Each comment of a known video once, in the order of refs and ids."""
    comments = parquet_source(folder / PARTS / "comments")
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE known AS SELECT ref, id FROM {parquet_source(folder / 'videos')}"
    )
    named = f"SELECT ref, id, text, likes, time, reply_to FROM {comments}"
    if db.execute(f"SELECT 1 FROM ({named}) WHERE ref[:2] = '?/' LIMIT 1").fetchall():
        # A comment of a table may name its video by the id alone, where only one platform has it.
        db.execute(
            "CREATE OR REPLACE TEMP TABLE alone AS "
            "SELECT id, min(ref) AS full_ref FROM known GROUP BY id HAVING count(*) = 1"
        )
        named = (
            "SELECT coalesce(full_ref, ref) AS ref, c.id, text, likes, time, reply_to "
            f"FROM {comments} c LEFT JOIN alone ON ref[:2] = '?/' AND alone.id = ref[3:]"
        )
    orphans = db.execute(
        f"SELECT ref, count(*) FROM ({named}) ANTI JOIN known USING (ref) GROUP BY ref ORDER BY ref"
    ).fetchall()
    query = f"SELECT * FROM ({named}) SEMI JOIN known USING (ref) ORDER BY ref, id"
    _write_settled(folder / "comments", COMMENTS, _drop_repeated(_sort_repeated(_run(db, query))), names)
    remaining = pq.read_metadata(folder / "comments" / _SETTLED).num_rows
    lost = sum(number for _, number in orphans)
    repeated = report.comments - lost - remaining
    report.comments = remaining
    for reason, number in ((_ORPHANS, lost), (_REPEATED, repeated)):
        if number:
            report.left_comments[reason] = report.left_comments.get(reason, 0) + number
    report.quarantine += [(ref, count_noun(number, "comment"), _ORPHANS) for ref, number in orphans]
    if repeated:
        settled = f"SELECT ref, count(*) AS once FROM {parquet_source(folder / 'comments')} GROUP BY ref"
        rows = db.execute(
            f"SELECT ref, read - once FROM (SELECT ref, count(*) AS read FROM ({named}) GROUP BY ref) "
            f"JOIN ({settled}) USING (ref) WHERE read > once ORDER BY ref"
        ).fetchall()
        report.quarantine += [(ref, count_noun(number, "comment"), _REPEATED) for ref, number in rows]


def _run(db: DuckDBPyConnection, query: str) -> Iterator[pa.RecordBatch]:
    return (batch for batch in db.sql(query).to_arrow_reader(_AT_ONCE) if batch.num_rows)


def _write_settled(
    folder: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], names: NameBook
) -> None:
    """Write sorted rows as a folder's one file. DuckDB's own writer does not give the same bytes twice."""
    folder.mkdir(exist_ok=True)
    settled = folder / _SETTLED
    with pq.ParquetWriter(settled, schema, compression="zstd", use_dictionary=["ref"]) as writer:
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            waiting.append(_remove_people(batch, names))
            rows += batch.num_rows
            while rows >= _ROW_GROUP:
                table = pa.Table.from_batches(waiting)
                writer.write_table(_join_chunks(table.slice(0, _ROW_GROUP), schema))
                waiting, rows = table.slice(_ROW_GROUP).to_batches(), rows - _ROW_GROUP
                pa.default_memory_pool().release_unused()
        if rows:
            writer.write_table(_join_chunks(pa.Table.from_batches(waiting), schema))


def _sort_repeated(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows in the order of refs and ids, those of one comment by likes, text, time and what it answers.

    They are few. Were DuckDB to sort by all of this, it would hold every text twice.
    """
    waiting: pa.RecordBatch | None = None  # rows of the last comment, of which more may come
    for batch in batches:
        rows = batch if waiting is None else pa.concat_batches([waiting, batch])
        new = _find_new(rows)
        last = int(np.flatnonzero(new)[-1])
        waiting, rows, new = rows.slice(last), rows.slice(0, last), new[:last]
        yield _order_runs(rows, new)
    if waiting is not None:
        yield _order_runs(waiting, _find_new(waiting))


def _find_new(rows: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which rows have another ref or id than that before."""
    refs, ids = rows.column("ref"), rows.column("id")
    new = pc.or_(pc.not_equal(refs[1:], refs[:-1]), pc.not_equal(ids[1:], ids[:-1]))
    return np.concatenate([[True], new.to_numpy(zero_copy_only=False)])


def _order_runs(rows: pa.RecordBatch, new: NDArray[np.bool_]) -> pa.RecordBatch:
    if new.all():
        return rows
    order = np.arange(len(new))
    run = np.cumsum(new)
    repeated = np.flatnonzero(np.bincount(run)[run] > 1)
    keys = pa.table(
        {"run": pa.array(run[repeated])}
        | {name: rows.column(name).take(pa.array(repeated)) for name in _KEYS}
    )
    by = [("run", "ascending"), ("likes", "descending"), *((name, "ascending") for name in _KEYS[1:])]
    order[repeated] = repeated[pc.sort_indices(keys, by).to_numpy()]
    return rows.take(pa.array(order))


def _drop_repeated(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of rows that follow one another with the same ref and id only the first.

    A sort and this pass need less memory than DuckDB's window function.
    """
    last: tuple[str, str] | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        refs, ids = batch.column("ref"), batch.column("id")
        new = _find_new(batch)
        new[0] = (refs[0].as_py(), ids[0].as_py()) != last
        last = refs[-1].as_py(), ids[-1].as_py()
        yield batch.filter(pa.array(new))


def _join_chunks(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table in one piece: pages end where chunks do, and how large those are depends on DuckDB's threads."""
    return table.cast(schema).combine_chunks()


def _remove_people(batch: pa.RecordBatch, names: NameBook) -> pa.RecordBatch:
    columns = {
        name: names.clean(column) if name in ("text", "title", "description") else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    return pa.RecordBatch.from_pydict(columns)


def _write_quarantine(folder: Path, report: IngestReport) -> None:
    rows = sorted(report.quarantine)
    sources, items, reasons = ([row[index] for row in rows] for index in range(3))
    columns = (["ingest"] * len(sources), sources, items, reasons)
    arrays = [pa.array(column, pa.string()) for column in columns]
    pq.write_table(pa.table(arrays, schema=QUARANTINE), folder / "quarantine.parquet")
