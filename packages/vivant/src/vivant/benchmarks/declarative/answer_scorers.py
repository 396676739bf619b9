"""Scorers of free answers by name: the package's own, and those that installed packages bring.

A plug-in is a function of a reply and the accepted answers that returns a number from 0 to 1. It is tried when the
description is read, before anything is sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from vivant.core.errors import unknown_name_error
from vivant.hooks import SCORERS, describe_error, hook_error, list_hooks, load_hook
from vivant.metrics import answers
from vivant.metrics.rouge import rouge_l
from vivant.metrics.text import find_last_line

AnswerScorer = Callable[[str, Sequence[str]], float]
"""(reply, accepted answers) → a number from 0 to 1."""
BUILTIN: Mapping[str, Callable[[str, Sequence[str], Mapping[str, Any]], float]] = {
    "exact": lambda reply, accepted, _: answers.match_exact(reply, accepted),
    "normalised": lambda reply, accepted, _: answers.match_normalised(reply, accepted),
    "number": lambda reply, accepted, values: answers.match_number(reply, accepted, values["tolerance"]),
    "anls": lambda reply, accepted, values: answers.measure_anls(reply, accepted, values["threshold"]),
    "vqa": lambda reply, accepted, _: answers.measure_vqa(reply, accepted),
    "relaxed": lambda reply, accepted, values: answers.measure_relaxed(reply, accepted, values["tolerance"]),
    "rouge-l": lambda reply, accepted, _: max(rouge_l(reply, answer).f for answer in accepted),
}
"""Functions of reply, accepted answers and scoring settings."""
ELSEWHERE = ("choice", "similarity", "judge")
"""Scorers that look at more than one reply and its accepted answers."""
_METRICS = {"anls": "anls", "vqa": "vqa", "rouge-l": "rouge-l", "judge": "judge"}


def check_scorer(name: str) -> None:
    """Raise UsageError where no scorer has this name, or where a plug-in does not work."""
    if name not in BUILTIN and name not in ELSEWHERE:
        load_plugin(name)


def name_metric(scorer: str) -> str:
    """What `Score.value` is called in tables."""
    known = scorer in BUILTIN or scorer in ELSEWHERE
    return _METRICS.get(scorer, "accuracy" if known else scorer)


def measure_answer(name: str, reply: str, accepted: Sequence[str], settings: Mapping[str, Any]) -> float:
    """How good a reply is, from 0 to 1. A built-in scorer sees the reply and its last line; the better one counts."""
    text = reply.strip()
    if name not in BUILTIN:
        return load_plugin(name)(text, accepted)
    return max(BUILTIN[name](part, accepted, settings) for part in (text, find_last_line(text)))


@cache
def load_plugin(name: str) -> AnswerScorer:
    """The scorer of an installed package, tried once. Its mistakes are errors of one line that name it."""
    points = list_hooks(SCORERS)
    if name not in points:
        hint = f"(a scorer of your own: an entry point of the group {SCORERS})"
        raise unknown_name_error("scorer", name, (*ELSEWHERE, *BUILTIN, *points), hint)
    function = load_hook(SCORERS, name)

    def score(reply: str, accepted: Sequence[str]) -> float:
        try:
            value = function(reply, accepted)
        except Exception as error:
            problem = f"failed on the reply {reply[:60]!r}: {describe_error(error)}"
            raise hook_error(SCORERS, name, problem) from error
        if not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
            problem = f"returned {value!r} for the reply {reply[:60]!r}; return a number from 0 to 1"
            raise hook_error(SCORERS, name, problem)
        return float(value)

    score("made up", ("made up",))
    return score
