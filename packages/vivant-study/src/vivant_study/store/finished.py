"""Items that somebody has finished: what they answered."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, select

from vivant_study.store.tables import assignments, judgements


class FinishedAnswers(Struct, frozen=True):
    """An item that somebody has finished."""

    item: str
    answers: dict[str, Any]


def load_finished(connection: Connection, assignment: int) -> FinishedAnswers | None:
    """The answers to an item that is finished, by page or part; None where it is not."""
    item = connection.scalar(
        select(assignments.c.item).where(assignments.c.id == assignment, assignments.c.finished.is_not(None))
    )
    if item is None:
        return None
    return FinishedAnswers(item, load_answers(connection, assignment))


def load_answers(connection: Connection, assignment: int) -> dict[str, Any]:
    """The answers to an item, by page or part."""
    rows = connection.execute(
        select(judgements.c.page, judgements.c.part, judgements.c.answer).where(
            judgements.c.assignment == assignment
        )
    )
    return {part or page: answer for page, part, answer in rows}
