"""The labels: what a segment may rest on, and the kinds of wrong answers; benchmarks bring their own kinds."""

from __future__ import annotations

from collections.abc import Mapping

from vivant.benchmarks import registry
from vivant.benchmarks.label_scheme import Scheme
from vivant.core.errors import unknown_name_error

RESTS_ON: Mapping[str, str] = {
    "text": "on the words of the question or of the options: repeating them, comparing options, excluding some "
    "for how they are phrased",
    "seen": "on something that the pictures or the video show, or that the model says they show",
    "knowledge": "on knowledge of the world that neither the text nor the pictures give",
    "nothing": "on none of these: announcements, repetitions, politeness, guesses without a reason",
}
"""What a segment rests on, in the order in which tables show it."""


GENERAL = Scheme(
    name="general",
    kinds={
        "perception": "the model misses or misreads what is shown, and the wrong answer follows from that",
        "reasoning": "what is shown is described rightly, but the conclusion drawn from it is wrong",
        "knowledge": "a fact of the world that the answer needs is missing or wrong",
        "hallucination": "the answer rests on things that neither the pictures nor the text hold",
        "format": "the answer is not given in the form asked for, or names another option than the one "
        "argued for",
        "other": "none of these, or it cannot be told from the reply",
    },
    unparsed="format",
)


def find_scheme(task: str, name: str = "") -> Scheme:
    """The scheme called `name` (`general`, or a benchmark's); without one, that of the task's own benchmark."""
    if name == GENERAL.name:
        return GENERAL
    if not name:
        return registry.get_by_task(task).answer_kinds.get(task.rpartition("/")[2], GENERAL)
    return _find_named(name)


def _find_named(name: str) -> Scheme:
    """A benchmark's scheme, by the benchmark's name."""
    names = registry.list_benchmarks()
    if name in names:
        scheme = next(iter(registry.get(name).answer_kinds.values()), None)
        if scheme is not None:
            return scheme
    raise unknown_name_error(
        "kinds", name, [GENERAL.name, *names], "(a benchmark that sorts wrong answers, or general)"
    )
