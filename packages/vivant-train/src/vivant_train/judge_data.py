"""People's scores of answers as questions to learn judging from: `vivant train judge-data`.

Every question is put in the words that `vivant score --judge` uses, by the same code, so that a judge that learns from
them is asked what it has learnt. Its answer is the score that people gave, in the form that the rubric asks for.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import DataError, UsageError
from vivant.core.files import write_atomic
from vivant.core.generated_images import PREFIX
from vivant.core.randomness import derive_generator
from vivant.core.types import Image, Text
from vivant.judging.human_scores import HumanScores, read_human_scores
from vivant.judging.judge_run import JudgeRequest, build_judge_requests
from vivant.judging.options import JudgeOptions
from vivant.media.paths import resolve_media
from vivant.runs.run import Run, choose_common_protocol


class JudgeDataReport(Struct, frozen=True):
    """What was written."""

    file: Path
    train: int
    test: int
    unscored: int
    """Answers that people did not score."""


def write_judge_data(
    runs: Sequence[Run],
    human: Path,
    out: Path,
    *,
    held_out: float = 0.2,
    seed: int = 0,
    protocol: Protocol | None = None,
) -> JudgeDataReport:
    """Write questions in JSON lines, with their pictures beside them.

    The facet `split` is train or test by sample, so that no question is on both sides with answers of two models.

    Args:
        runs: runs whose answers people have scored.
        human: a file of people's scores.
        out: the file to write.
        held_out: the share of samples to test on.
        seed: draws which samples are held out.
        protocol: the protocol to judge by; the runs' own without it.
    """
    scores = read_human_scores(human)
    lines: list[bytes] = []
    counts = {"train": 0, "test": 0}
    unscored = 0
    media = out.with_suffix(".media")
    for run in runs:
        tasks = [task for task in run.manifest.tasks if registry.get_by_task(task).task(task).judged]
        if not tasks:
            raise UsageError(f"{run.name}: nothing in {', '.join(run.manifest.tasks)} is scored by a judge")
        settled = choose_common_protocol([run], protocol)
        for ask in build_judge_requests(run, tasks, settled, JudgeOptions(model="people")):
            score = _find_score(scores, ask, run.manifest.model)
            if score is None:
                unscored += 1
                continue
            part = (
                "test"
                if derive_generator(seed, "judge-data", ask.task, ask.id).random() < held_out
                else "train"
            )
            counts[part] += 1
            lines.append(_format_line(ask, run, score, part, media, out.parent))
    if not lines:
        raise DataError(f"{human} scores none of these answers; its first id is '{scores.example}'")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out, b"".join(lines))
    return JudgeDataReport(out, counts["train"], counts["test"], unscored)


def _find_score(scores: HumanScores, ask: JudgeRequest, model: str) -> float | None:
    score = scores.find(ask.id, model)
    return scores.find(ask.key, model) if score is None else score


def _format_line(ask: JudgeRequest, run: Run, score: float, part: str, media: Path, base: Path) -> bytes:
    question: list[dict[str, str]] = []
    for message in ask.question.messages():
        for piece in message.parts:
            if isinstance(piece, Text):
                question.append({"text": piece.text})
            elif isinstance(piece, Image):
                question.append({"image": str(_copy_media(piece.path, ask, run, media).relative_to(base))})
    contract = ask.question.rubric.contract
    # One rubric has one scale here; people's mean goes to the nearest grade of it.
    values = {field.name: str(min(max(round(score), field.low), field.high)) for field in contract.fields}
    content = {
        "id": f"{run.name}/{ask.key}",
        "question": question,
        "answers": [contract.write(values)],
        "facets": {"split": part, "task": ask.task, "model": run.manifest.model},
        "cluster": f"{ask.task}/{ask.id}",
    }
    return msgspec.json.encode(content) + b"\n"


def _copy_media(path: str, ask: JudgeRequest, run: Run, media: Path) -> Path:
    is_generated = path.startswith(PREFIX)
    file = Path(
        resolve_media(run.dir.path, path.removeprefix(PREFIX))
        if is_generated
        else resolve_media(Path(ask.root), path)
    )
    copy = media / (run.name if is_generated else ask.task.partition("/")[0]) / path.removeprefix(PREFIX)
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return copy
