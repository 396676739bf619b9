"""MIMIC-Chat on disk.

A finished model is a folder in the form of the transformers library: `config.json`, `model.safetensors`, the
tokenizer. LoRA is merged into it, or lies apart in `adapter/` as peft writes it. With `whole=False`, weights that
never learnt are left out and taken again from where they came from. What a training goes on from is another
folder: only what learns, the optimizer, and where it was; nothing in it is a pickle.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from msgspec import Struct
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from vivant.core.errors import VivantError
from vivant.models.base import ModelError
from vivant.models.transformers_engine import loading_error
from vivant.train.data.stream import Place
from vivant.train.model.config import MimicChatConfig, Parts
from vivant.train.model.lora import merged_state, peft_config, split_lora
from vivant.train.model.modeling import MimicChat
from vivant.train.model.processing import Processor, load_tokenizer

WEIGHTS, CONFIG, STATE = "model.safetensors", "config.json", "state.json"
_FORMAT = {"format": "pt"}


class CheckpointError(VivantError):
    """A folder is no checkpoint, or one of something else."""


# ── finished models ──


def save_model(
    folder: Path,
    model: MimicChat,
    words: Any,
    *,
    state: dict[str, Tensor] | None = None,
    lora: Literal["merged", "apart"] = "merged",
    whole: bool = True,
) -> Path:
    """Write a model that `load_model` and `--model mimic-chat/FOLDER` read. The folder appears whole."""
    weights = dict(state or model.state_dict())
    parts = model.settings
    made = _aside(folder)
    if parts.language.lora is not None and lora == "merged":
        weights = merged_state(weights, parts.language.lora)
        language = msgspec.structs.replace(parts.language, lora=None)
        parts = msgspec.structs.replace(parts, language=language)
    elif parts.language.lora is not None:
        weights, updates = split_lora(weights)
        adapter = peft_config(model.language_model, parts.language.lora)
        adapter.base_model_name_or_path = parts.language.name or None
        adapter.save_pretrained(made / "adapter")
        save_file(_owned(updates), made / "adapter" / "adapter_model.safetensors", _FORMAT)
    if not whole:
        weights = {name: value for name, value in weights.items() if not fetched(name, parts)}
    save_file(_owned(weights), made / WEIGHTS, _FORMAT)
    config = MimicChatConfig(parts=msgspec.to_builtins(parts), architectures=["MimicChat"])
    config.save_pretrained(made)
    words.save_pretrained(made)
    _replace(made, folder)
    return folder


def load_model(folder: str | Path, *, dtype: Any = None) -> tuple[MimicChat, Processor]:
    """A finished model and what feeds it."""
    place = Path(folder).expanduser()
    if not (place / CONFIG).is_file() or not (place / WEIGHTS).is_file():
        raise CheckpointError(f"{place} holds no MIMIC-Chat: {CONFIG} and {WEIGHTS} are expected in it")
    try:
        config = MimicChatConfig.from_pretrained(place)
        words = load_tokenizer(place)
        weights = load_file(place / WEIGHTS)
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(loading_error(str(place), error)) from error
    if config.model_type != MimicChatConfig.model_type or not config.parts:
        raise CheckpointError(
            f"{place} is a {config.model_type}, no MIMIC-Chat; try --model transformers/{place}"
        )
    parts = config.settings
    missing = [name for name in _names(config) if name not in weights and fetched(name, parts)]
    model = MimicChat(config, pretrained=bool(missing))
    adapter = place / "adapter" / "adapter_model.safetensors"
    if parts.language.lora is not None:
        weights = joined_state(weights, load_file(adapter), model)
    fit(model, weights, str(place), {*missing})
    model.eval()
    if dtype is not None:
        model.to(dtype)
    return model, Processor(parts, words, model.vocabulary)


def fetched(name: str, parts: Parts) -> bool:
    """Whether a weight never learns and can be had again by its model's name."""
    if name.startswith("eyes."):
        return bool(parts.vision.frozen and parts.vision.name)
    return name.startswith("language_model.") and bool(parts.language.frozen and parts.language.name)


