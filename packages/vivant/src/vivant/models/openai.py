"""Any server that speaks OpenAI's chat completions or Responses: OpenAI, vLLM, SGLang, llama.cpp, Ollama, gateways."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from vivant.core.errors import UsageError, VivantError
from vivant.core.types import Clip, Content, Picture, Reply, Request, Sound, Text
from vivant.models.base import (
    Capabilities,
    Model,
    ModelError,
    ModelOptions,
    TransientError,
    parse_bool,
    parse_mapping,
)
from vivant.models.http import (
    HttpModel,
    complete_url,
    public_url,
    read_key,
    read_string,
)
from vivant.models.likelihood import option_likelihoods
from vivant.models.model_table import LIMIT_OPTIONS, ServerFacts, find_model, find_server, merge_limits
from vivant.models.openai_completions import read_completion
from vivant.models.openai_responses import read_response, to_response_request
from vivant.models.reply_limit import ReplyLimit
from vivant.models.server_errors import RequestRefusedError
from vivant.models.server_video import VIDEO_OPTIONS, ServerVideo
from vivant.models.thinking import merge_fields, plan_thinking, thinking_identity

if TYPE_CHECKING:
    from vivant.models.batch.base import BatchApi

logger = logging.getLogger("vivant")
DEFAULT_URL = "https://api.openai.com/v1"
_OPTION_TOKENS = 16
"""An option must be named within so many tokens to be weighed."""


class OpenAI(HttpModel):
    """Chat completions, or the Responses API (`--model-option api=responses`).

    Pictures go out as the bytes they are, in data URLs.
    """

    def __init__(self, model: str, options: ModelOptions, *, facts: ServerFacts | None = None) -> None:
        settings = options.resolve(
            detail="auto",
            reasoning=None,
            sampling=None,
            extra_body={},
            key_variable=None,
            server=None,
            **VIDEO_OPTIONS,
            api=None,
            **LIMIT_OPTIONS,
        )
        url = complete_url(options.base_url or read_key("OPENAI_BASE_URL") or DEFAULT_URL)
        self.facts = facts or find_server(url, settings["server"])
        variable = settings["key_variable"] or self.facts.key
        key = read_key(variable)
        if not key and self.facts.needs_key and options.needs_key:
            raise UsageError(f"No key for {public_url(url)}: set {variable}, or give --base-url")
        bearer = "Bearer " if self.facts.key_header == "Authorization" else ""
        headers = {self.facts.key_header: bearer + key} if key else {}
        super().__init__(f"openai/{model}", url, headers, options.timeout)
        native = options.video == "native"
        self._check_supported("--video-as native", native, self.facts.video)
        self._check_supported("--model-option detail", settings["detail"] != "auto", self.facts.detail)
        self._video = ServerVideo(self.facts.frames, settings)
        frames = native and self._video.sends_frames
        self.capabilities = Capabilities(
            video=native and not frames,
            audio=self.facts.audio,
            clips=frames,
            sampling=native and self.facts.frames != "",
        )
        self.model = model
        self._detail: str = settings["detail"]
        self._extra = parse_mapping("extra_body", settings["extra_body"])
        model_facts = find_model(model)
        reasoning, sampling = settings["reasoning"], settings["sampling"]
        self._reasoning = model_facts.reasoning if reasoning is None else parse_bool("reasoning", reasoning)
        self._sampling = not self._reasoning and model_facts.sampling
        if sampling is not None:
            self._sampling = parse_bool("sampling", sampling)
        self.limits = merge_limits(self.facts, model_facts, settings)
        self.thinking = plan_thinking(
            model,
            options.thinking,
            server=self.facts,
            thinks=model_facts.reasoning or None if reasoning is None else self._reasoning,
        )
        self.uses_responses = parse_api(settings["api"], responses=model_facts.responses)
        self.untold = () if self._sampling else ("temperature", "top_p")
        self.untold += ("stop",) if self._reasoning or self.uses_responses else ()
        self.untold += ("seed",) if self.uses_responses else ()
        self._reply_limit = ReplyLimit(self.thinking)
        self._stated_options = options.select(*LIMIT_OPTIONS)
        self._stated_options |= {"reasoning": self._reasoning} if reasoning is not None else {}
        self._stated_options |= {"sampling": self._sampling} if sampling is not None else {}
        if self.uses_responses != model_facts.responses:
            self._stated_options["api"] = settings["api"]
        thinks = self.thinking is not None and self.thinking.room > 0
        no_logprobs = self._reasoning or thinks or self.uses_responses
        self.has_loglikelihood = self.facts.top_logprobs > 0 and not no_logprobs

    def _check_supported(self, option: str, used: bool, supported: bool) -> None:
        if used and not supported:
            raise UsageError(f"{self.facts.name} does not take {option}; leave it out")

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "model": self.name,
            "detail": self._detail,
            "video": self.capabilities.video_input.form
            if self.capabilities.clips
            else self.capabilities.video,
            "extra": self._extra,
            **self._stated_options,
            **thinking_identity(self.thinking),
        }

    async def open(self) -> None:
        await super().open()
        await self.check_version()

    async def check_version(self) -> None:
        """Raise where the server is a vLLM too old to be told about the frames of a video."""
        if self.facts.frames != "media_io_kwargs" or self.capabilities.video_input.form == "images":
            return
        try:
            answer = await self.client.get("//version")
        except TransientError:
            return  # a server that is yet to start; requests say what is wrong with it
        except (VivantError, RequestRefusedError):
            answer = None  # a gateway in front of it
        version = read_string(answer.get("version")) if isinstance(answer, dict) else ""
        if not version:
            logger.warning(
                "%s does not say which version of vLLM it is. One before 0.18 does not heed which frames of a video a "
                "request names, and the log would be wrong about them.",
                self.server,
            )
        if problem := self._video.find_version_problem(version):
            raise ModelError(f"{self.name}: {problem}")

    @property
    def endpoint(self) -> str:
        """The path that requests go to."""
        return "/responses" if self.uses_responses else "/chat/completions"

    def read_answer(self, answer: Any, where: str) -> Reply:
        """An answer of that endpoint as a Reply."""
        return read_response(answer, where) if self.uses_responses else read_completion(answer, where)

    async def ask(self, request: Request) -> Reply:
        async def post(limit: int | None) -> Any:
            return await self._post(self.body(request, limit))

        return self.read_answer(await self._reply_limit.send(post, request.decoding.max_tokens), self.server)

    async def _post(self, body: dict[str, Any]) -> Any:
        return await self.client.post(self.endpoint, msgspec.json.encode(body))

    async def loglikelihood(self, request: Request, answers: tuple[str, ...]) -> Reply:  # noqa: ARG002
        """From the alternatives that the server reports at the token which names an option."""
        return await self.read_reply(self._fetch_loglikelihood(request))

    async def _fetch_loglikelihood(self, request: Request) -> Reply:
        names = [option.name for option in request.options]
        logprob_options = {
            "max_tokens": _OPTION_TOKENS,
            "logprobs": True,
            "top_logprobs": self.facts.top_logprobs,
        }
        answer = await self.client.post(
            "/chat/completions", msgspec.json.encode(self.body(request) | logprob_options)
        )
        reply = read_completion(answer, self.server)
        tokens = (answer["choices"][0].get("logprobs") or {}).get("content") or []
        if not tokens and reply.status in ("ok", "truncated"):
            return Reply(
                status="error", error=f"{self.server} sends no logprobs; leave out --answer-by loglik"
            )
        weights = option_likelihoods(tokens, names)
        if weights and reply.status == "truncated":  # it was cut off on purpose
            reply = msgspec.structs.replace(reply, status="ok", error="")
        return msgspec.structs.replace(reply, likelihoods=weights)

    def batch_api(self) -> BatchApi:
        from vivant.models.batch.openai import OpenAIBatches

        if not self.facts.batches:
            return super().batch_api()
        return OpenAIBatches(self)

    def body(self, request: Request, most: int | None = None) -> dict[str, Any]:
        """The request as the API takes it. `most` is the highest limit on a reply that the server allows."""
        body = self._chat_body(request, most)
        return merge_fields(to_response_request(body) if self.uses_responses else body, self._extra)

    def _chat_body(self, request: Request, most: int | None) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        for turn in request.turns:
            content = join_text([piece for part in turn.parts for piece in self._pieces(part)])
            # Some servers take a list only where it holds media: text alone goes out as a plain string.
            only_text = len(content) == 1 and content[0]["type"] == "text"
            messages.append({"role": turn.role, "content": content[0]["text"] if only_text else content})
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        if self.capabilities.video or self.capabilities.clips:
            body |= self._video.fields(request)
        decoding = request.decoding
        limit = decoding.max_tokens if self.thinking is None else self.thinking.limit(decoding.max_tokens)
        if limit is not None:
            body["max_completion_tokens" if self._reasoning else "max_tokens"] = min(limit, most or limit)
        if self._sampling:
            if decoding.temperature is not None:
                body["temperature"] = decoding.temperature
            if decoding.top_p is not None:
                body["top_p"] = decoding.top_p
        if decoding.stop and not self._reasoning:
            body["stop"] = list(decoding.stop)
        if decoding.seed is not None:
            body[self.facts.seed] = decoding.seed
        return body if self.thinking is None else merge_fields(body, self.thinking.body)

    def _pieces(self, part: Content) -> list[dict[str, Any]]:
        if isinstance(part, Text):
            return [{"type": "text", "text": part.text}]
        if isinstance(part, Picture):
            url: dict[str, Any] = {"url": encode_data_url(part.data, part.media_type)}
            if self._detail != "auto":
                url["detail"] = self._detail
            return [{"type": "image_url", "image_url": url}]
        if isinstance(part, Sound):
            audio = {"data": b64encode(part.data).decode(), "format": part.media_type.rsplit("/", 1)[-1]}
            return [{"type": "input_audio", "input_audio": audio}]
        return self._clip(part)

    def _clip(self, clip: Clip) -> list[dict[str, Any]]:
        if clip.frames and not self.capabilities.clips:
            return [piece for frame in clip.frames for piece in self._pieces(frame)]
        return [self._video.part(clip)]


def parse_api(value: Any, *, responses: bool) -> bool:
    """Whether requests go through the Responses API: as the user says, else as the model needs it."""
    if value not in (None, "chat", "responses"):
        raise UsageError(f"--model-option api={value}: write chat or responses")
    return responses if value is None else value == "responses"


def join_text(pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join text pieces that follow each other, each on a line of its own."""
    joined: list[dict[str, Any]] = []
    for piece in pieces:
        if joined and piece["type"] == joined[-1]["type"] == "text":
            before, after = joined[-1]["text"], piece["text"]
            separator = "" if before.endswith("\n") or after.startswith("\n") else "\n"
            joined[-1] = {"type": "text", "text": before + separator + after}
        else:
            joined.append(piece)
    return joined


def encode_data_url(data: bytes, media_type: str) -> str:
    """Bytes as a `data:` URL."""
    return f"data:{media_type};base64,{b64encode(data).decode('ascii')}"


def create(name: str, options: ModelOptions) -> Model:
    """`--model openai/NAME [--base-url URL]`."""
    if not name:
        raise UsageError("Name the model: openai/NAME, e.g. openai/gpt-4o-mini")
    return OpenAI(name, options)
