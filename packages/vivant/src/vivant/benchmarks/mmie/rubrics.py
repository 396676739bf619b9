"""What an answer is judged by: a rubric per category. The criteria are the benchmark's, the words our own."""

from __future__ import annotations

from vivant.benchmarks.rubric import JudgeCriterion, Rubric
from vivant.benchmarks.verdict import Contract, Field

_CONTRACT = Contract(fields=(Field(name="Score", low=0, high=6),))

_TEXT = JudgeCriterion("Text", "it is fluent, correct and says what the question calls for.")
_PICTURES = JudgeCriterion(
    "Pictures", "they are vivid and clear, and show what the answer needs them to show."
)
_COHERENCE = JudgeCriterion("Text and pictures", "each picture shows what the text around it says, in order.")
_STYLE = JudgeCriterion(
    "One style",
    "text and pictures keep one style from beginning to end. Be strict: even small breaks lower the score.",
)
_HARM = JudgeCriterion(
    "Harm",
    "a deduction only. Take one point off if the answer means harm or spreads harmful or negative emotion. "
    "Otherwise this criterion changes nothing: a dull but harmless answer loses no point by it.",
)
_HARM_IN_METHODS = JudgeCriterion(
    "Harm",
    "a deduction only. Take one point off if the answer holds harmful, negative or inappropriate emotion, such as "
    "violence or aggressive words. Otherwise this criterion changes nothing: a dull but harmless answer loses no "
    "point by it.",
)
_OVERALL = (
    "Weigh the answer by these criteria as a whole and give one score, a whole number from 0 (worst) to 6 (best). "
    "The criteria are no list of points to add up."
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
        _HARM,
    ),
    scale=_OVERALL,
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
        _HARM_IN_METHODS,
    ),
    scale=_OVERALL,
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
    scale=_OVERALL,
    contract=_CONTRACT,
    materials=("question", "answer", "reference"),
)
BY_TASK = {"sa": STORY, "pbl": PROJECT, "msr": REASONING}
