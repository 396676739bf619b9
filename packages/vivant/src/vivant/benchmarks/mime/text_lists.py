"""Cells that hold several texts: as a list, as `a|b`, or as a list written out (`['a', 'b']`)."""

from __future__ import annotations

import ast
import contextlib
from typing import Any

import msgspec


def split_texts(value: Any) -> tuple[str, ...]:
    """One or several texts: a list, `a|b`, or a list written out as text (`['a', 'b']`)."""
    if value is None:
        return ()
    if isinstance(value, str):
        parsed = parse_list(value)
        parts: list[Any] = value.split("|") if parsed is None else parsed
    else:
        parts = list(value) if isinstance(value, list | tuple) else [value]
    return tuple(text for part in parts if (text := str(part).strip()))


def parse_list(text: str) -> list[Any] | None:
    """The list that a text spells out in Python's or JSON's way; None where it spells none."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    value: Any = None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            value = ast.literal_eval(text)
    return value if isinstance(value, list) else None
