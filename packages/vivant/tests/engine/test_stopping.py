"""Runs that stop when it is enough: narrow enough, or settled against another run."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.support.helpers import vivant
from tests.support.stopping_kit import MODEL, ask, clustered, truth
from vivant import mini
from vivant.analysis.comparison import compare
from vivant.analysis.ranking import rank
from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoreSettings
from vivant.benchmarks.sample_units import SampleUnit, TaskOrder
from vivant.benchmarks.summary import summarise
from vivant.engine.task_progress import TaskProgress
from vivant.metrics.intervals import mean_interval
from vivant.reporting.html.blocks import Paragraph
from vivant.reporting.html.leaderboard import draw_tasks
from vivant.reporting.html.report_data import gather_report_data
from vivant.runs.log import read_log
from vivant.runs.run import Run
from vivant.runs.stopping import read_stopping


def test_a_run_stops_when_the_interval_is_narrow_enough(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    run = ask(tmp_path, until=6)
    table = run.table()
    row = table.rows[0]
    assert row.interval is not None
    low, high = row.interval
    assert high - low <= 12.0
    assert low <= truth(tmp_path) <= high
    assert 60 < row.n < 400
    assert row.errors == 0  # what was not asked is no failure
    assert row.interval_method == "anytime-valid (betting)"
    notes = " ".join(table.notes)
    asked = len({record.id for record in read_log(run.dir.log_file)})
    assert f"asked {asked} of 600 samples" in notes
    assert "valid at the moment of stopping" in notes
    assert "other questions of the same kind" in notes
    stopping = read_stopping(run.dir)
    assert stopping is not None and stopping.enough == run.dir.log_file.stat().st_size
    # Each group has an interval of the same kind.
    assert all(group.interval_method == row.interval_method for group in run.table(by="kind").rows)


def test_whole_clusters_are_asked_in_an_order_that_the_seed_decides(tmp_path: Path) -> None:
    clustered(tmp_path, 300, size=3)
    runs = [ask(tmp_path, name, until=9, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    asked = [{sample.id for part in run.scores() for sample, _, _ in part.rows} for run in runs]
    assert asked[0] == asked[1] != asked[2]
    clusters = [{int(name[1:]) // 3 for name in ids} for ids in asked]
    assert all(len(ids) == 3 * len(own) for ids, own in zip(asked, clusters, strict=True))
    assert len(clusters[0] & set(range(30))) < 25  # not simply the first ones


def test_a_narrower_target_goes_on_where_it_was(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    first = {record.key for record in read_log(ask(tmp_path, until=8).dir.log_file)}
    again = ask(tmp_path, until=8)
    assert {record.key for record in read_log(again.dir.log_file)} == first  # enough is enough
    run = ask(tmp_path, until=4)
    keys = [record.key for record in read_log(run.dir.log_file)]
    assert set(keys) > first
    assert len(keys) == len(set(keys)) < 600
    low, high = run.table().rows[0].interval or (0, 100)
    assert high - low <= 8.0
    stopping = read_stopping(run.dir)
    assert stopping is not None
    assert [target.half_width for target in stopping.tasks["jsonl/mine"].targets] == [0.08, 0.04]
    # Without a target, the rest is asked, and the table is the usual one.
    whole = ask(tmp_path).table()
    assert whole.rows[0].n == 600
    assert whole.rows[0].interval_method == "clustered Wilson"


def test_a_width_that_is_wanted_later_is_not_aimed_at_before(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    ask(tmp_path, "weak", 0.4)
    opponent = str(tmp_path / "weak")
    before = ask(tmp_path, "strong", 0.8, until_better_than=opponent)
    stopping = read_stopping(before.dir)
    assert stopping is not None
    known = stopping.tasks["jsonl/mine"].count_complete(
        Counter(record.id for record in read_log(before.dir.log_file))
    )
    run = ask(tmp_path, "strong", 0.8, until_better_than=opponent, until=4)
    again = read_stopping(run.dir)
    assert again is not None
    assert [target.unit for target in again.tasks["jsonl/mine"].targets] == [known]
    low, high = run.table().rows[0].interval or (0, 100)
    assert high - low <= 8.0
    assert low <= truth(tmp_path, 0.8) <= high
    # What is made for samples that are fixed beforehand says so.
    assert "strong: stopped early" in " ".join(rank([run, opponent]).tables()[-1].notes)
    whole = rank([tmp_path / "everything", opponent]).tables()[-1].notes
    assert "stopped early" not in " ".join(whole)


def test_a_stopped_run_is_compared_by_what_held_when_it_stopped(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    weak = ask(tmp_path, "weak", 0.4)
    run = ask(tmp_path, "strong", 0.8, until_better_than=str(tmp_path / "weak"))
    comparison = compare([weak, run])
    (pair,) = comparison.pairs
    interval = pair.result.interval
    assert interval is not None and interval.method == "anytime-valid (betting)"
    # The same figures as the run itself gave when it stopped.
    stopping = read_stopping(run.dir)
    assert stopping is not None
    (outcome,) = stopping.outcomes["jsonl/mine"]
    assert f"better than weak ({interval.low * 100:+.1f} to {interval.high * 100:+.1f} points)" in outcome
    assert pair.result.p is not None and pair.result.p <= 0.05 and interval.low > 0
    assert "stopped early" not in " ".join(comparison.table().notes)


def test_runs_that_stopped_in_different_orders_are_not_given_more_than_is_known(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    first = ask(tmp_path, "first", 0.5, until=8)
    second = ask(tmp_path, "second", 0.6, until=8, seed=5)
    notes = " ".join(compare([first, second]).table().notes)
    assert "first, second: stopped early" in notes and "a little too sure" in notes


def test_a_part_of_a_stopped_run_has_an_interval_of_its_own(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    run = ask(tmp_path, until=6)
    whole = ask(tmp_path, "everything").table(by="kind")
    groups = run.table(by="kind").rows
    assert [row.group for row in groups] == [{"kind": kind} for kind in "abc"]
    for row, known in zip(groups, whole.rows, strict=True):
        assert row.interval is not None and known.value is not None
        assert row.interval[0] <= known.value <= row.interval[1]
        assert row.interval[1] - row.interval[0] < 45
    (part,) = run.table(where="kind=a").rows
    assert part.interval == groups[0].interval


def test_a_slow_reply_holds_up_those_after_it_and_few_more_are_asked(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    quick = ask(tmp_path, "quick", until=8, concurrency=4)
    stopping = read_stopping(quick.dir)
    assert stopping is not None
    late = stopping.tasks["jsonl/mine"].units[3].ids[0]
    run = ask(tmp_path, "slow", until=8, concurrency=4, model_options={"slow": late})
    counted = run.table().rows[0].n
    assert abs(counted - quick.table().rows[0].n) <= 16
    assert len(list(read_log(run.dir.log_file))) <= counted + 16


@pytest.mark.parametrize(("needed", "expected"), [(5, 8), (20, 20)])
def test_no_more_are_asked_than_are_probably_needed_while_the_first_is_slow(
    needed: int, expected: int
) -> None:
    task: Any = SimpleNamespace(judged=False)
    plan: Any = SimpleNamespace(task="t", chosen=(), benchmark=SimpleNamespace(task=lambda _: task))
    rule: Any = SimpleNamespace(settled=False, count_remaining=lambda: needed)
    order = TaskOrder(units=tuple(SampleUnit((f"q{number}",), 1) for number in range(100)))
    progress = TaskProgress(plan, order, ScoreSettings(protocol="paper", style="", values={}))
    progress.rules = [rule]
    count = 0
    while progress.may_ask(concurrency=8):
        progress.note_asked(f"q{count}")
        count += 1
    assert count == expected


def test_replies_out_of_turn_count_as_asked_and_hold_up_no_later_run(tmp_path: Path) -> None:
    clustered(tmp_path, 300, size=10)
    run = ask(tmp_path, until=20)
    stopping = read_stopping(run.dir)
    assert stopping is not None
    gap = stopping.tasks["jsonl/mine"].units[2].ids
    lines = run.dir.log_file.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if msgspec.json.decode(line)["id"] not in gap]
    run.dir.log_file.write_bytes(b"".join(kept))
    notes = " ".join(Run(run.dir.path).table().notes)
    assert f"asked {len(kept)} of 300 samples, which saved {1 - len(kept) / 300:.0%}" in notes
    assert f"out of turn: {len(kept) - 20} replies" in notes
    # Many wait for the gap, and few may be asked at once.
    assert ask(tmp_path, until=20, concurrency=1).table().rows[0].n >= len(kept)


def test_the_target_is_half_of_the_interval_wherever_the_score_lies_in_it(tmp_path: Path) -> None:
    clustered(tmp_path, 300)
    table = ask(tmp_path, right=0.02, until=9).table()
    row = table.rows[0]
    assert row.interval is not None
    assert row.value is not None
    low, high = row.interval
    assert high - row.value > 9.0 >= (high - low) / 2
    half = f"half of the interval is {(high - low) / 2:.1f} points; the score need not lie in its middle"
    assert half in " ".join(table.notes)


def test_intervals_of_groups_are_not_said_to_be_for_the_whole_task(tmp_path: Path) -> None:
    clustered(tmp_path, 300)
    run = ask(tmp_path, until=9)
    for table in (run.table(by="kind"), run.table(where=["kind=a"])):
        notes = " ".join(table.notes)
        assert "the score on all samples of its group" in notes
        assert "the score on all 300" not in notes
    assert "The interval is for the score on all 300" in " ".join(run.table().notes)


def test_a_report_says_that_a_run_stopped_early(tmp_path: Path) -> None:
    clustered(tmp_path, 300)
    run = ask(tmp_path, until=9)
    data = gather_report_data([run], None)
    texts = [block.text for block in draw_tasks(data, ["jsonl/mine"]) if isinstance(block, Paragraph)]
    stops = [note for note in run.table().notes if note.startswith("run, jsonl/mine")]
    assert "valid at the moment of stopping" in stops[0]
    assert set(stops) <= set(texts)


def test_a_run_that_fails_in_part_counts_what_it_has(tmp_path: Path) -> None:
    clustered(tmp_path, 300)
    broken = MODEL.replace("chance = ", "if name.endswith('7'): raise ValueError('no')\n        chance = ")
    (tmp_path / "own.py").write_text(broken, "utf-8")
    run = ask(tmp_path, until=9)
    row = run.table().rows[0]
    assert row.errors > 0
    assert row.n + row.errors < 300
    assert row.interval is not None


def test_the_command_says_what_it_asked_and_saved(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    result = vivant(
        "run", "mine.jsonl", "--model", "own.py:Model", "--until", "8", "-o", "run",
        cwd=tmp_path, env={"COLUMNS": "80"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "600 samples in 300 units, asked in random order" in result.stderr
    text = " ".join(result.stdout.split())
    assert re.search(r"asked \d+ of 600 samples, which saved \d+%", text)
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_interval_is_wider_than_one_that_may_not_be_looked_at_twice(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    run = ask(tmp_path, until=6)
    part = run.scores()[0]
    usual = mean_interval(
        [score.value or 0.0 for _, _, score in part.rows], [s.cluster for s, _, _ in part.rows], binary=True
    )
    wide = next(note for note in run.table().notes if "same kind" in note)
    ends = [float(number) for number in re.findall(r"\d+\.\d", wide)]
    assert usual is not None
    assert ends[1] - ends[0] > 100 * (usual.high - usual.low)


def test_every_page_shows_the_interval_of_the_moment_of_stopping(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    run = ask(tmp_path, until=8)
    row = summarise(run.scores()[0], registry.get_by_task("jsonl/mine"))[0]
    assert row.interval == run.table().rows[0].interval
    assert row.interval_method == "anytime-valid (betting)"


def test_answers_that_a_judge_scores_come_in_rounds(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(Path(mini.__file__).parent / "mmie", data)
    items = msgspec.json.decode((data / "mmie.json").read_bytes())
    copies = [{**item, "id": f"{item['id']}{number:02d}"} for number in range(12) for item in items]
    (data / "mmie.json").write_bytes(msgspec.json.encode(copies))
    result = vivant(
        "run", "mmie/sa", "--data", data, "--model", "random", "--judge", "heuristic", "--until", "8", "-o", "run",
        cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("Judge heuristic") > 1
    assert re.search(r"asked \d+ of 120 samples", " ".join(result.stdout.split()))
    without = vivant(
        "run", "mmie/sa", "--data", data, "--model", "random", "--until", "8", "-o", "other", cwd=tmp_path
    )
    assert without.returncode == 1
    assert "add --judge openai/NAME" in without.stderr
