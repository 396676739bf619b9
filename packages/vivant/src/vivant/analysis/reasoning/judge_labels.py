"""Labels from a judge: one question per reply on its segments, one per wrong answer on its kind."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from vivant.analysis.reasoning.kinds import RESTS_ON, find_scheme
from vivant.analysis.reasoning.label_files import FOLDER, Label, LabelledReply, write_labels
from vivant.analysis.reasoning.segments import MAX_SEGMENTS, Reasoning, split_reasoning
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.label_scheme import Scheme
from vivant.benchmarks.rubric import JudgeCriterion, JudgeQuestion, Rubric
from vivant.benchmarks.verdict import Contract, Field, Verdict
from vivant.core.errors import UsageError
from vivant.core.fenced_text import FencedBlock
from vivant.core.randomness import sample_ids
from vivant.core.records import Record, Score
from vivant.core.structs import copy_shared_fields
from vivant.core.types import Sample, Text
from vivant.engine.recording import RunOutcome
from vivant.judging.judge_run import JudgeRequest, JudgeRunner, make_settings
from vivant.judging.options import JudgeOptions
from vivant.models.registry import create
from vivant.runs.judgements import Judgements, JudgeVerdict
from vivant.runs.run import Run, choose_common_protocol

logger = logging.getLogger("vivant")
_FRAMES = 4096
_SEGMENTS, _KIND = "?segments", "?kind"


class LabelOptions(Struct, frozen=True, kw_only=True):
    """What is labelled, and how."""

    segments: bool = True
    errors: bool = True
    most: int = MAX_SEGMENTS
    """Segments per reply at most."""
    limit: int | None = None
    """Replies per task at most, chosen by their ids."""
    kinds: str = ""
    """A scheme of kinds; empty for the one of the task's paper."""


class LabelItem(Struct, frozen=True):
    """A reply to be labelled."""

    sample: Sample
    record: Record
    score: Score
    reasoning: Reasoning | None
    scheme: Scheme | None
    """None where the answer is not to be sorted."""

    def add_labels(
        self, by: str, segments: tuple[Label, ...], kind: str, unread: tuple[str, ...] = ()
    ) -> LabelledReply:
        """The reply with its labels."""
        field = self.reasoning.field if self.reasoning is not None else "text"
        reply = self.record.reply
        return LabelledReply(
            **copy_shared_fields(self.record, LabelledReply),
            by=by,
            field=field,
            segments=segments,
            scheme=self.scheme.name if self.scheme is not None else "",
            kind=kind,
            unread=unread,
            length=len(reply.thinking if field == "thinking" else reply.text),
        )


def select_items(run: Run, protocol: Protocol, options: LabelOptions) -> list[LabelItem]:
    """The replies of a run that there is something to label in."""
    items: list[LabelItem] = []
    for part in run.scores(protocol):
        scheme = find_scheme(part.task, options.kinds)
        rows = [
            (s, r, score)
            for s, r, score in part.rows
            if r is not None and score.status not in ("truncated", "missing")
        ]
        if options.limit is not None:
            chosen = set(sample_ids([record.key for _, record, _ in rows], options.limit, 0, "reasoning"))
            rows = [row for row in rows if row[1].key in chosen]
        for sample, record, score in rows:
            reasoning = split_reasoning(record, options.most) if options.segments else None
            sort = options.errors and (scheme.right_too or score.value is None or score.value < 0.5)
            if reasoning is not None or sort:
                items.append(LabelItem(sample, record, score, reasoning, scheme if sort else None))
    if not any(item.reasoning or item.scheme for item in items):
        raise UsageError(
            f"{run.name}: no reply holds reasoning and none is wrong, so there is nothing to label; "
            "reasoning comes with --style cot"
        )
    return items


def label_run(
    run: Run,
    judge: JudgeOptions,
    protocol: Protocol | None = None,
    options: LabelOptions | None = None,
) -> RunOutcome:
    """Have a run labelled; what was asked before is not asked again. Labels are written beside the log."""
    protocol = choose_common_protocol([run], protocol)
    options = options or LabelOptions()
    model = create(judge.model, judge.backend_options)
    schemes = {(scheme := find_scheme(task, options.kinds)).name: scheme for task in run.manifest.tasks}
    rubrics = (
        *(build_segment_rubric(count) for count in range(1, options.most + 1)),
        *map(build_kind_rubric, schemes.values()),
    )
    settings = make_settings(judge, model, protocol, rubrics)
    folder = run.dir.path / FOLDER / f"judge-{settings.fingerprint()[:8]}"
    items = select_items(run, protocol, options)
    by_name = {rubric.name: rubric for rubric in settings.rubrics}
    asks = [ask for item in items for ask in _asks(item, by_name)]
    logger.info("Judge %s: %d questions on %d replies → %s", model.name, len(asks), len(items), folder)
    if model.caveat:
        logger.info("Note: %s is %s.", model.name, model.caveat)
    outcome = JudgeRunner(model, settings, folder, _read, judge).judge(asks)
    if outcome.stopped:
        return outcome
    verdicts = Judgements(folder).verdicts(_read)
    by = f"{model.name} ({settings.fingerprint()[:8]})"
    write_labels(run.dir.path, by, (_build_labels(item, verdicts, by) for item in items))
    return outcome


def _read(text: str, rubric: Rubric) -> Verdict:
    return rubric.contract.read(text)


# ── what is asked ────────────────────────────────────────────────────────────────────────────────


