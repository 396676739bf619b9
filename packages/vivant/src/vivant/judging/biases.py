"""What a judge may be swayed by, measured beside people: length, style, its own family, place, and change over time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.benchmarks.base import Protocol
from vivant.judging.calibration import (
    RESAMPLES,
    CalibratedJudge,
    CalibrationValue,
    add_interval,
    compare_ratings,
    resample_weights,
)
from vivant.judging.pairs import PairVerdict, list_pairs
from vivant.metrics.intervals import mean_interval, wilson
from vivant.runs.run import Run

CONSTANT_FROM = 0.8
"""From this share of one and the same figure on, a judge does not tell answers apart."""


class JudgeBias(Struct, frozen=True, kw_only=True):
    """One bias of one judge, in words and as a figure."""

    judge: str
    fingerprint: str
    name: str
    figure: CalibrationValue
    n: int
    says: str


def measure_biases(
    judged: Sequence[CalibratedJudge], runs: Sequence[Run], protocol: Protocol
) -> list[JudgeBias]:
    """Length, style, own family, constant figures and drift of every judge; place, where pairs were compared."""
    rows: list[JudgeBias] = []
    for judge in judged:
        if judge.items:
            rows += [_length_bias(judge), *_style_bias(judge), _constant_bias(judge)]
            rows += [*_family_bias(judge), *_measure_drift(judge)]
    for run in runs:
        for name, fingerprint, pairs in list_pairs(run, protocol):
            rows += _position_bias(name, fingerprint, pairs)
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


def _style_bias(judge: CalibratedJudge) -> list[JudgeBias]:
    """Preference for answers with headings, lists or bold words, beyond people's."""
    marked = np.array([item.formatted for item in judge.items])
    says = "(judge − people) on answers with headings, lists or bold words minus the same on plain ones"
    return _compare_gaps(judge, "style", marked, f"{says}; above 0: it likes formatting more than people do")


def _family_bias(judge: CalibratedJudge) -> list[JudgeBias]:
    """Preference for answers by models of the judge's own family, beyond people's."""
    family = model_family(judge.judge)
    own = np.array([model_family(item.model) == family for item in judge.items])
    says = f"(judge − people) on answers by {family} models minus the same on others; above 0: it prefers its own"
    return _compare_gaps(judge, "own family", own, says)


def _measure_drift(judge: CalibratedJudge) -> list[JudgeBias]:
    """Whether the judge changed while it judged: under another name of the server's model, or in the later half."""
    rows: list[JudgeBias] = []
    times = np.array([item.asked_at for item in judge.items])
    names = list(
        dict.fromkeys(item.served for item in sorted(judge.items, key=lambda i: i.asked_at) if item.served)
    )
    if len(names) > 1:
        newest = np.array([item.served == names[-1] for item in judge.items])
        says = (
            f"(judge − people) where the server called itself {names[-1]}, minus the same before ({names[0]})"
        )
        rows += _compare_gaps(judge, "drift of version", newest, f"{says}; 0: no drift")
    if (times > 0).all() and np.unique(times).size > 1:
        later = times > np.median(times)
        rows += _compare_gaps(
            judge,
            "drift in time",
            later,
            "(judge − people) in the later half of judging minus the earlier; 0: no drift",
        )
    return rows


def _compare_gaps(judge: CalibratedJudge, name: str, marked: NDArray[np.bool_], says: str) -> list[JudgeBias]:
    """The mean of (judge − people) on marked answers minus that on others; nothing where all are of one sort."""
    if marked.all() or not marked.any():
        return []
    gap = np.array([item.judge - item.people for item in judge.items])
    value = float(gap[marked].mean() - gap[~marked].mean())
    weights, groups = resample_weights([item.sample for item in judge.items], 0, RESAMPLES)
    resampled = None
    if groups > 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            first = weights @ (gap * marked) / (weights @ marked)
            resampled = first - weights @ (gap * ~marked) / (weights @ ~marked)
    return [_bias(judge, name, add_interval(value, resampled), int(marked.sum()), says)]


def _bias(judge: CalibratedJudge, name: str, figure: CalibrationValue, n: int, says: str) -> JudgeBias:
    return JudgeBias(
        judge=judge.judge, fingerprint=judge.fingerprint, name=name, figure=figure, n=n, says=says
    )


def _position_bias(judge: str, fingerprint: str, pairs: Sequence[PairVerdict]) -> list[JudgeBias]:
    decided = [
        (pair.key, position) for pair in pairs for position in pair.places if position in ("first", "second")
    ]
    if not decided:
        return []
    values = [float(position == "first") for _, position in decided]
    says = "share of verdicts for the answer in first place, every pair shown in both orders; 0.5 is fair"
    # Both orders of a pair are one unit.
    figure = CalibrationValue(
        sum(values) / len(values), mean_interval(values, [key for key, _ in decided], binary=True)
    )
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
