"""What an answer is judged by: a rubric per category. The criteria are the benchmark's, the words our own."""

from __future__ import annotations

from vivant.benchmarks.rubric import JudgeCriterion, Rubric
from vivant.benchmarks.verdict import Contract, Field

_CONTRACT = Contract(fields=(Field(name="Score", low=0, high=6),))

_TEXT = JudgeCriterion("Text", "it is fluent, correct and says what the question calls for.")
_PICTURES = JudgeCriterion("Pictures", "they are there where needed, clear, and free of flaws that mislead.")
_COHERENCE = JudgeCriterion("Text and pictures", "each picture shows what the text around it says, in order.")
_STYLE = JudgeCriterion(
    "One style",
    "all pictures, those of the question included, look as if one hand had made them. Be strict here.",
)
_EMOTION = JudgeCriterion(
    "Feeling",
    "earns nothing, but an answer that leaves its reader cold, or moves the wrong way, loses one point.",
)
_SIX_AND_ONE = (
    "Give one point for each of the first six criteria that the answer meets and none for one that it does "
    "not meet; take one off for the last where it says so. The score is the sum, from 0 to 6."
)

STORY = Rubric(
    name="mmie-sa",
    role=(
        "You judge how a model went on with a story in text and pictures. You see the beginning that it was "
        "given, and its answer."
    ),
    criteria=(
        _TEXT,
        _PICTURES,
        _COHERENCE,
        JudgeCriterion(
            "Context", "persons, place, time and events of the beginning go on without contradiction."
        ),
        JudgeCriterion(
            "Invention", "the story goes somewhere of its own instead of repeating what was given."
        ),
        _STYLE,
        _EMOTION,
    ),
    scale=_SIX_AND_ONE,
    contract=_CONTRACT,
)
PROJECT = Rubric(
    name="mmie-pbl",
    role=(
        "You judge how a model explained to someone, in text and pictures, how to do a thing. You see the "
        "question and its answer."
    ),
    criteria=(
        _TEXT,
        _PICTURES,
        _COHERENCE,
        JudgeCriterion(
            "Method", "the steps are right, complete and in order; someone who follows them gets there."
        ),
        JudgeCriterion("Interest", "it is told with ideas that make one want to try."),
        _STYLE,
        _EMOTION,
    ),
    scale=_SIX_AND_ONE,
    contract=_CONTRACT,
)
REASONING = Rubric(
    name="mmie-msr",
    role=(
        "You judge how a model solved a problem posed in text and pictures. You see the question, its "
        "answer, and a reference that holds the right result; other ways to that result are as good."
    ),
    criteria=(
        JudgeCriterion("The question's text", "is understood."),
        JudgeCriterion("The question's pictures", "are read rightly."),
        JudgeCriterion("Reasoning", "the steps are clear and follow from each other."),
        JudgeCriterion("Parts", "at least part of the way or of the result is right."),
        JudgeCriterion("Result", "the final answer agrees with the reference."),
        JudgeCriterion("Excellence", "nothing is wrong, missing or beside the point."),
    ),
    scale="Give one point for each criterion that the answer meets. The score is the sum, from 0 to 6.",
    contract=_CONTRACT,
)
BY_TASK = {"sa": STORY, "pbl": PROJECT, "msr": REASONING}
