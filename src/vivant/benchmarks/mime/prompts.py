"""How a sample is put to a model, in wording of our own that a user may replace name by name."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vivant.benchmarks.base import Prompt, PromptContext
from vivant.benchmarks.mime.names import VARIANTS
from vivant.benchmarks.multiple_choice import option_name
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.types import Message, Option, Sample, Text

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


def build_prompt(sample: Sample, context: PromptContext) -> Prompt:
    """Phrase a sample in the context's style."""
    if context.style not in STYLES:
        raise unknown_name_error("style of mime", context.style, STYLES)
    name = f"{sample.task.rpartition('/')[2]}.{context.style}"
    order = context.order(sample)
    options = label_options(sample, order)
    messages: list[Message] = []
    if context.style == "few-shot":
        unpermuted = msgspec.structs.replace(context, permutation=0)
        for example in choose_demonstrations(sample, context.pool):
            # Demonstrations keep their own order: only the question itself is permuted.
            example_order = unpermuted.order(example)
            choices = label_options(example, example_order)
            answer = (
                choices[example_order.index(example.key)].name
                if example.key is not None
                else example.answers[0]
            )
            messages.append(_build_message(example, choices, name, context.wording))
            messages.append(Message("assistant", (Text(answer),)))
    messages.append(_build_message(sample, options, name, context.wording))
    labels = {label: None for other in context.pool for label in other.answers} if not options else {}
    return Prompt(
        messages=tuple(messages),
        options=options,
        order=order,
        candidates=tuple(sorted(labels)),
        max_tokens=_MAX_TOKENS_COT if context.style == "cot" else _MAX_TOKENS,
    )


def label_options(sample: Sample, order: tuple[int, ...]) -> tuple[Option, ...]:
    """The options in an order, lettered by their places."""
    return tuple(Option(option_name(i), sample.options[index].text) for i, index in enumerate(order))


def is_demonstration(sample: Sample) -> bool:
    """Whether few-shot prompts show this sample's action."""
    facets = sample.facets
    return facets.get("action") in DEMONSTRATIONS or facets.get("split") == DEMONSTRATION_SPLIT


def choose_demonstrations(sample: Sample, pool: tuple[Sample, ...]) -> list[Sample]:
    """Up to three examples, one an action, each in the sample's own variant where the pool has it."""
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
    return [_choose_variant(sample, by_action[action]) for action in actions[: len(DEMONSTRATIONS)]]


def _choose_variant(sample: Sample, variants: Mapping[str, Sample]) -> Sample:
    default = next((name for name in VARIANTS if name in variants), next(iter(variants)))
    return variants.get(sample.facets["variant"], variants[default])


def _build_message(
    sample: Sample, options: tuple[Option, ...], name: str, wording: Mapping[str, str]
) -> Message:
    for key in wording:
        if key.partition(".")[0] in ("mcq", "ff") and key not in WORDING:
            raise unknown_name_error("prompt of mime", key, WORDING)
    template = wording.get(name, WORDING[name])
    if options and "{options}" not in template:
        raise UsageError(f"The prompt '{name}' must hold {{options}}, where the choices are to stand")
    choices = "\n".join(f"{option.name}. {option.text}" for option in options)
    return Message("user", (*sample.question, Text(template.replace("{options}", choices))))
