"""Vision towers, projectors and language models out of checkpoints, in native classes, with every weight accounted for.

A part may be a checkpoint of its own, or lie in a whole vision-language checkpoint: InternVL in OpenGVLab's format or
in transformers' own, Qwen2.5-VL, Qwen3-VL. Only the files' tensors of the part that is wanted are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from vivant.models.base import ModelError
from vivant.models.transformers_engine import describe_loading_error
from vivant.models.weights_check import require_all_weights
from vivant_train.backbones import conversion
from vivant_train.backbones.files import CheckpointFiles, open_checkpoint

Part = Literal["vision", "projector", "language"]

QWEN_VL = ("qwen2_5_vl", "qwen3_vl")
WHOLE = (conversion.INTERNVL_CHAT, "internvl", *QWEN_VL)
"""Families whose checkpoints hold a vision tower and a language model."""
_PROJECTOR_LAYERS = {"layer_norm": "0", "linear_1": "1", "linear_2": "3"}
_TEXT_HALVES = ("text_model.*", "logit_scale", "logit_bias", "*text_projection*", "visual_projection*")
"""What a contrastive checkpoint holds beside its vision tower."""


def is_whole(name: str) -> bool:
    """Whether a checkpoint holds both a vision tower and a language model."""
    return open_checkpoint(name).model_type in WHOLE


def assign_part(name: str, family: str) -> tuple[Part, str] | None:
    """The part that a tensor of a whole checkpoint belongs to, and its name there."""
    if family == conversion.INTERNVL_CHAT:
        for prefix, part in (
            ("vision_model.", "vision"),
            ("mlp1.", "projector"),
            ("language_model.", "language"),
        ):
            if name.startswith(prefix):
                return part, name.removeprefix(prefix)  # type: ignore[return-value]
        return None
    if name.endswith("lm_head.weight"):
        return "language", "lm_head.weight"
    plain = name.removeprefix("model.")
    for prefix in ("vision_tower.", "visual."):
        if plain.startswith(prefix):
            return "vision", plain.removeprefix(prefix)
    if plain.startswith("multi_modal_projector."):
        layer, _, rest = plain.removeprefix("multi_modal_projector.").partition(".")
        return ("projector", f"{_PROJECTOR_LAYERS[layer]}.{rest}") if layer in _PROJECTOR_LAYERS else None
    if plain.startswith("language_model."):
        return "language", "model." + plain.removeprefix("language_model.").removeprefix("model.")
    # The first Qwen2.5-VL files have the language model's layers right under `model.`.
    return ("language", name) if family in QWEN_VL and name.startswith("model.") else None


def read_part(files: CheckpointFiles, part: Part) -> dict[str, Tensor]:
    """The tensors of one part by their names there. A tensor of no part is an error."""
    family = files.model_type
    assigned = {name: assign_part(name, family) for name in files.list_tensors()}
    strays = sorted(name for name, value in assigned.items() if value is None)
    if strays:
        raise ModelError(f"{files.name} ({family}) has a weight that belongs to no part of it: {strays[0]}")
    places = {name: value[1] for name, value in assigned.items() if value is not None and value[0] == part}
    weights = {places[name]: value for name, value in files.read_tensors(places.__contains__).items()}
    return conversion.merge_stored_lora(weights) if family == conversion.INTERNVL_CHAT else weights


# ── configurations ──


def _read_native_config(files: CheckpointFiles, trust_remote_code: bool) -> Any:
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(str(files.folder), trust_remote_code=trust_remote_code)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(describe_loading_error(files.name, error)) from error


def read_vision_config(name: str, *, trust_remote_code: bool = False) -> Any:
    """The native configuration of a checkpoint's vision tower."""
    files = open_checkpoint(name)
    if files.model_type == conversion.INTERN_VIT:
        return conversion.convert_vision_config(files.config, name)
    if files.model_type == conversion.INTERNVL_CHAT:
        if files.config.get("select_layer", -1) != -1:
            raise ModelError(
                f"{name} takes its features from another layer than the last, which is not supported"
            )
        return conversion.convert_vision_config(files.config.get("vision_config", {}), name)
    whole = _read_native_config(files, trust_remote_code)
    config = getattr(whole, "vision_config", whole)
    if not hasattr(config, "patch_size"):
        raise ModelError(f"{name} is a {files.model_type}, which has no vision tower")
    return config


