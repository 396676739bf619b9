"""What each person is to be paid: by how their visit ended, with bonuses by the key and the attention checks."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from vivant.core.errors import DataError, UsageError
from vivant_study.judgement import StudyPerson
from vivant_study.platforms import StudyPayment
from vivant_study.results import StudyResults

ID_COLUMNS = (
    "participant id", "participant_id", "prolific_pid", "workerid", "participantid", "survey_code", "id",
)  # fmt: skip
"""Columns that hold the participant in the files that platforms give out, in lower case."""
STATUS_COLUMNS = ("status", "assignmentstatus", "submission status")
LEFT = ("returned", "timed-out", "timed out", "timed_out", "abandoned", "rejected")
"""What platforms say of people who have gone without finishing."""


class PlatformLine(Struct, frozen=True):
    """One participant in a platform's file."""

    participant: str
    status: str = ""


class PaymentLine(Struct, frozen=True, kw_only=True):
    """One person's pay."""

    participant: str
    """The platform's identifier, where its file was given; else its hash."""
    annotator: str
    outcome: str
    items: int
    minutes: float | None
    right: int
    checks: str
    amount: float
    bonus: float
    excluded: str = ""

    @property
    def total(self) -> float:
        """Amount and bonus."""
        return round(self.amount + self.bonus, 2)


def read_platform_file(file: Path) -> list[PlatformLine]:
    """Participants of a platform's CSV, or of a file with one identifier a line."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {file}: {error}") from error
    rows = [row for row in csv.reader(text.splitlines()) if any(cell.strip() for cell in row)]
    if not rows:
        raise DataError(f"{file} is empty")
    header = [cell.strip().lower() for cell in rows[0]]
    column = next((header.index(name) for name in ID_COLUMNS if name in header), None)
    if column is None:
        if len(header) > 1:
            raise DataError(
                f"{file}: no column names the participant; call it one of {', '.join(ID_COLUMNS)}"
            )
        return [PlatformLine(row[0].strip()) for row in rows]
    status = next((header.index(name) for name in STATUS_COLUMNS if name in header), None)
    return [
        PlatformLine(
            row[column].strip(), row[status].strip() if status is not None and status < len(row) else ""
        )
        for row in rows[1:]
        if column < len(row) and row[column].strip()
    ]


def compute_payment(collected: StudyResults, names: Mapping[str, str] | None = None) -> list[PaymentLine]:
    """What everybody who came is to be paid.

    Args:
        collected: the study with its key and answers.
        names: the platform's identifiers by annotator; others are left out. None: everybody, by hash.
    """
    from vivant_study.report.annotators import compute_annotator_statistics
    from vivant_study.report.measures import compute_measures

    payment = collected.loaded.study.payment or StudyPayment()
    statistics = {line.annotator: line for line in compute_annotator_statistics(collected)}
    right: dict[str, int] = {}
    for measure in compute_measures(collected, collected.iter_counted(excluded=True)):
        if measure.name == "accuracy":
            for value in measure.values:
                right[value.annotator] = right.get(value.annotator, 0) + int(value.value)
    lines: list[PaymentLine] = []
    for person in _list_people(collected.people.values(), names):
        figures = statistics.get(person.annotator)
        items = figures.items if figures else 0
        checks = (figures.checks_passed, figures.checks) if figures else (0, 0)
        # Whoever finished nothing and has not ended gets nothing yet.
        outcome = person.outcome or ("under way" if person.state == "consented" else person.state)
        bonus = 0.0
        if outcome == "completed" and not person.excluded:
            bonus = right.get(person.annotator, 0) * payment.bonus_per_right
            bonus += payment.bonus_checks if checks[1] and checks[0] == checks[1] else 0.0
            bonus = bonus if payment.most_bonus is None else min(bonus, payment.most_bonus)
        lines.append(
            PaymentLine(
                participant=(names or {}).get(person.annotator, person.recruited),
                annotator=person.annotator,
                outcome=outcome,
                items=items,
                minutes=_count_minutes(person),
                right=right.get(person.annotator, 0),
                checks=f"{checks[0]} of {checks[1]}" if checks[1] else "",
                amount=next((sum_ for name, sum_ in payment.amounts.items() if name == outcome), 0.0),
                bonus=round(bonus, 2),
                excluded=person.excluded,
            )
        )
    return lines


def _list_people(people: Iterable[StudyPerson], names: Mapping[str, str] | None) -> Iterator[StudyPerson]:
    for person in people:
        if (person.annotator in names) if names is not None else person.state != "invited":
            yield person


def _count_minutes(person: StudyPerson) -> float | None:
    if not person.consented or not person.finished:
        return None
    taken = datetime.fromisoformat(person.finished) - datetime.fromisoformat(person.consented)
    return round(taken.total_seconds() / 60, 1)


PAY_COLUMNS = (
    "participant", "annotator", "outcome", "items", "minutes", "right", "checks", "amount", "bonus", "total",
    "excluded",
)  # fmt: skip


def list_pay_rows(lines: Sequence[PaymentLine]) -> list[tuple[object, ...]]:
    """The sheet's rows."""
    return [
        (
            line.participant, line.annotator, line.outcome, line.items, line.minutes, line.right, line.checks,
            f"{line.amount:.2f}", f"{line.bonus:.2f}", f"{line.total:.2f}", line.excluded,
        )
        for line in lines
    ]  # fmt: skip
