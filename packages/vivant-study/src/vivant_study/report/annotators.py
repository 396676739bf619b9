"""Who should be looked at before their judgements are trusted. Nobody is excluded by these figures: a person decides.

Random answers. An annotator's hits are counted against the key or, where there is none, against what most of the
others said. Two questions are asked of them: would somebody who guesses do as well (an exact test against chance),
and would somebody like the others do as badly (an exact test against the others' rate, with Holm's correction over
all annotators)? Who cannot be told from a guesser, and can be told from the others, is marked. Ratings are compared by
rank correlation with the mean of the others instead.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from vivant.metrics.paired import holm
from vivant_study.attention import get_expected_answers, passes_check
from vivant_study.judgement import StudyJudgement
from vivant_study.report.measures import PREFERENCES
from vivant_study.report.ranks import NO_RANKS, Tests, compute_rank_tests
from vivant_study.results import StudyResults

LEVEL = 0.05
FAST = 1 / 3
"""An annotator whose median time is below this share of the median annotator's is marked."""
MUCH_AWAY = 0.25
"""Somebody who is elsewhere for more than this share of the time is marked."""
RATED = ("rating", "sliders")
"""Kinds in which people are compared by ranks."""
ENOUGH = 8
"""Equal answers below this number are no sign of anything."""


class AnnotatorStatistics(Struct, frozen=True, kw_only=True):
    """What is known of one person's judging."""

    annotator: str
    items: int
    hits: int = 0
    tried: int = 0
    """Judgements that could be compared with the key or the others."""
    like_others: float | None = None
    """Share of judgements that are what most of the others said; for ratings, rank correlation with their mean."""
    checks_passed: int = 0
    checks: int = 0
    seconds: float | None = None
    """Median per item."""
    p_chance: float | None = None
    """How often a guesser would have as many hits."""
    p_others: float | None = None
    """How often somebody like the others would have as few, after Holm's correction."""
    p_same: float | None = None
    """How often the most frequent place or answer would be as frequent by chance, after Holm's correction."""
    unwatched: int = 0
    """Items whose videos were not played to their end, or of which that is not confirmed; where that is not asked for,
    items whose videos were never started."""
    leaves: float = 0.0
    """How often an item's page was left, on average."""
    away: float = 0.0
    """Share of the time during which the page was left."""
    late: int = 0
    """Items with an answer that came after the time was up."""
    signs: tuple[str, ...] = ()
    excluded: str = ""


class _Case(Struct, frozen=True):
    """One judgement that can be compared."""

    annotator: str
    unit: str
    code: Any
    options: int
    key: Any
    position: int | None
    """Where on the page the answer stood; None where places do not move."""


def compute_annotator_statistics(collected: StudyResults) -> list[AnnotatorStatistics]:
    """Everybody who judged, excluded people included, in the order of their first judgement."""
    judgements = list(collected.iter_counted(excluded=True))
    cases = [case for judgement in judgements if (case := _build_case(collected, judgement)) is not None]
    answer_counts: dict[str, Counter[Any]] = defaultdict(Counter)
    by_person: dict[str, list[_Case]] = defaultdict(list)
    for case in cases:
        answer_counts[case.unit][case.code] += 1
        by_person[case.annotator].append(case)
    names = list(dict.fromkeys(judgement.annotator for judgement in collected.judgements))
    outcomes = {name: _compare(by_person[name], answer_counts) for name in names}
    times = _median_seconds(judgements)
    passed = _count_checks(collected)
    attention = _measure_attention(judgements, watch_whole=collected.loaded.study.watch_whole)
    ranks = compute_rank_tests(collected, judgements) if collected.loaded.study.kind in RATED else None
    matches = sum(sum(outcome.alike) for outcome in outcomes.values())
    compared = sum(len(outcome.alike) for outcome in outcomes.values())
    rough = [
        (
            name,
            *(_tests(outcomes[name], matches, compared) if ranks is None else ranks.get(name, NO_RANKS)),
            _p_same(by_person[name]),
        )
        for name in names
    ]
    others = holm([row[3] for row in rough])
    same = holm([row[4] for row in rough])
    usual = median(times.values()) if len(times) >= 3 else None
    items = Counter(name for name, _ in {(judgement.annotator, judgement.item) for judgement in judgements})
    rows: list[AnnotatorStatistics] = []
    for (name, alike, p_chance, _, _), p_others, p_same in zip(rough, others, same, strict=True):
        good, tried = passed.get(name, (0, 0))
        outcome = outcomes[name]
        statistics = AnnotatorStatistics(
            annotator=name,
            items=items[name],
            hits=sum(outcome.hits),
            tried=len(outcome.hits),
            like_others=alike,
            checks_passed=good,
            checks=tried,
            seconds=times.get(name),
            p_chance=p_chance,
            p_others=p_others,
            p_same=p_same,
            excluded=_exclusion_reason(collected, name),
            **attention.get(name, {}),
        )
        rows.append(_add_signs(statistics, usual, watch_whole=collected.loaded.study.watch_whole))
    return rows


