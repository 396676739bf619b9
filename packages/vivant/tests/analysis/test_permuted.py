"""Other orders of the options: which are asked, what they show, and whether the test keeps its level."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.helpers import questions
from tests.support.runs_kit import answer, make_run, quiz
from vivant import evaluate, load_run
from vivant.analysis.permutations import compute_moments, preference_test, summarise_permutations
from vivant.benchmarks import registry
from vivant.benchmarks.base import Prompt, PromptContext
from vivant.benchmarks.jsonl import Jsonl
from vivant.cli.parsing import parse_permute as read_permute
from vivant.core.errors import UsageError
from vivant.core.randomness import nth_permutation
from vivant.core.types import Option, Sample, job_key
from vivant.engine import permutations as permute
from vivant.engine.plan import make_plan
from vivant.reporting.robustness import build_permutation_tables
from vivant.runs.directory import RunError
from vivant.runs.settings import RunSettings


@given(st.integers(2, 6))
def test_every_order_comes_once_and_every_round_is_balanced(length: int) -> None:
    usual = tuple(range(length))[::-1]
    found = [nth_permutation(usual, index) for index in range(math.factorial(length))]
    assert found[0] == usual
    assert len(set(found)) == len(found)
    for start in range(0, len(found), length):
        for place in range(length):
            assert {order[place] for order in found[start : start + length]} == set(usual)


def test_long_lists_do_not_repeat() -> None:
    usual = tuple(range(12))
    assert len({nth_permutation(usual, index) for index in range(3000)}) == 3000
    assert nth_permutation((), 5) == ()
    assert nth_permutation((0,), 5) == (0,)


@pytest.mark.parametrize(
    ("text", "refers"),
    [
        ("None of the above", True),
        ("Both A and C", True),
        ("All of these.", True),
        ("option B", True),
        ("neither of the other options", True),
        ("A & C", True),
        ("以上都不对", True),
        ("All of them wore hats", False),
        ("A man and a dog", False),
        ("The lamp above the table", False),
        ("I and my friend", False),
        ("", False),
    ],
)
def test_options_that_refer_to_others(text: str, refers: bool) -> None:
    assert permute.refer_to_each_other([Option("A", "an oak"), Option("B", text)]) is refers


def test_how_many_orders() -> None:
    (sample,) = quiz(1)
    assert [permute.count_orders(sample, k) for k in (1, 3, 24, 99)] == [1, 3, 24, 24]
    assert permute.count_orders(sample, "all") == 24
    tied = msgspec.structs.replace(sample, options=(*sample.options, Option("E", "none of the above")))
    assert permute.count_orders(tied, "all") == 1
    assert permute.count_orders(msgspec.structs.replace(sample, options=()), 4) == 1
    many = msgspec.structs.replace(sample, options=tuple(Option(n, n * 3) for n in "ABCDEFGHIJK"))
    with pytest.raises(UsageError, match=r"39,916,800 orders; with --permute 11"):
        permute.count_orders(many, "all")


def test_keys_and_fingerprints_of_plain_runs_stay() -> None:
    assert [job_key("t", "s", r, p) for r, p in ((0, 0), (2, 0), (0, 3), (2, 3))] == [
        "t/s", "t/s#2", "t/s~3", "t/s~3#2",
    ]  # fmt: skip
    plain = RunSettings(tasks=("t",), model={}, style="s", data={})
    assert "permute" in msgspec.to_builtins(plain)
    # The fingerprint of a run that was made before there were orders.
    assert plain.fingerprint() == "7e48a70e48f5200b"
    assert msgspec.structs.replace(plain, permute=2).fingerprint() != plain.fingerprint()


def test_a_permuted_run_end_to_end(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    run = evaluate(str(path), "first", out=str(tmp_path / "r"), permute=4, repeat=2)
    records = load_run(run.dir.path).records()
    assert len(records) == 6 * 4 * 2
    for number in range(6):
        orders = [records[job_key("jsonl/mine", f"q{number:03d}", 0, p)].order for p in range(4)]
        assert len({order[0] for order in orders}) == 4
    (part,) = run.scores()
    found = summarise_permutations(part, registry.get("jsonl"))
    assert (found.questions, found.orders, found.replies) == (6, 4, 48)
    assert (found.value, found.consistent, found.ever) == (0.25, 0, 1)
    assert found.positions[0].chosen == 48
    assert found.positions[0].expected == pytest.approx(12)
    assert found.p is not None
    assert found.p < 1e-6
    assert (found.positions[0].right, found.positions[0].keyed, found.positions[1].right) == (12, 12, 0)
    # The same command resumes; another number of orders is another run.
    with pytest.raises(RunError, match="permute: 4 → 2"):
        evaluate(str(path), "first", out=str(tmp_path / "r"), permute=2, repeat=2)


def test_fixed_letters_are_dealt_anew(tmp_path: Path) -> None:
    """MMR-V and MileBench show options in the data's order; permuted, letters stay with their places."""
    for name, tasks in (("mmrv/mcq", 12), ("milebench/WebQA", 5)):
        run = evaluate(
            name,
            "longest",
            data=("mini",),
            permute=3,
            limit=tasks,
            out=str(tmp_path / name.replace("/", "-")),
        )
        (part,) = run.scores("strict")
        for sample, record, _ in part.rows:
            assert record is not None
            assert [o.name for o in record.options] == [o.name for o in sample.options]
            assert [o.text for o in record.options] == [sample.options[k].text for k in record.order]
            text = record.messages[-1].parts
            joined = " ".join(getattr(piece, "text", "") for piece in text)
            places = [joined.find(option.text) for option in record.options]
            assert all(place >= 0 for place in places)
            if record.permutation == 0:
                assert record.order == tuple(range(len(sample.options)))
        values: dict[str, set[float | None]] = {}
        for sample, _, score in part.rows:
            values.setdefault(sample.id, set()).add(score.value)
        # A guesser that looks at texts alone chooses alike whatever the order, unless two are equally long.
        longest = {s.id: sorted(len(o.text) for o in s.options)[-2:] for s, _, _ in part.rows}
        assert all(len(values[name]) == 1 for name, (second, first) in longest.items() if second < first)


