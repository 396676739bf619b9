"""Whether a backend is ready, and whether a model answers: one tiny request with a picture."""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from io import BytesIO
from shutil import which

from msgspec import Struct

from vivant import mini
from vivant.core.types import Decoding, Option, Picture, Reply, Request, Text, Turn
from vivant.metrics.option_extraction import extract_option
from vivant.models.base import Model, ModelError, TransientError
from vivant.models.registry import Backend

_OPTIONS = tuple(
    Option(name, text) for name, text in zip("ABCD", ("blue", "red", "green", "yellow"), strict=True)
)
_RIGHT = "B"
_SIDE = 64


def check_readiness(backend: Backend) -> str:
    """`yes`, or what is missing. Asks no server."""
    missing = [module for module in backend.modules if find_spec(module) is None]
    if missing:
        return f"no: pip install 'vivant[{backend.extra}]'"
    if backend.weights and mini.root(backend.weights) is None:
        return "no: this installation comes without its weights"
    if backend.program and which(backend.program) is None:
        return f"only with --base-url: no program '{backend.program}'"
    if backend.key and not os.environ.get(backend.key):
        return f"{backend.keyless or 'no'}: {backend.key} is not set"
    return "yes"


class ModelCheck(Struct, frozen=True):
    """What came back."""

    reply: Reply
    seconds: float
    loaded: float
    """Seconds until it was ready to be asked."""

    @property
    def verdict(self) -> str:
        """In words."""
        if self.reply.status == "truncated":
            return "answers, but was cut off at the token limit"
        if self.reply.status != "ok":
            return f"{self.reply.status}: {self.reply.error}"
        named = extract_option(self.reply.text, _OPTIONS).name
        if named == _RIGHT:
            return "answers, and named the picture's colour"
        if named is None:
            return "answers, but named no option"
        return "answers, but named another colour than the picture's"


async def check_model(model: Model) -> ModelCheck:
    """Ask what colour a red picture is. What cannot pass is a reply with the status `error`."""
    began = time.perf_counter()
    asked = began
    try:
        try:
            await model.open()
            asked = time.perf_counter()
            reply = await model.generate(build_question(pictures=model.capabilities.images))
        finally:
            await model.close()
    except (TransientError, ModelError) as error:
        reply = Reply(status="error", error=str(error))
    return ModelCheck(reply, time.perf_counter() - asked, asked - began)


def build_question(*, pictures: bool = True) -> Request:
    """The tiny request."""
    listed = "\n".join(f"{option.name}. {option.text}" for option in _OPTIONS)
    text = Text(f"What colour fills this picture?\n{listed}\nAnswer with the letter alone.")
    parts = (_red_picture(), text) if pictures else (text,)
    return Request(
        turns=(Turn("user", parts),),
        decoding=Decoding(max_tokens=512),
        options=_OPTIONS,
        candidates=tuple(option.text for option in _OPTIONS),
        key="check",
    )


def _red_picture() -> Picture:
    from PIL import Image

    buffer = BytesIO()
    Image.new("RGB", (_SIDE, _SIDE), (220, 20, 20)).save(buffer, "PNG")
    return Picture(buffer.getvalue(), "image/png", _SIDE, _SIDE)
