"""What an image model is, and which there are. Nothing is imported to be listed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from vivant.core.errors import unknown_name_error
from vivant.models.base import ModelOptions, RunResource


class ImageRefusedError(Exception):
    """This description will not be drawn, now or later; others may."""


class ImageGenerator(RunResource):
    """Subclass and implement `generate_image`. `open` and `close` frame a run."""

    cacheable: bool = False
    """Whether the same description and seed give the same picture again."""
    is_seeded: bool = False
    """Whether another seed gives another picture."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What tells it from another in a fingerprint. Never a secret."""
        return {"image_model": self.name}

    @abstractmethod
    async def generate_image(self, description: str, seed: int) -> bytes:
        """An encoded picture.

        Raise `TransientError` for what may pass, `ImageRefusedError` for what will not, `ModelError` where
        no picture can be drawn at all.
        """


_BUILTIN = {
    "placeholder": "vivant.models.image_generation.placeholder:create",
    "openai": "vivant.models.image_generation.openai:create",
    "diffusers": "vivant.models.image_generation.diffusers:create",
}
FORMS = ("placeholder", "openai/NAME", "diffusers/ID")


def create_image_generator(spec: str, options: ModelOptions | None = None) -> ImageGenerator:
    """The image model that `--image-model` names."""
    name, _, rest = spec.partition("/")
    if name not in _BUILTIN:
        raise unknown_name_error("image model", name, _BUILTIN, f"(write {', '.join(FORMS)})")
    module, _, attribute = _BUILTIN[name].partition(":")
    factory: Callable[[str, ModelOptions], ImageGenerator] = getattr(import_module(module), attribute)
    return factory(rest, options or ModelOptions())
