"""ROUGE-L as the PyPI package `rouge` 1.0.1 computes it, which many papers used; `rouge-score` differs.

Sentences end at every full stop. For each pair of a reference and a hypothesis sentence one longest common
subsequence of words is traced; the distinct words of all of them together, over the distinct words of the
reference (hypothesis), give recall (precision). Which subsequence is traced where several are longest changes
the result: the tracing here takes the same one, on rows of bits instead of a table.
"""

from __future__ import annotations

from msgspec import Struct

_EPSILON = 1e-8
"""Added to the sum of precision and recall, as the package does."""


class RougeL(Struct, frozen=True):
    """Precision, recall and their harmonic mean."""

    f: float
    precision: float
    recall: float


def rouge_l(hypothesis: str, reference: str) -> RougeL:
    """ROUGE-L of two texts; 0 where one of them has no sentence (the package raises an error there)."""
    ours, theirs = _sentences(hypothesis), _sentences(reference)
    if not ours or not theirs:
        return RougeL(0.0, 0.0, 0.0)
    columns = [_columns(sentence) for sentence in ours]
    shared: set[str] = set()
    for sentence in theirs:
        for positions in columns:
            shared |= _trace(sentence, positions)
    precision = len(shared) / len({word for sentence in ours for word in sentence})
    recall = len(shared) / len({word for sentence in theirs for word in sentence})
    return RougeL(2.0 * ((precision * recall) / (precision + recall + _EPSILON)), precision, recall)


def _sentences(text: str) -> list[list[str]]:
    # A sentence of white space alone has one word, the empty one: so the package has it.
    return [part.split() or [""] for part in text.split(".") if part]


def _columns(sentence: list[str]) -> dict[str, int]:
    """For each word, the bits of the places where it stands."""
    positions: dict[str, int] = {}
    for index, word in enumerate(sentence):
        positions[word] = positions.get(word, 0) | 1 << index
    return positions


def _trace(rows: list[str], positions: dict[str, int]) -> set[str]:
    """Distinct words of the common subsequence found when tracing back from the end, left before up."""
    width = max(bits.bit_length() for bits in positions.values())
    full = (1 << width) - 1
    # Crochemore's row update: a zero in `flat` marks a column where the common subsequence grows longer.
    flat = full
    grows: list[int] = []
    for word in rows:
        hits = flat & positions.get(word, 0)
        flat = ((flat + hits) | (flat - hits)) & full
        grows.append(full ^ flat)
    words: set[str] = set()
    column = width
    for row in range(len(rows) - 1, -1, -1):
        # To the left nothing happens until the words match, or the length grows: then it came from above.
        matches = positions.get(rows[row], 0)
        column = ((matches | grows[row]) & ((1 << column) - 1)).bit_length()
        if not column:
            break
        if matches >> (column - 1) & 1:
            words.add(rows[row])
            column -= 1
    return words
