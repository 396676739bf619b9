"""Parameters of which some make a quick test, and all a full one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mark_most_full(values: Iterable[Any], step: int) -> list[Any]:
    """Mark all values but the first of every `step` as full; a tuple holds a value for each argument."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=() if number % step == 0 else pytest.mark.full,
        )
        for number, value in enumerate(values)
    ]
