"""Arguments that a user of the library gives in more than one form."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def as_strings(value: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
    """One string or path, or several, as a tuple of strings. A string is one of them, never its letters."""
    return (str(value),) if isinstance(value, str | Path) else tuple(map(str, value))
