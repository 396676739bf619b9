"""MileBench: its two means, its row for guessing, and two rows that share figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.analysis.audit.check import AuditCheck, exceeds_rounding, make_check
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
    return make_check(
        "milebench-diagnostic-mean",
        tables=(
            Table(
                title="Rows whose diagnostic mean is not that of the three groups",
                columns=("model", *_DIAGNOSTIC, "mean of three", "mean of N-1 and N-2", "published"),
                body=tuple(body),
            ),
        ),
        lines=arithmetic,
        source=SOURCE,
        fits=fits,
        row_count=len(rows),
        means=means,
        next_model=next_model,
        next_value=next_value,
        lead=99.4 - next_value,
        leads=leads,
    )


def _check_random() -> AuditCheck:
    row = group_by_model()["Random"]
    realistic, diagnostic = _mean(row, _REALISTIC), _mean(row, _DIAGNOSTIC)
    return make_check(
        "milebench-random-row",
        realistic_printed=row[REALMS[0]],
        diagnostic_printed=row[REALMS[1]],
        realistic=realistic,
        diagnostic=diagnostic,
        realistic_gap=row[REALMS[0]] - realistic,
        diagnostic_gap=row[REALMS[1]] - diagnostic,
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
    return make_check("milebench-same-figures", lines=lines)
