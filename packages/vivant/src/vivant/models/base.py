"""What a model is: one async method, and what it says of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from msgspec import Struct, field

from vivant.core.errors import UsageError, VivantError, format_traceback, shorten_line, unknown_name_error
from vivant.core.optional_packages import require_package as require_package
from vivant.core.types import FramePolicy, Reply, Request, Tokenizer, VideoInput

if TYPE_CHECKING:
    from vivant.models.batch.base import BatchApi
    from vivant.models.model_table import RequestLimits
    from vivant.models.thinking import Thinking

Effort = Literal["low", "medium", "high"]


VideoAs = Literal["auto", "native", "images"]


class Capabilities(Struct, frozen=True):
    """Which media a model accepts. Without `video`, it receives a video as frames."""

    images: bool = True
    """Without, it receives text alone, and no media are read for it."""
    video: bool = False
    """Takes the video file itself."""
    audio: bool = False
    clips: bool = False
    """Takes a video's frames as one video, with their times."""
    sampling: bool = False
    """Can be told which frames of a video file to look at."""
    windows: bool = False
    """Can be told which part of a video file to look at."""

    @property
    def video_input(self) -> VideoInput:
        """How videos are prepared for it."""
        form: Literal["images", "video", "file"] = (
            "file" if self.video else "video" if self.clips else "images"
        )
        return VideoInput(form, sampling=self.sampling, windows=self.windows)


class ThinkingOptions(Struct, frozen=True, kw_only=True):
    """What the user says about thinking."""

    tokens: int | None = None
    effort: Effort | None = None
    off: bool = False

    @property
    def is_set(self) -> bool:
        """Whether the user says anything."""
        return self != ThinkingOptions()

    @property
    def flag(self) -> str:
        """The first option that is given, as a user writes it."""
        if self.off:
            return "--no-thinking"
        return "--effort" if self.effort is not None else "--thinking-tokens"


class ModelOptions(Struct, frozen=True, kw_only=True):
    """What the user says about a model besides its name."""

    base_url: str | None = None
    timeout: float = 600.0
    """Seconds that one request may take."""
    video: VideoAs = "auto"
    """`native`: as a video; `images`: as frames; `auto`: as the backend does unless told."""
    frames: FramePolicy = FramePolicy()
    """Which frames of a video are shown, for backends that must be told when they start."""
    thinking: ThinkingOptions = ThinkingOptions()
    values: Mapping[str, Any] = field(default_factory=dict)
    """Backend-specific settings (`--model-option detail=low`)."""
    needs_key: bool = True
    """Whether a missing key is an error. Not where nothing will be sent."""

    def resolve(self, **defaults: Any) -> dict[str, Any]:
        """The backend-specific settings over their defaults; an unknown one is refused by name."""
        for name in self.values:
            if name not in defaults:
                raise unknown_name_error("model option", name, defaults)
        return {**defaults, **self.values}

    def select(self, *names: str) -> dict[str, Any]:
        """The backend-specific settings of these names that the user gave, for the model's identity."""
        return {name: self.values[name] for name in names if self.values.get(name) is not None}


class TransientError(Exception):
    """The request may succeed if it is made again: 429, 5xx, a time-out, a broken connection."""

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        slow_down: bool = False,
        unreachable: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.slow_down = slow_down
        """The server asked for less traffic."""
        self.unreachable = unreachable
        """No server answered at all."""


class ModelError(VivantError):
    """No request of this run can succeed: a wrong key, an unknown model, no server."""


class DeniedError(ModelError):
    """The server denies a request, and perhaps all: 403 and 404 without a reason. It costs its sample where other
    requests succeed, and ends the run where they do not."""


class RunResource(ABC):
    """What a run opens before its first request and closes after its last."""

    name: str
    """As tables show it."""
    caveat: str = ""
    """What tables must say beside figures that rest on it: "a rule of thumb, never for results"."""

    @property
    def server(self) -> str:
        """Where it answers, without secrets. Part of a request's fingerprint but not of a run's: a run may
        go on with the same model at another address, while replies are reused from the same address only."""
        return ""

    async def open(self) -> None:
        """Called once, in the run's event loop, before the first request."""
        return

    async def close(self) -> None:
        """Called once after the last request, also when the run fails."""
        return


