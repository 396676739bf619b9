"""How good is a judge? Its figures beside people's: agreement with intervals, and the biases one should ask about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.judging.human_scores import HumanScores
from vivant.judging.pairs import list_pairs
from vivant.metrics.agreement import Column, pearson, quadratic_kappa, spearman
from vivant.metrics.intervals import Interval, wilson
from vivant.runs.judge_scores import mean_ratings
from vivant.runs.judgements import Judgements, list_judgements
from vivant.runs.run import Run

METRICS = ("pearson", "spearman", "cosine", "mse", "mae", "kappa")


class CalibrationItem(Struct, frozen=True, kw_only=True):
    """One answer that a judge and people scored."""

    sample: str
    model: str
    judge: float
    people: float
    words: int
    facets: Mapping[str, str]


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


class JudgeBias(Struct, frozen=True, kw_only=True):
    """One bias of one judge, in words and as a figure."""

    judge: str
    fingerprint: str
    name: str
    figure: CalibrationValue
    n: int
    says: str


class CalibratedJudge(Struct, frozen=True, kw_only=True):
    """A judge with all answers that people scored too."""

    judge: str
    fingerprint: str
    items: tuple[CalibrationItem, ...]
    unmatched: int = 0
    """Answers that it judged and people did not."""


# ── joining ──────────────────────────────────────────────────────────────────────────────────────


CONSTANT_FROM = 0.8
"""From this share of one and the same figure on, a judge does not tell answers apart."""


def join_scores(human: HumanScores, runs: Sequence[Run], protocol: Protocol) -> list[CalibratedJudge]:
    """Every judge that was asked about any of the runs, with its answers joined to people's by id."""
    models = dict.fromkeys(run.model for run in runs)
    if len(models) > 1 and not human.names_models:
        raise UsageError(
            f"{human.file} does not say whose answers people scored, and the runs hold answers by "
            f"{', '.join(models)}; add a column 'model', or check one model at a time"
        )
    by_fingerprint: dict[str, tuple[str, list[CalibrationItem], int]] = {}
    for run in runs:
        stored = list_judgements(run.dir.path, protocol)
        if not stored:
            raise UsageError(
                f"{run.dir.path} has not been judged under the protocol {protocol}: "
                f"vivant score {run.dir.path} --protocol {protocol} --judge openai/NAME"
            )
        samples = {(sample.task, sample.id): sample for sample in run.dir.samples()}
        records = run.records()
        for judgements in stored:
            name, items, unmatched = by_fingerprint.get(
                judgements.manifest.fingerprint, (judgements.manifest.name, [], 0)
            )
            for key, rating in _read_ratings(judgements, run, protocol).items():
                record = records.get(key)
                people = human.find(record.id, run.model) if record is not None else None
                if record is None or people is None:
                    unmatched += 1
                    continue
                items.append(
                    CalibrationItem(
                        sample=f"{record.task}/{record.id}",
                        model=run.model,
                        judge=rating,
                        people=people,
                        words=len(record.reply.text.split()),
                        facets=samples[record.task, record.id].facets,
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


def _read_ratings(judgements: Judgements, run: Run, protocol: Protocol) -> dict[str, float]:
    by_rubric = {
        rubric.name: benchmark
        for benchmark in map(registry.of_task, run.manifest.tasks)
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
        ratings = {(item.sample, item.model): item.judge for item in first.items}
        for second in judged[index + 1 :]:
            common = [
                (ratings[i.sample, i.model], i.judge, i.sample)
                for i in second.items
                if (i.sample, i.model) in ratings
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
    return {name: _add_interval(value, resampled.get(name)) for name, value in values.items()}


def _add_interval(value: float, resampled: Column | None) -> CalibrationValue:
    if not np.isfinite(value):
        return CalibrationValue(None)
    finite = resampled[np.isfinite(resampled)] if resampled is not None else np.empty(0)
    if finite.size < _RESAMPLES // 2:
        return CalibrationValue(value)
    low, high = np.quantile(finite, (0.025, 0.975))
    return CalibrationValue(value, Interval(float(low), float(high), "cluster bootstrap"))


_RESAMPLES = 1000
_CHUNK = 4_000_000


def _weights(clusters: Sequence[str], start: int, count: int) -> tuple[NDArray[np.float64], int]:
    """How often each item counts in resamples of whole clusters."""
    _, labels = np.unique(np.asarray(clusters), return_inverse=True)
    groups = int(labels.max()) + 1
    generator = np.random.default_rng((start, groups))
    counts = generator.multinomial(groups, np.full(groups, 1 / groups), size=count).astype(np.float64)
    return counts[:, labels], groups


def _bootstrap(a: Column, b: Column, clusters: Sequence[str]) -> dict[str, Column]:
    """All measures in every resample, from weighted sums: no resample is ever laid out."""
    step = max(1, min(_RESAMPLES, _CHUNK // max(1, a.size)))
    pieces: list[dict[str, Column]] = []
    for start in range(0, _RESAMPLES, step):
        weights, groups = _weights(clusters, start, min(step, _RESAMPLES - start))
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


# ── biases ───────────────────────────────────────────────────────────────────────────────────────


def measure_biases(
    judged: Sequence[CalibratedJudge], runs: Sequence[Run], protocol: Protocol
) -> list[JudgeBias]:
    """Length, own family and constant figures of every judge; place, where pairs were compared."""
    rows: list[JudgeBias] = []
    for judge in judged:
        if judge.items:
            rows += [_length_bias(judge), _constant_bias(judge), *_family_bias(judge)]
    for run in runs:
        for name, fingerprint, pairs in list_pairs(run, protocol):
            rows += _position_bias(
                name, fingerprint, [position for pair in pairs for position in pair.places]
            )
    return rows


def _length_bias(judge: CalibratedJudge) -> JudgeBias:
    gap = [item.judge - item.people for item in judge.items]
    figure = compare_ratings(
        gap, [float(item.words) for item in judge.items], [item.sample for item in judge.items]
    )["spearman"]
    says = "rank correlation of (judge − people) with the number of words; above 0: it likes length more than people do"
    return _bias(judge, "length", figure, len(gap), says)


def _constant_bias(judge: CalibratedJudge) -> JudgeBias:
    counts = Counter(item.judge for item in judge.items)
    value, most = counts.most_common(1)[0]
    share = most / len(judge.items)
    warning = " It does not tell answers apart." if share >= CONSTANT_FROM else ""
    says = f"share of the commonest figure, {value:g}, among {len(counts)} different ones.{warning}"
    return _bias(
        judge,
        "constant figures",
        CalibrationValue(share, wilson(most, len(judge.items))),
        len(judge.items),
        says,
    )


def _family_bias(judge: CalibratedJudge) -> list[JudgeBias]:
    """Preference for answers by models of the judge's own family, beyond people's."""
    judge_family = model_family(judge.judge)
    same_family = np.array([model_family(item.model) == judge_family for item in judge.items])
    if same_family.all() or not same_family.any():
        return []
    gap = np.array([item.judge - item.people for item in judge.items])
    value = float(gap[same_family].mean() - gap[~same_family].mean())
    weights, groups = _weights([item.sample for item in judge.items], 0, _RESAMPLES)
    resampled = None
    if groups > 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            resampled = weights @ (gap * same_family) / (weights @ same_family) - weights @ (
                gap * ~same_family
            ) / (weights @ ~same_family)
    says = f"(judge − people) on answers by {judge_family} models minus the same on others; above 0: it prefers its own"
    return [_bias(judge, "own family", _add_interval(value, resampled), int(same_family.sum()), says)]


def _bias(judge: CalibratedJudge, name: str, figure: CalibrationValue, n: int, says: str) -> JudgeBias:
    return JudgeBias(
        judge=judge.judge, fingerprint=judge.fingerprint, name=name, figure=figure, n=n, says=says
    )


def _position_bias(judge: str, fingerprint: str, positions: Sequence[str]) -> list[JudgeBias]:
    decided = [position for position in positions if position in ("first", "second")]
    if not decided:
        return []
    first = decided.count("first")
    says = "share of verdicts for the answer in first place, every pair shown in both orders; 0.5 is fair"
    figure = CalibrationValue(first / len(decided), wilson(first, len(decided)))
    return [
        JudgeBias(
            judge=judge, fingerprint=fingerprint, name="position", figure=figure, n=len(decided), says=says
        )
    ]


_FAMILIES: Mapping[str, str] = {
    r"gpt|^o[134]\b|davinci|dall": "gpt",
    r"claude": "claude",
    r"gemini|gemma": "gemini",
    r"qwen|qvq": "qwen",
    r"internvl|mmie": "internvl",
    r"llava": "llava",
    r"llama": "llama",
    r"mistral|mixtral|pixtral": "mistral",
    r"deepseek|janus": "deepseek",
    r"anole|chameleon": "chameleon",
}


def model_family(name: str) -> str:
    """The family of a model by its name: `openai/gpt-4o + placeholder cards` is of the family gpt."""
    short = name.split(" + ")[0].rsplit("/", 1)[-1].casefold()
    family: Any = next((kind for pattern, kind in _FAMILIES.items() if re.search(pattern, short)), None)
    return family or (re.match(r"[a-z]+", short) or [short])[0]
