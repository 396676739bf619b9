"""What an edition says of itself: a data sheet, and a card with the header that data hubs read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from vivant.benchmarks.mimic.format import Item, VideoLine
from vivant.benchmarks.mimic.names import length_bucket
from vivant.build.mimic.audit import read_report
from vivant.build.mimic.settings import PipelineSettings
from vivant.build.mimic.steps import RECORD, read_record
from vivant.core.table import to_markdown

_SIZES = ((1000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
_STEPS = ("ingest", "clean", "select", "split", "tasks", "audit", "pool")

_CARD = """\
---
pretty_name: {name}
license: {licence}
language: [{languages}]
task_categories: [visual-question-answering, video-text-to-text]
size_categories: [{size}]
tags: [video, user-generated, multiple-choice, mimic-bench]
---
# {name}

{videos:,} videos that people published, and {items:,} questions made from what stands beside them: titles,
descriptions, tags, topics, categories and comments. Seven tasks have four options each, in the manner of
MIMIC-Bench; for an eighth, in which a model writes a comment of its own, `pool/` holds people's most-liked comments.

{tasks}

## Use

    vivant data check mimic --data .
    vivant run mimic --data . --model NAME
    sha256sum -c SHA256SUMS

`videos.jsonl` and `items.jsonl` are described in Vivant's docs/mimic.md. Each option names the video (and comment) it
comes from.

## What options alone give away

{verdict} `audit.md` has the figures, `solved.txt` the items that every guesser gets right.

## Training data

`proof.json` shows that no video, uploader or near-duplicate of this edition is in the training set that was made
with it. It says nothing about what other models were trained on.

## Before you pass it on

The videos, titles and comments are other people's. Whether you may copy them depends on the platform's terms, their
licences (a field of `videos.jsonl`) and your law. The edition of ids in `ids.jsonl` holds none of their words.
{contact}
"""

_SHEET = """\
# Data sheet: {name}

## What it is for
Measuring what multimodal models understand of user videos: what makers say of them, how they are filed, what viewers
write. It is not for finding out anything about the people who made or watched them.

## What is in it
{videos:,} videos: {platforms}. {comments:,} comments are carried along, the most-liked ones of each video, no replies.

{facets}

## How it was made
{steps}

The interaction score of a video is a weighted mean of its places, within its platform, by views, likes, comments,
likes per view and comments per view (weights {weights}); the top {top} of a platform could be chosen,
spread over category, language and length.

## People
Uploaders are hashes with a salt that is not published. @-mentions: {mentions}; links and e-mail addresses: {links}.
Names that stand in running text, faces and voices are not removed. Nobody was asked. If somebody wants a video or
comment out, take its line out of `videos.jsonl`, and every item that names it out of `items.jsonl`.{contact}

## Licences and sources, as the data state them
{licences}

## Known limits
Popular videos are not typical ones. Languages are guessed from text where the platform does not say. Wrong options come
from unrelated videos, so that questions are easier than between near ones. Likeness of meaning was judged by
all-MiniLM-L6-v2, which knows English best. {verdict}
"""


def render_card(
    work: Path, settings: PipelineSettings, videos: Sequence[VideoLine], items: Sequence[Item]
) -> str:
    """The README of the full edition."""
    tasks = Counter(item.task for item in items)
    rows = "\n".join(f"| {task} | {number:,} |" for task, number in tasks.items())
    languages = sorted({video.language for video in videos if video.language})
    return _CARD.format(
        name=settings.publish.name,
        licence=settings.publish.licence,
        languages=", ".join(languages),
        size=next((name for limit, name in _SIZES if len(items) < limit), "100K<n<1M"),
        videos=len(videos),
        items=len(items),
        tasks=f"| task | items |\n|---|---:|\n{rows}",
        verdict=_verdict(work),
        contact=_contact(settings),
    )


def render_datasheet(
    work: Path, settings: PipelineSettings, videos: Sequence[VideoLine], items: Sequence[Item]
) -> str:
    """The data sheet, with the counts of every step."""
    platforms = Counter(video.platform for video in videos)
    facets = {
        "category": Counter(video.category or "unknown" for video in videos),
        "language": Counter(video.language or "unknown" for video in videos),
        "length": Counter(length_bucket(video.duration) for video in videos),
        "questions": Counter(item.task for item in items),
    }
    licences = Counter((video.licence or "not stated", video.source or "not stated") for video in videos)
    steps = [
        to_markdown(read_record(work, step).table()) for step in _STEPS if (work / step / RECORD).is_file()
    ]
    weights = settings.select.weights
    return _SHEET.format(
        name=settings.publish.name,
        videos=len(videos),
        platforms=", ".join(f"{number:,} {name}" for name, number in platforms.most_common()),
        comments=sum(len(video.comments) for video in videos),
        facets="\n".join(f"- **{facet}**: {_listed(found)}" for facet, found in facets.items()),
        steps="\n".join(steps),
        weights=", ".join(f"{name} {getattr(weights, name):g}" for name in weights.__struct_fields__),
        top=", ".join(f"{share:.0%} ({name})" for name, share in sorted(settings.select.top.items())),
        mentions={"remove": "removed", "hash": "hashed", "keep": "kept"}[settings.ingest.mentions],
        links={"remove": "removed", "keep": "kept"}[settings.ingest.links],
        contact=_contact(settings),
        licences="\n".join(
            f"- {licence}; {_place(source)}: {n:,}" for (licence, source), n in _grouped(licences)
        ),
        verdict=_verdict(work),
    )


def render_ids_card(settings: PipelineSettings, videos: int, items: int) -> str:
    """The README of the edition of ids."""
    return (
        f"# {settings.publish.name}: ids\n\n{videos:,} videos and {items:,} questions as ids, places and hashes. "
        "It holds no video and none of the words that people wrote. To make the benchmark from it, where the "
        "platforms' terms allow you to:\n\n    vivant data get mimic --from ids.jsonl --accept-terms\n\n"
        "What has been deleted or changed since is left out, and listed in `missing.jsonl`.\n"
    )


def _verdict(work: Path) -> str:
    report = read_report(work)
    if not report.failing:
        return "No guesser that sees only the options is above chance in any task."
    return (
        f"In {', '.join(report.failing)} a guesser that sees only the options is above chance: compare scores with "
        "that, not with 25 %."
    )


def _contact(settings: PipelineSettings) -> str:
    return f" Write to {settings.publish.contact}." if settings.publish.contact else ""


def _listed(found: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in found.most_common())


def _place(source: str) -> str:
    """Where data come from, without naming a single video."""
    return source.split("/")[2] if source.startswith(("http://", "https://")) else source


def _grouped(licences: Counter[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    by_place: Counter[tuple[str, str]] = Counter()
    for (licence, source), number in licences.items():
        by_place[licence, _place(source)] += number
    return by_place.most_common(20)
