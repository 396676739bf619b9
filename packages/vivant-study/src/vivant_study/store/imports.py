"""People and judgements that were collected elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from vivant.core.errors import DataError
from vivant_study.judgement import StudyJudgement, StudyPerson
from vivant_study.store.store import log_event
from vivant_study.store.study_settings import lock_places
from vivant_study.store.tables import assignments, judgements, participants, visits


def add_imported(
    connection: Connection, now: float, people: Iterable[StudyPerson], judged: Iterable[StudyJudgement]
) -> tuple[int, int]:
    """Write them. Their items count as judged: they take assignment_ids as if this study had asked."""
    lock_places(connection)
    ids = {}
    for person in people:
        known = connection.scalar(
            select(participants.c.id).where(participants.c.annotator == person.annotator)
        )
        if known is not None or person.annotator in ids:
            raise DataError(f"The annotator '{person.annotator}' is in the study already; import them once")
        created = _seconds(person.created)
        row = connection.execute(
            insert(participants)
            .values(
                annotator=person.annotator,
                recruited=person.recruited or None,
                state=person.state,
                step="items",
                language=person.language,
                answers=person.answers,
                excluded=person.excluded,
                outcome=person.outcome,
                failures=person.failures,
                created=now if created is None else created,
                consented=_seconds(person.consented),
                finished=_seconds(person.finished),
                seen=now,
            )
            .returning(participants.c.id)
        )
        ids[person.annotator] = (row.scalar_one(), bool(person.excluded))
    count = _add_judgements(connection, now, ids, judged)
    log_event(connection, now, "imported", detail=f"{len(ids)} people, {count} judgements")
    return len(ids), count


def _add_judgements(
    connection: Connection, now: float, ids: dict[str, tuple[int, bool]], judged: Iterable[StudyJudgement]
) -> int:
    taken = connection.execute(select(assignments.c.item, assignments.c.slot).where(assignments.c.holds))
    next_slot: dict[str, int] = {}
    for item, slot in taken:
        if slot is not None:
            next_slot[item] = max(next_slot.get(item, 0), slot + 1)
    assignment_ids: dict[tuple[str, str], int] = {}
    rows: dict[tuple[int, str, str], dict[str, Any]] = {}
    absences: dict[tuple[int, str], dict[str, Any]] = {}
    for judgement in judged:
        if judgement.annotator not in ids:
            raise DataError(f"A judgement of '{judgement.item}' names nobody known: '{judgement.annotator}'")
        key = (judgement.annotator, judgement.item)
        given_at = _seconds(judgement.given)
        if key not in assignment_ids:
            person, excluded = ids[judgement.annotator]
            holds = judgement.complete and not excluded
            slot = None if judgement.check else next_slot.get(judgement.item, 0)
            if slot is not None and holds:
                next_slot[judgement.item] = slot + 1
            row = connection.execute(
                insert(assignments)
                .values(
                    participant=person,
                    item=judgement.item,
                    slot=slot,
                    position=judgement.position,
                    shown=judgement.shown,
                    is_check=judgement.check,
                    holds=holds,
                    finished=(now if given_at is None else given_at) if judgement.complete else None,
                )
                .returning(assignments.c.id)
            )
            assignment_ids[key] = row.scalar_one()
        row_key = (assignment_ids[key], judgement.page, judgement.part)
        if row_key in rows:
            raise DataError(
                f"'{judgement.annotator}' judged '{judgement.item}' twice ({judgement.page} {judgement.part})"
            )
        rows[row_key] = {
            "assignment": assignment_ids[key],
            "page": judgement.page,
            "part": judgement.part,
            "answer": judgement.answer,
            "shown": judgement.shown,
            "given": given_at,
            "seconds": judgement.seconds,
            "revised": judgement.revised,
            "late": judgement.late,
        }
        if judgement.leaves or judgement.away:
            absences[row_key[:2]] = {
                "assignment": assignment_ids[key],
                "page": judgement.page,
                "shown": now if given_at is None else given_at,
                "away": judgement.away,
                "leaves": judgement.leaves,
            }
    if rows:
        connection.execute(insert(judgements), list(rows.values()))
    if absences:
        connection.execute(insert(visits), list(absences.values()))
    return len(rows)


def _seconds(at: str) -> float | None:
    if not at:
        return None
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        raise DataError(f"'{at}' is no time; write it as 2025-01-31T12:00:00+00:00") from None
