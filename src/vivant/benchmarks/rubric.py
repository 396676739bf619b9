"""A rubric: what is judged, by which criteria, on which scale; and the question that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from vivant.benchmarks.verdict import Contract
from vivant.core.fenced_text import RULE, FencedBlock, fence_blocks, fence_code
from vivant.core.types import Message, Text


class JudgeCriterion(Struct, frozen=True):
    """One thing to look at."""

    name: str
    text: str


class Rubric(Struct, frozen=True, kw_only=True, dict=True):
    """Criteria, scale and form of a verdict. Its words are part of a judge's fingerprint."""

    name: str
    """`mmie-sa`: a user's own wording names it."""
    role: str
    """Who the judge is and what lies before it."""
    criteria: tuple[JudgeCriterion, ...]
    scale: str
    """How criteria become a figure."""
    contract: Contract

    def reworded(self, wording: Mapping[str, str]) -> Rubric:
        """With a user's own texts: `judge.NAME.role`, `.scale`, and `.criteria` for the whole list."""
        names = {part: wording.get(f"judge.{self.name}.{part}") for part in ("role", "scale", "criteria")}
        changes = {part: text for part, text in names.items() if text is not None}
        if "criteria" in changes:
            criterion = JudgeCriterion("", changes.pop("criteria"))
            return msgspec.structs.replace(self, criteria=(criterion,), **changes)
        return msgspec.structs.replace(self, **changes)

    @cached_property
    def system(self) -> Message:
        """The same for every answer, so that servers that cache prompts read it once."""
        return Message("system", (Text(f"{self.instructions}\n\n{RULE}"),))

    @cached_property
    def instructions(self) -> str:
        """Role, criteria and scale."""
        lines = [self.role, "", "Criteria:"]
        lines += [f"{n}. {c.name}: {c.text}" if c.name else c.text for n, c in enumerate(self.criteria, 1)]
        return "\n".join([*lines, "", self.scale])


class JudgeQuestion(Struct, frozen=True, kw_only=True, gc=False):
    """What a judge is asked about one answer."""

    rubric: Rubric
    materials: tuple[FencedBlock, ...]
    max_tokens: int = 1024
    lost_images: int = 0
    """Pictures that the judge does not get to see."""
    notes: tuple[str, ...] = ()
    """What was cut or missing, for the record."""

    def messages(self, *, again: bool = False) -> tuple[Message, ...]:
        """Instructions, the fenced material, the form of the verdict.

        `again` reminds of the form after a reply that could not be read; what that reply said is not
        repeated, since it may have been steered by the material.
        """
        code = fence_code(self.materials)
        reminder = "An earlier reply did not keep to this form; keep to it exactly.\n" if again else ""
        closing = f"\nThat is all the material. Judge it now.\n{reminder}{self.rubric.contract.ask}"
        user = fence_blocks(self.materials, code, closing)
        return (self.rubric.system, Message("user", user))


class JudgeContext(Struct, frozen=True, kw_only=True):
    """What putting a question to a judge may draw on besides the sample and its record."""

    protocol: Literal["paper", "strict"] = "paper"
    root: Path = Path()
    """The folder that media paths in samples are relative to."""
    run: Path = Path()
    """The run's folder, which paths that begin with `run:` are relative to."""
    max_images: int | None = None
    """As many as the judge takes."""


class JudgeAgreement(Struct, frozen=True, kw_only=True):
    """How far a judge agreed with people, as published."""

    judge: str
    pearson: float | None = None
    spearman: float | None = None
    cosine: float | None = None
    mse: float | None = None
    mae: float | None = None
    kappa: float | None = None
    source: str


class JudgeInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A judge as tables name it."""

    name: str
    fingerprint: str
    samples: int = 1
    caveat: str = ""
    """What must be said beside every figure that rests on it."""
