"""A small clean world for the steps after clean: Parquet as they read it, without running what comes before."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tests.support.media_kit import make_video
from vivant.core.randomness import derive_generator
from vivant.metrics.text import normalise_text
from vivant_build.mimic.audit import audit
from vivant_build.mimic.comment_pool import make_comment_pool
from vivant_build.mimic.publication import publish
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.settings import AuditSettings, PipelineSettings, SelectSettings
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.steps import begin_step
from vivant_build.mimic.tasks import make_tasks
from vivant_build.privacy.audit import read_planted_set

SUBJECTS: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "Food": (("sourdough bread", "baking", "oven"), ("ramen noodles", "cooking", "broth")),
    "Pets": (("kitten", "cuddling", "whiskers"), ("parrot", "talking", "feathers")),
    "Music": (("violin", "playing", "strings"), ("drum solo", "practising", "cymbals")),
    "Sports": (("penalty kick", "scoring", "goalkeeper"), ("marathon", "running", "finish line")),
    "Gaming": (("speedrun", "beating", "final boss"), ("pixel castle", "building", "blocks")),
    "Travel": (("mountain hut", "hiking to", "summit"), ("night market", "visiting", "lanterns")),
    "Science": (("volcano model", "erupting", "lava"), ("telescope", "pointing", "galaxy")),
    "Craft": (("wool scarf", "knitting", "needles"), ("oak chair", "carving", "chisel")),
}
"""Category → subject, what is done with it, and a word that belongs to it."""
_TELLING = {word for group in SUBJECTS.values() for names in group for name in names for word in name.split()}
_TITLES = (
    "{doing} my {subject} again",
    "this {subject} was worth it",
    "the {subject} nobody expected",
    "how I end up {doing} a {subject}",
)
_ABOUT = (
    "that {word} at the end though",
    "I could watch a {subject} all day",
    "never saw anyone {doing} like this",
    "the {word} made my evening",
)
_GENERIC = (
    "first",
    "who is here in june",
    "came for the song",
    "you earned a follow",
    "this is so me",
    "wait for it",
    "my sister sent me this",
    "underrated",
    "greetings from far away",
    "again please",
)
_EMOJI = ("", "", " 😂", " ❤️", " 🔥🔥", "!!")
_START = datetime.datetime(2025, 1, 1)
VIDEO_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("ref", "platform", "id", "uploader", "title", "description"), pl.String),
    "tags": pl.List(pl.String),
    "topics": pl.List(pl.String),
    "category": pl.String,
    "language": pl.String,
    "uploaded": pl.Datetime("us"),
    "duration": pl.Float64,
    "width": pl.Int32,
    "height": pl.Int32,
    **dict.fromkeys(("views", "likes", "comment_count"), pl.Int64),
    **dict.fromkeys(("licence", "source", "file"), pl.String),
    "dup_group": pl.Int64,
}
COMMENT_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("ref", "id", "text"), pl.String),
    "likes": pl.Int64,
    "time": pl.Datetime("us"),
    "reply_to": pl.String,
    "language": pl.String,
}


def video(number: int, **changes: Any) -> dict[str, Any]:
    """A video of the world; its subject follows from its number."""
    chance = derive_generator(0, "kit", str(number))
    category = list(SUBJECTS)[number % len(SUBJECTS)]
    subject, doing, word = SUBJECTS[category][number // len(SUBJECTS) % 2]
    platform = "tiktok" if number % 3 == 0 else "youtube"
    views = int(10 ** chance.uniform(2, 6))
    fields: dict[str, Any] = {
        "platform": platform,
        "id": f"v{number:05d}",
        "uploader": f"u{number // 2:05d}",
        "title": f"{chance.choice(_TITLES).format(subject=subject, doing=doing)} {number}{chance.choice(_EMOJI)}",
        "description": f"Day {number}: {doing} a {subject}, with more {word} than I had planned{chance.choice(_EMOJI)}",
        "tags": [word.replace(" ", ""), f"{subject.split()[-1]}{number % 7}", "fyp"],
        "topics": [subject],
        "category": category,
        "language": "en",
        "uploaded": _START + datetime.timedelta(hours=number),
        "duration": float(5 + number * 7 % 400),
        "width": 64,
        "height": 48,
        "views": views,
        "likes": int(views * chance.uniform(0.01, 0.1)),
        "comment_count": int(views * chance.uniform(0.001, 0.01)),
        "licence": "",
        "source": "kit",
        "file": "",
        "dup_group": number,
    }
    fields |= changes
    fields["ref"] = f"{fields['platform']}/{fields['id']}"
    return fields


def thread(of: Mapping[str, Any], count: int = 106) -> list[dict[str, Any]]:
    """Comments under a video: some about it, most about nothing."""
    subject = of["topics"][0] if of["topics"] else "thing"
    return [dict(comment) for comment in _write_thread(of["ref"], subject, count)]


@cache
def _write_thread(ref: str, subject: str, count: int) -> list[dict[str, Any]]:
    chance = derive_generator(0, "kit", "comments", ref)
    doing, word = next(
        ((d, w) for group in SUBJECTS.values() for s, d, w in group if s == subject), ("doing", "part")
    )
    comments = []
    for place in range(count):
        about = chance.random() < 0.3
        text = chance.choice(_ABOUT if about else _GENERIC).format(subject=subject, doing=doing, word=word)
        comments.append(
            {
                "ref": ref,
                "id": f"c{place:03d}",
                "text": f"{text} {chance.randrange(10**6)}{chance.choice(_EMOJI)}",
                "likes": max(0, 5000 // (place + 1) - place),
                "time": _START + datetime.timedelta(minutes=place),
                "reply_to": "",
                "language": "en",
            }
        )
    chance.shuffle(comments)
    return comments


def write_clean(
    work: Path, videos: Iterable[Mapping[str, Any]], comments: Iterable[Mapping[str, Any]] | None = None
) -> None:
    """WORK/clean as the step clean leaves it."""
    rows = [dict(one) for one in videos]
    said = [dict(c) for c in comments] if comments is not None else [c for v in rows for c in thread(v)]
    with begin_step(work, "clean", [], {"videos": len(rows), "comments": len(said)}, force=True) as step:
        for name, schema, lines in (("videos", VIDEO_SCHEMA, rows), ("comments", COMMENT_SCHEMA, said)):
            (step.folder / name).mkdir()
            table = pl.DataFrame(lines, schema=schema)
            half = max(1, table.height // 2)
            table[:half].write_parquet(step.folder / name / "part-0.parquet")
            table[half:].write_parquet(step.folder / name / "part-1.parquet")
        step.count("videos", into=len(rows), out=len(rows))


def build_all(root: Path, videos: list[dict[str, Any]], chosen: PipelineSettings) -> Path:
    """A work folder from clean to publish, with a file for every video; media lie in `root/media`."""
    media = root / "media"
    media.mkdir(parents=True)
    base = make_video(media / "base.mp4", frames=3).read_bytes()
    for number, one in enumerate(videos):
        one["file"] = f"{one['id']}.mp4"
        # A box that players pass over makes each file its own.
        box = (12).to_bytes(4, "big") + b"free" + number.to_bytes(4, "big")
        (media / one["file"]).write_bytes(base + box)
    work = root / "work"
    write_clean(work, videos, [c for v in videos for c in thread(v, 103)])
    (work / "ingest").mkdir()
    (work / "ingest" / "media.txt").write_text(f"{media}\n")
    select_videos(work, chosen)
    split_videos(work, chosen)
    make_tasks(work, chosen, encoder=Words())
    with without_figures():
        audit(work, chosen, encoder=Words())
    make_comment_pool(work, chosen)
    with with_few_planted_texts():
        publish(work, chosen)
    return work


@contextmanager
def without_figures() -> Iterator[None]:
    """Let the step audit draw no figures: they take longer than the audit of a small world."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vivant_build.mimic.audit.draw_distributions", lambda *_: [])
        yield


@contextmanager
def with_few_planted_texts() -> Iterator[None]:
    """Let the step publish mask planted texts in one language: all of them take longer than all else."""
    whole = read_planted_set()
    few = msgspec.structs.replace(whole, sentences={"en": whole.sentences["en"]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vivant_build.privacy.audit.read_planted_set", lambda: few)
        yield


def settings(target: int = 64, **sections: Any) -> PipelineSettings:
    """Settings for a small world."""
    chosen = {
        "select": SelectSettings(target=target, top={"*": 0.5}),
        "audit": AuditSettings(practice=64),
    }
    return PipelineSettings(**{**chosen, **sections})


class Words:
    """Stands in for MiniLM: texts are alike where they speak of the same subject."""

    def __init__(self) -> None:
        self.asked = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += len(texts)
        rows = np.zeros((len(texts), 384), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in normalise_text(text).split():
                row[sum(map(ord, word)) * 7919 % 384] += 3 if word in _TELLING else 0.5
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6), np.float32)