class Model(RunResource):
    """Subclass and implement `generate`. `open` and `close` frame a run."""

    capabilities: Capabilities = Capabilities()
    cacheable: bool = True
    """Whether a reply may be reused for an identical request."""
    is_seeded: bool = False
    """Whether `Request.seed` decides its greedy replies too, so that they are reused for the same seed alone."""
    limits: RequestLimits | None = None
    """The most that one request may hold; what is over it is shrunk or refused before `generate` sees it."""
    thinking: Thinking | None = None
    """How it thinks before it answers; None: it does not, as far as is known."""
    untold: tuple[str, ...] = ()
    """Settings of `Decoding` that it cannot be told. Its own hold; what the user sets otherwise is refused."""
    exclusive: tuple[str, ...] = ()
    """Settings of `Decoding` of which it takes one at most; to set them all is refused."""
    is_local: bool = False
    """Whether it computes on this machine rather than on a server's: with Ray, one worker per accelerator."""
    code_version: str = ""
    """Which code it is, of a user's file or package; set when it is created, and part of every fingerprint."""
    has_loglikelihood: bool = False
    """Whether `loglikelihood` is offered (`--answer-by loglik`)."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What tells this model from another in a fingerprint. Never a secret."""
        return {"model": self.name}

    @abstractmethod
    async def generate(self, request: Request) -> Reply:
        """Answer one request. Raise `TransientError` for what may pass, `ModelError` for what cannot."""

    async def loglikelihood(self, request: Request, answers: tuple[str, ...]) -> Reply:  # noqa: ARG002
        """How likely each answer is, as `Reply.likelihoods`; the reply's text does not matter."""
        raise UsageError(f"{self.name} does not report likelihoods; leave out --answer-by loglik")

    def tokenizer(self) -> Tokenizer | None:
        """How it takes a text apart, for benchmarks that cut to its window; None where that is not known here."""
        return None

    def batch_api(self) -> BatchApi:
        """The provider's batch endpoints (`--batch`). They share the model's session: open it first."""
        raise UsageError(f"{self.name} has no batch endpoint; leave out --batch")


def identify_model(model: Model) -> dict[str, Any]:
    """A model's identity with the code that it is, where that is not Vivant's own."""
    code = {"code": model.code_version} if model.code_version else {}
    return {**model.identity, **code}


class WrappedModel(Model):
    """Another model with something around it. All that the other declares holds here too, unless a subclass sets it;
    batch endpoints are not offered, as they would go around what is around it."""

    def __init__(self, inner: Model) -> None:
        for name in (*RunResource.__annotations__, *Model.__annotations__):
            setattr(self, name, getattr(inner, name))
        self._inner = inner

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._inner.identity

    @property
    def server(self) -> str:
        return self._inner.server

    def tokenizer(self) -> Tokenizer | None:
        return self._inner.tokenizer()

    async def open(self) -> None:
        await self._inner.open()
        self.capabilities = self._inner.capabilities  # some know only now what they accept

    async def close(self) -> None:
        await self._inner.close()

    async def generate(self, request: Request) -> Reply:
        return await self._inner.generate(request)

    async def loglikelihood(self, request: Request, answers: tuple[str, ...]) -> Reply:
        return await self._inner.loglikelihood(request, answers)


def make_error_reply(error: Exception) -> Reply:
    """The reply that stands for an exception of a model's own code, with its traceback."""
    message = shorten_line(f"{type(error).__name__}: {error}")
    return Reply(status="error", error=message, traceback=format_traceback(error))


def refuse_native_video(options: ModelOptions, name: str) -> None:
    """Raise where the user asks a model for native video that only looks at pictures."""
    if options.video == "native":
        raise UsageError(f"{name} takes videos as frames; leave out --video-as native")


def split_thinking_values(values: Mapping[str, Any]) -> tuple[ThinkingOptions, dict[str, Any]]:
    """What is said about thinking among backend-specific settings, for a judge: `thinking_tokens=`, `effort=`,
    `thinking=false`; and the other settings."""
    rest = dict(values)
    tokens, effort = rest.pop("thinking_tokens", None), rest.pop("effort", None)
    is_off = not parse_bool("thinking", rest.pop("thinking", True))
    if effort not in (None, *get_args(Effort)):
        raise unknown_name_error("effort", str(effort), get_args(Effort))
    if is_off and (tokens is not None or effort is not None):
        raise UsageError("thinking=false goes without effort and thinking_tokens")
    tokens = None if tokens is None else parse_positive("thinking_tokens", tokens)
    return ThinkingOptions(tokens=tokens, effort=effort, off=is_off), rest


def parse_positive(option: str, value: Any) -> int:
    """A model option that must be a number above 0."""
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise UsageError(f"--model-option {option}={value}: write a whole number above 0")
    return number


def parse_mapping(option: str, value: Any) -> dict[str, Any]:
    """A model option that is a JSON object."""
    try:
        return msgspec.convert(
            msgspec.json.decode(value) if isinstance(value, str) else value, dict[str, Any]
        )
    except msgspec.MsgspecError as error:
        raise UsageError(f"--model-option {option}={value}: write a JSON object") from error


def parse_bool(option: str, value: Any) -> bool:
    """A model option that is true or false."""
    if isinstance(value, bool):
        return value
    if str(value).lower() not in ("true", "false"):
        raise UsageError(f"--model-option {option}={value}: write true or false")
    return str(value).lower() == "true"
