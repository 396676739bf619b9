"""MIME: people's free-form figures, few-shot options, rounding, counts, labels of failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vivant.analysis.audit import mime_files
from vivant.analysis.audit.check import AuditCheck, format_percent, make_check
from vivant.benchmarks.mime import failures
from vivant.benchmarks.mime.published import list_published
from vivant.core.table import Cell, Table

PEOPLE: Mapping[str, float] = {
    "base+blank@0": 85.7,
    "base+aligned@0": 81.0,
    "base+misaligned@0": 89.5,
    "base+blank@90": 81.0,
    "base+blank@180": 81.0,
    "base+blank@270": 79.3,
    "adversarial+blank@0": 83.3,
    "adversarial+aligned@0": 83.8,
    "adversarial+misaligned@0": 82.6,
    "woman+blank@0": 85.3,
    "none": 97.8,
}
"""Accuracy of people's free answers by variant (`none`: REAL): share with a similarity of at least 0.5."""
ANSWERS, RIGHT, REPORTED = 2539, 2115, 91.7
REAL_ANSWERS, REAL_RIGHT = 184, 180
ACTIONS = 86
ROWS, DEMONSTRATION_ROWS, LARGEST_CHANGE = 860, 30, 1.7
CHOICE_FILES, JUDGED = 16, 2522
"""Files with multiple-choice results on MIME, and judgements by people, whose options were compared."""
_PAPER_FAILURES: Mapping[str, tuple[int, float]] = {
    "partially correct, blank": (47, 53.5),
    "valid alternative, blank": (2, 3.5),
    "partially correct, misaligned": (34, 38.4),
    "correct description, wrong interpretation, misaligned": (8, 10.5),
}
"""The repository's count, and the paper's percentage, where they differ."""


def check_all(data: Path | None = None) -> Sequence[AuditCheck]:
    """All checks; `data` is a folder with the repository's data and result files."""
    return [
        _check_people(data),
        _check_few_shot(data),
        _check_demonstrations(),
        _check_options(data),
        _check_rounding(),
        _check_counts(),
        _check_failures(),
        _check_actors(),
        _check_items(),
    ]


def _published_values(model: str, style: str, task: str) -> dict[str, float]:
    return {
        row.group["variant"]: row.value
        for row in list_published()
        if (row.model, row.style, row.task) == (model, style, task)
    }


def _check_people(data: Path | None) -> AuditCheck:
    reported = _published_values("human", "", "mime/ff")
    body = tuple(
        ("REAL" if variant == "none" else variant, reported[variant], accuracy, reported[variant] - accuracy)
        for variant, accuracy in PEOPLE.items()
    )
    wrong = ANSWERS - RIGHT
    base = reported["base+blank@0"]
    above = round(0.75 * REAL_ANSWERS)
    agree = above + REAL_ANSWERS - REAL_RIGHT
    return make_check(
        "mime-human-free-form",
        tables=(
            Table(
                title="People, free form", columns=("variant", "printed", "accuracy", "difference"), body=body
            ),
        ),
        recomputed=mime_files.recompute_people(data, PEOPLE) if data is not None else (),
        report=REPORTED,
        base=base,
        reported=reported,
        gap=base - reported["none"],
        right=RIGHT,
        answers=ANSWERS,
        right_share=format_percent(RIGHT / ANSWERS),
        wrong_share=format_percent(wrong / ANSWERS),
        expected_share=format_percent(0.75 + wrong / ANSWERS),
        real_right=REAL_RIGHT,
        real_answers=REAL_ANSWERS,
        real_share=format_percent(REAL_RIGHT / REAL_ANSWERS),
        above=above,
        real_wrong=REAL_ANSWERS - REAL_RIGHT,
        agree=agree,
        agree_share=format_percent(agree / REAL_ANSWERS),
    )


def _check_few_shot(data: Path | None) -> AuditCheck:
    body: list[tuple[Cell, ...]] = []
    gain: list[float] = []
    for model in ("GPT-4o-mini", "Gemini-1.5-Flash"):
        for task, name in (("mime/mcq", "multiple choice"), ("mime/ff", "free form")):
            before, after = (_published_values(model, style, task) for style in ("zero-shot", "few-shot"))
            gains = [after[variant] - before[variant] for variant in after if variant in before]
            first = "base+blank@0"
            gain.append(sum(gains) / len(gains))
            body.append((model, name, before[first], after[first], gain[-1], len(gains)))
    return make_check(
        "mime-few-shot-options",
        tables=(
            Table(
                title="What examples add, in points",
                columns=("model", "task", "zero-shot, base", "few-shot, base", "mean gain", "variants"),
                body=tuple(body),
            ),
        ),
        recomputed=mime_files.count_marked_options(data) if data is not None else (),
        rows=ROWS,
        gain=gain,
    )


def _check_demonstrations() -> AuditCheck:
    return make_check(
        "mime-few-shot-demonstrations",
        demonstration_rows=DEMONSTRATION_ROWS,
        rows=ROWS,
        largest_change=LARGEST_CHANGE,
    )


def _check_options(data: Path | None) -> AuditCheck:
    return make_check(
        "mime-released-options",
        recomputed=mime_files.count_released_options(data) if data is not None else (),
        choice_files=CHOICE_FILES,
        rows=ROWS,
        judged=JUDGED,
    )


def _check_rounding() -> AuditCheck:
    body: list[tuple[Cell, ...]] = []
    for right in range(ACTIONS + 1):
        exact = right / ACTIONS * 100
        twice, once = f"{round(exact, 2):.1f}", f"{exact:.1f}"
        half_up = f"{(int(exact * 100 + 0.5) + 5) // 10 / 10:.1f}"
        if len({twice, once, half_up}) > 1:
            body.append((f"{right} of {ACTIONS}", f"{exact:.3f}", once, twice, half_up))
    return make_check(
        "mime-rounding",
        tables=(
            Table(
                title="Counts whose last digit depends on the rounding",
                columns=("count", "exact", "once", "twice, as the code does", "twice, halves up"),
                body=tuple(body),
            ),
        ),
        actions=ACTIONS,
    )


def _check_counts() -> AuditCheck:
    return make_check("mime-counts", rows=ROWS, actions=ACTIONS, real_answers=REAL_ANSWERS)


def _check_failures() -> AuditCheck:
    body: list[tuple[Cell, ...]] = []
    for name, (count, printed) in _PAPER_FAILURES.items():
        implied = round(printed * failures.PUBLISHED_TOTAL / 100)
        body.append((name, count, count / failures.PUBLISHED_TOTAL * 100, printed, implied))
    return make_check(
        "mime-failure-labels",
        tables=(
            Table(
                title="Cells that differ",
                columns=(
                    "failure, variant",
                    "repository",
                    "%",
                    "paper %",
                    "answers that the paper's % stands for",
                ),
                body=tuple(body),
            ),
        ),
    )


def _check_actors() -> AuditCheck:
    right, total = 905, 1003
    return make_check("mime-actors", right=right, total=total, share=format_percent(right / total))


def _check_items() -> AuditCheck:
    """What `vivant items` says of the released multiple-choice outputs of three models, two styles each, and people."""
    applies, right = 416, 166
    return make_check(
        "mime-items",
        judgements=2539,
        person="98.9 %",
        majority="99.9 %",
        none_right=162,
        all_right=124,
        applies=applies,
        short_right=right,
        short=format_percent(right / applies),
    )
