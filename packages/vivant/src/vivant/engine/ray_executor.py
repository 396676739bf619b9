"""A run on a Ray cluster: workers on its nodes do the work, this process decides and keeps the log.

- One worker per node that offers CPUs; for models that compute themselves, one per accelerator.
- A job goes to the worker that its first file names (so that a video is decoded on one node), or, where that
  one has more than its share, to the least busy.
- Limits, rates, budgets and retries are the runner's, here, as in a run on one machine: they are global. Where nothing
  but their number limits requests, as many again wait at the workers, each of which has its share of that number
  (`ray_shares`): the next is sent when one is answered, and no message has to travel in between.
- When a worker is lost, what it had under way is prepared and asked anew on another; nodes that join, or come
  back, get a worker while the run goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, MediaError, shorten_line
from vivant.core.ray_connection import connect, environment_to_share
from vivant.core.types import Image, Job, Reply, Text
from vivant.engine.byte_budget import estimate_held
from vivant.engine.concurrency import Admission
from vivant.engine.executor import Executor, ExecutorStoppedError, PreparedRequest, RequestKey
from vivant.engine.ray_client import WorkerHandle, WorkerLostError
from vivant.engine.ray_shares import LimitShares
from vivant.engine.ray_worker import (
    GATHER,
    RayWorker,
    WorkerAnswer,
    WorkerCall,
    WorkerSetup,
    WorkerStarted,
    request_key,
)
from vivant.engine.tokens import RequestSize
from vivant.models.base import DeniedError, Model, ModelError, TransientError

logger = logging.getLogger("vivant")


class _RemoteRequest(Struct, eq=False):
    """A request, and the worker that holds it, if one does."""

    job: Job
    """As it was planned: a worker adds notes of its own."""
    worker: WorkerHandle | None = None
    number: int = 0
    deaths: int = 0


_NODE_POLL_SECONDS = 2.0
"""Seconds between two looks at which nodes there are."""
_START_SECONDS = 10.0
"""Seconds that the first worker waits for the others to begin together; later ones join when they are ready."""
_NO_NODE_SECONDS = 120.0
"""Seconds without any worker, and none that is starting, after which the run ends."""
_WORD_SECONDS = 15.0
"""Seconds between two lines on what is waited for."""
_MAX_DEATHS = 3
"""So many workers lost over one sample make it an error; so many in a row on one node leave the node out."""
_MAX_LOSSES = 8
"""Workers lost while a sample was prepared on them: mostly others' doing, so more are borne."""
_MAX_SHARE = 1.25


