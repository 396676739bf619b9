"""More judgements where people disagree: which items get them, and what each judgement then weighs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median
from typing import Any

from vivant_study.design import Study
from vivant_study.judgement import StudyJudgement

_WORDY = ("free", "follow", "spans")
"""Pages whose answers have no majority."""


def measure_disagreement(study: Study, answers: Mapping[tuple[str, str], Sequence[Any]]) -> float:
    """How far people are apart on one item, from 0 (all alike) to 1.

    A choice counts the share of those who differ from the most frequent answer; a scale, how far answers are from
    their median, as a share of half the scale. Several parts and scales are averaged.

    Args:
        study: the study.
        answers: everybody's answers by page and part.
    """
    values: list[float] = []
    ranges = {criterion.name: (criterion.high - criterion.low) / 2 for criterion in study.criteria}
    for (page, _), page_answers in answers.items():
        if page in _WORDY:
            continue
        names = sorted({name for answer in page_answers if isinstance(answer, Mapping) for name in answer})
        columns = [
            [answer.get(name) for answer in page_answers if isinstance(answer, Mapping)] for name in names
        ]
        for name, column in zip(names, columns, strict=True) if names else (("", list(page_answers)),):
            present = [value for value in column if value is not None]
            if len(present) < 2:
                continue
            if name in ranges:
                middle = median(present)
                values.append(min(1.0, mean(abs(value - middle) for value in present) / ranges[name]))
            else:
                values.append(1 - Counter(map(str, present)).most_common(1)[0][1] / len(present))
    return mean(values) if values else 0.0


def choose_targets(
    study: Study, target: int, finished: Mapping[str, Mapping[tuple[str, str], Sequence[Any]]]
) -> dict[str, int]:
    """Judgements that disputed items are to get, by item; all others get `target`.

    Args:
        study: the study, with `adaptive`.
        target: judgements of an item that nobody disputes.
        finished: the answers of items that have their number, by item, page and part.
    """
    if study.adaptive is None:
        return {}
    return {
        item: max(target, study.adaptive.most)
        for item, answers in finished.items()
        if measure_disagreement(study, answers) >= study.adaptive.disagreement
    }


def weigh_judgements(judgements: Iterable[StudyJudgement], target: int) -> dict[str, float]:
    """What one judgement of each item weighs, so that items with more of them count no more than the others."""
    people = Counter(item for item, _ in {(judgement.item, judgement.annotator) for judgement in judgements})
    return {item: round(target / count, 6) if count > target else 1.0 for item, count in people.items()}
