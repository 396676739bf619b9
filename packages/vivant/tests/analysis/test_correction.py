"""Judges corrected by people, from runs and files to the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.correction_kit import (
    find_qualities,
    judge_kindly,
    make_answers,
    quality_of,
    write_people,
)
from tests.support.fault_server import Act, serving
from tests.support.mmie_kit import run_vivant
from tests.support.runs_kit import answer, label_reply, make_run, quiz
from vivant.analysis.correction.comments import CommentOrigin, CommentPanel, join_comments
from vivant.analysis.correction.correction_table import build_correction_table
from vivant.analysis.correction.judged_scores import JudgedScores, correct_scores
from vivant.analysis.correction.labels import join_labels
from vivant.analysis.correction.pairs import PairPreference, PairPreferences, join_pairs
from vivant.analysis.correction.ratings import join_ratings
from vivant.analysis.reasoning.label_files import PEOPLE, LabelledReply, write_labels
from vivant.benchmarks.mimic.judgements import CommentJudgement, Judges
from vivant.core.errors import DataError, UsageError
from vivant.judging.human_scores import merge_scores, read_human_scores
from vivant.judging.judge_run import judge_run
from vivant.judging.options import JudgeOptions
from vivant.judging.pairs import judge_pairs


def test_a_kind_judge_is_brought_down_to_people(tmp_path: Path) -> None:
    runs = make_answers(tmp_path)
    judge_kindly(runs)
    people = write_people(tmp_path / "people.csv", range(30))
    result = run_vivant("table", "runs/writer", "--corrected-by", people, "--format", "json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = {row["metric"]: row for row in msgspec.json.decode(result.stdout)}
    truth = sum(quality_of(n) + (n % 5 == 0) for n in range(60)) / 60 / 6 * 100
    corrected, judge = rows["judge, corrected"], rows["judge, judge alone"]
    assert judge["value"] > truth + 10
    assert corrected["interval"][0] <= truth <= corrected["interval"][1]
    alone = rows["judge, people alone"]["interval"]
    assert corrected["interval"][1] - corrected["interval"][0] < 0.8 * (alone[1] - alone[0])
    assert corrected["n"] == 60
    text = run_vivant("table", "runs/writer", "--corrected-by", people, cwd=tmp_path).stdout
    assert "corrected" in text
    assert "3 people scored: the intervals hold for these people" in text


def test_a_judge_without_variance_leaves_people_alone_and_says_so(tmp_path: Path) -> None:
    runs = make_answers(tmp_path, 30)
    judge_kindly(runs, bonus=6)  # six for everything
    scores = read_human_scores(write_people(tmp_path / "people.csv", range(25)))
    table = build_correction_table(correct_scores(join_ratings(runs, scores)))
    assert any("people alone, because the judge gives every item the same score" in n for n in table.notes)


def test_sources_that_do_not_fit_are_one_line(tmp_path: Path) -> None:
    runs = make_answers(tmp_path, 12, ("writer", "other"))
    judge_kindly(runs)
    people = tmp_path / "people.csv"
    people.write_text("id,score\nSA-1,3\n")
    with pytest.raises(UsageError, match="add a column 'model'"):
        join_ratings(runs, read_human_scores(people))
    people.write_text("id,score\nSA-1,7\n")
    with pytest.raises(DataError, match="off the scale 0 to 6"):
        join_ratings(runs[:1], read_human_scores(people))
    people.write_text("id,score\nSA-99,3\n")
    with pytest.raises(UsageError, match="none of the answers that a judge scored"):
        correct_scores(join_ratings(runs[:1], read_human_scores(people)))
    people.write_text("id,score,probability\nSA-1,3,0\n")
    with pytest.raises(DataError, match="not a number above 0"):
        read_human_scores(people)
    both = run_vivant("table", "runs", "--corrected-by", people, "--controls", cwd=tmp_path)
    assert "different tables" in both.stderr
    nothing = run_vivant("table", "runs", "--corrected-by", "nowhere", cwd=tmp_path)
    assert "nowhere does not exist" in nothing.stderr
    nothing = run_vivant("table", "runs", "--corrected-by", tmp_path, cwd=tmp_path)
    assert "neither a study nor a file" in nothing.stderr


def _figure(**more: Any) -> JudgedScores:
    return JudgedScores(run="r", model="m", task="t/x", metric="judge", judge="j", **more)


def test_people_who_saw_one_stratum_alone_do_not_speak_for_the_others() -> None:
    figure = _figure()
    for n in range(100):
        kind = "easy" if n < 50 else "hard"
        people = [("p", n % 5 / 5)] if n < 30 else []
        figure.add(("t/x", str(n)), n % 7 / 7, people, str(n), {"kind": kind})
    with pytest.raises(UsageError, match="people scored nothing with kind=hard, which is 50 of 100"):
        correct_scores([figure])
    by_kind = correct_scores([figure], ["kind"])
    assert [bool(c.result) for c in by_kind] == [True, False]
    notes = build_correction_table(by_kind, ["kind"]).notes
    assert any("kind=hard" in note and "nothing is corrected" in note for note in notes)


def _spread_over(kinds: int, picked: set[int], count: int = 20) -> list[str]:
    figure = _figure()
    for n in range(count):
        people = [("p", n % 5 / 5)] if n in picked else []
        figure.add(("t/x", str(n)), n % 7 / 7, people, str(n), {"field": f"f{n % kinds}"})
    return list(correct_scores([figure])[0].notes)


def test_small_values_that_people_left_out_are_noted() -> None:
    (note,) = _spread_over(2, set(range(0, 20, 2)))
    assert "people scored nothing with field=f1." in note
    (note,) = _spread_over(4, set(range(0, 20, 4)) | set(range(1, 20, 4)))
    assert "field=f2, f3." in note
    # Groups of five, of which people left out half: chance does so once in 300 times.
    (note,) = _spread_over(12, {n for n in range(60) if n % 12 < 6 and n % 5 < 3}, 60)
    assert "field=f6, f7, f8, f9, f10 and 1 more." in note
    assert _spread_over(12, {n for n in range(60) if n % 12 < 8 and n % 5 < 2}, 60) == []
    # What chance leaves out is not worth a word: every answer its own value, or pairs.
    assert _spread_over(20, set(range(10))) == []
    assert _spread_over(10, {0, 1, 2, 3, 4, 5, 6, 10, 11, 12}) == []


def test_several_judges_are_weighted_by_agreement_and_the_weights_are_told(tmp_path: Path) -> None:
    runs = make_answers(tmp_path, 40)
    with (
        serving(lambda _, body: Act(f"### Feedback\nx\n### Score\n{find_qualities(body)}")) as good,
        serving(lambda n, _: Act(f"### Feedback\nx\n### Score\n{n * 5 % 7}")) as bad,
    ):
        judge_run(
            runs[0],
            [
                JudgeOptions(model="openai/good", base_url=good.url),
                JudgeOptions(model="openai/bad", base_url=bad.url),
            ],
        )
    figure = join_ratings(runs, read_human_scores(write_people(tmp_path / "people.csv", range(30))))[0]
    assert "openai/good 0." in figure.notes[0]
    weights = [float(part.split()[-1].rstrip(".")) for part in figure.notes[0].split(": ")[-1].split(",")]
    assert weights[0] > 0.8 > 0.2 > weights[1]


def test_pairs_are_corrected_whichever_run_came_first(tmp_path: Path) -> None:
    runs = make_answers(tmp_path, 40, ("writer", "other"))

    def prefer(_: int, body: dict[str, Any]) -> Act:
        first, second = (find_qualities(body, f"{which} answer") for which in ("first", "second"))
        return Act(
            f"### Feedback\nx\n### Better\n{'first' if first > second else 'second' if second > first else 'tie'}"
        )

    with serving(prefer) as server:
        judge_pairs(runs[0], runs[1], JudgeOptions(model="openai/j", base_url=server.url))
    folders = [run.dir.path.resolve() for run in runs]
    # People see a tie where the judge sees one, and prefer the second run once in four pairs.
    said = {
        ("mmie/sa", f"SA-{n}"): [PairPreference("p", None if not quality_of(n) else folders[n % 4 == 3])]
        for n in range(30)
    }
    people = PairPreferences("study", frozenset(folders), said)
    for ordered in (runs, runs[::-1]):
        (figure,) = join_pairs(ordered, people)
        (row,) = correct_scores([figure])
        assert row.result is not None
        assert row.model == ordered[0].model
        share = row.result.judge
        assert share == pytest.approx(11 / 12 if ordered is runs else 1 / 12, abs=0.02)
    with pytest.raises(UsageError, match="name these two runs"):
        join_pairs(runs[:1], people)


def test_labels_of_a_judge_are_corrected_by_those_of_people(tmp_path: Path) -> None:
    samples = quiz(60)
    run = make_run(tmp_path / "run", samples, [answer(sample, 1) for sample in samples])
    records = list(run.records().values())

    def labels(by: str, count: int, kind: Any) -> list[LabelledReply]:
        return [label_reply(record, kind(n), by) for n, record in enumerate(records[:count])]

    from vivant.analysis.reasoning.kinds import find_scheme

    first, second, *_ = find_scheme("", "general").kinds
    write_labels(run.dir.path, "judge", labels("judge", 60, lambda n: first if n % 3 else second))
    with pytest.raises(UsageError, match="labels of both a judge and people"):
        join_labels([run])
    write_labels(run.dir.path, PEOPLE, labels(PEOPLE, 40, lambda n: first if n % 3 == 1 else second))
    rows = {row.metric: row for row in correct_scores(join_labels([run]))}
    result = rows[f"kind: {first}"].result
    assert result is not None
    assert result.judge == pytest.approx(2 / 3)
    assert result.value == pytest.approx(1 / 3, abs=0.05)


def test_comments_are_corrected_source_by_source() -> None:
    authors = {f"c{n}": CommentOrigin("bot" if n % 2 else "human comments", f"v{n // 4}") for n in range(200)}
    judge = [
        CommentJudgement(
            annotator="j", item=f"c{n}", verdict="human" if n % 2 == 0 or n % 3 else "ai", realism=4.0
        )
        for n in range(200)
    ]
    people = [
        CommentJudgement(
            annotator=f"p{n % 4}", item=f"c{n}", verdict="human" if n % 2 == 0 else "ai", realism=2.0
        )
        for n in range(100)
    ]
    panels = [
        CommentPanel(Judges(pack="x", kind="model", name="j"), judge),
        CommentPanel(Judges(pack="x", kind="people", name="people"), people),
    ]
    rows = {(row.model, row.metric): row for row in correct_scores(join_comments("x", authors, panels))}
    bot = rows["bot", "judged human"].result
    assert bot is not None
    assert bot.judge > 0.6
    assert bot.value == pytest.approx(0, abs=0.02)
    assert rows["bot", "realism"].scale == 5
    with pytest.raises(UsageError, match="by people and by a judge model"):
        join_comments("x", authors, panels[:1])


def test_sources_add_up_and_the_last_plan_counts(tmp_path: Path) -> None:
    pilot = read_human_scores(write_people(tmp_path / "a.csv", range(5)))
    planned = read_human_scores(write_people(tmp_path / "b.csv", range(4, 9), column="0.25"))
    merged = merge_scores([pilot, planned])
    assert len(merged.scores) == 9
    assert len(merged.scores["SA-4", "writer"]) == 2
    assert merged.probability("SA-5", "writer") == 0.25
    runs = make_answers(tmp_path, 12)
    judge_kindly(runs)
    with pytest.raises(DataError, match="the plan of their study does not hold"):
        join_ratings(runs, merged)


def test_the_report_has_the_corrected_figures(tmp_path: Path) -> None:
    judge_kindly(make_answers(tmp_path))
    people = write_people(tmp_path / "people.csv", range(30))
    result = run_vivant("report", "runs/writer", "--corrected-by", people, "-o", "r.html", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "r.html").read_text()
    assert 'id="corrected"' in page
    assert "what people would have scored on everything" in page


def test_the_viewer_shows_the_corrected_figures(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from vivant.view.app import create_app

    judge_kindly(make_answers(tmp_path))
    people = read_human_scores(write_people(tmp_path / "people.csv", range(30)))
    with TestClient(create_app(tmp_path / "runs", people=people), base_url="http://127.0.0.1") as client:
        page = client.get("/").text
        assert 'id="corrected"' in page
        assert "what people would have scored on everything" in page
    with TestClient(create_app(tmp_path / "runs"), base_url="http://127.0.0.1") as client:
        assert 'id="corrected"' not in client.get("/").text


def test_a_filled_table_of_labels_corrects_a_judges_labels(tmp_path: Path) -> None:
    import csv

    from vivant.analysis.reasoning.kinds import find_scheme

    samples = quiz(60)
    run = make_run(tmp_path / "run", samples, [answer(sample, 1) for sample in samples])
    first, second, *_ = find_scheme("", "general").kinds
    labels = [
        label_reply(record, first if n % 3 else second) for n, record in enumerate(run.records().values())
    ]
    write_labels(run.dir.path, "judge", labels)
    command = ("reasoning", "run", "--only", "errors", "--template", "label-me.csv")
    assert run_vivant(*command, cwd=tmp_path).returncode == 0
    rows = list(csv.DictReader((tmp_path / "label-me.csv").read_text(encoding="utf-8-sig").splitlines()))
    with (tmp_path / "label-me.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": second} for row in rows[:40])
    result = run_vivant("table", "run", "--corrected-by", "label-me.csv", "--format", "json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    values = {row["metric"]: row["value"] for row in msgspec.json.decode(result.stdout)}
    assert values[f"kind: {first}, judge alone"] == pytest.approx(200 / 3)
    assert values[f"kind: {first}, corrected"] == 0
    several = run_vivant("table", "run", "--corrected-by", "label-me.csv", "--where", "a=b", cwd=tmp_path)
    assert "--where goes with ratings and pairs" in several.stderr
