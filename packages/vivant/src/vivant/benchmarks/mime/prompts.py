"""How a sample is put to a model, in wording of our own that a user may replace name by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import Prompt, PromptContext
from vivant.benchmarks.mime.names import VARIANTS
from vivant.benchmarks.multiple_choice import option_name
from vivant.benchmarks.wording import PromptText, fill
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.types import Message, Option, Part, Sample, Text

STYLES = ("zero-shot", "cot", "few-shot")
DEMONSTRATIONS = ("Soccer003", "Fishing001", "Violin002")
"""The actions that few-shot prompts show; their variants are no part of the test set then."""
DEMONSTRATION_SPLIT = "demo"
"""An edition with other actions marks its demonstrations so, in the column `split`."""

_MCQ = "Watch the video. Which of these actions is the person acting out?\n\n{options}\n\n"
_FF = "Watch the video. Which action is the person acting out? "
WORDING: Mapping[str, str] = {
    "mcq.zero-shot": _MCQ + "Reply with the letter of your choice and nothing else.",
    "mcq.cot": _MCQ + "First describe what the body does, step by step, and weigh the choices against it. "
    "Then write the letter of your choice alone on the last line.",
    "mcq.few-shot": _MCQ + "Reply with the letter of your choice and nothing else.",
    "ff.zero-shot": _FF + "Reply with a short phrase of one to five words and nothing else.",
    "ff.cot": _FF + "First describe what the body does, step by step, and what that could stand for. Then "
    "write a short phrase of one to five words that names the action, alone on the last "
    "line.",
    "ff.few-shot": _FF + "Reply with a short phrase of one to five words and nothing else.",
}
"""Prompts by name. `{options}` becomes the lettered choices, one a line."""
_MAX_TOKENS = 200
_MAX_TOKENS_COT = 1000
"""The original's limits lie between these."""
DEMONSTRATION_WORDING: Mapping[str, str] = {
    "few-shot.system": "You will see videos of people who act something out, each with what they act out. "
    "Then you will see one more video and say what is acted out in it.",
    "mcq.few-shot.demo": _MCQ + "The right choice: {answer}\n",
    "ff.few-shot.demo": _FF + "The right answer: {answer}\n",
}
"""Texts of demonstrations as the original places them (`--task-option demonstrations`)."""
_LETTERS = tuple(f"option_{letter}" for letter in "abcd")
_CHOICES = PromptText(placeholders=("options", *_LETTERS), needs=(("options",), _LETTERS))
PROMPT_TEXTS: Mapping[str, PromptText] = {
    **{name: _CHOICES if name.startswith("mcq.") else PromptText() for name in WORDING},
    "few-shot.system": PromptText(),
    "mcq.few-shot.demo": msgspec.structs.replace(_CHOICES, placeholders=("answer", *_CHOICES.placeholders)),
    "ff.few-shot.demo": PromptText(placeholders=("answer",)),
}
"""Instead of `{options}`, a prompt may name `{option_a}` to `{option_d}`."""
ORDERS = ("media-first", "text-first")
DEMONSTRATION_FORMS = ("variant", "turns", "inline")


class MimePhrasing(Struct, frozen=True):
    """How a question is put, besides its words."""

    order: str = ORDERS[0]
    """What the model meets first, the video or the text."""
    demonstrations: str = DEMONSTRATION_FORMS[0]
    """`variant`: three videos in the question's own variant, each with its answer as the model's own turn.
    `turns`: the same three videos for every question, after a system message; so the original asks GPT-4o-mini.
    `inline`: the same three videos in one message, with the answers written in the prompt; so it asks Gemini."""


def build_prompt(sample: Sample, context: PromptContext, phrasing: MimePhrasing = MimePhrasing()) -> Prompt:  # noqa: B008 (frozen)
    """Phrase a sample in the context's style."""
    if context.style not in STYLES:
        raise unknown_name_error("style of mime", context.style, STYLES)
    name = f"{sample.task.rpartition('/')[2]}.{context.style}"
    order = context.order(sample)
    options = label_options(sample, order)
    text = _phrase(name, options, context)
    question = _arrange(sample, text, phrasing.order)
    messages: tuple[Message, ...] = (Message("user", question),)
    if context.style == "few-shot":
        messages = _demonstrate(sample, question, name, context, phrasing)
    labels = {label: None for other in context.pool for label in other.answers} if not options else {}
    return Prompt(
        messages=messages,
        options=options,
        order=order,
        candidates=tuple(sorted(labels)),
        max_tokens=_MAX_TOKENS_COT if context.style == "cot" else _MAX_TOKENS,
    )


