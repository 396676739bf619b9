"""MIME's own judgements, `human_eval.jsonl`, as a study: into its store and, by an export, back.

A line brings the question as its person saw it, options and key included. So a folder that is no study yet becomes
one, made from the lines; in a study that is there already, they must be its items.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.data_files import iter_json_objects
from vivant.benchmarks.mime import human, names
from vivant.benchmarks.mime.text_lists import split_texts
from vivant.benchmarks.multiple_choice import option_name
from vivant.core.errors import DataError, MediaError
from vivant.core.types import Option, Sample, Video
from vivant_study.balance import find_largest_share
from vivant_study.default_texts import DEFAULTS, load_texts
from vivant_study.design import STUDY_FILE, KeyLine, Study, StudyItem, StudyText
from vivant_study.export.native import MIME, MIME_URL, PERSONAL
from vivant_study.judgement import StudyJudgement, StudyPerson
from vivant_study.key import load_fitting_key
from vivant_study.loading import load_study
from vivant_study.make.items import ROOT, SAMPLE, opaque_name
from vivant_study.make.media_store import MediaStore
from vivant_study.make.templates import QUEUE, SET
from vivant_study.writing import create_folder, write_study

_NO_VIDEO = "(The video is not in this study's folder.)"
_OF_PERSON = ("annotator", *PERSONAL)
_SHOWN = ("options", "label_idx")
"""What of a question differs from person to person."""


class MimeImport(Struct, frozen=True, kw_only=True):
    """What was taken in."""

    people: int
    judgements: int
    items: int
    notes: tuple[str, ...] = ()


class _Line(Struct, frozen=True):
    location: str
    raw: dict[str, Any]
    """The question, as it is written."""
    address: dict[str, Any]
    """What the page's address said, without what tells of a person."""
    judged: human.HumanJudgement

    @property
    def video(self) -> str:
        return names.join_key(self.judged.question.s3_url) or self.judged.sample_id

    @property
    def annotator(self) -> str:
        """As the file has it where that is a digest; else hashed: names of people stay out of the store."""
        annotator = self.judged.url_data.annotator
        return annotator if re.fullmatch(r"[0-9a-f]{64}", annotator) else human.hash_annotator(annotator)


def import_mime(
    folder: Path, files: Sequence[Path], data: str | None = None, database: str | None = None
) -> MimeImport:
    """Take the judgements of several files into a study's store; `data` brings facets and videos to a new one."""
    # Late: SQLAlchemy is an extra.
    from vivant_study.store import open_store

    notes: list[str] = []
    lines = list(_read_lines(files, notes))
    if not lines:
        raise DataError(f"{', '.join(map(str, files))}: no judgements")
    if not (folder / STUDY_FILE).is_file():
        _make_study(folder, lines, data, notes)
    loaded = load_study(folder)
    items = _index_items(loaded.items, load_fitting_key(loaded))
    judgements = [judgement for line in lines for judgement in _build_judgements(line, items)]
    people = [
        StudyPerson(annotator=name, state="finished") for name in dict.fromkeys(x.annotator for x in lines)
    ]
    with open_store(folder, database) as store:
        store.add_imported(people, judgements)
    return MimeImport(
        people=len(people), judgements=len(judgements), items=len(loaded.items), notes=tuple(notes)
    )


def _read_lines(files: Sequence[Path], notes: list[str]) -> Iterator[_Line]:
    """Each line; of a person's several judgements of one video the first."""
    seen: set[tuple[str, str]] = set()
    repeated = 0
    for file in files:
        for number, raw in iter_json_objects(file):
            if not human.is_judgement(raw):
                raise DataError(f"{file}, line {number}: this is no line of {human.FILE_NAME}")
            judged = human.parse_judgement(file, number, raw)
            address = {name: value for name, value in raw["url_data"].items() if name not in _OF_PERSON}
            line = _Line(f"{file}, line {number}", raw["question"], address, judged)
            if (line.annotator, line.video) in seen:
                repeated += 1
                continue
            seen.add((line.annotator, line.video))
            yield line
    if repeated:
        notes.append(f"repeated judgements of a person on one video dropped: {repeated}")


def _index_items(items: Sequence[StudyItem], key: Any) -> dict[str, StudyItem]:
    """Items under all names that their videos go by."""
    by_name: dict[str, StudyItem] = {}
    for item in items:
        extra = key[item.id].extra if item.id in key else {}
        name = extra.get(SAMPLE, {}).get("extra", {}).get("file_name", "")
        url = extra.get(MIME, {}).get("s3_url", "")
        for alias in (item.id, names.join_key(name) if name else "", names.join_key(url) if url else ""):
            if alias:
                by_name.setdefault(alias, item)
    return by_name


