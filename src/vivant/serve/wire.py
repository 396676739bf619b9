"""Chat completions on the wire: what is asked becomes a Request, a Reply becomes what is answered."""

from __future__ import annotations

import binascii
import re
import time
import uuid
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vivant.core.file_types import parse_image_header
from vivant.core.randomness import derive_seed
from vivant.core.types import Clip, Content, Decoding, Picture, Reply, Request, Sound, Text, Turn

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.ASCII)
_FINISH = {"ok": "stop", "truncated": "length", "refused": "content_filter"}


class WireError(Exception):
    """A request that is answered with an error: its HTTP status and one line."""

    def __init__(self, status: int, message: str, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.status = status
        self.code = code

    @property
    def body(self) -> dict[str, Any]:
        """In the protocol's form."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": str(self), "type": kind, "param": None, "code": self.code}}


class Said(Struct, frozen=True):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[dict[str, Any]] | None = None


class StreamOptions(Struct, frozen=True):
    """What a stream ends with."""

    include_usage: bool = False


class Asked(Struct, frozen=True, kw_only=True):
    """The body of a request. Fields that are not named here do not change an answer and are let pass."""

    messages: list[Said]
    model: str = ""
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    logprobs: bool | None = None
    tools: list[Any] | None = None


Decode = Callable[[bytes, str], Awaitable[Clip]]
"""A video file's bytes and type → its frames."""


def read_body(body: bytes) -> Asked:
    """The body, checked."""
    try:
        asked = msgspec.json.decode(body, type=Asked)
    except msgspec.MsgspecError as error:
        raise WireError(400, f"The body is no chat completion: {error}") from error
    if not asked.messages:
        raise WireError(400, "messages is empty")
    for name, wrong in (
        ("n", (asked.n or 1) != 1),
        ("logprobs", bool(asked.logprobs)),
        ("tools", bool(asked.tools)),
    ):
        if wrong:
            raise WireError(400, f"{name} is not offered here; leave it out", "unsupported")
    most = asked.max_completion_tokens or asked.max_tokens
    if most is not None and most < 1:
        raise WireError(400, f"max_tokens is {most}; it must be at least 1")
    if asked.temperature is not None and not 0 <= asked.temperature <= 2:
        raise WireError(400, f"temperature is {asked.temperature}; it must be from 0 to 2")
    if asked.top_p is not None and not 0 < asked.top_p <= 1:
        raise WireError(400, f"top_p is {asked.top_p}; it must be above 0, and 1 at most")
    return asked


async def to_request(asked: Asked, decode: Decode, *, sound: bool) -> Request:
    """What a model receives."""
    turns = []
    for place, said in enumerate(asked.messages):
        parts = [part async for part in _parts(said.content, place, decode, sound)]
        turns.append(Turn("system" if said.role == "developer" else said.role, tuple(parts)))
    stop = (asked.stop,) if isinstance(asked.stop, str) else tuple(asked.stop or ())
    return Request(
        turns=tuple(turns),
        decoding=Decoding(
            max_tokens=asked.max_completion_tokens or asked.max_tokens,
            temperature=asked.temperature,
            top_p=asked.top_p,
            seed=asked.seed,
            stop=tuple(text for text in stop if text),
        ),
        seed=asked.seed if asked.seed is not None else derive_seed(0, "serve", uuid.uuid4().hex),
        key=f"serve/{uuid.uuid4().hex}",
    )


async def _parts(content: Any, place: int, decode: Decode, sound: bool) -> Any:
    if isinstance(content, str):
        yield Text(content)
        return
    for piece in content or ():
        kind = piece.get("type")
        where = f"messages[{place}]: {kind}"
        if kind == "text" and isinstance(piece.get("text"), str):
            yield Text(piece["text"])
        elif kind == "image_url":
            yield _picture(_data(piece.get("image_url"), where)[0], where)
        elif kind == "video_url":
            yield await decode(*_data(piece.get("video_url"), where))
        elif kind == "input_audio":
            if not sound:
                raise WireError(400, "this model is given no sound", "unsupported")
            yield _sound(piece.get("input_audio"), where)
        else:
            raise WireError(400, f"messages[{place}]: a part of type {kind!r} is not taken here")


def _picture(data: bytes, where: str) -> Content:
    look = parse_image_header(data)
    if look is None or not look.whole:
        raise WireError(400, f"{where} is no whole picture of a known kind (JPEG, PNG, WebP, GIF)")
    return Picture(data, look.media_type, look.width, look.height)


def _sound(said: Any, where: str) -> Content:
    if not isinstance(said, Mapping) or not isinstance(said.get("data"), str):
        raise WireError(400, f"{where} needs data and format")
    return Sound(_bytes(said["data"], where), f"audio/{said.get('format') or 'wav'}")


def _data(said: Any, where: str) -> tuple[bytes, str]:
    """The bytes and the type of a data URL. Nothing is ever fetched: a server must not be sent on errands."""
    url = said.get("url") if isinstance(said, Mapping) else said
    if not isinstance(url, str):
        raise WireError(400, f"{where} has no url")
    head = _DATA_URL.match(url)
    if head is None:
        raise WireError(400, f"{where} must be a data URL (data:…;base64,…); addresses are not fetched")
    return _bytes(url[head.end() :], where), head.group(1) or "application/octet-stream"


def _bytes(text: str, where: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise WireError(400, f"{where} is no valid base64: {error}") from error


def check_reply(reply: Reply) -> Reply:
    """A reply that can be answered with; a failure is an error, never a text."""
    if reply.status == "too_long":
        raise WireError(400, reply.error or "the request is too long", "context_length_exceeded")
    if reply.status == "error":
        raise WireError(500, reply.error or "the model failed", "model_failed")
    return reply


def completion(reply: Reply, model: str) -> dict[str, Any]:
    """The whole answer at once."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.status == "refused":
        message["refusal"] = reply.error
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[reply.status]}
    return {**_head(model, "chat.completion"), "choices": [choice], "usage": usage(reply)}


def usage(reply: Reply) -> dict[str, int]:
    """Tokens; 0 where the model does not count them."""
    read, wrote = reply.tokens_in or 0, reply.tokens_out or 0
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


def pieces(reply: Reply, model: str, *, with_usage: bool) -> Iterator[bytes]:
    """The answer as events, word by word. Models here answer at once, so the first event waits for the last word."""
    head = _head(model, "chat.completion.chunk")

    def event(delta: dict[str, str], finish: str | None = None) -> bytes:
        return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield event({"role": "assistant", "content": ""})
    for word in re.findall(r"\s*\S+|\s+$", reply.text):
        yield event({"content": word})
    yield event({}, _FINISH[reply.status])
    if with_usage:
        yield _event({**head, "choices": [], "usage": usage(reply)})
    yield b"data: [DONE]\n\n"


def _head(model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": model}


def _event(content: Any) -> bytes:
    return b"data: " + msgspec.json.encode(content) + b"\n\n"
