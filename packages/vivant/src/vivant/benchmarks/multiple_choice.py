"""A benchmark of multiple-choice questions: subclass `MultipleChoice` and write `load`, nothing else."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import ClassVar

from vivant.benchmarks.base import Benchmark, Prompt, PromptContext, ScoreSettings
from vivant.benchmarks.wording import PromptText
from vivant.core.records import Record, Score
from vivant.core.types import Message, Option, Part, Sample, Text


class MultipleChoice(Benchmark):
    """Question, lettered options and an instruction; the option that the reply names is compared with the key.

    `vivant benchmarks new FILE` writes an example.
    """

    styles: ClassVar[tuple[str, ...]] = ("zero-shot", "cot")
    scores_apart: ClassVar[bool] = True
    shuffle: ClassVar[bool] = True
    """Show options in an order drawn for each sample. Set False where options refer to their letters."""
    instructions: ClassVar[Mapping[str, str]] = {
        "zero-shot": "Reply with the letter of the right choice and nothing else.",
        "cot": "Think it through step by step, then write the letter of the right choice alone on "
        "the last line.",
    }
    """What stands below the options, by style. `--prompts` with `choices.STYLE` replaces it."""

    def __init_subclass__(cls) -> None:
        """Know the texts that may be replaced, unless the subclass phrases its own prompts."""
        super().__init_subclass__()
        if "prompt_texts" not in cls.__dict__:
            own = "prompt" in cls.__dict__
            cls.prompt_texts = None if own else {f"choices.{style}": PromptText() for style in cls.styles}

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """The question with its media in place, the options, the instruction."""
        order = context.order(sample, shuffled=self.shuffle)
        options = make_options([sample.options[index].text for index in order])
        instruction = context.wording.get(f"choices.{context.style}", self.instructions[context.style])
        choices = "\n".join(f"{option.name}. {option.text}" for option in options)
        return Prompt(
            messages=(user_message(sample.question, choices, instruction),),
            options=options,
            order=order,
            max_tokens=1024 if context.style == "cot" else 128,
        )

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:  # noqa: ARG002
        """1 where the option that the reply names is the key, 0 where it is another, unparsed where it names none."""
        from vivant.metrics.choice import score_choice

        return [score_choice(sample, record) for sample, record in items]


def make_options(texts: Sequence[str]) -> tuple[Option, ...]:
    """Options with letters before them: A, B, C …"""
    return tuple(Option(option_name(index), text) for index, text in enumerate(texts))


def option_name(index: int) -> str:
    """A … Z, AA … AZ, BA …"""
    letters = string.ascii_uppercase
    return letters[index] if index < 26 else letters[index // 26 - 1] + letters[index % 26]


def user_message(question: Sequence[Part], *closing: str) -> Message:
    """A question as one message, with each non-empty text of `closing` on a line of its own below it."""
    text = "".join(f"\n{line}" for line in closing if line)
    return Message("user", (*question, Text(text)) if text else tuple(question))
