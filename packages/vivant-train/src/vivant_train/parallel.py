"""A model and its optimizer in one process or several: how passes, updates and checkpoints go in each way.

One process and DDP go through accelerate. FSDP2 and DeepSpeed are set up here: accelerate's own way with the first asks
for a GPU, and with the second takes the optimizer's step within the backward pass. Any way resumes any other's
checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from vivant.core.errors import UsageError
from vivant_train.optimization import drop_gradients, make_optimizer
from vivant_train.settings import Recipe
from vivant_train.sharding import gradients_kept_back, shard_model


def make_parallel_model(model: Any, recipe: Recipe, accelerator: Any) -> ParallelModel:
    """The way that a recipe asks for, as far as there are processes for it."""
    if recipe.train.deepspeed and accelerator.num_processes > 1:
        from vivant_train.deepspeed_model import DeepSpeedModel

        return DeepSpeedModel(model, recipe, accelerator)
    if recipe.train.fsdp is not None and accelerator.num_processes > 1:
        return ShardedModel(model, recipe, accelerator)
    return ParallelModel(model, recipe, accelerator)


class ParallelModel:
    """The whole model in every process: one, or several that exchange gradients (DDP).

    Args:
        base_model: the model.
        recipe: how it learns.
        accelerator: of accelerate.
    """

    model: Any
    """What is called."""
    optimizer: Any
    is_sharded = False
    """Whether a pass needs all processes."""

    def __init__(self, base_model: Any, recipe: Recipe, accelerator: Any) -> None:
        self.base_model, self.recipe, self.accelerator = base_model, recipe, accelerator
        self._resting: Collection[str] = ()
        self.set_up()

    def set_up(self) -> None:
        """Make the optimizer; let processes share the model."""
        self.model, self.optimizer = self.accelerator.prepare(
            self.base_model, make_optimizer(self.base_model, self.recipe)
        )

    def start_step(self, resting: Collection[str]) -> None:
        """Begin an update in which these parts do not learn."""
        self._resting = resting

    def accumulate(self, *, last: bool) -> AbstractContextManager[Any]:
        """The context of a pass: gradients are exchanged after an update's last one alone."""
        return nullcontext() if last else self.accelerator.no_sync(self.model)

    def backward(self, loss: Tensor) -> None:
        """The backward pass of one pass's loss; processes' gradients are averaged."""
        self.accelerator.backward(loss)

    def update(self, clip: float) -> float:
        """Take the step, unless the gradient is not finite; the gradient's norm before it was clipped to `clip`."""
        drop_gradients(self.optimizer, self._resting)
        norm = self._clip_gradients(clip)
        scaled = self.accelerator.mixed_precision == "fp16"  # its scaler skips steps whose gradients overflow
        if math.isfinite(norm) or scaled:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return norm

    def _clip_gradients(self, clip: float) -> float:
        return float(self.accelerator.clip_grad_norm_(self.model.parameters(), clip))

    # ── checkpoints ──

    @property
    def _bare_optimizer(self) -> Any:
        return self.optimizer.optimizer

    def gather_weights(self) -> dict[str, Tensor]:
        """All weights on the CPU; only the main process receives them. All processes must call it."""
        if not self.accelerator.is_main_process:
            return {}
        # Not by torch's own function for this, which looks for each name of eight-bit layers among their attributes.
        return {name: value.detach().cpu() for name, value in self.base_model.state_dict().items()}

    def gather_optimizer_state(self) -> dict[str, Tensor]:
        """The optimizer's tensors by `weight|quantity`; for the main process alone."""
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state = get_optimizer_state_dict(self.model, self._bare_optimizer, options=options).get("state", {})
        return {
            f"{weight}|{quantity}": torch.as_tensor(value)
            for weight, quantities in state.items()
            for quantity, value in quantities.items()
        }

    def restore(self, weights: dict[str, Tensor], optimizer_state: Mapping[str, Tensor]) -> None:
        """Load gathered weights that learn, and the optimizer's tensors; frozen weights stay.

        A weight that is missing or left over is an error.
        """
        check_learning_weights(self.base_model, weights)
        self._load_weights(weights)
        state: dict[str, dict[str, Tensor]] = {}
        for name, value in optimizer_state.items():
            weight, _, quantity = name.rpartition("|")
            state.setdefault(weight, {})[quantity] = value
        self._load_optimizer_state(state)

    def _load_weights(self, weights: dict[str, Tensor]) -> None:
        self.base_model.load_state_dict(weights, strict=False)

    def _load_optimizer_state(self, state: Mapping[str, Mapping[str, Tensor]]) -> None:
        from torch.distributed.checkpoint.state_dict import (
            StateDictOptions,
            get_optimizer_state_dict,
            set_optimizer_state_dict,
        )

        optimizer = self._bare_optimizer
        current: dict[str, Any] = dict(get_optimizer_state_dict(self.model, optimizer))
        options = StateDictOptions(full_state_dict=True)
        set_optimizer_state_dict(self.model, optimizer, {**current, "state": state}, options=options)


class ShardedModel(ParallelModel):
    """Weights, gradients and optimizer shared out over processes (FSDP2)."""

    is_sharded = True

    def set_up(self) -> None:
        """Share out the weights, then make the optimizer of the shares."""
        device = self.accelerator.device
        self.base_model.to(device)
        self.model = shard_model(self.base_model, self.recipe.train.fsdp or {}, device)
        self.optimizer = make_optimizer(self.model, self.recipe)

    def accumulate(self, *, last: bool) -> AbstractContextManager[Any]:
        """As for replicas."""
        return nullcontext() if last else gradients_kept_back(self.model)

    def _clip_gradients(self, clip: float) -> float:
        norm: Any = torch.nn.utils.clip_grad_norm_(self.model.parameters(), clip)
        return float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)

    @property
    def _bare_optimizer(self) -> Any:
        return self.optimizer

    def gather_weights(self) -> dict[str, Tensor]:
        """Gathered from all processes."""
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        weights: dict[str, Tensor] = get_model_state_dict(self.model, options=options)
        return weights

    def _load_weights(self, weights: dict[str, Tensor]) -> None:
        from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

        options = StateDictOptions(full_state_dict=True, strict=False)
        set_model_state_dict(self.model, weights, options=options)


def select_trainable(weights: Mapping[str, Tensor], model: Any) -> dict[str, Tensor]:
    """The weights that learn, and buffers such as statistics."""
    parameters = model.named_parameters(remove_duplicate=False)
    names = {name for name, weight in parameters if weight.requires_grad}
    names |= {name for name, _ in model.named_buffers()}
    return {name: value for name, value in weights.items() if name in names}


def check_learning_weights(model: Any, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that lack one that learns, or hold one that the model has not."""
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    names |= {name for name, _ in model.named_buffers()}
    wrong = [f"lacks {name}" for name in sorted(learning - weights.keys())]
    wrong += [f"has {name}, which this model has not" for name in sorted(weights.keys() - names)]
    if wrong:
        raise UsageError(f"it {wrong[0]} ({len(wrong)} differences in all)")
