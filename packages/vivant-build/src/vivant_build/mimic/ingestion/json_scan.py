"""Where lists and objects stand in a JSON file, and what stands between them: one pass over its brackets."""

from __future__ import annotations

import json
import re
from array import array
from typing import Any, BinaryIO

from msgspec import Struct

_BLOCK = 4 << 20
LIST, OBJECT = ord("["), ord("{")
# A string that goes on in a line that begins with a bracket has no end: another document begins there.
_OPEN_STRING = rb'"(?:[^"\\\n]++|\\.|\n(?![\[{]))*+'
_UP_TO_STRING = rb'[^"\[\]{}]*+(?:' + _OPEN_STRING + rb'"[^"\[\]{}]*+)*+'
_UP_TO_BRACKET = re.compile(_UP_TO_STRING + rb"[\[\]{}]", re.DOTALL)
_UP_TO_BREAK = re.compile(_UP_TO_STRING + _OPEN_STRING + rb"(?=\n[\[{])", re.DOTALL)
_SPACE = b" \t\r\n"
_NAME = re.compile(rb'[ \t\r\n]*(,?)[ \t\r\n]*"([^"\\\x00-\x1f\x80-\xff]*)"[ \t\r\n]*:[ \t\r\n]*')
_LAST_NAME = re.compile(r'"([^"\\]*)"\s*:\s*\Z')
_BETWEEN = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")
_DECODER = json.JSONDecoder()


class Scan(Struct):
    """Where lists and objects stand in a file."""

    documents: array[int]
    """Where each begins and ends that is whole: start, end, start, end …"""
    members: dict[int, array[int]]
    """The same for the lists and objects directly inside each large one, and each that is not closed, by its start."""
    broken: int = 0
    """Where the file breaks off, with lists or objects open."""
    spine: list[int] = []
    """Where these begin, the outermost first."""

    def explain(self, start: int, end: int) -> str:
        """Why what stands there is not whole."""
        how = "broken JSON" if self.broken < end else "cut off"
        return f"{how} after {self.broken - start:,} bytes"


def scan_brackets(file: BinaryIO, start: int, end: int, large: int) -> Scan:
    """Find the documents, and the members of all that has `large` bytes or more.

    The file is read by blocks, and a member costs sixteen bytes whatever is in it.
    """
    starts: list[int] = []
    kinds: list[int] = []
    bases = [0]  # of each list or object that is open, which of the spans are its members'
    spans = array("q")
    members: dict[int, array[int]] = {}

    def break_off(position: int) -> Scan:
        for begin, base, last in zip(starts, bases[1:], [*bases[2:], len(spans)], strict=False):
            members[begin] = spans[base:last]
        return Scan(spans[: bases[1]] if starts else spans, members, position, starts)

    content, offset = b"", start
    file.seek(start)
    while block := file.read(min(_BLOCK, end - offset - len(content))):
        content += block
        at = 0
        while match := _UP_TO_BRACKET.match(content, at):
            at = match.end()
            bracket = content[at - 1]
            if bracket in (LIST, OBJECT):
                named = content[match.start() : at - 1].rstrip().endswith(b":")
                if kinds and kinds[-1] == OBJECT and not named:
                    return break_off(offset + match.start())
                starts.append(offset + at - 1)
                kinds.append(bracket)
                bases.append(len(spans))
            elif not kinds or kinds.pop() + 2 != bracket:
                return break_off(offset + match.start())
            else:
                begin, base = starts.pop(), bases.pop()
                if offset + at - begin >= large:
                    members[begin] = spans[base:]
                del spans[base:]
                spans.extend((begin, offset + at))
        if torn := _UP_TO_BREAK.match(content, at):
            return break_off(offset + torn.end())
        content, offset = content[at:], offset + at
    return break_off(end) if starts else Scan(spans, members)


class Gap(Struct):
    """What stands between two members that are lists or objects, before the first or after the last."""

    values: list[tuple[str, Any]]
    """Members of other kinds, with their names in an object."""
    name: str = ""
    """Of the member that comes next."""
    broken: bool = False


def parse_gap(gap: bytes, kind: int, *, first: bool, last: bool) -> Gap:
    """Read what stands before the `first` member, behind the `last`, or between two."""
    if kind == LIST and gap.strip(_SPACE) == (b"" if first or last else b","):
        return Gap([])
    if kind == OBJECT and (match := _NAME.fullmatch(gap)) and bool(match[1]) != first and not last:
        return Gap([], match[2].decode())
    text = gap.decode("utf-8", "replace")
    before, after = ("" if first else '"": 0', "" if last else "0")
    try:
        if kind == LIST:
            values = json.loads(f"[{before[4:]}{text}{after}]")
            return Gap([("", value) for value in values[not first : len(values) - (not last)]])
        pairs = json.loads(f"{{{before}{text}{after}}}", object_pairs_hook=list)[not first :]
        return Gap(pairs) if last else Gap(pairs[:-1], pairs[-1][0])
    except (ValueError, RecursionError):
        return _parse_broken_gap(text, kind)


def _parse_broken_gap(text: str, kind: int) -> Gap:
    """As much of it as can be read from its beginning, and the name at its end."""
    names = _LAST_NAME.search(text)
    gap = Gap([], names[1] if names else "", broken=True)
    position = _BETWEEN.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    name = ""
    while position < len(text):
        try:
            if kind == OBJECT:
                name, after = _DECODER.raw_decode(text, position)
                colon = _COLON.match(text, after)
                if not isinstance(name, str) or colon is None:
                    break
                position = colon.end()
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        gap.values.append((name, value))
        position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]
    return gap
