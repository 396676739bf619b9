"""Record → score. Thinking tasks: the option that the reply names. Mimicking: whether there is a comment.

How good a comment is, no program can say: people or a judge model do (`vivant mimic pack`). The score here
says only that the model wrote one, and keeps it as it will be shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vivant.benchmarks.base import ScoreSettings
from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.prompts import LABEL
from vivant.core.records import Record, Score, make_score
from vivant.core.types import Sample
from vivant.metrics.choice import score_choice
from vivant.metrics.text import strip_thinking

_LABEL = re.compile(rf"(?:^|\n)[ \t*_]*{LABEL}[ \t*_]*", re.IGNORECASE)
_QUOTES = {'"': '"', "“": "”", "'": "'", "‘": "’", "«": "»", "„": "“", "「": "」", "`": "`"}


def score_records(items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
    """One score per record, in order. The paper does not say how it reads replies: both protocols agree."""
    mimicking = names.format_task(names.MIMICKING)
    return [
        score_comment(record, settings.style) if sample.task == mimicking else score_choice(sample, record)
        for sample, record in items
    ]


def score_comment(record: Record, style: str) -> Score:
    """`scored` where a comment can be read; its text is the answer."""
    text, rule = read_comment(record.reply.text, style)
    if not text:
        return make_score(record, rule=rule, status="unparsed")
    return make_score(record, 1.0, text, rule)


def read_comment(reply: str, style: str = "zero-shot") -> tuple[str, str]:
    """The comment in a reply, and how it was found; an empty one where there is none.

    In the style `cot` it follows the last `Comment:` that begins a line. Elsewhere it is the whole reply,
    without thinking, without that label at its head and without quotation marks around all of it.
    """
    answer = strip_thinking(reply)
    if answer is None:
        return "", "thinking"
    if style == "cot":
        marks = list(_LABEL.finditer(answer))
        if not marks:
            return "", "no label"
        text, rule = answer[marks[-1].end() :], "label"
    else:
        mark = _LABEL.match(answer)
        text, rule = (answer[mark.end() :], "label") if mark else (answer, "whole")
    text = text.strip()
    closing = _QUOTES.get(text[:1])
    if closing and len(text) > 2 and text.endswith(closing) and closing not in text[1:-1]:
        text = text[1:-1].strip()
    return text, rule if text else "empty"