def read_language_config(name: str, *, trust_remote_code: bool = False) -> Any:
    """The native configuration of a checkpoint's language model."""
    files = open_checkpoint(name)
    if files.model_type in (conversion.INTERNLM2, conversion.INTERNLM3):
        return conversion.convert_language_config(files.config, name)
    if files.model_type == conversion.INTERNVL_CHAT:
        return _read_chat_language_config(files)
    if files.model_type in QWEN_VL:
        return _plain_qwen_config(_read_native_config(files, trust_remote_code).get_text_config())
    config = _read_native_config(files, trust_remote_code)
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    text = config.get_text_config() if files.model_type in WHOLE else config
    if type(text) not in MODEL_FOR_CAUSAL_LM_MAPPING and not trust_remote_code:
        raise ModelError(f"{name} is a {files.model_type}, which is no causal language model")
    return text


def _read_chat_language_config(files: CheckpointFiles) -> Any:
    from transformers import AutoConfig

    values = dict(files.config.get("llm_config", {}))
    architecture = (values.get("architectures") or [""])[0]
    if architecture.startswith("InternLM"):
        kind = conversion.INTERNLM3 if architecture.startswith("InternLM3") else conversion.INTERNLM2
        return conversion.convert_language_config({**values, "model_type": kind}, files.name)
    native = {"Qwen2ForCausalLM": "qwen2", "Qwen3ForCausalLM": "qwen3", "LlamaForCausalLM": "llama"}
    if architecture not in native:
        raise ModelError(
            f"{files.name}: its language model is a {architecture or 'nameless class'}; InternLM2, InternLM3, "
            "Qwen2, Qwen3 and Llama are supported"
        )
    known = {name: value for name, value in values.items() if name not in ("model_type", "auto_map")}
    return AutoConfig.for_model(native[architecture], **known)


def _plain_qwen_config(text: Any) -> Any:
    """The text half of Qwen-VL as the plain Qwen that it is: positions of text are the same along all three axes."""
    from transformers import Qwen2Config, Qwen3Config

    values = text.to_dict()
    rope = dict(values.get("rope_parameters") or {})
    kind = rope.get("rope_type", "default")
    values["rope_parameters"] = {
        "rope_type": "default" if kind == "mrope" else kind,
        **{
            n: v
            for n, v in rope.items()
            if n not in ("mrope_section", "mrope_interleaved", "rope_type", "type")
        },
    }
    for name in ("model_type", "rope_scaling", "layer_types", "transformers_version", "architectures"):
        values.pop(name, None)
    return (Qwen3Config if text.model_type.startswith("qwen3") else Qwen2Config)(**values)


# ── weights ──


def load_vision_tower(
    name: str, *, dtype: torch.dtype, attention: str = "", trust_remote_code: bool = False
) -> Any:
    """A vision tower in its native class."""
    from transformers import AutoModel
    from transformers.models.auto.modeling_auto import MODEL_MAPPING

    files, config = open_checkpoint(name), read_vision_config(name, trust_remote_code=trust_remote_code)
    model_class = vision_class(config)
    if files.model_type == conversion.INTERN_VIT:
        weights = conversion.merge_stored_lora(files.read_tensors(lambda _: True))
        return _build(model_class, config, conversion.convert_vision_weights(weights), name, dtype, attention)
    if files.model_type in WHOLE:
        weights = read_part(files, "vision")
        if files.model_type == conversion.INTERNVL_CHAT:
            weights = conversion.convert_vision_weights(weights)
        return _build(model_class, config, weights, name, dtype, attention)
    if model_class is None and type(config) in MODEL_MAPPING:
        model_class = MODEL_MAPPING[type(config)]
    if model_class is not None:
        weights = files.read_tensors(lambda tensor: not any(map(partial(fnmatchcase, tensor), _TEXT_HALVES)))
        return _build(model_class, config, weights, name, dtype, attention)
    arguments: dict[str, Any] = {"config": config, "dtype": dtype, "output_loading_info": True}
    if attention:
        arguments["attn_implementation"] = attention
    files.fetch_weights()
    try:
        model, info = AutoModel.from_pretrained(
            str(files.folder), trust_remote_code=trust_remote_code, **arguments
        )
    except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
        raise ModelError(describe_loading_error(name, error)) from error
    require_all_weights(name, info, unused=_TEXT_HALVES)
    return model


def vision_class(config: Any) -> Any:
    """The class of a vision tower that the library's list of models does not name."""
    import transformers

    names = {
        "qwen2_5_vl_vision": "Qwen2_5_VisionTransformerPretrainedModel",
        "qwen2_5_vl": "Qwen2_5_VisionTransformerPretrainedModel",
        "qwen3_vl_vision": "Qwen3VLVisionModel",
        "qwen3_vl": "Qwen3VLVisionModel",
        "internvl_vision": "InternVLVisionModel",
    }
    name = names.get(config.model_type)
    if name is None:
        return None
    if name.startswith("Qwen2"):
        from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as module
    elif name.startswith("Qwen3"):
        from transformers.models.qwen3_vl import modeling_qwen3_vl as module
    else:
        module = transformers
    return getattr(module, name)


