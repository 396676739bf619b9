"""Three wrong options for each right one, from unrelated videos, near in style and far in meaning.

Wrong options are not drawn one by one. Texts are put together in fours: of the same language, alike in how they
look, unrelated and far in meaning each from each, none of them true of another's video. The four stand together
in four items, and each is right in one of them. So every text is right once and wrong three times, and whoever
looks at options alone, by whatever rule, takes the same one of the four each time and is right in exactly one of the
four items: 25 %. What is left over when no more fours can be made (a few texts of a language) gets wrong options
from the texts used least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.randomness import derive_seed
from vivant.metrics.text import normalise_text
from vivant_build.mimic.style import measure_styles
from vivant_build.mimic.vectors import Vectors
from vivant_build.mimic.video_table import Codes, TaskTexts, VideoTable, encode_names, normalise_roughly

WRONG = 3
SPOKEN = ("title", "description", "tag", "comment-match")
"""Tasks whose texts have a language; in the others a few names come again and again."""
_BLOCK, _WIDE_BLOCK = 64, 192
_ROUNDS = 4
"""How often what is left over is mixed and tried again."""
_FEW = 24
"""So many left over in a language do no harm; where a task did give something away, none that can be placed."""
_BROKEN_UP = 16
"""How often fours are broken up for texts left over."""
_NOISE = 0.4
_SPREAD = 256
"""Texts tried for an item that its block could not serve."""
_FAR = 1e9
_SAMPLE = 300
"""Texts of a language by whose likeness the limits are set."""
_NEAREST, _FITTING = 0.9, 0.75
"""Quantiles of likeness between texts, and between texts and other videos, in a language MiniLM hardly knows."""


class DrawnDistractors(Struct, frozen=True):
    """For each text of a task the three that stand beside it, or nothing where there are not enough."""

    wrong: tuple[tuple[int, int, int] | None, ...]
    kept: NDArray[np.bool_]
    """False where a text is too common to be asked fairly: it would have to be wrong more often than it can."""


class DistractorCosts:
    """Which texts may not stand beside which, and how far apart they look."""

    def __init__(self, material: VideoTable, texts: TaskTexts, rng: np.random.Generator) -> None:
        strings = [option.text for option in texts.options]
        self.material = material
        self.texts = texts
        self.code = encode_names(normalise_text(text) for text in strings)
        self.styles = measure_styles(strings)
        self.platform = material.platform[texts.owner]
        self._rng = rng
        self._forms: Codes | None = None
        if texts.task == "comment-match":
            self._forms, self._comment_forms = _number_forms(strings, material.comment_forms)
        self._vectors: Vectors | None = None
        self._gists: Vectors | None = None
        self._limits = np.full(len(strings), material.settings.likeness)
        self._fits = self._limits / 2
        if material.store is not None and len(strings):
            self._vectors = material.store.get(strings, f"texts of {texts.task}")
            gists = material.gists
            assert gists is not None
            self._gists = gists[texts.owner]
            self._set_limits(material.language[texts.owner])

    def _set_limits(self, language: Codes) -> None:
        """From where on two texts are near in meaning, language by language.

        In languages that MiniLM hardly knows all texts are near each other; there only the nearest tenth counts.
        """
        assert self._vectors is not None and self._gists is not None
        for tongue in np.unique(language):
            members = np.flatnonzero(language == tongue)
            sample = members[:: max(1, len(members) // _SAMPLE)][:_SAMPLE]
            apart = ~np.eye(len(sample), dtype=bool)
            if not apart.any():
                continue
            near = (self._vectors[sample] @ self._vectors[sample].T)[apart]
            fits = (self._gists[sample] @ self._vectors[sample].T)[apart]
            self._limits[members] = np.round(max(self._limits[members[0]], np.quantile(near, _NEAREST)), 3)
            self._fits[members] = np.round(max(self._fits[members[0]], np.quantile(fits, _FITTING)), 3)

    def costs(self, rows: Codes, columns: Codes) -> NDArray[np.float64]:
        """How unlike text `column` looks as a wrong option beside text `row`, with a little chance.

        `_FAR` where it may not stand there.
        """
        cost = np.zeros((len(rows), len(columns)))
        for feature in self.styles.T:
            cost += np.abs(feature[rows][:, None] - feature[columns][None, :])
        cost += self.platform[rows][:, None] != self.platform[columns][None, :]
        cost += self._rng.random(cost.shape) * _NOISE
        cost[self.alike(rows, columns) | self._true(rows, columns)] = _FAR
        return cost

    def alike(self, rows: Codes, columns: Codes) -> NDArray[np.bool_]:
        """Which texts may not stand side by side at all: of related videos, the same, or near in meaning."""
        result = self.material.related(self.texts.owner[rows], self.texts.owner[columns])
        result |= self.code[rows][:, None] == self.code[columns][None, :]
        if self._vectors is not None:
            near = _compute_cosines(self._vectors[rows], self._vectors[columns])
            result |= near >= np.minimum(self._limits[rows][:, None], self._limits[columns][None, :])
        return result

    def _true(self, rows: Codes, columns: Codes) -> NDArray[np.bool_]:
        """Which texts (columns) are or may be true of which videos (rows), besides those that are alike."""
        result = np.zeros((len(rows), len(columns)), bool)
        if self._forms is not None:
            for number, row in enumerate(rows):
                marked = np.zeros(len(self._forms), bool)
                marked[self._comment_forms[self.texts.owner[row]]] = True
                result[number] = marked[self._forms[columns]]
        if self._vectors is not None and self._gists is not None:
            fit = _compute_cosines(self._gists[rows], self._vectors[columns])
            own_fit = np.round(np.einsum("ij,ij->i", self._gists[rows], self._vectors[rows]), 3)[:, None]
            # What fits the video noticeably, and as well as the right one does, is not wrong enough.
            result |= (fit >= self._limits[rows][:, None]) | (
                (fit >= own_fit) & (fit >= self._fits[rows][:, None])
            )
        return result


def _compute_cosines(rows: Vectors, columns: Vectors) -> Vectors:
    """Of each with each. Not by BLAS: for so few, its threads wait for each other longer than they work."""
    result: Vectors = np.round(np.einsum("ik,jk->ij", rows, columns), 3)
    return result


def _number_forms(texts: Sequence[str], comments: Sequence[frozenset[str]]) -> tuple[Codes, list[Codes]]:
    """A number for each text's rough form, and for each video the numbers of those said under it."""
    numbers: dict[str, int] = {}
    forms = np.array([numbers.setdefault(normalise_roughly(text), len(numbers)) for text in texts], np.int64)
    return forms, [
        np.array([numbers[form] for form in group & numbers.keys()], np.int64) for group in comments
    ]


