"""The accelerator of a training: devices, processes and number formats, by recipe and environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch

from vivant.core.errors import UsageError, VivantError
from vivant.models.base import require_package
from vivant_train.deepspeed_model import make_deepspeed_config
from vivant_train.settings import Recipe


def make_accelerator(recipe: Recipe) -> Any:
    """One process, several (launched by accelerate or torchrun), or sharded: by recipe and environment."""
    from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs
    from accelerate.state import AcceleratorState

    train = recipe.train
    _refuse_launcher_sharding()
    precision = resolve_precision(recipe)
    device = train.device
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device not in ("auto", "cpu", *available):
        raise UsageError(f"train.device is '{device}'; write auto, cpu, cuda or mps")
    if not available.get(device, True):
        raise UsageError(
            f"train.device: there is no {device} on this machine; write cpu, or auto for what there is"
        )
    if precision == "fp16" and (device == "cpu" or not available["cuda"]):
        raise UsageError("train.precision: fp16 needs a CUDA device; write bf16 or no")
    if train.threads:
        torch.set_num_threads(train.threads)
    if train.fsdp is not None and precision == "fp16":
        raise UsageError("train.fsdp: fp16 is not supported with it; write precision: bf16")
    # A process that reaches a barrier first waits for hours while another evaluates or downloads.
    handlers: list[Any] = [
        DistributedDataParallelKwargs(find_unused_parameters=True),
        InitProcessGroupKwargs(timeout=timedelta(hours=12)),
    ]
    # Forget the settings of an earlier training in this process, such as its precision.
    AcceleratorState._reset_state()
    if train.deepspeed:
        make_deepspeed_config(recipe)
    others = [name for name in train.trackers if name != "tensorboard"]
    for name in others:
        require_package(name, "trackers", f"train.trackers: {name}")
    # Without `cpu`, accelerate leaves each of several processes on the processor to itself.
    on_processor = device == "cpu" or (device == "auto" and not torch.accelerator.is_available())
    accelerator = Accelerator(
        cpu=on_processor, mixed_precision=precision, kwargs_handlers=handlers, log_with=others or None
    )
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    if launched != accelerator.num_processes:
        raise UsageError(
            f"{launched} processes were launched, but they do not find each other on the device "
            f"{accelerator.device.type}; launch one, or write train.device: cpu"
        )
    return accelerator


def _refuse_launcher_sharding() -> None:
    """The recipe says how weights are shared out; accelerate's own set-up must not do it as well."""
    for name in ("deepspeed", "fsdp"):
        if os.environ.get(f"ACCELERATE_USE_{name.upper()}", "false").lower() in ("true", "1", "yes"):
            raise UsageError(
                f"accelerate was launched with {name}; write train.{name} in the recipe, and launch without it "
                f"(accelerate config, or no --use_{name})"
            )


def is_main_process() -> bool:
    """Whether this process is the one that speaks for all; there is an accelerator already."""
    from accelerate import PartialState

    return bool(PartialState().is_main_process)


def raise_together(error: VivantError | None, accelerator: Any) -> None:
    """Raise an error that any process has in every one of them; all must call it, and wait here for each other.

    A process that raised alone would leave the others in a collective that never ends.
    """
    from accelerate.utils import gather_object

    if accelerator.num_processes > 1:
        failures = torch.tensor([error is not None], dtype=torch.int32, device=accelerator.device)
        if int(accelerator.reduce(failures, "sum")):
            errors = gather_object([error])
            error = error or next(each for each in errors if each is not None)
    if error is not None:
        raise error


def share_counts(news: Mapping[str, str], count: int, accelerator: Any) -> tuple[dict[str, str], int]:
    """The news of all processes together, and the sum of their counts; all must call it."""
    from accelerate.utils import gather_object

    if accelerator.num_processes == 1:
        return dict(news), count
    figures = torch.tensor([len(news), count], dtype=torch.int64, device=accelerator.device)
    figures = accelerator.reduce(figures, "sum")
    everywhere = dict(news)
    if int(figures[0]):  # texts are gathered only where there are any
        for each in gather_object([dict(news)]):
            everywhere.update(each)
    return everywhere, int(figures[1])


def move_batch(value: Any, device: torch.device) -> Any:
    """Tensors inside lists and mappings on a device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, Mapping):
        return {name: move_batch(each, device) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [move_batch(each, device) for each in value]
    return value


def resolve_precision(recipe: Recipe) -> str:
    """`auto` is bf16 where a backbone's weights are stored so, else none."""
    from vivant_train.backbones.files import open_checkpoint

    if recipe.train.precision != "auto":
        return recipe.train.precision
    model = recipe.model
    names = {model.vision_source, model.language_source} - {""}
    stored = {open_checkpoint(name).read_dtype() for name in sorted(names)} if not recipe.begin else set()
    return "bf16" if "bfloat16" in stored else "no"


def frozen_dtype(precision: str) -> torch.dtype:
    """The number format of weights that do not learn; what learns is float32."""
    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
