"""Structs built from one another."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct


def shared_fields(source: Struct, target: type[Struct]) -> dict[str, Any]:
    """The values of those fields of `source` that `target` has too, by name.

    `Record(**shared_fields(job, Record), reply=reply)` copies all that a job and its record have in common.
    """
    return {name: getattr(source, name) for name in _shared_names(type(source), target)}


@cache
def _shared_names(source: type[Struct], target: type[Struct]) -> tuple[str, ...]:
    names = set(target.__struct_fields__)
    return tuple(name for name in source.__struct_fields__ if name in names)
