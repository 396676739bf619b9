"""What is in published files besides plain texts, and the original's output folder, in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.milebench_kit import make_item, write_dataset
from tests.support.mmie_kit import run_vivant
from vivant.benchmarks.milebench import MileBench
from vivant.benchmarks.milebench.native import find_annotation_file
from vivant.core.errors import DataError
from vivant.core.types import Text


@pytest.mark.parametrize(
    ("response", "expected"),
    [(["cup"], "['cup']"), (True, "True"), (None, "None"), (4.5, "4.5"), ({"a": 1}, "{'a': 1}")],
)
def test_a_response_of_any_type_is_what_python_prints_of_it(
    tmp_path: Path, response: Any, expected: str
) -> None:
    write_dataset(tmp_path, "ALFRED", [make_item(1, "What?"), {**make_item(2, "And?"), "response": response}])
    samples = {sample.id: sample for sample in MileBench().load(tmp_path, "milebench/ALFRED")}
    assert samples["2"].answers == (expected,)
    assert samples["1"].answers == ("cup",)


def test_a_key_that_is_no_choice_costs_its_own_sample_alone(tmp_path: Path) -> None:
    """The original prints the list, `['cup']`, finds it among no choices and stops; the others are scored here."""
    items = [{**make_item(1, "What?", choices=["pot", "cup"]), "response": ["cup"]}]
    items.append(make_item(2, "What?", choices=["pot", "cup"]))
    write_dataset(tmp_path, "TQA", items)
    assert [sample.key for sample in MileBench().load(tmp_path, "milebench/TQA")] == [None, 1]


def test_a_missing_response_names_the_sample(tmp_path: Path) -> None:
    item = make_item(7, "What?")
    del item["response"]
    write_dataset(tmp_path, "ALFRED", [item])
    with pytest.raises(DataError, match=r"sample 7: there is no response"):
        MileBench().load(tmp_path, "milebench/ALFRED")


@pytest.mark.parametrize(
    ("instructions", "index", "expected"),
    [
        ({"0": "Zero.", "1": "One."}, 1, "One."),
        ({"story": "Tell it."}, "story", "Tell it."),
        (["Zero.", "One."], "1", "One."),
        ("The only one.", "anything", "The only one."),
    ],
)
def test_instructions_by_name_and_by_place(
    tmp_path: Path, instructions: Any, index: int | str, expected: str
) -> None:
    item = make_item(1, "What?", task_instruction_id=index)
    write_dataset(tmp_path, "ALFRED", [item], task_instruction=instructions)
    (sample,) = MileBench().load(tmp_path, "milebench/ALFRED")
    assert sample.question[0] == Text(expected)


def test_an_unknown_instruction_is_one_line(tmp_path: Path) -> None:
    item = make_item(3, "What?", task_instruction_id="tale")
    write_dataset(tmp_path, "ALFRED", [item], task_instruction={"story": "Tell it."})
    with pytest.raises(
        DataError, match=r"sample 3: task_instruction_id is 'tale', but the instructions are called"
    ):
        MileBench().load(tmp_path, "milebench/ALFRED")


# ── the output folder ──


def make_data(root: Path) -> Path:
    images = ["b/2.jpg", "a/1.jpg"]
    items = [
        make_item(n, "Second {image#2}, first {image#1}", images, choices=["pot", "cup"]) for n in (1, 2)
    ]
    write_dataset(root, "TQA", items)
    write_dataset(root, "ALFRED", [make_item(1, "What?", images)])
    return root


def write_outputs(folder: Path, model: str, replies: dict[str, list[str]]) -> Path:
    for dataset, texts in replies.items():
        entries = [
            {
                "sample_id": number,
                "image": [f"data/MileBench/{dataset}/images/b/2.jpg"],
                "question": "Look.",
                "gt_response": "cup",
                "gen_model_id": model,
                "pred_response": text,
                "gen_kwargs": {"max_new_tokens": 512},
            }
            for number, text in enumerate(texts, 1)
        ]
        path = folder / model / dataset / "pred.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(entries))
    return folder


def test_the_whole_output_folder_becomes_a_run_per_model_and_comes_back(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    outputs = write_outputs(
        tmp_path / "outputs", "llava-v1.5-7b", {"TQA": ["B. cup", "pot"], "ALFRED": ["cup"]}
    )
    write_outputs(outputs, "vila", {"TQA": ["cup", "cup"]})
    (outputs / "result.json").write_text("{}")  # score.py's, left where it was
    result = run_vivant("import", "milebench", outputs, "--data", data, "--out", "runs", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["llava-v1.5-7b", "vila"]
    run_vivant("export", "runs/llava-v1.5-7b", "--as", "milebench", "--out", "back", cwd=tmp_path)
    back = tmp_path / "back" / "llava-v1.5-7b"
    for dataset in ("TQA", "ALFRED"):
        assert json.loads((back / dataset / "pred.json").read_bytes()) == json.loads(
            (outputs / "llava-v1.5-7b" / dataset / "pred.json").read_bytes()
        )
    extracted = json.loads((back / "TQA" / "pred_with_extracted.json").read_bytes())
    assert [entry["image"] for entry in extracted] == [
        ["b/2.jpg", "a/1.jpg"]
    ] * 2  # the annotation's own names
    assert [entry["extracted"] for entry in extracted] == ["B", "A"]
    table = (tmp_path / "back" / "result.csv").read_text().splitlines()
    assert table[1].startswith("llava-v1.5-7b,")


def test_a_folder_of_one_model_and_bad_folders(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    outputs = write_outputs(tmp_path / "outputs", "vila", {"TQA": ["cup", "cup"]})
    one = run_vivant("import", "milebench", outputs / "vila", "--data", data, "--out", "one", cwd=tmp_path)
    assert one.returncode == 0
    assert (tmp_path / "one" / "manifest.json").is_file()
    for folder, line in [
        (tmp_path / "data", "holds no <model>/<dataset>/pred.json"),
        (write_outputs(tmp_path / "odd", "vila", {"Tqa": ["cup"]}), "'Tqa' is none of the 29 datasets"),
        (write_outputs(tmp_path / "more", "vila", {"WebQA": ["cup"]}), "holds no data of milebench/WebQA"),
        (
            write_outputs(tmp_path / "half", "vila", {"TQA": ["cup"]}),
            "1 of 2 samples of milebench/TQA have no",
        ),
    ]:
        result = run_vivant("import", "milebench", folder, "--data", data, "--out", "never", cwd=tmp_path)
        assert result.returncode == 1
        assert line in result.stderr
        assert not (tmp_path / "never").exists()
    mime = run_vivant("import", "mime", tmp_path, "--data", "mini", "--out", "never", cwd=tmp_path)
    assert "name one prediction file and its task" in mime.stderr


def test_the_adversarial_file_has_no_expected_size(tmp_path: Path) -> None:
    write_dataset(tmp_path, "TQA", [make_item(1, "?", choices=["pot", "cup"])], file="TQA-adv.json")
    assert find_annotation_file(tmp_path, "TQA", adv=True).is_file()
    plan = run_vivant(
        "plan",
        "milebench/TQA",
        "--data",
        tmp_path,
        "--model",
        "random",
        "--task-option",
        "adv=true",
        cwd=tmp_path,
    )
    assert plan.returncode == 0, plan.stderr
    assert "released edition" not in plan.stdout + plan.stderr
