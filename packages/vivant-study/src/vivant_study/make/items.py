"""Samples, answers and comments as items of a study, each with its line of the key."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.mimic.packs import Key, Pack
from vivant.benchmarks.mimic.prompts import WORDING as MIMIC_WORDING
from vivant.core.errors import DataError, MediaError, UsageError
from vivant.core.randomness import sample_ids, shuffled_indices
from vivant.core.records import Record
from vivant.core.types import Sample, Text, Video
from vivant.runs.run import Run
from vivant_study.default_texts import DEFAULTS
from vivant_study.design import ItemTexts, KeyLine, StudyItem, StudyPart, StudyText
from vivant_study.make.media_store import MediaStore
from vivant_study.make.sources import AnsweredSample, LocatedSample, sample_key

SAMPLE, ROOT, RUN, MODEL, PACK = "sample", "root", "run", "model", "pack"
"""What `KeyLine.extra` holds for exports: the sample and its media's folder; run and model of each part; the pack's
hash."""

LABEL = "label"
"""In `KeyLine.extra`, where people label reasoning: the reply's key, its segment, and the labels in the order of the
item's options."""
RunAnswers = Sequence[Sequence[AnsweredSample]]
"""The answers of each run."""


class ItemSet(Struct, kw_only=True):
    """Items and their key, and what there is to say about those that were left out."""

    items: list[StudyItem] = field(default_factory=list)
    key: list[KeyLine] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def leave_out(self, reason: str, sample: str) -> None:
        """Count a sample that cannot be asked."""
        self.lost[reason] += 1
        self.examples.setdefault(reason, sample)

    @property
    def notes(self) -> list[str]:
        """A line for each reason."""
        return [
            f"{count} left out: {reason} (the first is {self.examples[reason]})"
            for reason, count in self.lost.items()
        ]


def opaque_name(*names: str) -> str:
    """A name that says nothing, the same for the same names."""
    return hashlib.sha256("\x1f".join(names).encode()).hexdigest()[:12]


def make_choice_items(
    samples: Sequence[LocatedSample],
    media: MediaStore,
    balance: Sequence[str],
    seed: int,
    question: str = "",
    *,
    odd_options: bool = False,
) -> ItemSet:
    """Questions with options, for people to choose from.

    Options change places: in some data the right one is always the first, which the items would then tell. With
    `odd_options`, a question stays in which an option is empty or a wrong one stands twice.
    """
    item_set = ItemSet()
    plain_samples = [located.sample for located in samples]
    name_of = choose_names(plain_samples)
    kept_facets = _find_quiet_facets(plain_samples, balance)
    for located in samples:
        sample = located.sample
        texts = [option.text.strip() for option in sample.options]
        if sample.key is None:
            item_set.leave_out("no option is marked as right", sample.id)
        elif texts.count(texts[sample.key]) > 1 or not texts[sample.key]:
            item_set.leave_out("the right option is empty or repeated", sample.id)
        elif not odd_options and (len(set(texts)) < len(texts) or not all(texts)):
            item_set.leave_out("an option is empty or repeated; --keep-odd-options keeps it", sample.id)
        elif (parts := split_question(media, sample, located.root, item_set)) is not None:
            question_text, content = parts
            order = shuffled_indices(len(texts), seed, "study", "options", sample_key(sample))
            item_set.items.append(
                StudyItem(
                    id=name_of(sample),
                    group=opaque_name(sample.cluster) if sample.cluster else "",
                    content=content,
                    question=question or question_text,
                    options=tuple(texts[k] for k in order),
                    facets={name: value for name, value in sample.facets.items() if name in kept_facets},
                )
            )
            item_set.key.append(
                KeyLine(
                    item=name_of(sample),
                    option=order.index(sample.key),
                    accepted=sample.answers,
                    extra={SAMPLE: msgspec.to_builtins(sample), ROOT: str(located.root.resolve())},
                )
            )
    return item_set


def choose_names(samples: Sequence[Sample]) -> Callable[[Sample], str]:
    """Items are called as their samples are; with the task before it where there are several."""
    tasks = {sample.task for sample in samples}
    if len(tasks) > 1:
        return lambda sample: f"{sample.task.partition('/')[2]}/{sample.id}"
    return lambda sample: sample.id


