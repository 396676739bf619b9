"""Which language a text is in: by its script, and among languages of one script by frequent words and letters."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.yaml_files import read_yaml
from vivant_build.mimic.cleaning.tokens import SCRIPTS, TokenizedColumn, count_scripts, hash_word

_ALONE = {"Greek": "el", "Hebrew": "he", "Bengali": "bn", "Tamil": "ta", "Thai": "th", "Hangul": "ko"}
_LETTER = 0.6
"""What a telling letter is worth, in words."""
_DENSE = 3
"""A character of a script without letters says about as much as so many letters."""
_TIE = 1e-9
_SLOTS = 1 << 16


class SparseWeights(Struct, frozen=True):
    """For each thing, what it is worth to which languages: few entries each."""

    first: NDArray[np.int64]
    language: NDArray[np.int64]
    weight: NDArray[np.float64]
    languages: int

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> SparseWeights:
        """From a table of things × languages."""
        thing, language = np.nonzero(rows)
        first = np.searchsorted(thing, np.arange(len(rows) + 1))
        return cls(first, language, rows[thing, language], rows.shape[1])

    def sums(self, things: NDArray[np.int64], owner: NDArray[np.int64], owners: int) -> NDArray[np.float64]:
        """What the things of each owner are worth together: owners × languages."""
        counts = self.first[things + 1] - self.first[things]
        begin = np.cumsum(counts) - counts
        entries = np.arange(int(counts.sum())) - np.repeat(begin - self.first[things], counts)
        flat = np.repeat(owner, counts) * self.languages + self.language[entries]
        summed = np.bincount(flat, self.weight[entries], owners * self.languages).astype(np.float64)
        return summed.reshape(owners, self.languages)


class LanguageDetector(Struct, frozen=True):
    """Tables made from `languages.yaml`."""

    languages: tuple[str, ...]
    """Code 0 is no language."""
    script: NDArray[np.int64]
    """Script of each language, as a place in SCRIPTS."""
    hashes: NDArray[np.uint64]
    """Of the words, in order."""
    slot: NDArray[np.int64]
    """First word whose hash begins with these sixteen bits."""
    words: SparseWeights
    letters: SparseWeights
    telling: NDArray[np.int64]
    """Character → row of `letters`; 0 for the many that tell nothing."""

    def detect(
        self, tokens: TokenizedColumn, scripts: NDArray[np.int64] | None = None, *, guess: bool = True
    ) -> NDArray[np.int64]:
        """The language of each text as a place in `languages`; 0 where it cannot be told.

        `scripts` are the texts' script_counts, for those who have them already. Of languages that are equally likely
        the first is taken, with `guess`; without, it cannot be told: a word that both have was all there is.
        """
        counts = count_scripts(tokens) if scripts is None else scripts.copy()
        counts[:, [SCRIPTS.index(name) for name in ("none", "digit", "emoji")]] = 0
        counts[:, [SCRIPTS.index(name) for name in ("Han", "Kana", "Hangul")]] *= _DENSE
        main = counts.argmax(1)
        # Where a script without Latin letters has a fair share, borrowed words do not hide it.
        latin = SCRIPTS.index("Latin")
        rest = counts.copy()
        rest[:, latin] = 0
        main = np.where((main == latin) & (rest.max(1) * 2 > counts[:, latin]), rest.argmax(1), main)
        scores = self._scores(tokens)
        scores[self.script[None, :] != main[:, None]] = 0
        best = scores.argmax(1)
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        sure = first > 0 if guess else first - second > _TIE
        chosen = np.where(sure, best, 0)
        for script, code in (
            (latin, 0),
            *((SCRIPTS.index(s), self.languages.index(c)) for s, c in _DEFAULTS),
        ):
            chosen = np.where(~sure & (main == script), code, chosen)
        kana, han = counts[:, SCRIPTS.index("Kana")], counts[:, SCRIPTS.index("Han")]
        asian = np.where(kana * 8 > han, self.languages.index("ja"), self.languages.index("zh"))
        chosen = np.where((main == SCRIPTS.index("Han")) | (main == SCRIPTS.index("Kana")), asian, chosen)
        any_letters = counts.sum(1) > 0
        return np.where(any_letters, chosen, 0)

    def _scores(self, tokens: TokenizedColumn) -> NDArray[np.float64]:
        entries = self._look_up(tokens.hashes)
        matched = np.flatnonzero(entries >= 0)
        owner = np.searchsorted(tokens.first, matched, side="right") - 1
        telling = self.telling[np.minimum(tokens.points, len(self.telling) - 1)]
        letters = np.flatnonzero(telling)
        letter_owner = np.searchsorted(tokens.begins, letters, side="right") - 1
        return self.words.sums(entries[matched], owner, tokens.texts) + self.letters.sums(
            telling[letters], letter_owner, tokens.texts
        )

    def _look_up(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The word of each hash; -1 where it is none. Slots hold one or a few words: a few steps find any."""
        first = self.slot[(hashes >> np.uint64(48)).astype(np.int64)]
        result = np.full(len(hashes), -1, np.int64)
        last = len(self.hashes) - 1
        for step in range(_largest_slot(self.hashes)):
            here = np.minimum(first + step, last)
            result = np.where(self.hashes[here] == hashes, here, result)
        return result


