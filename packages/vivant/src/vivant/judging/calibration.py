"""How good is a judge? Its figures beside people's: agreement with intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import DataError, UsageError
from vivant.core.records import Record
from vivant.judging.human_scores import AnswerOwners, HumanScores
from vivant.metrics.agreement import Column, pearson, quadratic_kappa, spearman
from vivant.metrics.intervals import Interval
from vivant.runs.judge_scores import mean_ratings
from vivant.runs.judgements import Judgements, list_judgements
from vivant.runs.run import Run

METRICS = ("pearson", "spearman", "cosine", "mse", "mae", "kappa")


class CalibrationItem(Struct, frozen=True, kw_only=True):
    """One answer that a judge and people scored."""

    run: str
    """The run's folder."""
    key: str
    """The answer's key in the run."""
    sample: str
    model: str
    judge: float
    people: float
    words: int
    facets: Mapping[str, str]
    formatted: bool = False
    """Whether the answer has headings, lists or bold words."""
    asked_at: float = 0.0
    """When the judge was asked, in Unix time; 0 where it is not known."""
    served: str = ""
    """The name that the judge's server gave itself."""


class CalibrationValue(Struct, frozen=True):
    """A value with its 95 % interval; None where the data cannot give it."""

    value: float | None
    interval: Interval | None = None


class CalibrationAgreement(Struct, frozen=True, kw_only=True):
    """A judge and people on one group of answers."""

    judge: str
    fingerprint: str
    group: str
    n: int
    values: Mapping[str, CalibrationValue]


class CalibratedJudge(Struct, frozen=True, kw_only=True):
    """A judge with all answers that people scored too."""

    judge: str
    fingerprint: str
    items: tuple[CalibrationItem, ...]
    unmatched: int = 0
    """Answers that it judged and people did not."""


# ── joining ──────────────────────────────────────────────────────────────────────────────────────


_FORMATTED = re.compile(r"^\s*(#{1,6} |[-*•] |\d+[.)] )|\*\*\S", re.MULTILINE)


def join_scores(human: HumanScores, runs: Sequence[Run], protocol: Protocol) -> list[CalibratedJudge]:
    """Every judge that was asked about any of the runs, with its answers joined to people's by id."""
    human.require_models([run.model for run in runs], "check one model at a time")
    owners = AnswerOwners(human.file)
    by_fingerprint: dict[str, tuple[str, list[CalibrationItem], int]] = {}
    for run in runs:
        stored = list_judgements(run.dir.path, protocol)
        if not stored:
            raise UsageError(
                f"{run.dir.path} has not been judged under the protocol {protocol}: "
                f"vivant score {run.dir.path} --protocol {protocol} --judge openai/NAME"
            )
        samples = {(sample.task, sample.id): sample for sample in run.dir.samples()}
        records = _find_first_answers(run)
        for judgements in stored:
            name, items, unmatched = by_fingerprint.get(
                judgements.manifest.fingerprint, (judgements.manifest.name, [], 0)
            )
            scale = _find_scale(judgements)
            first = {key: record for key, _, _, record in reversed(list(judgements.records()))}
            for key, rating in _read_ratings(judgements, run, protocol).items():
                record = records.get(key)
                people = _read_people(human, record.id, run.model, scale) if record is not None else None
                if record is None or people is None:
                    unmatched += 1
                    continue
                owners.claim(record.id, run.model, run.dir.path)
                items.append(
                    CalibrationItem(
                        run=str(run.dir.path.resolve()),
                        key=key,
                        sample=f"{record.task}/{record.id}",
                        model=run.model,
                        judge=rating,
                        people=people,
                        words=len(record.reply.text.split()),
                        facets=samples[record.task, record.id].facets,
                        formatted=bool(_FORMATTED.search(record.reply.text)),
                        asked_at=first[key].started if key in first else 0.0,
                        served=first[key].reply.model if key in first else "",
                    )
                )
            by_fingerprint[judgements.manifest.fingerprint] = (name, items, unmatched)
    judged = [
        CalibratedJudge(judge=name, fingerprint=fingerprint, items=tuple(items), unmatched=unmatched)
        for fingerprint, (name, items, unmatched) in by_fingerprint.items()
    ]
    if not any(judge.items for judge in judged):
        raise UsageError(
            f"{human.file}: none of its {len(human.scores)} ids was judged in these runs "
            f"(it has ids like '{human.example}')"
        )
    return judged


