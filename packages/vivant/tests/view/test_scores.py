"""Scores in the viewer: the same figures as tables, and the truth about runs."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import msgspec
import pytest

from tests.support.browser_kit import run_viewer
from tests.support.view_kit import choice_samples, make_records, write_run
from tests.view.test_view import get
from vivant.benchmarks.sample_units import SampleUnit, TaskOrder, group_intervals
from vivant.core.records import Score
from vivant.core.table import Row
from vivant.core.types import Reply
from vivant.engine.evaluation import evaluate
from vivant.runs.log import LogWriter
from vivant.runs.run import Run
from vivant.runs.stopping import Stopping, write_stopping
from vivant.view.breakdown import list_breakdowns
from vivant.view.catalog import RunCatalog
from vivant.view.index import RunIndex
from vivant.view.run_status import describe_status
from vivant.view.summary import RunSummary, find_stopped, read_summary


def _read_summary(run: Path) -> RunSummary:
    index = RunIndex(run, "paper")
    index.update()
    db = index.open()
    try:
        return read_summary(db)
    finally:
        db.close()


def _figures(row: Row) -> tuple[object, ...]:
    ends = tuple(round(end, 6) for end in row.interval or ())
    return (
        row.task, round(row.value or 0.0, 6), ends, row.n, row.errors, row.unparsed, row.truncated,
        None if row.chance is None else round(row.chance, 6), row.metric,
    )  # fmt: skip


@pytest.mark.parametrize("scored", [True, False], ids=["from the score file", "from the log"])
@pytest.mark.parametrize("selector", ["mime/mcq", "mmrv", "mimic/thinking"])
def test_the_viewer_shows_the_figures_of_the_tables(tmp_path: Path, selector: str, scored: bool) -> None:
    run = evaluate(selector, "random", data=("mini",), limit=40, out=str(tmp_path / "run"))
    if scored:
        run.scores()
    mine = [_figures(task.row) for task in _read_summary(tmp_path / "run").tasks]
    assert (tmp_path / "run" / "scores").exists() == scored, "nothing is written into a run"
    table = [_figures(row) for row in Run(tmp_path / "run").table().rows]
    assert sorted(map(str, mine)) == sorted(map(str, table))


def _status(root: Path, name: str) -> str:
    entry = RunCatalog(root).get(name)
    assert entry is not None
    return describe_status(entry, _read_summary(root / name)).text


def test_a_run_says_truthfully_how_it_stands(tmp_path: Path) -> None:
    samples = choice_samples(4)
    good, bad = Reply(text="B"), Reply(status="error", error="HTTP 500: down")
    for name, replies in (
        ("done", [good] * 4),
        ("partly", [good, good, good, bad]),
        ("failed", [bad] * 4),
        ("stopped", [good, good]),
        ("empty", []),
    ):
        write_run(tmp_path / name, samples, make_records(samples, replies))
        past = time.time() - 1000

        os.utime(tmp_path / name / "log.jsonl", (past, past))
    assert _status(tmp_path, "done") == "done"
    assert _status(tmp_path, "partly") == "done, 1 failed"
    assert _status(tmp_path, "failed") == "failed 4 of 4"
    assert _status(tmp_path, "stopped") == "stopped at 2 of 4"
    assert _status(tmp_path, "empty") == "nothing answered yet"
    with LogWriter(tmp_path / "stopped" / "log.jsonl"):
        assert _status(tmp_path, "stopped").startswith("running")
    assert _status(tmp_path, "stopped") == "stopped at 2 of 4"


def test_a_running_evaluation_has_a_rate_and_a_time_left(tmp_path: Path) -> None:
    samples = choice_samples(10)
    records = [
        msgspec.structs.replace(record, started=1000.0 + 2 * number)
        for number, record in enumerate(make_records(samples, [Reply(text="B")] * 6))
    ]
    write_run(tmp_path / "run", samples, records)
    with LogWriter(tmp_path / "run" / "log.jsonl"):
        assert _status(tmp_path, "run") == "running, 0.5/s, 8 s left"


def test_the_home_page_shows_scores_and_never_ranks_a_failed_run(tmp_path: Path) -> None:
    samples = choice_samples(8)
    write_run(tmp_path / "good", samples, make_records(samples, [Reply(text="B")] * 8), model="good")
    failed = [Reply(status="error", error="HTTP 500: down")] * 8
    write_run(tmp_path / "bad", samples, make_records(samples, failed), model="bad")
    with run_viewer(tmp_path) as address:
        page = _wait_for(address, "/", "good</bdi>")
        page = _wait_for(address, "/", "bad</bdi>")
        assert "<b>100.0</b>" in page and "8 errors" in page
        assert "chance 25.0" in page and ">Models<" in page
        runs = get(f"{address}/runs")[1]
        assert "failed 8 of 8" in runs and ">done<" in runs
        listed = get(f"{address}/run/bad?outcome=error")[1]
        assert "HTTP 500: down" in listed, "the error message is in the list"
        assert "missing" not in listed


def _wait_for(address: str, path: str, text: str) -> str:
    until = time.monotonic() + 600
    while time.monotonic() < until:
        page = get(address + path)[1]
        if text in page:
            return page
        time.sleep(0.05)
    raise AssertionError(f"{path} never shows {text}")


def test_published_figures_are_no_reference_for_a_mini_edition(tmp_path: Path) -> None:
    """They are listed on demand, and say that they are of another edition; people's are drawn over no score."""
    evaluate("mmrv", "random", data=("mini",), limit=10, out=str(tmp_path / "run"))
    with run_viewer(tmp_path) as address:
        plain = _wait_for(address, "/", "n 10")
        asked = get(f"{address}/?published=1")[1]
    assert "for the full edition: the runs on MMR-V used the bundled mini-edition" in asked
    assert ">Human · human · full edition<" in asked and "Human" not in plain
    for page in (plain, asked):
        assert 'class="human"' not in page and 'class="key human"' not in page


