"""What the requests of a run took: tokens in, tokens out, thoughts apart, and money where prices are known."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from vivant.core.records import Record
from vivant.engine.budget import Price
from vivant.engine.prices import find_price_by_name
from vivant.engine.tokens import TokenUsage
from vivant.runs.log import read_log
from vivant.runs.run import Run


class UsageSummary(Struct, frozen=True, kw_only=True):
    """Sums over the requests that a server answered, or refused with a count of tokens. Replies from the cache cost
    nothing and are left out."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_thinking: int = 0
    """Those of `tokens_out` that are thoughts, as far as the server says so."""
    reported: bool = False
    """Whether every answer came with its tokens."""
    price: Price | None = None
    cost: float | None = None
    cost_thinking: float = 0.0
    """The part of `cost` that went into thoughts."""

    def format_cost(self, decimals: int = 4) -> str | None:
        """The cost with currency and date; None where tokens were not reported or no price is known."""
        if self.price is None or self.cost is None:
            return None
        dated = f" (prices of {self.price.as_of})" if self.price.as_of else ""
        return f"{self.cost:.{decimals}f} {self.price.currency}{dated}"

    def format(self) -> str:
        """One line for the end of a run; empty where no tokens were reported."""
        if not self.tokens_in and not self.tokens_out:
            return ""
        words = f"Tokens: {self.tokens_in:,} in, {self.tokens_out:,} out"
        if self.tokens_thinking:
            words += f", of them {self.tokens_thinking:,} thoughts"
        cost = self.format_cost()
        if cost is not None and self.price is not None:
            words += f"; {cost}"
            if self.cost_thinking:
                words += f", of it {self.cost_thinking:.4f} {self.price.currency} for thoughts"
        return words + ("." if self.reported else ", as far as the server says.")


def sum_usage(records: Iterable[Record], price: Price | None = None) -> UsageSummary:
    """Add up what requests took.

    Args:
        records: the log.
        price: what the model's provider charges, where that is known.
    """
    requests = sent = written = thoughts = 0
    cost = cost_thinking = 0.0
    reported = True
    for record in records:
        reply = record.reply
        counted = (reply.tokens_in, reply.tokens_out)
        answered = reply.status in ("ok", "truncated")
        if record.cached or (not answered and counted == (None, None)):
            continue
        requests += 1
        reported = reported and not (answered and None in counted)
        usage = TokenUsage(reply.tokens_in or 0, reply.tokens_out or 0)
        sent, written, thoughts = (
            sent + usage.sent,
            written + usage.written,
            thoughts + (reply.tokens_thinking or 0),
        )
        if price is not None:
            batch = "batch" in record.extra
            cost += price.cost(usage, batch=batch)
            cost_thinking += price.cost(TokenUsage(0, reply.tokens_thinking or 0), batch=batch)
    return UsageSummary(
        requests=requests,
        tokens_in=sent,
        tokens_out=written,
        tokens_thinking=thoughts,
        reported=reported,
        price=price,
        cost=cost if price is not None and reported else None,
        cost_thinking=cost_thinking,
    )


def describe_usage(run: Run, prices: str | None = None) -> str:
    """What a run took, in one line; `prices` is a file of the user's (`--prices`)."""
    price = find_price_by_name(run.model, run.manifest.server, prices)
    return sum_usage(read_log(run.dir.log_file), price).format()
