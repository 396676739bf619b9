"""MIMIC-Chat without torch: `onnx/FOLDER`, as `vivant train export` writes it, and the bundled `vivant/tiny`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant import mini
from vivant.core.errors import UsageError
from vivant.models.base import Capabilities, Model, ModelError, ModelOptions, refuse_native_video
from vivant.models.local_model import (
    LocalModel,
    check_checkpoint_path,
    format_checkpoint_name,
    hash_checkpoint,
)
from vivant.models.registry import ONNX_SETTINGS

SETTINGS, TOKENIZER = ONNX_SETTINGS, "tokenizer.json"
WINDOW_GRAPH, VIDEO_GRAPH, DECODER_GRAPH = "watch.onnx", "look.onnx", "read.onnx"
WORDS = "words.txt"
"""Where it is there: the words of all questions that a model learnt from, one a line."""
BUNDLED_MODELS = ("tiny",)


class OnnxModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the graphs themselves do not hold."""

    version: int = 1
    vocabulary: int
    """Ids from here on are marks."""
    hidden: int
    visual_tokens: int
    image_size: int
    spatial_frames: int
    """0: the branch is off."""
    temporal_tokens: int
    """0: the branch is off."""
    temporal_width: int
    window: int
    group: int
    """Frames that one vector of a window stands for; the last frame is repeated to fill a group."""
    hint: bool
    lines: bool
    breaks: tuple[int, ...]
    end: int
    before: tuple[int, ...] = ()
    after: tuple[int, ...] | None = None
    """What a chat template writes around a task; None: there is none."""
    states: tuple[tuple[int, ...], ...]
    """Shapes of the layers' states before the first token."""
    context: int = 2048
    """Tokens of a prompt and its answer together."""
    weights: str = "fp32"
    parameters: int = 0
    note: str = ""


class OnnxModel(LocalModel):
    """An exported model; its engine runs in a worker."""

    has_loglikelihood = True

    def __init__(self, name: str, folder: Path, options: ModelOptions) -> None:
        values = options.resolve(batch_size=16, workers=1, threads=0)
        refuse_native_video(options, name)
        super().__init__(
            name,
            "vivant.models.onnx_engine:OnnxMimicChatEngine",
            {"folder": str(folder), "threads": values["threads"]},
            batch_size=values["batch_size"],
            workers=values["workers"],
        )
        self.capabilities = Capabilities(images=True)
        read_settings(folder)
        self._identity = {"model": name, "checkpoint": hash_checkpoint(str(folder))}

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity


def read_settings(folder: Path) -> OnnxModelSettings:
    """The settings of an exported model; a folder without one is an error of one line."""
    file = folder / SETTINGS
    try:
        return msgspec.json.decode(file.read_bytes(), type=OnnxModelSettings)
    except OSError as error:
        raise ModelError(
            f"{folder} holds no exported model ({SETTINGS} is not in it); make one: "
            f"vivant train export CHECKPOINT --to onnx {folder}"
        ) from error
    except msgspec.MsgspecError as error:
        raise ModelError(f"{file} is damaged, or of another version: {error}") from error


def find_bundled_model(name: str) -> Path | None:
    """The folder of a model that comes with the package, or None where this installation has none."""
    folder = mini.root(name)
    return folder if folder is not None and (folder / SETTINGS).is_file() else None


def create(rest: str, options: ModelOptions) -> Model:
    """`--model onnx/FOLDER`."""
    if not rest:
        raise UsageError("Name the exported model: onnx/FOLDER, as `vivant train export` wrote it")
    path = check_checkpoint_path(rest if rest.startswith((".", "/", "~")) else f"./{rest}", "model")
    return OnnxModel(format_checkpoint_name("onnx", path), Path(path), options)


def create_bundled(rest: str, options: ModelOptions) -> Model:
    """`--model vivant/tiny`."""
    from vivant.core.errors import unknown_name_error

    if rest not in BUNDLED_MODELS:
        raise unknown_name_error("bundled model", rest, BUNDLED_MODELS)
    folder = find_bundled_model(rest)
    if folder is None:
        raise ModelError(
            f"This installation comes without the weights of vivant/{rest}; train and export one "
            "(docs/train.md) and name it onnx/FOLDER"
        )
    return OnnxModel(f"vivant/{rest}", folder, options)