def _exclusion_reason(collected: StudyResults, name: str) -> str:
    person = collected.people.get(name)
    return person.excluded if person is not None else ""


def _add_signs(
    statistics: AnnotatorStatistics, usual: float | None, *, watch_whole: bool
) -> AnnotatorStatistics:
    signs: list[str] = []
    # Not above chance, and below the others: with either alone, few answers or hard items would mark anybody.
    if (
        statistics.p_chance is not None
        and statistics.p_others is not None
        and statistics.p_chance > LEVEL > statistics.p_others
    ):
        signs.append("like guessing")
    if statistics.checks_passed < statistics.checks:
        signs.append(f"{statistics.checks - statistics.checks_passed} of {statistics.checks} checks failed")
    if statistics.seconds is not None and usual is not None and statistics.seconds < FAST * usual:
        signs.append(f"fast: {statistics.seconds:.1f} s, usual {usual:.1f} s")
    if statistics.unwatched:
        how = "not watched whole" if watch_whole else "never played"
        signs.append(f"{statistics.unwatched} of {statistics.items} items {how}")
    if statistics.away > MUCH_AWAY:
        signs.append(f"away {statistics.away:.0%} of the time, {statistics.leaves:.1f} times an item")
    if statistics.late:
        signs.append(f"{statistics.late} of {statistics.items} items answered late")
    if statistics.p_same is not None and statistics.p_same < LEVEL:
        signs.append("always the same")
    return msgspec.structs.replace(statistics, signs=tuple(signs))


def _build_case(collected: StudyResults, judgement: StudyJudgement) -> _Case | None:
    item = collected.items[judgement.item]
    unit = f"{judgement.item}\x1f{judgement.part}"
    if judgement.page == "choose" and isinstance(judgement.answer, int):
        position = (
            judgement.shown.index(judgement.answer)
            if judgement.answer in judgement.shown
            else judgement.answer
        )
        key = collected.key_line(judgement.item).option
        return _Case(judgement.annotator, unit, judgement.answer, len(item.options), key, position)
    if judgement.page == "pair" and judgement.answer in PREFERENCES:
        side = PREFERENCES.index(judgement.answer)
        stood = judgement.shown.index(side) if side in judgement.shown else None
        return _Case(judgement.annotator, unit, judgement.answer, 3, None, stood)
    if (
        judgement.page == "comments"
        and isinstance(judgement.answer, dict)
        and judgement.answer.get("verdict")
    ):
        return _Case(judgement.annotator, unit, judgement.answer["verdict"], 2, None, None)
    if judgement.page == "rate" and isinstance(judgement.answer, dict):
        spans = [c.high - c.low + 1 for c in collected.loaded.study.criteria]
        answer = tuple(sorted(judgement.answer.items()))
        return _Case(judgement.annotator, unit, answer, math.prod(spans), None, None)
    return None


class _Outcome(Struct, frozen=True):
    hits: list[bool]
    """Against the key, else against the others."""
    chances: list[float]
    alike: list[bool]
    """Against the others."""


def _compare(cases: Sequence[_Case], answer_counts: Mapping[str, Counter[Any]]) -> _Outcome:
    hits: list[bool] = []
    chances: list[float] = []
    alike: list[bool] = []
    for case in cases:
        most = _majority(answer_counts[case.unit], case.code)
        if most is not None:
            alike.append(case.code == most)
        target = case.key if case.key is not None else most
        if target is not None:
            hits.append(case.code == target)
            chances.append(1 / case.options)
    return _Outcome(hits, chances, alike)


def _majority(answer_counts: Counter[Any], own_answer: Any) -> Any:
    """What most of the others said, one answer being one's own; None where nobody or two answers lead."""
    leader, most, tied = None, 0, False
    for answer, count in answer_counts.items():
        others = count - (answer == own_answer)
        if others > most:
            leader, most, tied = answer, others, False
        elif others == most:
            tied = True
    return None if tied or not most else leader


