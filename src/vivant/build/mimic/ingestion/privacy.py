"""People's names out of texts: mentions, links, addresses, and the uploader's own name.

Who put a video up stays known as a hash with a random salt that belongs to the work folder: enough to tell that two
videos have one uploader, useless to anyone without the salt. The salt lies in WORK/.salt and is never published.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

SALT = ".salt"
_ENDINGS = "com|net|org|info|me|be|ly|gg|tv|io|co|app|shop|xyz|link|site|online|store|dev|de|fr|es|it|uk|ru|cn|in|br|jp"
# What is worth a closer look, for Arrow's expressions: everything below contains one of these.
_SUSPECT = r"@|://|www\.|WWW\.|\+\d|\.[a-zA-Z][a-zA-Z]|[\x00-\x08\x0b-\x1f\x7f]"
_EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_LINK = (
    r"(?:https?://|ftp://|www\.)\S+"
    rf"|(?<![\w.@-])[\w-]+(?:\.[\w-]+)*\.(?:{_ENDINGS})(?!\w)(?:/\S*)?|\+\d[\d ().-]{{6,}}\d"
)
_MENTION = r"(?<![\w@])@[\w.·-]*\w"
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f]"
_SPACES = re.compile(r"[ \t]{2,}")
_SHORTEST_NAME = 4
"""Shorter names are often words."""


def read_salt(work: Path) -> bytes:
    """The work folder's salt; made at the first call, readable by its owner alone."""
    path = work / SALT
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_bytes()
    with os.fdopen(descriptor, "wb") as file:
        salt = secrets.token_bytes(32)
        file.write(salt)
    return salt


class Anonymiser:
    """Takes names out of texts, or puts hashes in their places."""

    def __init__(
        self,
        salt: bytes,
        mentions: Literal["hash", "remove", "keep"] = "remove",
        links: Literal["remove", "keep"] = "remove",
    ) -> None:
        self._salt = salt
        self._mentions = mentions
        kinds = [("other", _CONTROL)]
        if links == "remove":
            kinds += [("email", _EMAIL), ("link", _LINK)]
        if mentions != "keep":
            kinds.append(("mention", _MENTION))
        self._pattern = re.compile(
            "|".join(f"(?P<{name}>{pattern})" for name, pattern in kinds), re.IGNORECASE
        )
        # Most suspects hold a mention and nothing else, and looking for that alone is quicker.
        self._brief = re.compile(f"(?P<mention>{_MENTION})")
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

    def _replace(self, match: re.Match[str]) -> str:
        hashed = self._mentions == "hash" and match.lastgroup == "mention"
        return f"@{self._hash(match.group().lower())[:6]}" if hashed else ""

    def text(self, text: str) -> str:
        """One text without mentions, links, addresses, telephone numbers and control characters."""
        if (
            self._mentions != "keep"
            and "." not in text
            and "/" not in text
            and text.isprintable()
            and "+" not in text
        ):
            cleaned = self._brief.sub(self._replace, text)
        else:
            cleaned = self._pattern.sub(self._replace, text)
        return (_SPACES.sub(" ", cleaned) if "  " in cleaned or "\t" in cleaned else cleaned).strip()

    def texts(self, texts: Sequence[str]) -> pa.Array:
        """A column of texts; only those that hold something suspect are read one by one."""
        column = pa.array(texts, pa.string())
        suspect = pc.match_substring_regex(column, _SUSPECT)
        suspects = column.filter(suspect).to_pylist()
        if not suspects:
            return column
        return pc.replace_with_mask(column, suspect, pa.array(map(self.text, suspects), pa.string()))


def remove_names(texts: list[str], names: Sequence[str]) -> list[str]:
    """The same texts without an uploader's names where they stand as words of their own."""
    usable = [name for name in names if len(name) >= _SHORTEST_NAME]
    if not usable:
        return texts
    joined = "\n".join(texts)
    if not any(name in joined for name in usable):
        return texts
    pattern = re.compile("|".join(rf"(?<!\w)@?{re.escape(name)}(?!\w)" for name in usable))
    return [_SPACES.sub(" ", pattern.sub("", text)).strip() for text in texts]
