"""Items of the newer kinds: several answers side by side, and questions without options."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vivant.core.errors import MediaError, UsageError
from vivant.core.randomness import sample_ids, shuffled_indices
from vivant.runs.run import Run
from vivant_study.design import KeyLine, StudyItem, StudyPart
from vivant_study.make.items import (
    ROOT,
    SAMPLE,
    ItemSet,
    RunAnswers,
    choose_names,
    make_judged_item,
    make_judged_key,
    name_sources,
    opaque_name,
    split_question,
)
from vivant_study.make.media_store import MediaStore
from vivant_study.make.sources import LocatedSample, sample_key

HIDDEN_REFERENCE = "reference"
"""Source of the reference answer that hides among the others."""


def make_group_items(
    runs: Sequence[Run],
    answers: RunAnswers,
    media: MediaStore,
    seed: int,
    *,
    reference: Sequence[str] = (),
    hide: bool = False,
) -> ItemSet:
    """One item a sample that all runs answered, with their answers as parts in a drawn order.

    Args:
        runs: the runs.
        answers: what each of them answers.
        media: where files go.
        seed: draws the order.
        reference: the languages in which the data's reference answer is shown; none: it is not.
        hide: whether it is also among the answers, as listening tests have it.
    """
    item_set = ItemSet()
    names = name_sources(runs)
    others = [{sample_key(answer.sample): answer for answer in run_answers} for run_answers in answers]
    name_of = choose_names([answer.sample for answer in answers[0]])
    for answer in answers[0]:
        sample, key = answer.sample, sample_key(answer.sample)
        if any(key not in run_answers for run_answers in others):
            item_set.leave_out("not all of the runs answer it", sample.id)
            continue
        order = shuffled_indices(len(runs), seed, "study", "group", key)
        parts = {
            opaque_name("group", runs[k].manifest.fingerprint, str(k), key): (runs[k], others[k][key].record)
            for k in order
        }
        name = name_of(sample)
        item = make_judged_item(name, answer, parts, media, item_set, reference=reference)
        if item is None:
            continue
        line = make_judged_key(name, answer, {part: run for part, (run, _) in parts.items()}, names)
        if hide and sample.reference:
            try:
                part = StudyPart(
                    id=opaque_name("reference", key), content=media.content(sample.reference, answer.root)
                )
            except MediaError as error:
                item_set.leave_out("a file cannot be used", f"'{sample.id}': {error}")
                continue
            index = shuffled_indices(len(runs) + 1, seed, "study", "hidden", key)[0]
            item = msgspec.structs.replace(item, parts=(*item.parts[:index], part, *item.parts[index:]))
            line = msgspec.structs.replace(line, sources={**line.sources, part.id: HIDDEN_REFERENCE})
        item_set.items.append(item)
        item_set.key.append(line)
    return item_set


def make_open_items(
    samples: Sequence[LocatedSample], media: MediaStore, question: str = "", *, videos: bool = False
) -> ItemSet:
    """Questions that are answered in one's own words, or by marking a video (`videos`: the others are left out)."""
    item_set = ItemSet()
    name_of = choose_names([located.sample for located in samples])
    for located in samples:
        sample = located.sample
        parts = split_question(media, sample, located.root, item_set)
        if parts is None:
            continue
        question_text, content = parts
        if videos and not any(getattr(piece, "kind", "") == "video" for piece in content):
            item_set.leave_out("it has no video", sample.id)
            continue
        item_set.items.append(
            StudyItem(
                id=name_of(sample),
                group=opaque_name(sample.cluster) if sample.cluster else "",
                content=content,
                question=question or question_text,
                facets=dict(sample.facets) if videos else {},
            )
        )
        item_set.key.append(
            KeyLine(
                item=name_of(sample),
                accepted=sample.answers,
                extra={SAMPLE: msgspec.to_builtins(sample), ROOT: str(located.root.resolve())},
            )
        )
    return item_set


def take_training(item_set: ItemSet, count: int, seed: int) -> list[StudyItem]:
    """Take so many items out for training, each with its right answer, which people are told afterwards."""
    options = {line.item: line.option for line in item_set.key if line.option is not None}
    candidates = [item.id for item in item_set.items if item.id in options]
    if count and len(candidates) <= count:
        raise UsageError(
            f"--training {count}: only {len(candidates)} items have a right option, and some must be left to judge"
        )
    names = set(sample_ids(candidates, count, seed, "training")) if count else set()
    training = [
        msgspec.structs.replace(item, training=True, expected={"choose": options[item.id]})
        for item in item_set.items
        if item.id in names
    ]
    groups = {item.group for item in training if item.group}
    dropped = {item.id for item in item_set.items if item.id in names or item.group in groups}
    item_set.items = [item for item in item_set.items if item.id not in dropped]
    item_set.key = [line for line in item_set.key if line.item not in dropped]
    return training
