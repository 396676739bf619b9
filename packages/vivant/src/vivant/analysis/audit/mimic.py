"""MIMIC-Bench: its overall score, and its upper bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vivant.analysis.audit.check import ROUNDING, AuditCheck, make_check
from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.published import SOURCE, TASKS
from vivant.core.errors import UsageError
from vivant.core.table import Table

_AXES: Mapping[str, tuple[int, ...]] = {"CIU": (0, 1), "CAM": (2, 3, 4), "UIU": (5, 6)}
_COMBINATION: Mapping[str, float] = {
    "Video-LLaVA": -0.028,
    "Qwen2.5-VL-72B": 0.048,
    "InternVL3-78B": -0.289,
    "ChatGPT-4o": 0.266,
    "Gemini2.5-pro": -0.182,
    "o3": 0.094,
    "Human": 0.093,
}
"""Found by linear programming: the combination of rows that is furthest from any weighted mean of tasks."""


def check_all(data: Path | None = None) -> Sequence[AuditCheck]:
    """All checks of the table of seven tasks."""
    if data is not None:
        raise UsageError("--data mimic: its checks need the published table alone, which is built in")
    return [_check_overall(), _check_weights(), _check_upper_bound()]


def _check_overall() -> AuditCheck:
    body = []
    for model, values in TASKS.items():
        tasks, overall = values[:7], values[7]
        mean = sum(tasks) / 7
        axes = sum(sum(tasks[i] for i in indices) / len(indices) for indices in _AXES.values()) / len(_AXES)
        body.append((model, overall, mean, mean - overall, axes, axes - overall))
    gaps = [line[3] for line in body]
    return make_check(
        "mimic-overall",
        tables=(
            Table(
                title="Overall as printed, and two means of the tasks",
                columns=(
                    "model",
                    "overall",
                    "mean of 7",
                    "7 less overall",
                    "mean of 3 axes",
                    "axes less overall",
                ),
                body=tuple(body),
            ),
        ),
        source=SOURCE,
        body_rows=len(body),
        smallest=min(gaps),
        largest=max(gaps),
    )


def _check_weights() -> AuditCheck:
    tasks = names.THINKING
    combined = [sum(share * TASKS[model][i] for model, share in _COMBINATION.items()) for i in range(8)]
    gaps = [value - combined[7] for value in combined[:7]]
    size = sum(abs(share) for share in _COMBINATION.values())
    allowed = 2 * ROUNDING * size
    body = [(task, value, gap) for task, value, gap in zip(tasks, combined[:7], gaps, strict=True)]
    recipe = " ".join(f"{share:+.3f} × {model}" for model, share in _COMBINATION.items())
    return make_check(
        "mimic-overall-weights",
        tables=(
            Table(
                title="The combination, task by task",
                columns=("task", "combined", "above the combined overall"),
                body=tuple(body),
                decimals=2,
            ),
        ),
        recipe=recipe,
        combined=combined,
        lowest=min(combined[:7]),
        smallest=min(gaps),
        allowed=allowed,
    )


def _check_upper_bound() -> AuditCheck:
    human = TASKS["Human"][7]
    above = {model: values[7] for model, values in TASKS.items() if values[7] > human}
    return make_check(
        "mimic-upper-bound",
        human=human,
        above_count=len(above),
        others=len(TASKS) - 1,
        listing=", ".join(f"{model} {value}" for model, value in above.items()),
    )
