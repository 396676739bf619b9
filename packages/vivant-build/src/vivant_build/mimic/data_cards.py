"""What an edition says of itself: a data sheet, and a card with the header that data hubs read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import yaml

from vivant.benchmarks.mimic.format import MimicItem, MimicVideo
from vivant.benchmarks.mimic.names import choose_length_bucket
from vivant.core.table import to_markdown
from vivant_build.mimic.audit import describe_guessability, read_report
from vivant_build.mimic.rank_matching import VARIANT
from vivant_build.mimic.settings import IngestSettings, PipelineSettings
from vivant_build.mimic.steps import RECORD, read_record
from vivant_build.mimic.topics import uses_topics
from vivant_build.templates import render_markdown

_SIZES = ((1000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
_STEPS = ("ingest", "clean", "topics", "select", "split", "tasks", "audit", "pool")


def render_card(
    work: Path, settings: PipelineSettings, videos: Sequence[MimicVideo], items: Sequence[MimicItem]
) -> str:
    """The README of the full edition."""
    return render_markdown(
        "vivant_build.mimic",
        "card.md.j2",
        name=settings.publish.name,
        head=_format_head(settings, videos, len(items)),
        videos=len(videos),
        items=len(items),
        tasks=Counter(item.task for item in items),
        verdict=_verdict(work),
        contact=_contact(settings),
    )


def _format_head(settings: PipelineSettings, videos: Sequence[MimicVideo], items: int) -> str:
    """What hubs read, as YAML: a name may hold a colon, and the language `no` is not false."""
    content = {
        "pretty_name": settings.publish.name,
        "license": settings.publish.licence,
        "language": sorted({video.language for video in videos if video.language}),
        "task_categories": ["visual-question-answering", "video-text-to-text"],
        "size_categories": [next((name for limit, name in _SIZES if items < limit), "100K<n<1M")],
        "tags": ["video", "user-generated", "multiple-choice", "mimic-bench"],
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def render_datasheet(
    work: Path,
    settings: PipelineSettings,
    masking: IngestSettings,
    videos: Sequence[MimicVideo],
    items: Sequence[MimicItem],
) -> str:
    """The data sheet, with the counts of every step. What it says of a step is from that step's own record."""
    selection = read_record(work, "select").parameters
    licences = Counter((video.licence or "not stated", _origin(video.source)) for video in videos)
    return render_markdown(
        "vivant_build.mimic",
        "datasheet.md.j2",
        name=settings.publish.name,
        videos=len(videos),
        platforms=Counter(video.platform for video in videos),
        comments=sum(len(video.comments) for video in videos),
        facets={
            "category": Counter(video.category or "unknown" for video in videos),
            "language": Counter(video.language or "unknown" for video in videos),
            "length": Counter(choose_length_bucket(video.duration) for video in videos),
            "questions": Counter(item.task for item in items),
        },
        steps=[
            to_markdown(read_record(work, step).table())
            for step in _STEPS
            if (work / step / RECORD).is_file() and (step != "topics" or uses_topics(work))
        ],
        weights=selection["weights"],
        top=selection["top"],
        mentions={"remove": "removed", "hash": "hashed", "keep": "kept"}[masking.mentions],
        links={"remove": "removed", "keep": "kept"}[masking.links],
        contact=_contact(settings),
        licences=licences.most_common(20),
        verdict=_verdict(work),
    )


def render_ids_card(settings: PipelineSettings, videos: int, items: int) -> str:
    """The README of the edition of ids."""
    return render_markdown(
        "vivant_build.mimic", "ids_card.md.j2", name=settings.publish.name, videos=videos, items=items
    )


def _verdict(work: Path) -> str:
    return " ".join(
        f"{sentence}." for sentence in describe_guessability(read_report(work), f"the edition {VARIANT}")
    )


def _contact(settings: PipelineSettings) -> str:
    return f" Write to {settings.publish.contact}." if settings.publish.contact else ""


def _origin(source: str) -> str:
    """Where data come from, without naming a single video."""
    is_url = source.startswith(("http://", "https://"))
    return source.split("/")[2] if is_url else source or "not stated"
