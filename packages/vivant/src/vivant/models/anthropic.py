"""Anthropic's Messages API: several hundred pictures a request; videos as frames."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from vivant.core.errors import MediaError, UsageError
from vivant.core.types import Clip, Content, Reply, ReplyStatus, Request, Sound, Text
from vivant.models.base import (
    Capabilities,
    Model,
    ModelOptions,
    TransientError,
    parse_bool,
    parse_mapping,
    refuse_native_video,
)
from vivant.models.http import (
    HttpModel,
    complete_url,
    describe_missing_answer,
    read_count,
    read_key,
    read_string,
)
from vivant.models.model_table import LIMIT_OPTIONS, find_model, find_server, merge_limits
from vivant.models.reply_json import read_any_form
from vivant.models.reply_limit import ReplyLimit
from vivant.models.thinking import merge_fields, plan_thinking, thinking_identity

if TYPE_CHECKING:
    from vivant.models.batch.base import BatchApi

DEFAULT_URL = "https://api.anthropic.com/v1"
DEFAULT_MAX_TOKENS = 4096
"""Where neither the user nor the benchmark limits the reply: the API asks for a limit."""
_VERSION = "2023-06-01"
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_ENDS: Mapping[str, tuple[ReplyStatus, str]] = {
    "": ("ok", ""),
    "end_turn": ("ok", ""),
    "stop_sequence": ("ok", ""),
    "tool_use": ("error", "the model called a tool and gave no answer"),
    "max_tokens": ("truncated", "stopped at the token limit"),
    "model_context_window_exceeded": ("truncated", "stopped at the end of the model's window"),
    "refusal": ("refused", "the model refused"),
}


class Anthropic(HttpModel):
    """`POST /messages`."""

    def __init__(self, model: str, options: ModelOptions) -> None:
        settings = options.resolve(sampling=None, extra_body={}, **LIMIT_OPTIONS)
        refuse_native_video(options, f"anthropic/{model}")
        url = complete_url(options.base_url or DEFAULT_URL)
        server = find_server(url, api="anthropic")
        key = read_key(server.key)
        if not key and url == DEFAULT_URL and options.needs_key:
            raise UsageError(f"No key for anthropic/{model}: set {server.key}")
        headers = {"anthropic-version": _VERSION, **({server.key_header: key} if key else {})}
        super().__init__(f"anthropic/{model}", url, headers, options.timeout)
        self.capabilities = Capabilities()
        facts = find_model(model, "anthropic")
        self.limits = merge_limits(server, facts, settings)
        self.model = model
        sampling = settings["sampling"]
        self._sampling = facts.sampling if sampling is None else parse_bool("sampling", sampling)
        self._extra = parse_mapping("extra_body", settings["extra_body"])
        self.thinking = plan_thinking(model, options.thinking, api="anthropic", server=server)
        if self.thinking is not None and not self.thinking.sampling:
            self._sampling = False
        self.untold = ("seed",) if self._sampling else ("temperature", "top_p", "seed")
        if self._sampling and not facts.combines_sampling:
            self.exclusive = ("temperature", "top_p")
        self._reply_limit = ReplyLimit(self.thinking)
        self._stated_options = options.select(*LIMIT_OPTIONS)
        self._stated_options |= {"sampling": self._sampling} if sampling is not None else {}

    @property
    def identity(self) -> Mapping[str, Any]:
        extra = {"extra": self._extra} if self._extra else {}
        return {"model": self.name, **extra, **self._stated_options, **thinking_identity(self.thinking)}

    async def ask(self, request: Request) -> Reply:
        async def post(limit: int | None) -> Any:
            return await self.client.post("/messages", msgspec.json.encode(self.body(request, limit)))

        answer = request.decoding.max_tokens or DEFAULT_MAX_TOKENS
        return read_message(await self._reply_limit.send(post, answer), self.server)

    def batch_api(self) -> BatchApi:
        from vivant.models.batch.anthropic import AnthropicBatches

        return AnthropicBatches(self)

    def body(self, request: Request, most: int | None = None) -> dict[str, Any]:
        """The request as the API takes it. `most` is the highest limit on a reply that the server allows."""
        messages: list[dict[str, Any]] = []
        system: list[dict[str, Any]] = []
        for turn in request.turns:
            content = [block for part in turn.parts for block in _content_blocks(part)]
            if turn.role == "system":
                system += content
            elif content:
                messages.append({"role": turn.role, "content": content})
        decoding = request.decoding
        limit = decoding.max_tokens or DEFAULT_MAX_TOKENS
        limit += self.thinking.room if self.thinking is not None else 0
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": min(limit, most or limit),
            "messages": messages,
        }
        if system:
            body["system"] = system
        if self._sampling and decoding.temperature is not None:
            body["temperature"] = decoding.temperature
        if self._sampling and decoding.top_p is not None:
            body["top_p"] = decoding.top_p
        if decoding.stop:
            body["stop_sequences"] = list(decoding.stop)
        if self.thinking is not None:
            body = merge_fields(body, self.thinking.body)
        return merge_fields(body, self._extra)


def _content_blocks(part: Content) -> list[dict[str, Any]]:
    if isinstance(part, Text):
        return [{"type": "text", "text": part.text}] if part.text.strip() else []  # empty ones are refused
    if isinstance(part, Clip):
        return [block for frame in part.frames for block in _content_blocks(frame)]
    if isinstance(part, Sound):
        raise MediaError("this API takes no sound")
    data = b64encode(part.data).decode("ascii")
    return [{"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": data}}]


@read_any_form
def read_message(answer: Any, where: str) -> Reply:
    """A message as a Reply."""
    blocks = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(blocks, list):
        raise TransientError(f"{where} sent JSON that is no message: {str(answer)[:120]}")
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    output = usage.get("output_tokens_details")
    output = output if isinstance(output, dict) else {}
    blocks = [block for block in blocks if isinstance(block, dict)]
    text = "".join(read_string(block.get("text")) for block in blocks if block.get("type") == "text")
    reason = read_string(answer.get("stop_reason"))
    status, error = _ENDS.get(reason, ("error", f"stopped for {reason}"))
    if status == "refused":
        details = answer.get("stop_details")
        error = read_string(details.get("explanation") if isinstance(details, dict) else "") or error
    elif status == "ok" and not any(block.get("type") == "text" for block in blocks):
        status, error = "error", describe_missing_answer(thoughts=bool(blocks))
    return Reply(
        status=status,
        text=text,
        thinking="".join(
            read_string(block.get("thinking")) for block in blocks if block.get("type") == "thinking"
        ),
        error=error,
        tokens_in=_count_input(usage),
        tokens_out=read_count(usage.get("output_tokens")),
        tokens_thinking=read_count(output.get("thinking_tokens")),
        model=read_string(answer.get("model")),
    )


def _count_input(usage: Mapping[str, Any]) -> int | None:
    """Tokens of the request; those that a cache holds are counted apart."""
    counts = [read_count(usage.get(name)) for name in _INPUT]
    return None if counts[0] is None else sum(filter(None, counts))


def create(name: str, options: ModelOptions) -> Model:
    """`--model anthropic/NAME`."""
    if not name:
        raise UsageError("Name the model: anthropic/NAME, e.g. anthropic/claude-sonnet-4-5")
    return Anthropic(name, options)
