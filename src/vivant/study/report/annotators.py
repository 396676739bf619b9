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
from vivant.metrics.text import plain
from vivant.study.collected import StudyResults
from vivant.study.judgement import StudyJudgement
from vivant.study.key import expected_answers
from vivant.study.report.measures import PREFERENCES
from vivant.study.report.ranks import NO_RANKS, Tests, compute_rank_tests

LEVEL = 0.05
FAST = 1 / 3
"""An annotator whose median time is below this share of the median annotator's is marked."""
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
    signs: tuple[str, ...] = ()
    excluded: str = ""


class _Case(Struct, frozen=True):
    """One judgement that can be compared."""

    annotator: str
    unit: str
    code: Any
    options: int
    key: Any
    place: int | None
    """Where on the page the answer stood; None where places do not move."""


def compute_annotator_statistics(collected: StudyResults) -> list[AnnotatorStatistics]:
    """Everybody who judged, excluded people included, in the order of their first judgement."""
    given = list(collected.counted(excluded=True))
    cases = [case for one in given if (case := _case(collected, one)) is not None]
    said: dict[str, Counter[Any]] = defaultdict(Counter)
    by_person: dict[str, list[_Case]] = defaultdict(list)
    for case in cases:
        said[case.unit][case.code] += 1
        by_person[case.annotator].append(case)
    names = list(dict.fromkeys(one.annotator for one in collected.judgements))
    outcomes = {name: _outcome(by_person[name], said) for name in names}
    times = _seconds(given)
    passed = _checks(collected)
    ranks = compute_rank_tests(collected, given) if collected.loaded.study.kind == "rating" else None
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
    items = Counter(name for name, _ in {(one.annotator, one.item) for one in given})
    found: list[AnnotatorStatistics] = []
    for (name, alike, p_chance, _, _), p_others, p_same in zip(rough, others, same, strict=True):
        good, tried = passed.get(name, (0, 0))
        outcome = outcomes[name]
        one = AnnotatorStatistics(
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
            excluded=_excluded(collected, name),
        )
        found.append(_with_signs(one, usual))
    return found


def _excluded(collected: StudyResults, name: str) -> str:
    person = collected.people.get(name)
    return person.excluded if person is not None else ""


def _with_signs(one: AnnotatorStatistics, usual: float | None) -> AnnotatorStatistics:
    signs: list[str] = []
    # Not above chance, and below the others: with either alone, few answers or hard items would mark anybody.
    if one.p_chance is not None and one.p_others is not None and one.p_chance > LEVEL > one.p_others:
        signs.append("like guessing")
    if one.checks_passed < one.checks:
        signs.append(f"{one.checks - one.checks_passed} of {one.checks} checks failed")
    if one.seconds is not None and usual is not None and one.seconds < FAST * usual:
        signs.append(f"fast: {one.seconds:.1f} s, usual {usual:.1f} s")
    if one.p_same is not None and one.p_same < LEVEL:
        signs.append("always the same")
    return msgspec.structs.replace(one, signs=tuple(signs))


def _case(collected: StudyResults, one: StudyJudgement) -> _Case | None:
    item = collected.items[one.item]
    unit = f"{one.item}\x1f{one.part}"
    if one.page == "choose" and isinstance(one.answer, int):
        place = one.shown.index(one.answer) if one.answer in one.shown else one.answer
        key = collected.line(one.item).option
        return _Case(one.annotator, unit, one.answer, len(item.options), key, place)
    if one.page == "pair" and one.answer in PREFERENCES:
        side = PREFERENCES.index(one.answer)
        stood = one.shown.index(side) if side in one.shown else None
        return _Case(one.annotator, unit, one.answer, 3, None, stood)
    if one.page == "comments" and isinstance(one.answer, dict) and one.answer.get("verdict"):
        return _Case(one.annotator, unit, one.answer["verdict"], 2, None, None)
    if one.page == "rate" and isinstance(one.answer, dict):
        spans = [c.high - c.low + 1 for c in collected.loaded.study.criteria]
        answer = tuple(sorted(one.answer.items()))
        return _Case(one.annotator, unit, answer, math.prod(spans), None, None)
    return None


