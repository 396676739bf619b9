"""What replies are worth, under the paper's protocol and under the strict one.

Records that were imported say so in `extra`, because the published decisions were made on what the result
files hold: `filed` (the answer as it was extracted), `is_correct` (a verdict without its answer), `human`
(a person's judgement, with the question as that person saw it).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from vivant.benchmarks.base import ScoreSettings
from vivant.core.errors import UsageError
from vivant.core.records import Record, Score, make_score
from vivant.core.types import Option, Sample
from vivant.metrics.option_extraction import extract_option
from vivant.metrics.text import find_last_line, strip_thinking

SETTINGS: Mapping[str, Any] = {"threshold": 0.5, "rounding": "protocol"}
PERCENTILE = 25.0
"""The published figure for people's free-form answers compares with this percentile of their similarities."""

_ANSWER = re.compile(r"^\W*(?:(?:the|my)\s+)?(?:final\s+)?answer\s*(?:is\b|[:=–—-])[\s:*_]*", re.IGNORECASE)
_EDGES = " \t\r\n*_`\"'“”‘’."


class ParsedReply(Struct, frozen=True):
    """What was read in a reply (nothing where nothing could be) and by which rule."""

    answer: str
    rule: str


def score_records(items: Sequence[tuple[Sample, Record]], settings: ScoreSettings, task: str) -> list[Score]:
    """Score the records of one task, in order."""
    if task == "mcq":
        return [_score_choice(sample, record, settings) for sample, record in items]
    return _score_free(items, settings)


def read_threshold(values: Mapping[str, Any]) -> float:
    """The similarity from which a free answer is right."""
    value = values.get("threshold", SETTINGS["threshold"])
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UsageError(f"threshold is {value!r}; it must be a number from 0 to 1, e.g. --set threshold=0.5")
    return float(value)


# ── multiple choice ──────────────────────────────────────────────────────────────────────────────


def read_choice_paper(text: str, names: Sequence[str], style: str) -> ParsedReply:
    """A lone letter, else the first character, else the last one."""
    if style == "cot":
        # Some replies hold a backslash and an n where a line should break.
        text = find_last_line(text.replace("\\n", "\n"))
    text = text.strip(" \t\r\n\f\v.").upper()
    if text in names:
        return ParsedReply(text, "exact")
    if text[:1] in names:
        return ParsedReply(text[:1], "first-character")
    if text[-1:] in names:
        return ParsedReply(text[-1:], "last-character")
    return ParsedReply("", "no-letter" if text else "empty")


def read_choice_strict(text: str, options: Sequence[Option]) -> ParsedReply:
    """The one option that the reply names."""
    extraction = extract_option(text, options)
    return ParsedReply(extraction.name or "", extraction.rule)


def _score_choice(sample: Sample, record: Record, settings: ScoreSettings) -> Score:
    verdict = record.extra.get("is_correct")
    if verdict is not None:
        return make_score(record, float(bool(verdict)), rule="verdict-as-filed")
    options = record.options or sample.options
    names = [option.name for option in options]
    person = record.extra.get("human")
    if person is not None:
        correct = person["key"]
        reading = ParsedReply(record.reply.text, "selection")
    else:
        correct = record.order.index(sample.key) if record.order and sample.key is not None else sample.key
        if settings.protocol == "paper":
            reading = read_choice_paper(record.reply.text, names, settings.style)
        else:
            reading = read_choice_strict(record.reply.text, options)
    if not reading.answer:
        return make_score(record, rule=reading.rule, status="unparsed")
    return make_score(record, float(names.index(reading.answer) == correct), reading.answer, reading.rule)


# ── free form ────────────────────────────────────────────────────────────────────────────────────


