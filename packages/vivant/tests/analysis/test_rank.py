"""`vivant rank`: runs in order, with ranges, and what to ask next."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tests.support.runs_kit import OPTIONS, answer, call, make_run, quiz, run_of
from vivant.analysis.ranking import rank
from vivant.analysis.subset_making import make_subset
from vivant.core.errors import UsageError
from vivant.core.types import Sample
from vivant.runs.run import Run


def draw(rate: float, count: int, seed: int) -> list[bool]:
    generator = random.Random(seed)
    return [generator.random() < rate for _ in range(count)]


def three(folder: Path, samples: Sequence[Sample]) -> list[Run]:
    rates = {"strong": 0.9, "middle": 0.6, "twin": 0.58}
    return [
        run_of(folder / name, samples, draw(rate, len(samples), number), model=name)
        for number, (name, rate) in enumerate(rates.items())
    ]


def test_runs_are_ranked_with_ranges_and_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three(tmp_path / "runs", quiz(300, cluster=3))
    table = rank(tmp_path / "runs").tables()[0]
    by_model = {row.model: row.group for row in table.rows}
    assert by_model["strong"] == {"rank": "1", "ranks": "1", "group": "a"}
    assert by_model["middle"]["ranks"] == by_model["twin"]["ranks"] == "2–3"
    assert by_model["middle"]["group"] == by_model["twin"]["group"] == "b"
    assert call("rank", tmp_path / "runs") == 0
    text = capsys.readouterr().out
    assert "300 samples in 100 clusters" in text
    assert "strong is first, and told apart from all others" in text


def test_the_same_answers_are_a_tie(tmp_path: Path) -> None:
    samples = quiz(40)
    answers = draw(0.6, 40, 1)
    for name in ("a", "b"):
        run_of(tmp_path / name, samples, answers, model=name)
    run_of(tmp_path / "c", samples, [False] * 40, model="c")
    table = rank([tmp_path / "c", tmp_path / "a", tmp_path / "b"]).tables()[0]
    assert [row[:2] for row in table.body] == [("1=", "a"), ("1=", "b"), (3, "c")]
    assert [row.group["ranks"] for row in table.rows] == ["1–2", "1–2", "3"]
    assert "=: the same score as another run." in table.notes


def test_what_is_not_asked_yet_is_what_to_ask_next(tmp_path: Path) -> None:
    samples = quiz(400)
    first = run_of(tmp_path / "first", samples, draw(0.62, 400, 1), model="first")
    part = [
        answer(sample, 0 if good else 1) for sample, good in zip(samples, draw(0.6, 200, 2), strict=False)
    ]
    make_run(tmp_path / "second", samples, part, model="second")
    run_of(tmp_path / "last", samples, draw(0.1, 400, 3), model="last")
    ranking = rank([first, tmp_path / "second", tmp_path / "last"], requests=150)
    table = ranking.tables()[0]
    assert "200 samples that not all runs have are left out; 200 are left." in table.notes
    shares = ranking.next_requests.shares
    assert [(share.run, share.requests, share.available) for share in shares] == [("second", 150, 200)]
    assert [contest.run for contest in ranking.next_requests.contests] in (["second"], ["first"])


def test_where_all_is_asked_the_advice_is_another_benchmark(tmp_path: Path) -> None:
    samples = quiz(60)
    for number, name in enumerate(("a", "b")):
        run_of(tmp_path / name, samples, draw(0.5, 60, number), model=name)
    plan = rank([tmp_path / "a", tmp_path / "b"])
    assert plan.next_requests.shares == ()
    assert "tell nothing new" in " ".join(plan.tables()[-1].notes)


def test_where_runs_left_out_the_rest_of_the_benchmark_the_advice_is_the_rest(tmp_path: Path) -> None:
    samples = quiz(60, facets={"kind": ("a",)})
    for number, name in enumerate(("a", "b")):
        run_of(tmp_path / name, samples, draw(0.5, 60, number), model=name, limit=60, where=("kind=a",))
    notes = " ".join(rank([tmp_path / "a", tmp_path / "b"]).tables()[-1].notes)
    assert "made with --limit 60, --where kind=a, so that the rest of the benchmark is not asked" in notes
    assert "every sample" not in notes
    # One run asked all there is, so that nothing is left.
    run_of(tmp_path / "whole", samples, draw(0.5, 60, 5), model="whole")
    notes = " ".join(rank([tmp_path / "a", tmp_path / "b", tmp_path / "whole"]).tables()[-1].notes)
    assert "answered every sample that is here" in notes


def test_several_tasks_are_ranked_by_matches_or_by_stated_weights(tmp_path: Path) -> None:
    def other(run: Run, task: str) -> Run:
        """The same run as one of another file of questions."""
        for file in ("manifest.json", "samples.jsonl", "log.jsonl"):
            path = run.path / file
            path.write_text(path.read_text("utf-8").replace("jsonl/quiz", task), "utf-8")
        return Run(run.path)

    samples = quiz(120)
    for number, (name, rate) in enumerate({"good": 0.8, "bad": 0.3}.items()):
        run_of(tmp_path / "one" / name, samples, draw(rate, 120, number), model=name)
        other(
            run_of(tmp_path / "two" / name, samples, draw(rate, 120, number + 9), model=name), "jsonl/other"
        )
    # Runs of one task each, under the models' names, never meet; tasks are ranked by themselves all the same.
    apart = rank([tmp_path / "one", tmp_path / "two"])
    assert len(apart.tasks) == 2
    assert apart.overall is None
    assert "never met on a sample" in " ".join(apart.tables()[-1].notes)
    with pytest.raises(UsageError, match="Fewer than two runs have all of"):
        rank([tmp_path / "one", tmp_path / "two"], weights="equal")
    with pytest.raises(UsageError, match="Unknown task"):
        rank([tmp_path / "one"], weights={"mime/mcq": 1})
    weighted = rank([tmp_path / "one"], weights={"jsonl/quiz": 2.0}).overall
    assert weighted is not None
    assert "jsonl/quiz 100% (accuracy)" in weighted.notes[0]


def two_tasks(folder: Path, name: str, rates: tuple[float, float], seed: int) -> Run:
    first = quiz(120)
    second = [msgspec.structs.replace(sample, task="jsonl/other", id=f"o{sample.id}") for sample in quiz(60)]
    right = draw(rates[0], 120, seed) + draw(rates[1], 60, seed + 1)
    records = [answer(s, 0 if good else 1) for s, good in zip([*first, *second], right, strict=True)]
    run = make_run(
        folder / name,
        [*first, *second],
        records,
        model=name,
        tasks=("jsonl/quiz", "jsonl/other"),
        data={"jsonl/quiz": "1", "jsonl/other": "2"},
    )
    path = run.path / "manifest.json"
    manifest = msgspec.json.decode(path.read_bytes())
    manifest["planned"] = {"jsonl/quiz": 120, "jsonl/other": 60}
    path.write_bytes(msgspec.json.encode(manifest))
    return Run(run.path)


def test_a_mean_over_tasks_needs_weights_and_matches_state_theirs(tmp_path: Path) -> None:
    for number, (name, rates) in enumerate({"a": (0.9, 0.5), "b": (0.6, 0.5), "c": (0.2, 0.1)}.items()):
        two_tasks(tmp_path / "runs", name, rates, 10 * number)
    ranking = rank(tmp_path / "runs")
    assert ranking.overall is not None
    assert ranking.overall.metric == "Bradley–Terry"
    assert "jsonl/quiz 120, jsonl/other 60" in ranking.overall.notes[0]
    assert [ranking.overall.runs[index] for index in ranking.overall.ranking.order] == ["a", "b", "c"]
    equal = rank(tmp_path / "runs", weights="equal").overall
    assert equal is not None
    tasks = {task.title: task.ranking.scores for task in ranking.tasks}
    expected = 50 * (tasks["jsonl/quiz"] + tasks["jsonl/other"])
    assert equal.ranking.scores == pytest.approx(expected)


def test_runs_of_other_editions_are_refused_and_single_changes_left_out(tmp_path: Path) -> None:
    samples = quiz(60)
    swapped = tuple(msgspec.structs.replace(option, text=option.text + "!") for option in OPTIONS)
    changed = [msgspec.structs.replace(sample, options=swapped) for sample in samples]
    run_of(tmp_path / "a", samples, draw(0.6, 60, 1), model="a")
    run_of(tmp_path / "b", changed, draw(0.6, 60, 2), model="b")
    with pytest.raises(UsageError, match="different editions: 60 of 60 samples of jsonl/quiz"):
        rank([tmp_path / "a", tmp_path / "b"])
    run_of(tmp_path / "c", [*changed[:5], *samples[5:]], draw(0.6, 60, 3), model="c")
    task = rank([tmp_path / "a", tmp_path / "c"]).tasks[0]
    assert task.samples == 55
    assert any(note.startswith("5 samples are left out") for note in task.notes)


def test_too_little_to_rank_is_said(tmp_path: Path) -> None:
    samples = quiz(60, cluster=10)
    for name in ("a", "b"):
        run_of(tmp_path / name, samples, draw(0.5, 60, 1), model=name)
    with pytest.raises(UsageError, match="share 6 clusters of samples, and 10 are needed"):
        rank([tmp_path / "a", tmp_path / "b"])
    run_of(tmp_path / "half", samples[:30], draw(0.5, 30, 1), model="a")
    run_of(tmp_path / "rest", samples[30:], draw(0.5, 30, 1), model="b")
    with pytest.raises(UsageError, match="no sample was answered in all of these runs"):
        rank([tmp_path / "half", tmp_path / "rest"])
    with pytest.raises(UsageError, match="no sample was answered in all of these runs"):
        make_subset([tmp_path / "half", tmp_path / "rest"], 20)
    with pytest.raises(UsageError, match="two runs or more"):
        rank(tmp_path / "a")
    assert call("rank", tmp_path / "a", tmp_path / "b", "--weights", "x") == 1
