"""JSON of any size, opened a piece at a time: what stands around the records is walked through, never held.

One pass over the brackets tells where lists and objects stand. Those below `PIECE` bytes are parsed when they are
reached. A larger one is opened: it gives its members one by one, and costs sixteen bytes for each. The same serves
documents that are broken, of any size: a member that cannot be parsed is given as `BrokenValue`, and of one that breaks
off the lists and objects around its records stay open where the file ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from vivant.core.encodings import UnknownEncodingError, find_encoding
from vivant_build.mimic.ingestion.json_scan import LIST, OBJECT, Gap, parse_gap, scan_brackets
from vivant_build.mimic.ingestion.raw_json import convert_to_utf8, parse_json_leniently
from vivant_build.mimic.ingestion.values import InvalidValueError

PIECE = 1 << 20
_BLOCK = 1 << 16
_FEW = 256
_SPACE = b" \t\r\n"
_DEEPEST = 12
_BEGINNING = re.compile(rb"\n(?=[\[{])")
_MARK = b"\xef\xbb\xbf"
IsRecord = Callable[[Any], bool]


class BrokenValue(Struct):
    """What stands in the place of a value that cannot be parsed."""

    reason: str


class LargeList:
    """A list whose elements are parsed when they are reached."""

    def __init__(self, pieces: _Pieces, start: int, end: int) -> None:
        self._pieces, self._start, self._end = pieces, start, end

    def __iter__(self) -> Iterator[Any]:
        for gap, position, end in self._pieces.iter_members(self._start, self._end, LIST):
            yield from (value for _, value in gap.values)
            if gap.broken and self._start not in self._pieces.ends:
                yield BrokenValue("broken JSON between two elements")
            if end:
                yield self._pieces.load(position, end)

    def __bool__(self) -> bool:
        return any(True for _ in self)


class LargeObject(Mapping[str, Any]):
    """An object whose members are parsed when they are reached. It holds nothing: ask for all, not one by one."""

    def __init__(self, pieces: _Pieces, start: int, end: int) -> None:
        self._pieces, self._start, self._end = pieces, start, end

    def _iter_places(self) -> Iterator[tuple[str, Any, int, int]]:
        """Name, and either value or place and end."""
        for gap, position, end in self._pieces.iter_members(self._start, self._end, OBJECT):
            for field, value in gap.values:
                yield field, value, 0, 0
            if gap.broken and self._start not in self._pieces.ends:
                yield "", BrokenValue("broken JSON between two fields"), 0, 0
            if end:
                yield gap.name, None, position, end

    def __iter__(self) -> Iterator[str]:
        return (name for name, *_ in self._iter_places())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Any:
        for field, value, position, end in self._iter_places():
            if field == name:
                return self._pieces.load(position, end) if end else value
        raise KeyError(name)

    def items(self) -> ItemsView[str, Any]:
        return _Fields(self)

    def iter_fields(self) -> Iterator[tuple[str, Any]]:
        """Each name with its value, in one pass."""
        for name, value, position, end in self._iter_places():
            yield name, self._pieces.load(position, end) if end else value


class _Fields(ItemsView[str, Any]):
    _mapping: LargeObject

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return self._mapping.iter_fields()


def load_whole(node: Any) -> Any:
    """A node that may be opened, as plain lists and objects; one with a broken value in it: Wrong."""
    if isinstance(node, LargeList):
        return [load_whole(value) for value in node]
    if isinstance(node, LargeObject):
        return {name: load_whole(value) for name, value in node.items()}
    if isinstance(node, BrokenValue):
        raise InvalidValueError(node.reason)
    return node


def count_records(node: Any, is_record: IsRecord) -> int:
    """How many records are in a document, at any depth."""
    if is_record(node):
        return 1
    if isinstance(node, Mapping):
        return sum(count_records(child, is_record) for _, child in node.items())
    return sum(count_records(child, is_record) for child in node) if isinstance(node, list | LargeList) else 0


class WholePart(Struct):
    """What stands whole in a document that breaks off."""

    document: Any
    records: int
    """Records in it, that with its comments cut included."""
    comments: int | None
    """Whole comments of the last record, where the document breaks off inside their list."""


class JsonDocument(Struct):
    """One of the documents that follow one another in a file, or the only one."""

    pieces: _Pieces
    start: int
    end: int
    line: int
    """Which it begins on; 0 where it is the only one."""

    def open(self, *, lenient: bool = True) -> Any:
        """The document; one that breaks off: Wrong. `lenient`: what is broken elsewhere stands in it as such."""
        begin = self.pieces.skip_space(self.start, self.end)
        if begin in self.pieces.spine:
            raise InvalidValueError(self.pieces.scan.explain(self.start, self.end))
        if (lenient or self.end - begin >= PIECE) and self.pieces.is_bracket(begin):
            return self.pieces.load(begin, self.end)
        return parse_json_leniently(self.pieces.read(self.start, min(self.end, self.start + PIECE)))

    def open_whole_part(self, is_record: IsRecord, comment_lists: Collection[str] = ()) -> WholePart:
        """The document as far as its records stand whole before the place where it breaks off.

        Lists and objects around the records stay, with the members before that place; the record that is cut does not,
        unless it breaks off in one of its `comment_lists`: then it stays with the comments that are whole.
        """
        pieces = self.pieces
        begin = pieces.skip_space(self.start, self.end)
        if begin not in pieces.spine:
            return WholePart(None, 0, None)
        comments: int | None = None

        def settle(level: int) -> bool:
            """Whether what is open at a level stays."""
            nonlocal comments
            start, *inner = pieces.spine[level:]
            pieces.ends[start] = inner[0] if inner else pieces.broken
            node = pieces.open(start, pieces.broken)
            in_list = isinstance(node, LargeObject) and inner and pieces.is_bracket(inner[0], b"[")
            if in_list and pieces.get_tail(start).name in comment_lists and is_record(node):
                pieces.ends[inner[0]] = inner[1] if inner[1:] else pieces.broken
                comments = sum(1 for _ in LargeList(pieces, inner[0], pieces.broken))
                pieces.attach(start, inner[0])
                return True
            last = pieces.get_last(start)
            if (
                inner
                and level < _DEEPEST
                and settle(level + 1)
                and (comments is not None or not is_record(last))
            ):
                pieces.attach(start, inner[0])
            return not isinstance(node, LargeObject) or not is_record(node)

        if not settle(0):
            return WholePart(None, 0, None)
        document = pieces.open(begin, pieces.broken)
        return WholePart(document, count_records(document, is_record), comments)


def open_utf8(path: Path, large: int) -> BinaryIO:
    """A file in UTF-8: itself, if it is `large` and in that, else its content in memory."""
    try:
        if path.stat().st_size >= large and find_encoding(path) in ("utf-8", "utf-8-sig"):
            return path.open("rb")
    except UnknownEncodingError:
        pass  # the next line says why, or finds a few broken characters
    return BytesIO(convert_to_utf8(path.read_bytes())[0])


def split_documents(file: BinaryIO) -> Iterator[JsonDocument]:
    """The documents of a file, in UTF-8: mostly one, or several that follow one another, as jq prints them.

    Where the first is broken it is the only one. A later one that is broken goes up to the next line that begins with a
    bracket.
    """
    size = _find_size(file)
    file.seek(0)
    start = len(_MARK) if file.read(len(_MARK)) == _MARK else 0
    pieces = _Pieces(file, start, size)
    spans = pieces.scan.documents
    if not spans or spans[0] != pieces.skip_space(start, size):
        yield JsonDocument(pieces, start, size, 0)
        return
    if len(spans) == 2 and not pieces.broken and not pieces.read(spans[1], size).strip():
        yield JsonDocument(pieces, start, spans[1], 0)
        return
    line, counted = 1, start
    while True:
        for position, end in zip(spans[::2], spans[1::2], strict=True):
            begin = pieces.skip_space(counted, size)
            line += pieces.count_lines(counted, begin)
            counted = begin
            if begin < position:
                break  # something else stands between documents
            yield JsonDocument(pieces, position, end, line)
            line += pieces.count_lines(begin, end)
            counted = end
        begin = pieces.skip_space(counted, size)
        line += pieces.count_lines(counted, begin)
        if begin == size:
            return
        counted = pieces.find_beginning(begin + 1, size)
        yield JsonDocument(_Pieces(file, begin, counted), begin, counted, line)
        line += pieces.count_lines(begin, counted)
        pieces = _Pieces(file, counted, size)
        spans = pieces.scan.documents


class _Pieces:
    """Where lists and objects stand in a file."""

    def __init__(self, file: BinaryIO, start: int, end: int, large: int = 0) -> None:
        self._file = file
        self._window, self._at = b"", 0
        self.scan = scan_brackets(file, start, end, large or PIECE)
        self._members = self.scan.members
        self.broken, self.spine = self.scan.broken, self.scan.spine
        self.ends: dict[int, int] = {}
        """Up to where those that are not closed are read."""

    # ── pieces ──

    def read(self, start: int, end: int) -> bytes:
        """What stands at a place."""
        if not (self._at <= start and end <= self._at + len(self._window)):
            self._file.seek(start)
            self._window, self._at = self._file.read(max(end - start, PIECE)), start
        return self._window[start - self._at : end - self._at]

    def iter_members(self, start: int, end: int, kind: int) -> Iterator[tuple[Gap, int, int]]:
        """The lists and objects in one that is opened, each with what stands before it; last what stands after all."""
        position = start + 1
        spans = self._members[start]
        for index in range(0, len(spans), 2):
            content = self.read(position, spans[index])
            yield parse_gap(content, kind, first=not index, last=False), spans[index], spans[index + 1]
            position = spans[index + 1]
        content = self.read(position, max(position, self.ends.get(start, end - 1)))
        yield parse_gap(content, kind, first=not spans, last=True), 0, 0

    def open(self, start: int, end: int) -> LargeList | LargeObject:
        """A list or an object, to be walked through."""
        return LargeObject(self, start, end) if self.is_bracket(start, b"{") else LargeList(self, start, end)

    def load(self, start: int, end: int) -> Any:
        """A list or an object, parsed or, where it is large or broken, opened."""
        if start in self.ends or (end - start >= PIECE and self._members[start]):
            return self.open(start, end)
        content = self.read(start, end)
        try:
            return parse_json_leniently(_mend(content))
        except InvalidValueError as wrong:
            part = _Pieces(BytesIO(content), 0, len(content), len(content))
            return part.open(0, len(content)) if part._members.get(0) else BrokenValue(str(wrong))

    def get_last(self, start: int) -> Any:
        """The last whole member of one that is open; None where that is neither list nor object."""
        spans = self._members[start]
        return self.load(*spans[-2:]) if spans and not self.get_tail(start).values else None

    def get_tail(self, start: int) -> Gap:
        """What stands behind the last list or object of one that is open, with the name of that it breaks off in."""
        *_, (gap, _, _) = self.iter_members(start, self.broken, self.read(start, start + 1)[0])
        return gap

    def attach(self, start: int, inner: int) -> None:
        """Count one that is open among the members of that around it."""
        self._members[start].extend((inner, self.broken))
        self.ends[start] = self.broken

    # ── between documents ──

    def is_bracket(self, position: int, kinds: bytes = b"[{") -> bool:
        """Whether a list or an object begins at a place."""
        character = self.read(position, position + 1)
        return bool(character) and character in kinds

    def skip_space(self, start: int, end: int) -> int:
        """The next place with something to read."""
        while start < end:
            content = self.read(start, min(end, start + _FEW))
            rest = content.lstrip(_SPACE + b",")
            if rest:
                return start + len(content) - len(rest)
            start += len(content)
        return end

    def count_lines(self, start: int, end: int) -> int:
        """How many lines end there."""
        return sum(self.read(at, min(end, at + PIECE)).count(b"\n") for at in range(start, end, PIECE))

    def find_beginning(self, start: int, end: int) -> int:
        """Where the next line begins that begins with a bracket."""
        for at in range(start - 1, end, PIECE):
            if match := _BEGINNING.search(self.read(at, min(end, at + PIECE + 2))):
                return at + match.end()
        return end


def _find_size(file: BinaryIO) -> int:
    """Up to where there is something: a machine that went down leaves zeros at the end."""
    size = file.seek(0, os.SEEK_END)
    while size:
        start = max(0, size - _BLOCK)
        file.seek(start)
        rest = file.read(size - start).rstrip(b"\0")
        if rest:
            return start + len(rest)
        size = start
    return 0


def _mend(content: bytes) -> bytes:
    """UTF-8 with a sign in the places of broken characters."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("utf-8", "replace").encode()
    return content
