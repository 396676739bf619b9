"""Cells of a row by column name or template, and what options and keys look like in published data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from vivant.benchmarks.declarative.media_files import read_list
from vivant.benchmarks.declarative.rows import Row, flatten_columns
from vivant.benchmarks.declarative.spec import KeyForm
from vivant.core.errors import DataError, unknown_name_error

TASK = "task"
"""A column that every row has besides its own: the task's name."""
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_LISTED = ", "
_INSIDE = r"(?:^|(?<=[\s,;(]))\(?{letter}(?:[.:)]|\.\))\s+"
_PREFIX = re.compile(r"(\(?([A-Z])[.:)]\)?)\s*")
_LETTER = re.compile(r"\(?([A-Z])(?:\)|[.:](?=\s|$))?")
_SMALL_LETTER = re.compile(r"\(?([a-z])[).]?")


class MissingColumnError(DataError):
    """A column that the data do not have; the loader adds the line of the description."""


def get_cell(row: Row, column: str) -> Any:
    """The value of a column; `outer.inner` leads into a struct."""
    if column in row:
        return row[column]
    value: Any = row
    for name in column.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise MissingColumnError(str(unknown_name_error("column", column, flatten_columns(row))))
        value = value[name]
    return value


def lacks_optional(row: Row, column: str) -> bool:
    """Whether a row does not have this column, and need not: `name?`."""
    if "{" in column or not column.endswith("?") or column in row:
        return False
    try:
        get_cell(row, column.removesuffix("?"))
    except MissingColumnError:
        return True
    return False


def fill_cell(row: Row, column: str, task: str) -> Any:
    """The value of a column, or a template filled with several: an empty one makes the whole template empty.

    `name?` may be missing or empty; `name~pattern` is the part that the pattern's group encloses.
    """
    if "{" not in column:
        return _get_one(row, column, task)
    empty = False

    def fill(match: re.Match[str]) -> str:
        nonlocal empty
        value = _get_one(row, match[1], task)
        empty = empty or (is_empty(value) and not match[1].endswith("?"))
        return format_text(value)

    text = _PLACEHOLDER.sub(fill, column).strip()
    return None if empty else text


def _get_one(row: Row, column: str, task: str) -> Any:
    if column == TASK and TASK not in row:
        return task
    if "~" in column and column not in row:
        name, _, pattern = column.partition("~")
        try:
            match = re.search(pattern, format_text(get_cell(row, name)))
            return match[1] if match else None
        except (re.error, IndexError) as error:
            raise DataError(f"'{pattern}' is no pattern with a group in round brackets ({error})") from None
    if column.endswith("?") and column not in row:
        return None if lacks_optional(row, column) else get_cell(row, column.removesuffix("?"))
    return get_cell(row, column)


def is_empty(value: Any) -> bool:
    """Whether a cell holds nothing: null, an empty text, not-a-number."""
    return value is None or value == "" or (isinstance(value, float) and value != value) or value == "nan"


def format_text(value: Any) -> str:
    """A cell as text; whole numbers that a table holds as floats lose their `.0`."""
    if is_empty(value):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, list | tuple):
        return _LISTED.join(map(format_text, value))
    return str(value)


def list_texts(value: Any) -> list[str]:
    """A cell as texts: a list, a list written as text, or one text."""
    if is_empty(value):
        return []
    if isinstance(value, str) and value[:1] == "[" and value[-1:] == "]":
        try:
            value = read_list(value)
        except DataError:
            return [value]
    return (
        [format_text(entry) for entry in value] if isinstance(value, list | tuple) else [format_text(value)]
    )


def list_options(value: Any) -> list[str | None]:
    """The options of one cell: a list, texts by letter, or one text that holds them all with their letters.

    None stands where a letter or number has no text: keys count it.
    """
    if isinstance(value, Mapping):
        names = sorted(value, key=_split_numbers)
        if all(re.fullmatch("[A-Z]", str(name)) for name in names):  # a letter may be missing
            names = [chr(65 + place) for place in range(ord(max(names, default="@")) - 64)]
        cells = [value.get(name) for name in names]
        return [None if is_empty(cell) else format_text(cell) for cell in cells]
    texts = list_texts(value)
    if len(texts) == 1:
        inside = [text for text in find_inside(texts[0], "A") if text]
        texts = (
            inside if len(inside) > 1 else [line.strip() for line in texts[0].splitlines() if line.strip()]
        )
    return list(texts)


