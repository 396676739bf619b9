"""Structs built from one another, and made known to msgspec before threads meet them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Struct


def copy_shared_fields(source: Struct, target: type[Struct]) -> dict[str, Any]:
    """The values of those fields of `source` that `target` has too, by name.

    `Record(**copy_shared_fields(job, Record), reply=reply)` copies all that a job and its record have in common.
    """
    names, read = _shared_names(type(source), target)
    return dict(zip(names, read(source), strict=True))


@cache
def _shared_names(
    source: type[Struct], target: type[Struct]
) -> tuple[tuple[str, ...], Callable[[Struct], tuple[Any, ...]]]:
    """The names, and what reads their values at once: every request passes here."""
    shared = set(target.__struct_fields__)
    names = tuple(name for name in source.__struct_fields__ if name in shared)
    if len(names) < 2:  # attrgetter gives no tuple then
        return names, lambda value: tuple(getattr(value, name) for name in names)
    return names, attrgetter(*names)


def learn_structs() -> None:
    """Let msgspec learn every Struct of Vivant that is imported. Call it before threads decode any of them.

    msgspec 0.22 builds what it knows of a type when it first meets it, and a second thread that decodes the same type
    meanwhile crashes the process.
    """
    for kind in set(_list_structs(Struct)):
        if kind.__module__.partition(".")[0] == "vivant":
            with suppress(TypeError, NameError):  # no thread decodes what cannot be decoded
                msgspec.json.Decoder(kind)


def _list_structs(kind: type[Struct]) -> Iterator[type[Struct]]:
    for each in kind.__subclasses__():
        yield each
        yield from _list_structs(each)
