"""The original's files in and out, and the models of its YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.milebench_kit import make_item, score_replies, write_dataset
from vivant.benchmarks.milebench import MileBench
from vivant.core.errors import DataError, UsageError
from vivant.core.types import Decoding, Image, Message, Sample, Text
from vivant.models.yaml_config import load_model_configs

TASK = "milebench/TQA"


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    choices = ["red", "blue", "green"]
    items = [
        make_item(0, "{image#1}", ["a.png"], "red", choices),
        make_item("1", "{image#1}", ["a.png"], "Blue", choices),
        make_item(
            2,
            " ".join(f"{{image#{n}}}" for n in range(1, 8)),
            [f"{n}.png" for n in range(7)],
            "green",
            choices,
        ),
    ]
    write_dataset(tmp_path / "data", "TQA", items)
    return MileBench().load(tmp_path / "data", TASK)


def write_predictions(tmp_path: Path, entries: list[dict[str, Any]]) -> Path:
    file = tmp_path / "pred.json"
    file.write_text(json.dumps(entries))
    return file


def make_entry(sample_id: int | str, text: str = "A", **more: Any) -> dict[str, Any]:
    return {"sample_id": sample_id, "pred_response": text, "gen_model_id": "m", **more}


def test_predictions_are_joined_by_id_whatever_its_type(tmp_path: Path, samples: list[Sample]) -> None:
    file = write_predictions(tmp_path, [make_entry("2", "C"), make_entry(1, "B"), make_entry("0", "A")])
    imported = MileBench().native.read_predictions(file, samples, TASK)
    assert imported is not None
    assert {record.id: record.reply.text for record in imported.records} == {"0": "A", "1": "B", "2": "C"}
    assert (imported.model, imported.task, imported.notes) == ("m", TASK, ())


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            [make_entry(0), make_entry(1), make_entry(1), make_entry(2)],
            "1 ids are repeated; the first is sample_id 1",
        ),
        (
            [make_entry(0), make_entry("0"), make_entry(1), make_entry(2)],
            "are repeated; the first is sample_id 0",
        ),
        (
            [make_entry(0), make_entry(2)],
            "1 of 3 samples of milebench/TQA have no prediction, the first is sample_id 1",
        ),
        (
            [make_entry(0), make_entry(1), make_entry(2), make_entry(9)],
            "are none of milebench/TQA, the first is sample_id 9",
        ),
        ([{"sample_id": 0}], "pred_response"),
        ([make_entry(0, text=None)], "is no pred.json"),  # type: ignore[arg-type]
    ],
)
def test_bad_predictions_get_one_line_with_file_and_id(
    tmp_path: Path, samples: list[Sample], entries: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        MileBench().native.read_predictions(write_predictions(tmp_path, entries), samples, TASK)
    assert "pred.json" in str(caught.value)


def test_another_format_is_left_to_others(tmp_path: Path, samples: list[Sample]) -> None:
    file = tmp_path / "plain.jsonl"
    file.write_text('{"id": 0, "response": "A"}\n')
    assert MileBench().native.read_predictions(file, samples, TASK) is None


def test_another_key_in_the_predictions_is_noted(tmp_path: Path, samples: list[Sample]) -> None:
    entries = [
        make_entry(0, gt_response="red"),
        make_entry(1, gt_response="green"),
        make_entry(2, gt_response="green"),
    ]
    imported = MileBench().native.read_predictions(write_predictions(tmp_path, entries), samples, TASK)
    assert imported is not None
    (note,) = imported.notes
    assert "1 predictions bring another gt_response" in note
    assert "sample 1" in note


def test_export_of_a_run_leaves_out_what_failed(tmp_path: Path, samples: list[Sample]) -> None:
    run = score_replies(samples, ["A", None, ""])
    files = MileBench().native.export([run], "milebench", tmp_path / "out")
    folder = tmp_path / "out" / "model r" / "TQA"
    assert {file.name for file in files} == {
        "pred.json",
        "eval.json",
        "eval_score.json",
        "pred_with_extracted.json",
        "result.json",
        "result.csv",
    }
    assert [p["sample_id"] for p in json.loads((folder / "pred.json").read_text())] == [0, 2]
    assert json.loads((folder / "eval.json").read_text()) == {
        "Accuracy": 1.0,
        "image_quantity_level-Accuracy": {"Few": 1.0, "Medium": 1.0, "Many": 0},
        "image_quantity_level-Result": {"Few": [1, 1], "Medium": [1, 1], "Many": [0, 0]},
    }
    extracted = json.loads((folder / "pred_with_extracted.json").read_text())
    assert [(e["extracted"], e["result"], e["image_quantity_level"]) for e in extracted] == [
        ("A", 1, "Few"),
        ("C", 1, "Few"),  # as the annotation has it, though its seven pictures are medium
    ]
    assert (tmp_path / "out" / "result.csv").read_text() == "Model,TQA (Accuracy)\nmodel r,100.0\n"


def test_export_tells_what_the_model_saw(tmp_path: Path, samples: list[Sample]) -> None:
    messages = (Message("user", (Text("Look "), Image("TQA/images/a.png"), Text(" now"))),)
    run = score_replies(samples[:1], ["A"], messages=messages)
    MileBench().native.export([run], "milebench", tmp_path / "out")
    (prediction,) = json.loads((tmp_path / "out" / "model r" / "TQA" / "pred.json").read_text())
    assert prediction == {
        "sample_id": 0,
        "image": ["TQA/images/a.png"],
        "question": "Look <ImageHere> now",
        "gt_response": "red",
        "gen_model_id": "model r",
        "pred_response": "A",
        "gen_kwargs": {},
    }


def test_results_gather_several_models(tmp_path: Path, samples: list[Sample]) -> None:
    MileBench().native.export([score_replies(samples, ["A", "B", "C"], run="1")], "milebench", tmp_path)
    MileBench().native.export([score_replies(samples, ["A", "A", "A"], run="2")], "milebench", tmp_path)
    lines = (tmp_path / "result.csv").read_text().splitlines()
    assert lines == ["Model,TQA (Accuracy)", "model 1,100.0", "model 2,33.33"]


def test_an_unknown_export_is_refused(tmp_path: Path, samples: list[Sample]) -> None:
    with pytest.raises(UsageError, match="no export format 'csv'"):
        MileBench().native.export([score_replies(samples, ["A", "B", "C"])], "csv", tmp_path)


# ── models in YAML ──

ORIGINAL = """
my_model:
    model_name: "my_model"
    model_dir: "path/to/model"
    cfg_path:
    gen_kwargs:
        max_new_tokens: 512
        min_new_tokens: 1
        do_sample: false
        temperature: 0.7
    max_context_len: 4096
    n_tokens_per_image: 576