def draw_distractors(material: VideoTable, texts: TaskTexts, attempt: int = 0) -> DrawnDistractors:
    """Wrong options for all texts of a task. Another `attempt` draws others by the same rules."""
    seed = derive_seed(material.seed, "draw", texts.task, str(attempt))
    rng = np.random.default_rng(seed)
    judge = DistractorCosts(material, texts, rng)
    spoken = texts.task in SPOKEN
    kept = np.ones(len(texts.options), bool)
    wrong_options: list[list[int]] = [[] for _ in texts.options]
    if texts.task == "topic":
        language = material.topic_language[texts.owner]
    else:
        language = material.language[texts.owner] if spoken else np.zeros(len(wrong_options), np.int64)
    for tongue in np.unique(language) if not spoken else ():
        members = np.flatnonzero(language == tongue)
        kept[members] = choose_fair_share(judge.code[members], rng)
    for tongue in np.unique(language[kept]):
        members = np.flatnonzero((language == tongue) & kept)
        rest = members
        for mixed in range(_ROUNDS):
            blocks = _split_blocks(rest, judge, rng, by_looks=spoken and mixed < 2)
            rest = np.concatenate(
                [members[:0], *(_make_fours(block, judge, wrong_options) for block in blocks)]
            )
        rest = break_up_fours(rest, members, judge, wrong_options, rng, WRONG if attempt else _FEW)
        _place_rest(rest, members, judge, wrong_options, rng)
    wrong = tuple((w[0], w[1], w[2]) if len(w) == WRONG else None for w in wrong_options)
    return DrawnDistractors(wrong, kept)


