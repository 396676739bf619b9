"""What viewers write under the clips: by templates and habits, with likes that fall off as they do.

Under a clip in English, the comment with most likes is about what happens in it, and those of ranks 10, 50
and 100 are about what could have happened: without the video all four are alike. Their lengths are dealt out
so that the right one is the shortest, the longest and in between equally often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from msgspec import Struct

from vivant.benchmarks.mimic.format import Comment
from vivant.benchmarks.mimic.names import RANKS
from vivant.chance import generator

ABOUT = 4
"""Comments per clip that fit it alone: in English ranks 2 to 5, elsewhere ranks 1 to 4."""
_MANY, _FEW = 108, 18
_WITHOUT_LIKES = 3


class Thread(Struct, frozen=True):
    """The comments of a clip, in the order of writing, and those that items are made of."""

    comments: tuple[Comment, ...]
    about: tuple[Comment, ...]
    ranks: tuple[Comment, ...]
    """Those of ranks 1, 10, 50 and 100; empty for clips with few comments."""


def write_thread(clip: Mapping[str, Any], voices: Mapping[str, Any], turn: int) -> Thread:
    """All comments under one clip; its `turn` among those with ranks says how long the right one is."""
    chance = generator(0, "mimic-mini", "comments", clip["clip"])
    language = clip.get("lang", "en")
    voice = voices[language]
    about = _about(clip, voice, chance)
    size = _MANY if "seen" in clip else _FEW
    texts: list[str | None] = [None] * size
    if "seen" in clip:
        moments = _moments(turn, clip, voice, chance)
        for rank, text in zip(RANKS, moments, strict=True):
            texts[rank - 1] = text
        texts[1 : 1 + ABOUT] = about
    else:
        texts[:ABOUT] = about
    _fill(texts, voice, chance)
    likes = _likes(size, chance)
    order = list(range(size))
    chance.shuffle(order)
    ids = {place: f"c{written:03d}" for written, place in enumerate(order, 1)}
    ranked = [
        Comment(
            id=ids[place],
            text=text or "",
            likes=likes[place] if place < size - _WITHOUT_LIKES else None,
            time=_time(int(ids[place][1:])),
        )
        for place, text in enumerate(texts)
    ]
    chosen = dict(zip(texts, ranked, strict=True))
    return Thread(
        comments=tuple(sorted(ranked, key=lambda comment: comment.id)),
        about=tuple(chosen[text] for text in about),
        ranks=tuple(ranked[rank - 1] for rank in RANKS) if "seen" in clip else (),
    )


def _about(clip: Mapping[str, Any], voice: Mapping[str, Any], chance: Random) -> list[str]:
    chosen = chance.sample(voice["about"], ABOUT)
    return [
        template.format(subject=clip["subject"], doing=clip["doing"]) + chance.choice(voice["emoji"])
        for template in chosen
    ]


def _moments(turn: int, clip: Mapping[str, Any], voice: Mapping[str, Any], chance: Random) -> list[str]:
    """Four comments in four wordings; the first has its length's turn."""
    moments = [clip["seen"], *clip["unseen"]]
    while True:
        templates = chance.sample(voice["moments"], len(moments))
        texts = [
            template.format(moment=moment) + chance.choice(voice["emoji"])
            for template, moment in zip(templates, moments, strict=True)
        ]
        longer = sum(len(text) > len(texts[0]) for text in texts)
        if longer == turn % len(RANKS) and len({len(text) for text in texts}) == len(texts):
            return texts


def _fill(texts: list[str | None], voice: Mapping[str, Any], chance: Random) -> None:
    used = {text for text in texts if text}
    for place, text in enumerate(texts):
        while text is None:
            made = (
                chance.choice(voice["openers"])
                + chance.choice(voice["generic"])
                + chance.choice(voice["emoji"])
            )
            if made not in used:
                text = texts[place] = made
                used.add(made)


def _likes(size: int, chance: Random) -> Sequence[int]:
    """Falling off with the rank, roughly as 1/rank, no two equal."""
    top = chance.randint(4_000, 90_000)
    likes = [round(top / (rank + 0.6) * chance.uniform(0.9, 1.1)) for rank in range(1, size + 1)]
    likes.sort(reverse=True)
    for place in range(size - 2, -1, -1):
        likes[place] = max(likes[place], likes[place + 1] + 1)
    return likes


def _time(written: int) -> str:
    month, day = divmod(written, 28)
    return f"2025-{month + 1:02d}-{day + 1:02d}T{written * 5 % 24:02d}:{written * 11 % 60:02d}:00Z"
