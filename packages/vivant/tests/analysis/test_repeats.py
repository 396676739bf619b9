"""Repeats, controls, and scores corrected for chance."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.runs_kit import answer, call, make_run, quiz, run_of
from vivant.analysis.controls import measure_controls
from vivant.analysis.repeats import pass_at, summarise_repeats
from vivant.benchmarks import registry
from vivant.benchmarks.summary import summarise
from vivant.core.errors import UsageError
from vivant.core.types import Reply
from vivant.reporting.robustness import build_controls_table, build_repeats_table
from vivant.runs.overview import build_overview
from vivant.runs.run import load_run


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_pass_at_k_is_the_share_of_all_choices_of_k(replies: list[bool], k: int) -> None:
    values = [float(reply) for reply in replies]
    if k > len(values):
        assert pass_at(k, [values]) != pass_at(k, [values])  # nothing to tell
        return
    chosen = list(combinations(replies, k))
    assert pass_at(k, [values]) == pytest.approx(sum(map(any, chosen)) / len(chosen))


def test_repeats_by_hand(tmp_path: Path) -> None:
    samples = quiz(3)
    right = [(1, 1, 1, 1), (1, 0, 0, 0), (0, 0, 0, 0)]
    options = [(0, 0, 0, 0), (0, 1, 1, 2), (3, 3, 3, None)]
    records = [
        answer(sample, option, repeat=repeat)
        for sample, own in zip(samples, options, strict=True)
        for repeat, option in enumerate(own)
    ]
    run = make_run(tmp_path / "r", samples, records, repeat=4)
    found = summarise_repeats(run.scores()[0], registry.get("jsonl"))
    assert (found.questions, found.repeats) == (3, 4)
    assert found.value == pytest.approx(sum(map(sum, right)) / 12)
    assert found.means == pytest.approx((2 / 3, 1 / 3, 1 / 3, 1 / 3))
    assert found.spread == pytest.approx(1 / 6)
    assert found.passes == pytest.approx({1: 5 / 12, 2: (1 + 0.5) / 3, 4: 2 / 3})
    assert found.always == pytest.approx(1 / 3)
    # Pairs that agree: 6 of 6; of (0, 1, 1, 2) one; of (3, 3, 3, none) three.
    assert found.same == pytest.approx((6 + 1 + 3) / 18)
    table = build_repeats_table([run])
    assert table.columns[8:10] == ("pass@2", "pass@4")
    with pytest.raises(UsageError, match="--repeat K"):
        build_repeats_table([run_of(tmp_path / "s", samples, [True] * 3)])


def test_repeats_do_not_narrow_an_interval(tmp_path: Path) -> None:
    """The same answer ten times is no more certain than once."""
    samples = quiz(40)
    once = run_of(tmp_path / "once", samples, [n % 3 == 0 for n in range(40)])
    records = [
        answer(sample, 0 if n % 3 == 0 else 1, repeat=repeat)
        for n, sample in enumerate(samples)
        for repeat in range(10)
    ]
    often = make_run(tmp_path / "often", samples, records, repeat=10)
    jsonl = registry.get("jsonl")
    (one,), (ten,) = (summarise(run.scores()[0], jsonl) for run in (once, often))
    assert (one.n, ten.n) == (40, 400)
    assert ten.interval_method == "clustered Wilson"
    assert one.interval is not None
    assert ten.interval is not None
    assert ten.interval[1] - ten.interval[0] > 0.97 * (one.interval[1] - one.interval[0])
    assert any("10 to each question" in note for note in build_overview([often]).notes)


def test_answers_on_texts_are_compared_plainly(tmp_path: Path) -> None:
    (sample,) = quiz(1)
    free = msgspec.structs.replace(sample, options=(), key=None, answers=("an oak",))
    replies = ["An oak.", "an Oak", "an elm"]
    records = [
        msgspec.structs.replace(answer(sample, 0, repeat=n), options=(), order=(), reply=Reply(text=text))
        for n, text in enumerate(replies)
    ]
    found = summarise_repeats(
        make_run(tmp_path / "r", [free], records, repeat=3).scores()[0], registry.get("jsonl")
    )
    assert found.same == pytest.approx(1 / 3)


# ── controls ─────────────────────────────────────────────────────────────────────────────────────


def test_what_is_left_without_pictures(tmp_path: Path) -> None:
    samples = quiz(200, facets={"half": ("even", "odd")})
    full = run_of(tmp_path / "full", samples, [n % 4 != 3 for n in range(200)])
    blind = run_of(tmp_path / "blind", samples, [n % 2 == 0 for n in range(200)], control="blind")
    (left,) = measure_controls([full, blind]).effects
    assert (left.result.first, left.result.second, left.chance) == (0.75, 0.5, 0.25)
    # 25 of 50 points above chance are kept.
    assert left.share == pytest.approx(0.5)
    assert left.share_interval is not None
    assert left.share_interval.low < 0.5 < left.share_interval.high
    assert 0.2 < left.share_interval.high - left.share_interval.low < 0.5
    even, odd = measure_controls([full, blind], by=["half"]).effects
    assert even.share == pytest.approx(1)
    assert odd.share is not None
    assert odd.share < 0
    table = build_controls_table([blind, full])
    assert "pictures and video" in table.body[0]
    assert table.rows[0].group["control"] == "blind"


def test_no_share_of_a_score_that_is_not_above_chance(tmp_path: Path) -> None:
    samples = quiz(40)
    full = run_of(tmp_path / "full", samples, [n % 4 == 0 for n in range(40)])
    shuffled = run_of(tmp_path / "shuffled", samples, [n % 3 == 0 for n in range(40)], control="shuffled")
    (left,) = measure_controls([full, shuffled]).effects
    assert left.share is None
    assert build_controls_table([full, shuffled]).body[0][-3] is None


def test_controls_need_their_run(tmp_path: Path) -> None:
    samples = quiz(4)
    full = run_of(tmp_path / "full", samples, [True] * 4)
    with pytest.raises(UsageError, match="None of these runs has a control"):
        measure_controls([full])
    other = run_of(tmp_path / "other", samples, [True] * 4, model="x", control="blind")
    with pytest.raises(UsageError, match="no run of x without one is given"):
        measure_controls([full, other])
    cot = run_of(tmp_path / "cot", samples, [True, False, True, True], control="reversed", style="cot")
    assert measure_controls([full, cot]).notes == (
        "full and cot differ in more than the control: style: zero-shot → cot.",
    )


# ── chance ───────────────────────────────────────────────────────────────────────────────────────


def test_scores_with_chance_taken_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = quiz(40, facets={"half": ("even", "odd")})
    run_of(tmp_path / "r", samples, [n % 2 == 0 for n in range(40)])
    assert call("table", tmp_path / "r", "--by", "half", "--chance-corrected", "--format", "json") == 0
    even, odd = json.loads(capsys.readouterr().out)
    assert (even["value"], even["chance"], even["corrected"]) == (100, 25, 100)
    assert odd["corrected"] == pytest.approx(-100 / 3)
    assert even["corrected_interval"][0] == pytest.approx((even["interval"][0] - 25) / 0.75)
    assert call("table", tmp_path / "r", "--chance-corrected") == 0
    text = capsys.readouterr().out
    assert "33.3" in text
    assert "so that a guesser has 0" in text


def test_tables_refuse_what_they_cannot_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_of(tmp_path / "r", quiz(4), [True] * 4)
    for options, message in (
        (["--repeats", "--permutations"], "--repeats and --permutations are different tables; choose one"),
        (["--repeats", "--by", "x"], "--repeats has its own groups and columns; leave out --by"),
        (["--controls"], "None of these runs has a control"),
    ):
        assert call("table", tmp_path / "r", *options) == 1
        said = capsys.readouterr()
        assert message in said.err
        assert said.out == ""


def test_bootstrap_intervals_in_a_table(tmp_path: Path) -> None:
    run_of(tmp_path / "r", quiz(60, cluster=2), [n % 3 == 0 for n in range(60)])
    (row,) = build_overview([load_run(tmp_path / "r")], intervals="bootstrap").rows
    assert row.interval_method == "cluster bootstrap, t-corrected"
    assert row.interval is not None
    assert row.interval[0] < 33 < row.interval[1]