class Deaf(Jsonl):
    """A benchmark of somebody's own that does not follow the order asked for."""

    name = "deaf"

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        return super().prompt(sample, msgspec.structs.replace(context, permutation=0))


def test_a_benchmark_that_ignores_orders_is_told_so(tmp_path: Path) -> None:
    path = questions(tmp_path, 2, pictures=False)
    selection = registry.Selection(Deaf(), ("jsonl/mine",), path)

    def settings(data: object) -> RunSettings:
        return msgspec.convert(
            {"tasks": ("jsonl/mine",), "model": {}, "style": "zero-shot", "data": data, "permute": 3},
            RunSettings,
        )

    with pytest.raises(UsageError, match="deaf does not change the order of its options"):
        make_plan([selection], settings)
    free = tmp_path / "free.jsonl"
    free.write_text('{"question": "Say hello", "answer": "hello"}\n')
    with pytest.raises(UsageError, match="none of the questions has options"):
        evaluate(str(free), "first", out=str(tmp_path / "x"), permute=3)


@pytest.mark.parametrize("text", ["0", "-1", "some", "2.5", ""])
def test_bad_numbers_of_orders(text: str) -> None:
    with pytest.raises(UsageError, match="write 'all' or a number"):
        read_permute(text)


def test_consistent_accuracy_by_hand(tmp_path: Path) -> None:
    samples = quiz(3)
    chosen = [(0, 0, 0, 0), (0, 0, 1, 0), (2, None, 3, 1)]
    records = [
        answer(sample, option, permutation=p)
        for sample, options in zip(samples, chosen, strict=True)
        for p, option in enumerate(options)
    ]
    (part,) = make_run(tmp_path / "r", samples, records, permute=4).scores()
    found = summarise_permutations(part, registry.get("jsonl"))
    assert found.value == pytest.approx((1 + 3 / 4 + 0) / 3)
    assert found.consistent == pytest.approx(1 / 3)
    assert found.ever == pytest.approx(2 / 3)
    # Pairs that agree: six of six, three of six, none of six (an unread reply agrees with none).
    assert found.same == pytest.approx((6 + 3 + 0) / 18)
    first, second = build_permutation_tables([load_run(tmp_path / "r")])
    assert first.body[0][2:4] == (3, 4)
    assert len(second.body) == 4
    with pytest.raises(UsageError, match="--permute K"):
        build_permutation_tables([make_run(tmp_path / "s", samples, [answer(s, 0) for s in samples])])


def test_moments_are_those_of_all_exchanges() -> None:
    from itertools import permutations

    rng = np.random.default_rng(0)
    orders = [nth_permutation((2, 0, 3, 1), index) for index in (0, 1, 2, 7)]
    places = rng.integers(4, size=4).tolist()
    options = [order[place] for order, place in zip(orders, places, strict=True)]
    counts = np.array(
        [
            np.bincount([o.index(c) for o, c in zip(orders, exchanged, strict=True)], minlength=4)
            for exchanged in permutations(options)
        ]
    )
    found = compute_moments(orders, places)
    assert found.chosen.tolist() == np.bincount(places, minlength=4).tolist()
    assert found.expected == pytest.approx(counts.mean(axis=0))
    assert found.covariance == pytest.approx(np.cov(counts.T, bias=True))


def _p(rng: np.random.Generator, count: int, steady: float, drawn_to_first: float) -> float | None:
    found = []
    for _ in range(count):
        base = tuple(rng.permutation(4).tolist())
        favourite = int(rng.integers(4))
        orders = [nth_permutation(base, index) for index in range(4)]
        places = []
        for order in orders:
            option = favourite if rng.random() < steady else int(rng.integers(4))
            places.append(0 if rng.random() < drawn_to_first else order.index(option))
        found.append(compute_moments(orders, places))
    return preference_test(found)[0]


def test_the_test_keeps_its_level_and_finds_preferences() -> None:
    rng = np.random.default_rng(7)
    null = [_p(rng, 60, 0.7, 0.0) for _ in range(150)]
    assert sum(p is not None and p < 0.05 for p in null) / 150 < 0.1
    found = [_p(rng, 60, 0.7, 0.15) for _ in range(30)]
    assert sum(p is not None and p < 0.05 for p in found) > 25
    assert _p(rng, 20, 1.0, 0.0) is None  # steady answers say nothing on places
