"""Text-to-image pipelines of the diffusers library, on this machine."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from typing import Any

from vivant.core.errors import UsageError
from vivant.models.base import ModelError, ModelOptions, require_package
from vivant.models.image_generation.base import ImageGenerator
from vivant.models.local_model import hash_checkpoint


class DiffusersGenerator(ImageGenerator):
    """One pipeline, one picture at a time, seeded, so that the same description gives the same picture."""

    cacheable = True
    is_seeded = True

    def __init__(self, name: str, options: ModelOptions) -> None:
        settings = options.resolve(device="auto", dtype="auto", steps=None, size=None)
        self.name = f"diffusers/{name}"
        self._id = name
        self._settings = settings
        self._digest = hash_checkpoint(name)
        self._pipeline: Any = None
        self._busy = asyncio.Lock()

    @property
    def identity(self) -> Mapping[str, Any]:
        dtype = self._settings["dtype"]
        named = {
            "image_steps": self._settings["steps"],
            "image_size": self._settings["size"],
            "image_dtype": dtype if dtype != "auto" else None,
            "image_checkpoint": self._digest or None,
        }
        return {"image_model": self.name, **{key: value for key, value in named.items() if value is not None}}

    async def open(self) -> None:
        self._pipeline = await asyncio.to_thread(self._load)

    def _load(self) -> Any:
        import torch
        from diffusers import AutoPipelineForText2Image

        device = self._settings["device"]
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = self._settings["dtype"]
        if dtype == "auto":
            dtype = "float16" if device.startswith("cuda") else "float32"
        try:
            pipeline = AutoPipelineForText2Image.from_pretrained(self._id, torch_dtype=getattr(torch, dtype))
        except (OSError, ValueError) as error:
            line = " ".join(str(error).split())[:200]
            raise ModelError(f"The image model {self._id} cannot be loaded: {line}") from error
        pipeline.set_progress_bar_config(disable=True)
        return pipeline.to(device)

    async def close(self) -> None:
        self._pipeline = None

    async def generate_image(self, description: str, seed: int) -> bytes:
        async with self._busy:
            return await asyncio.to_thread(self._generate, description, seed)

    def _generate(self, description: str, seed: int) -> bytes:
        import torch

        arguments: dict[str, Any] = {"generator": torch.Generator("cpu").manual_seed(seed)}
        if self._settings["steps"] is not None:
            arguments["num_inference_steps"] = int(self._settings["steps"])
        if self._settings["size"] is not None:
            width, _, height = str(self._settings["size"]).partition("x")
            arguments |= {"width": int(width), "height": int(height or width)}
        picture = self._pipeline(description, **arguments).images[0]
        encoded = io.BytesIO()
        picture.save(encoded, "PNG")
        return encoded.getvalue()


def create(name: str, options: ModelOptions) -> ImageGenerator:
    """`--image-model diffusers/ID`, a repository or a folder."""
    if not name:
        raise UsageError(
            "Name the pipeline: diffusers/ID, e.g. diffusers/stabilityai/stable-diffusion-xl-base-1.0"
        )
    require_package("diffusers", "diffusers", f"--image-model diffusers/{name}")
    return DiffusersGenerator(name, options)
