"""Blind packs on disk: comments of people and models under each video, nameless, and a sealed key apart.

A pack is a folder: `items.jsonl` (a comment a line, under an id that says nothing), `videos.jsonl` (what a
judge is shown of a video) and `pack.json`, written last. The key is one file elsewhere: a header, then a line
an item. Each names the other by its hash: a key opens its own pack only, and neither changes unnoticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.data_files import decode_json, iter_json_lines, iter_lines, read_bytes
from vivant.core.errors import DataError

FORMAT = 1
HUMAN = "human comments"
VERDICT = "Was this comment written by a person or by a program?"
REALISM = "How much does it read like a real viewer's comment, from 0 (not at all) to 5 (entirely)?"
ITEMS_FILE, VIDEOS_FILE, HEADER_FILE = "items.jsonl", "videos.jsonl", "pack.json"


class CommentSource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who wrote comments of a pack. Stands in the key only."""

    name: str
    kind: Literal["human", "model"]
    run: str = ""
    style: str = ""
    temperature: float | None = None
    seed: int | None = None
    fingerprint: str = ""


class PackItem(Struct, frozen=True, kw_only=True):
    """One comment to be judged."""

    item: str
    video: str
    text: str


class PackVideo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a judge sees of a video besides its comments."""

    video: str
    file: str
    title: str = ""
    platform: str = ""
    language: str = ""

    @property
    def facets(self) -> dict[str, str]:
        """What videos are told apart by."""
        return {"platform": self.platform or "unknown", "language": self.language or "unknown"}


class PackHeader(Struct, frozen=True, kw_only=True):
    """`pack.json`."""

    format: int = FORMAT
    pack: str
    """SHA-256 of items.jsonl."""
    key: str
    """SHA-256 of the key's lines after its header."""
    items: int
    videos: int
    root: str
    """Folder that video files are relative to."""
    verdict: str = VERDICT
    realism: str = REALISM


class KeyHeader(Struct, frozen=True, kw_only=True):
    """First line of the key."""

    format: int = FORMAT
    pack: str
    seed: int
    human: int
    """Human comments per video asked for."""
    sources: tuple[CommentSource, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    """What was left out or is odd, and how often."""


class KeyEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item's origin."""

    item: str
    video: str
    source: int
    """Place in the header's `sources`."""
    comment: str = ""
    """A human comment's id."""
    rank: int | None = None
    likes: int | None = None


def is_pack(folder: Path) -> bool:
    """Return True if a folder is a pack of comments."""
    return (folder / HEADER_FILE).is_file()


class Pack:
    """A pack, its hash checked when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        file = path / HEADER_FILE
        if not path.is_dir():
            raise DataError(f"No pack at {path}: no such folder")
        if not file.is_file():
            raise DataError(f"{path} is not a pack: it has no {HEADER_FILE}")
        self.header = decode_json(read_bytes(file), str(file), msgspec.json.Decoder(PackHeader))
        if self.header.format != FORMAT:
            raise DataError(f"{file}: format {self.header.format}; this version reads format {FORMAT}")
        actual = hash_file(path / ITEMS_FILE)
        if actual != self.header.pack:
            raise DataError(f"{path / ITEMS_FILE} was changed after the pack was made; build the pack anew")

    def items(self) -> Iterator[PackItem]:
        """The comments in the order in which they are shown."""
        return (item for _, item in iter_json_lines(self.path / ITEMS_FILE, PackItem))

    def videos(self) -> Iterator[PackVideo]:
        """The videos in the same order."""
        return (video for _, video in iter_json_lines(self.path / VIDEOS_FILE, PackVideo))


class Key(Struct, frozen=True, kw_only=True):
    """A key that fits its pack."""

    header: KeyHeader
    entries: Mapping[str, KeyEntry]
    """By item."""


def open_key(path: Path, pack: Pack) -> Key:
    """The key of a pack. A key of another pack, or one that was changed, is refused."""
    lines = iter_lines(path)
    first = next(lines, None)
    if first is None:
        raise DataError(f"{path} is empty; it should be the key of {pack.path}")
    where = f"{path}, line 1: not the header of a key"
    header = decode_json(first[1], where, msgspec.json.Decoder(KeyHeader))
    if header.pack != pack.header.pack:
        raise DataError(
            f"{path} is the key of another pack: it opens {header.pack[:12]}, "
            f"and {pack.path} is {pack.header.pack[:12]}"
        )
    body = hashlib.sha256()
    decoder = msgspec.json.Decoder(KeyEntry)
    entries: dict[str, KeyEntry] = {}
    for number, line in lines:
        body.update(line)
        entry = decode_json(line, f"{path}, line {number}", decoder)
        entries[entry.item] = entry
    if body.hexdigest() != pack.header.key:
        raise DataError(f"{path} was changed or cut off after the pack {pack.path} was made")
    return Key(header=header, entries=entries)


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror}") from error
