"""Files as crawlers leave them: other encodings, halves of surrogate pairs, files of hundreds of megabytes."""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Iterator
from typing import Any, BinaryIO

from vivant.core import encodings
from vivant_build.mimic.ingestion.json_scan import Scan, scan_brackets
from vivant_build.mimic.ingestion.values import InvalidValueError

_LIST_OF_COMMENTS = re.compile(rb'(?<!\\)"comments"\s*:\s*\[\Z')
_AT_ONCE = 5_000
_PIECE = 1 << 20


def convert_to_utf8(content: bytes) -> tuple[bytes, str]:
    """The content in UTF-8, and the name of the encoding it was in. One that cannot be told: Wrong.

    UTF-8 with a few broken characters is that, with a sign in their places.
    """
    try:
        return encodings.convert_to_utf8(content)
    except encodings.UnknownEncodingError as error:
        text = content.decode("utf-8", "replace")
        if text.count("\ufffd") <= encodings.FEW_BROKEN * sum(character > "\x7f" for character in text):
            return text.encode(), "utf-8 with broken characters"
        raise InvalidValueError(str(error)) from error


def parse_json_leniently(content: bytes) -> Any:
    """JSON as Python reads it, which takes NaN and half surrogate pairs; anything else that is broken: Wrong.

    Zeros at the end, which a machine that went down leaves, are none of it.
    """
    try:
        return json.loads(content.rstrip(b"\0"))
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(_explain(content, error)) from error


def _explain(content: bytes, error: Exception) -> str:
    if not content.strip():
        return "the file is empty"
    if content.lstrip()[:1] not in (b"{", b"["):
        return "not JSON"
    if content.rstrip()[-1:] not in (b"}", b"]"):
        return f"cut off after {len(content):,} bytes"
    return f"broken JSON: {str(error)[:120]}"


def split_off_comments(path: str) -> tuple[bytes, array[int], str]:
    """A `.info.json` without its comments, where in the file each whole comment begins and ends, and why it ends early.

    The file is read by blocks, and a comment costs sixteen bytes here whatever it says. A file that breaks off inside
    its comments gives what stands before; one that breaks off elsewhere: Wrong.
    """
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        scan = scan_brackets(file, 0, size, _PIECE if size > _PIECE else 1)
        start, end = _find_comments(file, scan)
        file.seek(0)
        if scan.spine and (end or not start):
            raise InvalidValueError(scan.explain(0, size))
        if not start:
            return file.read(), array("q"), ""
        before = file.read(start + 1)
        if not end:
            return before + b"]}", scan.members[start], scan.explain(0, size)
        file.seek(end - 1)
        return before + file.read(), scan.members[start], ""


def _find_comments(file: BinaryIO, scan: Scan) -> tuple[int, int]:
    """Where the document's list of comments begins and ends: 0 where it has no end, or where there is no long one."""
    document = next(iter((*scan.documents, *scan.spine)), 0)
    members = scan.members.get(document, array("q"))
    place = document
    for start, end in zip((*members[::2], *scan.spine[1:2]), (*members[1::2], 0), strict=False):
        file.seek(place)
        if start in scan.members and _LIST_OF_COMMENTS.search(file.read(start + 1 - place)):
            return start, end
        place = end
    return 0, 0


def read_spans(path: str, spans: array[int]) -> Iterator[bytes]:
    """The pieces that stand at places of a file, as JSON lists of some thousand at a time."""
    with open(path, "rb") as file:
        for first in range(0, len(spans), 2 * _AT_ONCE):
            places = spans[first : first + 2 * _AT_ONCE]
            start = places[0]
            file.seek(start)
            content = file.read(places[-1] - start)
            ends = iter(places)
            pieces = (content[a - start : b - start] for a, b in zip(ends, ends, strict=True))
            yield b"[" + b",".join(pieces) + b"]"
