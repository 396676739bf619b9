"""What servers and models accept: `models.yaml`, read when it is first needed.

Backends look facts up here and have no branches of their own for a server or a model. A limit that nobody states is
None: the server then decides, and its refusal is recorded. A user's own figures replace the table's
(`--model-option max_images=50`; `LIMIT_OPTIONS` has the names).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from msgspec import Struct

from vivant.core.errors import unknown_name_error
from vivant.core.yaml_files import read_resource
from vivant.models.base import parse_positive

Api = Literal["openai", "anthropic", "gemini"]


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

    def count(self, width: int, height: int) -> int:
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


class RequestLimits(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
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
LIMIT_OPTIONS: Mapping[str, None] = dict.fromkeys(_OPTIONS)
"""The user's own figures, as `--model-option NAME=NUMBER`, for `ModelOptions.resolve`."""


class ModelFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is particular about models whose names begin so."""

    names: tuple[str, ...] = ()
    api: Api = "openai"
    sampling: bool = True
    """Without: temperature and top_p are refused, and not sent."""
    combines_sampling: bool = True
    """Without: it takes a temperature or top_p, and refuses both together."""
    reasoning: bool = False
    """Thinks before it answers: tokens are limited by `max_completion_tokens`, no `stop`, no logprobs."""
    responses: bool = False
    """Answers through the Responses API alone."""
    limits: RequestLimits = RequestLimits()


class ServerFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server's dialect of an API."""

    name: str
    api: Api = "openai"
    hosts: tuple[str, ...] = ()
    """Ends of host names, or `localhost:PORT` for a local server's usual port."""
    key: str = "OPENAI_API_KEY"
    """The environment variable with its key."""
    key_header: str = "Authorization"
    needs_key: bool = False
    video: bool = True
    """Takes a video file as `video_url`."""
    frames: Literal["", "media_io_kwargs", "fps"] = ""
    """How it is told which frames of a video file to look at (`server_video.py`); empty: it is not."""
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
    thinking: str = ""
    """Its own switch of `thinking` for all models; empty: the model's own."""
    limits: RequestLimits = RequestLimits()


class ThinkingSwitch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How thinking is asked for: fields of the request, where `$effort` and `$tokens` stand for what the user says."""

    start: Mapping[str, Any] = {}
    effort: Mapping[str, Any] | None = None
    """None: it has no efforts; where it takes a number of tokens, an effort becomes one."""
    tokens: Mapping[str, Any] | None = None
    """None: it takes no number of tokens, and the limit on the whole reply is all that holds."""
    stop: Mapping[str, Any] | None = None
    """None: it cannot be switched off."""


class ThinkingFamily(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Models that think, and how."""

    api: Api = "openai"
    names: tuple[str, ...] = ()
    """Beginnings of names."""
    contains: tuple[str, ...] = ()
    """Parts of names."""
    starts: Literal["always", "default", "request", "never"] = "default"
    """`always`: cannot be switched off. `default`: can. `request`: only where the user says so."""
    switch: str = ""
    """One of the table's; empty: the server's own."""
    efforts: tuple[str, ...] = ("low", "medium", "high")
    tokens: int | None = None
    """Room for thoughts; None: the table's."""
    least: int = 1
    most: int | None = None
    stop: Mapping[str, Any] | None = None
    """In place of the switch's."""
    keeps_room: bool = False
    """Switched off, it still thinks a little."""
    sampling: bool = True
    """Without: temperature and top_p are refused while it thinks, and not sent."""


class ThinkingTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part `thinking` of `models.yaml`."""

    tokens: int
    budgets: Mapping[str, int]
    """Tokens of an effort, where a model takes a number."""
    never: tuple[str, ...]
    """A name that holds one of these is of a model that does not think."""
    switches: Mapping[str, ThinkingSwitch]
    families: tuple[ThinkingFamily, ...]
    too_large: tuple[str, ...]
    """How servers say that a limit is over what they allow: the most that they do, or window and request."""


class ModelTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of `models.yaml`."""

    as_of: str
    servers: tuple[ServerFacts, ...]
    models: tuple[ModelFacts, ...]
    thinking: ThinkingTable


