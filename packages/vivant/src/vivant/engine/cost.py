"""What a run may cost, said before it starts, from some of its requests; `estimate.py` counts them all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from vivant.core.errors import UsageError
from vivant.engine.estimate import estimate_plan
from vivant.engine.prices import costs_money, find_price
from vivant.engine.tokens import TokenUsage
from vivant.runs.directory import RunDir

if TYPE_CHECKING:
    from vivant.engine.budget import Price
    from vivant.engine.options import RunOptions
    from vivant.engine.run_planning import PlannedRun

logger = logging.getLogger("vivant")
_SAMPLES = 100
"""Samples of a task that stand for the others."""

Ask = Callable[[str], bool | None]
"""Puts a question to the user; None where nobody can answer."""


class CostEstimate(Struct, kw_only=True):
    """What is left to ask in one run or several."""

    model: str
    price: Price | None
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    """At most."""
    cost: float = 0.0
    """At most; 0 where no price is known."""
    thinking: float = 0.0
    """What of it is room for thoughts, of which models mostly take far less."""

    def describe(self) -> str:
        """In one sentence."""
        requests = f"{self.requests:,} request{'s' if self.requests != 1 else ''}"
        if self.price is None:
            return (
                f"Estimate: {requests}, about {self.tokens_in:,} tokens in, at most {self.tokens_out:,} out. "
                f"No price is known for {self.model}; --prices FILE gives one"
            )
        dated = f"prices of {self.price.as_of}" if self.price.as_of else "prices without a date"
        room = f", {_format_amount(self.thinking)} of it room for thoughts" if self.thinking else ""
        amount = f"{_format_amount(self.cost)} {self.price.currency}"
        return f"Estimate: at most about {amount} for {requests}{room} ({dated})"


def _format_amount(amount: float) -> str:
    return f"{amount:.2f}" if amount >= 0.01 else f"{amount:.4f}"


def estimate_cost(prepared: Sequence[PlannedRun], options: RunOptions) -> CostEstimate | None:
    """Estimate what runs of one model may cost; None where nobody charges for it."""
    model = prepared[0].model
    price = find_price(model, options.prices)
    if not costs_money(model, price):
        return None
    total = CostEstimate(model=model.name, price=price)
    for run in prepared:
        left = 1 - min(1.0, _count_answered(run) / max(1, run.plan.size))
        for task in run.plan.tasks:
            step = max(1, len(task.chosen) // _SAMPLES)
            some = tuple(task.chosen[index] for index in range(0, len(task.chosen), step))
            plan = msgspec.structs.replace(run.plan, tasks=(msgspec.structs.replace(task, chosen=some),))
            for part in estimate_plan(plan, model, price):
                share = left * len(task.chosen) / max(1, len(some))
                total.requests += round(part.requests * share)
                total.tokens_in += round(part.tokens_in * share)
                total.tokens_out += round(part.tokens_out * share)
                total.cost += (part.cost(price, batch=options.batch) or 0.0) * share
                if price is not None:
                    thoughts = TokenUsage(0, part.tokens_thinking)
                    total.thinking += price.cost(thoughts, batch=options.batch) * share
    return total


def announce_cost(
    prepared: Sequence[PlannedRun], options: RunOptions, ask: Ask | None = None, *, besides: str = ""
) -> None:
    """Log what runs may cost. Raises UsageError where that is above `--confirm-above` and the user does not agree.

    Args:
        prepared: the runs, all of one model.
        options: their options.
        ask: puts a question to the user; without, whoever calls cannot be asked.
        besides: what will cost something too and is not counted.
    """
    estimate = estimate_cost(prepared, options)
    if estimate is None:
        if options.confirm_above is not None:
            logger.info(
                "--confirm-above: no price is known for %s, which runs on your own machines; there is nothing to "
                "compare. --prices FILE gives a price.",
                prepared[0].model.name,
            )
        return
    if not estimate.requests:
        return
    logger.info("%s%s.", estimate.describe(), f", and {besides} besides" if besides else "")
    limit = options.confirm_above
    if limit is None or options.yes:
        return
    if estimate.price is None:
        raise UsageError(
            f"--confirm-above {limit:g} cannot be compared: no price is known for {estimate.model}; "
            "give one with --prices FILE, or add --yes to go on without"
        )
    if estimate.cost <= limit:
        return
    above = f"above --confirm-above {limit:g}"
    agreed = ask(f"That is {above}. Go on?") if ask is not None else None
    if agreed is None:
        raise UsageError(
            f"The estimate is {above} and there is nobody to ask; add --yes to go on all the same"
        )
    if not agreed:
        raise UsageError("Nothing was sent")


class _Answered(Struct):
    """Of a record, whether it was answered."""

    status: str = "ok"


class _LogLine(Struct):
    reply: _Answered


def _count_answered(run: PlannedRun) -> int:
    """How many samples the run directory holds already, if it is this run's."""
    directory = RunDir(run.out)
    if not directory.exists() or not directory.log_file.exists():
        return 0
    decoder = msgspec.json.Decoder(_LogLine)
    count = 0
    with directory.log_file.open("rb") as file:
        for line in file:
            try:
                count += decoder.decode(line).reply.status != "error"
            except msgspec.MsgspecError:
                continue
    return count
