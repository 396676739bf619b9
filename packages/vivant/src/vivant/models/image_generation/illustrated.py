"""A language model and an image model as one: the first marks where pictures go, the second draws them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vivant.core.generated_images import PictureDescription, encode_image, split_marks
from vivant.core.randomness import derive_seed
from vivant.core.types import Part, Reply, Request, Text
from vivant.models.base import Model, WrappedModel
from vivant.models.image_generation.base import ImageGenerator, ImageRefusedError

MAX_PICTURES = 8
"""Marks beyond this many stay text: a model that repeats itself must not fill a disk."""


class IllustratedModel(WrappedModel):
    """Asks the language model, then has its descriptions count; the reply's parts interleave both."""

    def __init__(self, writer: Model, generator: ImageGenerator) -> None:
        super().__init__(writer)
        self.name = f"{writer.name} + {generator.name}"
        self.cacheable = writer.cacheable and generator.cacheable
        self.is_seeded = writer.is_seeded or generator.is_seeded
        self.caveat = "; ".join(caveat for caveat in (writer.caveat, generator.caveat) if caveat)
        self._generator = generator
        self._written: dict[str, Reply] = {}

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**super().identity, **self._generator.identity}

    @property
    def server(self) -> str:
        return " + ".join(server for server in (super().server, self._generator.server) if server)

    async def open(self) -> None:
        await super().open()
        try:
            await self._generator.open()
        except BaseException:
            await super().close()
            raise

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            await self._generator.close()

    async def generate(self, request: Request) -> Reply:
        # Kept while drawing is tried again, so that the text is not paid for twice.
        reply = self._written.get(request.key) or await super().generate(request)
        if reply.status not in ("ok", "truncated"):
            return reply
        self._written[request.key] = reply
        parts: list[Part] = []
        count = 0
        for piece in split_marks(reply.text):
            if isinstance(piece, str):
                parts.append(Text(piece))
            elif count == MAX_PICTURES:
                parts.append(Text(piece.text))
            else:
                count += 1
                try:
                    parts.append(await self._draw(piece, request.seed, count))
                except ImageRefusedError as refused:
                    del self._written[request.key]
                    error = f"the image model would not draw picture {count}: {refused}"
                    return msgspec.structs.replace(reply, status="refused", error=error)
        del self._written[request.key]
        return msgspec.structs.replace(reply, parts=tuple(parts)) if count else reply

    async def _draw(self, piece: PictureDescription, seed: int, number: int) -> Part:
        return encode_image(
            await self._generator.generate_image(
                piece.text, derive_seed(seed, "picture", str(number)) & 0x7FFFFFFF
            )
        )
