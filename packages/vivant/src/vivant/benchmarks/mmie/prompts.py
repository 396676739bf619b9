"""A question with its pictures where they stand, and what form the answer may have."""

from __future__ import annotations

from vivant.benchmarks.base import Prompt, PromptContext
from vivant.benchmarks.wording import PromptText
from vivant.core.generated_images import mark_picture
from vivant.core.types import Image, Message, Part, Sample, Text

STYLES = ("interleaved", "described", "text")
MAX_TOKENS = 1024

_WORDING = {
    "interleaved": "Answer in text and, where one says more, in pictures: put each where it belongs.",
    "described": (
        "Answer in text and pictures. You cannot draw, so wherever a picture belongs, write what it shows as "
        f"{mark_picture('one or two sentences that an illustrator could work from without reading the rest')}. "
        "Use this mark for nothing else, and at most three times."
    ),
    "text": "Answer in text alone.",
}

PROMPT_TEXTS = {style: PromptText() for style in STYLES}


def build_prompt(sample: Sample, context: PromptContext, candidates: tuple[str, ...]) -> Prompt:
    """The question part by part, then the instruction of the style."""
    parts: list[Part] = []
    for part in sample.question:
        if isinstance(part, Text):
            if part.text.strip():
                parts.append(Text(part.text if part.text.endswith("\n") else part.text + "\n"))
        elif isinstance(part, Image):
            parts.append(part)
    parts.append(Text("\n" + context.wording.get(context.style, _WORDING[context.style])))
    return Prompt(messages=(Message("user", tuple(parts)),), candidates=candidates, max_tokens=MAX_TOKENS)