def _split_numbers(name: Any) -> list[tuple[int, str]]:
    """What names sort by, so that 2 comes before 10."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", str(name)) if part
    ]


def strip_prefixes(texts: Sequence[str]) -> tuple[list[str], str]:
    """Options without the letters that stand before them in the data, and the form of these: `{}. `."""
    matches = [_PREFIX.match(text) for text in texts]
    letters = [match[2] if match else "" for match in matches]
    if len(texts) < 2 or letters != [chr(65 + index) for index in range(len(texts))]:
        return list(texts), ""
    first = matches[0]
    form = first[0].replace("A", "{}", 1) if first else ""
    return [text[match.end() :] for text, match in zip(texts, matches, strict=True) if match], form


def find_inside(question: str, gold: str) -> list[str]:
    """The options that a question's own text holds, in one of the usual forms; empty texts where none is found.

    Letters must come one after another from A. What cannot be told apart is left as letters alone, up to D or to
    the right one.
    """
    ends: list[tuple[int, int]] = []
    position = 0
    for index in range(26):
        match = re.compile(_INSIDE.format(letter=chr(65 + index)), re.MULTILINE).search(question, position)
        if match is None:
            break
        ends.append((match.start(), match.end()))
        position = match.end()
    last = ord(gold) - 65 if len(gold) == 1 and "A" <= gold <= "Z" else 0
    if len(ends) < 2 or last >= len(ends):
        return [""] * max(4, last + 1)
    starts = [start for start, _ in ends[1:]] + [len(question)]
    pieces = [question[end:start] for (_, end), start in zip(ends, starts, strict=True)]
    pieces[-1] = pieces[-1].split("\n")[0]
    return [piece.strip().rstrip(",;").strip() for piece in pieces]


def read_letter(value: Any) -> str:
    """The letter that a key is or begins with: `B`, `(B)`, `B.`, `B. text`, `b`; empty for anything else."""
    text = format_text(value).strip()
    small = _SMALL_LETTER.fullmatch(text)
    if small:
        return small[1].upper()
    match = _LETTER.match(text)
    if match is None or (match.end() < len(text) and match[0] == match[1]):
        return ""
    return match[1]


def find_key(value: Any, texts: Sequence[str], form: KeyForm, places: Sequence[int] = ()) -> int:
    """The index of the right option. Raises DataError for a key outside of the options.

    Args:
        value: The key's cell.
        texts: The options.
        form: How the key is written.
        places: Where each option stands in the data, which letters and numbers count by; others there are empty.
    """
    places = places or range(len(texts))
    size = places[-1] + 1
    text = format_text(value).strip()
    label = f"the key '{text}'"
    letter = read_letter(value)
    if form in ("auto", "text") and text in texts:
        index = list(texts).index(text)
        if form == "auto" and letter and ord(letter) - 65 != places[index]:
            raise DataError(
                f"{label} is a letter and the text of option {chr(65 + places[index])}; write `key_form`"
            )
        return index
    if form == "text":
        lower = [option.strip().lower() for option in texts]
        for candidate in (text, _PREFIX.sub("", text, count=1)):  # letters before the options were taken off
            if lower.count(candidate.lower()) == 1:
                return lower.index(candidate.lower())
        raise DataError(f"{label} is none of the {len(texts)} options")
    if form == "number":
        if not (text.isdecimal() and 0 < int(text) <= size):
            raise DataError(f"{label} is no number of the {size} options (1 to {size})")
        place = int(text) - 1
    elif form == "index" or (form == "auto" and isinstance(value, int) and not isinstance(value, bool)):
        if not (text.isdecimal() and int(text) < size):
            hint = "; for numbers from 1 write `key_form: number`" if text == str(size) else ""
            raise DataError(f"{label} is no index of the {size} options (0 to {size - 1}){hint}")
        place = int(text)
    elif letter and ord(letter) - 65 < size:
        place = ord(letter) - 65
    else:
        hint = "; for numbers write `key_form: index`" if text.isdecimal() else ""
        raise DataError(f"{label} is outside of the {size} options (A to {chr(64 + size)}){hint}")
    if place not in places:
        raise DataError(f"{label} is an option without a text")
    return places.index(place)
