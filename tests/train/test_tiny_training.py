"""`vivant/tiny`: what makes it learn, what it learns from, how it is made, what its weights can do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from typer.testing import CliRunner

from tests.support.helpers import logged_messages
from tests.support.train_kit import recipe, write_world
from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, iter_items, iter_videos
from vivant.build.mime.edition import stage
from vivant.build.mime.plan import plan_shots
from vivant.build.mime.plan_file import load_mini_plan
from vivant.build.mimic import mini
from vivant.build.mimic.world import WorldPlan
from vivant.build.mimic.world.phrases import load_topics
from vivant.cli.train import app
from vivant.core.errors import DataError, UsageError

if TYPE_CHECKING:  # imported when the first test of this file runs: see tests/conftest.py
    import torch

    from vivant.train.checkpoints import load_model, load_state
    from vivant.train.curves import read_curves, smooth
    from vivant.train.model.fusion import WordMatcher
    from vivant.train.settings import make_recipe
    from vivant.train.tiny import pipeline, training_data
    from vivant.train.trainer import train


# ── how well words fit ──


def test_what_is_seen_as_a_word_fits_that_word_from_the_beginning() -> None:
    torch.manual_seed(0)
    match, table = WordMatcher(64, 8), torch.randn(500, 64)
    assert match.score_vocabulary(table, table[:50]).argmax(1).tolist() == list(range(50))
    assert torch.equal(match.score_vocabulary(table, torch.zeros(1, 64)), torch.zeros(1, 500)), (
        "nothing seen, nothing fits"
    )


@pytest.mark.parametrize(
    ("fusion", "message"),
    [
        ({"hint": False, "match": 8}, r"fusion\.match needs hint"),
        ({"place": "layers", "match": 8}, r"fusion\.match needs hint"),
        ({"match": -1}, "at least 0"),
    ],
)
def test_settings_of_match_that_cannot_work_are_refused(fusion: Mapping[str, Any], message: str) -> None:
    content = recipe(Path("world"))
    content["model"]["fusion"] = fusion
    with pytest.raises(UsageError, match=message):
        make_recipe(content)


# ── beginning with a finished model ──


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_world(tmp_path_factory.mktemp("tiny") / "world", 10, side=32, times=8)


@pytest.fixture(scope="module")
def begun(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("begun") / "out"
    return train(make_recipe(recipe(world, out=str(out), train={"steps": 2}))).model


@pytest.mark.parametrize("updates", [True, False])
def test_a_finished_model_goes_on_with_other_parts_frozen(
    world: Path, begun: Path, tmp_path: Path, updates: bool
) -> None:
    content = recipe(world, out=str(tmp_path / "out"), train={"steps": 2}, begin=str(begun))
    lora = {"lora": {"rank": 2, "alpha": 4}} if updates else {}
    content["model"] = {
        "size": "tiny",
        "vision": {"frozen": True},
        "language": {"frozen": True, **lora},
    }
    train(make_recipe(content))
    before, after = (load_model(folder)[0].state_dict() for folder in (begun, tmp_path / "out" / "last"))
    changed = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert "eyes" not in changed and "projectors" in changed
    moved = {name for name in before if name.startswith("language_model.") and name in after}
    moved = {name for name in moved if not torch.equal(before[name], after[name])}
    assert all("self_attn" in name for name in moved) and bool(moved) == updates
    (folder,) = sorted((tmp_path / "out" / "checkpoints").iterdir())[-1:]
    learning = load_state(folder)[1]
    assert any("lora_" in name for name in learning) == updates
    assert not any(name.startswith("eyes.") for name in learning)


# ── training data ──


def test_questions_of_direction_have_each_clip_both_ways() -> None:
    topics = {f"p/{number}": topic.name for number, topic in enumerate(load_topics())}
    items = training_data.make_direction_items(topics)
    both = [name for name in topics.values() if name.endswith("/reverse")]
    assert len(items) == 2 * len(both), "every clip that is played both ways, and no other"
    names = {text: topic.name for topic in load_topics() for text in topic.topics}
    keys = set()
    for item in items:
        choices = [names[option.text] for option in item.options]
        assert item.key is not None and choices[item.key] == topics[item.video]
        assert sorted(name.endswith("/reverse") for name in choices) == [False, False, True, True]
        assert len({name.removesuffix("/reverse") for name in choices}) == 2
        keys.add(item.key)
    assert keys == {0, 1}, "a run shuffles options; the right one is never of the other clip"


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training data of a small world, without takes of MIME."""
    out = tmp_path_factory.mktemp("data") / "lessons"
    select = msgspec.structs.replace(mini.SETTINGS.select, target=6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            training_data, "WORLD", WorldPlan(videos=600, comments=36_000, seed=training_data.WORLD.seed)
        )
        patch.setattr(mini, "SETTINGS", msgspec.structs.replace(mini.SETTINGS, select=select))
        training_data.make_training_data(out, videos=48, takes=0)
    return out


