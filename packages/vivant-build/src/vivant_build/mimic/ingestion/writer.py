"""Normalised records → Parquet, a bounded number at a time, in parts that are there whole or not at all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from vivant.core.files import write_atomic
from vivant_build.mimic.ingestion.creators import list_creator_keys, write_creators
from vivant_build.mimic.ingestion.people import write_names
from vivant_build.mimic.ingestion.values import VideoRow, make_safe_id
from vivant_build.mimic.notes import count_noun
from vivant_build.mimic.schema import COMMENTS, VIDEOS
from vivant_build.mimic.steps import stop_where_unwritable
from vivant_build.privacy import Anonymizer, fold_names, normalize_text

PARTS = "parts"
"""The folder of all that was read, until it is settled."""


class IngestReport(Struct):
    """What became of the records of one part."""

    videos: int = 0
    videos_in: int = 0
    comments: int = 0
    comments_in: int = 0
    left: dict[str, int] = {}
    """Why videos were left out: reason → how many."""
    left_comments: dict[str, int] = {}
    mended: int = 0
    """Values that were taken as unknown."""
    notes: dict[str, int] = {}
    quarantine: list[tuple[str, str, str]] = []
    """Source, item, reason."""


class RecordWriter:
    """Takes videos and comments and writes one Parquet file of each, `videos/NAME` and `comments/NAME` in `folder`."""

    def __init__(self, folder: Path, name: str, anonymizer: Anonymizer, batch: int) -> None:
        self._paths = {kind: folder / kind / f"{name}.parquet" for kind in ("videos", "comments")}
        for path in self._paths.values():
            path.parent.mkdir(parents=True, exist_ok=True)
        self._done = folder / f"{name}.json"
        self._anonymizer = anonymizer
        self._batch = batch
        self._rows: list[VideoRow] = []
        self._columns: tuple[list[Any], ...] = ([], [], [], [], [])
        self._refs: list[str] = []
        self._runs: list[int] = []
        self._files: dict[str, pq.ParquetWriter] = {}
        self._left: Counter[str] = Counter()
        self._left_comments: Counter[str] = Counter()
        self._notes: Counter[str] = Counter()
        self._people: list[str] = []
        self._folded_names = pa.array([], pa.string())
        self._makers: set[tuple[str, ...]] = set()
        self._creators: set[tuple[str, str, str]] = set()
        self.report = IngestReport()
        self._tomorrow = time.time() + 86_400

    # ── what comes in ──

    def people(self, names: Iterable[str | None]) -> None:
        """Take note of uploaders' and commenters' names, so that they leave every text of the crawl."""
        self._people.extend(filter(None, names))
        if len(self._people) >= self._batch:
            self._fold_people()

    def _fold_people(self) -> None:
        self._folded_names = pc.unique(pa.concat_arrays([self._folded_names, fold_names(set(self._people))]))
        self._people.clear()

    def maker(self, row: VideoRow, names: Sequence[str]) -> None:
        """Take note of who put a video up: names leave the texts, hashes of them tell a creator on two platforms."""
        maker = (row.platform, row.uploader, *names)
        if maker in self._makers and "/" not in row.description:
            return
        self._makers.add(maker)
        self.people(names)
        uploader = self._anonymizer.hash_uploader(row.platform, row.uploader)
        if uploader:
            for kind, key in list_creator_keys(names, row.description):
                self._creators.add((uploader, kind, self._anonymizer.hash_uploader("", key)))

    def video(self, row: VideoRow) -> str:
        """Take a video in and return its ref."""
        row.id = make_safe_id(row.id)
        if row.uploaded is not None and row.uploaded > self._tomorrow:
            self.note("videos dated in the future, whose dates are kept")
        self._rows.append(row)
        self.report.videos_in += 1
        self.report.videos += 1
        if len(self._rows) >= self._batch:
            self._flush_videos()
        return f"{row.platform}/{row.id}"

    def comments(
        self,
        ref: str,
        ids: Sequence[str],
        texts: Sequence[str],
        likes: Sequence[int | None],
        times: Sequence[float | None],
        answered: Sequence[str | None],
    ) -> None:
        """Take comments of one video in; those without a text, and those that come twice, are left out."""
        if not ids:
            return
        self.report.comments_in += len(ids)
        columns: tuple[Sequence[Any], ...] = (ids, texts, likes, times, answered)
        if not all(map(str.strip, texts)) or len(set(ids)) != len(ids):
            columns = self._drop_unusable(ref, columns)
        for column, new in zip(self._columns, columns, strict=True):
            column.extend(new)
        platform, _, name = ref.partition("/")
        self._refs.append(f"{platform}/{make_safe_id(name)}")
        self._runs.append(len(columns[0]))
        self.report.comments += len(columns[0])
        if len(self._columns[0]) >= self._batch:
            self._flush_comments()

    def _drop_unusable(self, ref: str, columns: tuple[Sequence[Any], ...]) -> tuple[Sequence[Any], ...]:
        rows: list[tuple[Any, ...]] = []
        ids: set[str] = set()
        why: Counter[str] = Counter()
        for row in zip(*columns, strict=True):
            if not row[1] or not row[1].strip():
                why["no text"] += 1
            elif row[0] in ids:
                why["the same comment twice"] += 1
            else:
                ids.add(row[0])
                rows.append(row)
        for reason, number in why.items():
            self.leave_comments(ref, reason, number)
        return tuple(zip(*rows, strict=True)) if rows else ((), (), (), (), ())

    def leave(self, source: str, item: str, reason: str, *, kind: str = "") -> None:
        """A record that cannot be used. `kind` is the reason in the table of counts, where many are alike."""
        self.report.videos_in += 1
        self._left[kind or reason] += 1
        self.report.quarantine.append((source, item, reason))

    def leave_comments(
        self, ref: str, reason: str, number: int, *, new: bool = False, kind: str = ""
    ) -> None:
        """Comments that cannot be used: one line for all of a video. `new`: they have not been counted yet.

        `kind` is the reason in the table of counts.
        """
        self.report.comments_in += number if new else 0
        self._left_comments[kind or reason] += number
        self.report.quarantine.append((ref, count_noun(number, "comment"), reason))

    def cut_comments(self, source: str, reason: str, kept: int) -> None:
        """A video whose list of comments breaks off: it stays with those that are whole, and the torn one counts."""
        self.report.comments_in += 1
        self._left_comments["cut off"] += 1
        self.report.quarantine.append(
            (source, f"comment {kept + 1}", f"{reason}; the video and {count_noun(kept, 'comment')} are kept")
        )

    def mend(self, source: str, item: str, problem: str) -> None:
        """A value that is taken as unknown; the record stays."""
        self.report.mended += 1
        self.report.quarantine.append((source, item, f"{problem}; taken as unknown, the rest is kept"))

    def note(self, what: str) -> None:
        """Something worth a line, counted: what there is a number of."""
        self._notes[what] += 1

    # ── what goes out ──

    def close(self) -> IngestReport:
        """Write what is left, put the files in their places, and leave word that the part is whole."""
        self._flush_videos()
        self._flush_comments()
        for kind, file in self._files.items():
            with stop_where_unwritable(self._paths[kind]):
                file.close()
                self._paths[kind].with_suffix(".tmp").replace(self._paths[kind])
        self.report.left = dict(self._left)
        self.report.left_comments = dict(self._left_comments)
        self.report.notes = dict(self._notes)
        self._fold_people()
        write_names(self._done, self._folded_names)
        write_creators(self._done, self._creators)
        write_atomic(self._done, msgspec.json.encode(self.report), durable=False)
        return self.report

    def _put(self, kind: str, table: pa.Table) -> None:
        file = self._files.get(kind)
        with stop_where_unwritable(self._paths[kind]):
            if file is None:
                path = self._paths[kind].with_suffix(".tmp")
                file = self._files[kind] = pq.ParquetWriter(
                    path,
                    table.schema,
                    compression="zstd",
                    compression_level=1,
                    use_dictionary=[
                        "ref",
                        "platform",
                        "uploader",
                        "category",
                        "language",
                        "licence",
                        "reply_to",
                    ],
                    write_statistics=["ref"],
                )
            file.write_table(table)

    def _flush_videos(self) -> None:
        rows = self._rows
        if not rows:
            return
        hidden = self._anonymizer
        cells = zip(*map(msgspec.structs.astuple, rows), strict=True)
        columns: dict[str, Any] = dict(zip(VideoRow.__struct_fields__, cells, strict=True))
        columns["ref"] = [f"{row.platform}/{row.id}" for row in rows]
        columns["uploader"] = [hidden.hash_uploader(row.platform, row.uploader) for row in rows]
        columns["uploaded"] = pa.array(columns["uploaded"], pa.timestamp("s"))
        columns |= _clean_video_texts(columns, hidden)
        columns["category"] = [normalize_text(name) for name in columns["category"]]
        columns["topics"] = [[normalize_text(name) for name in row] for row in columns["topics"]]
        arrays = [
            column.cast(field.type) if isinstance(column, pa.Array) else pa.array(column, field.type)
            for field, column in ((field, columns[field.name]) for field in VIDEOS)
        ]
        self._put("videos", pa.table(arrays, schema=VIDEOS))
        self._rows = []

    def _flush_comments(self) -> None:
        ids, texts, likes, times, answered = self._columns
        if not ids:
            return
        rows = np.repeat(np.arange(len(self._refs)), self._runs)
        arrays = [
            pa.array(self._refs, pa.string()).take(pa.array(rows)),
            pa.array(ids, pa.string()),
            self._anonymizer.mask_texts(texts),
            pa.array(likes, pa.int64()),
            pa.array(times, pa.float64())
            .cast(pa.int64(), safe=False)
            .cast(pa.timestamp("s"))
            .cast(pa.timestamp("us")),
            _convert_parents(answered),
        ]
        self._put("comments", pa.table(arrays, schema=COMMENTS))
        for column in (*self._columns, self._refs, self._runs):
            column.clear()


def write_missing_tables(folder: Path) -> None:
    """An empty file where a crawl has no videos or no comments."""
    for kind, schema in (("videos", VIDEOS), ("comments", COMMENTS)):
        if not any((folder / kind).glob("*.parquet")):
            pq.write_table(schema.empty_table(), folder / kind / "empty.parquet")


def _convert_parents(names: list[str | None]) -> pa.Array:
    """Whom comments answer: nobody where yt-dlp says `root`."""
    column = pc.fill_null(pa.array(names, pa.string()), "")
    return pc.if_else(pc.equal(column, "root"), "", column)


def _clean_video_texts(columns: Mapping[str, Any], anonymizer: Anonymizer) -> dict[str, Any]:
    """Titles, descriptions and tags, in one go: to prepare the search takes longer than to search some hundred."""
    titles, descriptions, tags = (columns[name] for name in ("title", "description", "tags"))
    texts = anonymizer.mask_texts([*titles, *descriptions, *(tag for row in tags for tag in row)])
    count = len(titles)
    cleaned = iter(texts[2 * count :].to_pylist())
    return {
        "title": texts[:count],
        "description": texts[count : 2 * count],
        "tags": [
            [text for text in (next(cleaned).strip('"').lstrip("#＃") for _ in row) if text] for row in tags
        ],
    }
