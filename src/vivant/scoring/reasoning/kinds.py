"""The labels: what a segment may rest on, and the kinds of wrong answers, with the papers' own counts."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from vivant.benchmarks.mime import failures
from vivant.errors import unknown

RESTS_ON: Mapping[str, str] = {
    "text": "on the words of the question or of the options: repeating them, comparing options, excluding some "
    "for how they are phrased",
    "seen": "on something that the pictures or the video show, or that the model says they show",
    "knowledge": "on knowledge of the world that neither the text nor the pictures give",
    "nothing": "on none of these: announcements, repetitions, politeness, guesses without a reason",
}
"""What a segment rests on, in the order in which tables show it."""


class Scheme(Struct, frozen=True, kw_only=True):
    """A way of sorting answers into kinds."""

    name: str
    kinds: Mapping[str, str]
    """Each kind with what belongs to it."""
    unparsed: str = ""
    """The kind of a reply in which no answer could be read, where that needs no judge."""
    right_too: bool = False
    """Whether right answers are sorted as well."""
    published: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The paper's own counts by column, then by kind."""
    source: str = ""


GENERAL = Scheme(
    name="general",
    kinds={
        "perception": "the model misses or misreads what is shown, and the wrong answer follows from that",
        "reasoning": "what is shown is described rightly, but the conclusion drawn from it is wrong",
        "knowledge": "a fact of the world that the answer needs is missing or wrong",
        "hallucination": "the answer rests on things that neither the pictures nor the text hold",
        "format": "the answer is not given in the form asked for, or names another option than the one argued for",
        "other": "none of these, or it cannot be told from the reply",
    },
    unparsed="format",
)

MMRV = Scheme(
    name="mmrv",
    kinds={
        "visual reasoning": "the moments of the video that hold the evidence are not found, or not put together",
        "implicit": "what is seen is described, but what it stands for (symbol, mood, intent) is missed",
        "knowledge": "knowledge of a culture, a work or the world that the answer needs is missing",
        "reasoning": "the evidence is there, but a step of the argument is wrong",
        "hallucination": "the answer rests on things that the video and the text do not hold",
        "format": "no answer in the form asked for, or none at all",
    },
    unparsed="format",
    published={
        "GPT-4o": {
            "visual reasoning": 47,
            "implicit": 26,
            "knowledge": 13,
            "reasoning": 13,
            "hallucination": 6,
            "format": 2,
        }
    },
    source="MMR-V paper, figure of errors, 100 answers (its labels add up to 107)",
)

_MODES = {
    "completely incorrect description of action": "the movement itself is described wrongly",
    "partially correct description of action": "some of the movement is described rightly, some of it is not",
    "correct description of action but incorrect interpretation": "the movement is described rightly and taken for "
    "another action",
    "confused by context": "the surroundings, not the movement, lead to the wrong action",
    "none": "the answer is right, and rests on the movement",
    "none, helped by context": "the answer is right, and rests on the surroundings",
    "valid alternative description of action": "the answer differs from the accepted ones and fits all the same",
}
MIME = Scheme(
    name="mime",
    kinds=_MODES,
    right_too=True,
    published={
        f"{failures.PUBLISHED_BY[0]} {variant}": {
            mode: counts[place] for mode, counts in failures.PUBLISHED.items()
        }
        for place, variant in enumerate(failures.PUBLISHED_VARIANTS)
    },
    source=f"{failures.PUBLISHED_SOURCE}, {failures.PUBLISHED_TOTAL} answers each",
)

SCHEMES = {scheme.name: scheme for scheme in (GENERAL, MMRV, MIME)}
_BY_TASK = {"mmrv/mcq": MMRV, "mime/ff": MIME}


def scheme_for(task: str, name: str = "") -> Scheme:
    """The scheme called `name`; without one, the one that the task's paper uses."""
    if not name:
        return _BY_TASK.get(task, GENERAL)
    if name not in SCHEMES:
        raise unknown("kinds", name, SCHEMES)
    return SCHEMES[name]