def test_the_home_page_counts_runs_and_keeps_controls_apart(tmp_path: Path) -> None:
    samples = choice_samples(4)
    for name, control in (("seen", "none"), ("unseen", "blind")):
        run = write_run(tmp_path / name, samples, make_records(samples, [Reply(text="B")] * 4), model="m")
        manifest = run.manifest
        changed = msgspec.structs.replace(
            manifest, settings=msgspec.structs.replace(manifest.settings, control=control)
        )
        (tmp_path / name / "manifest.json").write_bytes(msgspec.json.encode(changed))
    samples = choice_samples(3)
    failed = [Reply(status="error", error="HTTP 500")] * 3
    write_run(tmp_path / "failed", samples, make_records(samples, failed), model="n")
    with run_viewer(tmp_path) as address:
        page = _wait_for(address, "/", "3 runs: ")
        while "for the first time" in page:
            page = get(f"{address}/")[1]
    assert 'href="/runs?status=done">2 done</a>' in page and 'href="/runs?status=failed">1 failed</a>' in page
    models, controls = page.split('<tbody data-kind="control">')
    assert 'data-entry="m"' in models and 'data-entry="m · blind"' in controls


def test_lists_show_words_not_hashes(tmp_path: Path) -> None:
    samples = choice_samples(2)
    write_run(tmp_path / "run", samples, make_records(samples, [Reply(text="C"), Reply(text="B")]))
    with run_viewer(tmp_path) as address:
        page = get(f"{address}/run/run")[1]
    cells = re.findall(r"<bdi>(.*?)</bdi>", page)
    assert "Question number 0: which one?" in cells
    assert "B · choice B of 0" in cells and "C · choice C of 0" in cells


