"""Files as crawlers leave them: other encodings, halves of surrogate pairs, files of hundreds of megabytes."""

from __future__ import annotations

import json
import mmap
import re
from array import array
from collections.abc import Iterator
from typing import Any

from vivant.build.mimic.ingestion.values import InvalidValueError
from vivant.core import encodings

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_BETWEEN = re.compile(r"[\s,]*")
_AT_ONCE = 5_000


def convert_to_utf8(content: bytes) -> tuple[bytes, str]:
    """The content in UTF-8, and the name of the encoding it was in. One that cannot be told: Wrong."""
    try:
        return encodings.convert_to_utf8(content)
    except encodings.UnknownEncodingError as error:
        raise InvalidValueError(str(error)) from error


def parse_json_leniently(content: bytes) -> Any:
    """JSON as Python reads it, which takes NaN and half surrogate pairs; anything else that is broken: Wrong."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(_explain(content, error)) from error


def parse_whole_elements(content: bytes) -> list[Any]:
    """The elements of a JSON list that stand whole before the place where it breaks off."""
    text = content.decode("utf-8", errors="replace").lstrip()
    elements: list[Any] = []
    if not text.startswith("["):
        return elements
    decoder, place = json.JSONDecoder(), 1
    while True:
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]  # it matches nothing, too
        try:
            element, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return elements
        elements.append(element)


def _explain(content: bytes, error: Exception) -> str:
    if not content.strip():
        return "the file is empty"
    if content.lstrip()[:1] not in (b"{", b"["):
        return "not JSON"
    if content.rstrip()[-1:] not in (b"}", b"]"):
        return f"cut off after {len(content):,} bytes"
    return f"broken JSON: {str(error)[:120]}"


def split_off_comments(path: str) -> tuple[bytes, array[int]]:
    """A large `.info.json` without its comments, and where in the file each comment begins and ends.

    The file is mapped, not read, and a comment costs sixteen bytes here whatever it says.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        depth = 0
        awaited = inside = False
        begun = start = 0
        spans = array("q")
        hole: tuple[int, int] | None = None
        for match in _TOKEN.finditer(content):
            token = match.group()
            mark = token[:1]
            if mark == b'"':
                awaited = depth == 1 and token == b'"comments"'
            elif mark in b"[{":
                if awaited and mark == b"[":
                    inside, start = True, match.end()
                awaited = False
                depth += 1
                if inside and depth == 3:
                    begun = match.start()
            else:
                depth -= 1
                if inside and depth == 2:
                    spans.extend((begun, match.end()))
                elif inside and depth == 1:
                    inside, hole = False, (start, match.start())
        if depth != 0 or inside:
            raise InvalidValueError(f"cut off after {len(content):,} bytes")
        if hole is None:
            return bytes(content), spans
        return content[: hole[0]] + content[hole[1] :], spans


def read_spans(path: str, spans: array[int]) -> Iterator[bytes]:
    """The pieces that stand at places of a file, as JSON lists of some thousand at a time."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for first in range(0, len(spans), 2 * _AT_ONCE):
            ends = iter(spans[first : first + 2 * _AT_ONCE])
            yield b"[" + b",".join(content[a:b] for a, b in zip(ends, ends, strict=True)) + b"]"
