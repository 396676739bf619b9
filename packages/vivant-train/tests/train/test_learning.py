"""Learning: from pixels to the answer, on held-out clips whose question no single frame can settle."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.train_kit import OPPOSITE, balls_recipe, write_balls
from vivant.core.types import FramePolicy

if TYPE_CHECKING:
    from vivant_train.data.sources import Example


def answer(
    folder: Path, examples: tuple[Example, ...], change: Callable[[Any], Any] | None = None, count: int = 4
) -> list[tuple[str, str]]:
    """Replies and keys, in one batch; `change` is what a control does to frames, None leaves them out."""

    from vivant_train.checkpoints import load_model
    from vivant_train.data.frame_loader import FrameLoader
    from vivant_train.data.sources import phrase_example
    from vivant_train.model.processing import ModelInput

    model, processor = load_model(folder)
    rows, keys = [], []
    with closing(
        FrameLoader(processor, FramePolicy(count=count), folder.parent / "cache", workers=1, megabytes=64)
    ) as loader:
        for example in examples:
            phrased = phrase_example(example, 0, 0)
            frames = change(loader.load_frames(example)) if change else None
            ids = processor.encode_prompt(phrased.text, video=frames is not None)
            rows.append(ModelInput(ids, (), frames, video=example.video))
            keys.append(phrased.answer)
    tokenizer = processor.tokenizer
    batch = processor.make_batch(rows)
    end = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    ids = model.eval().generate(**batch, max_new_tokens=4, do_sample=False, **end)
    replies = tokenizer.batch_decode(ids, skip_special_tokens=True)
    return [(reply.strip(), key) for reply, key in zip(replies, keys, strict=True)]


def share(rows: list[tuple[str, str]], names: dict[str, str] | None = None) -> float:
    """The share of replies that are the key, or the word that `names` puts in its place."""
    return sum(reply == (names or {}).get(key, key) for reply, key in rows) / len(rows)


@pytest.mark.full
def test_motion_is_learnt_through_the_temporal_branch(tmp_path: Path) -> None:
    """Balls leave on one side and come back on the other: only the order of frames tells which way they go."""

    from vivant_train.data.sources import TrainingSource, load_examples
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    questions = write_balls(tmp_path / "world")
    source = TrainingSource(benchmark=str(questions), where=("part=test", "kind=motion"))
    held_out = load_examples([source], Path()).examples
    assert len(held_out) == 60
    model = train(make_recipe(balls_recipe(tmp_path / "world", tmp_path / "out"))).model
    reached = share(answer(model, held_out, lambda frames: frames))
    assert reached >= 0.85

    controls = {
        "blind": answer(model, held_out),
        "one frame": answer(model, held_out, lambda frames: frames[1:2].repeat(4, 0)),
        "backwards": answer(model, held_out, lambda frames: frames[::-1].copy()),
    }
    assert share(controls["backwards"], OPPOSITE) >= 0.85, "every ball goes the other way"
    # Controls that learn as long: the spatial branch alone, which knows no order, and both branches on one frame.
    spatial = balls_recipe(tmp_path / "world", tmp_path / "spatial")
    spatial["model"]["temporal"] = {"on": False}
    controls["spatial"] = answer(train(make_recipe(spatial)).model, held_out, lambda frames: frames)
    still = balls_recipe(tmp_path / "world", tmp_path / "still")
    still["data"]["frames"] = {"count": 1}
    controls["still"] = answer(train(make_recipe(still)).model, held_out, lambda frames: frames, count=1)
    for name, rows in controls.items():
        assert share(rows) <= reached - 0.35, name
