"""A new study from a benchmark, from runs or from a pack of comments. `vivant study new` is this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from vivant.benchmarks.mimic.packs import open_key
from vivant.core.errors import UsageError, VivantError, unknown
from vivant.study.balance import count_places, count_shortage, find_largest_share, item_group
from vivant.study.default_texts import (
    LANGUAGES,
    MIME_WORDS,
    QUESTIONS,
    REALISM,
    SCORE,
    TITLES,
    choose_mmie_criteria,
    format_mmie_guide,
    load_texts,
)
from vivant.study.design import PAGES, Kind, LocalizedText, Study, StudyCriterion, StudyItem
from vivant.study.loading import load_study
from vivant.study.make.checks import make_checks
from vivant.study.make.items import (
    ItemSet,
    make_choice_items,
    make_comment_items,
    make_pair_items,
    make_rating_items,
)
from vivant.study.make.media_store import MediaStore
from vivant.study.make.sources import SampleSelection, open_pack, open_runs, select_answers, select_samples
from vivant.study.writing import create_folder, write_study

USUAL_SHARE = 20


class StudySpec(Struct, frozen=True, kw_only=True):
    """What the user asks of a new study."""

    kind: Kind
    origin: tuple[str, ...]
    """Benchmarks with or without a task, runs, or a pack."""
    data: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    key: Path | None = None
    """The key of a pack, where the researcher has it at hand."""
    items_per_participant: int | None = None
    judgements_per_item: int = 3
    balance: tuple[str, ...] = ()
    checks: int = 0
    time_limit: int | None = None
    languages: tuple[str, ...] = LANGUAGES
    title: str = ""
    question: str = ""
    reference: bool = False
    """Whether raters see the data's own reference answer."""
    copy: bool = False


class NewStudy(Struct, frozen=True, kw_only=True):
    """What was written."""

    study: Study
    items: int
    places: int
    notes: tuple[str, ...]


def make_study(folder: Path, wish: StudySpec) -> NewStudy:
    """Write a study that can be served as it is. Raises where nothing could be asked."""
    if wish.kind not in PAGES:
        raise unknown("kind of study", wish.kind, PAGES)
    if not wish.origin:
        raise UsageError("Say with --from what the study is made from: a benchmark, runs or a pack")
    for language in wish.languages:
        if language not in LANGUAGES:
            raise unknown(
                "language", language, LANGUAGES, "(others: add their files to the study afterwards)"
            )
    create_folder(folder)
    shelf = MediaStore(folder, wish.seed, copy=wish.copy)
    notes: list[str] = []
    try:
        made, criteria, guide = _made(wish, shelf, notes)
        if not made.items:
            raise UsageError(f"No item is left: {'; '.join(made.notes) or 'there are none'}")
        share = _share(wish, made.items)
    except VivantError:
        _leave(shelf, folder)
        raise
    notes += made.notes
    if shelf.unplayable:
        notes.append(
            f"{len(shelf.unplayable)} videos are in a form that browsers may not play, the first is "
            f"{next(iter(shelf.unplayable))}; convert them to MP4 (H.264)"
        )
    if shelf.copied and not wish.copy:
        notes.append(f"{shelf.copied} media files were copied, because they lie on another disk")
    study = Study(
        kind=wish.kind,
        title=_title(wish),
        origin=" ".join(wish.origin),
        languages=wish.languages,
        seed=wish.seed,
        items_per_participant=share,
        judgements_per_item=wish.judgements_per_item,
        balance=wish.balance,
        checks_per_participant=wish.checks,
        time_limit=wish.time_limit,
        questions=QUESTIONS,
        criteria=criteria,
    )
    items, key = list(made.items), list(made.key)
    for item, line in make_checks(wish.kind, wish.checks, wish.languages, criteria, wish.seed):
        items.append(item)
        key.append(line)
    texts = {
        language: load_texts(wish.kind, language, guide.get(language, "")) for language in wish.languages
    }
    mime = "mcq" in wish.kind and all(name.partition("/")[0] == "mime" for name in wish.origin)
    interface = {language: MIME_WORDS[language] for language in wish.languages} if mime else {}
    write_study(folder, study, items, key, texts, interface)
    load_study(folder)
    places = len(count_places(len(made.items) * wish.judgements_per_item, share))
    return NewStudy(study=study, items=len(made.items), places=places, notes=tuple(notes))


def _leave(shelf: MediaStore, folder: Path) -> None:
    """Take back what a study that cannot be made has put on the disk."""
    if shelf.folder.is_dir():
        for file in shelf.folder.iterdir():
            file.unlink()
        shelf.folder.rmdir()
    folder.rmdir()


def _made(
    wish: StudySpec, shelf: MediaStore, notes: list[str]
) -> tuple[ItemSet, tuple[StudyCriterion, ...], LocalizedText]:
    """Items, scales, and what the instructions say about the scales."""
    if wish.key is not None and wish.kind != "blind-comments":
        raise UsageError("--key is the key of a pack: it goes with --kind blind-comments")
    wanted = SampleSelection(where=wish.where, limit=wish.limit, seed=wish.seed)
    if wish.kind in ("mcq", "free-then-mcq"):
        found = select_samples(wish.origin, wish.data, wanted)
        return make_choice_items(found, shelf, wish.balance, wish.seed, wish.question), (), {}
    if wish.kind == "blind-comments":
        if wish.where:
            raise UsageError("--where does not apply to packs; choose when the pack is made")
        pack = open_pack(wish.origin)
        key = open_key(wish.key, pack) if wish.key is not None else None
        if key is None:
            notes.append(
                "without --key nothing here knows who wrote what: exports are judgements of the pack"
            )
        return make_comment_items(pack, key, shelf, wish.limit, wish.seed), (REALISM,), {}
    if wish.kind == "pairwise":
        runs = open_runs(wish.origin, wish.kind, 2)
        both = [select_answers(run, wanted, notes) for run in runs]
        return make_pair_items(runs, both, shelf, wish.seed, reference=wish.reference), (), {}
    runs = open_runs(wish.origin, wish.kind)
    answers = [select_answers(run, wanted, notes) for run in runs]
    made = make_rating_items(runs, answers, shelf, wish.seed, reference=wish.reference)
    tasks = sorted({one.sample.task for own in answers for one in own})
    if any(not task.startswith("mmie/") for task in tasks):
        return made, (SCORE,), {}
    short = [task.partition("/")[2] for task in tasks]
    return (
        made,
        choose_mmie_criteria(short),
        {language: format_mmie_guide(short, language) for language in wish.languages},
    )


def _title(wish: StudySpec) -> LocalizedText:
    if wish.title:
        return dict.fromkeys(wish.languages, wish.title)
    return {language: TITLES[wish.kind][language] for language in wish.languages}


def _share(wish: StudySpec, items: Sequence[StudyItem]) -> int:
    """Items per participant: as asked, else the usual number or the most that leaves no judgement short."""
    known = {name for item in items for name in item.facets}
    for facet in wish.balance:
        if facet not in known:
            raise unknown("facet in --balance", facet, known)
    groups = list(Counter(map(item_group, items)).values())
    wanted = wish.items_per_participant or USUAL_SHARE
    fits = find_largest_share(groups, wish.judgements_per_item, wanted)
    if wish.items_per_participant is not None and fits < wanted:
        short = count_shortage(groups, wish.judgements_per_item, wanted)
        raise UsageError(
            f"--items-per-participant {wanted}: {short} of {len(items) * wish.judgements_per_item} judgements would "
            f"be short, because there are {len(items)} items from {len(groups)} videos and nobody may meet a video "
            f"twice; the most is {fits}"
        )
    return fits
