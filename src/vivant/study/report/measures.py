"""Judgements as columns of figures: what is measured, of which item, by whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from vivant.benchmarks.mimic.packs import HUMAN
from vivant.metrics.agreement import Level
from vivant.metrics.text import plain
from vivant.study.collected import StudyResults
from vivant.study.export.native import total_score
from vivant.study.judgement import StudyJudgement

PREFERENCES = ("first", "second", "tie")
VERDICTS = ("human", "ai")


class MeasuredValue(Struct, frozen=True, kw_only=True):
    """One figure from one judgement."""

    annotator: str
    item: str
    unit: str
    """What the judgement is about: the item, or one part of it."""
    cluster: str
    value: float
    source: str = ""
    """Who made what was judged, where the key says so."""


class StudyMeasure(Struct, frozen=True, kw_only=True):
    """A column: accuracy, the share judged human, a criterion."""

    name: str
    title: str
    values: tuple[MeasuredValue, ...]
    binary: bool = False
    scale: float = 1.0
    """Tables print the mean times this."""
    chance: float | None = None
    """What guessing would give, on the scale of the values."""
    low: float | None = None
    high: float | None = None


class CodedAnswers(Struct, frozen=True, kw_only=True):
    """What agreement is computed over: for each judgement the unit and the answer as a number."""

    title: str
    level: Level
    annotators: tuple[str, ...]
    units: tuple[str, ...]
    codes: tuple[float, ...]


def compute_measures(collected: StudyResults, judgements: Iterable[StudyJudgement]) -> list[StudyMeasure]:
    """Everything that a study of this kind measures, in the order of importance."""
    given = list(judgements)
    makers = {
        "mcq": _choices,
        "free-then-mcq": _choices,
        "blind-comments": _comments,
        "rating": _ratings,
        "pairwise": _pairs,
    }
    return [one for one in makers[collected.loaded.study.kind](collected, given) if one.values]


def _value(collected: StudyResults, one: StudyJudgement, value: float, source: str = "") -> MeasuredValue:
    return MeasuredValue(
        annotator=one.annotator,
        item=one.item,
        unit=f"{one.item}\x1f{one.part}" if one.part else one.item,
        cluster=collected.cluster(one.item),
        value=value,
        source=source,
    )


def _choices(collected: StudyResults, given: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    right: list[MeasuredValue] = []
    chances: list[float] = []
    words: list[MeasuredValue] = []
    for one in given:
        key = collected.line(one.item)
        if one.page == "choose" and one.answer is not None and key.option is not None:
            right.append(_value(collected, one, float(one.answer == key.option)))
            chances.append(1 / len(collected.items[one.item].options))
        elif one.page == "free" and one.answer is not None and key.accepted:
            accepted = {plain(text) for text in key.accepted}
            words.append(_value(collected, one, float(plain(str(one.answer)) in accepted)))
    chance = sum(chances) / len(chances) if chances else None
    yield _share("accuracy", "Right choices, %", right, chance)
    yield _share("free", "Free answers that are an accepted text word for word, %", words)


def _share(
    name: str, title: str, values: list[MeasuredValue], chance: float | None = None, *, binary: bool = True
) -> StudyMeasure:
    """Values from 0 to 1, printed in percent."""
    return StudyMeasure(
        name=name, title=title, values=tuple(values), binary=binary, scale=100, chance=chance, low=0, high=1
    )


def _comments(collected: StudyResults, given: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    right: list[MeasuredValue] = []
    human: list[MeasuredValue] = []
    scales: dict[str, list[MeasuredValue]] = {c.name: [] for c in collected.loaded.study.criteria}
    for one in given:
        if one.page != "comments" or not isinstance(one.answer, dict):
            continue
        source = collected.line(one.item).sources.get(one.part, "")
        verdict = one.answer.get("verdict")
        if verdict in VERDICTS:
            human.append(_value(collected, one, float(verdict == "human"), source))
            if source:
                right.append(_value(collected, one, float((verdict == "human") == (source == HUMAN))))
        for name, column in scales.items():
            if isinstance(one.answer.get(name), int | float):
                column.append(_value(collected, one, float(one.answer[name]), source))
    yield _share("judged human", "Judged human, %", human)
    yield _share("accuracy", "Right verdicts, %", right, 0.5)
    yield from _criteria(collected, scales)


def _ratings(collected: StudyResults, given: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    criteria = collected.loaded.study.criteria
    names = [criterion.name for criterion in criteria]
    scales: dict[str, list[MeasuredValue]] = {name: [] for name in names}
    totals: list[MeasuredValue] = []
    for one in given:
        if one.page != "rate" or not isinstance(one.answer, dict):
            continue
        source = collected.line(one.item).sources.get(one.part, "")
        for name, column in scales.items():
            if isinstance(one.answer.get(name), int | float):
                column.append(_value(collected, one, float(one.answer[name]), source))
        total = total_score(one.answer, names)
        if total is not None:
            totals.append(_value(collected, one, total, source))
    if len(names) > 1 and "score" not in names:
        low, high = sum(c.low for c in criteria), sum(c.high for c in criteria)
        yield StudyMeasure(
            name="total",
            title=f"Sum of all criteria, {low}–{high}",
            values=tuple(totals),
            low=low,
            high=high,
        )
    yield from _criteria(collected, scales)


def _criteria(collected: StudyResults, scales: dict[str, list[MeasuredValue]]) -> Iterator[StudyMeasure]:
    for criterion in collected.loaded.study.criteria:
        yield StudyMeasure(
            name=criterion.name,
            title=f"{criterion.name}, {criterion.low}–{criterion.high}",
            values=tuple(scales[criterion.name]),
            low=criterion.low,
            high=criterion.high,
        )


def _pairs(collected: StudyResults, given: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    """For each source: how often it is preferred, a tie counting half."""
    values: list[MeasuredValue] = []
    ties: list[MeasuredValue] = []
    for one in given:
        if one.page != "pair" or one.answer not in PREFERENCES:
            continue
        ties.append(_value(collected, one, float(one.answer == "tie")))
        sources = collected.line(one.item).sources
        for place, part in enumerate(collected.items[one.item].parts):
            won = 0.5 if one.answer == "tie" else float(one.answer == PREFERENCES[place])
            values.append(_value(collected, one, won, sources.get(part.id, "")))
    values = [value for value in values if value.source]
    yield _share("preferred", "Preferred, % (a tie counts half)", values, 0.5, binary=False)
    yield _share("ties", "Ties, %", ties)


def code_answers(collected: StudyResults, judgements: Iterable[StudyJudgement]) -> list[CodedAnswers]:
    """The answers as numbers: the same for the same answer to the same unit, whatever the order shown."""
    kind = collected.loaded.study.kind
    found: dict[tuple[str, Level], list[tuple[str, str, float]]] = {}

    def add(title: str, level: Level, one: StudyJudgement, code: float) -> None:
        found.setdefault((title, level), []).append((one.annotator, f"{one.item}\x1f{one.part}", code))

    for one in judgements:
        if one.page == "choose" and one.answer is not None:
            add("Option", "nominal", one, float(one.answer))
        elif one.page == "pair" and one.answer in PREFERENCES:
            add("Preference", "nominal", one, float(PREFERENCES.index(one.answer)))
        elif isinstance(one.answer, dict):
            if one.answer.get("verdict") in VERDICTS:
                add("Verdict", "nominal", one, float(VERDICTS.index(one.answer["verdict"])))
            for criterion in collected.loaded.study.criteria:
                if isinstance(one.answer.get(criterion.name), int | float):
                    level: Level = "interval" if kind == "blind-comments" else "ordinal"
                    add(criterion.name, level, one, float(one.answer[criterion.name]))
    return [
        CodedAnswers(
            title=title,
            level=level,
            annotators=tuple(row[0] for row in rows),
            units=tuple(row[1] for row in rows),
            codes=tuple(row[2] for row in rows),
        )
        for (title, level), rows in found.items()
    ]
