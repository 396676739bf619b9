"""MIMIC-Chat on disk.

A finished model is a folder in the form of the transformers library: `config.json`, `model.safetensors`, the
tokenizer. LoRA is merged into it, or lies apart in `adapter/` as peft writes it. With `complete=False`, weights that
never learn are left out and loaded again from where they came from. What a training goes on from is another
folder: only what learns, the optimizer, and where it was; nothing in it is a pickle.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from msgspec import Struct, field
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from vivant.core.errors import VivantError
from vivant.core.files import atomic_path, remove
from vivant.models.base import ModelError
from vivant.models.transformers_engine import describe_loading_error
from vivant_train.backbones.tokenizers import load_tokenizer
from vivant_train.data.dataloader import TrainingPosition
from vivant_train.model.config import MimicChatConfig, ModelSettings
from vivant_train.model.lora import make_peft_config, merge_lora, split_lora
from vivant_train.model.modeling import MimicChat
from vivant_train.model.processing import Processor

WEIGHTS, CONFIG, STATE = "model.safetensors", "config.json", "state.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
_METADATA = {"format": "pt"}
_REPLACED = ".old"
"""Ends the name of a folder while another takes its place."""
_BACKBONES = {"vision": "eyes", "language": "language_model"}


class CheckpointError(VivantError):
    """A folder is no checkpoint, or one of something else."""


# ── finished models ──


def save_model(
    folder: Path,
    model: MimicChat,
    tokenizer: Any,
    *,
    state: dict[str, Tensor] | None = None,
    lora: Literal["merged", "apart"] = "merged",
    complete: bool = True,
) -> Path:
    """Write a model that `load_model` and `--model mimic-chat/FOLDER` read. The folder appears at once.

    Args:
        folder: where to write; a folder that exists is replaced.
        model: the model without what accelerate wraps it in.
        tokenizer: its tokenizer.
        state: its weights, where they are gathered from several processes.
        lora: whether low-rank updates are merged into the weights or lie apart, as peft writes them.
        complete: whether weights that can be loaded again by their model's name are written too.
    """
    weights = dict(state or model.state_dict())
    settings, trained = model.settings, set(model.trained)
    lora_settings = settings.language.lora
    with _replaced_folder(folder) as temporary:
        if lora_settings is not None and lora == "merged":
            weights = merge_lora(weights, lora_settings)
            trained.add("language")
            language = msgspec.structs.replace(settings.language, lora=None)
            settings = msgspec.structs.replace(settings, language=language)
        elif lora_settings is not None:
            weights, updates = split_lora(weights)
            adapter = make_peft_config(model.language_model, lora_settings)
            is_published = settings.language_source and "language" not in trained
            adapter.base_model_name_or_path = settings.language_source if is_published else None
            adapter.save_pretrained(temporary / "adapter")
            save_file(_drop_tied_tensors(updates), temporary / "adapter" / ADAPTER_WEIGHTS, _METADATA)
        if not complete:
            weights = {
                name: value for name, value in weights.items() if not is_downloadable(name, settings, trained)
            }
        save_file(_drop_tied_tensors(weights), temporary / WEIGHTS, _METADATA)
        config = MimicChatConfig(
            parts=msgspec.to_builtins(settings), trained=sorted(trained), architectures=["MimicChat"]
        )
        config.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    return folder


def load_model(
    folder: str | Path, *, dtype: Any = None, quantized: bool = True
) -> tuple[MimicChat, Processor]:
    """A finished model and its processor.

    Args:
        folder: what `save_model` wrote.
        dtype: a torch dtype to convert the weights to.
        quantized: whether weights that were quantized in training are so again.
    """
    path = Path(folder).expanduser()
    if not (path / CONFIG).is_file() or not (path / WEIGHTS).is_file():
        raise CheckpointError(f"{path} holds no MIMIC-Chat: {CONFIG} and {WEIGHTS} are expected in it")
    try:
        config = MimicChatConfig.from_pretrained(path)
        tokenizer = load_tokenizer(path)
        weights = load_file(path / WEIGHTS)
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(describe_loading_error(str(path), error)) from error
    if config.model_type != MimicChatConfig.model_type or not config.parts:
        raise CheckpointError(
            f"{path} is a {config.model_type}, no MIMIC-Chat; try --model transformers/{path}"
        )
    settings = config.settings
    trained = config.trained or ()
    if not quantized:
        language = msgspec.structs.replace(settings.language, quantize="")
        settings = msgspec.structs.replace(settings, language=language)
        config = MimicChatConfig(parts=msgspec.to_builtins(settings), trained=config.trained)
    missing = [
        name
        for name in _list_weight_names(config)
        if name not in weights and is_downloadable(name, settings, trained)
    ]
    model = MimicChat(config, pretrained=bool(missing), dtype=dtype or torch.float32)
    if config.trained is None:  # written before it was said: what is stored may have learnt
        stored = {name.partition(".")[0] for name in weights}
        model.trained |= {part for part, module in _BACKBONES.items() if module in stored}
    if settings.language.lora is not None:
        weights = join_lora_state(weights, _load_adapter(path), model, str(path))
    # What was fetched by its name; of quantized weights also the scales beside them.
    fetched = {name for name in model.state_dict() if missing and is_downloadable(name, settings, trained)}
    load_weights(model, weights, str(path), fetched)
    model.eval()
    if not settings.language.quantize:
        model.to(dtype or torch.float32)
    return model, Processor(settings, tokenizer, model.vocabulary)


def is_downloadable(name: str, settings: ModelSettings, trained: Collection[str]) -> bool:
    """Whether a weight never learnt and can be loaded again by its model's name. `trained`: the backbones that did."""
    if "lora_" in name:
        return False
    module = name.partition(".")[0]
    if module == _BACKBONES["vision"]:
        return bool(settings.vision.frozen and settings.vision_source and "vision" not in trained)
    if module == "video_encoder":
        return bool(settings.temporal.encoder.name)
    return module == _BACKBONES["language"] and bool(
        settings.language.frozen and settings.language_source and "language" not in trained
    )