_DEFAULTS = (
    ("Cyrillic", "ru"), ("Arabic", "ar"), ("Devanagari", "hi"), *_ALONE.items(),
)  # fmt: skip


def _largest_slot(hashes: NDArray[np.uint64]) -> int:
    return int(np.unique(hashes >> np.uint64(48), return_counts=True)[1].max())


@lru_cache(maxsize=1)
def _read_tables() -> dict[str, dict[str, dict[str, Any]]]:
    return read_yaml(Path(__file__).with_name("languages.yaml"), dict[str, dict[str, dict[str, Any]]])


def list_frequent_words(language: str) -> frozenset[str]:
    """Words of a language that stand in texts on anything; none for a language without a table."""
    entries = (codes[language] for codes in _read_tables().values() if language in codes)
    return frozenset(word for entry in entries for word in str(entry["words"]).split())


@lru_cache(maxsize=1)
def load_detector() -> LanguageDetector:
    """The detector of the bundled tables."""
    data = _read_tables()
    listed = [(script, code, entry) for script, codes in data.items() for code, entry in codes.items()]
    languages = ("", *(code for _, code, _ in listed), *_ALONE.values(), "ja", "zh")
    scripts = [0, *(SCRIPTS.index(script) for script, _, _ in listed)]
    scripts += [SCRIPTS.index(script) for script in _ALONE] + [SCRIPTS.index("Kana"), SCRIPTS.index("Han")]
    weights: dict[int, NDArray[np.float64]] = {}
    telling = np.zeros(0x10000, np.int64)
    letters = [np.zeros(len(languages), np.float64)]
    for number, (_, _, entry) in enumerate(listed, 1):
        for word in sorted(set(str(entry["words"]).split())):
            row = weights.setdefault(hash_word(word), np.zeros(len(languages), np.float64))
            row[number] = 1
        for letter in entry["letters"]:
            if not telling[ord(letter)]:
                telling[ord(letter)] = len(letters)
                letters.append(np.zeros(len(languages), np.float64))
            letters[telling[ord(letter)]][number] = _LETTER
    for row in weights.values():
        # A word of several languages says less.
        row /= np.sqrt(row.sum())
    hashes = np.array(sorted(weights), np.uint64)
    return LanguageDetector(
        languages=languages,
        script=np.array(scripts),
        hashes=hashes,
        slot=np.searchsorted(hashes, np.arange(_SLOTS, dtype=np.uint64) << np.uint64(48)),
        words=SparseWeights.of(np.stack([weights[int(value)] for value in hashes])),
        letters=SparseWeights.of(np.stack(letters)),
        telling=telling,
    )
