"""What people judged corrects a judge on the viewer's first page, whatever the kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.correction_kit import judge_kindly, make_answers, write_people
from tests.support.runs_kit import answer, label_reply, make_run, quiz
from vivant.analysis.correction.comments import CommentOrigin, CommentPanel
from vivant.analysis.correction.pairs import PairPreference, PairPreferences
from vivant.analysis.correction.people import PeopleComments, PeopleSource
from vivant.analysis.correction.people_files import load_people
from vivant.analysis.reasoning.label_files import read_labels, write_labels
from vivant.benchmarks.mimic.judgements import CommentJudgement, Judges
from vivant.judging.human_scores import read_human_scores
from vivant.judging.options import JudgeOptions
from vivant.judging.pairs import judge_pairs
from vivant.view.export import export_site


def _show(tmp_path: Path, people: PeopleSource) -> str:
    export_site(tmp_path / "runs", tmp_path / "site", people=people)
    return (tmp_path / "site" / "index.html").read_text()


def test_ratings(tmp_path: Path) -> None:
    judge_kindly(make_answers(tmp_path, 40))
    page = _show(tmp_path, read_human_scores(write_people(tmp_path / "people.csv", range(30))))
    assert "Judge corrected by people" in page
    assert "people.csv" in page


def test_pairs_of_two_runs_among_three(tmp_path: Path) -> None:
    runs = make_answers(tmp_path, 30, ("writer", "other", "third"))
    judge_pairs(runs[0], runs[1], JudgeOptions(model="heuristic"))
    folders = [run.dir.path.resolve() for run in runs[:2]]
    said = {("mmie/sa", f"SA-{n}"): [PairPreference("p", folders[n % 2])] for n in range(30)}
    page = _show(tmp_path, PairPreferences("duel", frozenset(folders), said))
    assert "Judge corrected by people" in page
    assert "preferred to other" in page or "preferred to writer" in page


def test_comments_of_a_pack_need_no_run_of_their_own(tmp_path: Path) -> None:
    samples = quiz(2)
    make_run(tmp_path / "runs" / "a", samples, [answer(sample, 0) for sample in samples])
    judgements = [
        CommentJudgement(annotator="j", item=f"c{n}", verdict="human", realism=4.0) for n in range(60)
    ]
    doubts = [CommentJudgement(annotator="p", item=f"c{n}", verdict="ai", realism=1.0) for n in range(30)]
    people = PeopleComments(
        source="blind",
        pack="0" * 64,
        authors={f"c{n}": CommentOrigin("bot", f"v{n}") for n in range(60)},
        panels=(
            CommentPanel(Judges(pack="0" * 64, kind="model", name="j"), judgements),
            CommentPanel(Judges(pack="0" * 64, kind="people", name="people"), doubts),
        ),
    )
    page = _show(tmp_path, people)
    assert "judged human" in page
    assert "realism" in page


@pytest.mark.parametrize("second", [False, True])
def test_labels_of_one_run(tmp_path: Path, second: bool) -> None:
    samples = quiz(40)
    names = ["a", "b"] if second else ["a"]
    for name in names:
        run = make_run(tmp_path / "runs" / name, samples, [answer(sample, 1) for sample in samples])
        labels = [label_reply(record, "knowledge") for record in run.records().values()]
        write_labels(run.dir.path, "judge", labels)
    rows = [f"{label.key},answer,perception" for label in labels[:25]]
    (tmp_path / "labels.csv").write_text("\n".join(["key,segment,label", *rows]))
    page = _show(tmp_path, load_people([tmp_path / "labels.csv"]))
    if second:
        assert "holds labels, which belong to one run" in page
    else:
        assert "kind: perception" in page
        assert set(read_labels(tmp_path / "runs" / "a")) == {"judge"}
