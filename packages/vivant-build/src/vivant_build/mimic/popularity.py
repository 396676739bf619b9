"""Comment popularity: four comments of one video, of ranks 1, 10, 50 and 100 by likes.

Ranks count the comments whose likes are known, each text once. Where several share the likes of a rank, any
of them may stand for it. Which one does is dealt out by chance, such that the right one is the longest, the
shortest and in between equally often as far as that can be chosen; looks give less away then. A right answer that
shares its likes with another option is none: such videos are not asked about.

The audit's variant of the task takes other comments, from near the asked ranks: see `rank_matching`.
"""

from __future__ import annotations

from collections.abc import Sequence

from vivant.benchmarks.mimic.format import Comment, MimicOption, MimicVideo
from vivant.core.randomness import derive_generator
from vivant.metrics.text import normalise_text
from vivant_build.mimic.rank_matching import RankMatcher

FEW = "too few comments with likes for the ranks"
SAME = "comments of its ranks say the same"
_TIED = 20
"""Of those that share a rank's likes, so many are looked at."""
TIED = "the most-liked comment shares its likes with the next rank"


def choose_ranked_options(
    line: MimicVideo, ranks: Sequence[int], seed: int, attempt: int = 0, matcher: RankMatcher | None = None
) -> tuple[MimicOption, ...] | str:
    """The four options, the right one first; or why there are none. Another `attempt` deals otherwise."""
    liked = sorted((c for c in line.comments if c.likes is not None), key=lambda c: (-(c.likes or 0), c.id))
    if len(liked) < ranks[-1]:
        return FEW
    key = liked[ranks[0] - 1]
    rng = derive_generator(seed, "popularity", line.ref, str(attempt))
    if any(liked[rank - 1].likes == key.likes for rank in ranks[1:]):
        return TIED
    if matcher is not None:
        matched = matcher.choose(line, liked, key, ranks[1:], rng)
        return SAME if matched is None else _make_options(line, [(ranks[0], key), *matched])
    more = rng.randrange(len(ranks))
    wanted = [other < more for other in range(len(ranks) - 1)]
    rng.shuffle(wanted)
    chosen = [(ranks[0], key)]
    for rank, above in zip(ranks[1:], wanted, strict=True):
        forms = {normalise_text(c.text) for _, c in chosen}
        tied = [c for c in liked if c.likes == liked[rank - 1].likes and c is not key][:_TIED]
        fit = [c for c in tied if normalise_text(c.text) not in forms]
        if not fit:
            return SAME
        dealt = [c for c in fit if (len(c.text) > len(key.text)) == above]
        chosen.append((rank, rng.choice(dealt or fit)))
    return _make_options(line, chosen)


def _make_options(line: MimicVideo, chosen: Sequence[tuple[int, Comment]]) -> tuple[MimicOption, ...]:
    return tuple(
        MimicOption(text=c.text, video=line.ref, comment=c.id, rank=rank, likes=c.likes) for rank, c in chosen
    )
