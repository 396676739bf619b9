"""Comment popularity: four comments of one video, of ranks 1, 10, 50 and 100 by likes.

Ranks count the comments whose likes are known, each text once. Where several share the likes of a rank, any
of them may stand for it, and the one that looks most like the right one is taken, so that looks give less away.
A right answer that shares its likes with another option is none: such videos are not asked about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vivant.benchmarks.mimic.format import Comment, ItemOption, VideoLine
from vivant.build.mimic.style import styles
from vivant.chance import generator
from vivant.scoring.text import plain

FEW = "too few comments with likes for the ranks"
SAME = "comments of its ranks say the same"
_TIED = 20
"""Of those that share a rank's likes, so many are looked at."""
TIED = "the most-liked comment shares its likes with the next rank"


def ranked_options(
    line: VideoLine, ranks: Sequence[int], seed: int, attempt: int = 0
) -> tuple[ItemOption, ...] | str:
    """The four options, the right one first; or why there are none.

    Another `attempt` takes others of those that share a rank's likes.
    """
    liked = sorted((c for c in line.comments if c.likes is not None), key=lambda c: (-(c.likes or 0), c.id))
    if len(liked) < ranks[-1]:
        return FEW
    key = liked[ranks[0] - 1]
    chosen = [key]
    for rank in ranks[1:]:
        likes = liked[rank - 1].likes
        if likes == key.likes:
            return TIED
        forms = {plain(c.text) for c in chosen}
        same = [c for c in liked if c.likes == likes and c not in chosen][:_TIED]
        tied = [c for c in same if plain(c.text) not in forms]
        if not tied:
            return SAME
        chosen.append(_alike(key, tied, seed, line.ref, str(rank), attempt))
    return tuple(
        ItemOption(text=c.text, video=line.ref, comment=c.id, rank=rank, likes=c.likes)
        for c, rank in zip(chosen, ranks, strict=True)
    )


def _alike(key: Comment, tied: list[Comment], seed: int, ref: str, rank: str, attempt: int) -> Comment:
    if len(tied) == 1:
        return tied[0]
    if attempt:
        return generator(seed, "popularity", ref, rank, str(attempt)).choice(tied)
    looks = styles([key.text, *(c.text for c in tied)])
    return tied[int(np.abs(looks[1:] - looks[0]).sum(axis=1).argmin())]
