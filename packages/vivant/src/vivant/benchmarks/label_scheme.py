"""A way of sorting answers into kinds: a benchmark may bring the one of its paper (`Benchmark.answer_kinds`)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Scheme(Struct, frozen=True, kw_only=True):
    """A way of sorting answers into kinds."""

    name: str
    kinds: Mapping[str, str]
    """Each kind with what belongs to it."""
    unparsed: str = ""
    """The kind of a reply in which no answer could be read, where that needs no judge."""
    right_too: bool = False
    """Whether right answers are sorted as well."""
    published: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The paper's own counts by column, then by kind."""
    source: str = ""