def _find_first_answers(run: Run) -> dict[str, Record]:
    """By key, the first good answer to each sample: the one that people are shown."""
    first: dict[tuple[str, str], Record] = {}
    for record in sorted(run.records().values(), key=lambda record: (record.permutation, record.repeat)):
        if record.reply.status == "ok" and record.reply.has_answer:
            first.setdefault((record.task, record.id), record)
    return {record.key: record for record in first.values()}


def _find_scale(judgements: Judgements) -> tuple[float, float] | None:
    """The ends of the judge's scale; None where its rubrics have no common one."""
    fields = [rubric.contract.fields[0] for rubric in judgements.manifest.settings.rubrics]
    scales = {(field.low, field.high) for field in fields if not field.choices}
    return scales.pop() if len(scales) == 1 else None


def _read_people(
    human: HumanScores, item: str, model: str, scale: tuple[float, float] | None
) -> float | None:
    """The mean of people's scores of an answer, on the judge's scale."""
    mean = human.find(item, model)
    if mean is None or scale == human.scale:
        return mean
    if scale is None:
        raise UsageError(
            f"The judge's rubrics have no common scale to bring {human.file} to; leave out --low and --high"
        )
    low, high = scale
    if human.scale is not None:
        bottom, top = human.scale
        return low + (mean - bottom) / (top - bottom) * (high - low)
    for _, score in human.list_scores(item, model):
        if not low <= score <= high:
            raise DataError(
                f"{human.file}: the score of '{item}' is {score:g}, off the judge's scale {low:g} to {high:g}. If "
                "people used another scale, name its ends, as in --low 0 --high 100, and scores are brought to the "
                "judge's"
            )
    return mean


def _read_ratings(judgements: Judgements, run: Run, protocol: Protocol) -> dict[str, float]:
    by_rubric = {
        rubric.name: benchmark
        for benchmark in map(registry.get_by_task, run.manifest.tasks)
        for rubric in benchmark.judged.rubrics(protocol)
    }
    return mean_ratings(
        judgements, lambda text, rubric: by_rubric[rubric.name].judged.read(text, rubric, protocol)
    )


# ── agreement ────────────────────────────────────────────────────────────────────────────────────


def measure_agreement(judged: Sequence[CalibratedJudge], by: str = "") -> list[CalibrationAgreement]:
    """All answers of each judge, then group by group of a facet."""
    rows: list[CalibrationAgreement] = []
    for judge in judged:
        groups: dict[str, list[CalibrationItem]] = {"all": list(judge.items)}
        if by:
            for value in sorted({item.facets.get(by, "") for item in judge.items}):
                groups[value or "unstated"] = [
                    item for item in judge.items if item.facets.get(by, "") == value
                ]
        rows += [
            CalibrationAgreement(
                judge=judge.judge,
                fingerprint=judge.fingerprint,
                group=group,
                n=len(items),
                values=compare_ratings(
                    [item.judge for item in items],
                    [item.people for item in items],
                    [item.sample for item in items],
                ),
            )
            for group, items in groups.items()
        ]
    return rows


def compare_judges(
    judged: Sequence[CalibratedJudge],
) -> list[tuple[str, str, int, Mapping[str, CalibrationValue]]]:
    """Each pair of judges on the answers that both judged."""
    rows: list[tuple[str, str, int, Mapping[str, CalibrationValue]]] = []
    for index, first in enumerate(judged):
        ratings = {(item.run, item.key): item.judge for item in first.items}
        for second in judged[index + 1 :]:
            common = [
                (ratings[i.run, i.key], i.judge, i.sample) for i in second.items if (i.run, i.key) in ratings
            ]
            if common:
                a, b, clusters = (list(column) for column in zip(*common, strict=True))
                rows.append(
                    (_judge_label(first), _judge_label(second), len(common), compare_ratings(a, b, clusters))
                )
    return rows


def _judge_label(judge: CalibratedJudge) -> str:
    return f"{judge.judge} ({judge.fingerprint[:8]})"