class RayExecutor(Executor):
    """The workers of a cluster."""

    def __init__(self, model: Model, options: Any) -> None:
        self._model = model
        self.server = model.server
        self._options = options
        self._workers: list[WorkerHandle] = []
        self._shares = LimitShares(self._workers)
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._lost: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        self._wanted: set[str] = set()
        self._without_data: set[tuple[str, str]] = set()
        self._suspect_lock = asyncio.Lock()
        self._started_ray = self._stopping = False
        self._changed = asyncio.Event()
        self._numbers = iter(range(1 << 62))

    # ── the cluster ──

    async def open(self) -> None:
        self._started_ray = connect(self._options.address)
        try:
            self._start_missing_workers()
            self._watch = asyncio.create_task(self._watch_nodes())
            await self._wait_for_worker()
            if self._starting:
                await asyncio.wait(self._starting.values(), timeout=_START_SECONDS)
        except BaseException:
            await self.close()
            raise
        count = len(self._workers) + len(self._starting)
        self.prepare_concurrency = 8 * max(2, count)
        self.shares = max(1, count)
        nodes = ", ".join(sorted({worker.node for worker in self._workers}))
        logger.info("Ray: %d of %d workers are ready: %s.", len(self._workers), count, nodes)

    async def close(self) -> None:
        import ray

        for task in (getattr(self, "_watch", None), *self._starting.values()):
            if task is not None:
                task.cancel()
        await asyncio.gather(*(worker.close() for worker in self._workers))
        if self._started_ray:
            ray.shutdown()

    async def _watch_nodes(self) -> None:
        while True:
            await asyncio.sleep(_NODE_POLL_SECONDS)
            self._start_missing_workers()

    def _start_missing_workers(self) -> None:
        """Start workers where there are none."""
        import ray

        nodes = [node for node in ray.nodes() if node["Alive"]]
        accelerated = self._model.is_local and any(node["Resources"].get("GPU") for node in nodes)
        resource = "GPU" if accelerated else "CPU"
        working = [node for node in nodes if node["Resources"].get(resource, 0) >= 1] or nodes
        here = {worker.slot for worker in self._workers} | set(self._starting)
        self._wanted = set()
        for node in working:
            count = int(node["Resources"].get("GPU", 0)) if accelerated else 1
            for number in range(count):
                slot = f"{node['NodeID']}/{number}"
                self._wanted.add(slot)
                if slot not in here and self._lost.get(slot, 0) < _MAX_DEATHS and slot not in self._failed:
                    cpus = min(float(self._options.workers), node["Resources"].get("CPU", 0.0) / count)
                    task = asyncio.create_task(self._start(slot, node, cpus, 1 if accelerated else 0))
                    self._starting[slot] = task

    async def _start(self, slot: str, node: Mapping[str, Any], cpus: float, gpus: int) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        name = f"{node['NodeManagerHostname']} ({node['NodeID'][:6]})"
        actor = (
            ray.remote(RayWorker)
            .options(
                num_cpus=cpus,
                num_gpus=gpus,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
                max_concurrency=10_000,
            )
            .remote()
        )
        worker = WorkerHandle(actor, slot, name, on_loss=self._on_loss, on_answers=self._shares.rebalance)
        try:
            setup = WorkerSetup(
                options=msgspec.json.encode(self._options),
                version=version("vivant"),
                threads=max(1, min(8, int(cpus / self._options.workers))),
                folder=str(Path.cwd()),
            )
            started = msgspec.msgpack.decode(
                await actor.start.remote(msgspec.msgpack.encode(setup), environment_to_share()),
                type=WorkerStarted,
            )
        except ray.exceptions.RayError as error:
            self._lost[slot] = self._lost.get(slot, 0) + 1
            reason = shorten_line(str(error).strip().rpartition("\n")[2])
            self._note_failed_start(slot, name, reason, final=self._lost[slot] >= _MAX_DEATHS)
            return
        finally:
            self._starting.pop(slot, None)
        if started.error:
            ray.kill(actor)
            self._note_failed_start(slot, name, started.error, final=True)
            return
        worker.open()
        self._workers.append(worker)
        self._shares.admit(worker)
        self._changed.set()

    def _note_failed_start(self, slot: str, name: str, reason: str, *, final: bool) -> None:
        if final:
            self._failed[slot] = reason
            logger.warning("Ray: no worker on %s: %s", name, reason)
        self._changed.set()

    def _on_loss(self, worker: WorkerHandle) -> None:
        logger.warning("Ray: the worker on %s is lost; its samples go to others.", worker.node)
        self._workers.remove(worker)
        self._shares.share_out()
        self._lost[worker.slot] = 0 if worker.answered else self._lost.get(worker.slot, 0) + 1
        self._changed.set()

    async def _wait_for_worker(self) -> None:
        """Wait until there is a worker: for as long as the user allows while some are starting, else not for long."""
        loop = asyncio.get_running_loop()
        began = without = loop.time()
        next_word = began + _WORD_SECONDS
        while not self._workers:
            if self._stopping:
                raise ExecutorStoppedError
            if self._wanted and self._wanted <= self._failed.keys():
                raise ModelError(f"Ray: no node can work: {next(iter(self._failed.values()))}")
            now = loop.time()
            if self._starting:
                without = now
            if now - began > self._options.start_timeout and self._starting:
                raise ModelError(
                    f"Ray: {self._describe_starting()} did not start within {self._options.start_timeout:g} s. "
                    "Give them longer with --start-timeout"
                )
            if now - without > _NO_NODE_SECONDS:
                raise ModelError(
                    f"Ray: no node has been there for {_NO_NODE_SECONDS:g} s. Run the same command to go on"
                )
            if now >= next_word:
                next_word = now + _WORD_SECONDS
                what = self._describe_starting() if self._starting else "a node"
                logger.info(
                    "Ray: waiting for %s, %.0f s so far; a large model takes minutes to load.",
                    what,
                    now - began,
                )
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), 1.0)
            except TimeoutError:
                continue

    def _describe_starting(self) -> str:
        count = len(self._starting)
        return "1 worker" if count == 1 else f"{count} workers"

    # ── the work ──

    async def identify(self, job: Job) -> RequestKey:
        return request_key((await self._call_any_worker("identify", job))[1])

    def estimate_bytes(self, job: Job) -> int:
        return estimate_held(job, decoded=self._model.is_local) if self._model.capabilities.images else 0

    def queue_ahead(self, limit: int) -> int:
        if limit < 2 * self.shares:
            return 0
        self._shares.set_limit(limit)
        return limit

    def set_limit(self, limit: int, cuts: int) -> None:
        if limit == 0:
            self._stopping = True
            self._changed.set()
        if self._shares.limit is not None:
            self._shares.set_limit(limit, cuts)

    async def prepare(self, job: Job, key: RequestKey | None) -> PreparedRequest:
        if self._shares.limit is not None:
            # The worker that is asked prepares it while it waits for its turn.
            size = RequestSize(bytes=self.estimate_bytes(job))
            return PreparedRequest(job, key or RequestKey("", ()), size, _RemoteRequest(job))
        remote, answer = await self._call_any_worker("prepare", job)
        request = PreparedRequest(job, request_key(answer), answer.size, remote, answer.refused)
        _take_over(request, answer)
        return request

    async def send(self, request: PreparedRequest) -> Reply | TransientError | None:
        remote: _RemoteRequest = request.payload
        while remote.deaths < _MAX_DEATHS - 1:
            try:
                return await self._send_once(request)
            except WorkerLostError:
                remote.deaths += 1
            except ExecutorStoppedError:
                return None
        # Its worker died again, perhaps of a neighbour. Asked one at a time, those that kill none are cleared.
        async with self._suspect_lock:
            try:
                return await self._send_once(request)
            except WorkerLostError as error:
                return Reply(status="error", error=f"{error} ({_MAX_DEATHS} times over this sample)")
            except ExecutorStoppedError:
                return None

    async def _send_once(self, request: PreparedRequest) -> Reply | TransientError | None:
        """The outcome of one attempt. Raises WorkerLostError where the worker died meanwhile."""
        remote: _RemoteRequest = request.payload
        given_back = False
        while self._shares.limit != 0:
            if remote.worker is None or remote.worker.lost:
                remote.worker = await self._choose(remote.job, least_busy=given_back)
                remote.number = next(self._numbers)
                call = WorkerCall(number=remote.number, method="ask", job=remote.job)
            else:
                call = WorkerCall(number=remote.number, method="send")
            answer = await remote.worker.call(call)
            if answer.kind == "no data":
                self._exclude_worker(remote.worker, answer.error)
            if answer.kind in ("no data", "withdrawn"):
                remote.worker, given_back = None, answer.kind == "withdrawn"
                continue
            raise_worker_error(answer)
            request.seconds = answer.seconds
            if call.method == "ask":
                _take_over(request, answer)
                request.refused = answer.refused
            if answer.failure is not None:
                if self._shares.limit is not None:
                    others = sum(worker.limit for worker in self._workers if worker is not remote.worker)
                    if answer.failure.slow_down:
                        asyncio.get_running_loop().call_later(GATHER, self._shares.repeat, remote.worker)
                    request.admission = Admission(answer.failure.cuts, answer.failure.position + others)
                return answer.failure.error()
            remote.worker = None  # it keeps nothing of what is answered
            return answer.refused or answer.reply
        return None

    def release(self, request: PreparedRequest) -> None:
        remote: _RemoteRequest = request.payload
        if remote.worker is not None:
            remote.worker.send(WorkerCall(number=remote.number, method="release"))

    async def _call_any_worker(
        self, method: Literal["identify", "prepare"], job: Job
    ) -> tuple[_RemoteRequest, WorkerAnswer]:
        """Have a job looked at or prepared by whichever worker there is."""
        losses = 0
        while True:
            worker = await self._choose(job)
            number = next(self._numbers)
            try:
                answer = await worker.call(WorkerCall(number=number, method=method, job=job))
            except WorkerLostError as error:
                losses += 1
                if losses >= _MAX_LOSSES:
                    raise MediaError(f"{error} ({losses} times while this sample was prepared)") from error
                continue
            if answer.kind == "no data":
                self._exclude_worker(worker, answer.error)
                continue
            raise_worker_error(answer)
            return _RemoteRequest(job, worker, number), answer

    def _exclude_worker(self, worker: WorkerHandle, root: str) -> None:
        if (worker.slot, root) not in self._without_data:
            self._without_data.add((worker.slot, root))
            self._shares.excluded.add(worker.slot)
            logger.warning("Ray: %s does not see %s; its samples go to other nodes.", worker.node, root)

    async def _choose(self, job: Job, *, least_busy: bool = False) -> WorkerHandle:
        await self._wait_for_worker()
        seeing = [worker for worker in self._workers if (worker.slot, job.root) not in self._without_data]
        if not seeing:
            raise DataError(f"Ray: no node sees {job.root}; put the data on storage that all nodes share")
        if self._shares.limit and not any(worker.limit for worker in seeing):
            self._shares.prefer(seeing[0])
        seeing = [worker for worker in seeing if worker.limit] or seeing
        if least_busy:
            return min(seeing, key=lambda worker: worker.busy)
        name = _first_file(job)
        favourite = max(seeing, key=lambda worker: hashlib.sha256(f"{worker.slot} {name}".encode()).digest())
        total = sum(worker.busy for worker in seeing)
        if favourite.busy <= _MAX_SHARE * (total + 1) / len(seeing):
            return favourite
        return min(seeing, key=lambda worker: worker.busy)


def _take_over(request: PreparedRequest, answer: WorkerAnswer) -> None:
    """Record what the worker that prepared a request used and did."""
    request.key = request_key(answer)
    if answer.notes != request.job.notes:
        request.job = msgspec.structs.replace(request.job, notes=answer.notes)


def _first_file(job: Job) -> str:
    for message in job.messages:
        for part in message.parts:
            if isinstance(part, Image) and part.tiles:
                return part.tiles[0]
            if not isinstance(part, Text):
                return part.path
    return job.key


def raise_worker_error(answer: WorkerAnswer) -> None:
    """Raise what a worker met on its node, as the same kind of error here."""
    if answer.kind == "media":
        raise MediaError(answer.error)
    if answer.kind == "denied":
        raise DeniedError(answer.error)
    if answer.kind == "fatal":
        raise ModelError(answer.error)
