"""`plan.jsonl` in a study's folder: every answer that a judge scored, and the chance that it had to be put to people.

Answers may be drawn with unequal chances (`vivant judge plan`); a correction weights each by the inverse of its own.
The server of a study never reads this file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.files import read_jsonl, write_jsonl

PLAN_FILE = "plan.jsonl"


class PlannedAnswer(Struct, frozen=True, kw_only=True):
    """One answer of the plan."""

    task: str
    id: str
    model: str
    """Empty for a pair of answers."""
    stratum: str
    probability: float
    chosen: bool
    """Whether people are asked about it now."""


def write_plan(folder: Path, answers: Iterable[PlannedAnswer]) -> None:
    """Keep the plan beside the study."""
    write_jsonl(folder / PLAN_FILE, answers)


def read_plan(folder: Path) -> list[PlannedAnswer]:
    """The plan of a study; empty where it was made without one."""
    path = folder / PLAN_FILE
    return list(read_jsonl(path, PlannedAnswer, DataError)) if path.exists() else []


def read_probabilities(folder: Path) -> dict[tuple[str, str], float]:
    """The chance of every answer by sample and model; empty where the study has no plan."""
    return {(answer.id, answer.model): answer.probability for answer in read_plan(folder)}


def read_chances(folder: Path) -> dict[tuple[str, str], float]:
    """Return the chance of every answer by task and sample; empty if the study has no plan."""
    return {(answer.task, answer.id): answer.probability for answer in read_plan(folder)}
