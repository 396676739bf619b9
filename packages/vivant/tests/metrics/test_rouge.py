"""ROUGE-L: equal to the `rouge` package's, digit for digit."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivant.metrics.rouge import rouge_l

# Computed with rouge 1.0.1.
KNOWN = [
    ("the cat sat on the mat", "the cat is on the mat. it sat", 0.8333333284722222, 1.0, 0.7142857142857143),
    (
        "go to the left. pick up the mug . put it down",
        "turn left. pick the mug up. put the mug down on it",
        0.5999999950000001,
        0.6,
        0.6,
    ),
    ("a b c d b a", "b a c a d b", 0.999999995, 1.0, 1.0),
    (" . ", " x. ", 0.6666666622222223, 1.0, 0.5),
    ("the man. The man", "the man", 0.7999999952000001, 0.6666666666666666, 1.0),
]


@pytest.mark.parametrize(("hypothesis", "reference", "f", "precision", "recall"), KNOWN)
def test_known_values(hypothesis: str, reference: str, f: float, precision: float, recall: float) -> None:
    found = rouge_l(hypothesis, reference)
    assert (found.f, found.precision, found.recall) == pytest.approx((f, precision, recall), abs=1e-12)


@pytest.mark.parametrize(("hypothesis", "reference"), [("", "a"), ("a", ""), ("...", "a"), ("", "")])
def test_nothing_to_compare_scores_zero(hypothesis: str, reference: str) -> None:
    assert rouge_l(hypothesis, reference).f == 0


def test_long_texts_are_no_trouble() -> None:
    # The package recurses once a word and fails on such texts.
    words = " ".join(str(number) for number in range(5000))
    assert rouge_l(words, words).recall == 1


_WORDS = st.text(alphabet=st.sampled_from("ab c."), max_size=40)


def _traced(x: list[str], y: list[str]) -> set[str]:
    """The same tracing on a full table: match, else up where that is strictly longer, else left."""
    table = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            up_left = table[i - 1][j - 1] + 1
            table[i][j] = up_left if x[i - 1] == y[j - 1] else max(table[i - 1][j], table[i][j - 1])
    i, j, found = len(x), len(y), set()
    while i and j:
        if x[i - 1] == y[j - 1]:
            found.add(x[i - 1])
            i, j = i - 1, j - 1
        elif table[i - 1][j] > table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found


@given(_WORDS, _WORDS)
def test_bits_trace_what_the_table_traces(hypothesis: str, reference: str) -> None:
    ours = [part.split() or [""] for part in hypothesis.split(".") if part]
    theirs = [part.split() or [""] for part in reference.split(".") if part]
    shared = {word for x in theirs for y in ours for word in _traced(x, y)}
    total = len({word for sentence in theirs for word in sentence})
    assert rouge_l(hypothesis, reference).recall == (len(shared) / total if total and ours else 0)


def test_equals_the_package_on_random_texts() -> None:
    package = pytest.importorskip("rouge")
    scorer = package.Rouge(metrics=["rouge-l"])
    rng = random.Random(7)
    for _ in range(2000):
        vocabulary = [chr(97 + i) for i in range(rng.choice([2, 4, 20]))] + [".", " . "]
        first, second = (" ".join(rng.choices(vocabulary, k=rng.choice([1, 4, 12, 40]))) for _ in range(2))
        try:
            expected = scorer.get_scores(first, second)[0]["rouge-l"]
        except ValueError:
            expected = {"f": 0, "p": 0, "r": 0}
        found = rouge_l(first, second)
        assert (found.f, found.precision, found.recall) == pytest.approx(
            (expected["f"], expected["p"], expected["r"]), abs=1e-12
        )
