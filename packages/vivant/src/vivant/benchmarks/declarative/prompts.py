"""Prompts of described benchmarks: a template per style, with pictures in their places."""

from __future__ import annotations

from msgspec import structs

from vivant.benchmarks.base import Prompt, PromptContext
from vivant.benchmarks.declarative.media_files import media_root
from vivant.benchmarks.declarative.spec import PLACEHOLDERS, BenchmarkSpec, StyleSpec
from vivant.benchmarks.declarative.splicing import splice_images
from vivant.benchmarks.jsonl import FREE_INSTRUCTIONS, AcceptedAnswers
from vivant.benchmarks.multiple_choice import MultipleChoice, make_options
from vivant.benchmarks.subtitles import find_cues, show_subtitles
from vivant.benchmarks.wording import PromptText, fill
from vivant.core.types import Message, Part, Sample, Text, Video, join_texts
from vivant.media.shown_cues import HEADING

TEXT = PromptText(placeholders=PLACEHOLDERS, needs=(("question",),))
_QUESTION = "{question}"


def make_prompt(
    spec: BenchmarkSpec, sample: Sample, context: PromptContext, accepted: AcceptedAnswers
) -> Prompt:
    """Media first, then the template of the style with question, options and subtitles filled in."""
    style = spec.style_specs.get(context.style) or StyleSpec()
    fixed = spec.options_in_question or not sample.options
    order = tuple(range(len(sample.options))) if fixed else context.order(sample, shuffled=spec.shuffle)
    options = make_options([sample.options[index].text for index in order])
    question = _add_cues(sample, style, context)
    listed = style.subtitles and question == sample.question
    template = context.wording.get(f"prompt.{context.style}") or _choose_template(
        style, sample, context.style, listed=bool(listed)
    )
    before, _, after = template.partition(_QUESTION)
    values: dict[str, str] = {}
    if "{subtitles}" in template:
        values["subtitles"] = show_subtitles(sample, media_root(context.root))
    if not spec.options_in_question:
        lines = (spec.option_form.replace("{letter}", o.name).replace("{text}", o.text) for o in options)
        values["options"] = "\n".join(lines)
    else:
        values["options"] = ""
    first = next((i for i, part in enumerate(question) if isinstance(part, Text)), len(question))
    marks: dict[str, str] = sample.extra.get("marks", {})
    parts: tuple[Part, ...] = (
        *question[:first],
        Text(fill(before, values)),
        *question[first:],
        *splice_images(_tidy(fill(after, values)), marks),
    )
    return Prompt(
        messages=(Message("user", join_texts(parts)),),
        options=options,
        order=order,
        candidates=() if options else accepted.gather(context.pool),
        max_tokens=style.max_tokens or (1024 if context.style == "cot" else 128),
    )


def _add_cues(sample: Sample, style: StyleSpec, context: PromptContext) -> tuple[Part, ...]:
    """The question; where the style shows subtitles at the frames, its video bears them."""
    cues = find_cues(sample, media_root(context.root)) if isinstance(style.subtitles, str) else ()
    if not cues:
        return sample.question
    return tuple(
        structs.replace(part, cues=cues, cues_between=style.subtitles == "between")
        if isinstance(part, Video)
        else part
        for part in sample.question
    )


def _choose_template(style: StyleSpec, sample: Sample, name: str, *, listed: bool) -> str:
    if style.template:
        return style.template
    kind = "cot" if name == "cot" else "zero-shot"
    if sample.options:
        instruction = MultipleChoice.instructions[kind] if style.instruction is None else style.instruction
    else:
        instruction = FREE_INSTRUCTIONS[kind] if style.free is None else style.free
    head = f"{HEADING}\n{{subtitles}}\n\n" if listed else ""
    return f"{head}{_QUESTION}\n{{options}}\n{instruction}"


def _tidy(text: str) -> str:
    """Without the empty line that absent options leave."""
    return text.replace("\n\n", "\n").rstrip()