def _build_judgements(line: _Line, items: dict[str, StudyItem]) -> Iterator[StudyJudgement]:
    item = items.get(line.video) or items.get(line.judged.sample_id)
    if item is None:
        raise DataError(
            f"{line.location}: the video '{line.video}' is not in the study; import into a new folder"
        )
    question = line.judged.question
    if sorted(question.options) != sorted(item.options):
        raise DataError(
            f"{line.location}: its options are not those of the item '{item.id}'; import into a new folder"
        )
    shown_order = tuple(item.options.index(text) for text in question.options)
    position = line.judged.question_i or 0
    if line.judged.user_answer is not None:
        yield StudyJudgement(
            annotator=line.annotator,
            item=item.id,
            page="free",
            answer=line.judged.user_answer,
            position=position,
        )
    if line.judged.user_mcq_selection is not None:
        yield StudyJudgement(
            annotator=line.annotator,
            item=item.id,
            page="choose",
            answer=shown_order[line.judged.user_mcq_selection - 1],
            shown=shown_order,
            position=position,
            leaves=line.judged.count_exited_page or 0,
        )


# ── a study from the lines ───────────────────────────────────────────────────────────────────────


def _make_study(folder: Path, lines: Sequence[_Line], data: str | None, notes: list[str]) -> None:
    first: dict[str, _Line] = {}
    counts: dict[str, int] = {}
    for line in lines:
        existing = first.setdefault(line.video, line)
        counts[line.video] = counts.get(line.video, 0) + 1
        if sorted(existing.judged.question.options) != sorted(line.judged.question.options):
            raise DataError(f"{line.location}: other options for '{line.video}' than in {existing.location}")
    index, root = _load_samples(data)
    create_folder(folder)
    media = MediaStore(folder, 0, copy=False)
    items, key = [], []
    for line in first.values():
        item, entry = _build_item(line, index, root, media)
        items.append(item)
        key.append(entry)
    absent = sum(isinstance(item.content[0], StudyText) for item in items)
    if absent:
        notes.append(
            f"{absent} of {len(items)} videos are not at hand: the study holds their judgements but cannot be served"
        )
    groups = Counter(item.group for item in items)
    each = Counter(counts.values()).most_common(1)[0][0]
    study = Study(
        kind="free-then-mcq",
        title={"en": DEFAULTS.titles["free-then-mcq"]["en"]},
        origin="mime",
        items_per_participant=find_largest_share(list(groups.values()), each, 43),
        judgements_per_item=each,
    )
    write_study(folder, study, items, key, {"en": load_texts("free-then-mcq", "en")})


def _load_samples(data: str | None) -> tuple[names.SampleIndex, Path]:
    if data is None:
        return names.SampleIndex(()), Path()
    benchmark = registry.get("mime")
    root = registry.locate(benchmark, data)
    return names.SampleIndex(benchmark.load(root, "mcq")), benchmark.data.media_root(root)


def _build_item(
    line: _Line, index: names.SampleIndex, root: Path, media: MediaStore
) -> tuple[StudyItem, KeyLine]:
    question = line.judged.question
    right = question.options[question.label_idx]
    # Sorted by the alphabet, so that the order tells nothing.
    options = tuple(sorted(question.options))
    sample = _build_sample(line, index.find(question.s3_url, line.judged.sample_id), right)
    content: tuple[Any, ...] = (StudyText(_NO_VIDEO),)
    if root != Path():
        try:
            content = media.content(sample.question, root)
        except MediaError:
            # Judgements without their videos are still judgements; a note says how many there are.
            content = (StudyText(_NO_VIDEO),)
    facets = {name: value for name, value in sample.facets.items() if name != "action"}
    facets |= {name: str(line.address[name]) for name in (QUEUE, SET) if name in line.address}
    item = StudyItem(
        id=sample.id,
        group=opaque_name(sample.cluster),
        content=content,
        options=options,
        facets=facets,
    )
    question_fields = {name: value for name, value in line.raw.items() if name not in _SHOWN}
    entry = KeyLine(
        item=sample.id,
        option=options.index(right),
        accepted=split_texts(question.label),
        extra={
            SAMPLE: msgspec.to_builtins(sample),
            ROOT: str(root.resolve()),
            MIME: question_fields,
            MIME_URL: line.address,
        },
    )
    return item, entry


def _build_sample(line: _Line, existing: Sample | None, right: str) -> Sample:
    """The sample with the options that people saw, which are not those of the released data."""
    question, url = line.judged.question, line.raw
    options = (right, *(text for text in question.options if text != right))
    named = tuple(Option(option_name(position), text) for position, text in enumerate(options))
    if existing is not None:
        return msgspec.structs.replace(existing, options=named, key=0, answers=split_texts(question.label))
    name = names.file_name(question.s3_url) or line.judged.sample_id
    parsed = names.parse_video_name(name)
    real = parsed.dataset != "MIME"
    background = str(url.get("background_config") or url.get("background") or "")
    background = "blank" if parsed.background == "blank" else background
    variant = names.REAL if real else names.format_variant(parsed.avatar, background, parsed.angle)
    absent = names.NOT_APPLICABLE
    action = str(url.get("action") or parsed.action or name)
    return Sample(
        id=line.judged.sample_id,
        task="mime/mcq",
        question=(Video(name),),
        options=named,
        key=0,
        answers=split_texts(question.label),
        facets={
            "variant": variant or absent,
            "action": action,
            "actor": parsed.actor or absent,
            "avatar": parsed.avatar or absent,
            "background": absent if real else background or absent,
            "background_name": parsed.background or absent,
            "angle": parsed.angle or absent,
            "dataset": "REAL" if real else "MIME",
            "split": str(url.get("split") or absent),
        },
        cluster=action,
        extra={"file_name": name},
    )
