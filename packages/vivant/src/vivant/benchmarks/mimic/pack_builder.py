"""Runs + people's comments → a blind pack and its key.

Ids and order come from the seed together with the runs' fingerprints: the same command gives the same pack,
while somebody who holds the pack alone cannot work the order out. Videos are streamed, and models' comments
wait in a temporary file of SQLite's own, so that memory does not grow with the pack.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType

import msgspec
from msgspec import Struct

from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.data import iter_distinct_videos
from vivant.benchmarks.mimic.format import MimicVideo, select_most_liked
from vivant.benchmarks.mimic.packs import (
    HEADER_FILE,
    HUMAN,
    ITEMS_FILE,
    VIDEOS_FILE,
    CommentSource,
    KeyEntry,
    KeyHeader,
    PackHeader,
    PackItem,
    PackVideo,
)
from vivant.benchmarks.mimic.score import read_comment
from vivant.core.errors import DataError, UsageError
from vivant.core.files import atomic_file, write_atomic
from vivant.core.randomness import sample_ids, shuffled_indices
from vivant.core.records import Record
from vivant.core.structs import copy_shared_fields

LONG = 2000
"""Characters above which a comment is counted as very long; it is shown whole all the same."""
_TASK = names.format_task(names.MIMICKING)


class PackReport(Struct, frozen=True, kw_only=True):
    """What was written, and what there is to know about it."""

    header: PackHeader
    key: KeyHeader
    key_file: Path
    notes: tuple[str, ...]


class CommentAuthor(Struct, frozen=True, kw_only=True):
    """A model and what it wrote."""

    source: CommentSource
    records: Iterable[Record]


class _Entry(Struct, frozen=True):
    """A comment that still has its name."""

    source: int
    text: str
    comment: str = ""
    rank: int | None = None
    likes: int | None = None


def parse_human(text: str) -> int:
    """`top5` → 5, `none` → 0."""
    digits = text.removeprefix("top")
    if text == "none":
        return 0
    if text.startswith("top") and digits.isdecimal() and 0 < int(digits) <= 100:
        return int(digits)
    raise UsageError(f"--human {text}: write top5 for the five most-liked comments, or none")


def build_pack(
    authors: Sequence[CommentAuthor],
    root: Path,
    out: Path,
    *,
    key: Path | None = None,
    human: int = 5,
    seed: int = 0,
    limit: int | None = None,
) -> PackReport:
    """Write a pack from models' comments and the people's comments in the data folder `root`."""
    key_file = key or out.with_name(f"{out.name}.key.jsonl")
    _check_paths(out, key_file)
    if not authors:
        raise UsageError("Name at least one run of mimic/comment")
    sources = (*(author.source for author in authors), CommentSource(name=HUMAN, kind="human"))
    if len({source.name for source in sources}) != len(sources):
        raise UsageError("Two sources of comments have the same name")
    counts: Counter[str] = Counter()
    with closing(_store_comments(authors, counts)) as waiting:
        _limit_videos(waiting, limit, seed)
        try:
            return _PackBuilder(waiting, sources, counts, human, seed).write(root, out, key_file)
        except OSError as error:
            raise UsageError(f"Cannot write the pack {out}: {error.strerror}") from error


def _check_paths(out: Path, key_file: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists already; choose another --out")
    if key_file.exists():
        raise UsageError(f"The key {key_file} exists already; choose another --key")
    if out.resolve() in key_file.resolve().parents:
        raise UsageError(f"The key {key_file} would travel inside the pack; put it outside of {out}")


def _store_comments(authors: Sequence[CommentAuthor], counts: Counter[str]) -> sqlite3.Connection:
    """Models' comments by video; an empty one where a model wrote none."""
    waiting = sqlite3.connect("")
    waiting.execute("PRAGMA journal_mode = OFF")
    waiting.execute("CREATE TABLE comments (video TEXT, source INT, text TEXT)")
    for index, author in enumerate(authors):
        rows = ((video, index, text) for video, text in _iter_comments(author, counts))
        waiting.executemany("INSERT INTO comments VALUES (?, ?, ?)", rows)
    # Afterwards, sorted once: logs come in no order, and keeping one up row by row costs twice as much.
    waiting.execute("CREATE INDEX by_video ON comments (video, source)")
    return waiting


def _iter_comments(author: CommentAuthor, counts: Counter[str]) -> Iterator[tuple[str, str]]:
    for record in author.records:
        if record.task != _TASK:
            continue
        if record.repeat:
            counts["further comments by the same model on the same video: the first is taken"] += 1
            continue
        text, rule = read_comment(record.reply.text, author.source.style)
        if record.reply.status != "ok" or not text:
            reason = rule if record.reply.status == "ok" else record.reply.status
            counts[f"videos without a comment by {author.source.name} ({reason})"] += 1
            text = ""
        yield record.id, text


def _limit_videos(waiting: sqlite3.Connection, limit: int | None, seed: int) -> None:
    """Leave `limit` of the videos, chosen by their own hashes."""
    if limit is None:
        return
    videos = [video for (video,) in waiting.execute("SELECT DISTINCT video FROM comments ORDER BY video")]
    dropped = set(videos) - set(sample_ids(videos, limit, seed, "mimic/pack"))
    waiting.executemany("DELETE FROM comments WHERE video = ?", [(video,) for video in dropped])


