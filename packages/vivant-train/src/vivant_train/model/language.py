"""The language model of a MIMIC-Chat: loaded from a checkpoint, or made from a configuration."""

from __future__ import annotations

from typing import Any

import msgspec
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from vivant.core.errors import UsageError
from vivant.models.base import ModelError, require_package
from vivant.models.transformers_engine import describe_loading_error
from vivant_train.backbones.loading import load_language_model, read_language_config
from vivant_train.model.config import LanguageSettings, ModelSettings

_NOT_KEPT = ("model_type", "transformers_version", "dtype", "torch_dtype", "architectures", "_name_or_path")


def make_language_model(
    language: LanguageSettings, name: str, *, pretrained: bool, dtype: torch.dtype = torch.float32
) -> Any:
    """A causal language model.

    Args:
        language: its settings.
        name: the checkpoint, its own or a whole one; empty for random weights.
        pretrained: whether the checkpoint's weights are loaded.
        dtype: the number format of loaded weights.
    """
    if pretrained and name:
        if language.quantize:
            require_package("bitsandbytes", "", "model.language.quantize")
        model = load_language_model(
            name,
            dtype=dtype,
            attention=language.attention,
            quantize=language.quantize,
            trust_remote_code=language.trust_remote_code,
        )
        _check_stated_config(language, model.config, name)
        return model
    try:
        if language.config:
            values = {key: value for key, value in language.config.items() if key != "model_type"}
            config = AutoConfig.for_model(language.config["model_type"], **values)
        else:
            config = read_language_config(name, trust_remote_code=language.trust_remote_code)
        arguments = {"attn_implementation": language.attention} if language.attention else {}
        return AutoModelForCausalLM.from_config(
            config, trust_remote_code=language.trust_remote_code, **arguments
        )
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ModelError(describe_loading_error(name or "model.language.config", error)) from error


def _check_stated_config(language: LanguageSettings, config: Any, name: str) -> None:
    """Stated figures serve to count without a download; they must be the checkpoint's."""
    for key, value in language.config.items():
        real = getattr(config, key, None)
        if key != "model_type" and isinstance(value, int | float) and real is not None and value != real:
            raise UsageError(f"model.language.config.{key} is {value}, but {name} has {real}")


def dump_config(config: Any) -> dict[str, Any]:
    """A configuration of the library as plain data, with what a model needs to be built without its checkpoint."""
    values = {name: value for name, value in config.to_diff_dict().items() if name not in _NOT_KEPT}
    return {"model_type": config.model_type, **values}


def fill_configs(settings: ModelSettings, eyes: Any, language_model: Any) -> ModelSettings:
    """The settings with the checkpoints' own configurations, so that the model can be built without them."""
    vision, language = settings.vision, settings.language
    if settings.vision_source and not vision.config:
        vision = msgspec.structs.replace(vision, config=dump_config(eyes.model.config))
    if settings.language_source and not language.config:
        language = msgspec.structs.replace(language, config=dump_config(language_model.config))
    return msgspec.structs.replace(settings, vision=vision, language=language)
