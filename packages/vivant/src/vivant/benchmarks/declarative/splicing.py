"""Pictures in the places where the texts of a question and its options mark them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vivant.core.errors import DataError
from vivant.core.types import Image, Part, Text

NUMBER = "{n}"


def number_marks(texts: Sequence[str], mark: str) -> tuple[list[str], str]:
    """Texts whose marks are told apart by a number, and the form of such a mark: `<image>` as `<image {n}>`."""
    form = mark.removesuffix(">") + f" {NUMBER}" + (">" if mark.endswith(">") else "")
    count = 0

    def number(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return form.replace(NUMBER, str(count))

    return [re.sub(re.escape(mark), number, text) for text in texts], form


def name_images(texts: Sequence[str], slots: Sequence[str | None], form: str) -> dict[str, str]:
    """The pictures that texts mark, by mark. Raises DataError for a mark without a picture."""
    pattern = re.escape(form).replace(re.escape(NUMBER), r"(\d+)")
    named: dict[str, str] = {}
    for text in texts:
        for match in re.finditer(pattern, text):
            number = int(match[1])
            path = slots[number - 1] if 0 < number <= len(slots) else None
            if path is None:
                count = sum(path is not None for path in slots)
                raise DataError(f"the text marks a picture {match[0]}, and the row has {count}")
            named[match[0]] = path
    return named


def splice_images(text: str, named: Mapping[str, str]) -> tuple[Part, ...]:
    """A text with each mark replaced by its picture."""
    if not named:
        return (Text(text),) if text else ()
    pattern = "|".join(re.escape(mark) for mark in sorted(named, key=len, reverse=True))
    parts: list[Part] = []
    for index, piece in enumerate(re.split(f"({pattern})", text)):
        if piece:
            parts.append(Image(named[piece]) if index % 2 else Text(piece))
    return tuple(parts)
