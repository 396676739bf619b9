"""One thing that was checked: what is published, the arithmetic, and what follows from it."""

from __future__ import annotations

import textwrap
from typing import Literal

from msgspec import Struct

from vivant.core.table import Table, to_markdown, to_text

Outcome = Literal["holds", "does not hold", "cannot be told"]


class AuditCheck(Struct, frozen=True, kw_only=True):
    """A published figure, or several that belong together, checked."""

    name: str
    """`mime-human-free-form`: `--only` names it."""
    benchmark: str
    title: str
    outcome: Outcome
    claim: str
    """What is published, and where."""
    arithmetic: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    finding: str
    """What follows, and what does not."""
    recomputed: tuple[str, ...] = ()
    """What the data at hand give, where a folder was named."""


def format_text(case: AuditCheck) -> str:
    """A case for a terminal."""
    lines = [f"{case.title}  [{case.outcome}]  {case.name}", "", _wrapped("Published: ", case.claim)]
    lines += [_wrapped("· ", line) for line in case.arithmetic]
    for table in case.tables:
        lines += ["", to_text(table).rstrip(), ""]
    lines.append(_wrapped("Finding: ", case.finding))
    lines += [_wrapped("Data at hand: ", line) for line in case.recomputed]
    return "\n".join(lines) + "\n"


def _wrapped(head: str, text: str) -> str:
    return textwrap.fill(text, 110, initial_indent=f"  {head}", subsequent_indent="    ")


def format_percent(share: float) -> str:
    """A share as this page prints it."""
    return f"{share * 100:.1f} %"


def format_markdown(case: AuditCheck) -> str:
    """A case as a section of a page."""
    lines = [f"### {case.title}", "", f"*{case.outcome.capitalize()}.* {case.claim}", ""]
    lines += [f"- {line}" for line in case.arithmetic]
    if case.arithmetic:
        lines.append("")
    for table in case.tables:
        lines += [to_markdown(table).rstrip(), ""]
    lines += [case.finding, ""]
    if case.recomputed:
        lines += ["From the data at hand:", "", *(f"- {line}" for line in case.recomputed), ""]
    return "\n".join(lines)


ROUNDING = 0.05
"""A figure printed with one decimal may be off by this much."""


def exceeds_rounding(recomputed: float, published: float, tolerance: float = 2 * ROUNDING) -> bool:
    """Whether a figure recomputed from rounded ones is further from the published one than rounding explains."""
    return abs(recomputed - published) > tolerance + 1e-9
