"""Bundled recipes: every one loads; those for MIME and MMIE's judge run on the minis; divisions do not leak."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from tests.support.train_kit import recipe
from vivant.benchmarks import registry
from vivant.benchmarks.conditions import matches, parse_where
from vivant.core.errors import DataError, UsageError
from vivant.core.types import Sample, Text
from vivant.engine.evaluation import evaluate
from vivant.judging.judge_run import build_judge_requests
from vivant.judging.options import JudgeOptions
from vivant.runs.run import Run
from vivant_train.cli.train import app
from vivant_train.recipes import load_bundled_recipes, read_recipe_text


@pytest.mark.parametrize("name", sorted(load_bundled_recipes()))
def test_every_recipe_loads(name: str, tmp_path: Path) -> None:
    from vivant_train.settings import load_recipe

    file = tmp_path / f"{name}.yaml"
    done = CliRunner().invoke(app, ["recipes", name, "--out", str(file)])
    assert done.exit_code == 0, done.output
    loaded, base = load_recipe(file)
    assert base == tmp_path and loaded.data.sources and loaded.evaluation is not None
    assert load_bundled_recipes()[name].summary.endswith(".")
    again = CliRunner().invoke(app, ["recipes", name, "--out", str(file)])
    assert isinstance(again.exception, UsageError), "a recipe that was changed must not be written over"


def test_a_backbone_named_in_a_recipe_replaces_the_one_of_the_size() -> None:
    from vivant_train.settings import make_recipe

    data = {"sources": [{"benchmark": "mimic/thinking", "data": "x"}]}
    train = {"row_tokens": 4096}
    model = {"size": "8b", "language": {"name": "Qwen/Qwen2.5-7B-Instruct"}}
    other = make_recipe({"model": model, "data": data, "train": train}).model
    assert other.language.name.startswith("Qwen") and not other.language.config, "its figures are its own"
    assert other.language.chat and other.language.lora and other.vision.config["hidden_size"] == 1024
    whole = {"size": "8b", "checkpoint": "OpenGVLab/InternVL2_5-8B", "spatial": {"pool": "shuffle"}}
    settings = make_recipe({"model": whole, "data": data, "train": train}).model
    assert settings.vision_source == settings.language_source == "OpenGVLab/InternVL2_5-8B"
    assert not settings.vision.config and settings.vision.image_size == 448


def test_folders_of_backbones_are_relative_to_the_recipe(tmp_path: Path) -> None:
    from vivant_train.settings import load_recipe

    (tmp_path / "backbones" / "tower").mkdir(parents=True)
    model = {"size": "8b", "vision": {"name": "backbones/tower"}, "language": {"name": "Qwen/Qwen3-8B"}}
    content = {"model": model, "data": {"sources": [{"data": "x"}]}, "train": {"row_tokens": 4096}}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    loaded, _ = load_recipe(tmp_path / "recipe.yaml")
    assert loaded.model.vision.name == str((tmp_path / "backbones" / "tower").resolve())
    assert loaded.model.language.name == "Qwen/Qwen3-8B", "a name on the hub"


def test_recipes_are_listed_and_printed() -> None:
    listed = CliRunner().invoke(app, ["recipes"]).output
    assert {"mime-actions", "mmie-judge", "mimic-tiny", "mimic-1b", "mimic-8b"} <= set(listed.split())
    assert CliRunner().invoke(app, ["recipes", "mime-actions"]).output == read_recipe_text("mime-actions")
    wrong = CliRunner().invoke(app, ["recipes", "mime-action"])
    assert "did you mean 'mime-actions'" in str(wrong.exception)


# ── divisions ──


def test_the_papers_division() -> None:
    from vivant_train.data.split import divide_values

    actions = [f"Action{number:03d}" for number in range(86)]
    parts = divide_values(actions, (36, 14, 36), 0, "action")
    assert [len(part) for part in parts] == [36, 14, 36]
    assert sorted(value for part in parts for value in part) == actions
    assert divide_values(actions[::-1], (36, 14, 36), 0, "action") == parts
    assert divide_values(actions, (36, 14, 36), 1, "action") != parts


def test_parts_share_no_action_whatever_the_variant() -> None:
    from vivant_train.data.sources import TrainingSource, load_examples
    from vivant_train.data.split import SPLIT_PARTS, Split

    pool = load_samples("mime/mcq")
    values = {part: Split(part=part).select_values(pool) for part in SPLIT_PARTS}
    assert sorted(value for part in values.values() for value in part) == sorted({s.cluster for s in pool})
    chosen = {
        part: {s.id for s in pool if matches(s, parse_where([Split(part=part).format_condition(pool)], pool))}
        for part in SPLIT_PARTS
    }
    assert sum(map(len, chosen.values())) == len(pool)
    assert not chosen["train"] & chosen["test"] and not chosen["train"] & chosen["validation"]
    examples = load_examples(
        [TrainingSource(benchmark="mime/mcq", data="mini", split=Split(part="train"))], Path()
    ).examples
    assert {example.sample.id for example in examples} == chosen["train"]


def test_divisions_that_divide_nothing() -> None:
    from vivant_train.data.split import Split, divide_values

    pool = load_samples("mime/mcq")
    with pytest.raises(DataError, match="no sample has the facet 'colour'"):
        Split(part="train", by="colour").select_values(pool)
    with pytest.raises(DataError, match="leave none for the part 'validation'"):
        Split(part="validation", sizes=(1, 0, 1)).select_values(pool)
    with pytest.raises(DataError, match="divide nothing"):
        divide_values(["a"], (0, 0, 0), 0, "x")


def test_split_prints_what_run_takes() -> None:
    from vivant_train.data.split import Split

    done = CliRunner().invoke(app, ["split", "mime/mcq", "--part", "test", "--seed", "3"])
    assert done.output.strip() == Split(part="test", seed=3).format_condition(load_samples("mime/mcq"))
    for wrong in (["--part", "tset"], ["--sizes", "1,2"]):
        assert isinstance(CliRunner().invoke(app, ["split", "mime/mcq", *wrong]).exception, UsageError)


def load_samples(task: str) -> list[Sample]:
    (chosen,) = registry.select([task], ["mini"], {})
    return list(chosen.benchmark.load(chosen.root, task))


# ── on the minis ──


def shrink(name: str, folder: Path, **changes: Any) -> dict[str, Any]:
    """A bundled recipe with its data and its evaluation, but a model and a training of seconds."""
    content: dict[str, Any] = yaml.safe_load(read_recipe_text(name))
    small = recipe(folder / "world")
    for source in content["data"]["sources"]:
        source["limit"] = 5
    for source in [*content["data"]["sources"], content["evaluation"]]:
        if "data" in source:
            source["data"] = "mini"
    content["evaluation"] |= {"limit": 3, "every": 0}
    content["data"] |= {"frames": {"count": 4, "longest_side": 64}, "vocabulary": 1024, "workers": 1}
    content |= {"model": small["model"], "train": {**small["train"], "steps": 3}, "out": str(folder / "out")}
    content["train"] |= changes
    return content


@pytest.mark.usefixtures("short_replies")
def test_mimes_experiment_runs_on_the_mini(tmp_path: Path) -> None:
    from vivant_train.data.split import Split
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    content = make_recipe(shrink("mime-actions", tmp_path, row_tokens=600, batch_tokens=1200))
    result = train(content, tmp_path)
    assert result.finished and result.steps == 3 and result.accuracy is not None
    (folder,) = (tmp_path / "out" / "evaluations").iterdir()
    seen = {sample.cluster for sample in Run(folder).dir.samples()}
    assert seen <= set(Split(part="validation").select_values(load_samples("mime/mcq")))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path, Path]:
    """A run on MMIE's mini, people's scores of it, and the questions made of both."""

    from vivant_train.judge_data import write_judge_data

    folder = tmp_path_factory.mktemp("judged")
    run = evaluate("mmie", "echo/It ends well.", data=("mini",), out=str(folder / "run"))
    scores = folder / "scores.csv"
    with scores.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "score"])
        table.writerows((sample.id, number % 7) for number, sample in enumerate(run.dir.samples()))
    out = folder / "judge" / "questions.jsonl"
    write_judge_data([run], scores, out, held_out=0.4)
    return run, scores, out


def test_a_judge_learns_what_it_will_be_asked(judged: tuple[Run, Path, Path]) -> None:
    from vivant_train.data.sources import TrainingSource, load_examples, phrase_example

    run, _, file = judged
    examples = load_examples(
        [TrainingSource(benchmark=str(file), style="bare", where=("split=train",))], Path()
    ).examples
    asks = {
        f"{run.name}/{ask.key}": ask
        for ask in build_judge_requests(run, run.manifest.tasks, "paper", JudgeOptions(model="people"))
    }
    assert 0 < len(examples) < len(asks)
    for example in examples:
        ask = asks[example.sample.id]
        phrased = phrase_example(example, 0, 0)
        texts = [p.text for m in ask.question.messages() for p in m.parts if isinstance(p, Text)]
        pictures = [p for m in ask.question.messages() for p in m.parts if not isinstance(p, Text)]
        assert phrased.text == "\n".join(texts) and len(phrased.media) == len(pictures)
        assert ask.question.rubric.contract.read(phrased.answer).read, "its answers must be verdicts"


def test_the_judges_recipe_runs(judged: tuple[Run, Path, Path], tmp_path: Path) -> None:
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    _, _, file = judged
    content = shrink("mmie-judge", tmp_path, row_tokens=3000, batch_tokens=6000)
    content.pop("evaluation")
    result = train(make_recipe(content), file.parent.parent)
    assert result.finished and result.steps == 3


def test_scores_of_other_answers_are_refused(judged: tuple[Run, Path, Path], tmp_path: Path) -> None:
    from vivant_train.judge_data import write_judge_data

    run, _, _ = judged
    (tmp_path / "others.csv").write_text("id,score\nsomething,3\n")
    with pytest.raises(DataError, match="scores none of these answers; its first id is 'something'"):
        write_judge_data([run], tmp_path / "others.csv", tmp_path / "q.jsonl")
    assert not (tmp_path / "q.jsonl").exists()
