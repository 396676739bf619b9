"""Runs with more samples than are held in memory: the same plan, log, scores and tables as small ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vivant.benchmarks.validation import load_samples
from vivant.core import stored_lines
from vivant.core.stored_lines import KeySet, StoredLines, store_lines
from vivant.core.types import Sample
from vivant.engine.evaluation import evaluate
from vivant.runs import directory
from vivant.runs.log import read_log
from vivant.runs.overview import build_overview
from vivant.runs.run import Run
from vivant.runs.settings import ListDigest, digest
from vivant.runs.stored_rows import StoredRows


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    lines = [
        {
            "id": f"q{n}",
            "question": f"Which? {n}",
            "choices": ["red", "green", "blue"],
            "answer": n % 3,
            "facets": {"half": str(n % 2)},
            "cluster": f"c{n // 2}",
        }
        for n in range(40)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def hold(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Hold so many values in memory."""
    monkeypatch.setattr(stored_lines.store_lines, "__defaults__", (count,))
    monkeypatch.setattr(directory, "IN_MEMORY", count)


def run_twice(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, **more: Any
) -> tuple[Run, Run]:
    small = evaluate(str(questions), model, out=tmp_path / f"small-{model}", **more)
    hold(monkeypatch, 10)
    large = evaluate(str(questions), model, out=tmp_path / f"large-{model}", **more)
    return small, large


def test_a_large_run_has_the_scores_and_tables_of_a_small_one(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(monkeypatch, 1000)
    small, large = run_twice(questions, tmp_path, monkeypatch, "random", repeat=2, limit=30)
    assert small.manifest.fingerprint == large.manifest.fingerprint
    assert small.dir.samples_file.read_bytes() == large.dir.samples_file.read_bytes()
    hold(monkeypatch, 1000)
    expected = small.scores()[0]
    hold(monkeypatch, 10)
    found = large.scores()[0]
    assert isinstance(expected.rows, tuple) and isinstance(found.rows, StoredRows)
    assert [row[2] for row in found.rows] == [row[2] for row in expected.rows]
    assert [row[0] for row in found.rows] == [row[0] for row in expected.rows]
    assert small.dir.score_file("paper").read_bytes() == large.dir.score_file("paper").read_bytes()
    for by in ((), ("half",)):
        table = build_overview([large], by=by, where=["half=1"])
        assert table.body == build_overview([small], by=by, where=["half=1"]).body
    again = Run(large.dir.path).scores()[0]
    assert [row[2] for row in again.rows] == [row[2] for row in expected.rows]


def test_rows_of_a_large_run_follow_its_samples_and_keep_those_without_a_record(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(monkeypatch, 10)
    run = evaluate(str(questions), "first", out=tmp_path / "run")
    lines = run.dir.log_file.read_bytes().splitlines(keepends=True)
    torn = b'{"key": 7}\n'
    run.dir.log_file.write_bytes(b"".join([torn, *reversed(lines[:-3])]))
    rows = Run(run.dir.path).scores()[0].rows
    assert [sample.id for sample, _, _ in rows] == [f"q{n}" for n in range(40)]
    lost = [sample.id for sample, record, _ in rows if record is None]
    assert len(lost) == 3
    assert [score.status for sample, _, score in rows if sample.id in lost] == ["missing"] * 3
    assert all(record is None or record.id == sample.id == score.id for sample, record, score in rows)


def test_a_large_run_is_resumed_with_what_is_missing(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(monkeypatch, 10)
    run = evaluate(str(questions), "first", out=tmp_path / "run")
    lines = run.dir.log_file.read_bytes().splitlines(keepends=True)
    run.dir.log_file.write_bytes(b"".join(lines[:25]))
    evaluate(str(questions), "first", out=tmp_path / "run")
    keys = [record.key for record in read_log(run.dir.log_file)]
    assert len(keys) == len(set(keys)) == 40


def test_samples_beyond_the_limit_are_read_from_a_file(
    questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vivant.benchmarks.jsonl import Jsonl

    hold(monkeypatch, 10)
    data = ListDigest()
    samples = load_samples(Jsonl(), questions, "jsonl/mine", data.add)
    assert isinstance(samples, StoredLines)
    whole = Jsonl().load(questions, "jsonl/mine")
    assert list(samples) == whole and samples[-1] == whole[-1] and list(samples[3:5]) == whole[3:5]
    assert data.hexdigest() == digest(whole)


def test_a_repeated_id_is_refused_with_both_lines(questions: Path) -> None:
    from vivant.benchmarks.jsonl import Jsonl
    from vivant.core.errors import DataError

    with questions.open("a") as file:
        file.write('\n{"id": "q7", "question": "Again?", "answer": "no"}\n')
    with pytest.raises(DataError, match=r"line 42: the id 'q7' is already used in line 8"):
        list(Jsonl().iterate(questions, "jsonl/mine"))


def test_few_values_stay_a_list_and_keys_are_found_again() -> None:
    values = [Sample(id="1", task="t")]
    assert store_lines(values, Sample) == values
    keys = KeySet(["a"])
    assert keys.add("b") and not keys.add("a") and "b" in keys and "c" not in keys and len(keys) == 2


def test_large_runs_compare_like_small_ones(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vivant.analysis import comparison

    hold(monkeypatch, 1000)
    runs = [evaluate(str(questions), model, out=tmp_path / model, repeat=2) for model in ("first", "random")]
    expected = comparison.compare(runs, by=["half"])
    hold(monkeypatch, 10)
    monkeypatch.setattr(comparison, "IN_MEMORY", 1)
    found = comparison.compare([Run(run.dir.path) for run in runs], by=["half"])
    assert found.pairs == expected.pairs and found.notes == expected.notes
    assert len(expected.flips) > 1 and list(found.flips) == list(expected.flips)
    assert found.flips[1] == expected.flips[1]
