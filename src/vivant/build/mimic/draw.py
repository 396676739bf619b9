"""Three wrong options for each right one, from unrelated videos, near in style and far in meaning.

Every text is right once, so every text is to be wrong three times: then no text is likelier right than another,
and options alone give nothing away. So wrong options are not drawn one by one. Texts that look alike (language,
platform, emoji, length) are put into blocks, and within a block three perfect matchings are found between
items and texts (augmenting paths, the most alike in style tried first), none of which pairs what may
not stand together. What a block cannot settle is settled across blocks from the texts used least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.build.mimic.material import Codes, Material, Texts, codes, rough_form
from vivant.build.mimic.style import styles
from vivant.build.mimic.vectors import Vectors
from vivant.chance import derive
from vivant.scoring.text import plain

WRONG = 3
SPOKEN = ("title", "description", "tag", "comment-match")
"""Tasks whose texts have a language; in the others a few names come again and again."""
_BLOCK, _WIDE_BLOCK = 64, 192
_NOISE = 0.4
_SPREAD = 256
"""Texts tried for an item that its block could not serve."""
_FAR = 1e9


class Drawn(Struct, frozen=True):
    """For each text of a task the three that stand beside it, or nothing where there are not enough."""

    wrong: tuple[tuple[int, int, int] | None, ...]
    kept: NDArray[np.bool_]
    """False where a text is too common to be asked fairly: it would have to be wrong more often than it can."""


class Judge:
    """Which texts may not stand beside which, and how far apart they look."""

    def __init__(self, material: Material, texts: Texts, chance: np.random.Generator) -> None:
        said = [option.text for option in texts.options]
        self.material = material
        self.texts = texts
        self.code = codes(plain(text) for text in said)
        self._rough = [rough_form(text) for text in said]
        self.styles = styles(said)
        self.platform = material.platform[texts.owner]
        self._chance = chance
        self._comments = texts.task == "comment-match"
        self._vectors: Vectors | None = None
        self._gists: Vectors | None = None
        if material.store is not None and len(said):
            self._vectors = material.store.get(said, f"texts of {texts.task}")
            gists = material.gists
            assert gists is not None
            self._gists = gists[texts.owner]

    def costs(self, rows: Codes, columns: Codes) -> NDArray[np.float64]:
        """How unlike text `column` looks as a wrong option beside text `row`, with a little chance.

        `_FAR` where it may not stand there.
        """
        cost = np.zeros((len(rows), len(columns)))
        for feature in self.styles.T:
            cost += np.abs(feature[rows][:, None] - feature[columns][None, :])
        cost += self.platform[rows][:, None] != self.platform[columns][None, :]
        cost += self._chance.random(cost.shape) * _NOISE
        cost[self._forbidden(rows, columns)] = _FAR
        return cost

    def _forbidden(self, rows: Codes, columns: Codes) -> NDArray[np.bool_]:
        found = self.material.related(self.texts.owner[rows], self.texts.owner[columns])
        found |= self.code[rows][:, None] == self.code[columns][None, :]
        if self._comments:
            for place, row in enumerate(rows):
                said = self.material.said[self.texts.owner[row]]
                found[place] |= np.array([self._rough[other] in said for other in columns])
        if self._vectors is not None and self._gists is not None:
            limit = self.material.settings.likeness
            found |= np.round(self._vectors[rows] @ self._vectors[columns].T, 3) >= limit
            fit = np.round(self._gists[rows] @ self._vectors[columns].T, 3)
            own = np.round(np.einsum("ij,ij->i", self._gists[rows], self._vectors[rows]), 3)[:, None]
            # What fits the video noticeably, and as well as the right one does, is not wrong enough.
            found |= (fit >= limit) | ((fit >= own) & (fit >= limit / 2))
        return found


def draw(material: Material, texts: Texts, attempt: int = 0) -> Drawn:
    """Wrong options for all texts of a task. Another `attempt` draws others by the same rules."""
    seed = derive(material.seed, "draw", texts.task, str(attempt))
    chance = np.random.default_rng(seed)
    judge = Judge(material, texts, chance)
    spoken = texts.task in SPOKEN
    kept = np.ones(len(texts.options), bool) if spoken else fair_share(judge.code, chance)
    found: list[list[int]] = [[] for _ in texts.options]
    language = material.language[texts.owner] if spoken else np.zeros(len(found), np.int64)
    for tongue in np.unique(language[kept]):
        members = np.flatnonzero((language == tongue) & kept)
        for block in _blocks(members, judge, chance, spoken=spoken):
            _settle(block, judge, found)
        _settle_rest(members, judge, found, chance)
    wrong = tuple((w[0], w[1], w[2]) if len(w) == WRONG else None for w in found)
    return Drawn(wrong, kept)


def fair_share(code: Codes, chance: np.random.Generator) -> NDArray[np.bool_]:
    """Which texts to ask for so that none is the right answer of more than a quarter of the items.

    A text that is right more often cannot be wrong three times as often. The surplus is chosen by chance.
    """
    kept = np.ones(len(code), bool)
    order = chance.permutation(len(code))
    counts = np.bincount(code, minlength=1) if len(code) else np.zeros(0, int)
    limit = len(code)
    while True:  # cutting one name down shrinks the whole, which may make another too common
        total = int(np.minimum(counts, limit).sum())
        if not len(counts) or counts.clip(max=limit).max(initial=0) <= total // (WRONG + 1) or limit == 0:
            break
        limit -= max(1, (limit - total // (WRONG + 1)) // 4)
    taken: Counter[int] = Counter()
    for place in order:
        taken[int(code[place])] += 1
        kept[place] = taken[int(code[place])] <= limit
    return kept


def _blocks(members: Codes, judge: Judge, chance: np.random.Generator, *, spoken: bool) -> list[Codes]:
    """Parts of a group that look alike; names without a language are mixed, so that each block has many."""
    if spoken:
        looks = judge.styles[members]
        length = looks[:, 0] + chance.random(len(members)) * 0.3
        order = np.lexsort((length, looks[:, 2] > 0, judge.platform[members]))
    else:
        order = chance.permutation(len(members))
    size = _BLOCK if spoken else _WIDE_BLOCK
    pieces = max(1, round(len(members) / size))
    return [piece for piece in np.array_split(members[order], pieces) if len(piece)]


def _settle(block: Codes, judge: Judge, found: list[list[int]]) -> None:
    """Three matchings in a block; items that stay unmatched keep what they have."""
    cost = judge.costs(block, block)
    code = judge.code[block]
    for _ in range(WRONG):
        choices = [np.argsort(row, kind="stable")[: int((row < _FAR).sum())].tolist() for row in cost]
        for item, text in match(choices).items():
            found[block[item]].append(int(block[text]))
            # Neither this text nor another that says the same may stand there again.
            cost[item, code == code[text]] = _FAR


def match(choices: Sequence[Sequence[int]]) -> dict[int, int]:
    """A largest matching of items to texts, each text once; an item's earlier choices are tried first."""
    holder: dict[int, int] = {}

    def place(item: int, tried: set[int]) -> bool:
        for text in choices[item]:
            if text in tried:
                continue
            tried.add(text)
            if text not in holder or place(holder[text], tried):
                holder[text] = item
                return True
        return False

    for item in range(len(choices)):
        place(item, set())
    return {item: text for text, item in holder.items()}


def _settle_rest(members: Codes, judge: Judge, found: list[list[int]], chance: np.random.Generator) -> None:
    """Items that lack options get texts of the whole group, those used least first."""
    used = Counter(text for member in members for text in found[member])
    for item in [int(member) for member in members if len(found[member]) < WRONG]:
        jitter = chance.random(len(members))
        order = sorted(range(len(members)), key=lambda k: (used[int(members[k])], jitter[k]))
        texts = members[order[:_SPREAD]]
        cost = judge.costs(np.array([item]), texts)[0]
        by_use = sorted(np.flatnonzero(cost < _FAR), key=lambda k: (used[int(texts[k])], cost[k]))
        for k in by_use:
            text = int(texts[k])
            if len(found[item]) == WRONG:
                break
            if judge.code[text] not in {judge.code[other] for other in found[item]}:
                found[item].append(text)
                used[text] += 1