def load_language_model(
    name: str, *, dtype: torch.dtype, attention: str = "", quantize: str = "", trust_remote_code: bool = False
) -> Any:
    """A causal language model in its native class."""
    from transformers import AutoModelForCausalLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    files, config = open_checkpoint(name), read_language_config(name, trust_remote_code=trust_remote_code)
    family = files.model_type
    if family in WHOLE or family in (conversion.INTERNLM2, conversion.INTERNLM3):
        weights = read_part(files, "language") if family in WHOLE else files.read_tensors(lambda _: True)
        if any(".attention.wqkv." in each for each in weights):
            weights = conversion.convert_language_weights(weights, config)
        _settle_tied_head(config, weights)
        return _build(
            MODEL_FOR_CAUSAL_LM_MAPPING[type(config)], config, weights, name, dtype, attention, quantize
        )
    arguments: dict[str, Any] = {"dtype": dtype, "output_loading_info": True}
    if attention:
        arguments["attn_implementation"] = attention
    if quantize:
        arguments["quantization_config"] = make_quantization(quantize, dtype)
    files.fetch_weights()
    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            str(files.folder), trust_remote_code=trust_remote_code, **arguments
        )
    except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
        raise ModelError(describe_loading_error(name, error)) from error
    require_all_weights(name, info, quantized=bool(quantize))
    return model


def load_projector(name: str) -> dict[str, Tensor]:
    """The weights of InternVL's projector as those of a norm (0) and two linear layers (1, 3)."""
    files = open_checkpoint(name)
    if files.model_type not in (conversion.INTERNVL_CHAT, "internvl"):
        raise ModelError(f"{name} is a {files.model_type}, which has no projector to start from")
    if files.model_type == conversion.INTERNVL_CHAT and files.config.get("ps_version", "v1") != "v2":
        raise ModelError(
            f"{name} orders its patches in the first way (ps_version v1), which is not supported"
        )
    return read_part(files, "projector")


def make_quantization(quantize: str, dtype: torch.dtype) -> Any:
    """The library's settings for weights of four or eight bits."""
    from transformers import BitsAndBytesConfig

    if quantize == "int8":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )


def _settle_tied_head(config: Any, weights: Mapping[str, Tensor]) -> None:
    """Whether the head is the embedding: what the file holds decides, not a default."""
    head, table = weights.get("lm_head.weight"), weights.get("model.embed_tokens.weight")
    config.tie_word_embeddings = head is None or (
        bool(config.tie_word_embeddings) and table is not None and torch.equal(head, table)
    )


def _build(
    model_class: Any,
    config: Any,
    weights: dict[str, Tensor],
    name: str,
    dtype: torch.dtype,
    attention: str,
    quantize: str = "",
) -> Any:
    arguments: dict[str, Any] = {"config": config, "state_dict": weights, "dtype": dtype}
    if attention:
        arguments["attn_implementation"] = attention
    if quantize:
        arguments["quantization_config"] = make_quantization(quantize, dtype)
    try:
        model, info = model_class.from_pretrained(None, output_loading_info=True, **arguments)
    except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
        raise ModelError(describe_loading_error(name, error)) from error
    require_all_weights(name, info, quantized=bool(quantize))
    return model


_VIDEO_HEADS = ("classifier.", "decoder.", "encoder_to_decoder.", "mask_token", "fc_norm.", "pooler.")
"""What video checkpoints hold beside the encoder: heads of classifiers, the half that pretraining throws away."""


def load_video_encoder(name: str, *, dtype: torch.dtype) -> Any:
    """TimeSformer, VideoMAE or V-JEPA 2, without the heads of a classifier or of pretraining."""
    import transformers

    files = open_checkpoint(name)
    config = _read_native_config(files, trust_remote_code=False)
    classes = {"timesformer": "TimesformerModel", "videomae": "VideoMAEModel", "vjepa2": "VJEPA2Model"}
    if config.model_type not in classes:
        raise ModelError(f"{name} is a {config.model_type}; a TimeSformer, VideoMAE or V-JEPA 2 is expected")
    weights: dict[str, Tensor] = {}
    for key, value in files.read_tensors(lambda _: True).items():
        plain = key.removeprefix(f"{config.model_type}.")
        if plain.startswith(_VIDEO_HEADS):
            continue
        # Older VideoMAE files keep the biases of query and value apart from their layers.
        plain = plain.replace(".attention.q_bias", ".attention.query.bias")
        weights[plain.replace(".attention.v_bias", ".attention.value.bias")] = value
    model_class = getattr(transformers, classes[config.model_type])
    if config.model_type == "videomae" and not any(each.startswith("layernorm.") for each in weights):
        config.use_mean_pooling = True  # classifiers put their norm into the head
    return _build(model_class, config, weights, name, dtype, "")