def _demonstrate(
    sample: Sample, question: tuple[Part, ...], name: str, context: PromptContext, phrasing: MimePhrasing
) -> tuple[Message, ...]:
    """The question after its demonstrations."""
    form = phrasing.demonstrations
    fixed = form != "variant"
    # Demonstrations keep their own order of options: only the question itself is permuted.
    unpermuted = msgspec.structs.replace(context, permutation=0)
    messages: list[Message] = []
    inline: list[Part] = []
    for example in choose_demonstrations(sample, context.pool, fixed=fixed):
        order = unpermuted.order(example)
        options = label_options(example, order)
        answer = options[order.index(example.key)].name if example.key is not None else example.answers[0]
        if form == "inline":
            inline += (*example.question, _phrase(f"{name}.demo", options, context, answer=answer))
            continue
        # The original's demonstrations have words of their own; without them the question's serve.
        demo = f"{name}.demo" if fixed and f"{name}.demo" in context.wording else name
        parts = _arrange(example, _phrase(demo, options, context), phrasing.order)
        messages += (Message("user", parts), Message("assistant", (Text(answer),)))
    if form == "inline":
        return (Message("user", (*inline, *question)),)
    if fixed:
        messages.insert(0, Message("system", (_phrase("few-shot.system", (), context),)))
    return (*messages, Message("user", question))


def _arrange(sample: Sample, text: Text, order: str) -> tuple[Part, ...]:
    return (text, *sample.question) if order == "text-first" else (*sample.question, text)


def _phrase(name: str, options: tuple[Option, ...], context: PromptContext, **values: str) -> Text:
    """One of the texts, a user's own or ours, with the options in place."""
    template = context.wording.get(name) or {**WORDING, **DEMONSTRATION_WORDING}[name]
    PROMPT_TEXTS[name].check(name, template)
    choices = "\n".join(f"{option.name}. {option.text}" for option in options)
    named = {f"option_{option.name.lower()}": option.text for option in options}
    return Text(fill(template, {"options": choices, **named, **values}))


def label_options(sample: Sample, order: tuple[int, ...]) -> tuple[Option, ...]:
    """The options in an order, lettered by their places."""
    return tuple(Option(option_name(i), sample.options[index].text) for i, index in enumerate(order))


def is_demonstration(sample: Sample) -> bool:
    """Whether few-shot prompts show this sample's action."""
    facets = sample.facets
    return facets.get("action") in DEMONSTRATIONS or facets.get("split") == DEMONSTRATION_SPLIT


def choose_demonstrations(sample: Sample, pool: Sequence[Sample], *, fixed: bool = False) -> list[Sample]:
    """Up to three examples, one an action, each in the sample's own variant where the pool has it.

    With `fixed`, each is the first of its action in the data, whatever the sample: as the original does.
    """
    by_action: dict[str, dict[str, Sample]] = {}
    for other in pool:
        if is_demonstration(other):
            by_action.setdefault(other.facets["action"], {}).setdefault(other.facets["variant"], other)
    if not by_action:
        raise UsageError(
            f"few-shot prompts show the actions {', '.join(DEMONSTRATIONS)}, and the data hold "
            f"none of them; mark others with '{DEMONSTRATION_SPLIT}' in the column split"
        )
    actions = [action for action in DEMONSTRATIONS if action in by_action] or list(by_action)
    chosen = [by_action[action] for action in actions[: len(DEMONSTRATIONS)]]
    if fixed:
        return [next(iter(variants.values())) for variants in chosen]
    return [_choose_variant(sample, variants) for variants in chosen]


def _choose_variant(sample: Sample, variants: Mapping[str, Sample]) -> Sample:
    default = next((name for name in VARIANTS if name in variants), next(iter(variants)))
    return variants.get(sample.facets["variant"], variants[default])
