"""People's judgements and failure labels on MIME, turned into records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vivant
from tests.support.mime_kit import MIME, load_samples, make_edition, read_import, score_import, write_lines
from vivant.core.errors import DataError
from vivant.core.records import Record
from vivant.core.types import Sample
from vivant.runs.directory import RunError
from vivant.runs.log import LogWriter

MCQ, FF = "mime/mcq", "mime/ff"


def join_notes(imported: Any) -> str:
    return "\n".join(imported.notes)


# ── people ──


def make_judgement(
    sample: Sample, annotator: str, answer: str, selection: int = 1, **changes: Any
) -> dict[str, Any]:
    name = sample.extra["file_name"].replace("_j_", "_Justin_").lower().removeprefix("real_")
    question = {
        "sample_id": "other",
        "label": list(sample.answers),
        "options": ["bowling", sample.answers[0], "x", "y"],
        "label_idx": 1,
        "s3_url": f"https://example.org/{name}",
    }
    return {
        "question_i": 0,
        "sample_id": "other",
        "user_answer": answer,
        "user_mcq_selection": selection,
        "user_is_correct": selection == 2,
        "question": question,
        "url_data": {"annotator": annotator, "prolific_id": "secret-person"},
    } | changes


def test_judgements_become_repeats_with_their_own_question(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)
    first, second = data[0], data[1]
    lines = [
        make_judgement(first, "ann", "archery", 2),
        make_judgement(first, "bob", "bow", 1),
        make_judgement(second, "ann", "bow", 2),
        make_judgement(first, "ann", "changed my mind", 1),
    ]
    file = write_lines(tmp_path / "human_eval.jsonl", lines)
    imported = read_import(file, data, MCQ)
    assert [r.key for r in imported.records] == [
        f"mime/mcq/{first.id}#1",
        f"mime/mcq/{first.id}#2",
        f"mime/mcq/{second.id}#1",
    ]
    assert [s.id for s in imported.samples] == [first.id, second.id]
    assert imported.model == "human"
    assert "repeated judgements of a person on one video dropped: 1" in join_notes(imported)
    assert [r.reply.text for r in imported.records] == ["B", "A", "B"]
    assert [s.value for *_, s in score_import(imported).rows] == [1.0, 0.0, 1.0]
    sources = [r.source for r in imported.records]
    assert sources[0] == sources[2] != sources[1]
    text = json.dumps([str(r) for r in imported.records])
    assert not any(name in text for name in ("ann'", "bob", "secret-person"))
    free = read_import(file, MIME.load(tmp_path, FF), FF)
    assert [r.reply.text for r in free.records] == ["archery", "bow", "bow"]


def test_people_are_a_model_in_python_too(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)
    write_lines(tmp_path / "human_eval.jsonl", [make_judgement(data[0], "ann", "archery", 2)])
    run, again = (
        vivant.evaluate("mime/mcq", "human", data=tmp_path, out=tmp_path / "human") for _ in range(2)
    )
    assert run.model == again.model == "human"
    assert [score.value for _, _, score in again.scores()[0].rows] == [1.0]


def test_an_import_that_is_stopped_leaves_no_run_that_looks_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = load_samples(tmp_path, MCQ)
    lines = [make_judgement(data[0], name, "archery", 2) for name in ("ann", "bob", "cid")]
    write_lines(tmp_path / "human_eval.jsonl", lines)
    append = LogWriter.append

    def stop_at_the_second(log: LogWriter, record: Record) -> None:
        if record.repeat == 2:
            raise KeyboardInterrupt
        append(log, record)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LogWriter, "append", stop_at_the_second)
        vivant.evaluate("mime/mcq", "human", data=tmp_path, out=tmp_path / "human")
    run = vivant.evaluate("mime/mcq", "human", data=tmp_path, out=tmp_path / "human")
    assert len(run.records()) == 3
    assert {path.name for path in run.path.iterdir()} == {"log.jsonl", "samples.jsonl", "manifest.json"}


def test_changed_judgements_are_not_shown_as_the_run_of_the_old_ones(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)
    for selection, out in ((2, "right"), (1, "wrong")):
        write_lines(tmp_path / "human_eval.jsonl", [make_judgement(data[0], "ann", "archery", selection)])
        run = vivant.evaluate("mime/mcq", "human", data=tmp_path, out=tmp_path / out)
        assert [score.value for _, _, score in run.scores()[0].rows] == [float(selection == 2)]
    with pytest.raises(RunError, match=r"right holds a run of other answers than .*; choose another --out"):
        vivant.evaluate("mime/mcq", "human", data=tmp_path, out=tmp_path / "right")


def test_several_files_on_the_same_videos_all_count(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)
    for folder, name, selection in (("a", "ann", 2), ("b", "bob", 1)):
        line = make_judgement(data[0], name, "archery", selection)
        write_lines(tmp_path / folder / "human_eval.jsonl", [line])
    run = vivant.evaluate("mime/mcq", "human", data=tmp_path, out=tmp_path / "human")
    assert {score.value for _, _, score in run.scores()[0].rows} == {0.0, 1.0}


def test_judgements_are_found_in_the_data_folder(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF, make_edition(real=False))
    assert MIME.native.read_human(MIME, tmp_path, FF) is None
    write_lines(tmp_path / "results" / "a" / "human_eval.jsonl", [make_judgement(data[0], "ann", "archery")])
    result = MIME.native.read_human(MIME, tmp_path, FF)
    assert result is not None and len(result.records) == 1
    stranger = make_judgement(data[0], "ann", "x")
    stranger["question"]["s3_url"] = "https://example.org/Bowling003.mp4"
    write_lines(tmp_path / "results" / "b" / "human_eval.jsonl", [stranger])
    result = MIME.native.read_human(MIME, tmp_path, FF)
    assert result is not None and len(result.records) == 1
    assert "passed over" in join_notes(result)
    with pytest.raises(DataError, match=r"1 of 1 judgements are on videos that the data do not hold.*line 1"):
        MIME.native.read_predictions(tmp_path / "results" / "b" / "human_eval.jsonl", data, FF)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"user_mcq_selection": 5}, "line 1: user_mcq_selection is not one of 1 to 4"),
        ({"user_mcq_selection": "two"}, "line 1: Expected `int | null`"),
        ({"url_data": {}}, "line 1: Object missing required field `annotator`"),
        ({"question": {"label": [], "options": ["a"], "label_idx": 0}}, "line 1: the question has no label"),
        ({"question": {"label": ["a"], "options": ["a"], "label_idx": 1}}, "line 1: label_idx is no place"),
    ],
)
def test_a_bad_judgement_is_refused(tmp_path: Path, changes: dict[str, Any], part: str) -> None:
    data = load_samples(tmp_path, MCQ)
    file = write_lines(tmp_path / "human_eval.jsonl", [make_judgement(data[0], "ann", "x", **changes)])
    with pytest.raises(DataError) as caught:
        MIME.native.read_predictions(file, data, MCQ)
    assert part in str(caught.value)


# ── failure labels ──


def test_labelled_files_name_videos_or_variants(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF)
    by_video = [{"file_name": data[0].extra["file_name"], "mode": "none", "response": "archery"}]
    imported = read_import(write_lines(tmp_path / "labels.jsonl", by_video), data, FF)
    assert (imported.records[0].id, imported.records[0].extra["fail_mode"]) == (data[0].id, "none")
    assert score_import(imported).rows[0][2].status == "scored"
    by_variant = tmp_path / "labels.csv"
    by_variant.write_text("variant,fail_mode\nbase+blank@0,none\nbase+blank@0,confused by context\n")
    imported = read_import(by_variant, data, FF)
    assert [r.reply.status for r in imported.records] == ["error", "error"], (
        "labels without replies are no answers"
    )


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("variant,mode\nbase+blank@0,\n", "row 1: there is no failure mode"),
        ("variant,mode\nbase+blank@1,none\n", "did you mean 'base+blank@"),
        ("variant,mode\n,none\n", "row 1: neither the video nor its variant"),
        ("id,mode\nnobody,none\n", "row 1: 'nobody' is not in the data"),
    ],
)
def test_bad_labels_are_refused(tmp_path: Path, text: str, part: str) -> None:
    data = load_samples(tmp_path, FF)
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(DataError) as caught:
        MIME.native.read_predictions(tmp_path / "labels.csv", data, FF)
    assert part in str(caught.value)
