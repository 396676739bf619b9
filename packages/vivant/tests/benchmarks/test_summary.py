"""Rows from scores, and the samples that `--where` names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from vivant.benchmarks.base import (
    Benchmark,
    Prompt,
    PromptContext,
    Protocol,
    ScoredRun,
    ScoreSettings,
    TaskInfo,
)
from vivant.benchmarks.conditions import matches, parse_where
from vivant.benchmarks.summary import natural_sort_key, summarise
from vivant.core.errors import DataError, UsageError
from vivant.core.records import Record, Score, ScoreStatus
from vivant.core.types import Sample


class Toy(Benchmark):
    name = "toy"
    title = "Toy"
    tasks: ClassVar[tuple[TaskInfo, ...]] = (
        TaskInfo(name="mcq", title="Choice"),
        TaskInfo(name="judged", title="Judged", metric="judge", scale=1.0),
    )
    facets: ClassVar[tuple[str, ...]] = ("variant",)

    def load(self, root: Path, task: str) -> list[Sample]:
        raise AssertionError(root, task)

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        raise AssertionError(sample, context)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        raise AssertionError(items, settings)

    unparsed_value: ClassVar[float | None] = None


class LenientToy(Toy):
    unparsed_value = 0.0


Item = tuple[Sample, Record | None, Score]


def item(
    number: int,
    value: float | None,
    *,
    status: ScoreStatus = "scored",
    cluster: str = "",
    guessed: bool = False,
    **facets: str,
) -> Item:
    name = f"s{number}"
    sample = Sample(id=name, task="toy/mcq", facets=facets, cluster=cluster)
    return sample, None, Score(
        key=f"toy/mcq/{name}", task="toy/mcq", id=name, status=status, value=value, guessed=guessed
    )  # fmt: skip


def run(rows: Sequence[Item], task: str = "toy/mcq", protocol: Protocol = "paper") -> ScoredRun:
    return ScoredRun(run="r", model="m", style="cot", task=task, protocol=protocol, rows=tuple(rows))


MIXED = [
    item(1, 1.0),
    item(2, 0.0, guessed=True),
    item(3, None, status="unparsed"),
    item(4, None, status="missing"),
    item(5, 1.0),
]


def test_one_row_for_all() -> None:
    (row,) = summarise(run(MIXED), Toy())
    assert row.value == pytest.approx(200 / 3)
    assert (row.n, row.errors, row.unparsed, row.guessed) == (3, 1, 1, 1)
    assert (row.run, row.benchmark, row.task, row.metric) == ("r", "toy", "toy/mcq", "accuracy")
    assert (row.model, row.style, row.protocol, row.group) == ("m", "cot", "paper", {})
    assert row.interval is not None
    assert row.interval == pytest.approx((20.77, 93.85), abs=0.01)
    assert row.interval_method == "Wilson"


def test_the_benchmark_says_what_an_unparsed_reply_counts() -> None:
    (row,) = summarise(run(MIXED, protocol="strict"), LenientToy())
    assert row.value == pytest.approx(50)
    assert (row.n, row.unparsed) == (4, 1)


def test_groups_are_sorted_naturally() -> None:
    rows = [item(n, 1.0, variant=f"base@{angle}") for n, angle in enumerate((180, 90, 0, 270, 90))]
    found = summarise(run(rows), Toy(), by=["variant"])
    assert [row.group["variant"] for row in found] == ["base@0", "base@90", "base@180", "base@270"]
    assert [row.n for row in found] == [1, 2, 1, 1]


def test_two_facets_give_the_combinations_that_occur() -> None:
    rows = [
        item(1, 1.0, variant="a", actor="x"),
        item(2, 0.0, variant="b", actor="x"),
        item(3, 0.0, actor="y"),
    ]
    found = summarise(run(rows), Toy(), by=["variant", "actor", "variant"])
    assert [row.group for row in found] == [
        {"variant": "", "actor": "y"},
        {"variant": "a", "actor": "x"},
        {"variant": "b", "actor": "x"},
    ]


def test_samples_of_a_cluster_are_not_independent() -> None:
    values = [float(n % 4 == 0) for n in range(40)]
    alone = summarise(run([item(n, v) for n, v in enumerate(values)]), Toy())[0]
    pairs = summarise(run([item(n, values[n // 2], cluster=f"c{n // 2}") for n in range(40)]), Toy())[0]
    assert alone.interval is not None
    assert pairs.interval is not None
    assert pairs.interval_method == "clustered Wilson"
    assert pairs.interval[1] - pairs.interval[0] > alone.interval[1] - alone.interval[0]


def test_repeats_of_a_sample_are_a_cluster() -> None:
    (row,) = summarise(run([item(n // 2, float(n % 3 == 0)) for n in range(20)]), Toy())
    assert row.interval_method == "clustered Wilson"


def test_other_metrics_have_their_own_scale() -> None:
    rows = [item(n, float(n % 7), variant="a" if n % 7 < 2 else "b") for n in range(21)]
    found = summarise(run(rows, task="toy/judged"), Toy(), by=["variant"])
    assert found[0].value == pytest.approx(0.5)
    # The group holds zeros and ones alone; the scale is a judge's all the same.
    assert {row.interval_method for row in found} == {"t"}
    assert found[0].metric == "judge"


def test_nothing_scored() -> None:
    (row,) = summarise(run([item(1, None, status="missing")]), Toy())
    assert (row.value, row.n, row.errors, row.interval) == (None, 0, 1, None)
    (row,) = summarise(run([]), Toy())
    assert (row.value, row.n) == (None, 0)
    assert summarise(run([]), Toy(), by=["variant"]) == []


def test_unknown_facet() -> None:
    with pytest.raises(UsageError, match=r"facet 'varient'.*'variant'"):
        summarise(run(MIXED), Toy(), by=["varient"])


def test_a_score_without_value_is_an_error() -> None:
    for value in (None, float("nan")):
        with pytest.raises(DataError, match="toy/mcq/s1"):
            summarise(run([item(1, value)]), Toy())


SAMPLES = [
    Sample(id=str(n), task="toy/mcq", facets=facets)
    for n, facets in enumerate(
        [
            {"variant": "base+blank@0", "actor": "j"},
            {"variant": "base+blank@90", "actor": "j"},
            {"variant": "base+blank@0", "actor": "n"},
            {"variant": "a, b", "actor": "n"},
            {"actor": "n"},
        ]
    )
]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ([], "01234"),
        (["variant=base+blank@0"], "02"),
        (["variant=base+blank@0,base+blank@90"], "012"),
        ([" variant = base+blank@0 , base+blank@90 "], "012"),
        (["variant=base+blank@0", "actor=n"], "2"),
        (["variant!=base+blank@0"], "134"),
        (["variant!=base+blank@0,base+blank@90"], "34"),
        (["variant=a, b"], "3"),
        (["variant=base+blank@0", "variant!=base+blank@0"], ""),
    ],
)
def test_where(where: list[str], ids: str) -> None:
    conditions = parse_where(where, SAMPLES)
    assert "".join(s.id for s in SAMPLES if matches(s, conditions)) == ids


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("varant=base+blank@0", "facet 'varant'; did you mean 'variant'"),
        ("variant=base+blank@9", "variant 'base.blank@9'; did you mean 'base.blank@90'"),
        ("variant=base+blank@0,", "variant ''"),
        ("variant", "no condition"),
        ("variant=", "no condition"),
        ("=x", "no condition"),
        ("", "no condition"),
    ],
)
def test_bad_conditions(where: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_where([where], SAMPLES)


def test_natural_order() -> None:
    assert sorted(["a10", "a9", "B1", "a", "", "10", "9"], key=natural_sort_key) == [
        "",
        "9",
        "10",
        "a",
        "a9",
        "a10",
        "B1",
    ]
