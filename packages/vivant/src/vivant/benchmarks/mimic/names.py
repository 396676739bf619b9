"""The tasks of MIMIC-Bench, the three axes they belong to, and the buckets of video length."""

from __future__ import annotations

from collections.abc import Mapping

BENCHMARK = "mimic"
AXES: Mapping[str, tuple[str, ...]] = {
    "ciu": ("title", "description"),
    "cam": ("tag", "topic", "category"),
    "uiu": ("comment-match", "comment-popularity"),
}
"""Axes and their tasks in the paper's order: what the maker says, how it is filed, what users say."""
THINKING = tuple(task for tasks in AXES.values() for task in tasks)
"""The seven tasks with four options."""
MIMICKING = "comment"
"""The task in which a model writes a comment of its own."""
OWN = "comment-popularity"
"""The one task whose wrong options come from the video itself."""
RANKS = (1, 10, 50, 100)
"""Places by likes of the comments that the popularity task puts side by side."""
AXIS_OF: Mapping[str, str] = {task: axis for axis, tasks in AXES.items() for task in tasks}

SHORT: Mapping[str, str] = {
    "title": "Title",
    "description": "Desc",
    "tag": "Tag",
    "topic": "Topic",
    "category": "Cat",
    "comment-match": "Match",
    "comment-popularity": "Pop",
}
"""Columns of the published table."""

_BUCKETS = ((15.0, "under-15s"), (60.0, "15-60s"), (300.0, "1-5min"), (1200.0, "5-20min"))
LENGTHS = (*(name for _, name in _BUCKETS), "over-20min", "unknown")
"""Lengths of videos, the shortest first."""


def choose_length_bucket(seconds: float | None) -> str:
    """A facet for the length of a video."""
    if seconds is None:
        return "unknown"
    return next((name for limit, name in _BUCKETS if seconds < limit), "over-20min")


def format_task(short: str) -> str:
    """`mimic/title` for `title`."""
    return f"{BENCHMARK}/{short}"
