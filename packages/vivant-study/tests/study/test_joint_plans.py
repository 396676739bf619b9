"""Plans of what the same people's answers serve together: the comments of a pack, the labels of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.correction_kit import judge_kindly, quality_of
from tests.support.media_kit import make_video
from tests.support.mimic_kit import make_ref, make_video_line, write_comment_run, write_folder, write_lines
from tests.support.mmie_kit import make_entry, make_part, write_answers
from tests.support.runs_kit import TASK, answer, label_reply, make_run, quiz
from tests.support.study_kit import judged
from vivant.analysis.correction.asking_plan import read_plan
from vivant.analysis.correction.correction_table import build_corrected_table
from vivant.analysis.correction.judge_plan import plan_comments, plan_people
from vivant.analysis.correction.judge_plan_table import build_plan_table
from vivant.analysis.correction.judged_scores import correct_scores
from vivant.analysis.correction.people import join_people
from vivant.analysis.correction.people_files import load_people
from vivant.analysis.correction.planned_study import write_planned_study
from vivant.analysis.reasoning.kinds import RESTS_ON
from vivant.analysis.reasoning.label_files import read_labels, write_labels
from vivant.analysis.reasoning.people_labels import import_labels
from vivant.benchmarks.mimic.pack_builder import build_pack
from vivant.benchmarks.mimic.packs import Pack
from vivant.core.errors import UsageError, VivantError
from vivant.judging.comment_authors import load_authors
from vivant.runs.importing import import_answers
from vivant.runs.run import Run, load_run
from vivant_study.check import check_study
from vivant_study.design import StudyItem
from vivant_study.export import export_study
from vivant_study.loading import load_study
from vivant_study.make import StudySpec, make_study
from vivant_study.report.measures import compute_measures
from vivant_study.results import load_results

VIDEOS = 60


def _text_passes(text: str) -> bool:
    """Whether people take a comment for a person's: those of people all, a model's every third."""
    return "says" not in text or int(text.rpartition(" ")[2]) % 3 == 0


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty videos, comments of people and of one model; a judge takes two thirds of the model's for people's."""
    folder = tmp_path_factory.mktemp("pack")
    lines = [make_video_line(number, file="v.mp4") for number in range(VIDEOS)]
    root = write_folder(folder / "data", lines, [])
    make_video(root / "v.mp4", 2)
    write_comment_run(folder / "run", "bot", {make_ref(v): f"bot says {v}" for v in range(VIDEOS)})
    build_pack(load_authors([folder / "run"]), root, folder / "pack")
    opened = Pack(folder / "pack")
    judgements = [
        {
            "annotator": "kind",
            "item": item.item,
            "verdict": "human"
            if "says" not in item.text or int(item.text.rpartition(" ")[2]) % 3 < 2
            else "ai",
            "realism": 4.0,
        }
        for item in opened.items()
    ]
    head = {"pack": opened.header.pack, "kind": "model", "name": "kind"}
    write_lines(folder / "pack.kind.jsonl", [head, *judgements])
    return folder / "pack"


def _answer_pack(folder: Path) -> None:
    def say(_: str, item: StudyItem, __: str, part: str) -> dict[str, object]:
        texts = {own.id: "".join(getattr(c, "text", "") for c in own.content) for own in item.parts}
        passes = _text_passes(texts[part])
        return {"verdict": "human" if passes else "ai", "realism": 5 if passes else 1}

    judged(load_study(folder), ["p", "q"], say)


