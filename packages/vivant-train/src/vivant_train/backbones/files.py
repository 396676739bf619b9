"""The files of a checkpoint: a folder, or a name on the hub; its configuration and its tensors by name."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct
from safetensors import SafetensorError, safe_open

from vivant.models.base import ModelError

_INDEX_FILES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_WHOLE_FILES = ("model.safetensors", "pytorch_model.bin")
_SMALL_FILES = ("*.json", "*.model", "*.jinja", "*.txt")


class CheckpointFiles(Struct, frozen=True, eq=False):
    """One checkpoint on disk. Of one on the hub, weights are downloaded when they are first asked for."""

    name: str
    folder: Path
    config: dict[str, Any]
    on_hub: bool = False

    @property
    def model_type(self) -> str:
        """The family that its configuration names."""
        return str(self.config.get("model_type", ""))

    def fetch_weights(self) -> None:
        """Download them, where the checkpoint is on the hub."""
        if self.on_hub:
            _download_weights(self.name)

    def list_tensors(self) -> dict[str, Path]:
        """The file of each tensor. A file that an index names and that is not there is an error."""
        self.fetch_weights()
        for index in _INDEX_FILES:
            if (self.folder / index).is_file():
                weight_map = _read_json(self.folder / index, self.name).get("weight_map", {})
                missing = sorted({f for f in weight_map.values() if not (self.folder / f).is_file()})
                if missing:
                    raise ModelError(
                        f"{self.name} is not complete: {missing[0]} is missing"
                        + (f" and {len(missing) - 1} more files" if len(missing) > 1 else "")
                        + f", which {index} names. Download it again"
                    )
                return {tensor: self.folder / file for tensor, file in weight_map.items()}
        for whole in _WHOLE_FILES:
            if (self.folder / whole).is_file():
                return dict.fromkeys(_list_names(self.folder / whole, self.name), self.folder / whole)
        raise ModelError(
            f"{self.name} holds no weights: {' or '.join(_WHOLE_FILES)}, or an index of several files, is expected"
        )

    def read_tensors(self, is_needed: Callable[[str], bool]) -> dict[str, Any]:
        """The tensors whose names are wanted; the others are not read."""
        by_file: dict[Path, list[str]] = {}
        for tensor, file in self.list_tensors().items():
            if is_needed(tensor):
                by_file.setdefault(file, []).append(tensor)
        tensors: dict[str, Any] = {}
        for file, names in by_file.items():
            tensors.update(_read_file(file, names, self.name))
        return tensors

    def read_dtype(self) -> str:
        """The number format of the first floating tensor: float32, bfloat16, float16."""
        first = next(iter(self.list_tensors().items()), None)
        if first is None:
            return "float32"
        return str(_read_file(first[1], [first[0]], self.name)[first[0]].dtype).removeprefix("torch.")


@functools.lru_cache(maxsize=16)
def open_checkpoint(name: str) -> CheckpointFiles:
    """A folder, or a name on the hub, whose small files are downloaded where they are not in its cache."""
    folder = Path(name).expanduser()
    on_hub = not folder.is_dir()
    if on_hub:
        if name.startswith((".", "/", "~")):
            raise ModelError(f"There is no checkpoint in {name}")
        folder = _download(name, _SMALL_FILES)
    if not (folder / "config.json").is_file():
        raise ModelError(f"{name} is no checkpoint: there is no config.json in {folder}")
    return CheckpointFiles(name, folder, _read_json(folder / "config.json", name), on_hub)


@functools.lru_cache(maxsize=16)
def _download_weights(name: str) -> None:
    """Weights in the safe format; in the old one where there are no others."""
    folder = _download(name, (*_SMALL_FILES, "*.safetensors"))
    if not any(folder.glob("*.safetensors")):
        _download(name, (*_SMALL_FILES, "*.bin"))


def _download(name: str, patterns: Iterable[str]) -> Path:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=list(patterns)))
    except Exception as error:  # the hub's client has many of its own, and those of its network library
        raise ModelError(
            f"{name} is neither a folder nor can it be downloaded: {' '.join(str(error).split())[:200]}"
        ) from error
    return folder


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{name}: {path.name} cannot be read: {error}. Download it again") from error
    if not isinstance(content, dict):
        raise ModelError(f"{name}: {path.name} should be a mapping")
    return content


def _list_names(file: Path, name: str) -> list[str]:
    if file.suffix == ".safetensors":
        try:
            with safe_open(file, framework="pt") as opened:
                return list(opened.keys())
        except (OSError, SafetensorError) as error:
            raise _broken_file(file, name, error) from error
    return list(_load_pickle(file, name))


def _read_file(file: Path, names: Iterable[str], name: str) -> dict[str, Any]:
    if file.suffix != ".safetensors":
        content = _load_pickle(file, name)
        return {tensor: content[tensor] for tensor in names}
    try:
        with safe_open(file, framework="pt") as opened:
            return {tensor: opened.get_tensor(tensor) for tensor in names}
    except (OSError, SafetensorError) as error:
        raise _broken_file(file, name, error) from error


def _load_pickle(file: Path, name: str) -> dict[str, Any]:
    import torch

    try:
        content: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # torch.load raises many kinds on a file that was cut short
        raise _broken_file(file, name, error) from error
    return content


def _broken_file(file: Path, name: str, error: Exception) -> ModelError:
    line = " ".join(str(error).split())[:160]
    return ModelError(f"{name}: {file.name} is damaged or only half downloaded ({line}). Download it again")
