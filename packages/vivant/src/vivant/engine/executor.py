"""Reading the media and calling the model: in this process, or in others on its behalf (ray_executor).

The runner decides what is sent, when, and how often; an executor does it. It knows no log, no limits and no retries.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from vivant.core.errors import VivantError, shorten_line
from vivant.core.records import MediaUse
from vivant.core.types import Audio, Job, Reply, Text, Turn, Video
from vivant.engine.byte_budget import estimate_held
from vivant.engine.concurrency import Admission
from vivant.engine.request_building import build_request, create_fingerprints, fit_media
from vivant.engine.tokens import RequestSize, measure_request
from vivant.media import LoadedMedia, MediaLoader
from vivant.models.base import Model, TransientError, make_error_reply
from vivant.models.request_limits import OnTooLarge


class ExecutorStoppedError(Exception):
    """The run stops, and nobody is there who could do what was asked for."""


class RequestKey(NamedTuple):
    """Which request a job makes, before its media are decoded."""

    fingerprint: str
    media: tuple[MediaUse, ...]


class PreparedRequest(Struct, eq=False):
    """A job whose media are read."""

    job: Job
    """With notes on what was done to it."""
    key: RequestKey
    size: RequestSize
    payload: Any
    """What only the executor that prepared it understands."""
    refused: Reply | None = None
    """Stands for the reply, where the model's limits forbid the request."""
    seconds: float = 0.0
    """That the last attempt took."""
    admission: Admission | None = None
    """Of the last attempt, where it waited for its turn elsewhere."""


class Executor(ABC):
    """Opened once, closed once; everything else may be under way many times at once."""

    server: str = ""
    """Where the model answers, without secrets."""
    prepare_concurrency: int = 8
    """How many jobs are worth preparing at the same time."""

    shares: int = 1
    """How many processes hold media, each up to the limit (`byte_budget`)."""

    def estimate_bytes(self, job: Job) -> int:  # noqa: ARG002
        """What a job will hold in memory, before its media are read."""
        return 0

    def queue_ahead(self, limit: int) -> int:  # noqa: ARG002
        """How many requests beyond `limit` to hand to `send`: they wait where they will be sent.

        A run does not ask where each request is decided on when its turn comes (rates, budgets, early stopping).
        """
        return 0

    def set_limit(self, limit: int, cuts: int) -> None:  # noqa: B027 (nothing is queued ahead here)
        """How many of those queued ahead may be under way, after so many cuts. At 0 the run stops: `send` returns None
        for those that are not yet, and who waits for a process to work in gets an `ExecutorStoppedError`."""

    @abstractmethod
    async def open(self) -> None:
        """Get the model ready. Raises VivantError where that cannot be."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything, also in the middle of work."""

    @abstractmethod
    async def identify(self, job: Job) -> RequestKey:
        """Hash the media of a job. Raises MediaError where it cannot be asked."""

    @abstractmethod
    async def prepare(self, job: Job, key: RequestKey | None) -> PreparedRequest:
        """Read the media of a job. Raises MediaError where it cannot be asked."""

    @abstractmethod
    async def send(self, request: PreparedRequest) -> Reply | TransientError | None:
        """One attempt, and its seconds; None where it was not sent because the run stops.

        Raises VivantError where no request of this run can succeed, and MediaError where this one cannot be asked.
        """

    def release(self, request: PreparedRequest) -> None:  # noqa: B027 (nothing to do is a right answer)
        """Free what is held for a request that is done with, or will not be sent."""


class LocalExecutor(Executor):
    """Works in this process."""

    def __init__(
        self, model: Model, preparer: MediaLoader, *, audio: bool = False, on_too_large: OnTooLarge = "shrink"
    ) -> None:
        self._model = model
        self.server = model.server
        self._preparer = preparer
        self._audio = audio and model.capabilities.audio
        self._on_too_large = on_too_large
        self._fingerprints = create_fingerprints(model, audio=self._audio, on_too_large=on_too_large)
        self._rule = model.limits.picture if model.limits is not None else None
        self._media = model.capabilities.images

    def estimate_bytes(self, job: Job) -> int:
        return estimate_held(job, decoded=self._model.is_local) if self._media else 0

    async def open(self) -> None:
        await self._model.open()

    async def close(self) -> None:
        await self._model.close()

    async def identify(self, job: Job) -> RequestKey:
        if not self._model.capabilities.images:
            return RequestKey(self._fingerprints.compute(job, ()), ())
        media = (await self._preparer.identify(job)) if _large(job) else self._preparer.describe(job)
        return RequestKey(self._fingerprints.compute(job, media), media)

    async def prepare(self, job: Job, key: RequestKey | None) -> PreparedRequest:
        key = key or await self.identify(job)
        if not self._model.capabilities.images:
            prepared = drop_media(job)
            return PreparedRequest(job, key, measure_request(prepared.turns, self._rule), prepared.turns)
        prepared = await self._preparer.load(
            job, video=self._model.capabilities.video_input, audio=self._audio
        )
        prepared, notes, refused = await fit_media(prepared, self._model, self._on_too_large)
        if notes:
            job = msgspec.structs.replace(job, notes=job.notes + notes)
        used = RequestKey(key.fingerprint, prepared.media or key.media)
        return PreparedRequest(
            job,
            used,
            measure_request(prepared.turns, self._rule, decoded=self._model.is_local),
            prepared.turns,
            refused,
        )

    async def send(self, request: PreparedRequest) -> Reply | TransientError:
        began = time.perf_counter()
        try:
            reply = await self._model.generate(build_request(request.job, request.payload))
        except TransientError as error:
            return error
        except VivantError:
            raise
        except Exception as error:  # a backend's own defect costs this sample and is recorded as such
            reply = make_error_reply(error)
        finally:
            request.seconds = time.perf_counter() - began
        return _name_cut_files(reply, request.key.media)

    def release(self, request: PreparedRequest) -> None:
        request.payload = ()


def _name_cut_files(reply: Reply, media: Sequence[MediaUse]) -> Reply:
    """A failed reply whose error names the files that are cut short: a model sees their bytes, not their names."""
    names = [use.path for use in media if use.note.startswith("cut short")]
    if reply.status != "error" or not names:
        return reply
    text = f"{', '.join(names)} cut short, fetch again: {reply.error}"
    return msgspec.structs.replace(reply, error=shorten_line(text))


def _large(job: Job) -> bool:
    """Whether hashing may take long enough to hold up everything else."""
    return any(isinstance(part, Video | Audio) for message in job.messages for part in message.parts)


def drop_media(job: Job) -> LoadedMedia:
    """Keep only the text of a job, for a model that accepts no media."""
    turns = (
        Turn(message.role, tuple(part for part in message.parts if isinstance(part, Text)))
        for message in job.messages
    )
    return LoadedMedia(turns=tuple(turns), media=())
