"""Models on this machine: one worker process per accelerator, fed with batches of requests of similar length.

A process of its own keeps torch out of this one, frees an accelerator's memory for certain, and costs its
batch, not the run, when it dies. Messages are msgpack after their length, as for media workers.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal

import msgspec
from msgspec import Struct

from vivant.core.errors import UsageError
from vivant.core.types import Clip, Picture, Reply, Request, Text
from vivant.models.base import Model, ModelError, parse_positive

logger = logging.getLogger("vivant")
_GATHER_SECONDS = 0.02
"""Seconds that a worker with nothing to do waits for requests to join the first."""
_PIXELS_PER_TOKEN = 784
_MAX_DEATHS = 3
"""So many deaths of workers without an answer between them end the run."""


class LoadEngine(Struct, frozen=True, kw_only=True):
    """The first message to a worker: what to load."""

    engine: str
    """`module:Class`, made with the settings and the number of the accelerator."""
    settings: Mapping[str, Any]
    accelerator: int = 0


class EngineLoaded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A worker's first message."""

    error: str = ""
    accelerators: int = 0
    """How many there are on this machine."""
    takes_video: bool = False
    """Whether a video is given to the model as a video."""
    note: str = ""
    """What the user should know about the model as it was loaded."""


class BatchRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is sent to a worker: requests that the engine answers together."""

    requests: tuple[Request, ...]
    answers: tuple[tuple[str, ...], ...] = ()
    """Where there are any: weigh these, for each request, instead of writing."""


class BatchReplies(Struct, frozen=True):
    """Replies to a batch, in its order."""

    replies: tuple[Reply, ...]


class _PendingRequest(Struct, eq=False):
    request: Request
    answers: tuple[str, ...]
    length: int
    kind: Any
    """What requests of one batch must share."""
    reply: asyncio.Future[Reply]


class LocalModel(Model):
    """A model whose engine runs in workers. A subclass says which engine and with which settings."""

    is_local = True
    stacks_videos = True
    """Whether videos of a batch must have the same number of frames."""

    def __init__(
        self, name: str, engine: str, settings: Mapping[str, Any], *, batch_size: Any, workers: Any
    ) -> None:
        self.name = name
        self._engine = engine
        self._settings = settings
        self._size = parse_positive("batch_size", batch_size)
        self._worker_count = None if workers == "auto" else parse_positive("workers", workers)
        self._waiting: list[_PendingRequest] = []
        self._workers: list[EngineWorker] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: ModelError | None = None
        self._deaths = 0
        self.takes_video = False
        """Known when it is open."""

    async def open(self) -> None:
        self._arrived = asyncio.Event()
        self._failure = None
        try:
            first = await self._start(0)
            self.takes_video = first.takes_video
            if first.note:
                logger.warning("%s: %s", self.name, first.note)
            count = self._worker_count or max(1, first.accelerators)
            others = (self._start(number) for number in range(1, count))
            for outcome in await asyncio.gather(*others, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
        except BaseException:
            await self.close()
            raise
        self._tasks = [asyncio.create_task(self._serve(worker)) for worker in self._workers]

    async def _start(self, number: int) -> EngineWorker:
        worker = EngineWorker(LoadEngine(engine=self._engine, settings=self._settings, accelerator=number))
        self._workers.append(worker)
        await worker.start(self.name)
        return worker

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        for worker in self._workers:
            await worker.stop()
        self._workers = []

    async def generate(self, request: Request) -> Reply:
        return await self._enqueue(request, ())

    async def loglikelihood(self, request: Request, answers: tuple[str, ...]) -> Reply:
        return await self._enqueue(request, answers)

    async def _enqueue(self, request: Request, answers: tuple[str, ...]) -> Reply:
        if self._failure is not None:
            raise self._failure
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        length = estimate_length(request)
        media = list_media(request, self.takes_video) if self.stacks_videos else None
        kind = (media, bool(answers), request.decoding)
        self._waiting.append(_PendingRequest(request, answers, length, kind, reply))
        self._arrived.set()
        return await reply

    async def _serve(self, worker: EngineWorker) -> None:
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
                await asyncio.sleep(_GATHER_SECONDS)
            batch = select_batch(self._waiting, self._size)
            self._waiting = [waiting for waiting in self._waiting if waiting not in batch]
            if not batch:
                continue
            answers = tuple(waiting.answers for waiting in batch) if batch[0].answers else ()
            answer = await worker.send(
                BatchRequest(requests=tuple(w.request for w in batch), answers=answers)
            )
            if answer is None:
                await self._replace_worker(worker, batch)
                continue
            self._deaths = 0
            for waiting, reply in zip(batch, answer.replies, strict=True):
                if not waiting.reply.done():
                    waiting.reply.set_result(reply)

    async def _replace_worker(self, worker: EngineWorker, batch: list[_PendingRequest]) -> None:
        """A worker died over a batch: its samples failed. Start another, unless that happens again and again."""
        error = f"the worker died: {await worker.exit_reason()}"
        for waiting in batch:
            if not waiting.reply.done():
                waiting.reply.set_result(Reply(status="error", error=error))
        self._deaths += 1
        try:
            if self._deaths >= _MAX_DEATHS:
                raise ModelError(f"{self.name}: {self._deaths} times in a row, {error}")
            await worker.start(self.name)
        except ModelError as failure:
            self._failure = failure
            for waiting in self._waiting:
                if not waiting.reply.done():
                    waiting.reply.set_exception(failure)
            self._waiting = []


def list_media(request: Request, as_video: bool) -> tuple[bool, tuple[int, ...]]:
    """Whether there are pictures in a request, and the number of frames of each video: processors stack them."""
    parts = [part for turn in request.turns for part in turn.parts]
    clips = [len(part.frames) for part in parts if isinstance(part, Clip)]
    pictures = any(isinstance(part, Picture) for part in parts)
    return (pictures, tuple(clips)) if as_video else (pictures or any(clips), ())


def estimate_length(request: Request) -> int:
    """About how many tokens a request has."""
    characters = pixels = 0
    for turn in request.turns:
        for part in turn.parts:
            if isinstance(part, Text):
                characters += len(part.text)
            elif isinstance(part, Picture):
                pixels += part.width * part.height
            elif isinstance(part, Clip):
                pixels += sum(frame.width * frame.height for frame in part.frames)
    return characters // 4 + pixels // _PIXELS_PER_TOKEN


def select_batch(waiting: list[_PendingRequest], most: int) -> list[_PendingRequest]:
    """The next batch: the request that has waited longest, and those nearest to it in length.

    Padding costs as much as content, so a batch of equals wastes nothing.
    """
    if not waiting:
        return []
    first = waiting[0]
    fitting = [other for other in waiting if other.kind == first.kind]
    fitting.sort(key=lambda other: (other is not first, abs(other.length - first.length)))
    return fitting[:most]


class EngineWorker:
    """One process. `start` may be called again after it died."""

    def __init__(self, setup: LoadEngine) -> None:
        self._setup = setup
        self._process: asyncio.subprocess.Process | None = None
        self._errors: IO[bytes] | None = None
        self.accelerators = 0
        self.takes_video = False
        self.note = ""

    async def start(self, name: str) -> None:
        """Start the process and wait until its model is loaded."""
        self._reset()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (outlives this function)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "vivant.models.local_worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the run, which then ends its workers
        )
        message = await self._exchange(self._setup)
        if message is None:
            raise ModelError(f"{name}: the worker died while loading: {await self.exit_reason()}")
        loaded = msgspec.msgpack.decode(message, type=EngineLoaded)
        if loaded.error:
            await self.stop()
            raise ModelError(f"{name}: {loaded.error}")
        self.accelerators, self.takes_video = loaded.accelerators, loaded.takes_video
        self.note = loaded.note

    async def send(self, batch: BatchRequest) -> BatchReplies | None:
        """Replies to a batch; None where the process died over it."""
        answer = await self._exchange(batch)
        return None if answer is None else msgspec.msgpack.decode(answer, type=BatchReplies)

    async def _exchange(self, message: Struct) -> bytes | None:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        data = msgspec.msgpack.encode(message)
        try:
            process.stdin.write(len(data).to_bytes(4, "big") + data)
            await process.stdin.drain()
            size = int.from_bytes(await process.stdout.readexactly(4), "big")
            return await process.stdout.readexactly(size)
        except (ConnectionError, asyncio.IncompleteReadError):
            return None

    async def exit_reason(self) -> str:
        """Why a dead process died, in one line."""
        assert self._process is not None and self._errors is not None
        code = await self._process.wait()
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().decode("utf-8", "replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "")[:200]
        if code >= 0:
            return last or f"exit code {code}"
        cause = signal.Signals(-code).name
        return f"{cause}, perhaps out of memory" if -code == signal.SIGKILL else f"{cause} {last}".strip()

    async def stop(self) -> None:
        """End the process and those that it started, at once: nothing in them is worth keeping."""
        if self._process is not None:
            with suppress(ProcessLookupError):  # they ended by themselves
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        self._reset()

    def _reset(self) -> None:
        if self._errors is not None:
            self._errors.close()
        self._errors = None
        self._process = None


# ── checkpoints ──


def format_checkpoint_name(backend: str, checkpoint: str) -> str:
    """As tables show it: a hub's name in full, a folder by its last part."""
    return f"{backend}/{Path(checkpoint).name if Path(checkpoint).expanduser().is_dir() else checkpoint}"


