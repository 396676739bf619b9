"""Personal data out of texts: mentions, accounts, links, addresses, telephone numbers, and the uploader's own name.

Who put a video up stays known as a hash with a random salt that belongs to the work folder: enough to tell that two
videos have one uploader, useless to anyone without the salt. The salt lies in WORK/.salt and is never published.
Names of people across the crawl go in a second pass, see `people`.
"""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import repeat
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from vivant.build.mimic.ingestion.contact_patterns import Span
from vivant.build.mimic.ingestion.personal_data import (
    Chosen,
    find_contacts,
    find_mentions,
    find_suspects,
)
from vivant.build.mimic.ingestion.text_forms import FOLDABLE, clean_text, fold_text, squeeze_spaces
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.files import atomic_path

SALT = ".salt"
_SALT_BYTES = 32
_FOLDED_LETTERS = (
    b"\xef\xbc",
    b"\xef\xbd",
    b"\xf0\x9d",
    b"\xe2\x92",
    b"\xe2\x93",
    b"\xe2\x80\x8b",
    b"\xe2\x81\xa0",
)
"""First bytes of wide, mathematical and circled letters, and of what hides inside words."""
_SHORTEST_NAME = 4
"""Shorter names are often words."""


def read_salt(work: Path) -> bytes:
    """The work folder's salt; made at the first call, readable by its owner alone."""
    path = work / SALT
    if not path.exists():
        with atomic_path(path) as whole:
            whole.touch(0o600, exist_ok=False)
            whole.write_bytes(secrets.token_bytes(_SALT_BYTES))
    salt = path.read_bytes()
    if len(salt) != _SALT_BYTES:
        raise UsageError(
            f"{path} has {len(salt)} bytes and not {_SALT_BYTES}, which would not hide who put a video up; put the one "
            "that was there back, or delete it and run ingest again: uploaders get other hashes"
        )
    return salt


class Anonymiser:
    """Takes names out of texts, or puts hashes in their places."""

    def __init__(
        self,
        salt: bytes,
        mentions: Literal["hash", "remove", "keep"] = "remove",
        links: Literal["remove", "keep"] = "remove",
    ) -> None:
        for what, mode, known in (
            ("mentions", mentions, ("hash", "remove", "keep")),
            ("links", links, ("remove", "keep")),
        ):
            if mode not in known:  # another would leave in what should go
                raise unknown_name_error(f"mode of {what}", mode, known)
        self._salt = salt
        self._mentions = mentions
        self._links = links
        self._uploaders: dict[str, str] = {}

    def uploader(self, platform: str, name: str) -> str:
        """Sixteen hex digits for an uploader; nothing for nobody."""
        if not name:
            return ""
        full = f"{platform}\x1f{name}"
        hashed = self._uploaders.get(full)
        if hashed is None:
            if len(self._uploaders) > 500_000:
                self._uploaders.clear()
            hashed = self._uploaders[full] = self._hash(full)[:16]
        return hashed

    def _hash(self, text: str) -> str:
        return hashlib.blake2b(text.encode("utf-8", "replace"), key=self._salt, digest_size=16).hexdigest()

    def text(self, text: str) -> str:
        """One text without mentions, accounts, links, addresses, telephone numbers and what cannot be seen."""
        return self._clean([text])[0]

    def _clean(
        self, texts: Sequence[str], *, contacts: bool = True, chosen: Chosen | None = None
    ) -> list[str]:
        """The same for several; `contacts`: False where only mentions can be in them, which is quicker."""
        cleaned = [clean_text(text) for text in texts]
        folded = [fold_text(text) for text in cleaned]
        found: Iterable[list[Span]] = repeat([])
        if contacts and self._links == "remove":
            found = find_contacts([shadow for shadow, _ in folded], chosen)
        return [
            self._cut(text, shadow, places, spans)
            for text, (shadow, places), spans in zip(cleaned, folded, found, strict=False)
        ]

    def _cut(self, text: str, shadow: str, places: list[int] | None, contacts: list[Span]) -> str:
        spans = [(start, end, "") for start, end in contacts]
        if self._mentions != "keep":
            spans += [
                (start, end, self._name_mention(shadow[start:end])) for start, end in find_mentions(shadow)
            ]
        return squeeze_spaces(cut_spans(text, spans, places) if spans else text)

    def _name_mention(self, mention: str) -> str:
        return f"@{self._hash(mention.lower())[:6]}" if self._mentions == "hash" else ""

    def texts(self, texts: Sequence[str]) -> pa.Array:
        """A column of texts; each is read once, and only if it holds something suspect."""
        encoded = pa.array(texts, pa.string()).dictionary_encode()  # tags and advertisements are repeated
        column = encoded.dictionary
        suspect, mentions, chosen = find_suspects(column)
        for mask, contacts in ((suspect, True), (mentions, False)):
            found = column.filter(mask).to_pylist()
            if found:
                cleaned = pa.array(self._clean(found, contacts=contacts, chosen=chosen), pa.string())
                column = pc.replace_with_mask(column, mask, cleaned)
        return column.take(encoded.indices)


def cut_spans(text: str, spans: list[tuple[int, int, str]], places: list[int] | None) -> str:
    """A text without the spans of its shadow; of those that overlap the outermost counts."""
    pieces: list[str] = []
    end = 0
    for first, last, instead in sorted(spans, key=lambda span: (span[0], -span[1])):
        start, stop = (first, last) if places is None else (places[first], places[last - 1] + 1)
        if start >= end:
            pieces += (text[end:start], instead)
        end = max(end, stop)
    return "".join(pieces) + text[end:]


def remove_names(texts: list[str], names: Sequence[str]) -> list[str]:
    """The same texts without an uploader's names where they stand as words of their own, in any letter case."""
    usable = {fold_text(name.strip().lstrip("@"))[0].casefold() for name in names}
    usable = {name for name in usable if len(name) >= _SHORTEST_NAME}
    if not usable:
        return texts
    if not _may_hold("\n".join(texts), usable):
        return texts
    return [_remove_words(text, usable) for text in texts]


def _may_hold(text: str, names: set[str]) -> bool:
    """Whether one of some folded names may be in a text. Bytes are searched where that is enough."""
    octets = text.encode("utf-8", "replace")
    if not any(mark in octets for mark in _FOLDED_LETTERS):
        lower = octets.lower()
        if all(name.isascii() for name in names):
            return any(name.encode() in lower for name in names)
    elif FOLDABLE.search(text):
        text = unicodedata.normalize("NFKC", text)
    folded = text.casefold()
    return any(name in folded for name in names)


def _remove_words(text: str, names: set[str]) -> str:
    """A text without the names, each with the @ before it; not where a name is part of a longer word."""
    shadow, places = fold_text(text)
    folded = shadow.casefold()
    if len(folded) != len(shadow):
        folded = "".join(c.casefold() if len(c.casefold()) == 1 else c for c in shadow)
    spans: list[tuple[int, int, str]] = []
    for name in names:
        start = folded.find(name)
        while start >= 0:
            end = start + len(name)
            first = start - 1 if folded[start - 1 : start] == "@" else start
            if not is_word_sign(folded[first - 1 : first]) and not is_word_sign(folded[end : end + 1]):
                spans.append((first, end, ""))
            start = folded.find(name, end)
    return squeeze_spaces(cut_spans(text, spans, places)) if spans else text


def is_word_sign(character: str) -> bool:
    """Whether a character, or nothing, is a letter, a digit or an underscore."""
    return character.isalnum() or character == "_"