def test_a_run_that_grows_is_scored_as_it_goes(tmp_path: Path) -> None:
    samples = choice_samples(4)
    records = make_records(samples, [Reply(text="B"), Reply(text="C"), Reply(text="B"), Reply(text="B")])
    write_run(tmp_path / "run", samples, records[:2])
    assert _read_summary(tmp_path / "run").tasks[0].counts == {"right": 1, "wrong": 1, "waiting": 2}
    with LogWriter(tmp_path / "run" / "log.jsonl") as log:
        log.append(records[2])
    assert _read_summary(tmp_path / "run").tasks[0].counts == {"right": 2, "wrong": 1, "waiting": 1}
    Run(tmp_path / "run").scores()
    with LogWriter(tmp_path / "run" / "log.jsonl") as log:
        log.append(records[3])
    assert _read_summary(tmp_path / "run").tasks[0].counts == {"right": 3, "wrong": 1}


@pytest.mark.parametrize("kept", [0, 5])
def test_without_its_samples_a_run_has_a_notice_and_no_interval(tmp_path: Path, kept: int) -> None:
    samples = choice_samples(12)
    write_run(tmp_path / "run", samples, make_records(samples, [Reply(text="B")] * 12)).scores()
    file = tmp_path / "run" / "samples.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:kept]) + lines[kept][:20])
    summary = _read_summary(tmp_path / "run")
    assert summary.tasks[0].row.interval is None and summary.lost == 12 - kept
    with run_viewer(tmp_path) as address:
        assert "samples.jsonl is missing or cut" in _wait_for(address, "/", "run</bdi>")
        assert "samples.jsonl is missing or cut" in get(f"{address}/run/run")[1]


def test_runs_without_common_questions_say_so(tmp_path: Path) -> None:
    for name in ("a", "b"):
        samples = choice_samples(3, f"jsonl/{name}")
        write_run(tmp_path / name, samples, make_records(samples, [Reply(text="B")] * 3))
    with run_viewer(tmp_path) as address:
        page = get(f"{address}/compare?cell=a|jsonl/a&cell=b|jsonl/b")[1]
    assert "no questions in common" in page and "No sample is of this kind" not in page


def test_the_home_page_marks_unfinished_runs_and_names_folders(tmp_path: Path) -> None:
    samples = choice_samples(8)
    write_run(tmp_path / "first", samples, make_records(samples, [Reply(text="B")] * 3))
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    with run_viewer(tmp_path) as address:
        _wait_for(address, "/", "first</bdi></span>")
        page = _wait_for(address, "/", "second</bdi></span>")
    assert page.count("3 of 8 answered") == 2


def test_a_run_that_stopped_early_has_the_figures_of_its_table(tmp_path: Path) -> None:
    samples = choice_samples(30)
    replies = [Reply(text="B" if number % 4 else "C") for number in range(30)]
    records = make_records(samples, replies)
    run = write_run(tmp_path / "run", samples, [*records[:18], records[25]])
    units = tuple(
        SampleUnit(tuple(sample.id for sample in samples[at : at + 3]), 3) for at in range(0, 30, 3)
    )
    write_stopping(run.dir, Stopping(tasks={"jsonl/made": TaskOrder(units=units)}))
    (row,) = run.table().rows
    assert row.n == 18 and row.interval_method == "anytime-valid (betting)"
    (task,) = _read_summary(tmp_path / "run").tasks
    assert _figures(task.row) == _figures(row)
    with run_viewer(tmp_path) as address:
        page = _wait_for(address, "/run/run/breakdown", "Where it is right")
    assert "This run stopped early." in page


