"""Whether a backend is ready, and whether a model answers: tiny requests of text, with a picture, with weights."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable
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


class Trial(Struct, frozen=True):
    """One request and what came back."""

    reply: Reply
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the model answered."""
        return self.reply.status == "ok" or self._is_cut_answer

    @property
    def _is_cut_answer(self) -> bool:
        return self.reply.status == "truncated" and self.reply.has_answer

    @property
    def verdict(self) -> str:
        """In words."""
        if self._is_cut_answer:
            return "answers, but was cut off at the token limit"
        if self.reply.status == "truncated":
            return "no answer: cut off before one began; give a run room with --thinking-tokens 32768"
        if not self.passed:
            return f"{self.reply.status}: {self.reply.error}"
        named = extract_option(self.reply.text, _OPTIONS).name
        if named == _RIGHT:
            return "answers, and named the right colour"
        return "answers, but named no option" if named is None else "answers, but named another colour"


class ModelCheck(Struct, frozen=True):
    """What came back, trial by trial. None: not tried."""

    text: Trial
    """A question of text alone."""
    picture: Trial | None = None
    likelihood: Trial | None = None
    """Options weighed, where the backend says that it can."""
    loaded: float = 0.0
    """Seconds until it was ready to be asked."""

    @property
    def passed(self) -> bool:
        """Whether it answered whatever it was asked, with or without a picture."""
        return self.text.passed and (self.picture is None or self.picture.passed)

    @property
    def likelihood_verdict(self) -> str:
        """Whether options can be weighed, as far as it was tried."""
        if self.likelihood is None:
            return "no"
        if any(weight is not None for weight in self.likelihood.reply.likelihoods):
            return "yes"
        return f"no: {self.likelihood.reply.error or 'no likelihoods came back'}"


async def check_model(model: Model) -> ModelCheck:
    """Ask for a colour in text alone, then that of a red picture, then how likely each option is.

    What cannot pass is a reply with the status `error`. Where the first question cannot pass, the others are not asked.
    """
    began = time.perf_counter()
    try:
        await model.open()
    except (TransientError, ModelError) as error:
        await model.close()
        return ModelCheck(Trial(Reply(status="error", error=str(error))))
    loaded = time.perf_counter() - began
    try:
        question = build_question(pictures=False)
        text, hopeless = await _try(model.generate(question))
        picture = likelihood = None
        if not hopeless:
            if model.capabilities.images:
                picture, _ = await _try(model.generate(build_question()))
            if model.has_loglikelihood:
                forms = tuple(option.name for option in _OPTIONS)
                likelihood, _ = await _try(model.loglikelihood(question, forms))
    finally:
        await model.close()
    return ModelCheck(text, picture, likelihood, loaded)


async def _try(asking: Awaitable[Reply]) -> tuple[Trial, bool]:
    """One trial, and whether no other can pass: no server, a wrong key, no such model."""
    began = time.perf_counter()
    hopeless = False
    try:
        reply = await asking
    except (TransientError, ModelError) as error:
        reply = Reply(status="error", error=str(error))
        hopeless = isinstance(error, ModelError) or error.unreachable
    return Trial(reply, time.perf_counter() - began), hopeless


def build_question(*, pictures: bool = True) -> Request:
    """The tiny request."""
    listed = "\n".join(f"{option.name}. {option.text}" for option in _OPTIONS)
    question = "What colour fills this picture?" if pictures else "What colour is a ripe tomato?"
    text = Text(f"{question}\n{listed}\nAnswer with the letter alone.")
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
