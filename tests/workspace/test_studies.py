"""Studies with people that other packages make and read: suspect items, planned judgements, labels, topics."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest

import vivant
from tests.build.mime.test_consolidate import ROWS, reading
from tests.build.mimic.test_topics import bare
from tests.study.test_export import right
from tests.support.correction_kit import judge_kindly, make_answers
from tests.support.helpers import vivant as run_vivant
from tests.support.mimic_build_kit import settings, thread, write_clean
from tests.support.runs_kit import answer, make_run, quiz
from tests.support.study_kit import OPTIONS, judged, tiny_study
from vivant.core.errors import DataError, UsageError
from vivant_build.mime.labels import read_labels
from vivant_build.mimic.topics import make_topics, read_topics
from vivant_study.export import export_study
from vivant_study.judgement import StudyJudgement
from vivant_study.loading import load_study
from vivant_study.results import load_results


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight runs of different strength; the key of the last question is wrong, and all strong runs say so."""
    folder = tmp_path_factory.mktemp("many") / "runs"
    samples = quiz(60)
    generator = random.Random(3)
    for number in range(8):
        choices = [
            0 if generator.random() < 0.55 + 0.05 * number else generator.randint(1, 3) for _ in samples
        ]
        choices[-1] = 2
        records = [answer(sample, choice) for sample, choice in zip(samples, choices, strict=True)]
        make_run(folder / f"r{number}", samples, records, model=f"model {number}")
    return folder


def test_a_misspelled_command_of_a_package_is_one_line(tmp_path: Path) -> None:
    result = run_vivant("study", "sevre", cwd=tmp_path)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(
        "vivant: No such command 'sevre'. Did you mean 'serve'? (see `vivant study --help`)"
    )


def test_suspect_items_become_a_study(runs: Path, tmp_path: Path) -> None:
    result = run_vivant("items", str(runs), "--kind", "suspect-key", "--study", "study", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    vivant.item_study(vivant.items(runs, kinds="suspect key"), tmp_path / "api")
    for folder in ("study", "api"):
        assert [item.id for item in load_study(tmp_path / folder).items] == ["q059"]


def test_planned_judgements_become_a_study(tmp_path: Path) -> None:
    judge_kindly(make_answers(tmp_path, 60))
    vivant.plan_judgements(tmp_path / "runs", half_width=5, count=10, study=tmp_path / "pilot")
    assert len(load_study(tmp_path / "pilot").items) == 10


def test_free_answers_are_labels_that_the_pipeline_reads(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "free-then-mcq", count=4, checks=1)
    judged(loaded, ["ann", "bob"], right)
    export_study(load_results(tmp_path / "s"), tmp_path / "out", ["jsonl", "csv"])
    for form in ("jsonl", "csv"):
        result = read_labels(tmp_path / "out" / f"judgements.{form}", page="free")
        assert {one.item for one in result.judged} == {f"item-{n}" for n in range(4)}
        assert {one.label for one in result.judged if one.annotator == "ann"} == set(OPTIONS)


def test_labels_are_read_from_a_study(tmp_path: Path) -> None:
    lines = [StudyJudgement(annotator=a, item=i, page="what", answer=t) for i, a, t in ROWS]
    lines.append(StudyJudgement(annotator="a", item="Bow1", page="choice", answer=2, shown=(0, 2, 1)))
    lines.append(StudyJudgement(annotator="d", item="Mop1", page="what", answer="mopping", complete=False))
    lines.append(StudyJudgement(annotator="a", item="C", page="what", answer="blue", check=True))
    file = tmp_path / "judgements.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    found = read_labels(file)
    assert found.judged == reading().judged and len(found.notes) == 2
    file.write_text(
        file.read_text() + json.dumps({"annotator": "a", "item": "B", "page": "why", "answer": "x"})
    )
    with pytest.raises(DataError, match=r"what, why; choose the one of the labels with --page"):
        read_labels(file)
    assert read_labels(file, page="what").judged == reading().judged
    with pytest.raises(UsageError, match="did you mean 'what'"):
        read_labels(file, page="waht")


def test_questions_about_topics_become_a_study(tmp_path: Path) -> None:
    world = tmp_path / "work"
    videos = [bare(number) for number in range(320)]
    write_clean(world, videos, [comment for video in videos for comment in thread(video, 104)])
    make_topics(world, settings())
    source = world / "topics" / "questions.jsonl"
    done = run_vivant("study", "new", "review", "--kind", "mcq", "--from", str(source), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    items = [json.loads(line) for line in (tmp_path / "review" / "items.jsonl").read_text().splitlines()]
    assert len(items) == len(read_topics(world))
    assert all("None of these" in item["options"] for item in items)
