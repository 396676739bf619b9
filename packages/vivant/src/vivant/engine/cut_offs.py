"""Replies that are cut off before an answer began: where the first ones all are, the others would be too."""

from __future__ import annotations

from vivant.core.types import Reply
from vivant.models.thinking import Thinking
from vivant.models.thought_marks import ENDED_THINKING

MAX_CUT_OFF = 5
"""So many replies, the first ones, all cut off before an answer began, end the run."""


class CutOffWatch:
    """Counts cut-off replies until one is not."""

    def __init__(self, thinking: Thinking | None) -> None:
        self._thinking = thinking or Thinking()
        self._count: int | None = 0
        self._ended_early = 0

    def add(self, reply: Reply) -> str:
        """One more reply. Returns why the run ends and what to do, where it should end here."""
        if self._count is None:
            return ""
        if reply.status != "truncated" or reply.has_answer:
            self._count = None
            return ""
        self._count += 1
        self._ended_early += reply.error == ENDED_THINKING
        return self.reason

    @property
    def reason(self) -> str:
        """Why the run ends, where no reply so far holds an answer and there are enough of them."""
        if self._count is None or self._count < MAX_CUT_OFF:
            return ""
        return _explain_cut_off(self._count, self._thinking, ended_early=self._ended_early)


def _explain_cut_off(count: int, thinking: Thinking, *, ended_early: int = 0) -> str:
    """Why a run ends whose first replies hold no answer, and what to do.

    Args:
        count: how many replies.
        thinking: how the model thinks.
        ended_early: how many of them ended by themselves while the model was thinking, within all limits.
    """
    if ended_early == count:
        without = ", or try --no-thinking" if "--no-thinking" in thinking.less else ""
        return (
            f"the first {count} replies ended while the model was thinking, before an answer began; no limit was "
            f"reached. Check the server's chat template and stop words{without}"
        )
    limit = f" ({thinking.room:,} tokens and the answer's own)" if thinking.room else ""
    less = f", or think less with {' or '.join(thinking.less)}" if thinking.less else ""
    return (
        f"the first {count} replies were cut off before an answer began; thoughts took all of their room{limit}. "
        f"Give more with --thinking-tokens {max(2 * thinking.room, 32_768)}{less}"
    )
