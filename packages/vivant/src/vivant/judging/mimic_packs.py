"""A judge model in the place of people: the same two questions about every comment of a pack.

It works as every judge does (`vivant.judging.judge_run`): fenced material, a contract, attempts, a log that
resumes. What it says is written as judgements of the kind `model`, which no figure mixes with people's.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.judgements import CommentJudgement, Judges, read_judges, write_judgements
from vivant.benchmarks.mimic.packs import Pack
from vivant.benchmarks.rubric import JudgeCriterion, JudgeQuestion, Rubric
from vivant.benchmarks.verdict import Contract, Field, Verdict
from vivant.core.errors import UsageError
from vivant.core.fenced_text import FencedBlock
from vivant.core.types import Text, Video
from vivant.judging.judge_run import JudgeRequest, JudgeRunner, make_settings
from vivant.judging.options import JudgeOptions
from vivant.models.registry import create
from vivant.runs.judgements import Judgements, JudgeSettings

logger = logging.getLogger("vivant")

RUBRIC = Rubric(
    name="mimic",
    role=(
        "You judge one comment that stands under a video. Some comments here were left by "
        "viewers, others were written by programs that were asked to write like viewers. You "
        "see the video, its title and the comment."
    ),
    criteria=(
        JudgeCriterion("Voice", "it sounds like somebody who has just watched this and reacts to it."),
        JudgeCriterion("Stance", "it says something of its own rather than telling what can be seen."),
        JudgeCriterion(
            "Habits", "length, spelling, slang, emoji and punctuation are those of real comments."
        ),
        JudgeCriterion("Fit", "it fits this video, its language and its audience."),
    ),
    scale=(
        "Decide first whether a person or a program wrote it. Then say how real it reads, "
        "from 0 (nobody would write this) to 5 (a real viewer's comment beyond doubt), "
        "whoever you think wrote it."
    ),
    contract=Contract(
        fields=(Field(name="verdict", choices=("ai", "human")), Field(name="realism", low=0, high=5)),
        form="json",
        reasons="reasons",
    ),
)


class JudgedPack(Struct, frozen=True, kw_only=True):
    """What judging a pack came to."""

    judges: Judges
    written: int
    stopped: bool


def build_requests(pack: Pack, rubric: Rubric = RUBRIC) -> Iterator[JudgeRequest]:
    """One question per comment; where it comes from is not known here, and cannot be told."""
    videos = {video.video: video for video in pack.videos()}
    task = names.format_task(names.MIMICKING)
    for item in pack.items():
        video = videos[item.video]
        yield JudgeRequest(
            key=item.item,
            task=task,
            id=item.item,
            question=JudgeQuestion(
                rubric=rubric,
                materials=(
                    FencedBlock("video", (Video(video.file),)),
                    FencedBlock("title", (Text(video.title),)),
                    FencedBlock("answer", (Text(item.text),)),
                ),
                max_tokens=512,
            ),
            root=pack.header.root,
        )


def judge_pack(pack: Pack, options: JudgeOptions, out: Path) -> JudgedPack:
    """Ask a judge model about every comment; the same call again goes on where it stopped."""
    model = create(options.model, options.backend_options)
    settings = make_settings(options, model, "paper", (RUBRIC,))
    rubric = settings.rubrics[0]
    if out.exists() and read_judges(out).settings != _encode_settings(settings):
        raise UsageError(f"{out} holds judgements by others or with other settings; choose another --out")
    folder = out.with_name(f"{out.name}.judge") / settings.fingerprint()[:8]
    if model.caveat:
        logger.warning("%s is %s.", model.name, model.caveat)
    logger.info("Judge %s: %d comments → %s", model.name, pack.header.items, folder)
    outcome = JudgeRunner(model, settings, folder, _read, options).judge(list(build_requests(pack, rubric)))
    verdicts_by_item = Judgements(folder).verdicts(_read)
    judgements: list[CommentJudgement] = []
    unparsed = failed = 0
    for item, verdicts in verdicts_by_item.items():
        for number, verdict in sorted(verdicts.items()):
            if not verdict.verdict.read:
                failed += bool(verdict.error)
                unparsed += not verdict.error
                continue
            values = verdict.verdict.values
            judgements.append(
                CommentJudgement(
                    annotator=f"{model.name}#{number + 1}" if settings.samples > 1 else model.name,
                    item=item,
                    verdict="human" if values["verdict"] == "human" else "ai",
                    realism=float(values["realism"]),
                )
            )
    judges = Judges(
        pack=pack.header.pack,
        kind="model",
        name=model.name,
        settings=_encode_settings(settings),
        unparsed=unparsed,
        failed=failed,
        caveat=model.caveat,
    )
    write_judgements(out, judges, judgements)
    return JudgedPack(judges=judges, written=len(judgements), stopped=outcome.stopped)


def _encode_settings(settings: JudgeSettings) -> dict[str, object]:
    """The settings as a file holds them."""
    decoded: dict[str, object] = msgspec.json.decode(msgspec.json.encode(settings))
    return decoded


def _read(text: str, rubric: Rubric) -> Verdict:
    return rubric.contract.read(text)
