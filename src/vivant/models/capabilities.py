"""What servers and models take, as data: fields they know, media they accept, and the most a request may hold.

Backends read this table and have no branches of their own for it. As of November 2026, from the providers'
pages; limits change, so every figure can be set by hand (`--model-option max_images=50`, names below).
A limit that nobody states is None: the server then decides, and its refusal is recorded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from vivant.core.errors import UsageError, unknown_name_error

MB = 1_000_000
MIB = 1024 * 1024
_PNG_JPEG = ("image/png", "image/jpeg")


class PictureTokens(Struct, frozen=True, omit_defaults=True):
    """What a picture costs in tokens, by one of three rules.

    `fixed`: always `base`. `area`: pixels divided by `unit`, at most `most`. `tiles`: fitted into `box`, its
    shorter side brought down to `short`, then `base` and `unit` for each tile of `tile` pixels.
    """

    rule: Literal["fixed", "area", "tiles"]
    base: int = 0
    unit: int = 1
    most: int | None = None
    box: int = 2048
    short: int = 768
    tile: int = 512

    def of(self, width: int, height: int) -> int:
        """Tokens of one picture."""
        if self.rule == "fixed":
            return self.base
        if self.rule == "area":
            tokens = math.ceil(width * height / self.unit)
            return min(tokens, self.most) if self.most is not None else tokens
        scale = min(1.0, self.box / max(width, height))
        scale = min(scale, self.short / max(1.0, min(width, height)))
        tiles = math.ceil(width * scale / self.tile) * math.ceil(height * scale / self.tile)
        return self.base + self.unit * max(1, tiles)


class Budget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The most that one request may hold."""

    images: int | None = None
    """Pictures, frames of videos included."""
    request_bytes: int | None = None
    """The whole request as sent, media in base64."""
    image_bytes: int | None = None
    """One picture, in base64."""
    side: int | None = None
    """The longer side of a picture, in pixels."""
    pixels: int | None = None
    """Width times height of a picture."""
    many: int | None = None
    """Above so many pictures, `many_side` holds in place of `side`."""
    many_side: int | None = None
    tokens: int | None = None
    """The model's window, by estimate: four characters of text a token, pictures by the model's own rule."""
    picture: PictureTokens | None = None
    """What a picture costs in that window; None: unknown, and not counted."""
    formats: tuple[str, ...] = ()
    """Media types of pictures that are taken; others are converted to PNG. Empty: all."""


_OPTIONS = {
    "max_images": "images",
    "max_request_bytes": "request_bytes",
    "max_image_bytes": "image_bytes",
    "max_side": "side",
    "max_pixels": "pixels",
    "max_context": "tokens",
}
OPTIONS: Mapping[str, None] = dict.fromkeys(_OPTIONS)
"""The user's own figures, as `--model-option NAME=NUMBER`, for `ModelOptions.take`."""


# ── Models ───────────────────────────────────────────────────────────────────────────────────────


class ModelFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is particular about models whose names begin so."""

    names: tuple[str, ...]
    sampling: bool = True
    """Without: temperature and top_p are refused, and not sent."""
    reasoning: bool = False
    """Thinks before it answers: tokens are limited by `max_completion_tokens`, no `stop`, no logprobs."""
    budget: Budget = Budget()


_AREA_750 = PictureTokens("area", unit=750, most=1600)
_TILES = PictureTokens("tiles", base=85, unit=170)

OPENAI_MODELS = (
    ModelFacts(
        names=("o1", "o3", "o4"),
        sampling=False,
        reasoning=True,
        budget=Budget(tokens=200_000, picture=PictureTokens("tiles", base=75, unit=150)),
    ),
    ModelFacts(
        names=("gpt-5",),
        sampling=False,
        reasoning=True,
        budget=Budget(tokens=400_000, picture=PictureTokens("tiles", base=70, unit=140)),
    ),
    ModelFacts(names=("gpt-4.1",), budget=Budget(tokens=1_047_576, picture=_TILES)),
    # gpt-4o-mini bills 33 times as many tokens for a picture as it takes up in its window.
    ModelFacts(names=("gpt-4o",), budget=Budget(tokens=128_000, picture=_TILES)),
    ModelFacts(names=("claude-opus-4-7", "claude-opus-4-8", "claude-opus-5"), sampling=False),
)
ANTHROPIC_MODELS = (
    ModelFacts(names=("claude",), budget=Budget(images=600, tokens=1_000_000, picture=_AREA_750)),
    ModelFacts(
        names=("claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-fable-5"),
        sampling=False,
        budget=Budget(images=600, tokens=1_000_000, picture=PictureTokens("area", unit=750, most=4784)),
    ),
    ModelFacts(
        names=("claude-3", "claude-haiku", "claude-opus-4-1", "claude-opus-4-5", "claude-sonnet-4-5"),
        budget=Budget(images=100, tokens=200_000, picture=_AREA_750),
    ),
)
GEMINI_MODELS = (
    ModelFacts(
        names=("gemini",), budget=Budget(images=3000, tokens=1_048_576, picture=PictureTokens("fixed", 258))
    ),
    ModelFacts(
        names=("gemini-3",), budget=Budget(images=900, tokens=1_048_576, picture=PictureTokens("fixed", 1120))
    ),
)


# ── Servers ──────────────────────────────────────────────────────────────────────────────────────


class ServerFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A server's dialect of an API."""

    name: str
    hosts: tuple[str, ...] = ()
    """Ends of host names, or `localhost:PORT` for a local server's usual port."""
    key: str = "OPENAI_API_KEY"
    """The environment variable with its key."""
    key_header: str = "Authorization"
    needs_key: bool = False
    video: bool = True
    """Takes a video file as `video_url`."""
    audio: bool = True
    """Takes sound as `input_audio`."""
    detail: bool = True
    """Knows how closely to look (`detail`)."""
    seed: str = "seed"
    """The field for a seed."""
    top_logprobs: int = 20
    """How many alternatives it reports for a token; 0: none."""
    batches: bool = False
    """Has the batch endpoints."""
    budget: Budget = Budget()


GENERIC = ServerFacts(name="generic", batches=True)
"""A server of which nothing is known: everything is sent, and what it refuses is recorded."""
OPENAI_SERVERS = (
    GENERIC,
    ServerFacts(
        name="openai",
        hosts=("api.openai.com",),
        needs_key=True,
        video=False,
        batches=True,
        budget=Budget(
            images=500,
            request_bytes=50 * MB,
            formats=(*_PNG_JPEG, "image/webp", "image/gif"),
        ),
    ),
    ServerFacts(
        name="azure",
        hosts=("openai.azure.com", "services.ai.azure.com"),
        key="AZURE_OPENAI_API_KEY",
        key_header="api-key",
        needs_key=True,
        video=False,
        batches=True,
        budget=Budget(images=50, request_bytes=50 * MB),
    ),
    ServerFacts(name="openrouter", hosts=("openrouter.ai",), key="OPENROUTER_API_KEY", needs_key=True),
    ServerFacts(
        name="groq",
        hosts=("api.groq.com",),
        key="GROQ_API_KEY",
        needs_key=True,
        video=False,
        audio=False,
        top_logprobs=0,
        budget=Budget(images=5, request_bytes=4 * MB, pixels=33_177_600),
    ),
    ServerFacts(
        name="mistral",
        hosts=("api.mistral.ai",),
        key="MISTRAL_API_KEY",
        needs_key=True,
        video=False,
        audio=False,
        seed="random_seed",
        top_logprobs=0,
        budget=Budget(images=8, image_bytes=10 * MB),
    ),
    ServerFacts(name="together", hosts=("api.together.xyz",), key="TOGETHER_API_KEY", needs_key=True),
    ServerFacts(
        name="fireworks",
        hosts=("api.fireworks.ai",),
        key="FIREWORKS_API_KEY",
        needs_key=True,
        video=False,
        top_logprobs=5,
        budget=Budget(images=30, request_bytes=10 * MB),
    ),
    ServerFacts(
        name="xai",
        hosts=("api.x.ai",),
        key="XAI_API_KEY",
        needs_key=True,
        video=False,
        audio=False,
        top_logprobs=8,
        budget=Budget(image_bytes=10 * MIB, formats=_PNG_JPEG),
    ),
    ServerFacts(
        name="dashscope",
        hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
        key="DASHSCOPE_API_KEY",
        needs_key=True,
        top_logprobs=5,
        budget=Budget(image_bytes=10 * MB),
    ),
    ServerFacts(name="vllm", key="VLLM_API_KEY", detail=False),
    ServerFacts(name="sglang"),
    ServerFacts(name="llama.cpp", video=False, detail=False, budget=Budget(formats=_PNG_JPEG)),
    ServerFacts(name="ollama", hosts=("localhost:11434",), video=False, audio=False, detail=False),
    ServerFacts(
        name="lmstudio",
        hosts=("localhost:1234",),
        video=False,
        audio=False,
        detail=False,
        top_logprobs=0,
        budget=Budget(formats=(*_PNG_JPEG, "image/webp")),
    ),
)
ANTHROPIC = ServerFacts(
    name="anthropic",
    key="ANTHROPIC_API_KEY",
    key_header="x-api-key",
    needs_key=True,
    video=False,
    audio=False,
    top_logprobs=0,
    batches=True,
    budget=Budget(
        request_bytes=32 * MB,
        image_bytes=5 * MIB,
        side=8000,
        many=20,
        many_side=2000,
        formats=(*_PNG_JPEG, "image/webp", "image/gif"),
    ),
)
GEMINI = ServerFacts(
    name="gemini",
    key="GEMINI_API_KEY",
    key_header="x-goog-api-key",
    needs_key=True,
    top_logprobs=0,
    batches=True,
    budget=Budget(request_bytes=100 * MB, image_bytes=7 * MB, formats=(*_PNG_JPEG, "image/webp")),
)
GEMINI_INLINE = 14 * MB
"""A video or sound up to this size goes into the request; a larger one through the files API."""
DEFAULT_MAX_TOKENS = 4096
"""For APIs that ask for a limit on the reply, where neither the user nor the benchmark sets one."""


