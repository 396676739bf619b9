"""One word for what became of a sample, on every page."""

from __future__ import annotations

OUTCOMES = ("right", "wrong", "unparsed", "truncated", "error", "excluded", "unscored", "waiting")
"""`error`: no reply to score; `unscored`: a reply, and no score yet; `waiting`: not asked yet. Indexes store places."""
RIGHT, WRONG, UNPARSED, TRUNCATED, ERROR, EXCLUDED, UNSCORED, WAITING = range(len(OUTCOMES))
FAILED_STATUSES = ("error", "refused", "too_long")
"""Statuses of replies that hold no answer."""
NOT_JUDGED = "not judged yet"


def classify_score(status: str, value: float | None, rule: str = "") -> int:
    """The outcome of a score: its place in OUTCOMES."""
    if status == "scored":
        return RIGHT if value is not None and value >= 0.5 else WRONG
    if status == "missing":
        return UNSCORED if rule == NOT_JUDGED else ERROR
    return OUTCOMES.index(status) if status in OUTCOMES else UNSCORED
