"""MIMIC-Bench: its overall score, and its upper bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vivant.analysis.audit.check import ROUNDING, AuditCheck
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
    return AuditCheck(
        name="mimic-overall",
        benchmark="MIMIC-Bench",
        title="The overall score is not the mean of the seven tasks",
        outcome="does not hold",
        claim=f"The paper lists an overall score beside seven tasks ({SOURCE}) and does not say how it is made.",
        arithmetic=(
            f"The plain mean of the seven tasks is higher in all {len(body)} rows, by {min(gaps):.1f} to "
            f"{max(gaps):.1f} points; the mean of the three axes does not fit either.",
        ),
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
        finding="Tasks with more questions may count more; their numbers are not given, and the next check tests it. "
        "The overall cannot be recomputed. Vivant shows the mean of tasks and the mean over questions, each by its "
        "name.",
    )


def _check_weights() -> AuditCheck:
    tasks = names.THINKING
    combined = [sum(share * TASKS[model][i] for model, share in _COMBINATION.items()) for i in range(8)]
    gaps = [value - combined[7] for value in combined[:7]]
    size = sum(abs(share) for share in _COMBINATION.values())
    allowed = 2 * ROUNDING * size
    body = [(task, value, gap) for task, value, gap in zip(tasks, combined[:7], gaps, strict=True)]
    recipe = " ".join(f"{share:+.3f} × {model}" for model, share in _COMBINATION.items())
    return AuditCheck(
        name="mimic-overall-weights",
        benchmark="MIMIC-Bench",
        title="No weights of the tasks give the overall scores",
        outcome="does not hold",
        claim="If the overall were a mean over all questions, every row would weight the seven tasks alike.",
        arithmetic=(
            f"Combine rows: {recipe}. Whatever the weights, the overall of this combination must lie between its "
            "smallest and its largest task.",
            f"It is {combined[7]:.2f}, and the smallest task is {min(combined[:7]):.2f}: below all seven by at least "
            f"{min(gaps):.2f}. Rounding of all figures involved explains {allowed:.2f} at most.",
        ),
        tables=(
            Table(
                title="The combination, task by task",
                columns=("task", "combined", "above the combined overall"),
                body=tuple(body),
                decimals=2,
            ),
        ),
        finding="So no one set of weights lies behind all rows. Rows may rest on different numbers of answered "
        "questions, or a figure may be misprinted; the page does not tell. Differences of a few tenths in the overall "
        "are not to be read as differences between models.",
    )


def _check_upper_bound() -> AuditCheck:
    human = TASKS["Human"][7]
    above = {model: values[7] for model, values in TASKS.items() if values[7] > human}
    return AuditCheck(
        name="mimic-upper-bound",
        benchmark="MIMIC-Bench",
        title="People as the upper bound",
        outcome="does not hold",
        claim=f"People's overall of {human} is called an upper bound.",
        arithmetic=(
            f"{len(above)} of {len(TASKS) - 1} models are above it: "
            + ", ".join(f"{model} {value}" for model, value in above.items())
            + ".",
        ),
        finding="People are a reference, not a bound: they lead in category, comment match and popularity, and "
        "models lead in the rest.",
    )
