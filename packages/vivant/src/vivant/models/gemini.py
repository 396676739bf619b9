"""Google's Gemini API: pictures and sound in the request, videos as frames or as the file itself."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from vivant.core.errors import UsageError
from vivant.core.types import Clip, Content, Reply, ReplyStatus, Request, Text
from vivant.models.base import (
    Capabilities,
    Model,
    ModelOptions,
    ThinkingOptions,
    TransientError,
    parse_mapping,
    parse_positive,
)
from vivant.models.gemini_files import UploadedFiles
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

DEFAULT_URL = "https://generativelanguage.googleapis.com/v1beta"
_INLINE_BYTES = 14_000_000
"""A video or sound up to this size goes into the request, a larger one through the files API."""
_MAX_FPS = 24.0
_REFUSALS = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE")


class Gemini(HttpModel):
    """`generateContent`."""

    def __init__(self, model: str, options: ModelOptions) -> None:
        settings = options.resolve(
            resolution=None, thinking_budget=None, inline_bytes=_INLINE_BYTES, extra_body={}, **LIMIT_OPTIONS
        )
        url = complete_url(options.base_url or DEFAULT_URL)
        server = find_server(url, api="gemini")
        key = read_key(server.key)
        if not key and url == DEFAULT_URL and options.needs_key:
            raise UsageError(f"No key for gemini/{model}: set {server.key}")
        super().__init__(f"gemini/{model}", url, {server.key_header: key} if key else {}, options.timeout)
        native = options.video == "native"
        self.capabilities = Capabilities(video=native, audio=True, sampling=native, windows=native)
        self.limits = merge_limits(server, find_model(model, "gemini"), settings)
        self.model = model
        self.files = UploadedFiles(self.client, parse_positive("inline_bytes", settings["inline_bytes"]))
        self._settings = {key: settings[key] for key in ("resolution", "thinking_budget")}
        self._extra = parse_mapping("extra_body", settings["extra_body"])
        thinking = options.thinking
        if settings["thinking_budget"] is not None:
            thinking = _parse_budget(settings["thinking_budget"], thinking)
        self.thinking = plan_thinking(model, thinking, api="gemini", server=server)
        self._reply_limit = ReplyLimit(self.thinking)
        self._stated_options = options.select(*LIMIT_OPTIONS)

    @property
    def identity(self) -> Mapping[str, Any]:
        settings = {key: value for key, value in self._settings.items() if value is not None}
        extra = {"extra": self._extra} if self._extra else {}
        named = {**settings, **extra, **self._stated_options, **thinking_identity(self.thinking)}
        return {"model": self.name, "video": self.capabilities.video, **named}

    async def close(self) -> None:
        try:
            await self.files.close()
        finally:
            await super().close()

    async def ask(self, request: Request) -> Reply:
        async with self.files.holding(request) as files:

            async def post(limit: int | None) -> Any:
                body = msgspec.json.encode(self.body(request, files, limit))
                return await self.client.post(f"/models/{self.model}:generateContent", body)

            answer = await self._reply_limit.send(post, request.decoding.max_tokens)
        return read_response(answer, self.server)

    def batch_api(self) -> BatchApi:
        from vivant.models.batch.gemini import GeminiBatches

        return GeminiBatches(self)

    def body(self, request: Request, files: Mapping[str, str], most: int | None = None) -> dict[str, Any]:
        """The request as the API takes it; `files` are the addresses of uploaded videos by path, `most` is the highest
        limit on a reply that the server allows."""
        contents: list[dict[str, Any]] = []
        system: list[dict[str, Any]] = []
        for turn in request.turns:
            pieces = [piece for part in turn.parts for piece in _content_parts(part, files)]
            if turn.role == "system":
                system += pieces
            else:
                contents.append({"role": "model" if turn.role == "assistant" else "user", "parts": pieces})
        decoding = request.decoding
        limit = decoding.max_tokens if self.thinking is None else self.thinking.limit(decoding.max_tokens)
        config: dict[str, Any] = {
            "maxOutputTokens": None if limit is None else min(limit, most or limit),
            "temperature": decoding.temperature,
            "topP": decoding.top_p,
            "seed": decoding.seed,
            "stopSequences": list(decoding.stop) or None,
        }
        if self._settings["resolution"]:
            config["mediaResolution"] = f"MEDIA_RESOLUTION_{str(self._settings['resolution']).upper()}"
        body = {
            "contents": contents,
            "generationConfig": {key: value for key, value in config.items() if value is not None},
        }
        if system:
            body["systemInstruction"] = {"parts": system}
        if self.thinking is not None:
            body = merge_fields(body, self.thinking.body)
        return merge_fields(body, self._extra)


def _parse_budget(value: Any, options: ThinkingOptions) -> ThinkingOptions:
    """`--model-option thinking_budget=N` in the words of the other providers: -1 leaves it to the model."""
    if options.is_set:
        raise UsageError("--model-option thinking_budget is --thinking-tokens by another name; give one")
    try:
        tokens = int(value)
    except ValueError:
        raise UsageError(f"--model-option thinking_budget={value}: write a number of tokens") from None
    if tokens < 0:
        return ThinkingOptions()
    return ThinkingOptions(off=True) if tokens == 0 else ThinkingOptions(tokens=tokens)


def _content_parts(part: Content, files: Mapping[str, str]) -> list[dict[str, Any]]:
    if isinstance(part, Text):
        return [{"text": part.text}] if part.text else []
    if isinstance(part, Clip):
        if part.frames:
            return [piece for frame in part.frames for piece in _content_parts(frame, files)]
        return [_video_part(part, files)]
    return [_inline(part.data, part.media_type)]


def _video_part(clip: Clip, files: Mapping[str, str]) -> dict[str, Any]:
    """A video file with the frame rate and the part of it to look at."""
    if clip.path in files:
        piece: dict[str, Any] = {"fileData": {"mimeType": clip.media_type, "fileUri": files[clip.path]}}
    else:
        with open(clip.path, "rb") as file:
            piece = _inline(file.read(), clip.media_type)
    metadata: dict[str, Any] = {}
    if clip.fps is not None:
        metadata["fps"] = min(_MAX_FPS, float(f"{clip.fps:.5g}"))
    if clip.timing is not None and clip.timing.start is not None:
        metadata["startOffset"] = _format_duration(clip.timing.start)
    if clip.timing is not None and clip.timing.end is not None:
        metadata["endOffset"] = _format_duration(clip.timing.end)
    return {**piece, "videoMetadata": metadata} if metadata else piece


def _format_duration(seconds: float) -> str:
    """Seconds as the API takes them: no exponent, at most nine decimals."""
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"


def _inline(data: bytes, media_type: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media_type, "data": b64encode(data).decode("ascii")}}


@read_any_form
def read_response(answer: Any, where: str) -> Reply:
    """A `generateContent` response as a Reply."""
    if not isinstance(answer, dict):
        raise TransientError(f"{where} sent JSON that is no answer: {str(answer)[:120]}")
    usage = answer.get("usageMetadata")
    usage = usage if isinstance(usage, dict) else {}
    thought_tokens = read_count(usage.get("thoughtsTokenCount")) or 0
    answer_tokens = read_count(usage.get("candidatesTokenCount"))
    counts: dict[str, Any] = {
        "tokens_in": read_count(usage.get("promptTokenCount")),
        "tokens_out": None
        if answer_tokens is None and not thought_tokens
        else (answer_tokens or 0) + thought_tokens,
        "tokens_thinking": thought_tokens or None,
        "model": read_string(answer.get("modelVersion")),
    }
    feedback = answer.get("promptFeedback")
    blocked = read_string(feedback.get("blockReason")) if isinstance(feedback, dict) else ""
    if blocked:
        return Reply(status="refused", error=f"the prompt was blocked: {blocked}", **counts)
    try:
        candidate = answer["candidates"][0]
    except (KeyError, IndexError, TypeError) as error:
        raise TransientError(f"{where} sent JSON without candidates: {str(answer)[:120]}") from error
    content = candidate.get("content") or {}
    parts = [part for part in content.get("parts") or [] if isinstance(part, dict)]
    answers = [part for part in parts if not part.get("thought")]
    thinking = "".join(read_string(part.get("text")) for part in parts if part.get("thought"))
    finish = read_string(candidate.get("finishReason")) or "STOP"
    status: ReplyStatus = "ok"
    error_text = ""
    if finish in _REFUSALS:
        status, error_text = "refused", f"stopped by the content filter ({finish})"
    elif finish == "MAX_TOKENS":
        status, error_text = "truncated", "stopped at the token limit"
    elif finish != "STOP":
        status, error_text = "error", f"stopped for {finish}"
    elif not answers:
        status, error_text = "error", describe_missing_answer(thoughts=bool(parts))
    text = "".join(read_string(part.get("text")) for part in answers)
    return Reply(status=status, text=text, thinking=thinking, error=error_text, **counts)


def create(name: str, options: ModelOptions) -> Model:
    """`--model gemini/NAME`."""
    if not name:
        raise UsageError("Name the model: gemini/NAME, e.g. gemini/gemini-2.5-flash")
    return Gemini(name, options)