def test_a_pack_is_planned_by_video_and_corrected_over_all_comments(pack: Path, tmp_path: Path) -> None:
    key = pack.with_name("pack.key.jsonl")
    pilot = plan_comments(pack, key, half_width=8, count=24, by=["platform"])
    assert all(figure.pilot for figure in pilot.figures)
    assert {(figure.scores.model, figure.scores.metric) for figure in pilot.figures} == {
        (source, metric) for source in ("bot", "human comments") for metric in ("judged human", "realism")
    }
    write_planned_study(pilot, tmp_path / "pilot")
    asked = {item.id for item in load_study(tmp_path / "pilot").items}
    assert asked == {answer.id for answer in read_plan(tmp_path / "pilot") if answer.chosen}
    assert len(asked) == 24
    assert {item.facets["platform"] for item in load_study(tmp_path / "pilot").items} == {"youtube", "tiktok"}
    _answer_pack(tmp_path / "pilot")
    plan = plan_comments(pack, key, [tmp_path / "pilot"], half_width=8, count=12)
    assert plan.figures[0].judged > 0
    write_planned_study(plan, tmp_path / "second")
    more = {item.id for item in load_study(tmp_path / "second").items}
    assert len(more) == 12
    assert not more & asked
    _answer_pack(tmp_path / "second")
    people = load_people([tmp_path / "pilot", tmp_path / "second"])
    rows = {(row.model, row.metric): row for row in correct_scores(join_people([], people))}
    bot = rows["bot", "judged human"].result
    assert bot is not None
    # The judge's verdicts of videos that nobody was asked about count too.
    assert (bot.total, bot.labelled) == (VIDEOS, 36)
    assert bot.judge == pytest.approx(2 / 3)
    assert bot.interval is not None
    assert bot.interval.low <= 1 / 3 <= bot.interval.high
    assert bot.interval.high < bot.judge
    table = build_plan_table(plan)
    assert any("12 videos, each with all its comments" in note for note in table.notes)
    assert any("± 8 of 100 and ± 0.4 of 5" in note for note in table.notes)


def test_plans_of_packs_refuse_what_does_not_fit(pack: Path, tmp_path: Path) -> None:
    key = pack.with_name("pack.key.jsonl")
    scores = tmp_path / "scores.csv"
    scores.write_text("id,score\na,1\n")
    with pytest.raises(UsageError, match="a blind-comments study"):
        plan_comments(pack, key, [scores], half_width=3)
    with pytest.raises(UsageError, match="no facet 'mood'; it has language, platform"):
        plan_comments(pack, key, half_width=3, by=["mood"])


def _label_run(path: Path) -> Run:
    """Eighty wrong answers; a judge takes three in four for a slip of knowledge."""
    samples = quiz(80)
    run = make_run(path, samples, [answer(sample, 1) for sample in samples])
    write_labels(
        run.dir.path,
        "judge",
        [
            label_reply(record, "perception" if number % 4 == 0 else "knowledge")
            for number, record in enumerate(run.records().values())
        ],
    )
    return load_run(path)


def _label(folder: Path) -> None:
    """People see half of the judge's slips of knowledge as slips of perception."""

    def say(_: str, item: StudyItem, __: str, ___: str) -> int:
        (number,) = re.findall(r"Which tree, (\d+)", "".join(getattr(c, "text", "") for c in item.content))
        label = "perception" if int(number) % 2 == 0 else "knowledge"
        return next(place for place, text in enumerate(item.options) if text.startswith(f"{label}:"))

    judged(load_study(folder), ["p", "q"], say)


def test_labels_are_planned_as_a_study_of_the_replies_that_were_drawn(tmp_path: Path) -> None:
    run = _label_run(tmp_path / "run")
    pilot = plan_people([run], half_width=5, labels=True)
    # A kind that the judge never named is not planned for.
    assert {figure.scores.metric for figure in pilot.figures} == {"kind: perception", "kind: knowledge"}
    assert all(figure.new == 50 for figure in pilot.figures)
    written = write_planned_study(pilot, tmp_path / "pilot")
    assert "50 passages and wrong answers of 50 replies" in written.says
    checked = check_study(tmp_path / "pilot")
    assert checked.faults == ()
    assert "right option" not in " ".join(checked.notes)  # no label is the right one
    items = load_study(tmp_path / "pilot").items
    assert {item.question for item in items} == {"The answer is wrong. What kind of mistake is it?"}
    assert all("Right answer: oak" in "".join(getattr(c, "text", "") for c in item.content) for item in items)
    with pytest.raises(VivantError, match="has no answers yet"):
        load_people([tmp_path / "pilot"])
    _label(tmp_path / "pilot")
    with pytest.raises(UsageError, match="labels of reasoning"):
        plan_people([run], [_scores(tmp_path)], half_width=5, labels=True)
    second = plan_people([run], [tmp_path / "pilot"], half_width=5, labels=True)
    assert second.figures[0].correlation is not None
    write_planned_study(second, tmp_path / "second")
    _label(tmp_path / "second")
    table = build_corrected_table([run], [tmp_path / "pilot", tmp_path / "second"])
    rows = {row.metric: row for row in table.rows}
    perception = rows["kind: perception, corrected"]
    assert rows["kind: perception, judge alone"].value == 25
    assert perception.interval is not None
    assert perception.interval[0] <= 50 <= perception.interval[1]
    # Looking at a correction writes nothing into the run.
    assert set(read_labels(run.dir.path)) == {"judge"}
    with pytest.raises(UsageError, match="one kind"):
        build_corrected_table([run], [tmp_path / "pilot", _scores(tmp_path)])
    # What is exported corrects just as the study does, and is what `vivant reasoning --labels` reads.
    results = load_results(tmp_path / "second")
    export_study(results, tmp_path / "out")
    again = build_corrected_table([run], [tmp_path / "pilot", tmp_path / "out"])
    assert again.rows == table.rows
    assert "people agree on 100% of pairs" in import_labels(run, tmp_path / "out" / "labels.csv")[1]
    measures = {measure.name: measure for measure in compute_measures(results, results.iter_counted())}
    values = [value.value for value in measures["kind: perception"].values]
    assert set(measures) >= {"kind: perception", "kind: knowledge"}
    assert 0 < sum(values) < len(values)