def _tests(outcome: _Outcome, matches: int, compared: int) -> Tests:
    """`matches` of `compared` judgements of all people are what most of the others said."""
    alike = sum(outcome.alike) / len(outcome.alike) if outcome.alike else None
    p_chance = upper_tail(outcome.chances, sum(outcome.hits)) if outcome.hits else None
    rest = compared - len(outcome.alike)
    if not outcome.alike or not rest:
        return alike, p_chance, None
    # One match and one miss more than there were: a rate of 1 would make a single slip impossible.
    rate = (matches - sum(outcome.alike) + 1) / (rest + 2)
    return alike, p_chance, 1 - upper_tail([rate] * len(outcome.alike), sum(outcome.alike) + 1)


def _p_same(cases: Sequence[_Case]) -> float | None:
    """Chance of the most frequent place being so frequent; for answers without places, of all being equal."""
    if len(cases) < ENOUGH:
        return None
    placed = [case for case in cases if case.position is not None]
    if len(placed) >= ENOUGH:
        sides = 2 if placed[0].options == 3 and isinstance(placed[0].code, str) else placed[0].options
        most = Counter(case.position for case in placed).most_common(1)[0][1]
        widest = max(1 / min(case.options, sides) for case in placed)
        return min(1.0, sides * upper_tail([widest] * len(placed), most))
    if len({case.code for case in cases}) > 1:
        return 1.0
    return float(cases[0].options) ** (1 - len(cases))


def upper_tail(chances: Sequence[float], hits: int) -> float:
    """How often independent trials with these chances give at least so many hits, exactly."""
    if hits <= 0:
        return 1.0
    if hits > len(chances):
        return 0.0
    # The distribution of the number of hits, trial by trial; from `hits` on it is one heap.
    ways = np.zeros(hits + 1)
    ways[0] = 1.0
    for chance in chances:
        one_more = ways[:-1] * chance
        ways[:-1] *= 1 - chance
        ways[1:] += one_more
    return min(1.0, float(ways[hits]))


def _measure_attention(
    judgements: Sequence[StudyJudgement], *, watch_whole: bool
) -> dict[str, dict[str, Any]]:
    """What is known of each person's watching and of pages left open, by field of `AnnotatorStatistics`.

    Where videos need not be watched whole, only those that were never started count as unwatched.
    """
    pages: dict[str, dict[tuple[str, str], StudyJudgement]] = defaultdict(dict)
    for judgement in judgements:
        pages[judgement.annotator][judgement.item, judgement.page] = judgement
    result: dict[str, dict[str, Any]] = {}
    for name, visited in pages.items():
        unwatched = {
            item
            for (item, _), page in visited.items()
            if page.watched in ("part", "unconfirmed")
            and (watch_whole or (page.watched == "part" and not page.plays))
        }
        seconds = sum(page.seconds or 0.0 for page in visited.values())
        result[name] = {
            "unwatched": len(unwatched),
            "late": len({item for (item, _), page in visited.items() if page.late}),
            "leaves": sum(page.leaves for page in visited.values()) / len({item for item, _ in visited}),
            "away": min(1.0, sum(page.away for page in visited.values()) / seconds) if seconds else 0.0,
        }
    return result


def _median_seconds(judgements: Sequence[StudyJudgement]) -> dict[str, float]:
    """Each person's median time per item, all its pages together."""
    times: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for judgement in judgements:
        if judgement.seconds is not None:
            pages = times[judgement.annotator, judgement.item]
            pages[judgement.page] = max(pages.get(judgement.page, 0.0), judgement.seconds)
    people: dict[str, list[float]] = defaultdict(list)
    for (name, _), pages in times.items():
        people[name].append(sum(pages.values()))
    return {name: median(values) for name, values in people.items()}


def _count_checks(collected: StudyResults) -> dict[str, tuple[int, int]]:
    """Attention checks passed and met, by person."""
    answers: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for judgement in collected.iter_counted(excluded=True, checks=True):
        answers[judgement.annotator, judgement.item][judgement.part or judgement.page] = judgement.answer
    counts: dict[str, tuple[int, int]] = {}
    for (name, item), answered in answers.items():
        wanted = get_expected_answers(collected.items[item], collected.key_line(item))
        good = passes_check(answered, wanted)
        passed, total = counts.get(name, (0, 0))
        counts[name] = (passed + good, total + 1)
    return counts