def choose_fair_share(code: Codes, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which texts to ask for so that none is the right answer of more than a quarter of the items.

    A text that is right more often cannot be wrong three times as often. The surplus is chosen by chance.
    """
    kept = np.ones(len(code), bool)
    order = rng.permutation(len(code))
    counts = np.bincount(code, minlength=1) if len(code) else np.zeros(0, int)
    limit = len(code)
    while True:  # cutting one name down shrinks the whole, which may make another too common
        total = int(np.minimum(counts, limit).sum())
        if not len(counts) or counts.clip(max=limit).max(initial=0) <= total // (WRONG + 1) or limit == 0:
            break
        limit -= max(1, (limit - total // (WRONG + 1)) // 4)
    taken: Counter[int] = Counter()
    for index in order:
        taken[int(code[index])] += 1
        kept[index] = taken[int(code[index])] <= limit
    return kept


def _split_blocks(
    members: Codes, judge: DistractorCosts, rng: np.random.Generator, *, by_looks: bool
) -> list[Codes]:
    """Parts of a group that look alike, or wider ones mixed by chance, so that each has many names in it."""
    if by_looks:
        looks = judge.styles[members]
        length = looks[:, 0] + rng.random(len(members)) * 0.3
        order = np.lexsort((length, looks[:, 2] > 0, judge.platform[members]))
    else:
        order = rng.permutation(len(members))
    pieces = max(1, round(len(members) / (_BLOCK if by_looks else _WIDE_BLOCK)))
    return [piece for piece in np.array_split(members[order], pieces) if len(piece)]


def _make_fours(block: Codes, judge: DistractorCosts, wrong_options: list[list[int]]) -> Codes:
    """Put texts of a block together in fours; returns those left over.

    The commonest names are placed first, or they would be left with nobody to stand beside; among texts that all
    differ, the one that comes first in the block begins, and those that look most like it join.
    """
    cost = judge.costs(block, block)
    cost = np.maximum(cost, cost.T)
    code = judge.code[block]
    remaining = Counter(code.tolist())
    free = np.ones(len(block), bool)
    stuck: set[int] = set()
    while True:
        open_ = [k for k in np.flatnonzero(free).tolist() if k not in stuck]
        if not open_:
            break
        seed = max(open_, key=lambda k: (remaining[code[k]], -k))
        four = _find_company(seed, cost, np.array([remaining[c] for c in code]), free)
        if four is None:
            stuck.add(seed)
            continue
        for member in four:
            free[member] = False
            remaining[code[member]] -= 1
            wrong_options[block[member]] = [int(block[other]) for other in four if other != member]
    return block[free]


def _find_company(
    seed: int, cost: NDArray[np.float64], remaining: NDArray[np.int64], free: NDArray[np.bool_]
) -> list[int] | None:
    """Three that may stand with the seed and with each other; None where there are not three."""
    four = [seed]
    fits = free & (cost[seed] < _FAR)
    while len(four) <= WRONG:
        candidates = np.flatnonzero(fits)
        if not len(candidates):
            return None
        order = np.lexsort((cost[seed][candidates], -remaining[candidates]))
        four.append(int(candidates[order[0]]))
        fits &= cost[four[-1]] < _FAR
    return four


def break_up_fours(
    rest: Codes,
    members: Codes,
    judge: DistractorCosts,
    wrong_options: list[list[int]],
    rng: np.random.Generator,
    few: int,
) -> Codes:
    """Break up some fours so that texts left over find company, until `few` are left; returns those that are.

    In fours nothing can give the right one away; only texts left over can.
    """
    for _ in range(_BROKEN_UP):
        fours = [
            member for member in members if wrong_options[member] and member < min(wrong_options[member])
        ]
        if len(rest) <= few or not fours:
            break
        waiting = rng.permutation(rest)
        firsts = rng.choice(fours, min(len(fours), _WIDE_BLOCK // (WRONG + 1) // 2), replace=False)
        placed = np.array([text for first in firsts for text in (first, *wrong_options[first])], np.int64)
        previous = {int(text): wrong_options[text] for text in placed}
        for text in placed:
            wrong_options[text] = []
        tried = waiting[: _WIDE_BLOCK - len(placed)]
        block = np.concatenate([tried, placed])
        unplaced = _make_fours(block, judge, wrong_options)
        if len(unplaced) > len(tried):
            for text in block:
                wrong_options[text] = previous.get(int(text), [])
            unplaced = tried
        rest = np.concatenate([unplaced, waiting[len(tried) :]])
    return rest


def _place_rest(
    rest: Codes,
    members: Codes,
    judge: DistractorCosts,
    wrong_options: list[list[int]],
    rng: np.random.Generator,
) -> None:
    """Texts left over get wrong options of the whole group, those used least first."""
    taken = [text for member in members for text in wrong_options[member]]
    used = np.bincount(np.array(taken, np.int64), minlength=len(wrong_options))
    for item in rest.tolist():
        jitter = rng.random(len(members))
        texts = members[np.lexsort((jitter, used[members]))[:_SPREAD]]
        cost = judge.costs(np.array([item]), texts)[0]
        fits = cost < _FAR
        for k in np.lexsort((cost, used[texts])):
            if len(wrong_options[item]) == WRONG:
                break
            if fits[k]:
                wrong_options[item].append(int(texts[k]))
                fits &= ~judge.alike(texts[k : k + 1], texts)[0]
        used[wrong_options[item]] += 1