def _names(config: MimicChatConfig) -> list[str]:
    with torch.device("meta"):
        return list(MimicChat(config).state_dict())


def joined_state(
    weights: dict[str, Tensor], updates: dict[str, Tensor], model: MimicChat
) -> dict[str, Tensor]:
    """Plain weights and peft's updates under the names that the model has them under."""
    found: dict[str, Tensor] = {}
    for name in model.state_dict():
        plain = name.replace(".base_layer.", ".")
        update = f"base_model.model.{name.removeprefix('language_model.').replace('.default.', '.')}"
        if "lora_" in name and update in updates:
            found[name] = updates[update]
        elif plain in weights:
            found[name] = weights[plain]
    return found


def fit(
    model: torch.nn.Module, weights: dict[str, Tensor], where: str, spared: set[str] | None = None
) -> None:
    """Put weights into a model; one that is missing, left over or of another shape names itself."""
    own = model.state_dict()
    tied = {name for name in own if name not in _owned(own)}
    lacking = sorted(own.keys() - weights.keys() - (spared or set()) - tied)
    strange = sorted(weights.keys() - own.keys())
    other = sorted(name for name in own.keys() & weights.keys() if own[name].shape != weights[name].shape)
    for names, what in ((lacking, "lacks"), (strange, "has besides"), (other, "has in another shape")):
        if names:
            raise CheckpointError(
                f"{where} is a checkpoint of another model: it {what} {names[0]}"
                + (f" and {len(names) - 1} more" if len(names) > 1 else "")
            )
    model.load_state_dict(weights, strict=False)


def _owned(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Each tensor once: a head that is the embedding again is left out."""
    seen: set[tuple[int, torch.Size]] = set()
    kept: dict[str, Tensor] = {}
    for name, value in state.items():
        mark = (value.data_ptr(), value.shape)
        if value.numel() and value.device.type != "meta" and mark in seen:
            continue
        seen.add(mark)
        kept[name] = value.detach().contiguous().cpu()
    return kept


# ── what a training goes on from ──


class State(Struct, frozen=True, kw_only=True):
    """Where a training is."""

    place: Place
    fingerprint: str
    best: float | None = None
    best_step: int = -1
    skipped: tuple[str, ...] = ()


def save_state(folder: Path, state: State, weights: dict[str, Tensor], optimizer: dict[str, Tensor]) -> None:
    """Write a checkpoint; it appears whole, or not at all."""
    made = _aside(folder)
    save_file(_owned(weights), made / "weights.safetensors")
    save_file(
        {name: value.contiguous().cpu() for name, value in optimizer.items()}, made / "optimizer.safetensors"
    )
    (made / STATE).write_bytes(msgspec.json.format(msgspec.json.encode(state)))
    for file in made.iterdir():
        with file.open("rb") as written:
            os.fsync(written.fileno())
    _replace(made, folder)


def load_state(folder: Path) -> tuple[State, dict[str, Tensor], dict[str, Tensor]]:
    """What `save_state` wrote."""
    try:
        state = msgspec.json.decode((folder / STATE).read_bytes(), type=State)
        return state, load_file(folder / "weights.safetensors"), load_file(folder / "optimizer.safetensors")
    except (OSError, msgspec.MsgspecError, ValueError, SafetensorError) as error:
        raise CheckpointError(
            f"The checkpoint {folder} cannot be read: {error}; delete it to go on from an earlier one"
        ) from error


def checkpoints(out: Path) -> list[Path]:
    """The checkpoints of a training, the oldest first."""
    return sorted(path for path in (out / "checkpoints").glob("step-*") if (path / STATE).is_file())


def _aside(folder: Path) -> Path:
    made = folder.with_name(f".{folder.name}.writing")
    if made.exists():
        shutil.rmtree(made)
    made.mkdir(parents=True)
    return made


def _replace(made: Path, folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    made.rename(folder)
