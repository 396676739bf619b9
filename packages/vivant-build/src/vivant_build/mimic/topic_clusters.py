"""Topics from words: videos of one language in groups by their titles, tags and descriptions, named by their terms.

Texts become weights of terms (a term counts more in a title or tag, and the fewer videos have it), and k-means on the
sphere puts them together. Sums run in a fixed order, and all chance is derived from the seed, so the same videos give
the same topics on any machine and with any number of threads.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.randomness import derive_seed
from vivant_build.mimic.settings import TopicSettings

_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
"""Runs of scripts without spaces: their terms are pairs of characters."""
_WORD = re.compile(
    r"(?:[^\W\d_]|[\u0300-\u036f\u064b-\u0655\u0900-\u0dff])(?:[^\W_]|['’\u0300-\u036f\u064b-\u0655\u0900-\u0dff])*"
)
"""A word that begins with a letter, with the signs that some scripts write over and under letters."""
_SHORTEST = 3
_TITLE, _TAG, _TEXT = 2.0, 3.0, 1.0
_CHARACTERS = 400
"""Of a description: what comes later is often a list of links."""
_TERMS = 8000
"""Largest vocabulary."""
_RAREST = 3
_FEWEST_UPLOADERS = 2
"""A term of one uploader alone is the name of a channel or a series, and no topic; nor is a group of one uploader."""
_HELD_TOGETHER = 0.6
"""So many of a group's videos must have a term of its name, or it is a group of what was left over."""
_COMMONEST = 0.15
"""A term of more than this share of a language's videos says nothing of a topic."""
_ROUNDS = 30
_CHUNK = 2000
_TOLD, _CONSIDERED = 10, 30
"""Terms that a topic is told by, and those that are looked at for them."""
_STARTS = 4
"""Beginnings from which centres are sought; the best is taken."""
_SAME = 0.55
"""Groups whose centres are as near as this are one."""

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class VideoWords(Struct, frozen=True):
    """What a video's topic is told by."""

    ref: str
    title: str
    tags: Sequence[str]
    description: str
    uploader: str = ""
    """Nothing where it is not known."""


class TermGroup(Struct, frozen=True, kw_only=True):
    """Videos that share their words."""

    terms: tuple[str, ...]
    """The most telling first."""
    members: tuple[int, ...]
    """Places of its videos, the nearest to its centre first."""
    similarity: tuple[float, ...]
    """Cosine of each to the centre."""


class TermMatrix(Struct, frozen=True):
    """One unit vector a text, as rows of (term, weight)."""

    vocabulary: tuple[str, ...]
    starts: Indices
    """Where each text's terms begin; one more at the end."""
    terms: Indices
    weights: Floats

    def __len__(self) -> int:
        return len(self.starts) - 1

    def compare(self, centres: Floats, rows: Indices | None = None) -> Floats:
        """The cosine of each text to each centre."""
        chosen = np.arange(len(self)) if rows is None else rows
        result = np.zeros((len(chosen), len(centres)))
        for begin in range(0, len(chosen), _CHUNK):
            part = chosen[begin : begin + _CHUNK]
            entries, owner = self.select(part)
            products = centres[:, self.terms[entries]] * self.weights[entries]
            filled, first = np.unique(owner, return_index=True)
            if len(filled):
                result[begin + filled] = np.add.reduceat(products, first, axis=1).T
        return result

    def sum_groups(self, groups: Indices, number: int) -> Floats:
        """The sum of the vectors of each group; those of group -1 count nowhere."""
        owner = np.repeat(groups, np.diff(self.starts))
        kept = owner >= 0
        flat = owner[kept] * len(self.vocabulary) + self.terms[kept]
        sums = np.bincount(flat, self.weights[kept], number * len(self.vocabulary)).astype(np.float64)
        return sums.reshape(number, len(self.vocabulary))

    def select(self, rows: Indices) -> tuple[Indices, Indices]:
        """The places of the terms of some texts, and whose of these each is."""
        counts = self.starts[rows + 1] - self.starts[rows]
        begin = np.cumsum(counts) - counts
        entries = np.arange(int(counts.sum())) - np.repeat(begin - self.starts[rows], counts)
        return entries, np.repeat(np.arange(len(rows)), counts)


def split_terms(text: str) -> list[str]:
    """The terms of a text: words of some length that are no numbers, pairs of characters where no spaces are."""
    terms = [run[place : place + 2] for run in _DENSE.findall(text) for place in range(max(len(run) - 1, 0))]
    terms += [word for word in _WORD.findall(_DENSE.sub(" ", text.casefold())) if len(word) >= _SHORTEST]
    return terms


