"""A model whose optimizer DeepSpeed shares out over processes (ZeRO 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from vivant.core.errors import UsageError
from vivant.models.base import require_package
from vivant_train.optimization import make_optimizer, name_part
from vivant_train.parallel import ParallelModel
from vivant_train.settings import Recipe

_MOMENTS = ("exp_avg", "exp_avg_sq")


def make_deepspeed_config(recipe: Recipe) -> dict[str, Any]:
    """DeepSpeed's own settings, from those of accelerate's DeepSpeedPlugin and the recipe; checked by its parser."""
    from accelerate import DeepSpeedPlugin

    require_package("deepspeed", "", "train.deepspeed")
    try:
        plugin = DeepSpeedPlugin(**recipe.train.deepspeed)
    except (TypeError, ValueError, ImportError, OSError) as error:
        raise UsageError(f"train.deepspeed: {' '.join(str(error).split())}") from error
    config = {name: value for name, value in plugin.deepspeed_config.items() if value != "auto"}
    zero = {**config.get("zero_optimization", {}), "overlap_comm": False}
    if zero.get("stage") != 1:
        # The others add up gradients, or gather weights, in the order in which a process comes to them.
        raise UsageError(
            f"train.deepspeed: zero_stage is {zero.get('stage')}; processes encode different videos, so only 1 is "
            "supported. To share out weights and gradients too, write train.fsdp: {} instead"
        )
    for section in ("fp16", "bf16", "optimizer", "scheduler"):
        if section in config:
            raise UsageError(
                f"train.deepspeed: leave out {section}; the recipe says that (train.precision …)"
            )
    config |= {
        "zero_optimization": zero,
        # Batches are packed beforehand; DeepSpeed wants to be told a size nevertheless.
        "train_micro_batch_size_per_gpu": recipe.train.micro_rows or 1,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": recipe.train.clip,
        "steps_per_print": 2**31,
        "zero_force_ds_cpu_optimizer": False,
    }
    from deepspeed.runtime.config import DeepSpeedConfig

    try:
        DeepSpeedConfig(dict(config))
    except (ValueError, AssertionError, TypeError, KeyError) as error:
        raise UsageError(f"train.deepspeed: {' '.join(str(error).split())[:300]}") from error
    return config


class DeepSpeedModel(ParallelModel):
    """The optimizer shared out by DeepSpeed; the numbers' format is autocast's, as in every other way."""

    def set_up(self) -> None:
        """Let DeepSpeed wrap model and optimizer."""
        config = make_deepspeed_config(self.recipe)
        import deepspeed

        if self.accelerator.mixed_precision == "fp16":
            raise UsageError("train.deepspeed: fp16 is not supported with it; write precision: bf16")
        self.base_model.to(self.accelerator.device)
        learning = [(n, weight) for n, weight in self.base_model.named_parameters() if weight.requires_grad]
        for name, weight in learning:
            weight.register_hook(self._make_hook(name_part(name)))
        self.model, self.optimizer, _, _ = deepspeed.initialize(
            model=self.base_model,
            optimizer=make_optimizer(self.base_model, self.recipe),
            config=config,
            dist_init_required=False,
        )
        self._learning = dict(learning)
        # Made now, because DeepSpeed looks for the moments of all groups after the first group's first step.
        self._states: dict[int, dict[str, Tensor]] = {}
        for group, weights in zip(self.optimizer.param_groups, self.optimizer.bit16_groups, strict=True):
            (flat,) = group["params"]  # this process's share of the group
            state = {"step": torch.tensor(0.0), **{moment: torch.zeros_like(flat) for moment in _MOMENTS}}
            self.optimizer.optimizer.state[flat] = state
            self._states |= {id(weight): state for weight in weights}
        self.optimizer._lazy_init_hp_params_optimizer_state()

    def _make_hook(self, part: str) -> Callable[[Tensor], Tensor]:
        """DeepSpeed takes gradients away while they are made, so those of parts that rest are silenced as they come."""
        return lambda gradient: torch.zeros_like(gradient) if part in self._resting else gradient

    def accumulate(self, *, last: bool) -> AbstractContextManager[Any]:
        """As for replicas."""
        self.model.set_gradient_accumulation_boundary(last)
        return nullcontext()

    def backward(self, loss: Tensor) -> None:
        """As for replicas."""
        self.model.backward(loss)

    def update(self, clip: float) -> float:  # noqa: ARG002 (its configuration has it)
        """Take the step; the norm is known after it alone."""
        resting = [weight for name, weight in self._learning.items() if name_part(name) in self._resting]
        states = [self._states[id(weight)] for weight in resting]
        steps = [state["step"].clone() for state in states]
        for group in self.optimizer.param_groups:
            if group["part"] in self._resting:
                group["lr"] = 0.0  # a silent gradient still lets weights decay
        self.model.step()
        for state, step in zip(states, steps, strict=True):
            state["step"].copy_(step)
        return float(self.model.get_global_grad_norm())

    # ── checkpoints ──

    def gather_optimizer_state(self) -> dict[str, Tensor]:
        """The moments from the processes that have them."""
        from deepspeed.utils import safe_get_full_optimizer_state

        tensors: dict[str, Tensor] = {}
        for name, weight in self._learning.items():
            tensors[f"{name}|step"] = self._states[id(weight)]["step"].cpu().clone()
            for moment in _MOMENTS:
                value: Any = safe_get_full_optimizer_state(weight, moment)
                tensors[f"{name}|{moment}"] = value.detach().cpu().reshape(weight.shape).clone()
        return tensors

    def _load_weights(self, weights: dict[str, Tensor]) -> None:
        super()._load_weights(weights)
        self.optimizer.refresh_fp32_params()

    def _load_optimizer_state(self, state: Mapping[str, Mapping[str, Tensor]]) -> None:
        from deepspeed.utils import safe_set_full_optimizer_state

        for name, quantities in state.items():
            weight = self._learning[name]
            self._states[id(weight)]["step"].copy_(quantities["step"])
            for moment in _MOMENTS:
                safe_set_full_optimizer_state(weight, quantities[moment], moment)
