"""Models named in a YAML file, in the form that MileBench's repository uses.

my_model:                       # or a list of such entries, each named by its model_name
  model_name: openai/gpt-4o-mini    # a backend and a name, ./file.py:Class, or any name with a model_dir
  model_dir: /models/my-model       # a checkpoint for the transformers backend
  gen_kwargs: {max_new_tokens: 512, do_sample: false}
  max_context_len: 4096
  n_tokens_per_image: 576
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.types import Decoding


class GenKwargs(Struct, frozen=True, kw_only=True):
    """Generation settings, under the names that Hugging Face gives them."""

    max_new_tokens: int | None = None
    min_new_tokens: int = 1
    do_sample: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    num_beams: int = 1


class ModelConfig(Struct, frozen=True, kw_only=True):
    """One entry of the file."""

    model_name: str
    model_dir: str | None = None
    cfg_path: None = None
    """The original's example has it, empty; there is nothing here that would read it."""
    gen_kwargs: GenKwargs = GenKwargs()
    max_context_len: int | None = None
    n_tokens_per_image: int | None = None

    @property
    def spec(self) -> str:
        """What `--model` would be without the file."""
        from vivant.models.registry import list_backends

        if ".py:" in self.model_name or self.model_name.endswith(".py"):
            return self.model_name
        if self.model_name.partition("/")[0] in list_backends():
            return self.model_name
        if self.model_dir:
            return f"transformers/{self.model_dir}"
        raise UsageError(
            f"model_name '{self.model_name}' names no backend and there is no model_dir; "
            "write e.g. openai/NAME or ./file.py:Class, or give the checkpoint's folder"
        )

    @property
    def decoding(self) -> Decoding:
        """Greedy unless sampling is asked for."""
        kwargs = self.gen_kwargs
        temperature = kwargs.temperature
        if kwargs.do_sample is False:
            temperature = 0.0
        elif temperature is None:
            temperature = 1.0 if kwargs.do_sample else 0.0
        return Decoding(
            max_tokens=kwargs.max_new_tokens,
            temperature=temperature,
            top_p=kwargs.top_p if temperature else None,
        )

    @property
    def limits(self) -> dict[str, int]:
        """The window, as `PromptContext.limits` takes it."""
        named = {"max_context_len": self.max_context_len, "n_tokens_per_image": self.n_tokens_per_image}
        return {name: value for name, value in named.items() if value is not None}


def load_model_configs(file: str | Path) -> dict[str, ModelConfig]:
    """All models of a file by name. A misspelt key is refused, with the nearest one suggested."""
    from vivant.core.yaml_files import load_yaml

    path = Path(file).expanduser()
    try:
        content = load_yaml(path)
    except DataError as error:
        raise UsageError(str(error)) from error
    if isinstance(content, dict):
        entries = [(str(name), entry) for name, entry in content.items()]
    elif isinstance(content, list):
        entries = [
            (str(entry.get("model_name", number)) if isinstance(entry, dict) else str(number), entry)
            for number, entry in enumerate(content, 1)
        ]
    else:
        raise UsageError(f"{path} should hold models by name, or a list of them")
    models: dict[str, ModelConfig] = {}
    for name, entry in entries:
        if name in models:
            raise UsageError(f"{path}: the name '{name}' is used for two models")
        models[name] = _parse_entry(entry, f"{path}, model '{name}'")
    return models


def _parse_entry(entry: Any, where: str) -> ModelConfig:
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: should be a mapping with model_name and the like")
    _check_keys(entry, ModelConfig.__struct_fields__, where)
    kwargs = entry.get("gen_kwargs")
    if isinstance(kwargs, dict):
        _check_keys(kwargs, GenKwargs.__struct_fields__, f"{where}, gen_kwargs")
    try:
        config = msgspec.convert({k: v for k, v in entry.items() if v is not None}, ModelConfig)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}") from error
    for key in ("num_beams", "min_new_tokens"):
        if getattr(config.gen_kwargs, key) > 1:
            raise UsageError(f"{where}: {key} is {getattr(config.gen_kwargs, key)}; only 1 is supported")
    for key, value in config.limits.items():
        if value < 0:
            raise UsageError(f"{where}: {key} is {value}; it must be a number of tokens")
    return config


def _check_keys(entry: Mapping[Any, Any], allowed: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in allowed:
            raise unknown_name_error(f"key in {where}:", str(key), allowed)