"""


def write_config(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "models.yaml"
    file.write_text(text)
    return file


def test_the_originals_file_names_a_model(tmp_path: Path) -> None:
    result = load_model_configs(write_config(tmp_path, ORIGINAL))["my_model"]
    assert result.spec == "transformers/path/to/model"
    assert result.decoding == Decoding(max_tokens=512, temperature=0.0)
    assert result.limits == {"max_context_len": 4096, "n_tokens_per_image": 576}


def test_a_list_and_other_backends(tmp_path: Path) -> None:
    sampled = "{model_name: openai/gpt-4o-mini, gen_kwargs: {do_sample: true, top_p: 0.9}}"
    text = f"- {sampled}\n- model_name: ./m.py:Mine\n"
    models = load_model_configs(write_config(tmp_path, text))
    assert [model.spec for model in models.values()] == ["openai/gpt-4o-mini", "./m.py:Mine"]
    assert models["openai/gpt-4o-mini"].decoding == Decoding(temperature=1.0, top_p=0.9)
    assert models["./m.py:Mine"].limits == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m: {model_name: random, max_contxt_len: 3}", "'max_contxt_len'; did you mean 'max_context_len'"),
        ("m: {model_name: random, gen_kwargs: {max_tokens: 3}}", "gen_kwargs.*did you mean 'max_new_tokens'"),
        ("m: {model_name: random, max_context_len: many}", "model 'm'.*max_context_len"),
        ("m: {model_name: random, max_context_len: -1}", "max_context_len is -1"),
        ("m: {model_name: random, gen_kwargs: {num_beams: 4}}", "num_beams is 4"),
        ("m: {model_name: random, cfg_path: some/file}", "cfg_path"),
        ("m: {model_dir: x}", "model_name"),
        ("m: just a name", "should be a mapping"),
        ("- {model_name: random}\n- {model_name: random}", "the name 'random' is used for two models"),
        ("42", "should hold models by name"),
        ("m: [", "is not YAML"),
    ],
)
def test_bad_models_files_get_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        load_model_configs(write_config(tmp_path, text))
    assert "models.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_model_without_backend_are_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_model_configs(tmp_path / "nowhere.yaml")
    with pytest.raises(UsageError, match="names no backend"):
        _ = load_model_configs(write_config(tmp_path, "m: {model_name: llava}"))["m"].spec
