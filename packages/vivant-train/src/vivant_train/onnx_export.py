"""A finished MIMIC-Chat as ONNX graphs, which run with onnxruntime and no torch: see `onnx_backend.py`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.export import Dim

from vivant.core.errors import UsageError
from vivant.core.files import atomic_path, remove
from vivant.models.onnx_backend import (
    DECODER_GRAPH,
    SETTINGS,
    TOKENIZER,
    VIDEO_GRAPH,
    WINDOW_GRAPH,
    WORDS,
    OnnxModelSettings,
)
from vivant_train.checkpoints import load_model
from vivant_train.model.modeling import MimicChat
from vivant_train.model.processing import Processor
from vivant_train.onnx_graphs import DecoderGraph, VideoEncoderGraph, WindowEncoderGraph, list_layer_kinds

WeightPrecision = Literal["fp32", "fp16"]
_SMALL_TENSOR = 256
"""Tensors of so many numbers or fewer stay as they are: they weigh nothing, and norms are among them."""
_MAX_GRAPH_BYTES = 2 * 10**9
"""Bytes that one graph can hold."""


def export_onnx(
    checkpoint: str | Path,
    out: str | Path,
    *,
    weights: WeightPrecision = "fp32",
    note: str = "",
    words: Sequence[str] = (),
) -> OnnxModelSettings:
    """Write the graphs, the tokenizer and the settings of a checkpoint; the folder appears at once.

    Args:
        checkpoint: a finished model, as `save_model` writes it.
        out: the folder to write; an exported model that is there is replaced.
        weights: `fp16` halves the files: weights are stored in half precision and computed with in full.
        note: a line to keep with the model.
        words: those of the questions it learnt from; it then refuses questions in other words. None: it answers all.
    """
    model, processor = load_model(checkpoint)
    folder = Path(out).expanduser()
    if folder.exists() and not (folder / SETTINGS).is_file() and any(folder.iterdir()):
        raise UsageError(f"{folder} holds something else; name a new folder")
    size = sum(weight.numel() for weight in model.parameters())
    if 4 * size > _MAX_GRAPH_BYTES:
        raise UsageError(f"{checkpoint} has {size / 1e6:.0f} M parameters: one graph holds 500 M at most")
    settings = msgspec.structs.replace(_describe_model(model, processor), weights=weights, note=note)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        _export_graphs(model, temporary, weights)
        processor.tokenizer.backend_tokenizer.save(str(temporary / TOKENIZER))
        if words:
            (temporary / WORDS).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        (temporary / SETTINGS).write_bytes(msgspec.json.format(msgspec.json.encode(settings)) + b"\n")
        remove(folder)
    return settings


def _describe_model(model: MimicChat, processor: Processor) -> OnnxModelSettings:
    settings = model.settings
    temporal = settings.temporal
    template = processor.chat_template
    return OnnxModelSettings(
        vocabulary=model.vocabulary,
        hidden=model.marks.embedding_dim,
        visual_tokens=settings.visual_tokens,
        image_size=settings.vision.image_size,
        spatial_frames=settings.spatial.frames if settings.spatial.on else 0,
        temporal_tokens=temporal.tokens if temporal.on else 0,
        temporal_width=model.temporal.width if temporal.on else 0,
        window=temporal.window,
        context=int(model.language_model.config.get_text_config().max_position_embeddings),
        group=_frames_per_group(model),
        hint=settings.fusion.hint,
        lines=model.lines is not None,
        breaks=settings.language.breaks,
        end=processor.tokenizer.eos_token_id,
        before=tuple(template[0]) if template else (),
        after=tuple(template[1]) if template else None,
        states=tuple(tuple(state.shape) for state in _make_empty_states(model, 0)),
        parameters=sum(weight.numel() for weight in model.parameters()),
    )


def _frames_per_group(model: MimicChat) -> int:
    temporal = model.settings.temporal
    return temporal.tubelet if temporal.on and temporal.init == "fresh" else 1


def _export_graphs(model: MimicChat, folder: Path, weights: WeightPrecision) -> None:
    settings, side = model.settings, model.settings.vision.image_size
    dynamic = Dim.DYNAMIC
    vectors = torch.zeros(1, 1)
    if settings.temporal.on:
        frames = torch.zeros(3, _frames_per_group(model), side, side, 3, dtype=torch.uint8)
        _export_graph(
            WindowEncoderGraph(model),
            (frames,),
            ({0: dynamic},),
            ["frames"],
            ["vectors"],
            folder / WINDOW_GRAPH,
            weights,
        )
        vectors = torch.zeros(5, model.temporal.width)
    scene = torch.zeros(settings.spatial.frames, side, side, 3, dtype=torch.uint8)
    pool = torch.zeros(settings.temporal.tokens, len(vectors))
    shapes: Any = (None, {0: dynamic}, {1: dynamic}) if settings.temporal.on else (None, None, None)
    names = ["scene", "vectors", "pool"]
    _export_graph(
        VideoEncoderGraph(model),
        (scene, vectors, pool),
        shapes,
        names,
        ["seen", "hint"],
        folder / VIDEO_GRAPH,
        weights,
    )
    decoder = DecoderGraph(model)
    states = _make_empty_states(model, 6)
    # Each input is a tensor of its own: the exporter takes one given twice for the same input.
    ids, heads, positions = (torch.zeros(1, 5, dtype=torch.long) for _ in range(3))
    inside, hinted = (torch.zeros(1, 5, 1) for _ in range(2))
    hidden = model.marks.embedding_dim
    video = (torch.zeros(4, hidden), torch.zeros(hidden))
    inputs = (ids, heads, inside, hinted, positions, torch.tensor([1, 2, 4]), *video, states)
    along = {1: dynamic}
    state_shapes = [{2: dynamic} if state.dim() == 4 else None for state in states]
    shapes = (along, along, along, along, along, {0: dynamic}, {0: dynamic}, None, state_shapes)
    names = ["ids", "heads", "inside", "asked", "places", "keep", "seen", "hint"]
    before = [f"state_{number}" for number in range(len(states))]
    after = [f"after_{number}" for number in range(len(states))]
    _export_graph(
        decoder, inputs, shapes, [*names, *before], ["logits", *after], folder / DECODER_GRAPH, weights
    )


def _make_empty_states(model: MimicChat, past: int) -> list[Tensor]:
    """The states of the language model's layers after `past` tokens, all zeros."""
    config: Any = model.language_model.config.get_text_config()
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    states: list[Tensor] = []
    for kind in list_layer_kinds(model):
        if kind == "conv":
            states.append(torch.zeros(1, config.hidden_size, config.conv_L_cache - 1))
        else:
            states += [torch.zeros(1, config.num_key_value_heads, past, head_dim) for _ in range(2)]
    return states


def _export_graph(
    module: nn.Module,
    inputs: tuple[Any, ...],
    shapes: Any,
    names: Sequence[str],
    outputs: Sequence[str],
    file: Path,
    weights: WeightPrecision,
) -> None:
    with torch.no_grad(), warnings.catch_warnings():
        # The exporter warns of its own parts that will change, and of sizes that it takes to be at least two.
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        program: Any = torch.onnx.export(
            module.eval(),
            inputs,
            dynamo=True,
            dynamic_shapes=shapes,
            input_names=list(names),
            output_names=list(outputs),
            verbose=False,
        )
    graph = program.model_proto
    for node in graph.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]  # where in the sources each came from: larger than a small model's weights
    if weights == "fp16":
        convert_to_half(graph)
    onnx.save(graph, str(file))


def convert_to_half(model: Any) -> None:
    """Store large tensors in half precision, each with a cast back to full, which is done once at loading."""
    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if values.size <= _SMALL_TENSOR:
            continue
        full = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{full}.half"))
        casts.append(onnx.helper.make_node("Cast", [f"{full}.half"], [full], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