def _find_quiet_facets(samples: Sequence[Sample], balance: Sequence[str]) -> set[str]:
    """Facets that do not give the right answer away, and those that the user spreads items over.

    A facet whose every value goes with one right answer (the action that is mimed, the name of the video) stays
    in the key.
    """
    facets = {name for sample in samples for name in sample.facets}
    missing = [name for name in balance if name not in facets]
    if missing:
        raise UsageError(
            f"--balance {missing[0]}: there is no such facet; there are {', '.join(sorted(facets))}"
        )
    quiet: set[str] = set(balance)
    for name in facets:
        answers: dict[str, set[str]] = {}
        for sample in samples:
            if sample.key is not None:
                answers.setdefault(sample.facets.get(name, ""), set()).add(sample.options[sample.key].text)
        if len(answers) < 2 or any(len(texts) > 1 for texts in answers.values()):
            quiet.add(name)
    return quiet


def split_question(
    media: MediaStore, sample: Sample, root: Path, item_set: ItemSet
) -> tuple[str, Any] | None:
    """The question's own words and what is looked at; None where a file is missing."""
    parts = [part for part in sample.question if not isinstance(part, Text) or part.text.strip()]
    texts = [part for part in parts if isinstance(part, Text)]
    question_text = _mimic_question(sample)
    # What comes last is what is asked; a text before everything else is, where it is the only one.
    if texts and (parts[-1] is texts[-1] or (len(texts) == 1 and parts[0] is texts[0])):
        question_text = texts[-1].text.strip()
        parts = [part for part in parts if part is not texts[-1]]
    try:
        content = media.content(parts, root)
    except MediaError as error:
        item_set.leave_out("a file cannot be used", f"'{sample.id}': {error}")
        return None
    if not content:
        content, question_text = (StudyText(question_text),), ""
    return question_text, content


def _mimic_question(sample: Sample) -> str:
    benchmark, _, task = sample.task.partition("/")
    return MIMIC_WORDING.get(f"mimic.{task}", "") if benchmark == "mimic" else ""


def name_sources(runs: Sequence[Run]) -> dict[str, str]:
    """What each run is called, by its folder: its model, with the run's name where two have the same one."""
    models = Counter(run.model for run in runs)
    return {
        str(run.dir.path): run.model if models[run.model] == 1 else f"{run.model} ({run.name})"
        for run in runs
    }


def make_rating_items(
    runs: Sequence[Run], answers: RunAnswers, media: MediaStore, seed: int, *, reference: Sequence[str] = ()
) -> ItemSet:
    """One item an answer. Runs hide behind numbers that say nothing, which `balance` can use all the same."""
    item_set = ItemSet()
    names = name_sources(runs)
    numbers = shuffled_indices(len(runs), seed, "study", "runs", *(run.manifest.fingerprint for run in runs))
    name_of = choose_names([answer.sample for run_answers in answers for answer in run_answers])
    for number, run, run_answers in zip(numbers, runs, answers, strict=True):
        for answer in run_answers:
            name = f"{name_of(answer.sample)}@{number + 1}" if len(runs) > 1 else name_of(answer.sample)
            part = opaque_name("answer", run.manifest.fingerprint, sample_key(answer.sample))
            item = make_judged_item(
                name, answer, {part: (run, answer.record)}, media, item_set, reference=reference
            )
            if item is not None:
                facets = {**item.facets, **({"source": str(number + 1)} if len(runs) > 1 else {})}
                item_set.items.append(msgspec.structs.replace(item, facets=facets))
                item_set.key.append(make_judged_key(name, answer, {part: run}, names))
    return item_set


def make_pair_items(
    runs: Sequence[Run], answers: RunAnswers, media: MediaStore, seed: int, *, reference: Sequence[str] = ()
) -> ItemSet:
    """One item a sample that both runs answered; which run comes first is drawn."""
    item_set = ItemSet()
    names = name_sources(runs)
    others = {sample_key(answer.sample): answer for answer in answers[1]}
    name_of = choose_names([answer.sample for answer in answers[0]])
    for answer in answers[0]:
        other = others.get(sample_key(answer.sample))
        if other is None:
            item_set.leave_out("only one of the two runs answers it", answer.sample.id)
            continue
        if _is_same_reply(answer.record, other.record):
            item_set.leave_out("both answers are the same", answer.sample.id)
            continue
        sides = [(runs[0], answer.record), (runs[1], other.record)]
        order = shuffled_indices(2, seed, "study", "sides", sample_key(answer.sample))
        parts = {
            opaque_name("side", sides[k][0].manifest.fingerprint, str(k), sample_key(answer.sample)): sides[k]
            for k in order
        }
        name = name_of(answer.sample)
        item = make_judged_item(name, answer, parts, media, item_set, reference=reference)
        if item is not None:
            item_set.items.append(item)
            item_set.key.append(
                make_judged_key(name, answer, {part: run for part, (run, _) in parts.items()}, names)
            )
    return item_set


