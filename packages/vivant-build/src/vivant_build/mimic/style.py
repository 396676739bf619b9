"""How a text looks, whatever it says: wrong options must look like right ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vivant.benchmarks.mimic.text_metrics import count_emoji, has_question, split_words

FEATURES = ("length", "words", "emoji", "capitals", "digits", "marks", "question", "hash", "ascii")
_SCALE = np.array([2.0, 1.0, 1.2, 2.5, 0.5, 0.8, 0.8, 0.5, 1.5])


def measure_styles(texts: Sequence[str]) -> NDArray[np.float64]:
    """One row of scaled features a text; their distance (sum of differences) is one of style."""
    rows = [_features(text) for text in texts]
    scaled: NDArray[np.float64] = np.array(rows, np.float64).reshape(len(rows), len(FEATURES)) * _SCALE
    return scaled


def _features(text: str) -> tuple[float, ...]:
    letters = [c for c in text if c.isalpha()]
    return (
        float(np.log1p(len(text))),
        float(np.log1p(len(split_words(text)))),
        min(count_emoji(text), 3) / 1.5,
        sum(c.isupper() for c in letters) / max(len(letters), 1),
        float(any(c.isdigit() for c in text)),
        float("!" in text or "…" in text or "..." in text),
        float(has_question(text)),
        float("#" in text),
        sum(c.isascii() for c in letters) / max(len(letters), 1),
    )
