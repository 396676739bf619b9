"""Judged tasks of a description: the rubric in the file becomes the question to the judge."""

from __future__ import annotations

from collections.abc import Mapping

from vivant.benchmarks.base import Protocol
from vivant.benchmarks.declarative.spec import SpecFile
from vivant.benchmarks.parts import JudgedTasks
from vivant.benchmarks.rubric import JudgeContext, JudgeCriterion, JudgeQuestion, Rubric
from vivant.benchmarks.verdict import Contract, Field
from vivant.core.fenced_text import FencedBlock
from vivant.core.records import Record, Score
from vivant.core.types import Sample, Text


class DescribedJudge(JudgedTasks):
    """Question, reference and answer, judged by the rubric of the task."""

    def __init__(self, file: SpecFile) -> None:
        self._rubrics: Mapping[str, Rubric] = {
            task: _make_rubric(file.whole.name, task, file)
            for task, spec in file.tasks.items()
            if spec.scoring.name == "judge"
        }

    def rubrics(self, protocol: Protocol) -> tuple[Rubric, ...]:  # noqa: ARG002
        return tuple(self._rubrics.values())

    def ask(self, sample: Sample, record: Record, context: JudgeContext) -> JudgeQuestion | Score:  # noqa: ARG002
        rubric = self._rubrics[sample.task.rpartition("/")[2]]
        question = tuple(part for part in sample.question if isinstance(part, Text))
        reference = "\n".join(sample.answers) or "(there is none)"
        blocks = (
            FencedBlock("question", question),
            FencedBlock("reference", (Text(reference),)),
            FencedBlock("answer", (Text(record.reply.text),)),
        )
        return JudgeQuestion(rubric=rubric, materials=blocks)


def _make_rubric(benchmark: str, task: str, file: SpecFile) -> Rubric:
    judge = file.tasks[task].scoring.rubric
    if judge is None:
        raise AssertionError("a judge without a rubric is refused when the file is read")
    scale = judge.scale or f"Give a whole number from {judge.low} (wrong) to {judge.high} (right)."
    return Rubric(
        name=f"{benchmark}-{task}",
        role=judge.role,
        criteria=tuple(JudgeCriterion(name, text) for name, text in judge.criteria.items()),
        scale=scale,
        contract=Contract(fields=(Field(name="Score", low=judge.low, high=judge.high),)),
        materials=("question", "reference", "answer"),
    )
