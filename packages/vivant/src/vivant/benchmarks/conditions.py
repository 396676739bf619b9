"""`--where`: which samples a command is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.sample_units import StoppedOrder
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.records import Record, Score
from vivant.core.types import Sample


class Condition(Struct, frozen=True):
    """One `--where`: a facet that must have one of these values, or none of them."""

    facet: str
    values: frozenset[str]
    negated: bool = False


def parse_where(conditions: Sequence[str], samples: Iterable[Sample]) -> tuple[Condition, ...]:
    """Read `facet=value[,value]` and `facet!=value[,value]` against the facets that the samples have."""
    if not conditions:
        return ()
    known = _facet_values(samples)
    return tuple(_parse_condition(text, known) for text in conditions)


def matches(sample: Sample, where: Sequence[Condition]) -> bool:
    """Whether a sample fulfils all conditions; a facet that it lacks has no value."""
    return _fulfils(sample.facets, where)


def _fulfils(facets: Mapping[str, str], where: Sequence[Condition]) -> bool:
    return all((facets.get(c.facet) in c.values) != c.negated for c in where)


def restrict(parts: Sequence[ScoredRun], where: Sequence[str]) -> list[ScoredRun]:
    """The same runs with the samples that `where` names alone."""
    if not where:
        return list(parts)
    conditions = parse_where(where, (sample for part in parts for sample, _, _ in part.rows))

    def keep(row: tuple[Sample, Record | None, Score]) -> bool:
        return matches(row[0], conditions)

    return [
        # The rows of a large run stay on disk.
        msgspec.structs.replace(
            part,
            rows=part.rows.select(keep) if hasattr(part.rows, "select") else tuple(filter(keep, part.rows)),
            stopped=part.stopped and _restrict_stopped(part.stopped, conditions),
        )
        for part in parts
    ]


def _restrict_stopped(stopped: StoppedOrder, where: Sequence[Condition]) -> StoppedOrder:
    kept = {name: facets for name, facets in stopped.facets.items() if _fulfils(facets, where)}
    return msgspec.structs.replace(stopped, facets=kept)


def _facet_values(samples: Iterable[Sample]) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for sample in samples:
        for facet, value in sample.facets.items():
            known.setdefault(facet, set()).add(value)
    return known


def _parse_condition(text: str, known: dict[str, set[str]]) -> Condition:
    match = re.fullmatch(r"\s*([^=!]+?)\s*(!?=)\s*(.*?)\s*", text, re.DOTALL)
    if not match or not match[3]:
        raise UsageError(f"'{text}' is no condition; write --where facet=value or facet!=value")
    facet, sign, written = match.groups()
    if facet not in known:
        raise unknown_name_error("facet", facet, known)
    # A value may itself hold commas.
    values = [written] if written in known[facet] else [value.strip() for value in written.split(",")]
    for value in values:
        if value not in known[facet]:
            raise unknown_name_error(facet, value, known[facet])
    return Condition(facet, frozenset(values), sign == "!=")
