"""Scores of lmms-eval's tasks, sample by sample, by the task's own code."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vivant.bridges.lmms_guards import JudgeNeededError
from vivant.bridges.lmms_task import LmmsTask, aggregate, read_target
from vivant.bridges.metric_scales import is_share
from vivant.core.errors import DataError
from vivant.core.records import Record, Score, make_score
from vivant.core.types import Sample

logger = logging.getLogger("vivant")
_KEYS = ("score", "acc", "accuracy", "correct", "exact_match", "hit")
"""Where a metric's value is a mapping, its number is under one of these."""


def score_task(built: LmmsTask, items: Sequence[tuple[Sample, Record]]) -> Iterator[Score]:
    """One score per record. `detail["results"]` holds what each filter and metric gave, as lmms-eval logs it."""
    docs = built.scoring_docs
    raw: list[tuple[Record, dict[str, dict[str, Any]], int, str]] = []
    for sample, record in items:
        index = int(sample.id)
        if index >= len(docs):
            raise DataError(
                f"lmms:{built.name} has {len(docs)} rows, and the run asks row {index}; its dataset has changed"
            )
        _check_row(built, docs[index], sample)
        try:
            results, drawn = built.process_results(docs[index], record.reply.text, index)
            raw.append((record, results, drawn, ""))
        except JudgeNeededError as error:
            raw.append((record, {}, 0, str(error)))
        except (Exception, SystemExit) as error:  # the task's own code, on one reply: the others are scored
            raw.append((record, {}, 0, " ".join(f"{type(error).__name__}: {error}".split())[:200]))
    main = _find_main(built, [results for _, results, _, _ in raw])
    values = {record.key: _find_value(built, results, main) for record, results, _, _ in raw}
    # Tables print values times 100. What is not known as a share of 1 is printed as it is.
    is_large = any(value is not None and value > 1 for value in values.values())
    is_plain = is_large or not is_share(main[1])
    if is_plain and not is_large:
        logger.warning(
            "lmms:%s: the values of '%s' are shown as they are, not in percent, for its scale is not known",
            built.name,
            main[1],
        )
    failed = [reason for _, _, _, reason in raw if reason]
    if failed:
        logger.warning(
            "lmms:%s: its scoring failed on %d of %d replies; the first: %s",
            built.name,
            len(failed),
            len(raw),
            failed[0],
        )
    for record, results, drawn, reason in raw:
        value = values[record.key]
        if reason or value is None:
            rule = (
                f"lmms-eval's scoring failed: {reason}" if reason else f"no number in the metric '{main[1]}'"
            )
            yield make_score(record, rule=rule, status="missing")
            continue
        detail: dict[str, Any] = {"results": make_plain(results)}
        if drawn:
            detail["drawn"] = drawn
        yield make_score(
            record,
            value / 100 if is_plain else value,
            _find_answer(results, main),
            main[1],
            guessed=drawn > 0,
            detail=detail,
        )


def _check_row(built: LmmsTask, doc: Any, sample: Sample) -> None:
    """Raise where a row is not the one that was asked: the task may have been asked of another dataset since."""
    try:
        answers = read_target(built.task, doc)
    except (Exception, SystemExit):  # the task's own code: some need the media, which scoring is without
        return
    if answers != sample.answers:
        raise DataError(
            f"lmms:{built.name}: row {sample.id} has the answer {', '.join(answers)!r}, and the run asked one with "
            f"{', '.join(sample.answers)!r}: this is another dataset. Run the task with the run's own --data (one "
            "question is enough: --limit 1), then score again"
        )


def _find_main(built: LmmsTask, every: Sequence[Mapping[str, Mapping[str, Any]]]) -> tuple[str, str]:
    """The filter and the metric that count: the first filter, and the first metric listed that any reply has."""
    for results in every:
        for name, metrics in results.items():
            for metric in built.task.aggregation():
                if metric in metrics:
                    return name, metric
    return next(iter(every[0]), "none") if every else "none", "none"


def _find_value(
    built: LmmsTask, results: Mapping[str, Mapping[str, Any]], main: tuple[str, str]
) -> float | None:
    """A reply's value: the metric's number, or what the task's aggregation gives of this reply alone."""
    value = results.get(main[0], {}).get(main[1])
    number = to_number(value)
    if number is not None or value is None:
        return number
    if isinstance(value, Mapping):
        named = [str(getattr(built.config, "score_key", None) or "score"), *_KEYS]
        number = next((n for key in named if (n := to_number(value.get(key))) is not None), None)
        if number is not None:
            return number
    try:
        return aggregate(built, main[1], [value])
    except DataError:
        return None  # an aggregation over all replies at once: a rank, say


def to_number(value: Any) -> float | None:
    """A number as such; truth values count."""
    if isinstance(value, bool | int | float):
        return float(value)
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        return float(value.item())
    return None


def _find_answer(results: Mapping[str, Mapping[str, Any]], main: tuple[str, str]) -> str:
    """What the task read in the reply, where it says so."""
    value = results.get(main[0], {}).get(main[1])
    if isinstance(value, Mapping):
        for key in ("parsed_pred", "pred_answer", "pred", "prediction", "answer_pred"):
            if isinstance(value.get(key), str):
                return str(value[key])
    return ""


def make_plain(value: Any) -> Any:
    """A value that JSON can hold, equal to what lmms-eval would log."""
    if isinstance(value, Mapping):
        return {str(key): make_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(each) for each in value]
    if hasattr(value, "tolist"):  # before the next line: NumPy's float is also a float, and no JSON
        return value.tolist()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)
