"""One thing that was checked: what is published, the arithmetic, and what follows from it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from vivant.core.table import Table, to_markdown, to_text
from vivant.core.text_wrapping import wrap_text
from vivant.core.yaml_files import read_yaml

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


class _CheckText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The words of a check in checks.yaml, with figures in braces."""

    benchmark: str
    title: str
    outcome: Outcome = "cannot be told"
    claim: str
    arithmetic: tuple[str, ...] = ()
    finding: str


@cache
def _read_texts() -> dict[str, _CheckText]:
    return read_yaml(Path(__file__).with_name("checks.yaml"), dict[str, _CheckText])


def make_check(
    name: str,
    *,
    outcome: Outcome | None = None,
    tables: tuple[Table, ...] = (),
    lines: Sequence[str] = (),
    recomputed: tuple[str, ...] = (),
    **figures: object,
) -> AuditCheck:
    """The check `name` of checks.yaml, with its figures filled in.

    Args:
        name: as `--only` names it.
        outcome: where it depends on the figures.
        tables: shown between the arithmetic and the finding.
        lines: computed lines of the arithmetic, which stand for the line `{lines}`.
        recomputed: what the data at hand give.
        figures: values for the braces of its words.
    """
    text = _read_texts()[name]
    arithmetic: list[str] = []
    for line in text.arithmetic:
        arithmetic += lines if line == "{lines}" else [line.format_map(figures)]
    return AuditCheck(
        name=name,
        benchmark=text.benchmark,
        title=text.title,
        outcome=outcome or text.outcome,
        claim=text.claim.format_map(figures),
        arithmetic=tuple(arithmetic),
        tables=tables,
        finding=text.finding.format_map(figures),
        recomputed=recomputed,
    )


def format_text(case: AuditCheck, width: int = 110) -> str:
    """A case for a terminal of this width."""
    title = wrap_text(f"{case.title}  [{case.outcome}]  {case.name}", width)
    lines = [*title, "", _wrap_text("Published: ", case.claim, width)]
    lines += [_wrap_text("· ", line, width) for line in case.arithmetic]
    for table in case.tables:
        lines += ["", to_text(table, width).rstrip(), ""]
    lines.append(_wrap_text("Finding: ", case.finding, width))
    lines += [_wrap_text("Data at hand: ", line, width) for line in case.recomputed]
    return "\n".join(lines) + "\n"


def _wrap_text(head: str, text: str, width: int) -> str:
    return textwrap.fill(
        text,
        min(width, 110),
        initial_indent=f"  {head}",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


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
