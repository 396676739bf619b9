"""Exported models: the same logits and answers as torch's, without torch; what is bundled; what is refused."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from tests.support.train_kit import frames, recipe
from vivant import mini
from vivant.core.errors import UsageError
from vivant.core.randomness import derive_generator
from vivant.core.types import Clip, Decoding, Option, Picture, Request, Text, Turn
from vivant.models.base import ModelError
from vivant.models.registry import create
from vivant_train.cli.train import app

LFM2 = {
    "model_type": "lfm2",
    "layer_types": ["conv", "full_attention", "conv"],
    "num_hidden_layers": 3,
    "num_key_value_heads": 1,
    "conv_L_cache": 3,
    "block_multiple_of": 8,
}
TASK = "What moves here?\nA. a red ball\nB. a blue ball\nC. nothing\nAnswer with a letter."


def checkpoint(folder: Path, **language: Any) -> Path:
    """A model from chance, whose weights are large enough that its answers depend on what it sees."""

    import torch

    from vivant_train.checkpoints import save_model
    from vivant_train.components import fill_vocabulary
    from vivant_train.model.config import MimicChatConfig
    from vivant_train.model.modeling import MimicChat
    from vivant_train.model.processing import train_tokenizer
    from vivant_train.settings import make_recipe

    content = recipe(folder / "world")
    content["model"]["language"]["config"] |= language
    parts = make_recipe(content).model
    tokenizer = train_tokenizer([TASK, "a ball that goes up and down\n", "yes it goes left"] * 20, 400)
    torch.manual_seed(1)
    model = MimicChat(MimicChatConfig.from_settings(fill_vocabulary(parts, tokenizer)))
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5)
    return save_model(folder / "model", model, tokenizer)


def clip(count: int, motion: str = "left") -> Clip:
    """A video of so many frames."""
    from PIL import Image

    pictures = []
    for pixels in frames("red", "sea", motion, derive_generator(3, motion), times=count):
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        pictures.append(Picture(file.getvalue(), "image/png", 64, 64))
    return Clip(tuple(pictures), "clip.mp4")


def make_request(*parts: Any, max_tokens: int = 6, **named: Any) -> Request:
    """A request with some parts."""
    return Request(
        turns=(Turn("user", (*parts, Text(TASK))),), decoding=Decoding(max_tokens=max_tokens), **named
    )


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.full) for name in ("llama", "lfm2")]
)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkpoint and what it is exported to, which takes long even for the smallest model."""
    from vivant_train.onnx_export import export_onnx

    folder = tmp_path_factory.mktemp(request.param)
    path = checkpoint(folder, **(LFM2 if request.param == "lfm2" else {}))
    export_onnx(path, folder / "onnx")
    return path, folder / "onnx"


@pytest.fixture
def exported() -> Path:
    """The exported model that comes with the package."""
    from vivant.models.onnx_backend import find_bundled_model

    folder = find_bundled_model("tiny")
    assert folder is not None
    return folder


def load_engines(pair: tuple[Path, Path]) -> tuple[Any, Any]:
    from vivant.models.onnx_engine import OnnxMimicChatEngine
    from vivant_train.torch_backend import TorchMimicChatEngine as TorchEngine

    path, exported = pair
    settings = {"model": str(path), "dtype": "auto", "device": "cpu", "threads": 1}
    return TorchEngine(settings, 0), OnnxMimicChatEngine({"folder": str(exported), "threads": 1})


@pytest.mark.parametrize("count", [1, 5, 8, 40])
def test_logits_are_torchs(pair: tuple[Path, Path], count: int) -> None:
    """Whatever the number of frames: few, odd, and more than a window."""

    import torch

    onnx_engine, torch_engine = load_engines(pair)[::-1]
    request = make_request(clip(count), key=f"k{count}")
    ids, video = onnx_engine._tokenize_request(request)
    batch = torch_engine._processor.make_batch([torch_engine._tokenize(request)])
    assert batch["input_ids"][0].tolist() == ids
    with torch.inference_mode():
        expected = torch_engine._model(**batch).logits[0].numpy()
    actual, states = onnx_engine.prefill(ids, video, range(len(ids)))
    assert np.abs(actual - expected).max() < 1e-4
    assert np.abs(expected).max() > 0.1
    other, _ = onnx_engine.prefill(
        ids, onnx_engine._tokenize_request(make_request(clip(count, "down")))[1], range(len(ids))
    )
    assert np.abs(other - actual).max() > 1e-3, "the answer should depend on what is seen"
    assert len(states) == len(onnx_engine.settings.states)


def test_answers_and_likelihoods_are_torchs(pair: tuple[Path, Path]) -> None:
    torch_engine, onnx_engine = load_engines(pair)
    requests = [
        make_request(clip(8), key="a"),
        make_request(clip(6, "up"), key="b"),
        make_request(key="c"),
        make_request(max_tokens=1, key="d"),
    ]
    for request in requests:
        expected, actual = torch_engine.generate([request])[0], onnx_engine.generate([request])[0]
        assert actual == expected
    assert expected.status == "truncated"
    weighed = make_request(clip(8), key="w", options=(Option("A", "a red ball"), Option("B", "a blue ball")))
    answers = ("A", "a red ball", "nothing")
    expected, actual = (
        torch_engine.loglikelihood([weighed], [answers])[0],
        onnx_engine.loglikelihood([weighed], [answers])[0],
    )
    assert np.allclose(actual.likelihoods, expected.likelihoods, atol=1e-3)


