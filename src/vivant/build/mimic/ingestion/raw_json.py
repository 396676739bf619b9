"""Files as crawlers leave them: other encodings, halves of surrogate pairs, files of hundreds of megabytes."""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from vivant.build.mimic.ingestion.values import InvalidValueError
from vivant.core import encodings

_STRING, _OTHER = rb'"(?:[^"\\]++|\\.)*+"', rb'[^"\[\]{}]*+'
_UP_TO_BRACKET = re.compile(_OTHER + rb"(?:" + _STRING + _OTHER + rb")*+[\[\]{}]", re.DOTALL)
_LIST_OF_COMMENTS = re.compile(rb'(?<!\\)"comments"\s*:\s*\[\Z')
_BLOCK = 4 << 20
_BETWEEN = re.compile(r"[\s,]*")
_NAME = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*\Z')
_BEGINNING = re.compile(r"^[\[{]", re.MULTILINE)
_COLON = re.compile(r"\s*:\s*")
_DECODER = json.JSONDecoder()
_DEEPEST = 12
_AT_ONCE = 5_000


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


def split_documents(content: bytes) -> list[tuple[int, bytes]]:
    """Documents that follow one another, as jq prints them, each with the line it begins on.

    Where the first is broken there are none. A later one that is broken goes up to the next line that begins with a
    bracket.
    """
    text = content.decode("utf-8", errors="replace")
    documents: list[tuple[int, bytes]] = []
    place, line = 0, 1
    while True:
        begin = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]  # it matches nothing, too
        line += text.count("\n", place, begin)
        if begin == len(text):
            return documents
        try:
            document, place = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            document, place = None, begin
        if not isinstance(document, dict | list):
            if not documents:
                return []
            following = _BEGINNING.search(text, begin + 1)
            place = following.start() if following else len(text)
        documents.append((line, text[begin:place].encode()))
        line += text.count("\n", begin, place)


class WholePart(Struct):
    """What stands whole in a document that breaks off."""

    document: Any
    records: int
    """Records in it, that with its comments cut included."""
    comments: int | None
    """Whole comments of the last record, where the document breaks off inside their list."""


def parse_whole_part(
    content: bytes, is_record: Callable[[Any], bool], comment_lists: Collection[str] = ()
) -> WholePart:
    """The document as far as its records stand whole before the place where it breaks off.

    Lists and objects around the records stay, with the members before that place; the record that is cut does not,
    unless it breaks off in one of its `comment_lists`: then it stays with the comments that are whole.
    """
    text = content.decode("utf-8", errors="replace")
    parser = _OpenParser(text, is_record, comment_lists)
    document = parser.parse(_BETWEEN.match(text).end(), 0)  # type: ignore[union-attr]  # it matches nothing, too
    return WholePart(document, count_records(document, is_record), parser.comments)


class _OpenParser:
    """Reads lists and objects that are not closed."""

    def __init__(self, text: str, is_record: Callable[[Any], bool], comment_lists: Collection[str]) -> None:
        self._text = text
        self._is_record = is_record
        self._comment_lists = comment_lists
        self.comments: int | None = None

    def parse(self, place: int, depth: int) -> Any:
        """What stands in a list or an object; None where nothing does, or where it is a record that is cut."""
        mark = self._text[place : place + 1]
        if mark not in ("[", "{") or not mark or depth > _DEEPEST:
            return None
        names, members, place = self._parse_members(mark, place + 1)
        if mark == "{" and len(names) > len(members) and names[-1] in self._comment_lists:
            node = dict(zip(names, members, strict=False))
            if self._is_record(node) and self._text[place : place + 1] == "[":
                node[names[-1]] = self._parse_members("[", place + 1)[1]
                self.comments = len(node[names[-1]])
                return node
        part = self.parse(place, depth + 1)
        beside_record = bool(members) and self._is_record(members[-1])  # what is cut beside a record is one
        if part is not None and (not beside_record or self.comments is not None):
            members.append(part)
        if mark == "[":
            return members
        node = dict(zip(names, members, strict=False))
        return None if self._is_record(node) else node

    def _parse_members(self, mark: str, place: int) -> tuple[list[str], list[Any], int]:
        """Names and whole members, and where the first that is not whole begins."""
        names: list[str] = []
        members: list[Any] = []
        while True:
            place = _BETWEEN.match(self._text, place).end()  # type: ignore[union-attr]
            try:
                if mark == "{":
                    name, after = _DECODER.raw_decode(self._text, place)
                    colon = _COLON.match(self._text, after)
                    if not isinstance(name, str) or colon is None:
                        break
                    names.append(name)
                    place = colon.end()
                member, place = _DECODER.raw_decode(self._text, place)
            except (ValueError, RecursionError):
                break
            members.append(member)
        return names, members, place


