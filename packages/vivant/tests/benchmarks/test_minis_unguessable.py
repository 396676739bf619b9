"""The mini-editions against those who do not look: no rule that knows only the text is far from chance on any of them.

They are small, and yet large enough to say something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

import vivant
from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoredRun
from vivant.core.types import Sample
from vivant.metrics.intervals import ClusteredValues, mean_intervals, wilson

BENCHMARKS = ("milebench", "mime", "mimic", "mmrv")
"""Those with options; MMIE is answered freely and scored by a judge."""
LARGEST_GAIN = 0.12
"""Above chance, whatever the interval: MIME-mini has seventeen actions, so its own is wide."""


@cache
def load_samples(name: str) -> tuple[Sample, ...]:
    root = mini.root(name)
    assert root is not None
    (chosen,) = registry.select([name], [str(root)])
    return tuple(sample for task in chosen.tasks for sample in chosen.benchmark.load(chosen.root, task))


def load_choices(name: str) -> tuple[Sample, ...]:
    """The questions with options, of which one is right."""
    return tuple(sample for sample in load_samples(name) if sample.options and sample.key is not None)


def check_near_chance(name: str, rule: str, values: Sequence[float], samples: Sequence[Sample]) -> None:
    chance = sum(1 / len(sample.options) for sample in samples) / len(samples)
    (interval,) = mean_intervals([ClusteredValues(list(values), [sample.cluster for sample in samples])])
    mean = sum(values) / len(values)
    assert interval is not None and interval.low <= chance, (name, rule, mean, chance, interval)
    assert mean <= chance + LARGEST_GAIN, (name, rule, mean, chance)


def credit(sample: Sample, choose: Callable[[Sequence[int]], int]) -> float:
    """1 where the rule's option is right; a part of it where several options have that length."""
    lengths = [len(option.text) for option in sample.options]
    best = [index for index, length in enumerate(lengths) if length == choose(lengths)]
    return (sample.key in best) / len(best)


RULES: dict[str, Callable[[Sample], float]] = {
    "longest": lambda sample: credit(sample, max),
    "shortest": lambda sample: credit(sample, min),
    "second longest": lambda sample: credit(sample, lambda lengths: sorted(lengths)[-2]),
}


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize("rule", sorted(RULES))
def test_length_does_not_tell_the_right_option(name: str, rule: str) -> None:
    samples = load_choices(name)
    check_near_chance(name, rule, [RULES[rule](sample) for sample in samples], samples)


def guess(name: str, model: str, out: Path, **options: str) -> list[ScoredRun]:
    tasks = sorted({sample.task for sample in load_choices(name)})
    run = vivant.evaluate(tasks, model, data=("mini",), model_options=options, out=str(out), cache="off")
    return list(run.scores())


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_place_in_which_options_are_shown_does_not_tell(name: str, tmp_path: Path) -> None:
    rows = [row for part in guess(name, "first", tmp_path / "run") for row in part.rows]
    samples = [sample for sample, _, _ in rows]
    check_near_chance(name, "first", [score.value or 0.0 for _, _, score in rows], samples)
    keys = []
    for sample, record, _ in rows:
        assert record is not None and sample.key is not None
        keys.append(record.order.index(sample.key) if record.order else sample.key)
    for place in (1, 2, -1):
        values = [
            float(key == place % len(sample.options)) for key, sample in zip(keys, samples, strict=True)
        ]
        check_near_chance(name, f"place {place}", values, samples)


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize(("model", "by"), [("longest", ""), ("blind", "words"), ("blind", "meaning")])
def test_the_models_that_see_nothing_are_at_chance(name: str, model: str, by: str, tmp_path: Path) -> None:
    options = {"by": by} if by else {}
    rows = [row for part in guess(name, model, tmp_path / "run", **options) for row in part.rows]
    values = [score.value or 0.0 for _, _, score in rows]
    check_near_chance(name, f"{model} {by}", values, [sample for sample, _, _ in rows])


@pytest.mark.parametrize(("name", "clusters"), [("milebench", 200), ("mmrv", 100)])
def test_an_interval_is_seven_points_either_way(name: str, clusters: int) -> None:
    samples = load_samples(name)
    widest = wilson(len(samples) / 2, len(samples))
    assert widest.high - widest.low <= 0.14
    assert len({sample.cluster for sample in samples}) >= clusters


def test_all_editions_together_stay_below_ten_megabytes() -> None:
    folders = [mini.root(name) for name in (*BENCHMARKS, "mmie")]
    files = [path for folder in folders if folder for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 10_000_000
