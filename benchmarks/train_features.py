"""Training steps a second with cached features against encoding anew, with a frozen tower of mid size.

The same steps of the same recipe by turns, in one process with one thread: a tower of 86 M parameters, a small language
model. Medians of processor time. Limit: at least 5 times the rate.

    python benchmarks/train_features.py
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

LIMIT = 5.0
FRAMES, STEPS = 8, 15


def make_model() -> Any:
    """A ViT of the base size on 64 patches, frozen; everything above it learns."""
    import msgspec

    from vivant_train.model.config import MimicChatConfig, ModelSettings
    from vivant_train.model.modeling import MimicChat

    content = {
        "vision": {
            "image_size": 128,
            "config": {
                "model_type": "siglip_vision_model",
                "hidden_size": 768,
                "intermediate_size": 3072,
                "num_hidden_layers": 12,
                "num_attention_heads": 12,
                "image_size": 128,
                "patch_size": 16,
            },
        },
        "spatial": {"frames": 4, "grid": 2},
        "temporal": {"init": "features", "window": 8, "tokens": 8, "patches": 2, "cells": 1, "heads": 12},
        "fusion": {"place": "both", "start": 0.0, "every": 2, "width": 128},
        "language": {
            "frozen": False,
            "config": {
                "model_type": "llama",
                "vocab_size": 2000,
                "hidden_size": 256,
                "intermediate_size": 512,
                "num_hidden_layers": 4,
                "num_attention_heads": 4,
                "num_key_value_heads": 4,
            },
        },
    }
    settings = msgspec.convert(content, ModelSettings)
    return MimicChat(MimicChatConfig(parts=msgspec.to_builtins(settings)))


def main() -> None:
    """Print the ratio; exit with 1 below the limit."""
    import torch

    from vivant_train.model.features import extract_features

    torch.set_num_threads(1)
    model = make_model().train()
    optimizer = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=1e-4)
    frames = torch.randint(0, 256, (FRAMES, 128, 128, 3), dtype=torch.uint8)
    patches = model.settings.visual_tokens
    ids = torch.cat([torch.full((1, patches), 2003), torch.randint(0, 2000, (1, 100))], dim=1)
    named = {"question_videos": [0], "video_index": torch.zeros_like(ids), "labels": ids.clamp(max=1999)}

    def step(**seen: Any) -> None:
        model(ids, **seen, **named).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    cached = [extract_features(model, frames)]
    ways: dict[str, dict[str, Any]] = {
        "anew": {"frames": frames, "frame_counts": [FRAMES]},
        "cached": {"features": cached},
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(1 + STEPS):  # by turns, so that other work on the machine meets both alike
        for way, seen in ways.items():
            started = time.process_time()
            step(**seen)
            if turn:  # the first is slower
                seconds[way].append(time.process_time() - started)
    rates = {way: 1 / statistics.median(each) for way, each in seconds.items()}
    ratio = rates["cached"] / rates["anew"]
    print(
        f"anew {rates['anew']:.2f}, cached {rates['cached']:.2f} steps a second of processor time: "
        f"{ratio:.1f} times (limit {LIMIT:g})"
    )
    sys.exit(ratio < LIMIT)


if __name__ == "__main__":
    main()
