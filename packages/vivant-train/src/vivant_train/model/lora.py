"""Low-rank updates of a language model's attention: added, merged, split off."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from vivant.core.errors import UsageError
from vivant_train.model.config import LoraSettings

_ADAPTER_NAME = "default"


def list_attention_layers(model: nn.Module) -> tuple[str, ...]:
    """The last names of all linear layers inside attention: q_proj, k_proj … or wqkv, wo."""
    names: set[str] = set()
    for name, module in model.named_modules():
        owner, _, last = name.removesuffix(".base_layer").rpartition(".")
        if (
            isinstance(module, nn.Linear)
            and "lora_" not in name
            and "att" in owner.rpartition(".")[2].lower()
        ):
            names.add(last)
    return tuple(sorted(names))


def make_peft_config(model: nn.Module, lora: LoraSettings) -> Any:
    """The settings in peft's form. A target that is not inside attention is refused."""
    from peft import LoraConfig

    available = list_attention_layers(model)
    for target in lora.targets:
        if target not in available:
            raise UsageError(
                f"model.language.lora: '{target}' is no linear layer inside attention; there are {', '.join(available)}"
            )
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets or available),
        task_type="CAUSAL_LM",
    )


def add_lora(model: nn.Module, lora: LoraSettings) -> None:
    """Put updates beside the attention's layers; they change nothing until they learn."""
    from peft import inject_adapter_in_model

    inject_adapter_in_model(make_peft_config(model, lora), model, _ADAPTER_NAME)


def split_lora(state: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Weights without updates under their plain names, and the updates under peft's names."""
    base = {name.replace(".base_layer.", "."): v for name, v in state.items() if "lora_" not in name}
    updates = {
        f"base_model.model.{name.removeprefix('language_model.').replace(f'.{_ADAPTER_NAME}.', '.')}": value
        for name, value in state.items()
        if "lora_" in name
    }
    return base, updates


def merge_lora(state: dict[str, Tensor], lora: LoraSettings) -> dict[str, Tensor]:
    """Weights with the updates added to them, under their plain names."""
    weights, _ = split_lora(state)
    suffix = f".lora_A.{_ADAPTER_NAME}.weight"
    for name, down in state.items():
        if name.endswith(suffix):
            up = state[name.replace("lora_A", "lora_B")]
            target = name.replace(suffix, ".weight")
            update = (up.float() @ down.float()) * (lora.alpha / lora.rank)
            weights[target] = (weights[target].float() + update).to(weights[target].dtype)
    return weights