def test_groups_of_a_run_that_stopped_early_have_intervals_valid_at_the_stop(tmp_path: Path) -> None:
    samples = [
        msgspec.structs.replace(sample, key=number % 2, facets={"place": "AB"[number % 2]})
        for number, sample in enumerate(choice_samples(60))
    ]
    replies = [Reply(text="ABAB"[number % 2 + (number % 7 == 0)]) for number in range(60)]
    run = write_run(tmp_path / "run", samples, make_records(samples[:48], replies[:48]))
    units = tuple(
        SampleUnit(tuple(sample.id for sample in samples[at : at + 3]), 3) for at in range(0, 60, 3)
    )
    write_stopping(run.dir, Stopping(tasks={"jsonl/made": TaskOrder(units=units)}))
    rows = run.table(by=("place",)).rows
    index = RunIndex(tmp_path / "run", "paper")
    index.update()
    db = index.open()
    stopped = find_stopped(db, "jsonl/made", tmp_path / "run")
    assert stopped is not None and stopped.complete == 16
    bins = {
        each_bin.label: each_bin
        for each in list_breakdowns(db, "jsonl/made", stopped)
        if each.title == "Place of the key"
        for each_bin in each.bins
    }
    db.close()
    right = (
        (sample.facets["place"], sample.id, float(reply.text == "AB"[number % 2]))
        for number, (sample, reply) in enumerate(zip(samples[:48], replies[:48], strict=True))
    )
    expected = group_intervals(stopped, right)
    for row in rows:
        name = row.group["place"]
        measured, interval = bins[name], expected[name]
        assert measured.n == row.n
        assert measured.value == pytest.approx(row.value)
        assert measured.interval == pytest.approx((100 * interval.low, 100 * interval.high))
        # A table knows the groups of samples that were not asked, so its intervals lie within.
        assert row.interval is not None and measured.interval is not None
        assert measured.interval[0] < row.interval[0] and row.interval[1] < measured.interval[1]
        assert row.interval_method == "anytime-valid (betting)"


@pytest.mark.parametrize(("task", "counted"), [("mmie/sa", 4), ("jsonl/made", 6)])
def test_unread_verdicts_count_in_groups_as_in_the_score(tmp_path: Path, task: str, counted: int) -> None:
    samples = [msgspec.structs.replace(sample, cluster="") for sample in choice_samples(6, task)]
    records = make_records(samples, [Reply(text="long words" * (1 + number % 2)) for number in range(6)])
    scores = [
        Score(
            key=record.key,
            task=task,
            id=record.id,
            status="unparsed" if number < 2 else "scored",
            value=None if number < 2 else 0.5,
        )
        for number, record in enumerate(records)
    ]
    write_run(tmp_path / "run", samples, records, scores)
    index = RunIndex(tmp_path / "run", "paper")
    index.update()
    db = index.open()
    (summary,) = read_summary(db).tasks
    (sizes,) = (each for each in list_breakdowns(db, task) if "reply" in each.title)
    db.close()
    assert [each.n for each in sizes.bins] == [counted // 2, counted // 2] and summary.row.n == counted


def test_a_run_that_met_its_target_is_not_called_unfinished(tmp_path: Path) -> None:
    samples = choice_samples(30)
    run = write_run(tmp_path / "run", samples, make_records(samples[:18], [Reply(text="B")] * 18))
    order = TaskOrder(units=tuple(SampleUnit((sample.id,), 1) for sample in samples))
    past = time.time() - 1000
    os.utime(run.dir.log_file, (past, past))
    write_stopping(run.dir, Stopping(tasks={"jsonl/made": order}))
    assert _status(tmp_path, "run") == "stopped at 18 of 30"
    size = run.dir.log_file.stat().st_size
    write_stopping(run.dir, Stopping(tasks={"jsonl/made": order}, enough=size - 1))
    assert _status(tmp_path, "run") == "stopped at 18 of 30"  # it went on since
    write_stopping(run.dir, Stopping(tasks={"jsonl/made": order}, enough=size))
    assert _status(tmp_path, "run") == "enough at 18 of 30"
    with run_viewer(tmp_path) as address:
        page = _wait_for(address, "/", "n 18")
    assert "of 30 answered" not in page


@pytest.mark.parametrize("torn", [True, False])
def test_a_cut_score_file_is_made_again(tmp_path: Path, torn: bool) -> None:
    samples = choice_samples(6)
    run = write_run(tmp_path / "run", samples, make_records(samples, [Reply(text="B")] * 6))
    run.scores()
    file = run.score_file()
    whole = file.read_bytes()
    file.write_bytes(whole[:-20] if torn else b"".join(whole.splitlines(keepends=True)[:3]))
    assert run.table().rows[0].n == 6
    assert file.read_bytes() == whole