def read_trained(folder: Path) -> list[str]:
    """The backbones of a finished model that have learnt, as far as its configuration says it."""
    try:
        config = MimicChatConfig.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise ModelError(describe_loading_error(str(folder), error)) from error
    return config.trained or []


def _list_weight_names(config: MimicChatConfig) -> list[str]:
    with torch.device("meta"):
        return list(MimicChat(config).state_dict())


def _load_adapter(folder: Path) -> dict[str, Tensor]:
    file = folder / "adapter" / ADAPTER_WEIGHTS
    try:
        tensors: dict[str, Tensor] = load_file(file)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{file} cannot be read: {error}; the model's LoRA is in it") from error
    return tensors


def join_lora_state(
    weights: dict[str, Tensor], updates: dict[str, Tensor], model: MimicChat, source: str
) -> dict[str, Tensor]:
    """Base weights and peft's updates, by the names that the model has for them. What has none is an error."""
    left = {**weights, **updates}
    joined: dict[str, Tensor] = {}
    for name in model.state_dict():
        plain = name.replace(".base_layer.", ".")
        if "lora_" in name:
            plain = f"base_model.model.{name.removeprefix('language_model.').replace('.default.', '.')}"
        if plain in left:
            joined[name] = left.pop(plain)
    if left:
        raise CheckpointError(f"{source} is a checkpoint of another model: it has besides {min(left)}")
    return joined


