"""What viewers write: comments whose likes fall off with their rank, about what can be seen or about nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vivant_build.mimic.world.phrases import Ints, Phrases, join_strings
from vivant_build.mimic.world.platform import InventedPlatform, array_generator

_CHUNK = 500_000
_DAY = 86_400 * 1_000_000
_EQUAL = "nice video"


def generate_comments(phrases: Phrases, platform: InventedPlatform, seed: int) -> Iterator[pa.Table]:
    """All comments, some hundred thousand at a time, those of a video together and in no order of likes."""
    ends = np.cumsum(platform.comments)
    first = 0
    part = 0
    while first < len(ends):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _CHUNK, side="right")))
        if ends[last - 1] > before:
            rng = array_generator(seed, "comments", str(part))
            yield _make_chunk(phrases, platform, first, last, int(before), seed, rng)
            part += 1
        first = last


def _make_chunk(
    phrases: Phrases,
    platform: InventedPlatform,
    first: int,
    last: int,
    before: int,
    seed: int,
    rng: np.random.Generator,
) -> pa.Table:
    counts = platform.comments[first:last]
    video = np.repeat(np.arange(first, last), counts)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    size = len(video)
    rank = np.arange(size) - starts + 1
    names = _draw_names(np.arange(before, before + size), seed)

    spoken = platform.language[video]
    abroad = rng.random(size) < 0.1
    language = np.where(abroad, rng.integers(0, len(phrases.languages), size), spoken)
    text = _write_texts(phrases, platform, video, rank, language, rng)

    views = platform.table.column("views").to_numpy()[video]
    fame = views * 0.004 * np.repeat(np.exp(rng.normal(0, 0.5, last - first)), counts)
    noise = np.exp(rng.normal(0, 0.2, size))
    likes = np.floor(fame / (rank + 0.6) ** 1.05 * noise).astype(np.int64)
    unknown = rng.random(size) < 0.02
    uploaded = platform.table.column("uploaded").to_numpy().astype("datetime64[us]")[video]
    time = uploaded + (rng.exponential(6 * _DAY, size)).astype("timedelta64[us]")
    answered = starts + rng.integers(0, 3, size)
    replies = (rank > 3) & (rng.random(size) < 0.12)
    to = np.where(replies, names[np.minimum(answered, size - 1)], 0)
    order = np.lexsort((rng.random(size), video))
    shuffled = pa.array(order)
    return pa.table(
        {
            "ref": platform.table.column("ref").combine_chunks().take(pa.array(video)),
            "id": pa.array(names[order]).cast(pa.string()),
            "text": text.take(shuffled),
            "likes": pa.array(likes[order], mask=unknown[order]),
            "time": pa.array(time[order]),
            "reply_to": _format_names(to[order]),
        }
    )


def _write_texts(
    phrases: Phrases,
    platform: InventedPlatform,
    video: Ints,
    rank: Ints,
    language: Ints,
    rng: np.random.Generator,
) -> Any:
    size = len(video)
    topic = platform.topic[video]
    kind = platform.kind[video]
    moment = 0.15 + 0.5 / (1 + rank / 3)
    drawn = rng.random(size)
    spam = (rng.random(size) < 0.03) & (rank > 5) | (kind == 5)
    equal = (kind == 6) & ~spam
    families: list[tuple[str, NDArray[np.bool_]]] = [
        ("moments", (drawn < moment) & ~spam & ~equal),
        ("abouts", (drawn >= moment) & (drawn < moment + 0.2) & ~spam & ~equal),
        ("generic", (drawn >= moment + 0.2) & ~spam & ~equal),
    ]
    texts, rows = [], []
    details = platform.details[video, rng.integers(0, 2, size)]
    # A comment in the video's language is about what the video shows; elsewhere about the topic's like.
    details = np.where(
        language == platform.language[video], details, phrases.choose("detail", language, topic, rng)
    )
    for family, mask in families:
        members = np.flatnonzero(mask)
        lang, about = language[members], topic[members]
        opener = phrases.pool.take(pa.array(phrases.choose("openers", lang, about, rng)))
        core = phrases.fill(family, lang, about, rng, {"detail": details[members]})
        tail = phrases.fill("tails", lang, about, rng)
        emoji = np.where(rng.random(len(members)) < 0.4, phrases.choose("emoji", lang, about, rng), 0)
        space = pa.array(["", " "]).take(pa.array((emoji > 0).astype(np.int64)))
        texts.append(join_strings(opener, core, tail, space, phrases.pool.take(pa.array(emoji))))
        rows.append(members)
    members = np.flatnonzero(spam)
    texts.append(
        pa.array(phrases.spam_comments).take(
            pa.array(rng.integers(0, len(phrases.spam_comments), len(members)))
        )
    )
    rows.append(members)
    members = np.flatnonzero(equal)
    texts.append(pa.array([_EQUAL]).take(pa.array(np.zeros(len(members), np.int64))))
    rows.append(members)
    back = np.empty(size, np.int64)
    back[np.concatenate(rows)] = np.arange(size)
    return pa.concat_arrays(texts).take(pa.array(back))


def _draw_names(number: Ints, seed: int) -> NDArray[np.uint64]:
    """Numbers that are unique and say nothing of the order (a step of splitmix64)."""
    mixed = number.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _format_names(numbers: NDArray[np.uint64]) -> Any:
    return pc.if_else(pa.array(numbers == 0), "", pa.array(numbers).cast(pa.string()))
