"""Weights shared out over processes (FSDP2), on accelerators and on the processor.

Each layer of the language model is one unit: it is gathered when it is used and dropped again. All else is one more
unit, which is gathered for the whole pass, so that processes may encode different numbers of videos and windows in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from vivant.core.errors import UsageError
from vivant_train.model.fusion import get_decoder_layers

_OPTIONS = {"fsdp_version": int, "reshard_after_forward": bool, "cpu_offload": bool}


def check_sharding(options: Mapping[str, Any]) -> None:
    """Refuse settings of `train.fsdp` that are not known, by name."""
    for name, value in options.items():
        if name not in _OPTIONS:
            raise UsageError(f"train.fsdp: there is no setting '{name}'; there are {', '.join(_OPTIONS)}")
        if not isinstance(value, _OPTIONS[name]):
            raise UsageError(f"train.fsdp.{name} is {value!r}; write {_OPTIONS[name].__name__}")
    if options.get("fsdp_version", 2) != 2:
        raise UsageError("train.fsdp.fsdp_version: only version 2 is supported")


def shard_model(model: Any, options: Mapping[str, Any], device: torch.device) -> Any:
    """Share out the weights of a model in place. The optimizer must be made afterwards."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import (
        CPUOffloadPolicy,
        OffloadPolicy,
        fully_shard,
        register_fsdp_forward_method,
    )

    mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
    offload: Any = CPUOffloadPolicy() if options.get("cpu_offload") else OffloadPolicy()
    reshard = bool(options.get("reshard_after_forward", True))
    layers = list(get_decoder_layers(model.language_model))
    for layer in layers:
        # The backward pass begins with the last layer, so that dropping it would only mean to gather it again.
        dropped = reshard and layer is not layers[-1]
        fully_shard(layer, mesh=mesh, reshard_after_forward=dropped, offload_policy=offload)
    # Fusion reads the root's weights inside the layers, in the backward pass too: they stay gathered until it ends.
    fully_shard(model, mesh=mesh, reshard_after_forward=False, offload_policy=offload)
    if device.type == "cpu" and hasattr(model, "set_custom_all_gather"):  # since torch 2.9; else only slower
        for unit in (*layers, model):
            unit.set_custom_all_gather(_BroadcastGather())
    register_fsdp_forward_method(model, "generate")
    return model


class _BroadcastGather:
    """Gathers a unit's weights by one broadcast from each process: a third of the time of gloo's own gathering."""

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> Tensor:
        """The memory that is gathered into."""
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(
        self,
        output_tensor: Tensor,
        input_tensor: Tensor,
        group: Any,
        async_op: bool = False,  # noqa: ARG002
    ) -> None:
        """Fill the output with the shares of all processes, by their rank."""
        shares = output_tensor.chunk(group.size())
        shares[group.rank()].copy_(input_tensor)
        for rank, share in enumerate(shares):
            torch.distributed.broadcast(share, group=group, group_src=rank)


@contextmanager
def gradients_kept_back(model: Any) -> Iterator[None]:
    """Within this context, gradients of a sharded model are summed up in each process and not exchanged."""
    model.set_requires_gradient_sync(False)
    try:
        yield
    finally:
        model.set_requires_gradient_sync(True)
