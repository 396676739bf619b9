"""Which encoding a text file is in, where nothing says so: UTF-8, UTF-16 or, as Excel writes it, Western European."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_ALONE = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_HIGH = re.compile(rb"[\x80-\xff]")
FEW_BROKEN = 0.1
"""Of the characters beyond ASCII: so many may be broken in a file that is UTF-8 all the same."""
_CHUNK = 1 << 20


class UnknownEncodingError(ValueError):
    """The encoding cannot be told."""


def convert_to_utf8(content: bytes) -> tuple[bytes, str]:
    """The content in UTF-8, and the name of the encoding it was in."""
    if name := _find_by_beginning(content):
        return _recode(content, name)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        # In Western European files such letters stand alone among ASCII; in others they come in runs.
        if len(_ALONE.findall(content)) < 0.8 * len(_HIGH.findall(content)):
            raise UnknownEncodingError(
                f"not UTF-8 (byte {error.start}), and its encoding cannot be told; convert it to UTF-8"
            ) from error
        return _recode(content, "cp1252")
    return content, "utf-8"


def find_encoding(path: Path) -> str:
    """The encoding of a text file; only one that is not UTF-8 is held in memory.

    A file of UTF-8 with a few broken characters is UTF-8: its reader sets those rows aside.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        if name := _find_by_beginning(file.read(256)):
            return name
        file.seek(0)
        try:
            for chunk in iter(lambda: file.read(_CHUNK), b""):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "utf-8" if _is_hardly_broken(path) else convert_to_utf8(path.read_bytes())[1]
    return "utf-8"


def _is_hardly_broken(path: Path) -> bool:
    """Whether a file is UTF-8 but for a few characters; one that breaks off may end inside of one."""
    broken = beyond = 0
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        for text in iter(lambda: file.read(_CHUNK), ""):
            broken += text.count("\ufffd")
            beyond += len(text) - len(text.encode("ascii", "ignore"))
    return broken <= FEW_BROKEN * beyond


def _find_by_beginning(content: bytes) -> str | None:
    for mark, name in _MARKS:
        if content.startswith(mark):
            return name
    beginning = content[:256]
    evens, odds = beginning[::2].count(0), beginning[1::2].count(0)
    if max(evens, odds) > 0.4 * len(beginning[::2]) and min(evens, odds) == 0:
        return "utf-16-le" if odds else "utf-16-be"
    return None


def _recode(content: bytes, name: str) -> tuple[bytes, str]:
    try:
        return content.decode(name).encode("utf-8"), name
    except UnicodeError as error:
        reason = error.reason if isinstance(error, UnicodeDecodeError) else error
        raise UnknownEncodingError(f"not {name} throughout ({reason})") from error
