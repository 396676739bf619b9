"""Uploaders with habits, and the videos that they put up."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.randomness import derive_seed
from vivant_build.mimic.world.phrases import Ints, Phrases, join_strings

PLATFORMS = ("youtube", "tiktok")
_LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)
_DIGITS = np.frombuffer(b"0123456789", np.uint8)
_FIRST_DAY = np.datetime64("2023-01-01T00:00:00", "us")
KINDS_OF_VIDEO = ("own", "copy", "near copy", "spam", "untitled", "all comments spam", "all comments equal")


class DefectShares(Struct, frozen=True, kw_only=True):
    """How often things go wrong, as shares of all videos."""

    copies: float = 0.015
    near_copies: float = 0.02
    spam: float = 0.01
    untitled: float = 0.003
    commentless: float = 0.03
    all_spam: float = 0.002
    all_equal: float = 0.001


class InventedPlatform(Struct, frozen=True, kw_only=True):
    """All videos, as columns. `video` columns are places in lists (language, topic …), not texts."""

    table: pa.Table
    """The columns of WORK/ingest/videos."""
    language: Ints
    topic: Ints
    details: NDArray[np.int64]
    """For each video the two things that its words are about, as places in the pool of phrases."""
    kind: Ints
    """Place in KINDS_OF_VIDEO."""
    copy_of: Ints
    """Row of the video that this one copies; its own row for all others."""
    comments: Ints
    """How many comments each has."""
    clip_seed: Ints
    """How its clip differs from others of the topic; a copy has its original's."""


def array_generator(seed: int, *names: str) -> np.random.Generator:
    """A generator of arrays for the thing that `names` name."""
    return np.random.default_rng(derive_seed(seed, "mimic-world", *names))


