"""People's scores of answers, from CSV, JSON or JSON lines: id, score and, where known, model and annotator."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, UsageError

_NAMES = {
    "id": ("id", "sample", "sample_id", "key"),
    "score": ("score", "human_score", "human", "rating", "value"),
    "model": ("model",),
    "annotator": ("annotator", "rater", "judge", "annotator_id"),
    "probability": ("probability",),
}


class HumanScores(Struct, frozen=True, kw_only=True):
    """All scores by id and model; the model is empty where the file names none."""

    file: str
    scores: dict[tuple[str, str], list[float]]
    annotators: dict[tuple[str, str], list[str]]
    """Who gave each of them, in the same order; empty names where the file does not say."""
    scale: tuple[float, float] | None = None
    """The ends of people's scale, where the source says them."""
    probabilities: dict[tuple[str, str], float] = {}
    """By id and model, the chance that an answer had to be scored by people; empty: the same for all."""

    def list_scores(self, item: str, model: str) -> list[tuple[str, float]]:
        """Person and score, for each score of one answer."""
        key = (item, model) if (item, model) in self.scores else (item, "")
        return list(zip(self.annotators.get(key, ()), self.scores.get(key, ()), strict=True))

    def probability(self, item: str, model: str) -> float | None:
        """The chance that an answer had to be scored; None where nothing is known of it."""
        return self.probabilities.get((item, model), self.probabilities.get((item, "")))

    def find(self, item: str, model: str) -> float | None:
        """The mean of people's scores of one answer."""
        scores = self.scores.get((item, model)) or self.scores.get((item, ""))
        return fmean(scores) if scores else None

    @property
    def names_models(self) -> bool:
        """Whether every score says whose answer it is for."""
        return all(model for _, model in self.scores)

    def require_models(self, models: Iterable[str], remedy: str) -> None:
        """An error where scores may belong to any of several models; `remedy`: what to do instead of naming them."""
        names = dict.fromkeys(models)
        if len(names) > 1 and not self.names_models:
            raise UsageError(
                f"{self.file} does not say whose answers people scored, and the runs hold answers by "
                f"{', '.join(names)}; add a column 'model', or {remedy}"
            )

    @property
    def example(self) -> str:
        """One of the ids."""
        return next(iter(self.scores))[0]


class AnswerOwners:
    """Which run each answer is taken from: people scored one, and a file names its model alone."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._runs: dict[tuple[str, str], str] = {}

    def claim(self, item: str, model: str, run: str | Path) -> None:
        """Take people's scores of an answer for a run's; an error where they were taken for another run's."""
        if (other := self._runs.setdefault((item, model), str(run))) != str(run):
            raise UsageError(
                f"{self._file} does not say which run's answer to '{item}' people scored: {other} and {run} are both "
                f"by {model}; name the run alone whose answers people saw"
            )


def read_human_scores(path: Path, low: float | None = None, high: float | None = None) -> HumanScores:
    """Read a file; a score that is no number, or off the scale, is refused by its line."""
    scores: dict[tuple[str, str], list[float]] = {}
    annotators: dict[tuple[str, str], list[str]] = {}
    probabilities: dict[tuple[str, str], float] = {}
    for where, entry in _entries(path):
        item, score = _field(entry, "id"), _field(entry, "score")
        if item in (None, ""):
            raise DataError(f"{path}, {where}: there is no id (columns: {', '.join(map(str, entry))})")
        value = _number(score)
        if value is None:
            raise DataError(f"{path}, {where}: the score of '{item}' is {score!r}, not a number")
        if (low is not None and value < low) or (high is not None and value > high):
            raise DataError(
                f"{path}, {where}: the score of '{item}' is {value:g}, off the scale {low:g} to {high:g}"
            )
        key = (str(item), str(_field(entry, "model") or ""))
        annotator = str(_field(entry, "annotator") or "")
        if annotator and annotator in annotators.get(key, ()):
            raise DataError(f"{path}, {where}: the annotator '{annotator}' scored '{item}' twice")
        chance = _field(entry, "probability")
        if chance not in (None, ""):
            number = _number(chance)
            if number is None or not 0 < number <= 1:
                raise DataError(
                    f"{path}, {where}: the probability of '{item}' is {chance!r}, not a number above 0 and up to 1"
                )
            probabilities[key] = number
        scores.setdefault(key, []).append(value)
        annotators.setdefault(key, []).append(annotator)
    if not scores:
        raise DataError(f"{path} holds no scores")
    if probabilities and len(probabilities) < len(scores):
        raise DataError(
            f"{path}: {len(scores) - len(probabilities)} of {len(scores)} answers have no probability"
        )
    return HumanScores(file=str(path), scores=scores, annotators=annotators, probabilities=probabilities)


def merge_scores(sources: Sequence[HumanScores]) -> HumanScores:
    """Several sources as one. Probabilities are those of the last source that has any: its plan knew the others."""
    scores: dict[tuple[str, str], list[float]] = {}
    annotators: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        for key, values in source.scores.items():
            scores.setdefault(key, []).extend(values)
            annotators.setdefault(key, []).extend(source.annotators[key])
    if len({source.scale for source in sources if source.scale is not None}) > 1:
        raise DataError(f"{' and '.join(source.file for source in sources)} have different scales")
    return HumanScores(
        file=", ".join(source.file for source in sources),
        scores=scores,
        annotators=annotators,
        scale=next((source.scale for source in sources if source.scale is not None), None),
        probabilities=next((s.probabilities for s in reversed(sources) if s.probabilities), {}),
    )


def _field(entry: dict[str, Any], name: str) -> Any:
    return next((entry[alias] for alias in _NAMES[name] if alias in entry), None)


def _number(value_given: Any) -> float | None:
    if isinstance(value_given, bool) or value_given is None:
        return None
    try:
        value = float(value_given)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _entries(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no UTF-8 text: {error}") from error
    if path.suffix == ".csv":
        rows = csv.DictReader(io.StringIO(text))
        for row in rows:
            yield f"line {rows.line_num}", {str(k).strip(): v for k, v in row.items() if k is not None}
        return
    try:
        if path.suffix == ".json":
            values = [(f"entry {n}", value) for n, value in enumerate(msgspec.json.decode(text), 1)]
        else:
            lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
            values = [(f"line {n}", msgspec.json.decode(line)) for n, line in lines]
    except (msgspec.DecodeError, TypeError) as error:
        raise DataError(f"{path} holds no list of scores: {error}") from error
    for where, value in values:
        if not isinstance(value, dict):
            raise DataError(f"{path}, {where}: should be an object with an id and a score")
        yield where, value