def compare_ratings(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[str]
) -> dict[str, CalibrationValue]:
    """The six measures of two columns of figures, with bootstrap intervals over clusters."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if not a.size:
        return {name: CalibrationValue(None) for name in METRICS}
    gap = a - b
    length = float(np.sqrt((a @ a) * (b @ b)))
    values = {
        "pearson": pearson(a, b),
        "spearman": spearman(a, b),
        "cosine": float(a @ b) / length if length else float("nan"),
        "mse": float(np.square(gap).mean()),
        "mae": float(np.abs(gap).mean()),
        "kappa": quadratic_kappa(a, b),
    }
    resampled = _bootstrap(a, b, clusters)
    return {name: add_interval(value, resampled.get(name)) for name, value in values.items()}


def add_interval(value: float, resampled: Column | None) -> CalibrationValue:
    if not np.isfinite(value):
        return CalibrationValue(None)
    finite = resampled[np.isfinite(resampled)] if resampled is not None else np.empty(0)
    if finite.size < RESAMPLES // 2:
        return CalibrationValue(value)
    low, high = np.quantile(finite, (0.025, 0.975))
    return CalibrationValue(value, Interval(float(low), float(high), "cluster bootstrap"))


RESAMPLES = 1000
_CHUNK = 4_000_000


def resample_weights(clusters: Sequence[str], start: int, count: int) -> tuple[NDArray[np.float64], int]:
    """How often each item counts in resamples of whole clusters."""
    _, labels = np.unique(np.asarray(clusters), return_inverse=True)
    groups = int(labels.max()) + 1
    generator = np.random.default_rng((start, groups))
    counts = generator.multinomial(groups, np.full(groups, 1 / groups), size=count).astype(np.float64)
    return counts[:, labels], groups


def _bootstrap(a: Column, b: Column, clusters: Sequence[str]) -> dict[str, Column]:
    """All measures in every resample, from weighted sums: no resample is ever laid out."""
    step = max(1, min(RESAMPLES, _CHUNK // max(1, a.size)))
    pieces: list[dict[str, Column]] = []
    for start in range(0, RESAMPLES, step):
        weights, groups = resample_weights(clusters, start, min(step, RESAMPLES - start))
        if groups < 2:
            return {}
        pieces.append(_resampled_metrics(a, b, weights))
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _resampled_metrics(a: Column, b: Column, weights: Column) -> dict[str, Column]:
    total = weights.sum(axis=1)
    gap = a - b
    columns = np.stack([a, b, a * a, b * b, a * b, np.abs(gap), gap * gap], axis=1)
    sums = weights @ columns / total[:, None]
    mean_a, mean_b, aa, bb, ab, absolute, square = sums.T
    var_a, var_b = aa - mean_a**2, bb - mean_b**2
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = var_a + var_b + (mean_a - mean_b) ** 2
        return {
            "pearson": _ratio(ab - mean_a * mean_b, var_a, var_b),
            "spearman": _rank_correlation(a, b, weights),
            "cosine": ab / np.sqrt(aa * bb),
            "mse": square,
            "mae": absolute,
            "kappa": np.where(expected > 1e-12, 1 - square / expected, np.nan),
        }


def _ratio(covariance: Column, var_a: Column, var_b: Column) -> Column:
    flat = (var_a <= 1e-12) | (var_b <= 1e-12)
    return np.where(flat, np.nan, covariance / np.sqrt(np.where(flat, 1.0, var_a * var_b)))


def _rank_correlation(a: Column, b: Column, weights: Column) -> Column:
    """Spearman's correlation in every resample: ranks follow from how often each value counts."""
    ranks = [_mid_ranks(column, weights) for column in (a, b)]
    total = weights.sum(axis=1, keepdims=True)
    centred = [rank - (weights * rank).sum(axis=1, keepdims=True) / total for rank in ranks]
    cross = (weights * centred[0] * centred[1]).sum(axis=1)
    return _ratio(
        cross / total[:, 0], *((weights * rank * rank).sum(axis=1) / total[:, 0] for rank in centred)
    )


def _mid_ranks(column: Column, weights: Column) -> Column:
    values, inverse = np.unique(column, return_inverse=True)
    counts = np.zeros((len(weights), len(values)))
    np.add.at(counts.T, inverse, weights.T)
    middle: Column = np.cumsum(counts, axis=1) - (counts - 1) / 2
    return middle[:, inverse]
