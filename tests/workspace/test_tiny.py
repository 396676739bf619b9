"""tools/tiny makes `vivant/tiny`: its training data, its recipe, and one call that goes on where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.helpers import logged_messages
from tests.support.train_kit import recipe
from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, iter_items, iter_videos
from vivant_build.mime.edition import stage
from vivant_build.mime.plan import plan_shots
from vivant_build.mime.plan_file import load_mini_plan
from vivant_build.mimic import mini
from vivant_build.mimic.world import WorldPlan
from vivant_build.mimic.world.phrases import load_topics


def test_the_command_passes_on_its_arguments_and_says_how_to_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny import __main__ as command

    calls: list[tuple[Path, int | None]] = []
    monkeypatch.setattr(command, "make_tiny", lambda work, *, steps: calls.append((work, steps)))
    for arguments in ([str(tmp_path), "--steps", "3"], [str(tmp_path)]):
        monkeypatch.setattr("sys.argv", ["tools/tiny", *arguments])
        command.main()
    assert calls == [(tmp_path, 3), (tmp_path, None)]
    assert f"python tools/tiny {tmp_path}" in capsys.readouterr().out


def test_questions_of_direction_have_each_clip_both_ways() -> None:
    from tiny import training_data

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

    from tiny import training_data

    out = tmp_path_factory.mktemp("data") / "lessons"
    select = msgspec.structs.replace(mini.SETTINGS.select, target=6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            training_data, "WORLD", WorldPlan(videos=600, comments=36_000, seed=training_data.WORLD.seed)
        )
        patch.setattr(mini, "SETTINGS", msgspec.structs.replace(mini.SETTINGS, select=select))
        training_data.make_training_data(out, videos=48, takes=0)
    return out


@pytest.mark.full
def test_training_data_hold_nothing_of_the_mini_and_nothing_held_out(taught: Path) -> None:
    from tiny import training_data
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
    from tiny import training_data

    assert set(training_data.BACKDROPS) and set(training_data.BACKDROPS).isdisjoint(mini.BACKDROPS)
    shown = {shot.scene for shot in plan_shots(stage(load_mini_plan()))} - {"blank"}
    for number in range(5):
        plan = training_data.make_take_plan(number)
        assert len(plan.shown) == training_data.TAKE_VARIANTS
        assert shown.isdisjoint(variant.background for variant in plan.shown)
        assert {"aligned", "misaligned"}.isdisjoint(variant.background for variant in plan.shown)
        assert "woman" not in {variant.avatar for variant in plan.shown}


@pytest.mark.full
def test_words_of_the_questions_are_those_that_are_asked(taught: Path, tmp_path: Path) -> None:
    from tiny import pipeline
    from vivant_train.settings import make_recipe

    small = recipe(Path("mimic-train"))
    small["data"]["sources"] = [{"benchmark": "mimic/topic", "data": "mimic-train"}]
    words = pipeline.list_question_words(make_recipe({**small, "out": str(tmp_path)}), taught)
    assert words == sorted(set(words)) and "video" in words
    topics = {word for topic in load_topics() for text in topic.topics for word in text.split()}
    assert len(topics & set(words)) > 20 and "capital" not in words


@pytest.mark.full
def test_it_is_made_by_one_call_that_goes_on(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiny import pipeline
    from vivant_train.settings import make_recipe

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
    from tiny import pipeline

    loaded = pipeline.load_tiny_recipe(tmp_path, steps=7)
    assert loaded.train.steps == 7
    names = {source.data for source in loaded.data.sources}
    assert names == {"mimic-train", "direction-train", *(f"mime-train-{number}" for number in range(5))}
    assert loaded.evaluation is not None and loaded.evaluation.data == "mimic-held-out"
