"""The optimizer: which part learns how fast, and when."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import torch

from vivant.core.errors import UsageError
from vivant_train.settings import PARTS, Recipe, StageSettings


def name_part(weight: str) -> str:
    """The part that a weight belongs to, as recipes call it."""
    if weight.startswith("language_model."):
        return "lora" if "lora_" in weight else "language"
    first = weight.partition(".")[0]
    return {"eyes": "vision", "temporal": "temporal", "fusion": "fusion", "inside": "fusion"}.get(
        first, "projectors"
    )


def make_optimizer(model: Any, recipe: Recipe) -> Any:
    """AdamW over what learns, a group for each part; vectors (norms, biases, gates) do not decay."""
    train = recipe.train
    groups: dict[tuple[str, bool], list[Any]] = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            groups.setdefault((name_part(name), weight.dim() > 1), []).append(weight)
    if not groups:
        raise UsageError("model: every part is frozen, so there is nothing to train")
    parts = {part for part, _ in groups}
    named = [("rates", part) for part in train.rates]
    for setting, part in [*named, *(("stages", part) for stage in train.stages for part in stage.parts)]:
        if part not in parts:
            learning = ", ".join(sorted(parts))
            raise UsageError(f"train.{setting}: {part} does not learn; what learns is {learning}")
    return torch.optim.AdamW(
        [
            {"params": weights, "weight_decay": train.weight_decay if matrix else 0.0, "part": part}
            for (part, matrix), weights in groups.items()
        ],
        lr=train.learning_rate,
        betas=train.betas,
    )


def find_stage(recipe: Recipe, step: int) -> tuple[StageSettings, int]:
    """The stage that a step belongs to, and the step's number in it."""
    train = recipe.train
    for stage in train.stages:
        if step < stage.steps:
            return stage, step
        step -= stage.steps
    return StageSettings(steps=train.steps), step


def compute_learning_rate(recipe: Recipe, step: int) -> float:
    """A linear warm-up, then a cosine that ends at `floor`; each stage has its own."""
    train = recipe.train
    stage, step = find_stage(recipe, step)
    peak = stage.learning_rate or train.learning_rate
    warm_up = train.warm_up if stage.warm_up is None else stage.warm_up
    if step < warm_up:
        return peak * (step + 1) / warm_up
    share = (step - warm_up) / max(1, stage.steps - warm_up)
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, share)))
    return peak * (train.floor + (1 - train.floor) * cosine)


def find_resting_parts(recipe: Recipe, step: int) -> frozenset[str]:
    """The parts that do not learn in a step's stage."""
    stage, _ = find_stage(recipe, step)
    return frozenset(PARTS) - frozenset(stage.parts) if stage.parts else frozenset()


def drop_gradients(optimizer: Any, resting: Collection[str]) -> None:
    """Parts that rest get no gradient: their weights and moments stay."""
    for group in optimizer.param_groups:
        if group["part"] in resting:
            for weight in group["params"]:
                weight.grad = None


def set_learning_rates(optimizer: Any, recipe: Recipe, step: int) -> float:
    """Set each group's learning rate for a step; the rate of a part with factor 1 is returned."""
    rate = compute_learning_rate(recipe, step)
    for group in optimizer.param_groups:
        group["lr"] = rate * recipe.train.rates.get(group["part"], 1.0)
    return rate