def test_passages_of_reasoning_are_marked_one_by_one(tmp_path: Path) -> None:
    samples = quiz(3)
    text = (
        "The question asks after a tree that stands by the house.\n"
        "In the video I see long needles and a cone on the ground.\n"
        "So I would say that it is the second one of these trees."
    )
    run = make_run(tmp_path / "run", samples, [answer(sample, 0, text=text) for sample in samples])
    spec = StudySpec(
        kind="mcq",
        origin=(str(run.dir.path),),
        labels="paper",
        only={str(run.dir.path): frozenset({f"{TASK}/q001"})},
    )
    make_study(tmp_path / "study", spec)
    loaded = load_study(tmp_path / "study")
    assert not loaded.study.watch_whole
    passages = ["".join(getattr(c, "text", "") for c in item.content) for item in loaded.items]
    assert [re.findall("▶ (.*?) ◀", passage, re.DOTALL) for passage in passages] == [
        [line] for line in text.splitlines()
    ]
    assert all(passage.count("needles") == 1 for passage in passages)
    assert [option.partition(":")[0] for option in loaded.items[0].options] == list(RESTS_ON)


def _scores(folder: Path) -> Path:
    path = folder / "scores.csv"
    path.write_text("id,score\nq000,1\n")
    return path


def test_a_stratum_that_people_left_out_can_be_planned_for(tmp_path: Path) -> None:
    one = [make_part("What comes next?", "images/0.png")]
    two = [*one, make_part("And then?", "images/1.png")]
    items = [
        make_entry(f"SA-{n}", f"writer quality {quality_of(n)}", question=two if n % 2 else one)
        for n in range(80)
    ]
    runs = import_answers(["mmie"], write_answers(tmp_path / "answers", items), str(tmp_path / "run"))
    judge_kindly(runs)
    facets = {sample.id: sample.facets for part in runs[0].scores() for sample, _, _ in part.rows}
    facet = "pictures"
    values = [facets["SA-0"][facet], facets["SA-1"][facet]]
    assert values[0] != values[1]
    people = tmp_path / "people.csv"
    lines = [f"SA-{n},{quality_of(n)},writer" for n in range(80) if facets[f"SA-{n}"][facet] == values[0]]
    people.write_text("\n".join(["id,score,model", *lines]))
    with pytest.raises(UsageError, match=f"vivant judge plan --by {facet}"):
        plan_people(runs, [people], half_width=4)
    plan = plan_people(runs, [people], half_width=4, by=[facet])
    (draw,) = plan.draws
    reached = {stratum for stratum, taken in zip(draw.strata, draw.draw.chosen, strict=True) if taken}
    assert f"{facet}={values[1]}" in reached
    # Nobody could have been asked about the stratum before: its chances are those of this draw alone.
    counts = sum(stratum == f"{facet}={values[1]}" for stratum in draw.strata)
    chosen = sum(
        bool(taken)
        for stratum, taken in zip(draw.strata, draw.draw.chosen, strict=True)
        if values[1] in stratum
    )
    chances = [p for s, p in zip(draw.strata, draw.draw.probabilities, strict=True) if values[1] in s]
    assert sum(chances) == pytest.approx(chosen)
    assert len(chances) == counts
    assert any("So far nothing can be corrected" in note for note in build_plan_table(plan).notes)
