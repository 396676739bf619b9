"""Result files of the MIME repository, as they are met: odd, incomplete, nested, and sometimes broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.mime_kit import (
    MIME,
    load_samples,
    make_edition,
    make_raw_choice,
    make_raw_free,
    read_import,
    score_import,
    write_json,
)
from vivant.benchmarks.mime.native import guess_origin
from vivant.core.errors import DataError
from vivant.core.types import Sample

MCQ, FF = "mime/mcq", "mime/ff"


def join_notes(imported: Any) -> str:
    return "\n".join(imported.notes)


# ── raw files ──


def test_a_raw_file_brings_its_own_options_and_key(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)
    items = [make_raw_choice(s, answer="ABCD"[i % 4], key=2) for i, s in enumerate(data)]
    imported = read_import(
        write_json(tmp_path / "raw_mcq_x_y.json", {"accuracy": 0.3, "predictions": items}), data, MCQ
    )
    assert [s.id for s in imported.samples] == [s.id for s in data], (
        "names are joined whatever their spelling"
    )
    for sample, known in zip(imported.samples, data, strict=True):
        assert [o.text for o in sample.options] == [
            "playing harp",
            "bowling",
            known.answers[0],
            "boxing uppercut",
        ]
        assert sample.facets == known.facets and sample.key == 2
    assert [r.key for r in imported.records] == [f"mime/mcq/{s.id}" for s in data]
    assert [s.value for *_, s in score_import(imported).rows] == [float(i % 4 == 2) for i in range(len(data))]


@pytest.mark.parametrize(
    "form", [lambda label: [label], lambda label: f"['{label}']", lambda label: f'["{label}"]']
)
def test_a_right_option_in_brackets_is_plain_text_and_is_told(tmp_path: Path, form: Any) -> None:
    data = load_samples(tmp_path, MCQ)
    items = []
    for sample in data:
        item = make_raw_choice(sample, key=1)
        item["options"][1] = form(sample.answers[0])
        items.append(item)
    file = write_json(
        tmp_path / "few-shot" / "all" / "raw_mcq_openai_gpt-4o-mini.json", {"predictions": items}
    )
    imported = read_import(file, data, MCQ)
    assert (imported.model, imported.style) == ("gpt-4o-mini", "few-shot")
    assert all(s.options[1].text == s.answers[0] for s in imported.samples)
    assert f"{len(data)} items hold an option as a list" in join_notes(imported)
    assert "33 predictions are on demonstrations' actions" in join_notes(imported)


def test_options_that_merely_begin_with_a_bracket_stay(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)[:1]
    item = make_raw_choice(data[0], options=["[laughs] waving", "b", "c", "d"])
    imported = read_import(write_json(tmp_path / "raw_mcq_x_y.json", {"predictions": [item]}), data, MCQ)
    assert imported.samples[0].options[0].text == "[laughs] waving"
    assert not imported.notes


def test_predictions_nested_twice_are_read_and_told(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)
    inner = {"accuracy": 0.25, "predictions": [make_raw_choice(s) for s in data]}
    file = write_json(tmp_path / "raw_mcq_x_y.json", {"accuracy": 0.5, "predictions": inner})
    imported = read_import(file, data, MCQ)
    assert len(imported.records) == len(data)
    assert "nested 2 times" in join_notes(imported)
    assert "accuracy 0.5, accuracy 0.25" in join_notes(imported)


def test_a_verdict_that_contradicts_its_answer_is_told(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)[:3]
    items = [make_raw_choice(s, answer="B", key=0) | {"is_correct": i == 0} for i, s in enumerate(data)]
    imported = read_import(write_json(tmp_path / "raw_mcq_x_y.json", {"predictions": items}), data, MCQ)
    assert "in 1 items is_correct contradicts" in join_notes(imported)
    assert [s.value for *_, s in score_import(imported).rows] == [0.0, 0.0, 0.0]


def test_answers_that_are_no_letter_are_unparsed(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)[:3]
    items = [make_raw_choice(s, answer=a) for s, a in zip(data, ("", "?", None), strict=True)]  # type: ignore[arg-type]
    imported = read_import(write_json(tmp_path / "raw_mcq_x_y.json", {"predictions": items}), data, MCQ)
    assert [s.status for *_, s in score_import(imported).rows] == ["unparsed"] * 3


def test_free_form_files_are_scored_as_filed(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF)[:4]
    texts = ["Archery", "Answer: Archery", "Archery\n\n", "Drawing a bow\\nArchery"]
    items = [make_raw_free(s, text) for s, text in zip(data, texts, strict=True)]
    imported = read_import(write_json(tmp_path / "few-shot" / "raw_ff_gemini_g.json", items), data, FF)
    paper = [s for *_, s in score_import(imported).rows]
    assert [s.answer for s in paper] == ["Archery", "Answer: Archery", "Archery", "Drawing a bow\\nArchery"]
    assert paper[0].detail["similarity"] == pytest.approx(paper[2].detail["similarity"], abs=1e-6)
    assert paper[0].detail["similarity"] != pytest.approx(paper[1].detail["similarity"], abs=1e-3)
    assert [s.answer for *_, s in score_import(imported, "strict").rows] == ["Archery"] * 4


def test_chains_of_thought_and_failure_labels_are_kept(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF)[:1]
    item = make_raw_free(
        data[0], "Archery", chain_of_thought=["Arms are bent.", "A bow."], fail_mode="none", extra=1
    )
    imported = read_import(write_json(tmp_path / "raw_ff_x_y.json", [item]), data, FF)
    assert imported.records[0].reply.thinking == "Arms are bent.\nA bow."
    assert imported.records[0].extra["fail_mode"] == "none"
    assert "fields dropped: extra" in join_notes(imported)


@pytest.mark.parametrize("label", ["controlling remote|watching tv", ["controlling remote", "watching tv"]])
def test_labels_are_whole_words_however_they_are_written(tmp_path: Path, label: Any) -> None:
    """Read as a text, a label would be scored character by character."""
    data = [s for s in load_samples(tmp_path, FF) if s.facets["action"] == "WatchingTV01"][:1]
    item = make_raw_free(data[0], "watching television", action=label)
    imported = read_import(write_json(tmp_path / "raw_ff_x_y.json", [item]), data, FF)
    assert imported.samples[0].answers == ("controlling remote", "watching tv")
    assert score_import(imported).rows[0][2].detail["label"] == "watching tv"
    assert not imported.notes


def test_labels_of_the_file_are_kept_where_they_differ(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF)[:2]
    items = [make_raw_free(data[0], "x"), make_raw_free(data[1], "x", action=["firing a gun"])]
    imported = read_import(write_json(tmp_path / "raw_ff_x_y.json", items), data, FF)
    assert imported.samples[1].answers == ("firing a gun",)
    assert (
        f"1 items bring labels other than the data's, which were kept; the first: {data[1].id}"
        in join_notes(imported)
    )


def test_missing_rows_are_counted_and_paths_and_ids_join(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF)
    items = [
        make_raw_free(data[0], "a", video_path="/home/x/.cache/hub/test/" + data[0].extra["file_name"]),
        make_raw_free(data[1], "b", video_path="somewhere.mp4", instance_id=data[1].id),
        make_raw_free(data[2], "c", video_path=data[2].extra["file_name"].upper().replace(".MP4", ".mp4")),
    ]
    imported = read_import(write_json(tmp_path / "raw_ff_x_y.json", items), data, FF)
    assert [r.id for r in imported.records] == [s.id for s in data[:3]]
    assert f"{len(data) - 3} of the {len(data)} samples have no prediction" in join_notes(imported)


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        (
            "results/mime-cropped/zero-shot/all/raw_mcq_gemini_gemini-1.5-flash.json",
            ("gemini-1.5-flash", "zero-shot"),
        ),
        ("cot/all/raw_ff_qwen25vl_Qwen_Qwen2.5-VL-3B-Instruct.json", ("Qwen/Qwen2.5-VL-3B-Instruct", "cot")),
        (
            "zero-shot/all/score_ff_internvl2_5_OpenGVLab_InternVL2_5-8B.csv",
            ("OpenGVLab/InternVL2_5-8B", "zero-shot"),
        ),
        ("few-shot/score_ff_internvl_OpenGVLab_InternVL2_5-8B.csv", ("OpenGVLab/InternVL2_5-8B", "few-shot")),
        ("few-shot/all/score_mcq_openai-few-shot.csv", ("gpt-4o-mini", "few-shot")),
        ("few-shot/all/video-gemini-few-shot-mcq-final.json", ("gemini-1.5-flash", "few-shot")),
        ("answers.json", ("", "")),
    ],
)
def test_model_and_style_are_guessed_from_the_path(path: str, origin: tuple[str, str]) -> None:
    assert guess_origin(Path(path)) == origin


def import_bad(change: dict[str, Any]) -> Any:
    return lambda items: [items[0], {k: v for k, v in (items[1] | change).items() if v is not ...}]


@pytest.mark.parametrize(
    ("task", "spoil", "parts"),
    [
        (
            MCQ,
            import_bad({"video_path": "nobody.mp4"}),
            ["1 of 2 predictions fit no sample", "item 1 'nobody.mp4'"],
        ),
        (MCQ, import_bad({"correct_answer": "E"}), ["item 1", "'E' names none of its 4 options"]),
        (MCQ, import_bad({"options": "abc"}), ["item 1", "options"]),
        (MCQ, import_bad({"options": ...}), ["item 1", "missing required field `options`"]),
        (MCQ, import_bad({"model_answer": 3}), ["item 1", "model_answer"]),
        (MCQ, lambda items: [items[0], items[0]], ["item 0 and item 1 answer the same video"]),
        (MCQ, lambda _: [{"correct_answer": "A"}], ["none of its 1 items has a video_path"]),
        (MCQ, lambda _: [], ["holds no predictions"]),
        (FF, import_bad({"output_text": 5}), ["item 1", "output_text"]),
        (FF, import_bad({"output_text": ...}), ["item 1", "missing required field `output_text`"]),
        (FF, lambda items: [items[0], items[1] | {"correct_answer": "A"}], ["mixes"]),
    ],
)
def test_a_bad_raw_file_is_refused_in_one_line(
    tmp_path: Path, task: str, spoil: Any, parts: list[str]
) -> None:
    data = load_samples(tmp_path, task)
    items = [make_raw_choice(s) if task == MCQ else make_raw_free(s, "x") for s in data[:2]]
    file = write_json(tmp_path / "raw_x_y_z.json", {"predictions": spoil(items)})
    with pytest.raises(DataError) as caught:
        MIME.native.read_predictions(file, data, task)
    assert "\n" not in str(caught.value)
    for part in ("raw_x_y_z.json", *parts):
        assert part in str(caught.value)


@pytest.mark.parametrize(("task", "other"), [(MCQ, FF), (FF, MCQ)])
def test_a_file_of_the_other_task_is_named(tmp_path: Path, task: str, other: str) -> None:
    data = load_samples(tmp_path, task)
    item = make_raw_free(data[0], "x") if task == MCQ else make_raw_choice(data[0])
    with pytest.raises(DataError, match=f"import it as {other}"):
        MIME.native.read_predictions(write_json(tmp_path / "raw.json", [item]), data, task)


def test_files_of_other_kinds_are_left_to_others(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF)
    for name, text in {
        "plain.jsonl": '{"id": "x", "response": "y"}\n',
        "plain.json": '[{"id": "x", "response": "y"}]',
        "plain.csv": "id,response\nx,y\n",
        "empty.jsonl": "",
    }.items():
        (tmp_path / name).write_text(text)
        assert MIME.native.read_predictions(tmp_path / name, data, FF) is None
    (tmp_path / "torn.json").write_text('[{"video_path": ')
    with pytest.raises(DataError, match=r"torn.json is not valid JSON"):
        MIME.native.read_predictions(tmp_path / "torn.json", data, FF)


# ── score files ──


def write_score_file(path: Path, header: str, rows: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + "\n" + "\n".join(rows))
    return path


def format_ff_rows(data: list[Sample], texts: list[str] | None = None) -> list[str]:
    return [
        f'{i},{(texts or ["Archery"] * len(data))[i]},"{list(s.answers)}",0.5,True'
        for i, s in enumerate(data)
    ]


FF_HEADER = "instance_id,output_text,ground_truth,similarity_score,correct"


def test_score_files_join_by_the_order_of_the_data(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)
    rendered = [s for s in data if s.facets["dataset"] == "MIME"]
    rows = [f"{i},{i % 2}" for i in range(len(rendered))]
    imported = read_import(
        write_score_file(tmp_path / "score_mcq_x_y.csv", "instance_id,is_correct", rows), data, MCQ
    )
    assert [r.id for r in imported.records] == [s.id for s in rendered]
    assert [s.value for *_, s in score_import(imported).rows] == [float(i % 2) for i in range(len(rendered))]
    assert not any(s.options for s in imported.samples), "the file does not say what was shown"
    assert "joined by their position" in join_notes(imported)


def test_missing_rows_of_a_score_file_leave_the_others_in_place(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF, make_edition(real=False))
    remaining = [line for i, line in enumerate(format_ff_rows(data)) if i not in (3, 17)]
    imported = read_import(write_score_file(tmp_path / "score_ff_x_y.csv", FF_HEADER, remaining), data, FF)
    assert [r.id for r in imported.records] == [s.id for i, s in enumerate(data) if i not in (3, 17)]


def test_a_score_file_on_another_order_is_found_out(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF, make_edition(real=False))
    file = write_score_file(tmp_path / "score_ff_x_y.csv", FF_HEADER, format_ff_rows(data[::-1]))
    with pytest.raises(DataError, match=r"row 1: ground_truth is 'controlling remote'.*not in the order"):
        MIME.native.read_predictions(file, data, FF)


def test_a_raw_file_beside_names_the_rows(tmp_path: Path) -> None:
    data = load_samples(tmp_path, FF)
    real = [s for s in data if s.facets["dataset"] == "REAL"][::-1]
    file = write_score_file(tmp_path / "score_ff_x_y.csv", FF_HEADER, format_ff_rows(real))
    with pytest.raises(DataError, match="not in the data's order; put the raw file of the same model beside"):
        MIME.native.read_predictions(file, data, FF)
    write_json(tmp_path / "raw_ff_x_y.json", [make_raw_free(s, "x") for s in real[:2]])
    write_json(
        tmp_path / "raw_mcq_x_y.json", {"predictions": {"predictions": [make_raw_choice(s) for s in real]}}
    )
    imported = read_import(file, data, FF)
    assert [r.id for r in imported.records] == [s.id for s in real]
    assert "raw_ff_x_y.json has 2 items where this file has 5 rows" in join_notes(imported)
    assert "joined by the videos' names in raw_mcq_x_y.json" in join_notes(imported)


def test_positions_in_a_smaller_set_are_refused_unless_the_folder_names_it(tmp_path: Path) -> None:
    data = load_samples(tmp_path, MCQ)
    rows = [f"{i},1" for i in range(4)]
    with pytest.raises(DataError, match="names its 4 rows by position, and the data hold 50 samples"):
        MIME.native.read_predictions(
            write_score_file(tmp_path / "score_mcq_x_y.csv", "instance_id,is_correct", rows), data, MCQ
        )
    rows = [f"{i},1" for i in range(5)]
    file = write_score_file(tmp_path / "base+blank@90" / "score_mcq_x_y.csv", "instance_id,is_correct", rows)
    imported = read_import(file, data, MCQ)
    assert {s.facets["variant"] for s in imported.samples} == {"base+blank@90"}


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        (["x,1"], "row 1: instance_id 'x' is no whole number"),
        (["0,1", "70,1"], "instance_id 70 lies beyond the 50 samples"),
        (["1,maybe"], "row 1: is_correct is 'maybe'"),
        (["1,1", "1,1"], "row 1 and row 2 answer the same video"),
    ],
)
def test_a_bad_score_file_is_refused(tmp_path: Path, rows: list[str], part: str) -> None:
    data = load_samples(tmp_path, MCQ, make_edition(real=False))
    file = write_score_file(tmp_path / "score_mcq_x_y.csv", "instance_id,is_correct", rows)
    with pytest.raises(DataError) as caught:
        MIME.native.read_predictions(file, data, MCQ)
    assert part in str(caught.value)