def make_platform(
    phrases: Phrases, videos: int, comments: int, seed: int, shares: DefectShares
) -> InventedPlatform:
    """So many videos, with about so many comments to come, by a twelfth as many uploaders."""
    rng = array_generator(seed, "videos")
    people = max(3, videos // 12)
    platform = (rng.random(people) < 0.55).astype(np.int64)
    spoken = rng.choice(len(phrases.languages), people, p=phrases.shares / phrases.shares.sum())
    tastes = rng.integers(0, len(phrases.topics), (people, 3))
    fame = rng.normal(0, 1.0, people)
    # Few put up much: weights fall off with the rank, with a knee so that nobody owns the platform.
    weight = 1.0 / (np.arange(people) + 20.0) ** 0.8
    uploader = rng.choice(people, videos, p=weight / weight.sum())

    kind = _draw_kinds(videos, shares, rng)
    copy_of = np.arange(videos)
    copies = np.flatnonzero((kind == 1) | (kind == 2))
    originals = np.flatnonzero(kind == 0)
    copy_of[copies] = rng.choice(originals, len(copies))
    language = spoken[uploader][copy_of]
    at_random = rng.random(videos) < 0.1
    taste = tastes[uploader, rng.integers(0, 3, videos)]
    topic = np.where(at_random, rng.integers(0, len(phrases.topics), videos), taste)[copy_of]
    details = np.stack([phrases.choose("detail", language, topic, rng) for _ in range(2)], 1)[copy_of]

    views = np.exp(
        rng.normal(np.log(np.where(platform[uploader] == 1, 20_000, 4_000)), 1.3) + fame[uploader]
    ).astype(np.int64)
    likes = np.minimum(views, views * np.exp(rng.normal(np.log(0.045), 0.6, videos))).astype(np.int64)
    reported = (views * np.exp(rng.normal(np.log(0.006), 0.8, videos))).astype(np.int64)
    crawled = _draw_counts(reported, comments, shares, rng)
    columns = _write_texts(phrases, uploader, language, topic, details, kind, copy_of, rng)
    ids = _draw_ids(platform[uploader], rng)
    names = pa.array(
        [hashlib.sha256(f"{seed}/uploader/{n}".encode()).hexdigest()[:16] for n in range(people)]
    )
    declared = np.where(rng.random(videos) < 0.4, language, -1)
    licence = np.where(platform[uploader] == 1, 0, np.where(rng.random(videos) < 0.1, 2, 1))
    seconds = np.exp(rng.normal(np.log(np.where(platform[uploader] == 1, 25, 240)), 0.9))
    upright = platform[uploader] == 1
    codes = pa.array(["", *phrases.languages])
    table = pa.table(
        {
            "ref": join_strings(pa.array(PLATFORMS).take(pa.array(platform[uploader])), "/", ids),
            "platform": pa.array(PLATFORMS).take(pa.array(platform[uploader])),
            "id": ids,
            "uploader": names.take(pa.array(uploader)),
            **columns,
            "language": codes.take(pa.array(declared + 1)),
            "uploaded": pa.array(_FIRST_DAY + rng.integers(0, 900 * 86_400, videos) * 1_000_000),
            "duration": pa.array(np.round(seconds, 1)),
            "width": pa.array(np.where(upright, 720, 1280).astype(np.int32)),
            "height": pa.array(np.where(upright, 1280, 720).astype(np.int32)),
            "views": pa.array(views),
            "likes": pa.array(likes),
            "comment_count": pa.array(np.maximum(reported, crawled)),
            "licence": pa.array(["", "youtube standard", "cc-by"]).take(pa.array(licence)),
            "source": pa.array([f"invented by vivant build mimic world, seed {seed}"]).take(
                pa.array(np.zeros(videos, np.int64))
            ),
            "file": pa.array([""]).take(pa.array(np.zeros(videos, np.int64))),
        }
    )
    return InventedPlatform(
        table=table,
        language=language,
        topic=topic,
        details=details,
        kind=kind,
        copy_of=copy_of,
        comments=crawled,
        clip_seed=rng.integers(0, 1 << 40, videos)[copy_of],
    )


def _draw_kinds(videos: int, shares: DefectShares, rng: np.random.Generator) -> Ints:
    edges = np.cumsum(
        [shares.copies, shares.near_copies, shares.spam, shares.untitled, shares.all_spam, shares.all_equal]
    )
    drawn = np.searchsorted(edges, rng.random(videos), side="right")
    kind = np.where(drawn == len(edges), 0, drawn + 1)
    kind[0] = 0  # there is something to copy
    return kind


def _draw_counts(reported: Ints, total: int, shares: DefectShares, rng: np.random.Generator) -> Ints:
    weight = (reported + 1.0) ** 0.6 * np.exp(rng.normal(0, 0.4, len(reported)))
    weight[rng.random(len(reported)) < shares.commentless] = 0
    counts: Ints = np.floor(weight / max(weight.sum(), 1e-9) * total + rng.random(len(reported)))
    return np.where(weight > 0, counts, 0).astype(np.int64)


def _write_texts(
    phrases: Phrases,
    uploader: Ints,
    language: Ints,
    topic: Ints,
    details: NDArray[np.int64],
    kind: Ints,
    copy_of: Ints,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Title, description, tags, topics and category; a copy has its original's, a near copy's are touched up."""
    habit = uploader * 2_654_435_761 % 97
    title = phrases.fill("titles", language, topic, rng, {"detail": details[:, 0]})
    emoji = np.where(rng.random(len(topic)) < habit % 5 / 5, phrases.choose("emoji", language, topic, rng), 0)
    title = join_strings(title, pa.array(np.where(emoji > 0, " ", "")), phrases.pool.take(pa.array(emoji)))
    title = pc.if_else(pa.array(habit % 7 == 1), pc.utf8_title(title), title)
    title = pc.if_else(pa.array(habit % 7 == 2), pc.utf8_upper(title), title)
    first = rng.integers(0, 1 << 40, len(topic))
    sentences = [  # seven is coprime to the numbers of templates: no sentence comes twice
        phrases.fill("sentences", language, topic, rng, {"detail": details[:, 1]}, first + 7 * n)
        for n in range(3)
    ]
    signature = phrases.nth("signatures", language, topic, habit)
    brief = pa.array(habit % 6 == 0)
    rest = join_strings(" ", sentences[1], " ", sentences[2], " ", phrases.pool.take(pa.array(signature)))
    description = join_strings(sentences[0], pc.if_else(brief, "", rest))
    title, description = title.take(pa.array(copy_of)), description.take(pa.array(copy_of))

    near = pa.array(kind == 2)
    extra = pa.array([" (repost)", " #fyp", " 🔥🔥", " again"]).take(pa.array(habit % 4))
    title = pc.if_else(near, join_strings(title, extra), title)
    description = pc.if_else(near, join_strings(description, " Credit to the owner."), description)
    spam = pa.array(phrases.spam_titles).take(pa.array(uploader % len(phrases.spam_titles)))
    title = pc.if_else(pa.array(kind == 3), spam, title)
    title = pc.if_else(pa.array(kind == 4), "", title)
    own_count, common = 1 + habit % 3, habit % 4
    turn = rng.integers(0, 100, len(topic))
    indices = [phrases.nth("tag", language, topic, turn + n) for n in range(3)]
    indices += [phrases.nth("common_tag", language, topic, habit + turn % 3 + n) for n in range(3)]
    present = [own_count > n for n in range(3)] + [common > n for n in range(3)]
    tags = _make_lists(phrases.pool, np.stack(indices, 1)[copy_of], np.stack(present, 1)[copy_of])
    labels = pa.array([name for entry in phrases.topics for name in entry.topics])
    both = np.stack([topic * 2, topic * 2 + 1], 1)
    return {
        "title": title,
        "description": description,
        "tags": tags,
        "topics": _make_lists(labels, both, np.ones_like(both, dtype=bool)),
        "category": pa.array([entry.category for entry in phrases.topics]).take(pa.array(topic)),
    }


def _make_lists(words: pa.Array, indices: NDArray[np.int64], kept: NDArray[np.bool_]) -> pa.ListArray:
    offsets = np.concatenate([[0], np.cumsum(kept.sum(1))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), words.take(pa.array(indices[kept])))


def _draw_ids(platform: Ints, rng: np.random.Generator) -> pa.Array:
    """Eleven letters on one platform, nineteen digits on the other."""
    letters = rng.choice(_LETTERS, (len(platform), 11)).view("S11").ravel().astype(str)
    digits = rng.choice(_DIGITS, (len(platform), 18)).view("S18").ravel().astype(str)
    return pc.if_else(pa.array(platform == 1), join_strings("7", pa.array(digits)), pa.array(letters))
