"""Runs of MIME small enough to check by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.core.records import Record, Score
from vivant.core.types import Reply, Sample

TASKS = ("mime/mcq", "mime/ff")


def make_run(
    values: Mapping[str, Sequence[float | None]],
    task: str = "mime/mcq",
    model: str = "m",
    style: str = "zero-shot",
    name: str = "run",
    protocol: Protocol = "paper",
    **settings: Any,
) -> ScoredRun:
    """A run with these values by variant; None is an unparsed reply, NaN a missing one."""
    rows = []
    for variant, group in values.items():
        for number, value in enumerate(group):
            facets = {
                "variant": variant,
                "actor": "nj"[number % 2],
                "dataset": "REAL" if variant == "none" else "MIME",
            }
            sample = Sample(id=f"{variant}-{number}", task=task, facets=facets, cluster=str(number))
            key = f"{task}/{sample.id}"
            record = Record(key=key, task=task, id=sample.id, reply=Reply(text="x"))
            score = Score(key=key, task=task, id=sample.id, value=value)
            if value is None:
                score = Score(key=key, task=task, id=sample.id, status="unparsed")
            elif math.isnan(value):
                score = Score(key=key, task=task, id=sample.id, status="missing")
            rows.append((sample, record, score))
    return ScoredRun(
        run=name, model=model, style=style, task=task, protocol=protocol, rows=tuple(rows), settings=settings
    )


def make_values(correct: int, of: int) -> Sequence[float | None]:
    return [1.0] * correct + [0.0] * (of - correct)