def test_sampling_repeats_itself_and_differs_by_seed(pair: tuple[Path, Path]) -> None:
    torch_engine, onnx_engine = load_engines(pair)
    hot = msgspec.structs.replace(
        make_request(clip(4), max_tokens=12), decoding=Decoding(max_tokens=12, temperature=2.0)
    )
    seeds = [msgspec.structs.replace(hot, seed=seed) for seed in (1, 1, 2)]
    for engine in (onnx_engine, torch_engine):
        texts = [engine.generate([request])[0].text for request in seeds]
        assert texts[0] == texts[1] != texts[2]
    assert [reply.text for reply in torch_engine.generate(seeds[::-1])] == texts[::-1]


def test_half_precision_halves_the_files_and_hardly_changes_answers(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    import onnx

    from vivant.models.onnx_engine import OnnxMimicChatEngine
    from vivant_train.onnx_export import convert_to_half

    _, full = pair
    shutil.copytree(full, tmp_path / "half")
    for file in (tmp_path / "half").glob("*.onnx"):
        graph = onnx.load(file)
        convert_to_half(graph)
        onnx.save(graph, file)
    sizes = [sum(file.stat().st_size for file in f.glob("*.onnx")) for f in (full, tmp_path / "half")]
    assert sizes[1] < 0.75 * sizes[0]
    request = make_request(clip(8), key="h")
    logits = []
    for folder in (full, tmp_path / "half"):
        engine = OnnxMimicChatEngine({"folder": str(folder), "threads": 1})
        logits.append(engine.prefill(*engine._tokenize_request(request))[0])
    assert 0 < np.abs(logits[0] - logits[1]).max() < 0.05


def test_the_backend_runs_a_benchmark_without_torch(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process in which torch and transformers cannot even be imported."""
    (tmp_path / "stubs").mkdir()
    for name in ("torch", "transformers"):
        (tmp_path / "stubs" / f"{name}.py").write_text(f"raise ImportError('{name} was imported')\n")
    (tmp_path / "two.jsonl").write_text(
        '{"question": "Which one?", "choices": ["a red ball", "nothing"], "answer": 0}\n' * 2
    )
    script = (
        "import sys\nfrom vivant.engine.evaluation import evaluate\n"
        f"run = evaluate('./two.jsonl', 'onnx/{pair[1]}', out='run', cache='off')\n"
        "assert [r.reply.status in ('ok', 'truncated') for r in run.records().values()] == [True, True]\n"
        "assert not any(name in sys.modules for name in ('torch', 'transformers'))\n"
        "print('ran')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "stubs"))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, cwd=tmp_path, check=False
    )
    assert done.stdout.strip() == "ran", done.stderr


def test_what_is_no_exported_model_says_so(tmp_path: Path) -> None:
    from vivant.models.onnx_backend import SETTINGS

    with pytest.raises(ModelError, match=r"holds no exported model.*vivant train export"):
        create(f"onnx/{tmp_path}")
    with pytest.raises(UsageError, match="does not exist"):
        create(f"onnx/{tmp_path}/nowhere")
    (tmp_path / SETTINGS).write_text('{"vocabulary": "many"}')
    with pytest.raises(ModelError, match="damaged, or of another version"):
        create(f"onnx/{tmp_path}")


def test_a_damaged_graph_says_so(exported: Path, tmp_path: Path) -> None:
    from vivant.models.onnx_engine import OnnxMimicChatEngine

    shutil.copytree(exported, tmp_path / "damaged")
    (tmp_path / "damaged" / "read.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelError, match=r"read\.onnx cannot be loaded"):
        OnnxMimicChatEngine({"folder": str(tmp_path / "damaged")})


def test_the_bundled_model_is_found_or_missed_in_one_line(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mini, "_HERE", tmp_path)
    with pytest.raises(ModelError, match=r"without the weights of vivant/tiny.*onnx/FOLDER"):
        create("vivant/tiny")
    with pytest.raises(UsageError, match="did you mean 'tiny'"):
        create("vivant/tinny")
    shutil.copytree(exported, tmp_path / "tiny")
    model = create("vivant/tiny")
    assert model.name == "vivant/tiny" and model.has_loglikelihood
    before = model.identity
    (tmp_path / "tiny" / "read.onnx").write_bytes(b"other weights")
    assert create("vivant/tiny").identity != before, "replies of other weights must not be reused"


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    from vivant_train.onnx_export import export_onnx

    path = checkpoint(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("dear")
    with pytest.raises(UsageError, match="holds something else"):
        export_onnx(path, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()
    done = CliRunner().invoke(app, ["export", str(path), str(tmp_path / "out"), "--to", "tflite"])
    assert isinstance(done.exception, UsageError) and "Unknown format 'tflite'" in str(done.exception)