# ── Looking things up ────────────────────────────────────────────────────────────────────────────


def server_facts(url: str, named: str | None = None) -> ServerFacts:
    """The OpenAI-compatible server at an address: the one that the user names, or the one that the host
    tells, or the generic one."""
    if named is not None:
        known = {facts.name: facts for facts in OPENAI_SERVERS}
        if named not in known:
            raise unknown_name_error("server", named, known)
        return known[named]
    parts = urlsplit(url)
    host = parts.hostname or ""
    local = f"localhost:{parts.port}" if host in ("localhost", "127.0.0.1", "::1") else ""
    for facts in OPENAI_SERVERS:
        for end in facts.hosts:
            if local == end or host == end or host.endswith("." + end):
                return facts
    return GENERIC


def model_facts(name: str, table: tuple[ModelFacts, ...]) -> ModelFacts:
    """By the longest beginning that fits; what a gateway writes before the last slash does not count."""
    short = name.rsplit("/", 1)[-1]
    best, length = ModelFacts(names=()), 0
    for facts in table:
        for start in facts.names:
            if short.startswith(start) and len(start) > length:
                best, length = facts, len(start)
    return best


def budget_for(server: ServerFacts, model: ModelFacts, given: Mapping[str, Any]) -> Budget:
    """The tighter of the server's and the model's limits; the user's own figures replace both."""
    merged: dict[str, Any] = {}
    for field in Budget.__struct_fields__:
        values = [getattr(facts.budget, field) for facts in (server, model)]
        if field in ("formats", "picture"):
            merged[field] = values[0] or values[1]
        else:
            known = [value for value in values if value is not None]
            merged[field] = min(known) if known else None
    for option, field in _OPTIONS.items():
        if given.get(option) is not None:
            merged[field] = positive(option, given[option])
    return Budget(**merged)


def positive(option: str, value: Any) -> int:
    """A model option that must be a number above 0."""
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise UsageError(f"--model-option {option}={value}: write a whole number above 0")
    return number


def mapping(option: str, value: Any) -> dict[str, Any]:
    """A model option that is a JSON object."""
    try:
        return msgspec.convert(
            msgspec.json.decode(value) if isinstance(value, str) else value, dict[str, Any]
        )
    except msgspec.MsgspecError as error:
        raise UsageError(f"--model-option {option}={value}: write a JSON object") from error


def truth(option: str, value: Any) -> bool:
    """A model option that is true or false."""
    if isinstance(value, bool):
        return value
    if str(value).lower() not in ("true", "false"):
        raise UsageError(f"--model-option {option}={value}: write true or false")
    return str(value).lower() == "true"
