"""What the words of items alone give away: near-duplicates, and right options that stand out."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from msgspec import Struct

from vivant.benchmarks.summary import cluster_of
from vivant.core.types import Sample, Text
from vivant.metrics.intervals import Interval, mean_interval

_WORD = re.compile(r"\w+")
_ALIKE = 0.8
"""Shingles that two texts share, of all that they have, for them to be near-duplicates."""
_HASHES, _BANDS = 32, 8
_PRIME = np.uint64((1 << 61) - 1)
_LONGER, _SHORTER = 1.6, 0.6


def join_text(sample: Sample) -> str:
    """The words of a question and its options."""
    words = [part.text for part in sample.question if isinstance(part, Text)]
    return " ".join([*words, *(option.text for option in sample.options)])


def find_duplicates(samples: Sequence[Sample]) -> list[list[int]]:
    """Groups of items with nearly the same words and the same media (MinHash, then the shingles themselves)."""
    shingles = [_shingle(join_text(sample)) for sample in samples]
    media = [tuple(getattr(part, "path", "") for part in sample.question) for sample in samples]
    signatures = _sign(shingles)
    parent = list(range(len(samples)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    rows = _HASHES // _BANDS
    for band in range(_BANDS):
        buckets: dict[tuple[bytes, tuple[str, ...]], list[int]] = {}
        part = np.ascontiguousarray(signatures[:, band * rows : (band + 1) * rows])
        for index, signature in enumerate(part):
            if shingles[index]:
                buckets.setdefault((signature.tobytes(), media[index]), []).append(index)
        for members in buckets.values():
            for index in members[1:]:
                first = members[0]
                if root(first) != root(index) and _overlap(shingles[first], shingles[index]) >= _ALIKE:
                    parent[root(index)] = root(first)
    groups: dict[int, list[int]] = {}
    for index in range(len(samples)):
        groups.setdefault(root(index), []).append(index)
    return [group for group in groups.values() if len(group) > 1]


def _shingle(text: str) -> frozenset[int]:
    words = _WORD.findall(text.casefold())
    if len(words) < 3:
        return frozenset([zlib.crc32(" ".join(words).encode())]) if words else frozenset()
    return frozenset(
        zlib.crc32(f"{a} {b} {c}".encode()) for a, b, c in zip(words, words[1:], words[2:], strict=False)
    )


def _sign(shingles: Sequence[frozenset[int]]) -> np.typing.NDArray[np.uint64]:
    sizes = np.array([max(1, len(group)) for group in shingles])
    flat = np.concatenate([np.fromiter(group or (0,), np.uint64) for group in shingles])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rng = np.random.default_rng(0)
    factors = rng.integers(1, 1 << 29, (_HASHES, 2), dtype=np.uint64)
    signatures = np.empty((len(shingles), _HASHES), np.uint64)
    for number, (scale, shift) in enumerate(factors):
        signatures[:, number] = np.minimum.reduceat((flat * scale + shift) % _PRIME, starts)
    return signatures


def _overlap(first: frozenset[int], second: frozenset[int]) -> float:
    together = len(first | second)
    return len(first & second) / together if together else 0.0


# ── options that stand out ───────────────────────────────────────────────────────────────────────


class OptionCue(Struct, frozen=True, kw_only=True):
    """A rule that needs no media, and how often it finds the right option where it applies."""

    name: str
    says: str
    applies: int
    right: int
    chance: float
    interval: Interval
    items: tuple[int, ...]
    """Items that it gets right."""

    @property
    def share(self) -> float:
        """How often it is right."""
        return self.right / self.applies

    @property
    def works(self) -> bool:
        """Whether it is surely better than guessing."""
        return self.interval.low > self.chance


Rule = Callable[[Sample], int | None]
"""The option that a rule picks; None where it does not apply."""


def _lengths(sample: Sample) -> list[int]:
    return [len(option.text.strip()) for option in sample.options]


def _pick_extreme(sample: Sample, *, longest: bool) -> int | None:
    """The option that is far longer (or shorter) than all others."""
    lengths = _lengths(sample)
    index = (max if longest else min)(range(len(lengths)), key=lengths.__getitem__)
    others = [length for other, length in enumerate(lengths) if other != index]
    middle = median(others)
    if longest:
        return index if lengths[index] >= _LONGER * middle and lengths[index] > max(others) else None
    return index if lengths[index] <= _SHORTER * middle and lengths[index] < min(others) else None


def _pick_form(sample: Sample) -> int | None:
    """The only option that is written in another form than all others: capital, full stop, digits, brackets."""
    forms = [
        (
            text[:1].isupper(),
            text[-1:] in ".!?。",
            any(char.isdigit() for char in text),
            any(char in "[](){}\"'" for char in text),
        )
        for text in (option.text.strip() for option in sample.options)
    ]
    counts = Counter(forms)
    alone = [form for form, count in counts.items() if count == 1]
    return forms.index(alone[0]) if len(counts) == 2 and len(alone) == 1 and len(forms) > 2 else None


def _pick_echo(sample: Sample) -> int | None:
    """The only option that repeats words of the question."""
    question = " ".join(part.text for part in sample.question if isinstance(part, Text))
    words = {word for word in _WORD.findall(question.casefold()) if len(word) > 4}
    shared = [
        len(words & set(_WORD.findall(option.text.casefold()))) if words else 0 for option in sample.options
    ]
    best = max(shared)
    return shared.index(best) if best >= 2 and sum(count > 0 for count in shared) == 1 else None


_RULES: tuple[tuple[str, str, Rule], ...] = (
    ("longest", "the right option is far longer than the others", lambda s: _pick_extreme(s, longest=True)),
    (
        "shortest",
        "the right option is far shorter than the others",
        lambda s: _pick_extreme(s, longest=False),
    ),
    ("form", "the right option alone is written in another form", _pick_form),
    ("echo", "the right option alone repeats words of the question", _pick_echo),
)


def find_cues(samples: Sequence[Sample]) -> list[OptionCue]:
    """Each rule over all items with a key and three options or more; those that apply to ten items or more."""
    cues: list[OptionCue] = []
    usable = [(n, s) for n, s in enumerate(samples) if s.key is not None and len(s.options) > 2]
    for name, says, rule in _RULES:
        picks = [(index, sample, rule(sample)) for index, sample in usable]
        applied = [(index, sample, pick) for index, sample, pick in picks if pick is not None]
        if len(applied) < 10:
            continue
        right = tuple(index for index, sample, pick in applied if pick == sample.key)
        hits = [float(pick == sample.key) for _, sample, pick in applied]
        interval = mean_interval(hits, [cluster_of(sample) for _, sample, _ in applied], binary=True)
        if interval is None:
            continue
        cues.append(
            OptionCue(
                name=name,
                says=says,
                applies=len(applied),
                right=len(right),
                chance=sum(1 / len(sample.options) for _, sample, _ in applied) / len(applied),
                interval=interval,
                items=right,
            )
        )
    return cues
