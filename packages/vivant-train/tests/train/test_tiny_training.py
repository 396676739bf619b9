"""What makes `vivant/tiny` learn: words that fit what is seen, and a start from a finished model; its curves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.train_kit import recipe, write_world
from vivant.core.errors import DataError, UsageError
from vivant_train.cli.train import app

# ── how well words fit ──


def test_what_is_seen_as_a_word_fits_that_word_from_the_beginning() -> None:
    import torch

    from vivant_train.model.fusion import WordMatcher

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
    from vivant_train.settings import make_recipe

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
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    out = tmp_path_factory.mktemp("begun") / "out"
    return train(make_recipe(recipe(world, out=str(out), train={"steps": 2}))).model


@pytest.mark.parametrize("updates", [True, False])
def test_a_finished_model_goes_on_with_other_parts_frozen(
    world: Path, begun: Path, tmp_path: Path, updates: bool
) -> None:
    import torch

    from vivant_train.checkpoints import load_model, load_state
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

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


# ── curves ──


def test_curves_are_read_smoothed_and_drawn(begun: Path, tmp_path: Path) -> None:
    from vivant_train.curves import read_curves, smooth

    losses, accuracies = read_curves(begun.parent)
    assert [step for step, _ in losses] == [0, 1] and accuracies == []
    assert smooth([(n, float(n)) for n in range(60)])[-1] == (59, 47.0)
    done = CliRunner().invoke(app, ["curves", str(begun.parent), "--out", str(tmp_path / "c.svg")])
    assert done.exit_code == 0 and "<svg" in (tmp_path / "c.svg").read_text()
    with pytest.raises(DataError, match="holds no training"):
        read_curves(tmp_path)
