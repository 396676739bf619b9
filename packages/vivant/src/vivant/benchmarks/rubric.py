"""A rubric: what is judged, by which criteria, on which scale; and the question that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from vivant.benchmarks.verdict import Contract
from vivant.benchmarks.wording import JUDGE, PLACEHOLDER, PromptText
from vivant.core.fenced_text import RULE, FencedBlock, fence_blocks, fence_code
from vivant.core.types import Message, Part, Text, join_texts

_TEXTS = ("role", "scale", "criteria", "message")


class JudgeCriterion(Struct, frozen=True):
    """One thing to look at."""

    name: str
    text: str


class Rubric(Struct, frozen=True, kw_only=True, dict=True, omit_defaults=True):
    """Criteria, scale and form of a verdict. Its words are part of a judge's fingerprint."""

    name: str
    """`mmie-sa`: a user's own wording names it."""
    role: str
    """Who the judge is and what lies before it."""
    criteria: tuple[JudgeCriterion, ...]
    scale: str
    """How criteria become a figure."""
    contract: Contract
    materials: tuple[str, ...] = ("question", "answer")
    """Names of the materials that are judged: the placeholders of a whole message."""
    message: str = ""
    """Where it is set, the whole request, with a placeholder for each material: one user message and no other."""

    @property
    def text_names(self) -> tuple[str, ...]:
        """The names of its texts in `--judge-prompts`."""
        return tuple(f"{JUDGE}{self.name}.{part}" for part in _TEXTS)

    def check_text(self, name: str, text: str) -> None:
        """Raise where a text of a user's own cannot be used."""
        if name.endswith(".message"):
            PromptText(placeholders=self.materials, needs=(("question", "answer"),)).check(name, text)

    def reword(self, wording: Mapping[str, str]) -> Rubric:
        """With a user's own texts: `judge.NAME.role`, `.scale`, and `.criteria` for the whole list.

        `judge.NAME.message` is the whole request instead.
        """
        names = {part: wording.get(f"{JUDGE}{self.name}.{part}") for part in _TEXTS}
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
        repeated, since it may have been steered by the material. A whole message of the user's own is sent as
        it is, also then.
        """
        if self.rubric.message:
            return (Message("user", self._whole_message()),)
        code = fence_code(self.materials)
        reminder = "An earlier reply did not keep to this form; keep to it exactly.\n" if again else ""
        closing = f"\nThat is all the material. Judge it now.\n{reminder}{self.rubric.contract.ask}"
        user = fence_blocks(self.materials, code, closing)
        return (self.rubric.system, Message("user", user))

    def _whole_message(self) -> tuple[Part, ...]:
        """The rubric's own message with the materials in place, unfenced, neighbouring texts made one."""
        blocks = {material.name: material.parts for material in self.materials}
        pieces: list[Part] = []
        for index, piece in enumerate(PLACEHOLDER.split(self.rubric.message)):
            pieces += blocks[piece] if index % 2 and piece in blocks else (Text(piece),)
        return join_texts(pieces)


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