def weigh_terms(videos: Sequence[VideoWords], frequent: frozenset[str] = frozenset()) -> TermMatrix:
    """Unit vectors of the videos. `frequent` are words of the language that say nothing by themselves."""
    counted = [_count_terms(video) for video in videos]
    having = Counter(term for counts in counted for term in counts)
    most = max(_RAREST, _COMMONEST * len(videos))
    usable = [t for t, n in having.items() if _RAREST <= n <= most and t not in frequent]
    vocabulary = sorted(usable, key=lambda term: (-having[term], term))[:_TERMS]
    places = {term: place for place, term in enumerate(vocabulary)}
    rarity = np.array([np.log(len(videos) / having[term]) for term in vocabulary])
    starts, terms, weights = [0], [], []
    for counts in counted:
        row = sorted((places[term], count) for term, count in counts.items() if term in places)
        values = [(1 + np.log(count)) * rarity[place] for place, count in row]
        length = float(np.sqrt(np.sum(np.square(values)))) or 1.0
        terms += [place for place, _ in row]
        weights += [value / length for value in values]
        starts.append(len(terms))
    return TermMatrix(
        tuple(vocabulary),
        np.array(starts, np.int64),
        np.array(terms, np.int64),
        np.array(weights, np.float64),
    )


def _count_terms(video: VideoWords) -> dict[str, float]:
    counts: dict[str, float] = {}
    texts = (
        (_TITLE, split_terms(video.title)),
        (_TAG, [term for tag in video.tags for term in split_terms(tag)]),
        (_TEXT, split_terms(video.description[:_CHARACTERS])),
    )
    for weight, terms in texts:
        for term in terms:
            counts[term] = counts.get(term, 0.0) + weight
    return counts


def group_videos(
    videos: Sequence[VideoWords], settings: TopicSettings, seed: int, frequent: frozenset[str] = frozenset()
) -> list[TermGroup]:
    """The topics of videos of one language, the largest first; videos that fit none are in none."""
    matrix = weigh_terms(videos, frequent)
    usable = np.flatnonzero(np.diff(matrix.starts))
    number = min(settings.most, len(usable) // settings.fewest)
    if number < 2:
        return []
    learned = _sample_rows(usable, videos, settings.sample, seed)
    centres = _merge_alike(_find_centres(matrix, learned, number, seed))
    nearest, similarity = _assign(matrix, centres)
    nearest[similarity < settings.similarity] = -1
    groups = []
    for group in range(len(centres)):
        members = np.flatnonzero(nearest == group)
        if len(members) >= settings.fewest:
            order = members[np.lexsort((members, -np.round(similarity[members], 9)))]
            groups.append((group, order))
    terms = _name_groups(matrix, [members for _, members in groups], _find_shared_terms(matrix, videos))
    result = [
        TermGroup(
            terms=names,
            members=tuple(int(row) for row in members),
            similarity=tuple(float(similarity[row]) for row in members),
        )
        for names, (_, members) in zip(terms, groups, strict=True)
        if names and _holds_together(matrix, videos, members, names[: settings.terms])
    ]
    return sorted(result, key=lambda group: (-len(group.members), group.terms))


def _holds_together(
    matrix: TermMatrix, videos: Sequence[VideoWords], members: Indices, name: Sequence[str]
) -> bool:
    """Whether a group is a topic: of several uploaders, and most of its videos have a term of its name."""
    uploaders = {videos[row].uploader or videos[row].ref for row in members}
    named = [place for place, term in enumerate(matrix.vocabulary) if term in name]
    entries, owner = matrix.select(members)
    having = np.unique(owner[np.isin(matrix.terms[entries], named)])
    return len(uploaders) >= _FEWEST_UPLOADERS and len(having) >= _HELD_TOGETHER * len(members)


def _sample_rows(usable: Indices, videos: Sequence[VideoWords], most: int, seed: int) -> Indices:
    """Those that centres are learnt from; the others are only assigned."""
    if len(usable) <= most:
        return usable
    drawn = sorted(usable, key=lambda row: (derive_seed(seed, "topics", videos[row].ref), row))[:most]
    return np.array(sorted(drawn), np.int64)


def _find_centres(matrix: TermMatrix, rows: Indices, number: int, seed: int) -> Floats:
    """Spherical k-means: of several k-means++ beginnings the one that ends with videos nearest to their centres."""
    best, highest = np.zeros((0, len(matrix.vocabulary))), -1.0
    for start in range(_STARTS):
        rng = np.random.Generator(np.random.PCG64(derive_seed(seed, "topics", "centres", str(start))))
        centres = _move_centres(matrix, rows, _draw_centres(matrix, rows, number, rng))
        fit = round(float(matrix.compare(centres, rows).max(axis=1).mean()), 9)
        if fit > highest:
            best, highest = centres, fit
    return best


def _draw_centres(matrix: TermMatrix, rows: Indices, number: int, rng: np.random.Generator) -> Floats:
    """Beginnings that are far from each other."""
    first = int(rows[rng.integers(len(rows))])
    centres = _densify(matrix, [first])
    nearness = matrix.compare(centres, rows)[:, 0]
    while len(centres) < number:
        chances = np.square(np.clip(1 - nearness, 0, None))
        total = chances.sum()
        if total <= 0:
            break
        pick = int(np.searchsorted(np.cumsum(chances), rng.random() * total, side="right"))
        new = _densify(matrix, [int(rows[min(pick, len(rows) - 1)])])
        centres = np.vstack([centres, new])
        nearness = np.maximum(nearness, matrix.compare(new, rows)[:, 0])
    return centres


def _move_centres(matrix: TermMatrix, rows: Indices, centres: Floats) -> Floats:
    """Each centre to the middle of the videos nearest to it, until none changes."""
    groups = np.full(len(matrix), -1, np.int64)
    for _ in range(_ROUNDS):
        scores = np.round(matrix.compare(centres, rows), 12)
        chosen = scores.argmax(axis=1)
        chosen[scores.max(axis=1) <= 0] = -1
        if np.array_equal(groups[rows], chosen):
            break
        groups[rows] = chosen
        sums = matrix.sum_groups(groups, len(centres))
        lengths = np.sqrt(np.square(sums).sum(axis=1, keepdims=True))
        centres = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), centres)
    return centres


