"""With the real DeepSpeed and bitsandbytes: ZeRO 1 on two processes, and language models in four and eight bits."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import hub_checkpoints as hub
from tests.support.train_kit import join_all, read_rows, recipe, start_two, write_world

pytestmark = pytest.mark.filterwarnings("default")  # others' packages warn about each other


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_world(tmp_path_factory.mktemp("trainers") / "world", 10, side=32, times=8)


def test_deepspeed_has_the_losses_of_one_process_and_resumes_its_checkpoint(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With accumulated passes, a part that rests at first, and an evaluation that both processes share."""

    import deepspeed

    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    # On the processor it compiles an exchange by shared memory for a minute; torch's own does the same.
    monkeypatch.setitem(deepspeed.ops.__compatible_ops__, "deepspeed_shm_comm", False)
    settings: dict[str, Any] = {"steps": 4, "micro_rows": 1, "batch_tokens": 900}
    settings |= {"stages": [{"steps": 2, "parts": ["projectors", "temporal"]}, {"steps": 2}]}
    held_out = {"benchmark": "mimic/tag", "data": str(world), "where": ["platform=test"]}
    train(make_recipe(recipe(world, out=str(tmp_path / "one"), train=settings, evaluation=held_out)))
    shared = {**settings, "deepspeed": {"zero_stage": 1}}
    content = recipe(world, out=str(tmp_path / "two"), train=shared, evaluation=held_out)
    join_all(start_two(content))
    alone = [float(loss) for (loss,) in read_rows(tmp_path / "one", "loss")]
    assert [float(loss) for (loss,) in read_rows(tmp_path / "two", "loss")] == pytest.approx(alone, rel=1e-4)
    assert (tmp_path / "two" / "best" / "model.safetensors").is_file()
    # What one process saved after two steps, DeepSpeed goes on from.
    (tmp_path / "one").rename(tmp_path / "three")
    _drop_last_checkpoint(tmp_path / "three")
    join_all(start_two({**content, "out": str(tmp_path / "three")}, resume=True))
    assert [float(loss) for (loss,) in read_rows(tmp_path / "three", "loss")] == pytest.approx(
        alone, rel=1e-4
    )


def _drop_last_checkpoint(out: Path) -> None:
    *_, last = sorted((out / "checkpoints").iterdir())
    shutil.rmtree(last)


@pytest.mark.parametrize("quantize", ["nf4", "int8"])
def test_a_quantized_internlm2_learns_resumes_and_is_loaded_again(
    world: Path, tmp_path: Path, quantize: str
) -> None:
    import bitsandbytes

    from vivant_train.checkpoints import load_model
    from vivant_train.model.processing import train_tokenizer
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    vision = hub.write_checkpoint(tmp_path / "vit", hub.VIT_300M, hub.vit_weights(hub.VIT_300M))
    language = hub.write_checkpoint(tmp_path / "llm", hub.INTERNLM2, hub.internlm2_weights(hub.INTERNLM2))
    train_tokenizer(["Which fits the video? A. my red ball on sea B. grass"] * 4, 400).save_pretrained(
        language
    )
    content = recipe(world, out=str(tmp_path / "out"), train={"steps": 4, "row_tokens": 500})
    content["model"] = {
        "vision": {"name": str(vision), "image_size": 56},
        "spatial": {"frames": 2, "grid": 2},
        "temporal": {"init": "features", "tokens": 4, "heads": 2, "window": 4},
        "fusion": {"place": "layers"},
        "language": {"name": str(language), "quantize": quantize, "lora": {"rank": 2, "alpha": 4}},
    }
    result = train(make_recipe(content))
    losses = read_rows(tmp_path / "out", "loss")
    _drop_last_checkpoint(tmp_path / "out")
    train(make_recipe(content), resume=True)
    assert read_rows(tmp_path / "out", "loss") == losses
    model, _ = load_model(result.model)
    wanted = {"nf4": bitsandbytes.nn.Linear4bit, "int8": bitsandbytes.nn.Linear8bitLt}[quantize]
    assert any(isinstance(module, wanted) for module in model.language_model.modules())
    learnt = [weight for name, weight in model.language_model.named_parameters() if "lora_B" in name]
    assert learnt and any(float(weight.detach().abs().max()) > 0 for weight in learnt)
