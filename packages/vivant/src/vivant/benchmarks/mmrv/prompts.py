"""Sample + style → messages: the text, then the video; options in their own order under their own letters."""

from __future__ import annotations

from collections.abc import Mapping

from vivant.benchmarks.base import Prompt, PromptContext
from vivant.benchmarks.mmrv.data import AS_WRITTEN
from vivant.benchmarks.wording import PromptText, fill
from vivant.core.errors import unknown_name_error
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
PROMPT_TEXTS: Mapping[str, PromptText] = {
    name: PromptText(
        placeholders=("question", "options", "options_list", "letters"),
        needs=(("question", "options"), ("question", "options_list")),
    )
    for name in WORDING
}
_MAX_TOKENS = {"mcq.zero-shot": 512, "mcq.cot": 4096}


def build_prompt(sample: Sample, context: PromptContext, *, media_first: bool = False) -> Prompt:
    """The prompt in the context's style."""
    if context.style not in STYLES:
        raise unknown_name_error("style of mmrv", context.style, STYLES)
    name = f"mcq.{context.style}"
    template = context.wording.get(name, WORDING[name])
    PROMPT_TEXTS[name].check(name, template)
    # Unless permuted, options keep the order and the letters of the data; letters stay with their places.
    order = context.order(sample, shuffled=False)
    options = tuple(
        Option(o.name, sample.options[k].text) for o, k in zip(sample.options, order, strict=True)
    )
    lines = [f"({option.name}) {option.text}" for option in options]
    question = " ".join(part.text for part in sample.question if isinstance(part, Text))
    if AS_WRITTEN in sample.extra and "{options_list}" in template and not context.permutation:
        # The original prints the data as they are, blanks included.
        question, lines = sample.extra[AS_WRITTEN]["question"], list(sample.extra[AS_WRITTEN]["options"])
    values = {
        "question": question,
        "options": "\n".join(lines),
        "options_list": str(lines),
        "letters": ", ".join(option.name for option in options),
    }
    text = Text(fill(template, values))
    videos = [part for part in sample.question if isinstance(part, Video)]
    return Prompt(
        messages=(Message("user", (*videos, text) if media_first else (text, *videos)),),
        options=options,
        order=order,
        answer_form="[[{}]]",
        max_tokens=_MAX_TOKENS[name],
    )