@cache
def load_model_table() -> ModelTable:
    """Read the table that comes with the package."""
    return read_resource("vivant.models", "models.yaml", ModelTable)


def find_server(url: str, name: str | None = None, api: Api = "openai") -> ServerFacts:
    """Find the server at an address: the one that the user names, the one that the host tells, or the API's first.

    Args:
        url: the address of the server.
        name: a server of the table, whatever the address.
        api: the API that the server speaks.
    """
    servers = [facts for facts in load_model_table().servers if facts.api == api]
    if name is not None:
        by_name = {facts.name: facts for facts in servers}
        if name not in by_name:
            raise unknown_name_error("server", name, by_name)
        return by_name[name]
    parts = urlsplit(url)
    host = parts.hostname or ""
    local = f"localhost:{parts.port}" if host in ("localhost", "127.0.0.1", "::1") else ""
    for facts in servers:
        for end in facts.hosts:
            if local == end or host == end or host.endswith("." + end):
                return facts
    return servers[0]


def find_model(name: str, api: Api = "openai") -> ModelFacts:
    """Find a model by the longest beginning that fits; what a gateway writes before the last slash does not count."""
    short = name.rsplit("/", 1)[-1]
    starts = [
        (start, facts)
        for facts in load_model_table().models
        if facts.api == api
        for start in facts.names
        if short.startswith(start)
    ]
    return max(starts, key=lambda start: len(start[0]))[1] if starts else ModelFacts(api=api)


def find_thinking(name: str, api: Api = "openai") -> ThinkingFamily | None:
    """Find how a model thinks; None where nothing says that it does.

    The longest fitting beginning counts, then the longest fitting part of a name. Names are compared in lower case,
    without what a gateway writes before the last slash.
    """
    family = _find_family(name, api)
    return None if family is None or family.starts == "never" else family


def never_thinks(name: str, api: Api = "openai") -> bool:
    """Whether the table says that a model does not think; False for one that it does not know."""
    family = _find_family(name, api)
    return family is not None and family.starts == "never"


def find_plain_word(name: str) -> str:
    """The word in a model's name that says that it does not think (`instruct`); empty where there is none."""
    short = _shorten(name)
    return next((word for word in load_model_table().thinking.never if word in short), "")


def _shorten(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower()


def _find_family(name: str, api: Api) -> ThinkingFamily | None:
    table = load_model_table().thinking
    short = _shorten(name)
    families = [family for family in table.families if family.api == api]
    fitting = [(1, len(s), f) for f in families for s in f.names if short.startswith(s)]
    if not find_plain_word(name):
        fitting += [(0, len(part), f) for f in families for part in f.contains if part in short]
    return max(fitting, key=lambda entry: entry[:2])[2] if fitting else None


def find_api(name: str) -> str | None:
    """The provider's own API for a model that the tables know by the beginning of its name; None for any other."""
    from vivant.models.price_table import load_bundled_prices

    table = load_model_table()
    starts: list[tuple[str, str]] = [
        (start, facts.api) for facts in table.models for start in facts.names if name.startswith(start)
    ]
    for entry in load_bundled_prices().models:
        provider, _, start = entry.partition("/")
        if start and name.startswith(start):
            starts.append((start, provider))
    apis = get_args(Api)
    # A gateway that speaks OpenAI's dialect may offer others' models too: their own API comes first.
    fitting = [(len(start), api != "openai", api) for start, api in starts if api in apis]
    return max(fitting)[2] if fitting else None


def merge_limits(server: ServerFacts, model: ModelFacts, options: Mapping[str, Any]) -> RequestLimits:
    """The tighter of the server's and the model's limits; the user's own figures replace both."""
    merged: dict[str, Any] = {}
    for field in RequestLimits.__struct_fields__:
        values = [getattr(facts.limits, field) for facts in (server, model)]
        if field in ("formats", "picture"):
            merged[field] = values[0] or values[1]
        else:
            merged[field] = min((value for value in values if value is not None), default=None)
    for option, field in _OPTIONS.items():
        if options.get(option) is not None:
            merged[field] = parse_positive(option, options[option])
    return RequestLimits(**merged)