def load_weights(
    model: torch.nn.Module, weights: dict[str, Tensor], source: str, optional: set[str] | None = None
) -> None:
    """Load weights into a model. A weight that is missing, unexpected or of another shape is an error that names it."""
    state = model.state_dict()
    untied = _drop_tied_tensors(state)
    missing = sorted(untied.keys() - weights.keys() - (optional or set()))
    unexpected = sorted(weights.keys() - state.keys())
    misshapen = sorted(n for n in state.keys() & weights.keys() if state[n].shape != weights[n].shape)
    for names, what in ((missing, "lacks"), (unexpected, "has besides"), (misshapen, "has in another shape")):
        if names:
            raise CheckpointError(
                f"{source} is a checkpoint of another model: it {what} {names[0]}"
                + (f" and {len(names) - 1} more" if len(names) > 1 else "")
            )
    model.load_state_dict(weights, strict=False)


def _drop_tied_tensors(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Each tensor once: an output head that is tied to the embedding is left out."""
    seen: set[tuple[int, torch.Size]] = set()
    untied: dict[str, Tensor] = {}
    for name, value in state.items():
        identity = (value.data_ptr(), value.shape)
        if value.numel() and value.device.type != "meta" and identity in seen:
            continue
        seen.add(identity)
        untied[name] = value.detach().contiguous().cpu()
    return untied


# ── what a training resumes from ──


class TrainingState(Struct, frozen=True, kw_only=True):
    """Where a training is."""

    position: TrainingPosition = field(name="place")
    fingerprint: str
    best: float | None = None
    best_step: int = -1
    skipped: tuple[str, ...] = ()


def save_state(
    folder: Path, state: TrainingState, weights: dict[str, Tensor], optimizer: dict[str, Tensor]
) -> None:
    """Write a checkpoint; it appears at once, or not at all."""
    with _replaced_folder(folder) as temporary:
        save_file(_drop_tied_tensors(weights), temporary / "weights.safetensors")
        tensors = {name: value.contiguous().cpu() for name, value in optimizer.items()}
        save_file(tensors, temporary / "optimizer.safetensors")
        (temporary / STATE).write_bytes(msgspec.json.format(msgspec.json.encode(state)))
        for path in temporary.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def load_state(folder: Path) -> tuple[TrainingState, dict[str, Tensor], dict[str, Tensor]]:
    """What `save_state` wrote."""
    try:
        state = msgspec.json.decode((folder / STATE).read_bytes(), type=TrainingState)
        return state, load_file(folder / "weights.safetensors"), load_file(folder / "optimizer.safetensors")
    except (OSError, msgspec.MsgspecError, ValueError, SafetensorError) as error:
        raise CheckpointError(
            f"The checkpoint {folder} cannot be read: {error}; delete it to go on from an earlier one"
        ) from error


def list_checkpoints(out: Path) -> list[Path]:
    """The checkpoints of a training, the oldest first."""
    return sorted(path for path in (out / "checkpoints").glob("step-*") if (path / STATE).is_file())


def copy_model(folder: Path, copy: Path) -> None:
    """Copy a finished model; the copy appears at once, in place of an earlier one."""
    with _replaced_folder(copy) as temporary:
        shutil.copytree(folder, temporary, dirs_exist_ok=True)


@contextmanager
def _replaced_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` when the block ends without an error."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        yield temporary
        if folder.exists():  # set aside until the new one is there: a kill in between loses neither
            old = folder.with_name(f".{folder.name}{_REPLACED}")
            remove(old)
            folder.rename(old)
    remove(folder.with_name(f".{folder.name}{_REPLACED}"))


def list_replaced(out: Path) -> dict[Path, Path]:
    """Models and checkpoints that a kill between two renames left without their names: name → where it lies."""
    left = [path for folder in (out, out / "checkpoints") for path in folder.glob(f".*{_REPLACED}")]
    named = {path.with_name(path.name[1 : -len(_REPLACED)]): path for path in left}
    return {path: old for path, old in named.items() if not path.exists()}


def recover_folders(out: Path) -> None:
    """Put back what a killed training was replacing, and remove what it was writing. Only one process calls it."""
    for path, old in list_replaced(out).items():
        old.rename(path)
    for folder in (out, out / "checkpoints"):
        for path in (*folder.glob(".*.tmp"), *folder.glob(f".*{_REPLACED}")):
            remove(path)
