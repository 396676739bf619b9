"""What the judge is shown: as published, cuts included, or all there is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.benchmarks.base import Protocol
from vivant.benchmarks.mmie import paper
from vivant.benchmarks.mmie.data import get_answer_parts, group_parts
from vivant.benchmarks.mmie.items import RawPart
from vivant.benchmarks.mmie.rubrics import BY_TASK
from vivant.benchmarks.rubric import JudgeContext, JudgeQuestion, Rubric
from vivant.benchmarks.verdict import Verdict
from vivant.core.errors import MediaError
from vivant.core.fenced_text import FencedBlock
from vivant.core.file_types import parse_image_header
from vivant.core.generated_images import PREFIX
from vivant.core.records import Record, Score, make_score
from vivant.core.types import Image, Part, Sample, Text
from vivant.media.paths import resolve_media

MAX_TOKENS = 1024


def build_judge_question(sample: Sample, record: Record, context: JudgeContext) -> JudgeQuestion | Score:
    """The question for one answer; a Score where the protocol leaves it out or there is no rubric for it."""
    short = sample.task.rsplit("/", 1)[-1]
    if short not in BY_TASK:
        return _exclude(record, "the category is none of SA, PBL and MSR, so there is no rubric for it")
    if context.protocol == "paper":
        return _build_paper_question(sample, record, context, BY_TASK[short])
    return _build_full_question(sample, record, context, BY_TASK[short])


def _exclude(record: Record, rule: str) -> Score:
    return make_score(record, rule=rule, status="excluded")


def find_picture(path: str, context: JudgeContext) -> str | None:
    """The file of a picture in the data or in the run; None where there is none inside these folders."""
    try:
        if path.startswith(PREFIX):
            return resolve_media(context.run, path.removeprefix(PREFIX))
        return resolve_media(context.root, path)
    except MediaError:
        return None


def _build_paper_question(
    sample: Sample, record: Record, context: JudgeContext, rubric: Rubric
) -> JudgeQuestion | Score:
    answer = get_answer_parts(record)
    view = paper.build_judge_view(
        group_parts(sample.question), answer, lambda path: find_picture(path, context) is not None
    )
    if view.left_out:
        return _exclude(record, f"{len(view.images)} pictures; the published protocol takes at most 4")
    materials = [FencedBlock("question", view.question), FencedBlock("answer", view.answer)]
    if rubric is BY_TASK["msr"]:
        materials.append(FencedBlock("reference", (Text(str(sample.extra.get("gt", ""))),)))
    notes = [f"missing: {path}" for path in view.missing]
    if view.cut:
        notes.append(f"{view.cut} of {len(answer)} parts of the answer cut by the published protocol")
    return JudgeQuestion(rubric=rubric, materials=tuple(materials), max_tokens=MAX_TOKENS, notes=tuple(notes))


class _FullView:
    """Numbers all pictures through the materials; says in place of one why it cannot be shown."""

    def __init__(self, context: JudgeContext) -> None:
        self._context = context
        self._number = 0
        self._shown = 0
        self.lost = 0
        self.notes: list[str] = []

    def build_material(self, name: str, parts: Sequence[RawPart]) -> FencedBlock:
        out: list[Part] = []
        for part in parts:
            if part.text is not None:
                out.append(Text(part.text + "\n"))
            if part.image is not None:
                out += self._add_image(part.image)
        return FencedBlock(name, tuple(out))

    def _add_image(self, path: str) -> list[Part]:
        label = f"Image-{self._number}: "
        self._number += 1
        file = find_picture(path, self._context)
        if file is None:
            return self._note_absent(label, "missing", path)
        if parse_image_header(Path(file).read_bytes()) is None:
            return self._note_absent(label, "no picture that can be read", path)
        most = self._context.max_images
        if most is not None and self._shown >= most:
            self.lost += 1
            return self._note_absent(label, f"not shown, the judge takes {most}", path)
        self._shown += 1
        return [Text(label), Image(path), Text("\n")]

    def _note_absent(self, label: str, why: str, path: str) -> list[Part]:
        self.notes.append(f"{why}: {path}")
        return [Text(f"{label}({why})\n")]


def _build_full_question(
    sample: Sample, record: Record, context: JudgeContext, rubric: Rubric
) -> JudgeQuestion:
    full = _FullView(context)
    materials = [
        full.build_material("question", group_parts(sample.question)),
        full.build_material("answer", get_answer_parts(record)),
    ]
    if rubric is BY_TASK["msr"]:
        materials.append(full.build_material("reference", group_parts(sample.reference)))
    return JudgeQuestion(
        rubric=rubric,
        materials=tuple(materials),
        max_tokens=MAX_TOKENS,
        lost_images=full.lost,
        notes=tuple(full.notes),
    )


def read_verdict(text: str, rubric: Rubric, protocol: Protocol) -> Verdict:
    """`paper`: the first number after the first heading, rounded; `strict`: what the contract allows."""
    if protocol == "strict":
        return rubric.contract.read(text)
    score = paper.find_score(text)
    if score is None:
        return Verdict(why="there is no number after '### Score'")
    if not paper.is_on_scale(score):
        return Verdict(why=f"the score {score} is off the scale from {paper.LOW} to {paper.HIGH}")
    return Verdict({"Score": float(score)})
