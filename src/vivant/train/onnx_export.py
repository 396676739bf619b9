"""A finished MIMIC-Chat as ONNX graphs, which run with onnxruntime and no torch: see `models/embedded.py`."""

from __future__ import annotations

import logging
import shutil
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
from vivant.train.checkpoints import load_model
from vivant.train.model.modeling import MimicChat
from vivant.train.model.processing import Processor
from vivant.train.onnx_backend import LOOK, READ, SETTINGS, TOKENIZER, WATCH, Exported
from vivant.train.onnx_graphs import Look, Read, Watch, layer_kinds

Weights = Literal["fp32", "fp16"]
_SMALL = 256
"""Tensors of so many numbers or fewer stay as they are: they weigh nothing, and norms are among them."""
_MOST = 2 * 10**9
"""Bytes that one graph can hold."""


def export_onnx(
    checkpoint: str | Path, out: str | Path, *, weights: Weights = "fp32", note: str = ""
) -> Exported:
    """Write the graphs, the tokenizer and the settings of a checkpoint; the folder appears whole.

    `fp16` halves the files: weights are stored in half precision and computed with in full.
    """
    model, processor = load_model(checkpoint)
    folder = Path(out).expanduser()
    if folder.exists() and not (folder / SETTINGS).is_file() and any(folder.iterdir()):
        raise UsageError(f"{folder} holds something else; name a new folder")
    size = sum(weight.numel() for weight in model.parameters())
    if 4 * size > _MOST:
        raise UsageError(f"{checkpoint} has {size / 1e6:.0f} M parameters: one graph holds 500 M at most")
    made = folder.with_name(f".{folder.name}.writing")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    _graphs(model, made, weights)
    processor.words.backend_tokenizer.save(str(made / TOKENIZER))
    settings = msgspec.structs.replace(_settings(model, processor), weights=weights, note=note)
    (made / SETTINGS).write_bytes(msgspec.json.format(msgspec.json.encode(settings)) + b"\n")
    if folder.exists():
        shutil.rmtree(folder)
    made.rename(folder)
    return settings


def _settings(model: MimicChat, processor: Processor) -> Exported:
    parts = model.settings
    temporal = parts.temporal
    around = processor.around
    return Exported(
        vocabulary=model.vocabulary,
        hidden=model.marks.embedding_dim,
        visual_tokens=parts.visual_tokens,
        image_size=parts.vision.image_size,
        spatial_frames=parts.spatial.frames if parts.spatial.on else 0,
        temporal_tokens=temporal.tokens if temporal.on else 0,
        temporal_width=model.temporal.width if temporal.on else 0,
        window=temporal.window,
        group=_group(model),
        hint=parts.fusion.hint,
        lines=model.lines is not None,
        breaks=parts.language.breaks,
        end=processor.words.eos_token_id,
        before=tuple(around[0]) if around else (),
        after=tuple(around[1]) if around else None,
        states=tuple(tuple(state.shape) for state in _states(model, 0)),
        parameters=sum(weight.numel() for weight in model.parameters()),
    )


def _group(model: MimicChat) -> int:
    temporal = model.settings.temporal
    return temporal.tubelet if temporal.on and temporal.init == "fresh" else 1


def _graphs(model: MimicChat, folder: Path, weights: Weights) -> None:
    parts, side = model.settings, model.settings.vision.image_size
    moving = Dim.DYNAMIC
    vectors = torch.zeros(1, 1)
    if parts.temporal.on:
        frames = torch.zeros(3, _group(model), side, side, 3, dtype=torch.uint8)
        _write(Watch(model), (frames,), ({0: moving},), ["frames"], ["vectors"], folder / WATCH, weights)
        vectors = torch.zeros(5, model.temporal.width)
    scene = torch.zeros(parts.spatial.frames, side, side, 3, dtype=torch.uint8)
    pool = torch.zeros(parts.temporal.tokens, len(vectors))
    shapes: Any = (None, {0: moving}, {1: moving}) if parts.temporal.on else (None, None, None)
    names = ["scene", "vectors", "pool"]
    _write(Look(model), (scene, vectors, pool), shapes, names, ["seen", "hint"], folder / LOOK, weights)
    reader = Read(model)
    states = _states(model, 6)
    # Each input is a tensor of its own: the exporter takes one given twice for the same input.
    ids, heads, places = (torch.zeros(1, 5, dtype=torch.long) for _ in range(3))
    inside, asked = (torch.zeros(1, 5, 1) for _ in range(2))
    hidden = model.marks.embedding_dim
    shown = (torch.zeros(4, hidden), torch.zeros(hidden))
    given = (ids, heads, inside, asked, places, torch.tensor([1, 2, 4]), *shown, states)
    along = {1: moving}
    kept = [{2: moving} if state.dim() == 4 else None for state in states]
    shapes = (along, along, along, along, along, {0: moving}, {0: moving}, None, kept)
    names = ["ids", "heads", "inside", "asked", "places", "keep", "seen", "hint"]
    before = [f"state_{number}" for number in range(len(states))]
    after = [f"after_{number}" for number in range(len(states))]
    _write(reader, given, shapes, [*names, *before], ["logits", *after], folder / READ, weights)


def _states(model: MimicChat, past: int) -> list[Tensor]:
    """What the language model's layers remember of `past` tokens, empty."""
    config: Any = model.language_model.config.get_text_config()
    wide = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    made: list[Tensor] = []
    for kind in layer_kinds(model):
        if kind == "conv":
            made.append(torch.zeros(1, config.hidden_size, config.conv_L_cache - 1))
        else:
            made += [torch.zeros(1, config.num_key_value_heads, past, wide) for _ in range(2)]
    return made


def _write(
    module: nn.Module,
    given: tuple[Any, ...],
    shapes: Any,
    names: Sequence[str],
    outputs: Sequence[str],
    file: Path,
    weights: Weights,
) -> None:
    with torch.no_grad(), warnings.catch_warnings():
        # The exporter warns of its own parts that will change, and of sizes that it takes to be at least two.
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        program: Any = torch.onnx.export(
            module.eval(),
            given,
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
        halve(graph)
    onnx.save(graph, str(file))


def halve(model: Any) -> None:
    """Store large tensors in half precision, each with a cast back to full, which is done once at loading."""
    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if values.size <= _SMALL:
            continue
        full = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{full}.half"))
        casts.append(onnx.helper.make_node("Cast", [f"{full}.half"], [full], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