def count_records(node: Any, is_record: Callable[[Any], bool]) -> int:
    """How many records are in a document, at any depth."""
    if is_record(node):
        return 1
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return sum(count_records(child, is_record) for child in children)


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
    depth = 0
    inside = False
    begun = start = 0
    spans = array("q")
    hole: tuple[int, int] | None = None
    with open(path, "rb") as file:
        for token, place in _split_at_brackets(file):
            if token.endswith((b"[", b"{")):
                if depth == 1 and _LIST_OF_COMMENTS.search(token):
                    inside, start = True, place + 1
                depth += 1
                if inside and depth == 3:
                    begun = place
            else:
                depth -= 1
                if inside and depth == 2:
                    spans.extend((begun, place + 1))
                elif inside and depth == 1:
                    inside, hole = False, (start, place)
        size = file.seek(0, os.SEEK_END)
        cut = f"cut off after {size:,} bytes"
        file.seek(0)
        if inside:
            return file.read(start) + b"]}", spans, cut
        if depth != 0:
            raise InvalidValueError(cut)
        if hole is None:
            return file.read(), spans, ""
        before = file.read(hole[0])
        file.seek(hole[1])
        return before + file.read(), spans, ""


class LongList(Struct):
    """The longest list of a document that stands in no other list."""

    rest: bytes
    """The document without what is in the list."""
    spans: array[int]
    """Where in the file each element begins and ends."""
    path: str
    """The names that lead to it: `data.videos`; empty where the document is the list."""


def split_off_list(path: Path) -> LongList | None:
    """The document's longest list of objects; None where it has none, breaks off or is no UTF-8.

    The file is read by blocks, and an element costs sixteen bytes here whatever is in it.
    """
    names: list[str] = []
    kinds: list[int] = []
    begun = start = 0
    spans, longest, hole, named = array("q"), array("q"), (0, 0), ""
    plain, tracked = False, -1
    with path.open("rb") as file:
        for token, place in _split_at_brackets(file):
            bracket, before = token[-1:], token[:-1]
            if bracket in b"[{":
                if tracked == len(kinds):  # an element of the list
                    plain, begun = plain and not before.strip(b" \t\r\n,"), place
                elif bracket == b"[" and tracked < 0:
                    spans, plain, tracked, start = array("q"), True, len(kinds) + 1, place + 1
                name = _NAME.search(before)
                names.append(name[1].decode("utf-8", "replace") if name else "")
                kinds.append(token[-1])
                continue
            if not kinds or kinds.pop() + 2 != token[-1]:
                return None
            if len(kinds) == tracked:
                spans.extend((begun, place + 1))
            elif len(kinds) == tracked - 1:
                if plain and not before.strip() and place - start > hole[1] - hole[0]:
                    longest, hole, named = spans, (start, place), ".".join(filter(None, names))
                tracked = -1
            names.pop()
        if kinds or not longest:
            return None
        file.seek(0)
        before_hole = file.read(hole[0])
        file.seek(hole[1])
        return LongList(before_hole + file.read(), longest, named)


def _split_at_brackets(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """A file in pieces that end with a bracket outside strings, and the place of each bracket."""
    content, offset = b"", 0
    while block := file.read(_BLOCK):
        content += block
        end = 0
        while match := _UP_TO_BRACKET.match(content, end):
            end = match.end()
            yield match.group(), offset + end - 1
        content, offset = content[end:], offset + end


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
