"""Scoring of described benchmarks: by the scorer of the description, or by another harness's rule."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from vivant.benchmarks.declarative.answer_scorers import ELSEWHERE, measure_answer
from vivant.benchmarks.declarative.spec import BenchmarkSpec
from vivant.core.errors import unknown_name_error
from vivant.core.randomness import derive_seed
from vivant.core.records import Record, Score, ScoreStatus
from vivant.core.types import Sample, Text
from vivant.metrics.choice import score_choice
from vivant.metrics.harness_rules import Rule, RuleItem, find_rule
from vivant.metrics.text import find_last_line

RULE = "rule"
CIRCULAR = "circular"
DESCRIPTION = "description"
_UNREADABLE: tuple[ScoreStatus, ...] = ("missing", "truncated", "unparsed")
"""What a question is where one of its copies is, the first that fits."""
_ANLS_THRESHOLD = 0.5
_SIMILARITY_THRESHOLD = 0.7


def list_settings(specs: Sequence[BenchmarkSpec]) -> dict[str, Any]:
    """Scoring settings and their defaults: `--set rule=vlmevalkit`.

    `description` stands for what a file says about scoring, so that runs are scored anew after it was changed.
    """
    settings: dict[str, Any] = {DESCRIPTION: _digest(specs)}
    for spec in specs:
        scorer = spec.scoring
        if spec.rules:
            settings.setdefault(RULE, spec.rules[0].partition("/")[0])
        if spec.circular:
            settings[CIRCULAR] = True
        if scorer.name in ("number", "relaxed"):
            settings.setdefault("tolerance", scorer.tolerance)
        if scorer.name in ("anls", "similarity"):
            default = _ANLS_THRESHOLD if scorer.name == "anls" else _SIMILARITY_THRESHOLD
            settings.setdefault("threshold", default if scorer.threshold is None else scorer.threshold)
    return settings


def _digest(specs: Sequence[BenchmarkSpec]) -> str:
    parts = [(spec.scoring, spec.rules, spec.circular) for spec in specs]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:8]


def choose_rule(spec: BenchmarkSpec, harness: str) -> Rule | None:
    """The rule of a harness, which the description names; None where the task follows no harness at all."""
    rules = {name.partition("/")[0]: name for name in spec.rules}
    if not rules:
        return None
    if harness not in rules:
        raise unknown_name_error(f"rule of {spec.name}", harness, rules)
    return find_rule(rules[harness])


def make_rule_item(sample: Sample, record: Record) -> RuleItem:
    """A question as a rule sees it: the options under the letters shown, as the data write them."""
    options = record.options or sample.options
    order = record.order or tuple(range(len(options)))
    form = sample.extra.get("option_prefix", "")
    gold = next(
        (option.name for option, index in zip(options, order, strict=True) if index == sample.key), ""
    )
    return RuleItem(
        options={option.name: form.format(option.name) + option.text for option in options},
        gold=gold,
        answers=sample.answers,
        question="".join(part.text for part in sample.question if isinstance(part, Text)),
        fields=sample.extra,
        seed=derive_seed(0, record.key, "guess"),
    )


def score_by_rule(rule: Rule, sample: Sample, record: Record) -> Score:
    """A reply as another harness reads it."""
    reading = rule(record.reply.text, make_rule_item(sample, record))
    unparsed = reading.status == "unparsed"
    return Score(
        key=record.key,
        task=record.task,
        id=record.id,
        status=reading.status,
        value=None if unparsed or reading.status == "excluded" else reading.value,
        answer=reading.answer[:200],
        rule=reading.rule,
        guessed=reading.guessed,
    )


def score_plain(
    spec: BenchmarkSpec, items: Sequence[tuple[Sample, Record]], settings: Mapping[str, Any]
) -> list[Score]:
    """Options as Vivant reads them, without guessing; free answers by the description's scorer."""
    name = spec.scoring.name
    free = [item for item in items if not item[0].options]
    values = _measure_similarity(free, settings) if name == "similarity" else {}
    # Questions without options may stand among multiple choice.
    free_scorer = "normalised" if name in ELSEWHERE else name
    scores: list[Score] = []
    for sample, record in items:
        if sample.options:
            scores.append(score_choice(sample, record))
            continue
        value = values.get(record.key)
        if value is None:
            value = measure_answer(free_scorer, record.reply.text, sample.answers, settings)
        answer = find_last_line(record.reply.text)[:200]
        scores.append(
            Score(key=record.key, task=record.task, id=record.id, value=value, answer=answer, rule=name)
        )
    return scores


def _measure_similarity(
    items: Sequence[tuple[Sample, Record]], settings: Mapping[str, Any]
) -> dict[str, float]:
    if not items:
        return {}
    from vivant.metrics.similarity import best_similarity

    replies = [record.reply.text.strip() for _, record in items]
    values = best_similarity(replies, [sample.answers for sample, _ in items])
    return {
        record.key: float(value >= settings["threshold"])
        for (_, record), value in zip(items, values, strict=True)
    }


def join_copies(items: Sequence[tuple[Sample, Record]], scores: Sequence[Score]) -> list[Score]:
    """Circular evaluation: a question counts once, right where every copy of it is.

    The first copy bears the value; the others are excluded. A reply that names no option is wrong for its group.
    """
    joined = list(scores)
    for members, main in _group_copies(items):
        right = all(scores[index].value == 1.0 for index in members)
        for index in members:
            score = scores[index]
            joined[index] = Score(
                key=score.key,
                task=score.task,
                id=score.id,
                status="scored" if index == main else "excluded",
                value=float(right) if index == main else None,
                answer=score.answer,
                rule=f"all {len(members)} copies" if index == main else "copy of a question",
                detail={"copy": score.value, "read_by": score.rule},
            )
    return joined


def join_unreadable(rows: Sequence[tuple[Sample, Record | None, Score]]) -> list[Score]:
    """Joined scores with the copies that could not be read: an error leaves the whole question out of the mean, a reply
    without an answer makes it wrong."""
    joined = [score for _, _, score in rows]
    for members, main in _group_copies([(sample, record) for sample, record, _ in rows]):
        statuses = {rows[index][2].status for index in members}
        status = next((s for s in _UNREADABLE if s in statuses), None)
        if status is None:
            continue
        wrong = status == "unparsed"
        for index in members:
            score = rows[index][2]
            joined[index] = msgspec.structs.replace(
                score,
                status="excluded" if index != main else "scored" if wrong else status,
                value=0.0 if wrong and index == main else None,
                rule=f"a copy is {status}" if index == main else "copy of a question",
                detail=score.detail or {"copy": None, "read_by": score.rule},
            )
    return joined


def _group_copies(items: Sequence[tuple[Sample, Record | None]]) -> Iterator[tuple[list[int], int]]:
    """The places of the copies of each question, and of the one that bears the value."""
    groups: dict[tuple[str, int, int], list[int]] = {}
    for index, (sample, record) in enumerate(items):
        name = sample.extra.get("group", sample.id)
        asked = (record.repeat, record.permutation) if record is not None else (0, 0)
        groups.setdefault((name, *asked), []).append(index)
    for (name, *_), members in groups.items():
        yield members, next((index for index in members if items[index][0].id == name), members[0])
