"""InternVL checkpoints that bring their own code and a `.chat()` method (InternVL2, MMIE-Score).

A picture is cut into square tiles of 448 pixels, at most twelve, in the arrangement nearest to its shape, and
a thumbnail of the whole follows; a frame of a video is one tile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vivant.core.errors import UsageError
from vivant.core.types import Clip, Picture, Reply, Request, Text, Turn
from vivant.models.base import (
    Model,
    ModelError,
    ModelOptions,
    parse_bool,
    parse_positive,
    refuse_native_video,
    require_package,
)
from vivant.models.local_model import (
    LocalModel,
    check_checkpoint_path,
    format_checkpoint_name,
    hash_checkpoint,
)
from vivant.models.processors import decode_picture, hide_broken_torchvision
from vivant.models.transformers_engine import choose_device, describe_loading_error, generation_arguments
from vivant.models.weights_check import require_all_weights

TILE = 448
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_IMAGE_TOKEN = "<image>"


class InternVLChat(LocalModel):
    """`internvl-chat/ID`, a name on the hub or a folder."""

    def __init__(self, checkpoint: str, options: ModelOptions) -> None:
        values = options.resolve(
            trust_remote_code=False,
            tiles=12,
            frame_tiles=1,
            dtype="auto",
            device="auto",
            workers="auto",
            revision=None,
        )
        if not parse_bool("trust_remote_code", values["trust_remote_code"]):
            raise UsageError(
                f"internvl-chat/{checkpoint} runs code of the checkpoint's own; --trust-remote-code"
            )
        refuse_native_video(options, "internvl-chat")
        checkpoint = check_checkpoint_path(checkpoint, "model")
        tiles = {name: parse_positive(name, values[name]) for name in ("tiles", "frame_tiles")}
        settings = {name: values[name] for name in ("dtype", "device", "revision")}
        super().__init__(
            format_checkpoint_name("internvl-chat", checkpoint),
            "vivant.models.internvl_chat:InternVLChatEngine",
            {"model": checkpoint, **tiles, **settings},
            batch_size=1,
            workers=1 if values["device"] != "auto" else values["workers"],
        )
        named = {
            name: value for name, value in options.select("dtype", "revision").items() if value != "auto"
        }
        self._identity = {"model": self.name, **tiles, "checkpoint": hash_checkpoint(checkpoint), **named}

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity


def create(name: str, options: ModelOptions) -> Model:
    """`--model internvl-chat/ID --trust-remote-code`."""
    if not name:
        raise UsageError("Name the checkpoint: internvl-chat/ID, e.g. internvl-chat/OpenGVLab/InternVL2-8B")
    for module in ("torch", "transformers"):
        require_package(module, "transformers", f"--model internvl-chat/{name}")
    return InternVLChat(name, options)


def choose_grid(width: int, height: int, most: int) -> tuple[int, int]:
    """Columns and rows of tiles, at most so many, whose shape is nearest to the picture's.

    Of arrangements of one shape, a larger one is taken while the picture fills at least half of it.
    """
    shapes = [(c, r) for c in range(1, most + 1) for r in range(1, most + 1) if c * r <= most]
    shapes.sort(key=lambda shape: shape[0] * shape[1])
    best, nearest = (1, 1), float("inf")
    for columns, rows in shapes:
        distance = abs(width / height - columns / rows)
        if distance < nearest:
            best, nearest = (columns, rows), distance
        elif distance == nearest and width * height > 0.5 * TILE * TILE * columns * rows:
            best = (columns, rows)
    return best


def cut_tiles(image: Any, most: int) -> list[Any]:
    """The tiles of a picture, row by row, and a thumbnail where there are several."""
    from PIL import Image

    columns, rows = choose_grid(image.width, image.height, most)
    resized = image.resize((columns * TILE, rows * TILE), Image.Resampling.BICUBIC)
    tiles = [
        resized.crop((c * TILE, r * TILE, (c + 1) * TILE, (r + 1) * TILE))
        for r in range(rows)
        for c in range(columns)
    ]
    if len(tiles) > 1:
        tiles.append(image.resize((TILE, TILE), Image.Resampling.BICUBIC))
    return tiles


class InternVLChatEngine:
    """A loaded checkpoint."""

    def __init__(self, settings: Mapping[str, Any], accelerator: int) -> None:
        hide_broken_torchvision()
        import torch
        from transformers import AutoModel, AutoTokenizer

        self._torch = torch
        self._settings = settings
        self.accelerators = torch.cuda.device_count()
        device, dtype = choose_device(settings, accelerator)
        origin = {"trust_remote_code": True, "revision": settings["revision"] or "main"}
        checkpoint = settings["model"]
        try:
            model, info = AutoModel.from_pretrained(
                checkpoint, dtype=dtype, output_loading_info=True, **origin
            )
            require_all_weights(checkpoint, info)
            self._model = model.to(device).eval()
            self._tokenizer = AutoTokenizer.from_pretrained(checkpoint, **origin)
        except (OSError, ValueError, ImportError, KeyError, AttributeError) as error:
            raise ModelError(describe_loading_error(checkpoint, error)) from error
        if not callable(getattr(self._model, "chat", None)):
            raise ModelError(f"{checkpoint} has no .chat(); try --model transformers/{checkpoint}")
        self._default_system = getattr(self._model, "system_message", "")

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One after another: `.chat()` knows no batches of different shapes."""
        return [self._reply(request) for request in requests]

    def loglikelihood(self, requests: Sequence[Request], answers: Sequence[tuple[str, ...]]) -> list[Reply]:  # noqa: ARG002
        raise UsageError("internvl-chat does not report likelihoods")

    def _reply(self, request: Request) -> Reply:
        tiles: list[list[Any]] = []
        turns = [(turn.role, self._text(turn, tiles)) for turn in request.turns]
        system = "\n".join(text for role, text in turns if role == "system")
        self._model.system_message = system or self._default_system
        talk = [text for role, text in turns if role != "system"]
        if len(talk) % 2 == 0:
            raise UsageError("the last turn must be the user's")
        pixels = self._pixels([tile for picture in tiles for tile in picture]) if tiles else None
        with self._torch.inference_mode():
            text = self._model.chat(
                self._tokenizer,
                pixels,
                talk[-1],
                generation_arguments(request.decoding),
                history=list(zip(talk[:-1:2], talk[1::2], strict=True)) or None,
                num_patches_list=[len(picture) for picture in tiles] if tiles else None,
            )
        return Reply(text=str(text))

    def _text(self, turn: Turn, tiles: list[list[Any]]) -> str:
        """A turn as text, with a mark where each picture stands; their tiles are added to `tiles`."""
        pieces: list[str] = []
        for part in turn.parts:
            if isinstance(part, Text):
                if _IMAGE_TOKEN in part.text:
                    raise UsageError(f"the text holds '{_IMAGE_TOKEN}', which this model takes for a picture")
                pieces.append(part.text)
            elif isinstance(part, Picture):
                tiles.append(cut_tiles(decode_picture(part), self._settings["tiles"]))
                pieces.append(f"{_IMAGE_TOKEN}\n")
            elif isinstance(part, Clip):
                for number, frame in enumerate(part.frames, 1):
                    tiles.append(cut_tiles(decode_picture(frame), self._settings["frame_tiles"]))
                    pieces.append(f"Frame{number}: {_IMAGE_TOKEN}\n")
        return "".join(pieces)

    def _pixels(self, tiles: Sequence[Any]) -> Any:
        import numpy as np

        stacked = np.stack([np.asarray(tile, dtype=np.float32) / 255.0 for tile in tiles])
        normal = (stacked - np.array(_MEAN, np.float32)) / np.array(_STD, np.float32)
        pixels = self._torch.from_numpy(normal.transpose(0, 3, 1, 2).copy())
        return pixels.to(self._model.device, self._model.dtype)
