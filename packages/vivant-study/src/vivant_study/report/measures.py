"""Judgements as columns of figures: what is measured, of which item, by whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from vivant.analysis.reasoning.people_labels import ANSWER
from vivant.benchmarks.mimic.packs import HUMAN
from vivant.metrics.agreement import Level
from vivant.metrics.spans import overlap
from vivant.metrics.text import normalise_text
from vivant_study.export.native import total_score
from vivant_study.judgement import StudyJudgement
from vivant_study.make.items import LABEL
from vivant_study.results import StudyResults

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
    weight: float = 1.0


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
    builders = {
        "mcq": _choices,
        "free-then-mcq": _choices,
        "blind-comments": _comments,
        "rating": _ratings,
        "pairwise": _pairs,
        "best-worst": _best_worst,
        "sliders": _ratings,
        "spans": _spans,
        "free-follow-up": _follow_ups,
    }
    measures = builders[collected.loaded.study.kind](collected, list(judgements))
    return [measure for measure in measures if measure.values]


def _value(
    collected: StudyResults, judgement: StudyJudgement, value: float, source: str = ""
) -> MeasuredValue:
    return MeasuredValue(
        annotator=judgement.annotator,
        item=judgement.item,
        unit=f"{judgement.item}\x1f{judgement.part}" if judgement.part else judgement.item,
        cluster=collected.cluster(judgement.item),
        value=value,
        source=source,
        weight=collected.weights.get(judgement.item, 1.0),
    )


def _choices(collected: StudyResults, judgements: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    right: list[MeasuredValue] = []
    chances: list[float] = []
    free_answers: list[MeasuredValue] = []
    labels: dict[str, list[MeasuredValue]] = {}
    for judgement in judgements:
        key = collected.key_line(judgement.item)
        if judgement.page == "choose" and judgement.answer is not None and LABEL in key.extra:
            what = "kind" if key.extra[LABEL]["segment"] == ANSWER else "rests on"
            for index, name in enumerate(key.extra[LABEL]["labels"]):
                chosen = _value(collected, judgement, float(judgement.answer == index))
                labels.setdefault(f"{what}: {name}", []).append(chosen)
        elif judgement.page == "choose" and judgement.answer is not None and key.option is not None:
            right.append(_value(collected, judgement, float(judgement.answer == key.option)))
            chances.append(1 / len(collected.items[judgement.item].options))
        elif judgement.page == "free" and judgement.answer is not None and key.accepted:
            accepted = {normalise_text(text) for text in key.accepted}
            free_answers.append(
                _value(collected, judgement, float(normalise_text(str(judgement.answer)) in accepted))
            )
    chance = sum(chances) / len(chances) if chances else None
    yield _share("accuracy", "Right choices, %", right, chance)
    for name, values in labels.items():
        yield _share(name, f"Label “{name}”, %", values)
    yield _share("free", "Free answers that are an accepted text word for word, %", free_answers)


def _share(
    name: str, title: str, values: list[MeasuredValue], chance: float | None = None, *, binary: bool = True
) -> StudyMeasure:
    """Values from 0 to 1, printed in percent."""
    return StudyMeasure(
        name=name, title=title, values=tuple(values), binary=binary, scale=100, chance=chance, low=0, high=1
    )


def _comments(collected: StudyResults, judgements: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    right: list[MeasuredValue] = []
    human: list[MeasuredValue] = []
    scales: dict[str, list[MeasuredValue]] = {c.name: [] for c in collected.loaded.study.criteria}
    for judgement in judgements:
        if judgement.page != "comments" or not isinstance(judgement.answer, dict):
            continue
        source = collected.key_line(judgement.item).sources.get(judgement.part, "")
        verdict = judgement.answer.get("verdict")
        if verdict in VERDICTS:
            human.append(_value(collected, judgement, float(verdict == "human"), source))
            if source:
                right.append(_value(collected, judgement, float((verdict == "human") == (source == HUMAN))))
        for name, column in scales.items():
            if isinstance(judgement.answer.get(name), int | float):
                column.append(_value(collected, judgement, float(judgement.answer[name]), source))
    yield _share("judged human", "Judged human, %", human)
    yield _share("accuracy", "Right verdicts, %", right, 0.5)
    yield from _criteria(collected, scales)


def _ratings(collected: StudyResults, judgements: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    criteria = collected.loaded.study.criteria
    names = [criterion.name for criterion in criteria]
    scales: dict[str, list[MeasuredValue]] = {name: [] for name in names}
    totals: list[MeasuredValue] = []
    for judgement in judgements:
        if judgement.page != "rate" or not isinstance(judgement.answer, dict):
            continue
        source = collected.key_line(judgement.item).sources.get(judgement.part, "")
        for name, column in scales.items():
            if isinstance(judgement.answer.get(name), int | float):
                column.append(_value(collected, judgement, float(judgement.answer[name]), source))
        total = total_score(judgement.answer, names)
        if total is not None:
            totals.append(_value(collected, judgement, total, source))
    if len(names) > 1 and "score" not in names:
        low, high = sum(c.low for c in criteria), sum(c.high for c in criteria)
        yield StudyMeasure(
            name="total", title=f"Sum of all criteria, {low}–{high}", values=tuple(totals), low=low, high=high
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


def _pairs(collected: StudyResults, judgements: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    """For each source: how often it is preferred, a tie counting half."""
    values: list[MeasuredValue] = []
    ties: list[MeasuredValue] = []
    for judgement in judgements:
        if judgement.page != "pair" or judgement.answer not in PREFERENCES:
            continue
        ties.append(_value(collected, judgement, float(judgement.answer == "tie")))
        sources = collected.key_line(judgement.item).sources
        for index, part in enumerate(collected.items[judgement.item].parts):
            won = 0.5 if judgement.answer == "tie" else float(judgement.answer == PREFERENCES[index])
            values.append(_value(collected, judgement, won, sources.get(part.id, "")))
    values = [value for value in values if value.source]
    yield _share("preferred", "Preferred, % (a tie counts half)", values, 0.5, binary=False)
    yield _share("ties", "Ties, %", ties)


def _best_worst(collected: StudyResults, judgements: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    """For each source: how often it is best less how often it is worst."""
    values: list[MeasuredValue] = []
    for judgement in judgements:
        if judgement.page != "best-worst" or not isinstance(judgement.answer, dict):
            continue
        sources = collected.key_line(judgement.item).sources
        for index, part in enumerate(collected.items[judgement.item].parts):
            score = (judgement.answer.get("best") == index) - (judgement.answer.get("worst") == index)
            values.append(_value(collected, judgement, float(score), sources.get(part.id, "")))
    values = [value for value in values if value.source]
    yield StudyMeasure(
        name="best-worst", title="Best less worst, −1 to 1", values=tuple(values), chance=0.0, low=-1, high=1
    )


def _spans(collected: StudyResults, judgements: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    """Seconds marked, and how far two people mark the same ones."""
    marks: dict[str, list[StudyJudgement]] = {}
    for judgement in judgements:
        if judgement.page == "spans" and isinstance(judgement.answer, list):
            marks.setdefault(judgement.item, []).append(judgement)
    seconds = [
        _value(collected, judgement, sum(end - start for start, end in judgement.answer))
        for group in marks.values()
        for judgement in group
    ]
    overlaps = []
    for group in marks.values():
        for judgement in group:
            others = [overlap(judgement.answer, other.answer) for other in group if other is not judgement]
            if others:
                overlaps.append(_value(collected, judgement, sum(others) / len(others)))
    yield _share("overlap", "Overlap with what others mark, %", overlaps, binary=False)
    yield StudyMeasure(name="seconds marked", title="Seconds marked", values=tuple(seconds))


def _follow_ups(collected: StudyResults, judgements: list[StudyJudgement]) -> Iterator[StudyMeasure]:
    yield from (measure for measure in _choices(collected, judgements) if measure.name == "free")
    scales: dict[str, list[MeasuredValue]] = {c.name: [] for c in collected.loaded.study.criteria}
    for judgement in judgements:
        if judgement.page == "follow" and isinstance(judgement.answer, dict):
            for name, column in scales.items():
                if isinstance(judgement.answer.get(name), int | float):
                    column.append(_value(collected, judgement, float(judgement.answer[name])))
    yield from _criteria(collected, scales)


def measure_consensus(collected: StudyResults, judgements: Iterable[StudyJudgement]) -> list[StudyMeasure]:
    """How many of the others say the same, for answers that only the key could call right."""
    measures: list[StudyMeasure] = []
    for coded in code_answers(collected, judgements):
        if coded.level != "nominal":
            continue
        triples = list(zip(coded.annotators, coded.units, coded.codes, strict=True))
        counts = Counter(coded.units)
        alike = Counter((unit, code) for _, unit, code in triples)
        values = [
            MeasuredValue(
                annotator=annotator,
                item=unit.partition("\x1f")[0],
                unit=unit,
                cluster=collected.cluster(unit.partition("\x1f")[0]),
                value=(alike[unit, code] - 1) / (counts[unit] - 1),
                weight=collected.weights.get(unit.partition("\x1f")[0], 1.0),
            )
            for annotator, unit, code in triples
            if counts[unit] > 1
        ]
        if values:
            measures.append(
                _share(f"consensus {coded.title}", f"Same as others ({coded.title}), %", values, binary=False)
            )
    return measures


def code_answers(collected: StudyResults, judgements: Iterable[StudyJudgement]) -> list[CodedAnswers]:
    """The answers as numbers: the same for the same answer to the same unit, whatever the order shown."""
    kind = collected.loaded.study.kind
    rows_by_code: dict[tuple[str, Level], list[tuple[str, str, float]]] = {}

    def add(title: str, level: Level, judgement: StudyJudgement, code: float) -> None:
        rows_by_code.setdefault((title, level), []).append(
            (judgement.annotator, f"{judgement.item}\x1f{judgement.part}", code)
        )

    for judgement in judgements:
        if judgement.page == "choose" and judgement.answer is not None:
            add("Option", "nominal", judgement, float(judgement.answer))
        elif judgement.page == "pair" and judgement.answer in PREFERENCES:
            add("Preference", "nominal", judgement, float(PREFERENCES.index(judgement.answer)))
        elif judgement.page == "best-worst" and isinstance(judgement.answer, dict):
            for end in ("best", "worst"):
                if judgement.answer.get(end) is not None:
                    add(end.capitalize(), "nominal", judgement, float(judgement.answer[end]))
        elif isinstance(judgement.answer, dict):
            if judgement.answer.get("verdict") in VERDICTS:
                add("Verdict", "nominal", judgement, float(VERDICTS.index(judgement.answer["verdict"])))
            for criterion in collected.loaded.study.criteria:
                if isinstance(judgement.answer.get(criterion.name), int | float):
                    level: Level = "interval" if kind == "blind-comments" else "ordinal"
                    add(criterion.name, level, judgement, float(judgement.answer[criterion.name]))
    return [
        CodedAnswers(
            title=title,
            level=level,
            annotators=tuple(row[0] for row in rows),
            units=tuple(row[1] for row in rows),
            codes=tuple(row[2] for row in rows),
        )
        for (title, level), rows in rows_by_code.items()
    ]
