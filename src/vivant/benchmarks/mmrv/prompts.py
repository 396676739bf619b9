"""Sample + style → messages: the text, then the video; options in their own order under their own letters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vivant.benchmarks.base import Prompt, PromptContext
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.types import Message, Option, Sample, Text, Video

STYLES = ("zero-shot", "cot")
_TASK = (
    "A video follows this text. Watch all of it and answer the question. Many options sound possible; "
    "exactly one fits what the video shows and means.\n\n"
    "Question: {question}\n\n"
    "Options:\n{options}\n\n"
)
WORDING: Mapping[str, str] = {
    "mcq.zero-shot": _TASK
    + "Reply with the letter of that option in double square brackets and nothing else, "
    "as [[X]] would stand for an option X.",
    "mcq.cot": _TASK
    + "First reason aloud: which moments of the video bear on the question, what they mean when taken "
    "together, and how the options that sound alike differ. Then end with one line that holds the letter "
    "of your option in double square brackets, as [[X]] would stand for an option X.",
}
"""Prompts by name. A user's own (`--prompts FILE`) may use {question}, {options} (a line each), {letters},
and {options_list} (as Python prints a list, the way the original inserts them)."""
_MAX_TOKENS = {"mcq.zero-shot": 512, "mcq.cot": 4096}
_FIELD = re.compile(r"\{(question|options_list|options|letters)\}")


def phrase(sample: Sample, context: PromptContext) -> Prompt:
    """The prompt in the context's style."""
    if context.style not in STYLES:
        raise unknown_name_error("style of mmrv", context.style, STYLES)
    name = f"mcq.{context.style}"
    template = context.wording.get(name, WORDING[name])
    used = set(_FIELD.findall(template))
    if "question" not in used or not used & {"options", "options_list"}:
        raise UsageError(f"The prompt '{name}' must hold {{question}} and {{options}} (or {{options_list}})")
    # Unless permuted, options keep the order and the letters of the data; letters stay with their places.
    order = context.order(sample, shuffled=False)
    options = tuple(
        Option(o.name, sample.options[k].text) for o, k in zip(sample.options, order, strict=True)
    )
    lines = [f"({option.name}) {option.text}" for option in options]
    values = {
        "question": " ".join(part.text for part in sample.question if isinstance(part, Text)),
        "options": "\n".join(lines),
        "options_list": str(lines),
        "letters": ", ".join(option.name for option in options),
    }
    # One pass, so that braces in a question are never taken for a field.
    text = Text(_FIELD.sub(lambda match: values[match[1]], template))
    videos = [part for part in sample.question if isinstance(part, Video)]
    return Prompt(
        messages=(Message("user", (text, *videos)),),
        options=options,
        order=order,
        answer_form="[[{}]]",
        max_tokens=_MAX_TOKENS[name],
    )