def _densify(matrix: TermMatrix, rows: Iterable[int]) -> Floats:
    dense = np.zeros((0, len(matrix.vocabulary)))
    for row in rows:
        vector = np.zeros((1, len(matrix.vocabulary)))
        part = slice(matrix.starts[row], matrix.starts[row + 1])
        vector[0, matrix.terms[part]] = matrix.weights[part]
        dense = np.vstack([dense, vector])
    return dense


def _merge_alike(centres: Floats) -> Floats:
    """Centres that say the same become one: two names of one thing would make a question with two answers."""
    merged: list[Floats] = []
    for centre in centres:
        for place, other in enumerate(merged):
            if float((centre * other).sum()) >= _SAME:
                both = other + centre
                merged[place] = both / np.sqrt(np.square(both).sum())
                break
        else:
            merged.append(centre)
    return np.array(merged)


def _assign(matrix: TermMatrix, centres: Floats) -> tuple[Indices, Floats]:
    scores = np.round(matrix.compare(centres), 12)
    nearest = scores.argmax(axis=1)
    return nearest, scores[np.arange(len(matrix)), nearest]


def _find_shared_terms(matrix: TermMatrix, videos: Sequence[VideoWords]) -> NDArray[np.bool_]:
    """Which terms several uploaders use; one who is not known counts as somebody else each time."""
    numbers: dict[str, int] = {}
    uploaders = [numbers.setdefault(video.uploader or video.ref, len(numbers)) for video in videos]
    owner = np.repeat(np.array(uploaders, np.int64), np.diff(matrix.starts))
    lowest, highest = np.full(len(matrix.vocabulary), len(numbers)), np.full(len(matrix.vocabulary), -1)
    np.minimum.at(lowest, matrix.terms, owner)
    np.maximum.at(highest, matrix.terms, owner)
    return lowest < highest


def _name_groups(
    matrix: TermMatrix, groups: Sequence[Indices], usable: NDArray[np.bool_]
) -> list[tuple[str, ...]]:
    """The most telling terms of each group: `usable`, frequent in it, and found in few others.

    Any two of them stand together in a video of the group. Where a group is two topics that share a word, its name
    is thereby that of one, and the other's videos do not have it.
    """
    owner = np.full(len(matrix), -1, np.int64)
    for number, members in enumerate(groups):
        owner[members] = number
    sums = matrix.sum_groups(owner, len(groups)) if groups else np.zeros((0, len(matrix.vocabulary)))
    shares = sums / np.maximum(sums.sum(axis=0, keepdims=True), 1e-12)
    telling = np.round(sums * shares * usable, 9)
    return [_choose_terms(matrix, row, members) for row, members in zip(telling, groups, strict=True)]


def _choose_terms(matrix: TermMatrix, telling: Floats, members: Indices) -> tuple[str, ...]:
    order = sorted(np.flatnonzero(telling > 0), key=lambda term: (-telling[term], matrix.vocabulary[term]))
    entries, owner = matrix.select(members)
    chosen: list[str] = []
    videos: list[frozenset[int]] = []
    passed: list[str] = []
    for place in order[:_CONSIDERED]:
        term = matrix.vocabulary[place]
        if any(term in other or other in term for other in (*chosen, *passed)):
            continue
        having = frozenset(owner[matrix.terms[entries] == place].tolist())
        if all(having & others for others in videos):
            chosen.append(term)
            videos.append(having)
        else:
            passed.append(term)
    return tuple(chosen[:_TOLD])
