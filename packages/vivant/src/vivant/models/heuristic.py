"""A judge that understands nothing: it weighs what can be counted and picks a verdict accordingly.

It exists so that the path from answers to judged tables runs anywhere. Its figures say nothing about quality.
"""

from __future__ import annotations

import re
from statistics import fmean

from vivant.core.errors import UsageError
from vivant.core.fenced_text import ParsedBlock, parse_blocks
from vivant.core.types import Reply, Request
from vivant.models.base import Model, ModelOptions

_WORD = re.compile(r"\w+")
_CONTENT_WORD = re.compile(r"\w{4,}")
_ENOUGH_WORDS = 60


class HeuristicJudge(Model):
    """Chooses among the well-formed verdicts by length, overlap with question and reference, and pictures."""

    name = "heuristic"
    cacheable = False
    caveat = "a rule of thumb (length, overlap, pictures) for trying the path, never for results"

    async def generate(self, request: Request) -> Reply:
        if not request.candidates:
            return Reply(status="error", error="'heuristic' only judges; this request lists no verdicts")
        materials = parse_blocks(part for turn in request.turns for part in turn.parts)
        merit, why = rate_answer(materials)
        index = round(merit * (len(request.candidates) - 1))
        return Reply(text=request.candidates[index], thinking=why)


def rate_answer(materials: dict[str, ParsedBlock]) -> tuple[float, str]:
    """From 0 to 1, and what it is made of."""
    answer = materials.get("answer", ParsedBlock())
    words = _WORD.findall(answer.text.casefold())
    if not words and not answer.pictures:
        return 0.0, "the answer is empty"
    content = set(_CONTENT_WORD.findall(answer.text.casefold()))
    marks = {
        "length": min(1.0, len(words) / _ENOUGH_WORDS),
        "variety": len(set(words)) / len(words) if words else 0.0,
    }
    for name in ("question", "reference"):
        words_expected = (
            set(_CONTENT_WORD.findall(materials[name].text.casefold())) if name in materials else set()
        )
        if words_expected:
            marks[f"overlap with the {name}"] = len(words_expected & content) / len(words_expected)
    if "reference" not in materials:
        marks["pictures"] = min(1.0, answer.pictures / 2)
    return fmean(marks.values()), ", ".join(f"{name} {mark:.2f}" for name, mark in marks.items())


def create(argument: str, options: ModelOptions) -> Model:
    """`--judge heuristic`."""
    options.resolve()
    if argument:
        raise UsageError(f"'heuristic' takes nothing after its name; got 'heuristic/{argument}'")
    return HeuristicJudge()