class _Outcome(Struct, frozen=True):
    hits: list[bool]
    """Against the key, else against the others."""
    chances: list[float]
    alike: list[bool]
    """Against the others."""


def _outcome(own: Sequence[_Case], said: Mapping[str, Counter[Any]]) -> _Outcome:
    hits: list[bool] = []
    chances: list[float] = []
    alike: list[bool] = []
    for case in own:
        most = _majority(said[case.unit], case.code)
        if most is not None:
            alike.append(case.code == most)
        target = case.key if case.key is not None else most
        if target is not None:
            hits.append(case.code == target)
            chances.append(1 / case.options)
    return _Outcome(hits, chances, alike)


def _majority(said: Counter[Any], own: Any) -> Any:
    """What most of the others said, one answer being one's own; None where nobody or two answers lead."""
    leader, most, tied = None, 0, False
    for answer, count in said.items():
        others = count - (answer == own)
        if others > most:
            leader, most, tied = answer, others, False
        elif others == most:
            tied = True
    return None if tied or not most else leader


def _tests(own: _Outcome, matches: int, compared: int) -> Tests:
    """`matches` of `compared` judgements of all people are what most of the others said."""
    alike = sum(own.alike) / len(own.alike) if own.alike else None
    p_chance = upper_tail(own.chances, sum(own.hits)) if own.hits else None
    rest = compared - len(own.alike)
    if not own.alike or not rest:
        return alike, p_chance, None
    # One match and one miss more than there were: a rate of 1 would make a single slip impossible.
    rate = (matches - sum(own.alike) + 1) / (rest + 2)
    return alike, p_chance, 1 - upper_tail([rate] * len(own.alike), sum(own.alike) + 1)


def _p_same(own: Sequence[_Case]) -> float | None:
    """Chance of the most frequent place being so frequent; for answers without places, of all being equal."""
    if len(own) < ENOUGH:
        return None
    placed = [case for case in own if case.place is not None]
    if len(placed) >= ENOUGH:
        sides = 2 if placed[0].options == 3 and isinstance(placed[0].code, str) else placed[0].options
        most = Counter(case.place for case in placed).most_common(1)[0][1]
        widest = max(1 / min(case.options, sides) for case in placed)
        return min(1.0, sides * upper_tail([widest] * len(placed), most))
    if len({case.code for case in own}) > 1:
        return 1.0
    return float(own[0].options) ** (1 - len(own))


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


def _seconds(given: Sequence[StudyJudgement]) -> dict[str, float]:
    """Each person's median time per item, all its pages together."""
    times: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for one in given:
        if one.seconds is not None:
            pages = times[one.annotator, one.item]
            pages[one.page] = max(pages.get(one.page, 0.0), one.seconds)
    people: dict[str, list[float]] = defaultdict(list)
    for (name, _), pages in times.items():
        people[name].append(sum(pages.values()))
    return {name: median(values) for name, values in people.items()}


def _checks(collected: StudyResults) -> dict[str, tuple[int, int]]:
    """Attention checks passed and met, by person."""
    answers: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for one in collected.counted(excluded=True, checks=True):
        answers[one.annotator, one.item][one.part or one.page] = one.answer
    found: dict[str, tuple[int, int]] = {}
    for (name, item), given in answers.items():
        wanted = expected_answers(collected.items[item], collected.line(item))
        good = all(_as_expected(given.get(place), answer) for place, answer in wanted.items())
        passed, met = found.get(name, (0, 0))
        found[name] = (passed + good, met + 1)
    return found


def _as_expected(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(given.get(name) == value for name, value in wanted.items())
    if isinstance(wanted, str) and isinstance(given, str):
        return plain(wanted) == plain(given)
    return bool(given == wanted)
