"""Who reads the media and asks the model: this process, or others on its behalf (ray_executor).

The runner decides what is asked, when, and how often; hands do it. They know no log, no limits and no retries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from vivant.core.errors import VivantError
from vivant.core.types import Audio, Job, MediaUse, Reply, Text, Turn, Video
from vivant.engine.request_building import fingerprints, fitted, request_for
from vivant.engine.tokens import Load, measure
from vivant.media import LoadedMedia, MediaLoader
from vivant.models.base import Model, TransientError
from vivant.models.request_limits import OnTooLarge


class Look(NamedTuple):
    """Which request a job makes, before its media are decoded."""

    fingerprint: str
    media: tuple[MediaUse, ...]


class Ready(Struct, eq=False):
    """A job whose media are read."""

    job: Job
    """With notes on what was done to it."""
    look: Look
    load: Load
    held: Any
    """What only the hands that prepared it understand."""
    refused: Reply | None = None
    """Stands for the reply, where the model's limits forbid the request."""


class Hands(ABC):
    """Opened once, closed once; everything else may be under way many times at once."""

    at_once: int = 8
    """How many jobs are worth preparing at the same time."""

    @abstractmethod
    async def open(self) -> None:
        """Get the model ready. Raises VivantError where that cannot be."""

    @abstractmethod
    async def close(self) -> None:
        """Let everything go, also amid work."""

    @abstractmethod
    async def look(self, job: Job) -> Look:
        """Hash the media of a job. Raises MediaError where it cannot be asked."""

    @abstractmethod
    async def prepare(self, job: Job, look: Look | None) -> Ready:
        """Read the media of a job. Raises MediaError where it cannot be asked."""

    @abstractmethod
    async def ask(self, ready: Ready) -> Reply | TransientError:
        """One attempt. Raises VivantError where no request of this run can succeed."""

    def drop(self, ready: Ready) -> None:  # noqa: B027 (nothing to do is a right answer)
        """The job is done with, or will not be asked."""


class LocalHands(Hands):
    """This process."""

    def __init__(
        self, model: Model, loader: MediaLoader, *, audio: bool = False, on_too_large: OnTooLarge = "shrink"
    ) -> None:
        self._model = model
        self._loader = loader
        self._audio = audio and model.takes.audio
        self._on_too_large = on_too_large
        self._fingerprints = fingerprints(model, audio=self._audio, on_too_large=on_too_large)
        self._rule = model.budget.picture if model.budget is not None else None

    async def open(self) -> None:
        await self._model.open()

    async def close(self) -> None:
        await self._model.close()

    async def look(self, job: Job) -> Look:
        if not self._model.takes.images:
            return Look(self._fingerprints.of(job, ()), ())
        media = (await self._loader.identify(job)) if _large(job) else self._loader.describe(job)
        return Look(self._fingerprints.of(job, media), media)

    async def prepare(self, job: Job, look: Look | None) -> Ready:
        look = look or await self.look(job)
        if not self._model.takes.images:
            prepared = text_alone(job)
            return Ready(job, look, measure(prepared.turns, self._rule), prepared.turns)
        prepared = await self._loader.load(job, native_video=self._model.takes.video, audio=self._audio)
        prepared, notes, refused = await fitted(prepared, self._model, self._on_too_large)
        if notes:
            job = msgspec.structs.replace(job, notes=job.notes + notes)
        used = Look(look.fingerprint, prepared.media or look.media)
        return Ready(job, used, measure(prepared.turns, self._rule), prepared.turns, refused)

    async def ask(self, ready: Ready) -> Reply | TransientError:
        try:
            return await self._model.generate(request_for(ready.job, ready.held))
        except TransientError as error:
            return error
        except VivantError:
            raise
        except Exception as error:  # a backend's own defect costs this sample and is recorded as such
            return Reply(status="error", error=one_line(f"{type(error).__name__}: {error}"))

    def drop(self, ready: Ready) -> None:
        ready.held = ()


def _large(job: Job) -> bool:
    """Whether hashing may take long enough to hold up everything else."""
    return any(isinstance(part, Video | Audio) for message in job.messages for part in message.parts)


def text_alone(job: Job) -> LoadedMedia:
    """A job for a model without eyes and ears."""
    turns = (
        Turn(message.role, tuple(part for part in message.parts if isinstance(part, Text)))
        for message in job.messages
    )
    return LoadedMedia(turns=tuple(turns), media=())


def one_line(text: str) -> str:
    """The first line of a message, at a length that fits a log."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= 300 else line[:299] + "…"
