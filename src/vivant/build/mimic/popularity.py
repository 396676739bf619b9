"""Comment popularity: four comments of one video, of ranks 1, 10, 50 and 100 by likes.

Ranks count the comments whose likes are known, each text once. Where several share the likes of a rank, any
of them may stand for it. Which one does is dealt out by chance, such that the right one is the longest, the
shortest and in between equally often as far as that can be chosen; looks give less away then. A right answer that
shares its likes with another option is none: such videos are not asked about.
"""

from __future__ import annotations

from collections.abc import Sequence

from vivant.benchmarks.mimic.format import ItemOption, VideoLine
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
    chance = generator(seed, "popularity", line.ref, str(attempt))
    longer = chance.randrange(len(ranks))
    wanted = [place < longer for place in range(len(ranks) - 1)]
    chance.shuffle(wanted)
    for rank, long in zip(ranks[1:], wanted, strict=True):
        likes = liked[rank - 1].likes
        if likes == key.likes:
            return TIED
        forms = {plain(c.text) for c in chosen}
        same = [c for c in liked if c.likes == likes and c not in chosen][:_TIED]
        tied = [c for c in same if plain(c.text) not in forms]
        if not tied:
            return SAME
        fitting = [c for c in tied if (len(c.text) > len(key.text)) == long]
        chosen.append(chance.choice(fitting or tied))
    return tuple(
        ItemOption(text=c.text, video=line.ref, comment=c.id, rank=rank, likes=c.likes)
        for c, rank in zip(chosen, ranks, strict=True)
    )
