"""An answer of an exported MIMIC-Chat against torch's: the same checkpoint, the same inputs, one request at a time.

    python benchmarks/tiny_onnx.py [CHECKPOINT]

The peer is torch in eager mode with its cache of keys and values, by the code behind `--model mimic-chat/FOLDER`;
ours is the code behind `--model onnx/FOLDER`. Both look at 16 frames, read a question with four options, and write a
letter or a comment. Frames come as bitmaps of the model's size: decoding and scaling pictures, which is the same code
for both, is not what is compared. No tokens of a video are kept between questions. Without a checkpoint: a `tiny` from
chance.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIMIT = 2.0
ROUNDS = 8
SIDE = 64
WRITTEN = {"a letter": 2, "a comment": 24}
"""Tokens that an answer has: models from chance do not stop by themselves."""


def checkpoint(folder: Path) -> Path:
    """A `tiny` from chance, with a tokenizer for the bundled questions."""
    import torch

    from vivant_train.checkpoints import save_model
    from vivant_train.components import fill_vocabulary, train_example_tokenizer
    from vivant_train.data.sources import TrainingSource, load_examples
    from vivant_train.model.config import MimicChatConfig
    from vivant_train.model.modeling import MimicChat
    from vivant_train.settings import make_recipe

    torch.manual_seed(0)
    examples = load_examples([TrainingSource(benchmark="mimic", data="mini")], Path()).examples
    recipe = make_recipe({"model": "tiny", "data": {"sources": [{"data": "mini"}]}})
    tokenizer = train_example_tokenizer(recipe, examples)
    return save_model(
        folder, MimicChat(MimicChatConfig.from_settings(fill_vocabulary(recipe.model, tokenizer))), tokenizer
    )


def requests(tokens: int) -> list[Any]:
    """Questions of the mini-edition about four of its videos, with 16 frames of each."""
    import asyncio

    from vivant.core.paths import cache_root
    from vivant.core.types import Clip, Decoding, FramePolicy, Job, Message, Request, Text, Turn
    from vivant.media import MediaLoader
    from vivant_train.data.sources import TrainingSource, load_examples, phrase_example

    examples = load_examples([TrainingSource(benchmark="mimic/thinking", data="mini")], Path()).examples
    firsts = {example.video: example for example in examples}
    policy = FramePolicy(count=16, longest_side=96)
    made = []
    with MediaLoader(cache_root(), workers=1) as loader:
        for example in list(firsts.values())[:4]:
            shown = (Message("user", example.media),)
            job = Job(key="k", task="", id="k", messages=shown, root=example.media_root, frames=policy)
            seen = asyncio.run(loader.load(job)).turns[0].parts
            frames = [bitmap(frame) for part in seen if isinstance(part, Clip) for frame in part.frames]
            parts = (*frames, Text(phrase_example(example, 0, 0).text))
            decoding = Decoding(max_tokens=tokens)
            made.append(Request(turns=(Turn("user", parts),), decoding=decoding, key=example.name))
    return made


def bitmap(frame: Any) -> Any:
    """A frame that costs next to nothing to open, in the model's own size."""
    from PIL import Image

    from vivant.core.types import Picture

    file = io.BytesIO()
    with Image.open(io.BytesIO(frame.data)) as opened:
        opened.convert("RGB").resize((SIDE, SIDE)).save(file, "BMP")
    return Picture(file.getvalue(), "image/bmp", SIDE, SIDE)


def main() -> None:
    """Print seconds an answer for both and their ratio; exit with 1 where one is below the limit."""
    import torch

    from vivant.models.onnx_engine import OnnxMimicChatEngine as Ours
    from vivant_train.onnx_export import export_onnx
    from vivant_train.torch_backend import TorchMimicChatEngine as Peer

    torch.set_num_threads(1)
    worst = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(sys.argv[1]) if len(sys.argv) > 1 else checkpoint(Path(folder) / "model")
        settings = export_onnx(made, Path(folder) / "onnx")
        peer = Peer({"model": str(made), "dtype": "auto", "device": "cpu", "threads": 1}, 0)
        ours = Ours({"folder": str(Path(folder) / "onnx"), "threads": 1})
        for what, tokens in WRITTEN.items():
            asked = requests(tokens)
            best = {"torch": float("inf"), "onnx": float("inf")}
            texts: dict[str, list[str]] = {}
            for _ in range(ROUNDS):
                ours.clear_cache()
                for name, engine in (("torch", peer), ("onnx", ours)):
                    began = time.process_time()
                    texts[name] = [engine.generate([request])[0].text for request in asked]
                    best[name] = min(best[name], (time.process_time() - began) / len(asked))
            ratio = best["torch"] / best["onnx"]
            worst = min(worst, ratio)
            same = "the same words" if texts["torch"] == texts["onnx"] else "other words"
            print(
                f"{what} of {tokens} tokens: torch {1000 * best['torch']:.1f} ms, onnx {1000 * best['onnx']:.1f} "
                "ms, "
                f"ratio {ratio:.2f} (limit {LIMIT}); {same}"
            )
    print(f"{settings.parameters / 1e6:.2f} M parameters, one thread, time of the processor")
    sys.exit(0 if worst >= LIMIT else 1)


if __name__ == "__main__":
    main()