def _is_same_reply(first: Record, second: Record) -> bool:
    return first.reply.text.strip() == second.reply.text.strip() and first.reply.parts == second.reply.parts


def make_judged_item(
    name: str,
    answer: AnsweredSample,
    parts: dict[str, tuple[Run, Record]],
    media: MediaStore,
    item_set: ItemSet,
    *,
    reference: Sequence[str],
) -> StudyItem | None:
    """A sample with the answers to judge; `reference`: the languages in which its reference is shown, or none."""
    sample = answer.sample
    translations: dict[str, ItemTexts] = {}
    try:
        content = media.content(sample.question, answer.root)
        if sample.options:
            options = "\n".join(f"{option.name}. {option.text}" for option in sample.options)
            content = (*content, StudyText(options))
        if reference and sample.reference:
            reference_parts = media.content(sample.reference, answer.root)
            labelled = [
                (*content, StudyText(DEFAULTS.reference[language]), *reference_parts)
                for language in reference
            ]
            content = labelled[0]
            for language, other in zip(reference[1:], labelled[1:], strict=True):
                texts = tuple(part.text for part in other if isinstance(part, StudyText))
                translations[language] = ItemTexts(content=texts)
        judged = tuple(
            StudyPart(id=part, content=media.content(_list_answer_parts(record), answer.root, run.dir.path))
            for part, (run, record) in parts.items()
        )
    except MediaError as error:
        item_set.leave_out("a file cannot be used", f"'{sample.id}': {error}")
        return None
    group = opaque_name(sample.cluster or sample_key(sample))
    return StudyItem(
        id=name, group=group, content=content, parts=judged, facets=dict(sample.facets), translations=translations
    )  # fmt: skip


def _list_answer_parts(record: Record) -> Iterable[Any]:
    return record.reply.parts or (Text(record.reply.text),)


def make_judged_key(
    name: str, answer: AnsweredSample, runs: dict[str, Run], names: dict[str, str]
) -> KeyLine:
    return KeyLine(
        item=name,
        sources={part: names[str(run.dir.path)] for part, run in runs.items()},
        extra={
            SAMPLE: {"id": answer.sample.id, "task": answer.sample.task, "cluster": answer.sample.cluster},
            RUN: {part: str(run.dir.path.resolve()) for part, run in runs.items()},
            MODEL: {part: run.model for part, run in runs.items()},
        },
    )


def make_comment_items(
    pack: Pack,
    key: Key | None,
    media: MediaStore,
    limit: int | None,
    seed: int,
    only: frozenset[str] | None = None,
) -> ItemSet:
    """One item a video with all of its comments. Without the pack's key, nothing here knows who wrote them.

    The study's key also names who wrote the comments that nobody is asked about, for a correction of judges.
    """
    item_set = ItemSet()
    root = Path(pack.header.root)
    comments: dict[str, list[StudyPart]] = {}
    for entry in pack.items():
        comments.setdefault(entry.video, []).append(
            StudyPart(id=entry.item, content=(StudyText(entry.text.strip() or "…"),))
        )
    open_ = [video for video in comments if only is None or video in only]
    chosen = set(sample_ids(open_, limit or len(open_), seed, "study"))
    for video in pack.videos():
        parts = tuple(comments[video.video])
        sources = {}
        if key is not None:
            sources = {part.id: key.header.sources[key.entries[part.id].source].name for part in parts}
        line = KeyLine(item=video.video, sources=sources, extra={PACK: pack.header.pack})
        if video.video not in chosen:
            item_set.key += [line] if sources else []
            continue
        title = (StudyText(video.title),) if video.title else ()
        try:
            content = (*title, *media.content((Video(video.file),), root))
        except MediaError as error:
            item_set.leave_out("a file cannot be used", f"'{video.video}': {error}")
            item_set.key += [line] if sources else []
            continue
        item_set.items.append(StudyItem(id=video.video, content=content, parts=parts, facets=video.facets))
        item_set.key.append(line)
    if not item_set.items:
        raise DataError(f"{pack.path}: none of its videos is in {root}; give the pack its data's folder back")
    return item_set