def hash_checkpoint(checkpoint: str) -> str:
    """What tells a folder's content from another's: all of small files; of large ones both ends and blocks in between.

    Replies are reused by it, so a checkpoint trained further under the same name must differ, also where a merged LoRA
    changed the layers in the middle alone.
    """
    folder = Path(checkpoint).expanduser()
    if not checkpoint or not folder.is_dir():  # an empty path is the current folder, which is nobody's
        return ""
    hashed = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _HASHED):
        size = file.stat().st_size
        hashed.update(f"{file.relative_to(folder)}\0{size}\0".encode())
        with file.open("rb") as content:
            hashed.update(content.read(_ENDS))
            if size > 2 * _ENDS:
                for number in range(1, _BLOCKS):
                    content.seek(size * number // _BLOCKS)
                    hashed.update(content.read(_BLOCK))
            content.seek(max(0, size - _ENDS))
            hashed.update(content.read(_ENDS))
    return hashed.hexdigest()[:16]


_ENDS = 1 << 20
_BLOCKS, _BLOCK = 512, 4096
_HASHED = frozenset(
    (".json", ".safetensors", ".onnx", ".bin", ".pt", ".gguf", ".txt", ".model", ".jinja", ".py")
)


def require_checkpoint(backend: str, name: str) -> None:
    """An error where `--model` names the backend alone."""
    if not name:
        raise UsageError(
            f"Name the checkpoint: {backend}/ID or {backend}/FOLDER, e.g. {backend}/Qwen/Qwen2.5-VL-7B-Instruct"
        )


def check_checkpoint_path(checkpoint: str, option: Literal["model", "adapter"]) -> str:
    """A path that is written as one must be there; anything else is a name on the hub."""
    if checkpoint.startswith((".", "/", "~")):
        if not Path(checkpoint).expanduser().is_dir():
            raise UsageError(f"The {option} {checkpoint} does not exist, or is no folder")
        return str(Path(checkpoint).expanduser().resolve())
    return checkpoint