def read_free_paper(record: Record) -> ParsedReply:
    """The last line without the words "Answer:"; a file's answer stands as the file has it."""
    text = record.reply.text
    if "human" in record.extra:
        return ParsedReply(text.strip(), "person")
    if record.extra.get("filed"):
        return ParsedReply(text.strip(), "as-filed" if text.strip() else "empty")
    line = find_last_line(text)
    if "Answer:" in line:
        line = line.replace("Answer:", "").strip()
        return ParsedReply(line, "answer-mark-removed" if line else "empty")
    return ParsedReply(line, "last-line" if line else "empty")


def read_free_strict(record: Record) -> ParsedReply:
    """The last line that holds a word, without an "Answer:" before it or emphasis around it."""
    if "human" in record.extra:
        return ParsedReply(record.reply.text.strip(), "person")
    text = strip_thinking(record.reply.text)
    if text is None:
        return ParsedReply("", "thinking")
    lines = [line for line in text.replace("\\n", "\n").splitlines() if re.search(r"\w", line)]
    if not lines:
        return ParsedReply("", "empty")
    bare = _ANSWER.sub("", lines[-1]).strip(_EDGES)
    if not re.search(r"\w", bare):
        return ParsedReply("", "empty")
    return ParsedReply(bare, "answer-mark-removed" if _ANSWER.match(lines[-1]) else "last-line")


def _score_free(items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
    limit = read_threshold(settings.values)
    paper = settings.protocol == "paper"
    readings = [read_free_paper(record) if paper else read_free_strict(record) for _, record in items]
    nearest = _find_nearest(items, readings)
    quartiles = _compute_quartiles(items, nearest) if paper else {}
    scores: list[Score] = []
    for index, ((_, record), reading) in enumerate(zip(items, readings, strict=True)):
        similarity, label = nearest.get(index, (0.0, ""))
        detail = {"similarity": similarity, "label": label} if index in nearest else {}
        if not reading.answer:
            scores.append(make_score(record, rule=reading.rule, status="unparsed", detail=detail))
            continue
        correct, rule = similarity >= limit, reading.rule
        person = record.extra.get("human")
        if paper and person is not None:
            # As published: not whether the answer is right, but whether two cut-offs agree on it.
            correct, rule = correct == (similarity > quartiles[person["file"]]), "cut-offs-agree"
        scores.append(make_score(record, float(correct), reading.answer, rule, detail=detail))
    return scores


def _find_nearest(
    items: Sequence[tuple[Sample, Record]], readings: Sequence[ParsedReply]
) -> dict[int, tuple[float, str]]:
    """For each place with an answer: the highest similarity to a label, and that label."""
    pairs = [
        (index, label)
        for index, ((sample, record), reading) in enumerate(zip(items, readings, strict=True))
        # An empty answer in a result file has a published similarity too.
        if reading.answer or (record.extra.get("filed") and reading.rule == "empty")
        for label in _get_labels(sample, record)
    ]
    if not pairs:
        return {}
    from vivant.metrics.similarity import best_similarity

    best: dict[int, tuple[float, str]] = {}
    values = best_similarity([readings[index].answer for index, _ in pairs], [(label,) for _, label in pairs])
    for (index, label), value in zip(pairs, values, strict=True):
        if index not in best or value > best[index][0]:
            best[index] = (value, label)
    return best


def _get_labels(sample: Sample, record: Record) -> Sequence[str]:
    person = record.extra.get("human")
    return person["labels"] if person is not None else sample.answers


def _compute_quartiles(
    items: Sequence[tuple[Sample, Record]], nearest: Mapping[int, tuple[float, str]]
) -> dict[str, float]:
    """For each file of judgements, the percentile that the published figure compares with."""
    by_file: dict[str, list[float]] = {}
    for index, (_, record) in enumerate(items):
        person = record.extra.get("human")
        if person is not None and index in nearest:
            by_file.setdefault(person["file"], []).append(nearest[index][0])
    if not by_file:
        return {}
    import numpy

    return {file: float(numpy.percentile(values, PERCENTILE)) for file, values in by_file.items()}
