"""Any server with OpenAI's images endpoint."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import msgspec

from vivant.core.errors import UsageError
from vivant.models.base import ModelOptions, TransientError
from vivant.models.http import HttpClient, complete_url, public_url, read_key
from vivant.models.image_generation.base import ImageGenerator, ImageRefusedError
from vivant.models.openai import DEFAULT_URL
from vivant.models.server_errors import RequestRefusedError


class OpenAIImageGenerator(ImageGenerator):
    """POST /images/generations, one picture a request, asked for as base64."""

    def __init__(self, model: str, options: ModelOptions) -> None:
        settings = options.resolve(size="1024x1024", extra_body={}, key_variable="OPENAI_API_KEY")
        self.name = f"openai/{model}"
        self._model = model
        self._size = str(settings["size"])
        self._extra: dict[str, Any] = settings["extra_body"]
        self._url = complete_url(options.base_url or read_key("OPENAI_BASE_URL") or DEFAULT_URL)
        key = read_key(settings["key_variable"])
        if not key and self._url == DEFAULT_URL:
            raise UsageError(
                f"No key for {DEFAULT_URL}: set {settings['key_variable']}, or give --image-base-url"
            )
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = HttpClient(self._url, headers, options.timeout)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"image_model": self.name, "image_size": self._size, "image_extra": self._extra}

    @property
    def server(self) -> str:
        return public_url(self._url)

    async def open(self) -> None:
        await self._client.open()

    async def close(self) -> None:
        await self._client.close()

    async def generate_image(self, description: str, seed: int) -> bytes:  # noqa: ARG002
        body: dict[str, Any] = {"model": self._model, "prompt": description, "n": 1, "size": self._size}
        if not self._model.startswith("gpt-image"):  # those send base64 always, and refuse to be asked for it
            body["response_format"] = "b64_json"
        try:
            answer = await self._client.post("/images/generations", msgspec.json.encode(body | self._extra))
        except RequestRefusedError as refused:
            raise ImageRefusedError(str(refused)) from refused
        try:
            return b64decode(answer["data"][0]["b64_json"], validate=True)
        except (KeyError, IndexError, TypeError, binascii.Error, ValueError) as error:
            raise TransientError(f"{self.server} sent no picture as base64: {str(answer)[:120]}") from error


def create(name: str, options: ModelOptions) -> ImageGenerator:
    """`--image-model openai/NAME [--image-base-url URL]`."""
    if not name:
        raise UsageError("Name the image model: openai/NAME, e.g. openai/gpt-image-1")
    return OpenAIImageGenerator(name, options)
