"""Comments, in two passes of bounded memory: what each says by itself, then what those of one video say together.

The first pass reads stretches of the input, finds language, length and spam, and deals what is left out to parts by
the hash of the video, so that all comments of a video are in one part. The second reads a part at a time: copies,
near copies, comments of videos that are left out, videos with too few.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from vivant_build.mimic.cleaning.languages import load_detector
from vivant_build.mimic.cleaning.rules import ContentRule, match_rules
from vivant_build.mimic.cleaning.tokens import (
    SCRIPTS,
    U64,
    count_scripts,
    hash_texts,
    measure_longest_runs,
    tokenize,
)
from vivant_build.mimic.settings import CleanSettings
from vivant_build.part_store import PartStore

_BATCH = 20_000
NO_LETTERS = 255
"""In place of a language: the comment has no letters."""
REPEATED = "spam: one sign over and over"
DEALT = "dealt"
LEFT = "left"


class RowGroupRange(Struct, frozen=True):
    """A run of row groups of one file: the work of one call."""

    name: str
    store: str
    file: str
    groups: tuple[int, ...]
    rows: int


class PartitionJob(Struct, frozen=True):
    """What the first pass needs to know."""

    store: str
    parts: int
    settings: CleanSettings
    rules: tuple[ContentRule, ...]


class PartitionReport(Struct):
    """What became of one stretch."""

    rows: int = 0
    left: dict[str, int] = {}


def list_row_groups(store: PartStore, folder: str, rows: int = 400_000) -> list[RowGroupRange]:
    """The comments of a step in pieces of about so many rows."""
    ranges: list[RowGroupRange] = []
    for name in store.list_tables(folder):
        with store.open_table(name) as file:
            metadata = file.metadata
        groups: list[int] = []
        size = 0
        for group in range(metadata.num_row_groups):
            groups.append(group)
            size += metadata.row_group(group).num_rows
            if size >= rows or group == metadata.num_row_groups - 1:
                ranges.append(RowGroupRange(f"{len(ranges):05d}", store.location, name, tuple(groups), size))
                groups, size = [], 0
    return ranges


def hash_refs(refs: Any) -> U64:
    """A number for each ref, the same in every process."""
    encoded = refs.dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    hashes = [
        int.from_bytes(hashlib.blake2b(ref.encode(), digest_size=8).digest(), "little")
        for ref in encoded.dictionary.to_pylist()
    ]
    result: U64 = np.array(hashes, np.uint64)[encoded.indices.to_numpy(zero_copy_only=False)]
    return result


def partition_comments(stretch: RowGroupRange, job: PartitionJob) -> PartitionReport:
    """First pass over one stretch; one that was done before is not done again."""
    store = PartStore(job.store)
    done = f"{DEALT}/{stretch.name}.json"
    before = store.read_report(done, PartitionReport)
    if before is not None:
        return before
    kept: list[pa.Table] = []
    reasons: Counter[str] = Counter()
    refs: list[pa.Table] = []
    for batch in _iter_batches(stretch):
        table, reason = _judge_comments(pa.Table.from_batches([batch]), job)
        good = reason == ""
        for why, number in zip(*np.unique(reason[~good], return_counts=True), strict=True):
            reasons[str(why)] += int(number)
        if not good.all():
            removed = pa.table(
                {"ref": table.column("ref").filter(pa.array(~good)), "reason": pa.array(reason[~good])}
            )
            refs.append(removed.group_by(["ref", "reason"]).aggregate([([], "count_all")]))
        kept.append(table.filter(pa.array(good)))
    if refs:
        store.write_table(f"{LEFT}/deal-{stretch.name}.parquet", pa.concat_tables(refs))
    if kept:
        _write_partitions(pa.concat_tables(kept), stretch.name, job.parts, store)
    report = PartitionReport(rows=stretch.rows, left=dict(reasons))
    store.write(done, msgspec.json.encode(report))
    return report


def _iter_batches(stretch: RowGroupRange) -> Iterator[pa.RecordBatch]:
    with PartStore(stretch.store).open_table(stretch.file) as file:
        yield from file.iter_batches(_BATCH, row_groups=list(stretch.groups))


def _judge_comments(table: pa.Table, job: PartitionJob) -> tuple[pa.Table, NDArray[Any]]:
    """The comments with language, key and the hash of their video, and why some cannot stay."""
    settings = job.settings
    text = pc.utf8_trim_whitespace(pc.fill_null(table.column("text"), "")).combine_chunks()
    tokens = tokenize(text)
    reason = np.full(len(table), "", dtype=object)
    characters = np.diff(tokens.begins)
    fewest, most = settings.comment_characters
    _mark(reason, characters < fewest, "too short")
    _mark(reason, characters > most, "too long")
    _mark(reason, measure_longest_runs(tokens) > settings.longest_run, REPEATED)
    broken = match_rules(text, job.rules, "comment")
    for number in np.unique(broken[broken > 0]):
        _mark(reason, broken == number, job.rules[number - 1].name)
    scripts = count_scripts(tokens)
    language = load_detector().detect(tokens, scripts).astype(np.uint8)
    language[scripts[:, SCRIPTS.index("Latin") : SCRIPTS.index("emoji")].sum(1) == 0] = NO_LETTERS
    table = table.set_column(table.schema.get_field_index("text"), "text", text)
    table = table.append_column("code", pa.array(language))
    table = table.append_column("key", pa.array(hash_texts(tokens)))
    table = table.append_column("words", pa.array(np.minimum(tokens.counts, 255).astype(np.uint8)))
    table = table.append_column("video", pa.array(hash_refs(table.column("ref"))))
    return table.append_column("long", pa.array(characters >= settings.pasted[0])), reason


def _mark(reason: NDArray[Any], which: Any, why: str) -> None:
    reason[which & (reason == "")] = why


def _write_partitions(table: pa.Table, name: str, parts: int, store: PartStore) -> None:
    part = (table.column("video").to_numpy() % np.uint64(parts)).astype(np.int64)
    order = np.argsort(part, kind="stable")
    ordered = table.take(pa.array(order))
    edges = np.searchsorted(part[order], np.arange(parts + 1))
    for number in range(parts):
        rows = ordered.slice(edges[number], edges[number + 1] - edges[number])
        if len(rows):
            place = f"{DEALT}/{number:04d}/{name}.parquet"
            store.write_table(place, rows, compression="lz4", use_dictionary=["ref"])
