"""VLMEvalKit's tables as it writes them: pictures in base64, choices, free answers, circular copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.data_files import base64_image, write_tsv
from tests.support.helpers import picture, vivant
from vivant.api import evaluate
from vivant.benchmarks import registry
from vivant.benchmarks.base import PromptContext, ScoreSettings
from vivant.benchmarks.validation import load_samples
from vivant.core.errors import DataError
from vivant.core.records import Record
from vivant.core.types import Image, Reply, Sample, Text, job_key

CHOICE = {"question": "What is it?", "A": "a cat", "B": "a dog", "C": "a cow", "D": "", "category": "animals"}


def circular_rows() -> list[dict[str, Any]]:
    """One question in three rotations, whose copies refer to the first picture, and one without copies."""
    texts = ["a cat", "a dog", "a cow"]
    rows: list[dict[str, Any]] = []
    for copy in range(3):
        turned = texts[copy:] + texts[:copy]
        rows.append(
            {
                "index": 5 + copy * 1_000_000,
                "image": base64_image(1) if not copy else "5",
                **CHOICE,
                **dict(zip("ABC", turned, strict=True)),
                "hint": "Look closely." if not copy else "nan",
                "answer": "ABC"[turned.index("a cat")],
                "l2-category": "coarse",
                "split": "dev",
            }
        )
    rows.append(
        {**rows[0], "index": 6, "image": f"['{base64_image(2)}', '{base64_image(3)}']", "answer": "B"}
    )
    return rows


def load(path: Path) -> list[Sample]:
    (chosen,) = registry.select([str(path)])
    return list(load_samples(chosen.benchmark, chosen.root, chosen.tasks[0]))


def score(
    samples: list[Sample], replies: list[str], protocol: str = "paper", circular: bool = True
) -> list[Any]:
    items = [
        (
            sample,
            Record(
                key=job_key(sample.task, sample.id),
                task=sample.task,
                id=sample.id,
                options=sample.options,
                reply=Reply(text=reply),
            ),
        )
        for sample, reply in zip(samples, replies, strict=True)
    ]
    settings = ScoreSettings(protocol=protocol, values={"circular": circular})  # type: ignore[arg-type]
    return [s.value for s in registry.get("vlmevalkit-tsv").score(items, settings)]


def test_choices_pictures_and_references_are_read(tmp_path: Path) -> None:
    path = tmp_path / "MMBench_DEV_EN.tsv"
    write_tsv(path, circular_rows())
    samples = load(path)
    assert [sample.id for sample in samples] == ["5", "1000005", "2000005", "6"]
    images = [[part.path for part in sample.question if isinstance(part, Image)] for sample in samples]
    assert images[0] == images[1] == images[2]
    assert len(images[3]) == 2
    assert samples[0].question[-1] == Text("Look closely.\nWhat is it?")
    assert samples[1].question[-1] == Text("What is it?")
    assert [option.text for option in samples[0].options] == ["a cat", "a dog", "a cow"]
    assert samples[0].facets == {"category": "animals", "l2-category": "coarse", "split": "dev"}
    prompt = registry.get("vlmevalkit-tsv").prompt(samples[1], PromptContext(style="zero-shot"))
    assert prompt.order == (0, 1, 2)  # rotated in the data, not again here


def test_a_group_is_right_where_every_copy_is(tmp_path: Path) -> None:
    path = tmp_path / "MMBench_DEV_EN.tsv"
    write_tsv(path, circular_rows())
    samples = load(path)
    right = ["ABC"[sample.key or 0] for sample in samples]
    assert score(samples, right) == [1.0, None, None, 1.0]
    assert score(samples, [*right[:2], "I cannot tell.", right[3]]) == [0.0, None, None, 1.0]
    assert score(samples, [*right[:2], "A and B", right[3]], circular=False)[2] is None  # names no option
    assert score(samples, right, "strict") == [1.0, None, None, 1.0]
    plain = tmp_path / "Other.tsv"
    write_tsv(plain, circular_rows())
    assert score(load(plain), right) == [1.0, 1.0, 1.0, 1.0]


def test_free_answers_are_scored_by_the_datasets_rule(tmp_path: Path) -> None:
    rows = [{"index": 1, "image": base64_image(1), "question": "How many?", "answer": "['12', '14']"}]
    values = {}
    for name, reply in (
        ("ChartQA_TEST", "12.5"),
        ("DocVQA_VAL", "12"),
        ("OCRVQA_TEST", "14"),
        ("Mine", "12"),
    ):
        write_tsv(tmp_path / f"{name}.tsv", rows)
        samples = load(tmp_path / f"{name}.tsv")
        assert samples[0].answers == ("12", "14")
        values[name] = (score(samples, [reply])[0], score(samples, [reply], "strict")[0])
    # With two answers the original's VQA score counts one annotator of three, for one of the two.
    assert values["Mine"] == (pytest.approx(1 / 6), 1.0)
    assert values["ChartQA_TEST"] == (1.0, 1.0)
    assert values["DocVQA_VAL"] == (1.0, 1.0)
    assert values["OCRVQA_TEST"] == (1.0, 1.0)


def test_open_questions_in_a_table_of_choices_become_choices(tmp_path: Path) -> None:
    rows = [
        {"index": 1, "image": base64_image(1), **CHOICE, "answer": "C"},
        {"index": 2, "image": base64_image(2), "question": "How many?", "A": "", "B": "", "answer": "8.3"},
    ]
    write_tsv(tmp_path / "MMMU_DEV_VAL.tsv", rows)
    samples = load(tmp_path / "MMMU_DEV_VAL.tsv")
    assert score(samples, ["C", "8.3"]) == [1.0, 1.0]
    assert score(samples, ["C", "9"]) == [1.0, None]


def test_rows_without_a_picture_are_left_out_and_paths_are_read(tmp_path: Path) -> None:
    rows = [
        {"index": 1, "image": "", **CHOICE, "answer": "A"},
        {"index": 2, "image": base64_image(1), **CHOICE, "answer": "A"},
    ]
    write_tsv(tmp_path / "a.tsv", rows)
    assert [sample.id for sample in load(tmp_path / "a.tsv")] == ["2"]
    picture(tmp_path / "p.png")
    write_tsv(tmp_path / "b.tsv", [{"index": 1, "image_path": "p.png", **CHOICE, "answer": "A"}])
    assert load(tmp_path / "b.tsv")[0].question[0] == Image("p.png")
    write_tsv(
        tmp_path / "b.tsv", [{"index": 1, "image_path": str(tmp_path / "p.png"), **CHOICE, "answer": "A"}]
    )
    assert load(tmp_path / "b.tsv")[0].question[0] == Image("p.png")
    write_tsv(tmp_path / "c.tsv", [{"index": 1, **CHOICE, "answer": "A"}])
    assert load(tmp_path / "c.tsv")[0].question == (Text("What is it?"),)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"answer": "D"}, "row 1: index 1: the key 'D' is outside of the 3 options"),
        ({"image": "77"}, "row 1: index 1: the image is '77', which is no index of a row with a picture"),
        ({"image": "", "image_path": "gone.png"}, "the picture gone.png is missing"),
        ({"B": ""}, "index 1 has the options A, C; they must follow each other from A"),
        ({"answer": None, "anser": "A"}, "the column 'answer' is missing; 'anser' looks like it"),
        ({"image": "zz" * 200}, "the image's 300 bytes are no picture"),
        ({"image": None, "Imge": "abcd"}, "Unknown column 'Imge'; did you mean 'image'?"),
    ],
)
def test_a_mistake_is_one_line_with_row_and_index(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    row = {"index": 1, "image": base64_image(1), **CHOICE, "answer": "A", **change}
    if row.get("image") == "":
        del row["image"]
    write_tsv(tmp_path / "a.tsv", [{key: value for key, value in row.items() if value is not None}])
    with pytest.raises(DataError) as caught:
        load(tmp_path / "a.tsv")
    assert reason in str(caught.value)


def test_a_table_runs_by_path_and_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "LMUData"
    folder.mkdir()
    write_tsv(folder / "MMBench_DEV_EN.tsv", circular_rows())
    env = {"LMUData": str(folder), "VIVANT_CACHE": str(tmp_path / "cache")}
    by_path = vivant("run", str(folder / "MMBench_DEV_EN.tsv"), "--model", "random", cwd=tmp_path, env=env)
    assert by_path.returncode == 0, by_path.stderr
    by_name = vivant("run", "vlmevalkit:MMBench_DEV_EN", "--model", "random", cwd=tmp_path, env=env)
    assert by_name.returncode == 0, by_name.stderr
    (run,) = (tmp_path / "runs").iterdir()  # the same run, resumed
    assert run.name.startswith("MMBench_DEV_EN-random")
    table = vivant("table", f"runs/{run.name}", "--by", "split", cwd=tmp_path, env=env)
    assert table.returncode == 0, table.stderr
    unknown = vivant("run", "vlmevalkit:Nothing", "--model", "random", cwd=tmp_path, env=env)
    assert unknown.returncode == 1
    assert "it holds MMBench_DEV_EN" in unknown.stderr


def test_chance_follows_how_copies_are_counted(tmp_path: Path) -> None:
    write_tsv(tmp_path / "MMBench_x.tsv", circular_rows()[:3])
    run = evaluate(str(tmp_path / "MMBench_x.tsv"), "first", out=str(tmp_path / "run"))
    (joined,) = run.table().rows
    assert joined.chance == pytest.approx(100 / 27)
    (single,) = run.table(values={"circular": False}).rows
    assert single.value == single.chance == pytest.approx(100 / 3)
    assert single.corrected == pytest.approx(0, abs=1e-9)


def test_the_metric_is_named_for_choices_and_for_known_free_answers() -> None:
    benchmark = registry.get("vlmevalkit-tsv")
    names = ("Mine", "MMBench_DEV_EN", "TextVQA_VAL", "DocVQA_VAL", "ChartQA_TEST")
    metrics = [benchmark.task(f"vlmevalkit-tsv/{name}").metric for name in names]
    assert metrics == ["accuracy", "accuracy", "vqa", "anls", "accuracy"]
