"""Figures from the paper, as data: the seven tasks in percent, and how comments were judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vivant.benchmarks.base import Published
from vivant.benchmarks.mimic import names

SOURCE = "MIMIC-Bench paper"
OVERALL = "thinking"
"""Stands for all seven tasks; the paper's overall is not their mean."""

_TASKS = """
Video-LLaVA     27.0 41.2 68.3 32.4 17.0 24.6 25.8 31.6
Qwen2.5-VL-72B  85.6 79.3 79.8 93.3 50.6 67.3 33.1 66.7
InternVL3-78B   87.4 75.1 80.1 90.5 51.5 70.2 33.3 67.5
ChatGPT-4o      87.9 80.3 83.6 88.7 51.3 70.9 33.5 68.2
Gemini2.5-pro   92.6 89.5 82.9 92.3 56.1 82.9 43.5 75.1
o3              93.2 86.1 85.7 92.1 55.2 77.4 45.5 74.6
Human           85.1 77.2 78.7 90.6 60.0 85.9 51.1 73.1
MIMIC-Chat      90.4 87.1 86.7 92.5 55.7 78.3 43.6 74.1
"""

JUDGED: Mapping[str, tuple[float, float | None]] = {
    "Video-LLaVA": (6.30, 0.58),
    "VideoChatGPT": (18.65, 1.06),
    "MIMIC-Chat": (64.24, 2.88),
    "human comments": (87.57, None),
}
"""Percent judged human, and mean realism from 0 to 5."""
AGREEMENT = 91.95
"""Percent agreement between the paper's annotators."""

TASKS: Mapping[str, tuple[float, ...]] = {
    line.split()[0]: tuple(map(float, line.split()[1:])) for line in _TASKS.strip().splitlines()
}
"""Seven tasks in the paper's order, then its overall."""


def list_published() -> Iterator[Published]:
    """Every figure of both tables."""
    for model, values in TASKS.items():
        for short, value in zip((*names.THINKING, OVERALL), values, strict=True):
            yield _build_figure(model, short, value, "accuracy", "human" if model == "Human" else "zero-shot")
    for model, (judged, realism) in JUDGED.items():
        yield _build_figure(model, names.MIMICKING, judged, "judged human", "zero-shot")
        if realism is not None:
            yield _build_figure(model, names.MIMICKING, realism, "realism", "zero-shot")


def _build_figure(model: str, short: str, value: float, metric: str, style: str) -> Published:
    return Published(
        model=model,
        task=names.format_task(short),
        style=style,
        group={},
        value=value,
        metric=metric,
        source=SOURCE,
    )
