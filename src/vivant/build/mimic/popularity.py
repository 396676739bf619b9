"""Comment popularity: four comments of one video, of ranks 1, 10, 50 and 100 by likes.

Ranks count the comments whose likes are known, each text once. Where several share the likes of a rank, any
of them may stand for it. Which one does is dealt out by chance, such that the right one is the longest, the
shortest and in between equally often as far as that can be chosen; looks give less away then. A right answer that
shares its likes with another option is none: such videos are not asked about.

Where the audit finds that well-liked comments are worded like well-liked comments, they are dealt out by what its
classifier makes of their words instead of by length, and from ranks near the asked ones (`Near`). Where length then
gives the right one away, all are dealt out with an eye on both, and on what was dealt before (`Even`): what
cannot be chosen under one video is made up for under others.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from vivant.benchmarks.mimic.format import Comment, ItemOption, VideoLine
from vivant.core.randomness import derive_generator
from vivant.metrics.text import plain

FEW = "too few comments with likes for the ranks"
SAME = "comments of its ranks say the same"
_TIED = 20
"""Of those that share a rank's likes, so many are looked at."""
_OPTIONS = 4
_OFFERED = 6
"""Of those that may stand for a rank, so many are weighed where places are dealt out evenly."""
TIED = "the most-liked comment shares its likes with the next rank"


class Near(Struct, frozen=True):
    """Another way to deal comments out."""

    score: Callable[[str], float]
    """By what; higher for texts that look more like a right answer."""
    slack: float
    """How far a rank may be from the asked one, as a share of it."""
    even: Even | None = None
    """Deals by length and score together, where either alone does not do."""


class Even:
    """Deals so that by each measure the right one comes first, second, third and last equally often in all."""

    def __init__(self, measures: Sequence[Callable[[str], float]]) -> None:
        self._measures = measures
        self._dealt = np.zeros((len(measures), _OPTIONS), np.int64)
        """How often the right one had each place by each measure."""

    def choose(
        self, key: Comment, standing: Sequence[Sequence[tuple[int, Comment]]], chance: random.Random
    ) -> list[tuple[int, Comment]] | None:
        """One of each, or None where all that may stand there says the same."""
        forms = {plain(key.text)}
        offered: list[list[tuple[int, Comment]]] = []
        for group in standing:
            offered.append([])
            for place, comment in chance.sample(group, len(group)):
                form = plain(comment.text)
                if form not in forms and len(offered[-1]) < _OFFERED:
                    forms.add(form)
                    offered[-1].append((place, comment))
        if not all(offered):
            return None
        cost = np.zeros([len(group) for group in offered], np.int64)
        places = []
        for measure, dealt in zip(self._measures, self._dealt, strict=True):
            own = measure(key.text)
            above = [np.array([measure(c.text) > own for _, c in group], np.int64) for group in offered]
            places.append(above[0][:, None, None] + above[1][None, :, None] + above[2][None, None, :])
            cost += dealt[places[-1]]
        best = np.unravel_index(int(np.argmin(cost)), cost.shape)
        for dealt, found in zip(self._dealt, places, strict=True):
            dealt[found[best]] += 1
        return [group[k] for group, k in zip(offered, best, strict=True)]


def ranked_options(
    line: VideoLine, ranks: Sequence[int], seed: int, attempt: int = 0, near: Near | None = None
) -> tuple[ItemOption, ...] | str:
    """The four options, the right one first; or why there are none. Another `attempt` deals otherwise."""
    liked = sorted((c for c in line.comments if c.likes is not None), key=lambda c: (-(c.likes or 0), c.id))
    if len(liked) < ranks[-1]:
        return FEW
    key = liked[ranks[0] - 1]
    measure: Callable[[str], float] = near.score if near is not None else len
    own = measure(key.text)
    chance = derive_generator(seed, "popularity", line.ref, str(attempt))
    if any(liked[rank - 1].likes == key.likes for rank in ranks[1:]):
        return TIED
    if near is not None and near.even is not None:
        even = near.even.choose(key, [_standing(liked, rank, near, key) for rank in ranks[1:]], chance)
        return SAME if even is None else _options(line, [(ranks[0], key), *even])
    more = chance.randrange(len(ranks))
    wanted = [place < more for place in range(len(ranks) - 1)]
    chance.shuffle(wanted)
    chosen = [(ranks[0], key)]
    for rank, above in zip(ranks[1:], wanted, strict=True):
        forms = {plain(c.text) for _, c in chosen}
        fit = [(place, c) for place, c in _standing(liked, rank, near, key) if plain(c.text) not in forms]
        if not fit:
            return SAME
        dealt = [(place, c) for place, c in fit if (measure(c.text) > own) == above]
        chosen.append(chance.choice(dealt or fit))
    return _options(line, chosen)


def _options(line: VideoLine, chosen: Sequence[tuple[int, Comment]]) -> tuple[ItemOption, ...]:
    return tuple(
        ItemOption(text=c.text, video=line.ref, comment=c.id, rank=rank, likes=c.likes) for rank, c in chosen
    )


def _standing(
    liked: Sequence[Comment], rank: int, near: Near | None, key: Comment
) -> list[tuple[int, Comment]]:
    """Comments that may stand for a rank, each with the rank it is said to have."""
    if near is None:
        likes = liked[rank - 1].likes
        return [(rank, c) for c in liked if c.likes == likes and c is not key][:_TIED]
    first, last = round(rank * (1 - near.slack)), round(rank * (1 + near.slack))
    places = range(max(first, 2), min(last, len(liked)) + 1)
    return [(place, liked[place - 1]) for place in places if liked[place - 1].likes != key.likes]
