"""How a run stands, truthfully: done, running, stopped, failed; how fast it goes, and what it took."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from vivant.engine.budget import Price
from vivant.engine.prices import find_price_by_name
from vivant.engine.tokens import TokenUsage
from vivant.view.catalog import RunEntry
from vivant.view.summary import RunSummary, count_waiting

_RECENT = 10.0
"""An unfinished run whose log grew so many seconds ago is under way, on another machine if not on this one."""


STATES = ("running", "done", "stopped", "failed", "empty")


class RunStatus(Struct, frozen=True, kw_only=True):
    """One line of the list of runs."""

    state: str
    """One of STATES."""
    text: str
    """The state in words: `done`, `enough at 214 of 860`, `failed 3 of 3`, `running, 4.1/s, 2 min left`."""
    answered: int
    """Replies that there are, failed ones among them."""
    errors: int
    planned: int
    cost: str = ""
    seconds: float | None = None
    """From the first reply to the last."""

    @property
    def good_share(self) -> float:
        """Replies without an error, in percent of what is planned."""
        return self._percent(self.answered - self.errors)

    @property
    def error_share(self) -> float:
        """Errors, in percent of what is planned."""
        return self._percent(self.errors)

    def _percent(self, count: int) -> float:
        return round(100 * count / self.planned, 2) if self.planned else 0.0

    @property
    def is_running(self) -> bool:
        """Whether more is to come."""
        return self.state == "running"


def describe_status(run: RunEntry, summary: RunSummary) -> RunStatus:
    """How a run stands now."""
    waiting, errors = count_waiting(summary), summary.count("error")
    answered = summary.samples - waiting
    planned = max(summary.samples, run.planned)
    left = planned - answered
    running = left > 0 and not summary.enough and is_under_way(run.path / "log.jsonl")
    parts: list[str] = []
    if running:
        state = "running"
        parts.append("running")
        if summary.rate:
            parts += [f"{summary.rate:.3g}/s", f"{format_seconds(left / summary.rate)} left"]
    elif answered == 0:
        state = "empty"
        parts.append("nothing answered yet")
    elif errors == answered:
        state = "failed"
        parts.append(f"failed {errors:,} of {answered:,}")
    elif left > 0 and summary.enough:
        state = "done"
        parts.append(f"enough at {answered:,} of {planned:,}")
    elif left > 0:
        state = "stopped"
        parts.append(f"stopped at {answered:,} of {planned:,}")
    else:
        state = "done"
        parts.append("done")
    if summary.lost:
        parts.append(f"{summary.lost:,} without their sample")
    if errors and state != "failed":
        parts.append(f"{errors:,} failed")
    return RunStatus(
        state=state,
        text=", ".join(parts),
        answered=answered,
        errors=errors,
        planned=planned,
        cost=_describe_cost(run, summary),
        seconds=summary.last - summary.first if summary.first and summary.last else None,
    )


def is_under_way(log: Path) -> bool:
    """Whether a process holds the log, as far as this machine can see, or wrote it a moment ago."""
    try:
        status = log.stat()
    except OSError:
        return False
    if time.time() - status.st_mtime < _RECENT:
        return True
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        locks = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return any(device in line.split() and "FLOCK" in line for line in locks.splitlines())


def _describe_cost(run: RunEntry, summary: RunSummary) -> str:
    """What the tokens cost; empty where that is not known."""
    if run.manifest is None or not summary.reported or not summary.tokens:
        return ""
    price = _find_price(run.manifest.model, run.manifest.server)
    if price is None:
        return ""
    cost = sum(
        price.cost(TokenUsage(sent, written), batch=bool(batch)) for batch, sent, written in summary.tokens
    )
    return f"{cost:.2f} {price.currency}" if cost >= 0.01 else f"{cost:.4f} {price.currency}"


@lru_cache(maxsize=256)
def _find_price(model: str, server: str) -> Price | None:
    return find_price_by_name(model, server)


def format_seconds(seconds: float) -> str:
    """A time in words: `8 s`, `3 min`, `2.5 h`, `3 days`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
