"""Mask personal data in texts: mentions, accounts, links, addresses, phone numbers and an uploader's own names.

Uploaders become hashes with a random salt that belongs to the work folder. The hashes show that two videos have the
same uploader, and nothing else to anyone without the salt. The salt is in WORK/.salt and is never published.
`name_book` removes the names of everybody else in a crawl, in a second pass.
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

from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.files import atomic_path
from vivant_build.privacy.contact_patterns import Span
from vivant_build.privacy.personal_data import (
    Chosen,
    find_contacts,
    find_mentions,
    find_suspects,
)
from vivant_build.privacy.text_forms import FOLDABLE, clean_text, fold_text, squeeze_spaces

Mentions = Literal["hash", "remove", "keep"]
Links = Literal["remove", "keep"]

_SALT = ".salt"
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
"""First bytes of wide, mathematical and circled letters, and of invisible characters inside words."""
_SHORTEST_NAME = 4
"""Shorter names are often words."""


def read_salt(work: Path) -> bytes:
    """Return the salt of a work folder; the first call creates it, readable by its owner only."""
    path = work / _SALT
    if not path.exists():
        with atomic_path(path) as whole:
            whole.touch(0o600, exist_ok=False)
            whole.write_bytes(secrets.token_bytes(_SALT_BYTES))
    salt = path.read_bytes()
    if len(salt) != _SALT_BYTES:
        raise UsageError(
            f"{path} has {len(salt)} bytes instead of {_SALT_BYTES}. Restore the original file, or delete it and run "
            "ingest again: uploaders will then get different hashes."
        )
    return salt


class Anonymizer:
    """Mask personal data in texts and hash uploaders.

    Args:
        salt: Key of the hashes, see `read_salt`.
        mentions: Whether @-mentions are removed, kept, or replaced by `@` and six hex digits that depend on the salt.
        links: Whether everything else is removed or kept: links, e-mail addresses, phone numbers, accounts, postal
            addresses, ID numbers and the names by which people introduce themselves.
    """

    def __init__(self, salt: bytes, mentions: Mentions = "remove", links: Links = "remove") -> None:
        for what, mode, known in (
            ("mentions", mentions, ("hash", "remove", "keep")),
            ("links", links, ("remove", "keep")),
        ):
            if mode not in known:  # a typo would leave personal data in
                raise unknown_name_error(f"mode of {what}", mode, known)
        self._salt = salt
        self._mentions = mentions
        self._links = links
        self._uploaders: dict[str, str] = {}

    def hash_uploader(self, platform: str, name: str) -> str:
        """Return 16 hex digits for an uploader; an empty string if the name is empty."""
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

    def mask_text(self, text: str) -> str:
        """Return a text without personal data, HTML entities and invisible characters."""
        return self._mask([text])[0]

    def mask_texts(self, texts: Sequence[str]) -> pa.Array:
        """Mask a column of texts; much faster per text than `mask_text`, which reads every text closely."""
        encoded = pa.array(texts, pa.string()).dictionary_encode()  # tags and advertisements are repeated
        column = encoded.dictionary
        suspect, mentions, chosen = find_suspects(column)
        for mask, contacts in ((suspect, True), (mentions, False)):
            selected = column.filter(mask).to_pylist()
            if selected:
                masked = pa.array(self._mask(selected, contacts=contacts, chosen=chosen), pa.string())
                column = pc.replace_with_mask(column, mask, masked)
        return column.take(encoded.indices)

    def _mask(
        self, texts: Sequence[str], *, contacts: bool = True, chosen: Chosen | None = None
    ) -> list[str]:
        """Mask texts; `contacts=False` is faster if they can only hold mentions."""
        cleaned = [clean_text(text) for text in texts]
        folded = [fold_text(text) for text in cleaned]
        contact_spans: Iterable[list[Span]] = repeat([])
        if contacts and self._links == "remove":
            contact_spans = find_contacts([shadow for shadow, _ in folded], chosen)
        return [
            self._cut(text, shadow, offsets, spans)
            for text, (shadow, offsets), spans in zip(cleaned, folded, contact_spans, strict=False)
        ]

    def _cut(self, text: str, shadow: str, offsets: list[int] | None, contacts: list[Span]) -> str:
        spans = [(start, end, "") for start, end in contacts]
        if self._mentions != "keep":
            spans += [
                (start, end, self._name_mention(shadow[start:end])) for start, end in find_mentions(shadow)
            ]
        return squeeze_spaces(cut_spans(text, spans, offsets) if spans else text)

    def _name_mention(self, mention: str) -> str:
        return f"@{self._hash(mention.lower())[:6]}" if self._mentions == "hash" else ""


def cut_spans(text: str, spans: list[tuple[int, int, str]], offsets: list[int] | None) -> str:
    """Replace spans of a text; if spans overlap, the outermost counts.

    Args:
        text: The text as it was written.
        spans: Start and end in the folded text, and the replacement.
        offsets: Offset in the text of each character of the folded text, see `fold_text`.
    """
    pieces: list[str] = []
    end = 0
    for first, last, replacement in sorted(spans, key=lambda span: (span[0], -span[1])):
        start, stop = (first, last) if offsets is None else (offsets[first], offsets[last - 1] + 1)
        if start >= end:
            pieces += (text[end:start], replacement)
        end = max(end, stop)
    return "".join(pieces) + text[end:]


def remove_names(texts: list[str], names: Sequence[str]) -> list[str]:
    """Remove an uploader's names from texts, in any letter case.

    A name inside a longer word stays, and so do names of fewer than four characters: they are often words.
    """
    usable = {fold_text(name.strip().lstrip("@"))[0].casefold() for name in names}
    usable = {name for name in usable if len(name) >= _SHORTEST_NAME}
    if not usable:
        return texts
    if not _may_hold("\n".join(texts), usable):
        return texts
    return [_remove_words(text, usable) for text in texts]


def _may_hold(text: str, names: set[str]) -> bool:
    """Return False if a text surely holds none of the folded names. Bytes are searched where that is enough."""
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
    """Remove the names, each with an @ before it, unless they are part of a longer word."""
    shadow, offsets = fold_text(text)
    folded = shadow.casefold()
    if len(folded) != len(shadow):
        folded = "".join(c.casefold() if len(c.casefold()) == 1 else c for c in shadow)
    spans: list[tuple[int, int, str]] = []
    for name in names:
        start = folded.find(name)
        while start >= 0:
            end = start + len(name)
            first = start - 1 if folded[start - 1 : start] == "@" else start
            if not _is_word_character(folded[first - 1 : first]) and not _is_word_character(
                folded[end : end + 1]
            ):
                spans.append((first, end, ""))
            start = folded.find(name, end)
    return squeeze_spaces(cut_spans(text, spans, offsets)) if spans else text


def _is_word_character(character: str) -> bool:
    """Return whether a character is a letter, a digit or an underscore; False for an empty string."""
    return character.isalnum() or character == "_"