class _PackBuilder:
    """Streams videos into the three files."""

    def __init__(
        self,
        waiting: sqlite3.Connection,
        sources: tuple[CommentSource, ...],
        counts: Counter[str],
        human: int,
        seed: int,
    ) -> None:
        self._waiting = waiting
        self._sources = sources
        self._counts = counts
        self._human = human
        self._seed = seed
        self._secret = hashlib.sha256(msgspec.json.encode((seed, human, sources))).hexdigest()
        self._items = self._videos = 0

    def write(self, root: Path, out: Path, key_file: Path) -> PackReport:
        out.mkdir(parents=True, exist_ok=True)
        key_file.parent.mkdir(parents=True, exist_ok=True)
        body_file = key_file.with_name(key_file.name + ".tmp")
        try:
            with (
                _HashedFile(out / ITEMS_FILE) as items,
                _HashedFile(out / VIDEOS_FILE) as videos,
                _HashedFile(body_file) as body,
            ):
                for _, video in iter_distinct_videos(root):
                    self._write_video(video, items, videos, body)
                self._check_complete(root)
        except (DataError, OSError):
            for file in (out / ITEMS_FILE, out / VIDEOS_FILE, body_file):
                file.unlink(missing_ok=True)
            raise
        header = KeyHeader(
            pack=items.sha256,
            seed=self._seed,
            human=self._human,
            sources=self._sources,
            counts=dict(self._counts),
        )
        with atomic_file(key_file) as key, body_file.open("rb") as lines:
            key.write(msgspec.json.encode(header) + b"\n")
            shutil.copyfileobj(lines, key)
        body_file.unlink()
        pack_header = PackHeader(
            pack=items.sha256,
            key=body.sha256,
            items=self._items,
            videos=self._videos,
            root=str(root.resolve()),
        )
        write_atomic(out / HEADER_FILE, msgspec.json.format(msgspec.json.encode(pack_header), indent=1))
        notes = tuple(f"{count} {label}" for label, count in sorted(self._counts.items()))
        return PackReport(header=pack_header, key=header, key_file=key_file, notes=notes)

    def _write_video(
        self, video: MimicVideo, items: _HashedFile, videos: _HashedFile, body: _HashedFile
    ) -> None:
        comments = self._waiting.execute(
            "SELECT source, text FROM comments WHERE video = ? ORDER BY source", (video.ref,)
        ).fetchall()
        if not comments:
            self._counts["videos of the data that no run comments on, or that --limit leaves out"] += 1
            return
        entries = [_Entry(source, text) for source, text in comments if text]
        for index in set(range(len(self._sources) - 1)) - {source for source, _ in comments}:
            self._counts[f"videos without a comment by {self._sources[index].name} (not asked)"] += 1
        entries += self._iter_human(video)
        self._count_odd(entries)
        videos.write(
            PackVideo(**copy_shared_fields(video, PackVideo) | {"file": video.path}, video=video.ref)
        )
        ref = video.ref
        for index in shuffled_indices(len(entries), self._seed, self._secret, ref):
            entry = entries[index]
            name = self._build_item_id(ref, entry)
            items.write(PackItem(item=name, video=ref, text=entry.text))
            body.write(KeyEntry(item=name, video=ref, **copy_shared_fields(entry, KeyEntry)))
        self._items += len(entries)
        self._videos += 1

    def _iter_human(self, video: MimicVideo) -> Iterator[_Entry]:
        selected = select_most_liked(video.comments, self._human)
        if len(selected) < self._human:
            self._counts[f"videos with fewer than {self._human} human comments: all of them are taken"] += 1
        if any(comment.likes is None for comment in selected):
            self._counts["videos with human comments of unknown likes among those taken: file order"] += 1
        for rank, comment in enumerate(selected, 1):
            yield _Entry(len(self._sources) - 1, comment.text.strip(), comment.id, rank, comment.likes)

    def _count_odd(self, entries: Sequence[_Entry]) -> None:
        texts = Counter(entry.text for entry in entries)
        self._counts["comments that stand word for word under the same video by another hand"] += sum(
            count for count in texts.values() if count > 1
        )
        self._counts[f"comments of more than {LONG} characters, shown whole"] += sum(
            len(entry.text) > LONG for entry in entries
        )
        self._counts += Counter()  # drops what was counted as zero

    def _build_item_id(self, ref: str, entry: _Entry) -> str:
        name = "\x1f".join((self._secret, ref, str(entry.source), entry.comment, str(entry.rank)))
        return hashlib.sha256(name.encode()).hexdigest()[:16]

    def _check_complete(self, root: Path) -> None:
        (expected,) = self._waiting.execute("SELECT COUNT(DISTINCT video) FROM comments").fetchone()
        if not expected:
            raise DataError("The runs hold no comments; finish them first")
        if self._videos < expected:
            raise DataError(
                f"{expected - self._videos} of the {expected} videos that the runs comment on are not "
                f"in {root}; give the folder that the runs were made with"
            )
        if not self._items:
            raise DataError("None of the runs wrote a comment, and there are no human ones")


class _HashedFile:
    """A file of JSON lines that knows its own hash."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._encoder = msgspec.json.Encoder()
        self._hash = hashlib.sha256()

    def write(self, value: Struct) -> None:
        line = self._encoder.encode(value) + b"\n"
        self._hash.update(line)
        self._file.write(line)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def __enter__(self) -> _HashedFile:
        self._file = self._path.open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
