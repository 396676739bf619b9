"""MileBench: its two means, its row for guessing, and two rows that share figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.analysis.audit.check import AuditCheck, exceeds_rounding
from vivant.benchmarks.milebench.datasets import GROUPS, REALMS
from vivant.benchmarks.milebench.published import SOURCE, group_by_model
from vivant.core.errors import UsageError
from vivant.core.table import Table

_NAMES = [group.name for group in GROUPS]
_REALISTIC, _DIAGNOSTIC = _NAMES[:9], _NAMES[9:]


def check_all(data: Path | None = None) -> Sequence[AuditCheck]:
    """All checks of the leaderboard."""
    if data is not None:
        raise UsageError("--data milebench: its checks need the leaderboard alone, which is built in")
    return [_check_means(), _check_random(), _check_twins()]


def _mean(row: dict[str, float], names: Sequence[str]) -> float:
    return sum(row[name] for name in names) / len(names)


def _check_means() -> AuditCheck:
    rows = {model: row for model, row in group_by_model().items() if model != "Random"}
    body: list[tuple[str, float, float, float, float, float, float]] = []
    fits = 0
    for model, row in rows.items():
        realistic, diagnostic = _mean(row, _REALISTIC), _mean(row, _DIAGNOSTIC)
        if exceeds_rounding(realistic, row[REALMS[0]]) or exceeds_rounding(diagnostic, row[REALMS[1]]):
            text, image, retrieval = (row[name] for name in _DIAGNOSTIC)
            needles = (text + image) / 2
            body.append((model, text, image, retrieval, diagnostic, needles, row[REALMS[1]]))
        else:
            fits += 1
    others = {model: row[REALMS[1]] for model, row in rows.items() if model not in {line[0] for line in body}}
    next_model = max(others, key=lambda model: others[model])
    next_value = others[next_model]
    means = " and ".join(f"{line[4]:.1f}" for line in body)
    leads = " and ".join(f"{round(line[4], 1) - next_value:.1f}" for line in body)
    arithmetic = [
        f"{line[0]}: ({line[1]:.1f} + {line[2]:.1f} + {line[3]:.1f}) / 3 = {line[4]:.1f}; "
        f"({line[1]:.1f} + {line[2]:.1f}) / 2 = {line[5]:.1f}, which is what is printed."
        for line in body
    ]
    return AuditCheck(
        name="milebench-diagnostic-mean",
        benchmark="MileBench",
        title="The diagnostic mean of GPT-4V and GPT-4o",
        outcome="does not hold",
        claim=f"Both are listed with 99.4 in the diagnostic evaluation ({SOURCE}), which is also its headline figure.",
        arithmetic=(
            f"In {fits} of {len(rows)} rows Realistic is the plain mean of nine groups and Diagnostic that of three "
            "(N-1, N-2, I-1), to the last decimal that rounding allows.",
            *arithmetic,
        ),
        tables=(
            Table(
                title="Rows whose diagnostic mean is not that of the three groups",
                columns=("model", *_DIAGNOSTIC, "mean of three", "mean of N-1 and N-2", "published"),
                body=tuple(body),
            ),
        ),
        finding=f"By the rule of all other rows the two figures are {means}. Image retrieval (I-1), the hardest of the "
        "three groups for these models, is missing from their mean alone. With it, their lead over the next model, "
        f"{next_model} with {next_value:.1f}, shrinks from {99.4 - next_value:.1f} points to {leads}.",
    )


def _check_random() -> AuditCheck:
    row = group_by_model()["Random"]
    realistic, diagnostic = _mean(row, _REALISTIC), _mean(row, _DIAGNOSTIC)
    return AuditCheck(
        name="milebench-random-row",
        benchmark="MileBench",
        title="The row for guessing",
        outcome="does not hold",
        claim=f"Random is listed with {row[REALMS[0]]} (realistic) and {row[REALMS[1]]} (diagnostic).",
        arithmetic=(
            f"Its nine realistic groups have the mean {realistic:.1f}, its three diagnostic ones {diagnostic:.1f}.",
            f"Both printed means are higher, by {row[REALMS[0]] - realistic:.1f} and "
            f"{row[REALMS[1]] - diagnostic:.1f} points.",
        ),
        finding="Neither is the mean of the printed groups. They may come from single datasets, or from "
        "another version of the table. Differences from chance are best taken group by group.",
    )


def _check_twins() -> AuditCheck:
    rows = group_by_model()
    names = _NAMES[:4]
    pairs = [
        (first, second)
        for index, first in enumerate(rows)
        for second in list(rows)[index + 1 :]
        if all(rows[first][name] == rows[second][name] for name in names)
    ]
    lines = [
        f"{first} and {second}: {', '.join(f'{name} {rows[first][name]:.1f}' for name in names)} in both."
        for first, second in pairs
    ]
    return AuditCheck(
        name="milebench-same-figures",
        benchmark="MileBench",
        title="Two models with the same four temporal figures",
        outcome="cannot be told",
        claim="Every row is said to be a model of its own.",
        arithmetic=(
            *lines,
            "The other eight groups of the two differ. Each temporal group holds 400 to 800 questions, so that four "
            "equal figures in a row are very unlikely to come about by chance.",
        ),
        finding="One of the two rows probably carries the other's temporal figures by mistake; which one, the page "
        "does not tell. Temporal comparisons of these two models should not be drawn from it.",
    )
