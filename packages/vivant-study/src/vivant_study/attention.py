"""Attention checks: whether an answer is the one that somebody who reads gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vivant.metrics.text import normalise_text
from vivant_study.design import KeyLine, StudyItem


def passes_check(answers: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Whether the answers, by page or part, are those expected; what is not named may be anything."""
    return all(_is_expected(answers.get(name), answer) for name, answer in expected.items())


def _is_expected(answer: Any, expected: Any) -> bool:
    if isinstance(expected, Mapping):
        return isinstance(answer, Mapping) and all(
            answer.get(name) == value for name, value in expected.items()
        )
    if isinstance(expected, str) and isinstance(answer, str):
        return normalise_text(expected) == normalise_text(answer)
    return bool(answer == expected)


def get_expected_answers(item: StudyItem, line: KeyLine | None) -> dict[str, Any]:
    """What somebody who pays attention answers to a check, by page or part; empty where nothing is known."""
    if line is None:
        return item.expected
    if line.expected:
        return line.expected
    return {"choose": line.option} if item.options and line.option is not None else item.expected
