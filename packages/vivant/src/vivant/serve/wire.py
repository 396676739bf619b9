"""Chat completions on the wire: a request body becomes a Request, a Reply becomes a response."""

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


class ChatMessage(Struct, frozen=True):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[dict[str, Any]] | None = None


class StreamOptions(Struct, frozen=True):
    """What a stream ends with."""

    include_usage: bool = False


class ChatRequest(Struct, frozen=True, kw_only=True):
    """The body of a request. Fields that are not named here do not change an answer and are let pass."""

    messages: list[ChatMessage]
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
    response_format: dict[str, Any] | None = None


DecodeVideo = Callable[[bytes, str], Awaitable[Clip]]
"""A video file's bytes and type → its frames."""


def read_body(data: bytes) -> ChatRequest:
    """The body, checked."""
    try:
        body = msgspec.json.decode(data, type=ChatRequest)
    except msgspec.MsgspecError as error:
        raise WireError(400, f"The body is no chat completion: {error}") from error
    if not body.messages:
        raise WireError(400, "messages is empty")
    for name, is_asked in (
        ("n", (body.n or 1) != 1),
        ("logprobs", bool(body.logprobs)),
        ("tools", bool(body.tools)),
        ("response_format", (body.response_format or {}).get("type", "text") != "text"),
    ):
        if is_asked:
            raise WireError(400, f"{name} is not offered here; leave it out", "unsupported")
    limit = body.max_completion_tokens or body.max_tokens
    if limit is not None and limit < 1:
        raise WireError(400, f"max_tokens is {limit}; it must be at least 1")
    if body.temperature is not None and not 0 <= body.temperature <= 2:
        raise WireError(400, f"temperature is {body.temperature}; it must be from 0 to 2")
    if body.top_p is not None and not 0 < body.top_p <= 1:
        raise WireError(400, f"top_p is {body.top_p}; it must be above 0, and 1 at most")
    return body


async def to_request(body: ChatRequest, decode: DecodeVideo, *, sound: bool) -> Request:
    """What a model receives."""
    turns = []
    for index, message in enumerate(body.messages):
        parts = [part async for part in _read_parts(message.content, index, decode, sound)]
        turns.append(Turn("system" if message.role == "developer" else message.role, tuple(parts)))
    content = [part for turn in turns if turn.role != "system" for part in turn.parts]
    if not any(not isinstance(part, Text) or part.text.strip() for part in content):
        raise WireError(400, "messages hold nothing to answer: no text, picture or video of the user's")
    stop = (body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ())
    return Request(
        turns=tuple(turns),
        decoding=Decoding(
            max_tokens=body.max_completion_tokens or body.max_tokens,
            temperature=body.temperature,
            top_p=body.top_p,
            seed=body.seed,
            stop=tuple(text for text in stop if text),
        ),
        seed=body.seed if body.seed is not None else derive_seed(0, "serve", uuid.uuid4().hex),
        key=f"serve/{uuid.uuid4().hex}",
    )


async def _read_parts(content: Any, index: int, decode: DecodeVideo, sound: bool) -> Any:
    if isinstance(content, str):
        yield Text(content)
        return
    for part in content or ():
        kind = part.get("type")
        where = f"messages[{index}]: {kind}"
        if kind == "text" and isinstance(part.get("text"), str):
            yield Text(part["text"])
        elif kind == "image_url":
            yield _read_picture(_read_data_url(part.get("image_url"), where)[0], where)
        elif kind == "video_url":
            yield await decode(*_read_data_url(part.get("video_url"), where))
        elif kind == "input_audio":
            if not sound:
                raise WireError(400, "this model is given no sound", "unsupported")
            yield _read_sound(part.get("input_audio"), where)
        else:
            raise WireError(400, f"messages[{index}]: a part of type {kind!r} is not taken here")


def _read_picture(data: bytes, where: str) -> Content:
    header = parse_image_header(data)
    if header is None or not header.complete:
        raise WireError(400, f"{where} is no whole picture of a known kind (JPEG, PNG, WebP, GIF)")
    return Picture(data, header.media_type, header.width, header.height)


def _read_sound(value: Any, where: str) -> Content:
    if not isinstance(value, Mapping) or not isinstance(value.get("data"), str):
        raise WireError(400, f"{where} needs data and format")
    return Sound(_decode_base64(value["data"], where), f"audio/{value.get('format') or 'wav'}")


def _read_data_url(value: Any, where: str) -> tuple[bytes, str]:
    """The bytes and the type of a data URL. Nothing is ever fetched: a server must not be sent on errands."""
    url = value.get("url") if isinstance(value, Mapping) else value
    if not isinstance(url, str):
        raise WireError(400, f"{where} has no url")
    head = _DATA_URL.match(url)
    if head is None:
        raise WireError(400, f"{where} must be a data URL (data:…;base64,…); addresses are not fetched")
    return _decode_base64(url[head.end() :], where), head.group(1) or "application/octet-stream"


def _decode_base64(text: str, where: str) -> bytes:
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


def build_completion(reply: Reply, model: str) -> dict[str, Any]:
    """The whole answer at once."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.status == "refused":
        message["refusal"] = reply.error
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[reply.status]}
    return {**_head(model, "chat.completion"), "choices": [choice], "usage": count_tokens(reply)}


def count_tokens(reply: Reply) -> dict[str, Any]:
    """Tokens; 0 where the model does not count them."""
    prompt, reply_tokens = reply.tokens_in or 0, reply.tokens_out or 0
    counts = {
        "prompt_tokens": prompt,
        "completion_tokens": reply_tokens,
        "total_tokens": prompt + reply_tokens,
    }
    if reply.tokens_thinking is None:
        return counts
    return {**counts, "completion_tokens_details": {"reasoning_tokens": reply.tokens_thinking}}


def stream_events(reply: Reply, model: str, *, with_usage: bool) -> Iterator[bytes]:
    """The answer as events, word by word. Models here answer at once, so the first event waits for the last word."""
    head = _head(model, "chat.completion.chunk")

    def event(delta: dict[str, str], finish: str | None = None) -> bytes:
        return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield event({"role": "assistant", "content": ""})
    for word in re.findall(r"\s*\S+|\s+$", reply.text):
        yield event({"content": word})
    yield event({}, _FINISH[reply.status])
    if with_usage:
        yield _event({**head, "choices": [], "usage": count_tokens(reply)})
    yield b"data: [DONE]\n\n"


def _head(model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": model}


def _event(content: Any) -> bytes:
    return b"data: " + msgspec.json.encode(content) + b"\n\n"