def test_training_data_hold_nothing_of_the_mini_and_nothing_held_out(taught: Path) -> None:
    from vivant.mini import root

    folder = root("mimic")
    assert folder is not None
    mini_videos = {line.ref for _, line in iter_videos(folder)}
    used = {
        name: {item.video for _, item in iter_items(taught / name)}
        for name in ("mimic-train", "mimic-held-out", "direction-train", "direction-held-out")
    }
    assert used["mimic-train"] and used["mimic-held-out"] and used["direction-train"]
    train_videos = used["mimic-train"] | used["direction-train"]
    assert not train_videos & (used["mimic-held-out"] | used["direction-held-out"])
    assert not (train_videos | used["mimic-held-out"]) & mini_videos
    for name, videos in used.items():
        paths = {line.path for _, line in iter_videos(taught / name) if line.ref in videos}
        assert {f"videos/{file.name}" for file in (taught / name / "videos").iterdir()} == paths
        assert (taught / name / VIDEOS).is_file() and (taught / name / ITEMS).is_file()
    assert training_data.WORLD.seed != mini.WORLD.seed
    assert {training_data.make_take_plan(n).seed for n in range(5)}.isdisjoint({load_mini_plan().seed})


def test_nothing_that_stands_behind_the_minis_is_seen_in_training() -> None:
    assert set(training_data.BACKDROPS) and set(training_data.BACKDROPS).isdisjoint(mini.BACKDROPS)
    shown = {shot.scene for shot in plan_shots(stage(load_mini_plan()))} - {"blank"}
    for number in range(5):
        plan = training_data.make_take_plan(number)
        assert len(plan.shown) == training_data.TAKE_VARIANTS
        assert shown.isdisjoint(variant.background for variant in plan.shown)
        assert {"aligned", "misaligned"}.isdisjoint(variant.background for variant in plan.shown)
        assert "woman" not in {variant.avatar for variant in plan.shown}


def test_words_of_the_questions_are_those_that_are_asked(taught: Path, tmp_path: Path) -> None:
    small = recipe(Path("mimic-train"))
    small["data"]["sources"] = [{"benchmark": "mimic/topic", "data": "mimic-train"}]
    words = pipeline.list_question_words(make_recipe({**small, "out": str(tmp_path)}), taught)
    assert words == sorted(set(words)) and "video" in words
    topics = {word for topic in load_topics() for text in topic.topics for word in text.split()}
    assert len(topics & set(words)) > 20 and "capital" not in words


def test_it_is_made_by_one_call_that_goes_on(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = recipe(Path("mimic-train"), train={"steps": 3})
    small["data"]["sources"] = [
        {"benchmark": "mimic/topic", "data": "mimic-train", "words": 1.0, "until": 0.5}
    ]

    def load_small(out: Path, _: int | None) -> Any:
        return make_recipe({**small, "out": str(out), "checkpoint_every": 1})

    monkeypatch.setattr(pipeline, "make_training_data", lambda _: None)
    monkeypatch.setattr(pipeline, "load_tiny_recipe", load_small)
    (tmp_path / "lessons").symlink_to(taught)
    exported: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        pipeline,
        "export_onnx",
        lambda *args, **kwargs: exported.append((*args, kwargs["weights"], "video" in kwargs["words"])),
    )
    pipeline.make_tiny(tmp_path)
    assert exported == [(tmp_path / "trained" / "last", tmp_path / "tiny", "fp16", True)]
    with logged_messages() as messages:
        pipeline.make_tiny(tmp_path)
    assert len(exported) == 2 and any("Going on from" in line for line in messages)


def test_the_recipe_names_data_that_are_made(tmp_path: Path) -> None:
    loaded = pipeline.load_tiny_recipe(tmp_path, steps=7)
    assert loaded.train.steps == 7
    names = {source.data for source in loaded.data.sources}
    assert names == {"mimic-train", "direction-train", *(f"mime-train-{number}" for number in range(5))}
    assert loaded.evaluation is not None and loaded.evaluation.data == "mimic-held-out"


# ── curves ──


def test_curves_are_read_smoothed_and_drawn(begun: Path, tmp_path: Path) -> None:
    losses, accuracies = read_curves(begun.parent)
    assert [step for step, _ in losses] == [0, 1] and accuracies == []
    assert smooth([(n, float(n)) for n in range(60)])[-1] == (59, 47.0)
    done = CliRunner().invoke(app, ["curves", str(begun.parent), "--out", str(tmp_path / "c.svg")])
    assert done.exit_code == 0 and "<svg" in (tmp_path / "c.svg").read_text()
    with pytest.raises(DataError, match="holds no training"):
        read_curves(tmp_path)
