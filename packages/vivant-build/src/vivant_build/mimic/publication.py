"""The step publish: the benchmark as a folder that others can use, and as ids that may be passed on.

WORK/publish/full   videos.jsonl, items.jsonl, videos/, pool/, README.md, DATASHEET.md, audit, privacy.json, SHA256SUMS
WORK/publish/matched    the same with matched options in comment popularity, where the audit has drawn them
WORK/publish/ids    ids.jsonl, README.md, SHA256SUMS
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, MimicItem, MimicVideo, iter_items, iter_videos
from vivant.benchmarks.mimic.names import OWN
from vivant.core.errors import DataError
from vivant.core.files import read_jsonl, write_jsonl
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant_build.mimic.audit import VARIANT_ITEMS
from vivant_build.mimic.data_cards import render_card, render_datasheet, render_ids_card
from vivant_build.mimic.ids_edition import FILE, IdsHeader, write_ids
from vivant_build.mimic.media_files import find_media, link_or_copy
from vivant_build.mimic.rank_matching import VARIANT
from vivant_build.mimic.settings import IngestSettings, PipelineSettings
from vivant_build.mimic.steps import RECORD, BuildStep, begin_step, read_record
from vivant_build.mimic.tasks import MEDIA
from vivant_build.privacy import PrivacyReport, audit_privacy

STEP = "publish"
SUMS = "SHA256SUMS"
PRIVACY = "privacy.json"
_FROM_AUDIT = ("audit.md", "audit.json", "solved.txt", "overlaps.jsonl")
_FROM_SPLIT = ("proof.json", "proof.md")


def publish(
    work: Path, settings: PipelineSettings, progress: ProgressCallback = ignore_progress, force: bool = False
) -> BuildStep:
    """Write both editions."""
    masking = _read_masking(work, settings)
    parameters = {
        "publish": msgspec.to_builtins(settings.publish),
        "ingest": {"mentions": masking.mentions, "links": masking.links},
    }
    inputs = ["split", "tasks", "audit", "pool"]
    with begin_step(work, STEP, inputs, parameters, version=2, force=force) as step:
        if not step.done:
            full, ids = step.folder / "full", step.folder / "ids"
            full.mkdir()
            ids.mkdir()
            items = [item for _, item in iter_items(work / "audit")]
            videos = [video for _, video in iter_videos(work / "tasks")]
            privacy = _check_privacy(step, settings, masking, videos, items)
            (full / PRIVACY).write_bytes(msgspec.json.format(msgspec.json.encode(privacy), indent=2) + b"\n")
            write_jsonl(full / VIDEOS, videos)
            write_jsonl(full / ITEMS, items)
            there = _copy(work, full, videos, progress)
            (full / "README.md").write_text(render_card(work, settings, videos, items), encoding="utf-8")
            (full / "DATASHEET.md").write_text(
                render_datasheet(work, settings, masking, videos, items), encoding="utf-8"
            )
            _write_ids(step, ids, settings, masking, videos, items)
            for folder in (full, ids):
                write_sums(folder)
            _write_variant(step, settings, work, videos, progress)
            _report(step, videos, items, there)
            step.note(
                f"personal data: {1 - privacy.missed:.1%} of {sum(privacy.planted.values()):,} planted values masked, "
                f"{privacy.touched:.1%} of clean texts touched, {privacy.held:.2%} of {privacy.texts:,} texts hold any"
            )
    return step


def _write_variant(
    step: BuildStep,
    settings: PipelineSettings,
    work: Path,
    videos: list[MimicVideo],
    progress: ProgressCallback,
) -> None:
    """The edition with matched options beside the default one, under a name of its own."""
    source = work / "audit" / VARIANT_ITEMS
    if not source.is_file():
        return
    items = read_jsonl(source, MimicItem, DataError)
    named = msgspec.structs.replace(
        settings,
        publish=msgspec.structs.replace(settings.publish, name=f"{settings.publish.name}, {VARIANT}"),
    )
    folder = step.folder / VARIANT
    folder.mkdir()
    write_jsonl(folder / VIDEOS, videos)
    write_jsonl(folder / ITEMS, items)
    _copy(work, folder, videos, progress)
    (folder / "README.md").write_text(render_card(work, named, videos, list(items)), encoding="utf-8")
    write_sums(folder)
    step.note(
        f"the variant {VARIANT} is in {step.work / STEP / VARIANT}: {OWN} with options that differ in little but "
        "likes. Name it with every score"
    )


def _read_masking(work: Path, settings: PipelineSettings) -> IngestSettings:
    """How the step ingest treated names, by its own record: the settings at hand may be others."""
    recorded = None
    if (work / "ingest" / RECORD).is_file():
        recorded = read_record(work, "ingest").parameters.get("ingest")
    return settings.ingest if recorded is None else msgspec.convert(recorded, IngestSettings)


def _check_privacy(
    step: BuildStep,
    settings: PipelineSettings,
    masking: IngestSettings,
    videos: list[MimicVideo],
    items: list[MimicItem],
) -> PrivacyReport:
    """How well personal data are found; stops the step where they are found too rarely, or remain."""
    pool = [video for _, video in iter_videos(step.work / "pool")]
    texts = _iter_texts([*videos, *pool], items)
    report = audit_privacy(texts, mentions=masking.mentions, links=masking.links)
    limits = settings.publish
    problems = [
        f"{kind}: {1 - share:.1%} of the planted values remain"
        for kind, share in report.masked.items()
        if 1 - share > limits.missed
    ]
    if report.held > limits.missed:
        problems.append(f"{report.held:.1%} of {report.texts:,} texts to be published hold personal data")
    if problems:
        raise step.fail(
            f"{'; '.join(problems)}; at most {limits.missed:.1%} may (`missed` in the section publish). "
            "Run ingest and the steps after it again"
        )
    if report.touched > limits.touched:
        raise step.fail(
            f"{report.touched:.1%} of clean texts would be changed; at most {limits.touched:.1%} may (`touched` in the "
            "section publish)"
        )
    return report


def _iter_texts(videos: list[MimicVideo], items: list[MimicItem]) -> Iterator[str]:
    for video in videos:
        yield from (
            video.title,
            video.description,
            *video.tags,
            *(comment.text for comment in video.comments),
        )
    for item in items:
        yield from (option.text for option in item.options)


def _copy(work: Path, full: Path, videos: list[MimicVideo], progress: ProgressCallback) -> int:
    """Everything that stands elsewhere in the work folder; returns how many video files there are."""
    for step, names in (("audit", _FROM_AUDIT), ("split", _FROM_SPLIT)):
        for name in names:
            shutil.copyfile(work / step / name, full / name)
    figures = work / "audit" / "figures"
    if figures.is_dir():
        shutil.copytree(figures, full / "figures")
    (full / "pool").mkdir()
    shutil.copyfile(work / "pool" / VIDEOS, full / "pool" / VIDEOS)
    media = msgspec.json.decode((work / "tasks" / MEDIA).read_bytes(), type=dict[str, str])
    there = 0
    for number, video in enumerate(videos):
        source = find_media(work, media.get(video.ref, ""))
        if source is not None:
            link_or_copy(source, full / video.path)
            there += 1
        progress(number + 1, len(videos), "videos put in place")
    return there


def _write_ids(
    step: BuildStep,
    folder: Path,
    settings: PipelineSettings,
    masking: IngestSettings,
    videos: list[MimicVideo],
    items: list[MimicItem],
) -> None:
    tasks = read_record(step.work, "tasks").parameters["tasks"]
    header = IdsHeader(
        name=settings.publish.name,
        licence=settings.publish.licence,
        description_characters=tasks["description_characters"],
        mentions=masking.mentions,
        links=masking.links,
    )
    write_ids(folder / FILE, header, videos, items)
    (folder / "README.md").write_text(render_ids_card(settings, len(videos), len(items)), encoding="utf-8")


def write_sums(folder: Path) -> None:
    """SHA-256 of every file, in the form that `sha256sum -c` reads."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)
    lines = []
    for path in files:
        with path.open("rb") as file:
            lines.append(
                f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.relative_to(folder).as_posix()}\n"
            )
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def _report(step: BuildStep, videos: list[MimicVideo], items: list[MimicItem], there: int) -> None:
    step.count("videos", out=len(videos))
    for task, number in Counter(item.task for item in items).items():
        step.count(f"{task} items", out=number)
    if there < len(videos):
        step.note(
            f"{len(videos) - there:,} of {len(videos):,} video files are not at hand: the folder cannot be run until "
            "they are (ingest with --media, or `vivant build mimic restore ids.jsonl`)"
        )
    step.note(f"check it: vivant data check mimic --data {shlex.quote(str(step.work / STEP / 'full'))}")
