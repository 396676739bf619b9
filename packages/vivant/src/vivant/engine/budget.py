"""What a run may spend in money and tokens, kept before it is passed.

Every request under way is counted at a careful estimate until its reply says what it took. A request that could
pass the budget waits for those under way; if it still could when none is, the run stops there and can be resumed.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from vivant.core.records import Record
from vivant.core.types import Reply, Text
from vivant.engine.rate_limit import RateLimit, Slot
from vivant.engine.tokens import Estimator, RequestSize, TokenUsage, count_text_tokens
from vivant.models.model_table import PictureTokens

ESTIMATED = "estimated_tokens"
"""In a record's `extra`: tokens in and out by estimate, where a budget counts and the server does not say."""
_UNSEEN_MEDIA = 1_000
"""Tokens of a picture or frame of a record that holds no estimate."""


class Price(Struct, frozen=True, kw_only=True):
    """Money for a million tokens."""

    input: float
    output: float
    as_of: str = ""
    """When this was so."""
    currency: str = "USD"
    picture: PictureTokens | None = None
    """How pictures are billed, where that is not how they fill the model's window."""
    batch: float = 1.0
    """The share of this that is asked through the provider's batch endpoint."""
    note: str = ""
    """What is particular about it: "until 2026-12-31"."""

    def cost(self, usage: TokenUsage, *, batch: bool = False) -> float:
        """What this many tokens cost, asked one by one or in a batch."""
        cost = (usage.sent * self.input + usage.written * self.output) / 1_000_000
        return cost * self.batch if batch else cost


class RunBudget(Struct, frozen=True, kw_only=True):
    """Limits on a whole run, all processes that worked on it together. None: no limit."""

    tokens: int | None = None
    cost: float | None = None
    price: Price | None = None
    """Needed for `cost`."""


class Reservation(Struct, eq=False):
    """A request that was let in, and what is set aside for it."""

    size: RequestSize
    usage: TokenUsage


class _Waiting(Struct, eq=False):
    """A request that waits for those under way."""

    size: RequestSize
    max_tokens: int | None
    future: asyncio.Future[Reservation | None]


