"""Free-form answers: each measure on the cases that set it apart from the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivant.metrics import answers


def test_numbers_are_read_from_the_end_of_a_reply() -> None:
    assert answers.match_number("It is 3 + 9 = 12.", ["12"]) == 1.0
    assert answers.match_number("12 of them, that is 1,200", ["1200"]) == 1.0
    assert answers.match_number("1.02", ["1"]) == 0.0
    assert answers.match_number("1.02", ["1"], 0.05) == 1.0
    assert answers.match_number("-4", ["−4"]) == 1.0
    assert answers.match_number("[1, 2]", ["[1, 2]"]) == 1.0
    assert answers.match_number("no number", ["5"]) == 0.0
    assert answers.parse_number("12 %") == pytest.approx(0.12)
    assert answers.parse_number("about 5") is None


def test_exact_and_normalised_differ_in_case_and_punctuation() -> None:
    assert answers.match_exact(" Paris ", ["Paris"]) == 1.0
    assert answers.match_exact("paris", ["Paris"]) == 0.0
    assert answers.match_normalised("The Paris!", ["paris"]) == 1.0


def test_anls_is_zero_below_its_threshold() -> None:
    assert answers.measure_anls("1/8/93", ["1/8/93"]) == 1.0
    assert answers.measure_anls("abcd", ["abxy"]) == 0.5
    assert answers.measure_anls("abcd", ["axyz"]) == 0.0
    assert answers.measure_anls("abcd", ["axyz", "abcd "]) == pytest.approx(0.8 + 0.2)
    assert answers.measure_anls("", [""]) == 1.0


def test_vqa_accuracy_counts_annotators() -> None:
    ten = ["red"] * 3 + ["blue"] * 7
    assert answers.measure_vqa("red", ten) == pytest.approx((3 * 2 / 3 + 7) / 10)
    assert answers.measure_vqa("Blue.", ten) == 1.0
    assert answers.measure_vqa("two", ["2"]) == 1.0
    assert answers.measure_vqa("the dont", ["don't"]) == 1.0


def test_relaxed_accuracy_allows_five_percent() -> None:
    assert answers.measure_relaxed("105", ["100"]) == 1.0
    assert answers.measure_relaxed("106", ["100"]) == 0.0
    assert answers.measure_relaxed("12", ["12%"]) == 0.0
    assert answers.measure_relaxed("Yes", ["yes"]) == 1.0


def _slow_distance(first: str, second: str) -> int:
    if not first or not second:
        return len(first) + len(second)
    return min(
        _slow_distance(first[1:], second) + 1,
        _slow_distance(first, second[1:]) + 1,
        _slow_distance(first[1:], second[1:]) + (first[0] != second[0]),
    )


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_the_edit_distance_is_the_least(first: str, second: str) -> None:
    assert answers.edit_distance(first, second) == _slow_distance(first, second)
