"""Judgements as columns of figures: what is measured, of which item, by whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from vivant.benchmarks.mimic.packs import HUMAN
from vivant.metrics.agreement import Level
from vivant.metrics.text import normalise_text
from vivant.study.collected import Collected
from vivant.study.export.native import total_score
from vivant.study.judgement import Judgement

PREFERENCES = ("first", "second", "tie")
VERDICTS = ("human", "ai")


class Value(Struct, frozen=True, kw_only=True):
    """One figure from one judgement."""

    annotator: str
    item: str
    unit: str
    """What the judgement is about: the item, or one part of it."""
    cluster: str
    value: float
    source: str = ""
    """Who made what was judged, where the key says so."""


class Measure(Struct, frozen=True, kw_only=True):
    """A column: accuracy, the share judged human, a criterion."""

    name: str
    title: str
    values: tuple[Value, ...]
    binary: bool = False
    scale: float = 1.0
    """Tables print the mean times this."""
    chance: float | None = None
    """What guessing would give, on the scale of the values."""
    low: float | None = None
    high: float | None = None


class Codes(Struct, frozen=True, kw_only=True):
    """What agreement is computed over: for each judgement the unit and the answer as a number."""

    title: str
    level: Level
    annotators: tuple[str, ...]
    units: tuple[str, ...]
    codes: tuple[float, ...]


def measures(collected: Collected, judgements: Iterable[Judgement]) -> list[Measure]:
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


def _value(collected: Collected, one: Judgement, value: float, source: str = "") -> Value:
    return Value(
        annotator=one.annotator,
        item=one.item,
        unit=f"{one.item}\x1f{one.part}" if one.part else one.item,
        cluster=collected.cluster(one.item),
        value=value,
        source=source,
    )


def _choices(collected: Collected, given: list[Judgement]) -> Iterator[Measure]:
    right: list[Value] = []
    chances: list[float] = []
    words: list[Value] = []
    for one in given:
        key = collected.line(one.item)
        if one.page == "choose" and one.answer is not None and key.option is not None:
            right.append(_value(collected, one, float(one.answer == key.option)))
            chances.append(1 / len(collected.items[one.item].options))
        elif one.page == "free" and one.answer is not None and key.accepted:
            accepted = {normalise_text(text) for text in key.accepted}
            words.append(_value(collected, one, float(normalise_text(str(one.answer)) in accepted)))
    chance = sum(chances) / len(chances) if chances else None
    yield _share("accuracy", "Right choices, %", right, chance)
    yield _share("free", "Free answers that are an accepted text word for word, %", words)


def _share(
    name: str, title: str, values: list[Value], chance: float | None = None, *, binary: bool = True
) -> Measure:
    """Values from 0 to 1, printed in percent."""
    return Measure(
        name=name, title=title, values=tuple(values), binary=binary, scale=100, chance=chance, low=0, high=1
    )


def _comments(collected: Collected, given: list[Judgement]) -> Iterator[Measure]:
    right: list[Value] = []
    human: list[Value] = []
    scales: dict[str, list[Value]] = {c.name: [] for c in collected.loaded.study.criteria}
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


def _ratings(collected: Collected, given: list[Judgement]) -> Iterator[Measure]:
    criteria = collected.loaded.study.criteria
    names = [criterion.name for criterion in criteria]
    scales: dict[str, list[Value]] = {name: [] for name in names}
    totals: list[Value] = []
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
        yield Measure(
            name="total",
            title=f"Sum of all criteria, {low}–{high}",
            values=tuple(totals),
            low=low,
            high=high,
        )
    yield from _criteria(collected, scales)


def _criteria(collected: Collected, scales: dict[str, list[Value]]) -> Iterator[Measure]:
    for criterion in collected.loaded.study.criteria:
        yield Measure(
            name=criterion.name,
            title=f"{criterion.name}, {criterion.low}–{criterion.high}",
            values=tuple(scales[criterion.name]),
            low=criterion.low,
            high=criterion.high,
        )


def _pairs(collected: Collected, given: list[Judgement]) -> Iterator[Measure]:
    """For each source: how often it is preferred, a tie counting half."""
    values: list[Value] = []
    ties: list[Value] = []
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


def codes(collected: Collected, judgements: Iterable[Judgement]) -> list[Codes]:
    """The answers as numbers: the same for the same answer to the same unit, whatever the order shown."""
    kind = collected.loaded.study.kind
    found: dict[tuple[str, Level], list[tuple[str, str, float]]] = {}

    def add(title: str, level: Level, one: Judgement, code: float) -> None:
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
        Codes(
            title=title,
            level=level,
            annotators=tuple(row[0] for row in rows),
            units=tuple(row[1] for row in rows),
            codes=tuple(row[2] for row in rows),
        )
        for (title, level), rows in found.items()
    ]
