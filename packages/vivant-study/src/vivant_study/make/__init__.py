"""A new study from a benchmark, from runs or from a pack of comments. `vivant study new` is this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import Protocol
from vivant.benchmarks.mimic.packs import open_key
from vivant.core.errors import UsageError, VivantError, unknown_name_error
from vivant.core.files import remove
from vivant.runs.run import Run
from vivant_study.balance import count_places, count_shortage, find_largest_share, item_group
from vivant_study.default_texts import (
    DEFAULTS,
    LANGUAGES,
    choose_mmie_criteria,
    format_mmie_guide,
    load_texts,
)
from vivant_study.design import PAGES, Kind, LocalizedText, Study, StudyCriterion, StudyItem
from vivant_study.loading import load_study
from vivant_study.make.checks import make_checks
from vivant_study.make.group_items import make_group_items, make_open_items, take_training
from vivant_study.make.items import (
    ItemSet,
    make_choice_items,
    make_comment_items,
    make_pair_items,
    make_rating_items,
)
from vivant_study.make.label_items import make_label_items
from vivant_study.make.media_store import MediaStore
from vivant_study.make.sources import SampleSelection, open_pack, open_runs, select_answers, select_samples
from vivant_study.make.templates import QUEUE, add_queues, find_template
from vivant_study.platforms import PlatformName, StudyPlatform, preset_returns
from vivant_study.store.assign import describe_balance
from vivant_study.writing import create_folder, write_study

USUAL_SHARE = 20


class StudySpec(Struct, frozen=True, kw_only=True):
    """What a new study is made from, and how."""

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
    odd_options: bool = False
    """Whether questions stay in which an option is empty or a wrong one stands twice."""
    copy: bool = False
    training: int = 0
    """Items that everybody gets first, with feedback."""
    template: str = ""
    """A published experiment whose design is taken."""
    platform: PlatformName | None = None
    """Where participants are recruited; its returns are written out to be filled in."""
    transcode: bool = False
    """Whether videos that some browsers do not play are copied as H.264."""
    labels: Protocol | None = None
    """With `mcq` and one run: ask for labels of its reasoning and its wrong answers, as this protocol scores them."""
    only: Mapping[str, frozenset[str]] = {}
    """The samples to ask about (`task/id`; videos of a pack), by the run, benchmark or pack of `origin`; empty: all."""


class StudyDraft(Struct, frozen=True, kw_only=True):
    """A study as `make_study` wrote it."""

    study: Study
    items: int
    places: int
    notes: tuple[str, ...]


def make_study(folder: Path, spec: StudySpec) -> StudyDraft:
    """Write a study that can be served as it is. Raises where nothing could be asked.

    Args:
        folder: where to write it; it must be empty or absent.
        spec: what the study asks of whom.
    """
    template = find_template(spec.template) if spec.template else None
    if template is not None and template.settings.get("odd_options"):
        spec = msgspec.structs.replace(spec, odd_options=True)
    _check_spec(spec)
    create_folder(folder)
    media = MediaStore(folder, spec.seed, copy=spec.copy, transcode=spec.transcode)
    notes: list[str] = []
    try:
        item_set, criteria, guide = _make_items(spec, media, notes)
        if not item_set.items:
            raise UsageError(f"No item is left: {'; '.join(item_set.notes) or 'there are none'}")
        if template is not None and template.queue == QUEUE:
            item_set.items = add_queues(item_set.items, spec.seed)
        training = take_training(item_set, spec.training, spec.seed)
        queue = template.queue if template else ""
        share = _choose_share(spec, item_set.items, queue)
    except VivantError:
        _clean_up(media, folder)
        raise
    notes += [*item_set.notes, *_describe_media(media, copy=spec.copy)]
    settings: dict[str, Any] = {"odd_options": spec.odd_options, "time_limit": spec.time_limit}
    settings |= template.settings if template else {}
    if spec.labels is not None:  # who labels ten passages of one reply need not watch its video ten times
        settings["watch_whole"] = False
    study = Study(
        kind=spec.kind,
        title=_choose_title(spec),
        origin=" ".join(spec.origin),
        languages=spec.languages,
        seed=spec.seed,
        items_per_participant=share,
        queue=queue,
        judgements_per_item=spec.judgements_per_item,
        balance=spec.balance,
        checks_per_participant=spec.checks,
        **settings,
        questions=DEFAULTS.questions,
        criteria=criteria,
        platform=StudyPlatform(name=spec.platform, returns=preset_returns(spec.platform))
        if spec.platform
        else None,
    )
    items, key = [*training, *item_set.items], list(item_set.key)
    for item, line in make_checks(spec.kind, spec.checks, spec.languages, criteria, spec.seed):
        items.append(item)
        key.append(line)
    texts = {
        language: load_texts(spec.kind, language, guide.get(language, "")) for language in spec.languages
    }
    mime = (
        "mcq" in spec.kind
        and spec.labels is None
        and all(name.partition("/")[0] == "mime" for name in spec.origin)
    )
    interface = {language: DEFAULTS.mime_interface[language] for language in spec.languages} if mime else {}
    write_study(folder, study, items, key, texts, interface)
    load_study(folder)
    notes += describe_balance(study, items)
    places = count_places(study, items)
    return StudyDraft(study=study, items=len(item_set.items), places=places, notes=tuple(notes))


def _check_spec(spec: StudySpec) -> None:
    if spec.kind not in PAGES:
        raise unknown_name_error("kind of study", spec.kind, PAGES)
    if not spec.origin:
        raise UsageError("Say with --from what the study is made from: a benchmark, runs or a pack")
    for language in spec.languages:
        if language not in LANGUAGES:
            raise unknown_name_error(
                "language", language, LANGUAGES, "(others: add their files to the study afterwards)"
            )


def _describe_media(media: MediaStore, *, copy: bool) -> Iterator[str]:
    """What became of the media files, where it is not what was asked for."""
    if media.unplayable:
        path, fault = next(iter(media.unplayable.items()))
        yield (
            f"{len(media.unplayable)} videos do not play in every browser, the first is {path}, which {fault}; add "
            "--transcode to copy them as MP4 (H.264)"
        )
    if media.transcoded:
        yield f"{media.transcoded} videos were copied as MP4 (H.264), which every browser plays"
    if media.copied and not copy:
        yield f"{media.copied} media files were copied, because they lie on another disk"


def _clean_up(media: MediaStore, folder: Path) -> None:
    """Take back what a study that cannot be made has put on the disk."""
    remove(media.folder)
    folder.rmdir()


def _make_items(
    spec: StudySpec, media: MediaStore, notes: list[str]
) -> tuple[ItemSet, tuple[StudyCriterion, ...], LocalizedText]:
    """Items, scales, and what the instructions say about the scales."""
    if spec.key is not None and spec.kind != "blind-comments":
        raise UsageError("--key is the key of a pack: it goes with --kind blind-comments")

    def select(origin: str) -> SampleSelection:
        only = spec.only.get(origin, frozenset()) if spec.only else None
        return SampleSelection(where=spec.where, limit=spec.limit, seed=spec.seed, only=only)

    if spec.labels is not None:
        (run,) = open_runs(spec.origin, spec.kind, 1)
        return make_label_items(run, spec.labels, media, select(spec.origin[0]).only), (), {}
    if spec.kind in ("mcq", "free-then-mcq"):
        samples = select_samples(spec.origin, spec.data, select(spec.origin[0]))
        return (
            make_choice_items(
                samples, media, spec.balance, spec.seed, spec.question, odd_options=spec.odd_options
            ),
            (),
            {},
        )
    if spec.kind == "blind-comments":
        if spec.where:
            raise UsageError("--where does not apply to packs; choose when the pack is made")
        pack = open_pack(spec.origin)
        key = open_key(spec.key, pack) if spec.key is not None else None
        only = select(spec.origin[0]).only
        if key is None:
            notes.append(
                "without --key nothing here knows who wrote what: exports are judgements of the pack"
            )
        return make_comment_items(pack, key, media, spec.limit, spec.seed, only), (DEFAULTS.realism,), {}
    if spec.kind in ("spans", "free-follow-up"):
        samples = select_samples(spec.origin, spec.data, select(spec.origin[0]))
        criteria = (DEFAULTS.confidence,) if spec.kind == "free-follow-up" else ()
        return make_open_items(samples, media, spec.question, videos=spec.kind == "spans"), criteria, {}
    return _make_answer_items(spec, media, select, notes)


def _make_answer_items(
    spec: StudySpec, media: MediaStore, select: Callable[[str], SampleSelection], notes: list[str]
) -> tuple[ItemSet, tuple[StudyCriterion, ...], LocalizedText]:
    """The same for studies of the answers that runs hold."""
    reference = spec.languages if spec.reference else ()
    if spec.kind == "pairwise":
        runs = open_runs(spec.origin, spec.kind, 2)
        both = [select_answers(run, select(name), notes) for run, name in zip(runs, spec.origin, strict=True)]
        return make_pair_items(runs, both, media, spec.seed, reference=reference), (), {}
    runs = open_runs(spec.origin, spec.kind)
    if spec.kind in ("best-worst", "sliders"):
        least = 3 if spec.kind == "best-worst" else 2
        if len(runs) < least:
            raise UsageError(
                f"A study of the kind '{spec.kind}' is made from {least} or more runs, not {len(runs)}"
            )
        answers = [
            select_answers(run, select(name), notes) for run, name in zip(runs, spec.origin, strict=True)
        ]
        slides = spec.kind == "sliders"
        item_set = make_group_items(
            runs, answers, media, spec.seed, reference=reference, hide=spec.reference and slides
        )
        return item_set, (DEFAULTS.quality,) if slides else (), {}
    by_model: dict[str, Run] = {}
    for run in runs:
        # Ratings are joined to answers by sample and model.
        if (other := by_model.setdefault(run.model, run)) is not run:
            raise UsageError(
                f"--from {other.dir.path} {run.dir.path}: both are by {run.model}, and ratings do not tell its runs "
                "apart; make a study of each, or compare the two with --kind pairwise"
            )
    answers = [select_answers(run, select(name), notes) for run, name in zip(runs, spec.origin, strict=True)]
    item_set = make_rating_items(runs, answers, media, spec.seed, reference=reference)
    tasks = sorted({answer.sample.task for run_answers in answers for answer in run_answers})
    if any(not task.startswith("mmie/") for task in tasks):
        return item_set, (DEFAULTS.score,), {}
    short = [task.partition("/")[2] for task in tasks]
    return (
        item_set,
        choose_mmie_criteria(short),
        {language: format_mmie_guide(short, language) for language in spec.languages},
    )


def _choose_title(spec: StudySpec) -> LocalizedText:
    if spec.title:
        return dict.fromkeys(spec.languages, spec.title)
    return {language: DEFAULTS.titles[spec.kind][language] for language in spec.languages}


def _choose_share(spec: StudySpec, items: Sequence[StudyItem], queue: str = "") -> int:
    """Items per participant: as asked, else the usual number or the most that leaves no judgement short."""
    facets = {name for item in items for name in item.facets}
    for facet in spec.balance:
        if facet not in facets:
            raise unknown_name_error("facet in --balance", facet, facets)
    if queue:
        longest = max(Counter(item.facets[queue] for item in items).values())
        return min(spec.items_per_participant or longest, longest)
    groups = list(Counter(map(item_group, items)).values())
    wanted = spec.items_per_participant or USUAL_SHARE
    fits = find_largest_share(groups, spec.judgements_per_item, wanted)
    if spec.items_per_participant is not None and fits < wanted:
        short = count_shortage(groups, spec.judgements_per_item, wanted)
        raise UsageError(
            f"--items-per-participant {wanted}: {short} of {len(items) * spec.judgements_per_item} judgements would "
            f"be short, because there are {len(items)} items from {len(groups)} videos and nobody may meet a video "
            f"twice; the most is {fits}"
        )
    return fits
