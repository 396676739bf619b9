"""What the judge is shown: as published, cuts included, or all there is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.benchmarks.base import Protocol
from vivant.benchmarks.mmie import paper
from vivant.benchmarks.mmie.data import answer_of, raw
from vivant.benchmarks.mmie.items import RawPart
from vivant.benchmarks.mmie.rubrics import BY_TASK
from vivant.benchmarks.rubric import JudgeContext, Question, Rubric
from vivant.benchmarks.verdict import Verdict
from vivant.core.errors import MediaError
from vivant.core.fenced_text import FencedBlock
from vivant.core.file_types import parse_image_header
from vivant.core.generated_images import PREFIX
from vivant.core.types import Image, Part, Record, Sample, Score, Text
from vivant.media.paths import resolve_media

MAX_TOKENS = 1024


def ask(sample: Sample, record: Record, context: JudgeContext) -> Question | Score:
    """The question for one answer; a Score where the protocol leaves it out or there is no rubric for it."""
    short = sample.task.rsplit("/", 1)[-1]
    if short not in BY_TASK:
        return _excluded(record, "the category is none of SA, PBL and MSR, so there is no rubric for it")
    if context.protocol == "paper":
        return _as_published(sample, record, context, BY_TASK[short])
    return _in_full(sample, record, context, BY_TASK[short])


def _excluded(record: Record, rule: str) -> Score:
    return Score(key=record.key, task=record.task, id=record.id, status="excluded", rule=rule)


def find_picture(path: str, context: JudgeContext) -> str | None:
    """The file of a picture in the data or in the run; None where there is none inside these folders."""
    try:
        if path.startswith(PREFIX):
            return resolve_media(context.run, path.removeprefix(PREFIX))
        return resolve_media(context.root, path)
    except MediaError:
        return None


def _as_published(sample: Sample, record: Record, context: JudgeContext, rubric: Rubric) -> Question | Score:
    answer = answer_of(record)
    shown = paper.show(raw(sample.question), answer, lambda path: find_picture(path, context) is not None)
    if shown.left_out:
        return _excluded(record, f"{len(shown.images)} pictures; the published protocol takes at most 4")
    materials = [FencedBlock("question", shown.question), FencedBlock("answer", shown.answer)]
    if rubric is BY_TASK["msr"]:
        materials.append(FencedBlock("reference", (Text(str(sample.extra.get("gt", ""))),)))
    notes = [f"missing: {path}" for path in shown.missing]
    if shown.cut:
        notes.append(f"{shown.cut} of {len(answer)} parts of the answer cut by the published protocol")
    return Question(rubric=rubric, materials=tuple(materials), max_tokens=MAX_TOKENS, notes=tuple(notes))


class _Full:
    """Numbers all pictures through the materials; says in place of one why it cannot be shown."""

    def __init__(self, context: JudgeContext) -> None:
        self._context = context
        self._number = 0
        self._shown = 0
        self.lost = 0
        self.notes: list[str] = []

    def material(self, name: str, parts: Sequence[RawPart]) -> FencedBlock:
        out: list[Part] = []
        for part in parts:
            if part.text is not None:
                out.append(Text(part.text + "\n"))
            if part.image is not None:
                out += self._image(part.image)
        return FencedBlock(name, tuple(out))

    def _image(self, path: str) -> list[Part]:
        label = f"Image-{self._number}: "
        self._number += 1
        file = find_picture(path, self._context)
        if file is None:
            return self._absent(label, "missing", path)
        if parse_image_header(Path(file).read_bytes()) is None:
            return self._absent(label, "no picture that can be read", path)
        most = self._context.max_images
        if most is not None and self._shown >= most:
            self.lost += 1
            return self._absent(label, f"not shown, the judge takes {most}", path)
        self._shown += 1
        return [Text(label), Image(path), Text("\n")]

    def _absent(self, label: str, why: str, path: str) -> list[Part]:
        self.notes.append(f"{why}: {path}")
        return [Text(f"{label}({why})\n")]


def _in_full(sample: Sample, record: Record, context: JudgeContext, rubric: Rubric) -> Question:
    full = _Full(context)
    materials = [full.material("question", raw(sample.question)), full.material("answer", answer_of(record))]
    if rubric is BY_TASK["msr"]:
        materials.append(full.material("reference", raw(sample.reference)))
    return Question(
        rubric=rubric,
        materials=tuple(materials),
        max_tokens=MAX_TOKENS,
        lost_images=full.lost,
        notes=tuple(full.notes),
    )


def read(text: str, rubric: Rubric, protocol: Protocol) -> Verdict:
    """`paper`: the first number after the first heading, rounded; `strict`: what the contract allows."""
    if protocol == "strict":
        return rubric.contract.read(text)
    score = paper.find_score(text)
    if score is None:
        return Verdict(why="there is no number after '### Score'")
    if not paper.kept(score):
        return Verdict(why=f"the score {score} is off the scale from {paper.LOW} to {paper.HIGH}")
    return Verdict({"Score": float(score)})