def build_segment_rubric(count: int) -> Rubric:
    """On what each of so many segments rests."""
    fields: list[Field] = []
    for number in range(1, count + 1):
        fields.append(Field(name=f"segment {number}", choices=tuple(RESTS_ON)))
        fields.append(Field(name=f"frame {number}", low=0, high=_FRAMES))
    return Rubric(
        name=f"reasoning-{count}",
        role="You read how a model reasoned about a question on pictures or a video, cut into numbered segments. "
        "Whether it is right is not your concern: you say of each segment what it rests on.",
        criteria=tuple(JudgeCriterion(name, f"the segment rests {text}.") for name, text in RESTS_ON.items()),
        scale="Give one of these words for each segment: where it rests on several, the one without which it could "
        "not have been written. Give also the number of the frame that a segment speaks of, where it names a frame "
        "or a time that the list of frames holds, and 0 where it names none.",
        contract=Contract(fields=tuple(fields), form="json", reasons="remarks"),
    )


def build_kind_rubric(scheme: Scheme) -> Rubric:
    """Of which kind an answer is."""
    what = "answer" if scheme.right_too else "wrong answer"
    return Rubric(
        name=f"kind-{scheme.name}",
        role=f"You read a question on pictures or a video, the accepted answer, and a model's {what}. You sort it "
        "into one kind.",
        criteria=tuple(JudgeCriterion(name, f"{text}.") for name, text in scheme.kinds.items()),
        scale="Choose the one kind that says best why the answer is as it is; where several fit, the first cause.",
        contract=Contract(
            fields=(Field(name="kind", choices=tuple(scheme.kinds)),), form="json", reasons="remarks"
        ),
    )


def _asks(item: LabelItem, rubrics: Mapping[str, Rubric]) -> Iterator[JudgeRequest]:
    common = (_question(item), _frames(item.record))
    record = item.record
    if item.reasoning is not None:
        numbered = "\n".join(
            f"{n + 1}. {item.reasoning.piece(n)}" for n in range(len(item.reasoning.segments))
        )
        yield _ask(
            record,
            _SEGMENTS,
            rubrics[f"reasoning-{len(item.reasoning.segments)}"],
            (*common, FencedBlock("reasoning", (Text(numbered),))),
        )
    if item.scheme is not None and not _needs_no_judge(item):
        reply = "\n\n".join(filter(None, (record.reply.thinking, record.reply.text)))
        yield _ask(
            record,
            _KIND,
            rubrics[f"kind-{item.scheme.name}"],
            (*common, _describe_accepted(item.sample, record), FencedBlock("answer", (Text(reply),))),
        )


def _ask(record: Record, suffix: str, rubric: Rubric, materials: Sequence[FencedBlock]) -> JudgeRequest:
    nonempty = tuple(material for material in materials if material.parts)
    return JudgeRequest(
        key=record.key + suffix,
        task=record.task,
        id=record.id,
        question=JudgeQuestion(rubric=rubric, materials=nonempty),
        root="",
    )


def _needs_no_judge(item: LabelItem) -> bool:
    """A reply without a readable answer needs no judge where the scheme has a kind for it."""
    return item.score.status == "unparsed" and bool(item.scheme and item.scheme.unparsed)


def _question(item: LabelItem) -> FencedBlock:
    sample, record = item.sample, item.record
    lines = [part.text for part in sample.question if isinstance(part, Text)]
    lines += [f"({option.name}) {option.text}" for option in record.options or sample.options]
    return FencedBlock("question", (Text("\n".join(lines)),) if lines else ())


def _frames(record: Record) -> FencedBlock:
    """The frames that the model saw, by number and time; the judge sees none of them."""
    times = [time for use in record.media if use.kind == "video" for time in use.times]
    text = "; ".join(f"{number}: {time:.1f} s" for number, time in enumerate(times, 1))
    return FencedBlock("frames", (Text(text),) if text else ())


def _describe_accepted(sample: Sample, record: Record) -> FencedBlock:
    options = record.options or sample.options
    order = record.order or tuple(range(len(options)))
    if sample.key is not None and sample.key in order:
        option = options[order.index(sample.key)]
        return FencedBlock("accepted answer", (Text(f"({option.name}) {option.text}"),))
    return FencedBlock("accepted answer", (Text(" | ".join(sample.answers)),) if sample.answers else ())


# ── what was said ────────────────────────────────────────────────────────────────────────────────


def _build_labels(
    item: LabelItem, judgements: Mapping[str, Mapping[int, JudgeVerdict]], by: str
) -> LabelledReply:
    record, reasoning = item.record, item.reasoning
    unread: list[str] = []
    labels: tuple[Label, ...] = ()
    if reasoning is not None:
        verdicts = _verdicts(judgements.get(record.key + _SEGMENTS, {}), unread)
        labels = tuple(
            Label(
                start=segment.start,
                end=segment.end,
                rests_on=str(_most_said(verdicts, f"segment {number}", "")),
                frame=int(_most_said(verdicts, f"frame {number}", 0)),
            )
            for number, segment in enumerate(reasoning.segments, 1)
        )
    kind = ""
    if item.scheme is not None:
        kind = item.scheme.unparsed if _needs_no_judge(item) else ""
        if not kind:
            kind = str(_most_said(_verdicts(judgements.get(record.key + _KIND, {}), unread), "kind", ""))
    return item.add_labels(by, labels, kind, tuple(unread))


def _verdicts(judgements: Mapping[int, JudgeVerdict], unread: list[str]) -> list[Verdict]:
    """The verdicts that can be read; why, where none can."""
    read = [judgement.verdict for judgement in judgements.values() if judgement.verdict.read]
    if not read:
        unread.append(
            next((judgement.error or judgement.verdict.why for judgement in judgements.values()), "not asked")
        )
    return read


def _most_said(verdicts: Sequence[Verdict], name: str, default: float | str) -> float | str:
    """What most verdicts say; the first of equals."""
    counts = Counter(verdict.values[name] for verdict in verdicts)
    return counts.most_common(1)[0][0] if counts else default
