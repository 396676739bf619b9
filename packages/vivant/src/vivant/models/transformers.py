"""Checkpoints of the transformers library: any model with pictures in and text out, by its own chat template.

One adapter for all families. Pictures go in as pixels in their places among the text. A video goes in as a video,
with the times of its frames, where the checkpoint's processor takes one; otherwise as its frames.
The engine itself (transformers_engine.py) runs in workers; here nothing needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.types import Tokenizer
from vivant.models.base import Capabilities, Model, ModelOptions, parse_bool, parse_positive, require_package
from vivant.models.local_model import (
    LocalModel,
    check_checkpoint_path,
    format_checkpoint_name,
    hash_checkpoint,
    require_checkpoint,
)
from vivant.models.model_table import LIMIT_OPTIONS, ModelFacts, ServerFacts, merge_limits
from vivant.models.thinking import engine_thinking, plan_thinking, thinking_identity
from vivant.models.tokenizer import load_tokenizer


class Transformers(LocalModel):
    """`transformers/ID`, a name on the hub or a folder."""

    def __init__(self, checkpoint: str, options: ModelOptions) -> None:
        values = options.resolve(
            batch_size=8,
            workers="auto",
            dtype="auto",
            device="auto",
            device_map=None,
            attention=None,
            adapter=None,
            revision=None,
            gguf_file=None,
            text_only=False,
            trust_remote_code=False,
            **LIMIT_OPTIONS,
        )
        if options.video == "native":
            require_package("torchvision", "transformers", "--video-as native")
        checkpoint = check_checkpoint_path(checkpoint, "model")
        adapter = check_checkpoint_path(values["adapter"], "adapter") if values["adapter"] else None
        pixels = values.pop("max_pixels")
        workers = 1 if values["device_map"] or values["device"] != "auto" else values["workers"]
        settings = {
            "model": checkpoint,
            "adapter": adapter,
            "max_pixels": None if pixels is None else parse_positive("max_pixels", pixels),
            "text_only": parse_bool("text_only", values["text_only"]),
            "video": options.video,
            "trust_remote_code": parse_bool("trust_remote_code", values["trust_remote_code"]),
            **{name: values[name] for name in _LOADING},
        }
        self.thinking = plan_thinking(checkpoint, options.thinking)
        settings |= engine_thinking(self.thinking)
        super().__init__(
            format_checkpoint_name("transformers", checkpoint),
            "vivant.models.transformers_engine:TransformersEngine",
            settings,
            batch_size=values["batch_size"],
            workers=values["workers"] if values["workers"] != "auto" else workers,
        )
        self.capabilities = Capabilities(images=not settings["text_only"])
        self.limits = merge_limits(ServerFacts(name="here"), ModelFacts(), values)
        named = {
            name: settings[name] for name in ("dtype", "max_pixels", "revision", "gguf_file", "attention")
        }
        adapter_digest = hash_checkpoint(adapter or "") or adapter  # one on the hub goes by its name
        digests = {"checkpoint": hash_checkpoint(checkpoint), "adapter": adapter_digest}
        stated = {
            name: value for name, value in {**named, **digests}.items() if value not in (None, "", "auto")
        }
        if options.video != "images" and find_spec("torchvision"):  # the video half of processors needs it
            stated["video"] = "native"
        if settings["text_only"]:
            stated["text_only"] = True
        stated |= options.select(*(name for name in LIMIT_OPTIONS if name != "max_pixels"))
        self._identity = {"model": self.name, **stated, **thinking_identity(self.thinking)}
        self.has_loglikelihood = self.thinking is None or not self.thinking.room
        self._checkpoint, self._revision = checkpoint, values["revision"]

    async def open(self) -> None:
        await super().open()
        self.capabilities = msgspec.structs.replace(self.capabilities, clips=self.takes_video)

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity

    def tokenizer(self) -> Tokenizer | None:
        return load_tokenizer(self._checkpoint, self._revision)


_LOADING = ("dtype", "device", "device_map", "attention", "revision", "gguf_file")


def create(name: str, options: ModelOptions) -> Model:
    """`--model transformers/ID-or-folder`."""
    require_checkpoint("transformers", name)
    for module in ("torch", "transformers"):
        require_package(module, "transformers", f"--model transformers/{name}")
    if _chats_by_itself(Path(name)):
        from vivant.models.internvl_chat import InternVLChat

        return InternVLChat(name, options)
    return Transformers(name, options)


def _chats_by_itself(folder: Path) -> bool:
    """Whether a folder holds a checkpoint of the InternVL2 kind, which brings its own code and `.chat()`."""
    config = folder / "config.json"
    return config.is_file() and b'"InternVLChatModel"' in config.read_bytes()
