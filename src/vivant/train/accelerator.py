"""The accelerator of a training, and the state of model and optimizer, however accelerate wraps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from vivant.core.errors import UsageError
from vivant.train.settings import Recipe


def make_accelerator(recipe: Recipe) -> Any:
    """One process, several (launched by accelerate or torchrun), or sharded: by recipe and environment."""
    from accelerate import Accelerator, DistributedDataParallelKwargs
    from accelerate.state import AcceleratorState

    train = recipe.train
    device = train.device
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device not in ("auto", "cpu", *available):
        raise UsageError(f"train.device is '{device}'; write auto, cpu, cuda or mps")
    if not available.get(device, True):
        raise UsageError(
            f"train.device: there is no {device} on this machine; write cpu, or auto for what there is"
        )
    if train.precision == "fp16" and (device == "cpu" or not available["cuda"]):
        raise UsageError("train.precision: fp16 needs a CUDA device; write bf16 or no")
    if train.threads:
        torch.set_num_threads(train.threads)
    ddp = DistributedDataParallelKwargs(find_unused_parameters=True)
    plugin = None
    if train.fsdp:
        from accelerate import FullyShardedDataParallelPlugin

        try:
            plugin = FullyShardedDataParallelPlugin(**train.fsdp)
        except (TypeError, ValueError) as error:
            raise UsageError(f"train.fsdp: {error}") from error
    # Forget the settings of an earlier training in this process, such as its precision.
    AcceleratorState._reset_state()
    accelerator = Accelerator(
        cpu=device == "cpu", mixed_precision=train.precision, kwargs_handlers=[ddp], fsdp_plugin=plugin
    )
    if plugin is not None and accelerator.num_processes > 1 and accelerator.distributed_type.name != "FSDP":
        raise UsageError(
            f"train.fsdp: weights are not sharded on {accelerator.device.type}; leave it out there"
        )
    return accelerator


def gather_weights(model: Any) -> dict[str, Tensor]:
    """All weights, gathered from all processes onto the CPU; only the main process receives them."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights: dict[str, Tensor] = get_model_state_dict(model, options=options)
    return weights


def select_trainable(weights: Mapping[str, Tensor], model: Any) -> dict[str, Tensor]:
    """The weights that learn, and buffers such as statistics."""
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    return {name: value for name, value in weights.items() if name not in frozen}


def restore_weights(model: Any, weights: dict[str, Tensor]) -> None:
    """Load gathered weights; weights that are not named stay."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

    options = StateDictOptions(full_state_dict=True, strict=False)
    set_model_state_dict(model, weights, options=options)


def gather_optimizer_state(model: Any, optimizer: Any) -> dict[str, Tensor]:
    """The optimizer's tensors by `weight|quantity`; for the main process alone."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = get_optimizer_state_dict(model, optimizer, options=options).get("state", {})
    return {
        f"{weight}|{quantity}": torch.as_tensor(value)
        for weight, quantities in state.items()
        for quantity, value in quantities.items()
    }


def restore_optimizer_state(model: Any, optimizer: Any, tensors: Mapping[str, Tensor]) -> None:
    """Load the optimizer's tensors."""
    from torch.distributed.checkpoint.state_dict import (
        StateDictOptions,
        get_optimizer_state_dict,
        set_optimizer_state_dict,
    )

    current: dict[str, Any] = dict(get_optimizer_state_dict(model, optimizer))
    state: dict[str, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        weight, _, quantity = name.rpartition("|")
        state.setdefault(weight, {})[quantity] = value
    set_optimizer_state_dict(
        model, optimizer, {**current, "state": state}, options=StateDictOptions(full_state_dict=True)
    )
