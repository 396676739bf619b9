"""Text in a terminal's columns: how wide it is, and where a line may break. No word is ever broken."""

from __future__ import annotations

import re

_GLUE = "\N{NO-BREAK SPACE}"


def wrap_text(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken between words only; an empty text is one empty line."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in _glue(paragraph).split(" "):
            candidate = f"{line} {word}" if line else word
            if line and measure_width(candidate) > width:
                lines.append(line)
                line = word
            else:
                line = candidate
        lines.append(line)
    return [line.replace(_GLUE, " ") for line in lines]


def _glue(text: str) -> str:
    """Join what belongs together: figures and signs (1.0 – 3.5, 95 %), marks (GPT †), numbers (16 frames, limit 8)."""
    if not has_letters(text):
        return text.replace(" ", _GLUE)
    text = re.sub(r"(?<=\b\d) (?=[a-z])|(?<=\d\d) (?=[a-z])|(?<=[a-z]) (?=\d+(?:,|$))", _GLUE, text)
    return re.sub(r" +(?=[^\w\s(\[\"'“‘`/.<>$~#@-]+(?:\s|$))", _GLUE, text)


def has_letters(text: str) -> bool:
    """Whether a text holds words; both ends of an interval, as in `+1.5 to +2.0`, are none."""
    return re.search(r"[^\W\d_]", re.sub(r"(?<=\d) to (?=[+−-]?\d)", "", text)) is not None


def measure_width(text: str) -> int:
    """Columns that a text takes; a wide character takes two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def measure_longest_word(text: str) -> int:
    """Columns of the longest part that `wrap_text` keeps on one line."""
    return max(measure_width(word) for part in text.split("\n") for word in _glue(part).split(" "))


def measure_widest_line(text: str) -> int:
    """Columns of the widest line of a text."""
    return max(map(measure_width, text.split("\n")))


def pad_text(text: str, width: int, *, right: bool = False) -> str:
    """The text with spaces up to `width` columns, after it or, with `right`, before it."""
    space = " " * max(0, width - measure_width(text))
    return space + text if right else text + space
