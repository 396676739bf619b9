"""Predicted against measured peak memory of a training step of a mid-size language model on the processor.

Each case in a process of its own: resident memory at the peak of the second step, above that before the model is made.
Limit: the prediction of weights, gradients, optimizer and activations is within 15 % of it. The C library's allocator
is told to give freed memory back at once; otherwise it keeps holes, as much as the peak itself with checkpointing.

    python benchmarks/train_memory.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

LIMIT = 0.15
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
CASES = {"kept": (False, 4), "checkpointed": (True, 12)}


def make_content(checkpointing: bool, rows: int) -> dict[str, Any]:
    """A recipe whose language model learns as a whole: 33 M parameters."""
    return {
        "model": {
            "size": "tiny",
            "fusion": {"hint": False, "match": 0},
            "language": {
                "lines": False,
                "config": {
                    "hidden_size": 640,
                    "intermediate_size": 1792,
                    "num_hidden_layers": 6,
                    "num_attention_heads": 10,
                    "num_key_value_heads": 10,
                    "vocab_size": 4000,
                    "tie_word_embeddings": True,
                },
            },
        },
        "data": {"sources": [{"benchmark": "mimic/tag", "data": "mini"}]},
        "train": {
            "row_tokens": 512,
            "batch_tokens": 512 * rows,
            "micro_rows": rows,
            "gradient_checkpointing": checkpointing,
            "precision": "no",
        },
    }


def read_resident() -> float:
    """Resident gigabytes now."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) * 1024 / 1e9


def measure(case: str) -> tuple[float, float]:
    """Predicted and measured gigabytes."""
    import resource

    import torch

    from vivant_train.memory import predict_memory
    from vivant_train.model.config import MimicChatConfig
    from vivant_train.model.modeling import MimicChat
    from vivant_train.settings import make_recipe

    torch.set_num_threads(1)
    checkpointing, rows = CASES[case]
    recipe = make_recipe(make_content(checkpointing, rows))
    predicted = predict_memory(recipe)
    # Memory that importing and counting took is there before, and is not the training's.
    warm = torch.ones(8, 8) @ torch.ones(8, 8)
    del warm
    before = read_resident()
    model = MimicChat(MimicChatConfig.from_settings(recipe.model)).train()
    if checkpointing:
        model.enable_checkpointing()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(2, 4000, (rows, 512))
    labels = torch.full_like(ids, -100)
    labels[:, -51:] = ids[:, -51:]
    positions = torch.cat([torch.arange(256), torch.arange(256)]).expand(rows, -1)
    videos = 4 * rows  # as many as rows of 512 tokens can hold
    frames = torch.randint(0, 256, (videos * 16, 64, 64, 3), dtype=torch.uint8)
    seen = {"frames": frames, "frame_counts": [16] * videos, "question_videos": range(videos)}
    for _ in range(2):
        model(ids, labels=labels, position_ids=positions, **seen).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return predicted.total, peak - before


def main() -> None:
    """Print both; exit with 1 where they differ by more."""
    if len(sys.argv) > 1:
        print(*measure(sys.argv[1]))
        return
    fits = True
    for case in CASES:
        text = subprocess.check_output(
            [sys.executable, __file__, case], env={**os.environ, **ALLOCATOR}, text=True
        )
        predicted, measured = map(float, text.split()[-2:])
        off = predicted / measured - 1
        fits &= abs(off) <= LIMIT
        print(
            f"{case:14} predicted {predicted:.2f} GB, measured {measured:.2f} GB: {off:+.1%} (limit {LIMIT:.0%})"
        )
    sys.exit(not fits)


if __name__ == "__main__":
    main()
