"""Comment popularity, matched: wrong options that differ from the most-liked comment in little but their likes.

As published, the options have ranks 1, 10, 50 and 100. The comment that most people like was often written early, is
longer and worded like well-liked comments, so that part of the answer can be guessed. The variant `matched` takes wrong
options from near those ranks (`audit.rank_slack`). Of each rank's comments those stay that classifiers think as popular
as the right one, and that are near it in length, style, age and time since upload. Of these one is dealt out such that
by each measure (length, time, what each classifier makes of the words, likeness to the others) the right one comes
first, second, third and last equally often in all: what cannot be chosen under one video is made up for under others.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vivant.benchmarks.mimic.format import Comment, MimicItem, MimicVideo
from vivant.metrics.text import normalise_text
from vivant_build.mimic.style import measure_styles

VARIANT = "matched"
_OPTIONS = 4
_OFFERED = 6
"""Of those that may stand for a rank, so many are weighed: the nearest to the right one."""
_STYLE_WEIGHT = 0.1
"""What a difference in style weighs beside a standard deviation of a classifier's score."""
_TIME_WEIGHT = 0.5
"""What a factor of e in age, or in time since upload, weighs beside differences in style."""
_SPREAD_TEXTS = 4000
Floats = NDArray[np.float64]
RankedComment = tuple[int, Comment]


class TextClassifier(Protocol):
    """Says how much a text is worded like right answers."""

    def score(self, text: str) -> float:
        """Higher for texts that are."""
        ...


class PopularityScores:
    """What classifiers make of a text's words: higher for texts worded like right answers, in standard deviations.

    Args:
        practice: Questions whose options show how far scores are spread.
    """

    def __init__(self, practice: Sequence[MimicItem]) -> None:
        texts = (option.text for item in practice for option in item.options)
        self._texts = list(islice(texts, _SPREAD_TEXTS))
        self._classifiers: list[TextClassifier] = []
        self._spreads: list[float] = []
        self._known: dict[str, Floats] = {}

    def __len__(self) -> int:
        return len(self._classifiers)

    def add(self, classifier: TextClassifier) -> None:
        """One more opinion."""
        spread = float(np.std([classifier.score(text) for text in self._texts])) if self._texts else 0.0
        self._classifiers.append(classifier)
        self._spreads.append(spread or 1.0)
        self._known.clear()

    def get(self, text: str) -> Floats:
        """One score a classifier."""
        scores = self._known.get(text)
        if scores is None:
            pairs = zip(self._classifiers, self._spreads, strict=True)
            scores = np.round([classifier.score(text) / spread for classifier, spread in pairs], 9)
            self._known[text] = scores
        return scores


class RankMatcher:
    """Deals wrong options that match the right one. One matcher deals a whole task: it keeps count.

    Args:
        scores: What classifiers think of texts.
        slack: How far a rank may be from the asked one, as a share of it.
    """

    def __init__(self, scores: PopularityScores, slack: float) -> None:
        self._scores = scores
        self._slack = slack
        self._dealt = np.zeros((3 + len(scores), _OPTIONS), np.int64)
        """How often the right one had each place by length, time, each score, and likeness."""

    def choose(
        self,
        line: MimicVideo,
        liked: Sequence[Comment],
        key: Comment,
        ranks: Sequence[int],
        rng: random.Random,
    ) -> list[RankedComment] | None:
        """A comment for each rank; None where all that may stand for one says what another option says."""
        forms = {normalise_text(key.text)}
        offered: list[list[RankedComment]] = []
        for rank in ranks:
            fit = []
            for other, comment in self._list_near(liked, rank, key):
                form = normalise_text(comment.text)
                if form not in forms:
                    forms.add(form)
                    fit.append((other, comment))
            if not fit:
                return None
            rng.shuffle(fit)
            offered.append(self._match(line, liked, key, fit))
        return self._deal(line, key, offered)

    def _list_near(self, liked: Sequence[Comment], rank: int, key: Comment) -> list[RankedComment]:
        first, last = round(rank * (1 - self._slack)), round(rank * (1 + self._slack))
        ranks = range(max(first, 2), min(last, len(liked)) + 1)
        return [(other, liked[other - 1]) for other in ranks if liked[other - 1].likes != key.likes]

    def _match(
        self, line: MimicVideo, liked: Sequence[Comment], key: Comment, fit: list[RankedComment]
    ) -> list[RankedComment]:
        """Those nearest to the right one in what classifiers think, in style, age and time since upload."""
        comments = [key, *(comment for _, comment in fit)]
        scores = np.stack([self._scores.get(comment.text) for comment in comments])
        rows = np.hstack([scores, _STYLE_WEIGHT * _describe(comments, line, liked)])
        distance = np.round(np.abs(rows[1:] - rows[0]).sum(axis=1), 9)
        return [fit[place] for place in np.argsort(distance, kind="stable")[:_OFFERED]]

    def _deal(
        self, line: MimicVideo, key: Comment, offered: Sequence[Sequence[RankedComment]]
    ) -> list[RankedComment]:
        comments = [key, *(comment for group in offered for _, comment in group)]
        sizes = [len(group) for group in offered]
        starts = np.cumsum([1, *sizes])[:-1]
        grids = np.meshgrid(
            *(start + np.arange(size) for start, size in zip(starts, sizes, strict=True)), indexing="ij"
        )
        values = [
            np.array([float(len(comment.text)) for comment in comments]),
            _hours_since(comments, line.uploaded),
            *np.stack([self._scores.get(comment.text) for comment in comments]).T,
        ]
        places = [np.sum([value[grid] > value[0] for grid in grids], axis=0) for value in values]
        styles = measure_styles([comment.text for comment in comments])
        apart = np.round(np.abs(styles[:, None] - styles[None, :]).sum(axis=2), 9)
        members = [np.zeros_like(grids[0]), *grids]
        likeness = [np.sum([apart[member, other] for other in members], axis=0) for member in members]
        places.append(np.sum([other < likeness[0] for other in likeness[1:]], axis=0))
        cost = np.sum([dealt[place] for dealt, place in zip(self._dealt, places, strict=True)], axis=0)
        best = np.unravel_index(int(np.argmin(cost)), cost.shape)
        for dealt, place in zip(self._dealt, places, strict=True):
            dealt[place[best]] += 1
        return [group[int(index)] for group, index in zip(offered, best, strict=True)]


def _describe(comments: Sequence[Comment], line: MimicVideo, liked: Sequence[Comment]) -> Floats:
    """One row a comment: its style, the logarithm of its age, and that of its time since upload."""
    times = [time for time in (_parse_time(comment.time) for comment in liked) if time is not None]
    latest = max(times, default=None)
    ages = []
    for comment in comments:
        time = _parse_time(comment.time)
        ages.append(0.0 if time is None or latest is None else (latest - time).total_seconds() / 3600)
    clock = np.stack(
        [np.log1p(np.maximum(ages, 0)), np.log1p(np.maximum(_hours_since(comments, line.uploaded), 0))], 1
    )
    return np.hstack([measure_styles([comment.text for comment in comments]), _TIME_WEIGHT * clock])


def _hours_since(comments: Sequence[Comment], uploaded: str) -> Floats:
    """Hours from the upload (or, where it is not known, from the first of these comments); 0 where unknown."""
    times = [_parse_time(comment.time) for comment in comments]
    start = _parse_time(uploaded) or min((time for time in times if time is not None), default=None)
    if start is None:
        return np.zeros(len(comments))
    return np.array([0.0 if time is None else (time - start).total_seconds() / 3600 for time in times])


def _parse_time(text: str) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