class Meter:
    """Lets requests in within budget and rates. One per run, in the process that keeps the log."""

    def __init__(self, budget: RunBudget | None = None, rates: RateLimit | None = None) -> None:
        self._budget = budget or RunBudget()
        self._rates = rates
        self._estimator = Estimator()
        self._counts = self._budget.tokens is not None or self._budget.cost is not None
        self._sizes = self._counts or (rates is not None and rates.tpm is not None)
        self.spent = 0
        self.cost = 0.0
        self._admitted = 0
        self._reserved_tokens = 0
        self._reserved_cost = 0.0
        self._waiting: deque[_Waiting] = deque()
        self.reason = ""
        """Why nothing more is let in."""

    def recall(self, record: Record) -> None:
        """Count a record that an earlier process wrote."""
        if not record.cached:
            usage = read_usage(record)
            self._spend(usage, batch="batch" in record.extra)
            self._estimator.recall(usage)
            if self._rates is not None:
                self._rates.remember(time.time() - record.started, record.attempts, usage.total)

    async def admit(self, size: RequestSize, max_tokens: int | None) -> Reservation | None:
        """Set aside what a request may take; None where the budget has no room for it. First come, first served."""
        if not self._waiting and (reservation := self._try_admit(size, max_tokens)) is not None:
            return reservation
        if self.reason:
            return None
        waiting = _Waiting(size, max_tokens, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            return await waiting.future
        except asyncio.CancelledError:
            admitted = waiting.future.done() and not waiting.future.cancelled()
            if admitted and (reservation := waiting.future.result()) is not None:
                self.settle(reservation, None)
            raise

    def _try_admit(self, size: RequestSize, max_tokens: int | None) -> Reservation | None:
        """A reservation; None where the request must wait, or, with `reason` set, nothing more is let in."""
        # The first request goes alone: it tells what the others will take.
        if self.reason or (self._sizes and not self._estimator.known and self._admitted > 0):
            return None
        usage = self._estimator.estimate(size, max_tokens)
        passed = self._exceeded_limit(usage)
        if passed:
            if not self._admitted:
                self.reason = f"the next request could pass {passed}"
            return None
        self._admitted += 1
        self._reserved_tokens += usage.total
        self._reserved_cost += self._cost(usage)
        return Reservation(size, usage)

    def _admit_waiting(self) -> None:
        """Let in all that there is room for at once: woken one by one, each would take a round of the event loop."""
        while self._waiting:
            first = self._waiting[0]
            if not first.future.done():
                reservation = self._try_admit(first.size, first.max_tokens)
                if reservation is None and not self.reason:
                    return
                first.future.set_result(reservation)
            self._waiting.popleft()

    def _exceeded_limit(self, usage: TokenUsage) -> str:
        if not self._counts:
            return ""
        budget = self._budget
        if budget.tokens is not None and self.spent + self._reserved_tokens + usage.total > budget.tokens:
            return f"--budget-tokens {budget.tokens:,} ({self.spent:,} taken so far)"
        if budget.cost is not None and budget.price is not None:
            cost = self.cost + self._reserved_cost + budget.price.cost(usage)
            if cost > budget.cost:
                return f"--budget-cost {budget.cost:g} ({self.cost:.4f} {budget.price.currency} spent so far)"
        return ""

    def stop(self) -> None:
        """Keep no request waiting: the run ends."""
        if self._rates is not None:
            self._rates.stop()

    def call_on_wait(self, listener: Callable[[float], None]) -> None:
        """Tell a listener when the rates hold a request back, and for how many seconds."""
        if self._rates is not None:
            self._rates.on_wait = listener

    async def wait_for_rates(self, reservation: Reservation) -> Slot | None:
        """Wait until the rates allow an attempt; it must be made at once, unless the run was stopped."""
        return await self._rates.enter(reservation.usage.total) if self._rates is not None else None

    def note_attempt(self, slot: Slot, reply: Reply | None) -> None:
        """An attempt has come back, with a reply or with an error."""
        if self._rates is not None:
            reported = reply is not None and reply.tokens_in is not None
            tokens = (
                (reply.tokens_in or 0) + (reply.tokens_out or 0) if reply is not None and reported else None
            )
            self._rates.note_answer(slot, tokens)

    def settle(self, reservation: Reservation, reply: Reply | None) -> TokenUsage | None:
        """A sample is done with: count what its reply took in place of what was set aside.

        Returns what was counted by estimate, where a budget counts and the server does not say.
        """
        self._admitted -= 1
        self._reserved_tokens -= reservation.usage.total
        self._reserved_cost -= self._cost(reservation.usage)
        estimated = None
        if reply is not None and (
            reply.status in ("ok", "truncated", "refused") or reply.tokens_in is not None
        ):
            usage = self._estimator.measure(reservation.size, reply)
            self._spend(usage)
            if self._counts and (reply.tokens_in is None or reply.tokens_out is None):
                estimated = usage
        self._admit_waiting()
        return estimated

    def _spend(self, usage: TokenUsage, *, batch: bool = False) -> None:
        self.spent += usage.total
        self.cost += self._cost(usage, batch=batch)

    def _cost(self, usage: TokenUsage, *, batch: bool = False) -> float:
        return self._budget.price.cost(usage, batch=batch) if self._budget.price is not None else 0.0


def read_usage(record: Record) -> TokenUsage:
    """What a record took: as the server said, else as it was estimated when asked, else by the record's own texts."""
    reply = record.reply
    if reply.tokens_in is not None and reply.tokens_out is not None:
        return TokenUsage(reply.tokens_in, reply.tokens_out)
    estimate = record.extra.get(ESTIMATED)
    if isinstance(estimate, list) and len(estimate) == 2:
        return TokenUsage(int(estimate[0]), int(estimate[1]))
    if reply.status not in ("ok", "truncated", "refused"):
        return TokenUsage(reply.tokens_in or 0, reply.tokens_out or 0)
    texts = [part.text for message in record.messages for part in message.parts if isinstance(part, Text)]
    media = sum(max(1, len(use.times)) for use in record.media)
    sent = math.ceil(sum(map(count_text_tokens, texts))) + media * _UNSEEN_MEDIA
    written = math.ceil(count_text_tokens(reply.text) + count_text_tokens(reply.thinking))
    return TokenUsage(
        sent if reply.tokens_in is None else reply.tokens_in,
        written if reply.tokens_out is None else reply.tokens_out,
    )
