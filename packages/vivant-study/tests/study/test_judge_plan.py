"""From a judged run to a pilot, from the pilot to a second study of exactly the answers that are needed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.support.correction_kit import judge_kindly, make_answers, quality_of, write_people
from tests.support.fault_server import Act, serving
from tests.support.mmie_kit import format_verdict, run_vivant
from tests.support.study_kit import judged
from vivant.analysis.correction.asking_plan import read_plan
from vivant.analysis.correction.judge_plan import plan_people
from vivant.analysis.correction.judge_plan_table import build_plan_table
from vivant.core.errors import UsageError
from vivant.judging.judge_run import judge_run
from vivant.judging.options import JudgeOptions
from vivant.runs.run import load_run
from vivant_study.design import StudyItem
from vivant_study.loading import load_study


def _opinion(number: int) -> int:
    """What people think of an answer; the judge does not see all of it."""
    return max(0, quality_of(number) - 2 * (number % 5 < 2))


def _answer(folder: Path) -> None:
    """Two people rate everything."""
    loaded = load_study(folder)
    names = [criterion.name for criterion in loaded.study.criteria]

    def rate(_: str, item: StudyItem, *__: str) -> dict[str, int]:
        quality = _opinion(int(item.id.rpartition("-")[2]))
        points = {name: int(quality > place) for place, name in enumerate(names)}
        return points if "score" not in names else {"score": quality}

    judged(loaded, ["p", "q"], rate)


def test_a_pilot_then_exactly_what_is_needed_then_the_table(tmp_path: Path) -> None:
    judge_kindly(make_answers(tmp_path, 150))
    pilot = run_vivant("judge", "plan", "runs/writer", "--half-width", "6", "--study", "pilot", cwd=tmp_path)
    assert pilot.returncode == 0, pilot.stderr
    assert "pilot first" in pilot.stdout
    assert "Then: vivant table runs/writer --corrected-by pilot" in pilot.stderr
    plan = read_plan(tmp_path / "pilot")
    assert len(plan) == 150
    asked = {answer.id for answer in plan if answer.chosen}
    assert {item.id for item in load_study(tmp_path / "pilot").items} == asked
    assert len(asked) == 50
    _answer(tmp_path / "pilot")
    second = run_vivant(
        *("judge", "plan", "runs/writer", "--half-width", "4.5", "--people", "pilot", "--study", "second"),
        cwd=tmp_path,
    )
    assert second.returncode == 0, second.stderr
    planned = read_plan(tmp_path / "second")
    now = {answer.id for answer in planned if answer.chosen}
    assert not now & asked
    assert {item.id for item in load_study(tmp_path / "second").items} == now
    # Two draws one after the other: every answer's chance grew.
    before = {answer.id: answer.probability for answer in plan}
    assert all(answer.probability > before[answer.id] for answer in planned)
    _answer(tmp_path / "second")
    table = run_vivant(
        *("table", "runs/writer", "--corrected-by", "pilot", "--corrected-by", "second", "--format", "json"),
        cwd=tmp_path,
    )
    assert table.returncode == 0, table.stderr
    rows = {row["metric"]: row for row in msgspec.json.decode(table.stdout)}
    low, high = rows["judge, corrected"]["interval"]
    truth = sum(map(_opinion, range(150))) / 150 / 6 * 100
    assert low <= truth <= high
    assert (high - low) / 2 <= 5.5
    assert rows["judge, people alone"]["n"] == len(asked) + len(now)
    backwards = run_vivant(
        *("table", "runs/writer", "--corrected-by", "second", "--corrected-by", "pilot"), cwd=tmp_path
    )
    assert backwards.returncode == 0


def test_strata_and_numbers_of_ones_own(tmp_path: Path) -> None:
    runs = make_answers(tmp_path, 60, ("writer", "other"))
    judge_kindly(runs)
    plan = plan_people([load_run(run.dir.path) for run in runs], half_width=3, count=12, by=["pictures"])
    assert [figure.new for figure in plan.figures] == [12, 12]
    with pytest.raises(UsageError, match="no facet 'mood'"):
        plan_people(runs, half_width=3, by=["mood"])
    with pytest.raises(UsageError, match="name two"):
        plan_people(runs[:1], half_width=3, pairs=True)


def test_an_interval_out_of_reach_is_told(tmp_path: Path) -> None:
    runs = make_answers(tmp_path, 60)
    judge_kindly(runs)
    people = write_people(tmp_path / "people.csv", range(40))
    plan = plan_people(runs, [people], half_width=0.5)
    assert plan.figures[0].needed is None
    assert 0 <= plan.figures[0].new <= 20
    assert any("cannot be narrower on this benchmark" in note for note in build_plan_table(plan).notes)


def test_a_judge_without_variance_does_not_make_people_agree(tmp_path: Path) -> None:
    runs = make_answers(tmp_path, 60)
    # Five of six for everything: rounding leaves the mean of many 0.8333 a little off.
    with serving(lambda *_: Act(format_verdict(5))) as server:
        judge_run(runs[0], [JudgeOptions(model="openai/flat", base_url=server.url)])
    plan = plan_people(runs, half_width=3)
    assert plan.figures[0].alone is None
    table = build_plan_table(plan)
    then = table.body[0][table.columns.index("then, ±")]
    assert isinstance(then, float)
    assert then > 10
    assert any("assume the widest spread" in note for note in table.notes)
    assert any("over 60 at a correlation of 0.3" in note for note in table.notes)


def test_pairs_are_planned_from_a_judges_comparisons(tmp_path: Path) -> None:
    make_answers(tmp_path, 40, ("writer", "other"))
    both = ("runs/writer", "runs/other")
    missing = run_vivant("judge", "plan", *both, "--pairs", cwd=tmp_path)
    assert "No judge has compared writer and other" in missing.stderr
    (tmp_path / "people.csv").write_text("id,score,model\nSA-1,3,writer\nSA-1,3,other\n")
    assert run_vivant("score", *both, "--judge", "heuristic", cwd=tmp_path).returncode == 0
    run_vivant("judge-check", "people.csv", *both, "--pairs", "--judge", "heuristic", cwd=tmp_path)
    result = run_vivant("judge", "plan", *both, "--pairs", "--count", "9", "--study", "duel", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert len(load_study(tmp_path / "duel").items) == 9
    assert load_study(tmp_path / "duel").study.kind == "pairwise"
