"""A run on a Ray cluster: stations on its nodes do the work, this process decides and keeps the log.

- One station per node that offers CPUs; for models that compute themselves, one per accelerator.
- A job goes to the station that its first file names (so that a video is decoded on one node), or, where that
  one has more than its share, to the least busy.
- Limits, rates, budgets and retries are the runner's, here, as in a run on one machine: they are global.
- When a station is lost, what it had under way is prepared and asked anew on another; nodes that join, or come
  back, get a station while the run goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, MediaError, UsageError
from vivant.core.types import Image, Job, Reply, Text
from vivant.engine.executor import Hands, Look, Ready, one_line
from vivant.engine.ray_client import LostStationError, Post
from vivant.engine.ray_worker import Answer, Call, Setup, Started, Station, look_of
from vivant.models.base import Model, ModelError, TransientError, require

_LOOK_AROUND = 2.0
"""Seconds between two looks at which nodes there are."""
_TOGETHER = 10.0
"""Seconds that the first station waits for the others to begin together; later ones join when they are ready."""
_PATIENCE = 120.0
"""Seconds without any station after which the run ends."""
_DEATHS = 3
"""So many stations lost over one sample make it an error; so many in a row on one node leave the node out."""
_LOSSES = 8
"""Stations lost while a sample was prepared on them: mostly others' doing, so more are borne."""
_SHARE = 1.25
_KNOCK = 10.0


class _Held(Struct, eq=False):
    """Where a prepared job lies."""

    post: Post
    number: int
    deaths: int = 0


class RayHands(Hands):
    """The stations of a cluster."""

    def __init__(self, model: Model, options: Any, say: Callable[[str], None] | None = None) -> None:
        require("ray", "ray", "--executor ray")
        self._model = model
        self._options = options
        self._say = say or (lambda _: None)
        self._posts: list[Post] = []
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._lost: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        self._wanted: set[str] = set()
        self._unseen: set[tuple[str, str]] = set()
        self._suspects = asyncio.Lock()
        self._mine = False
        self._numbers = iter(range(1 << 62))

    # ── the cluster ──

    async def open(self) -> None:
        self._changed = asyncio.Event()
        self._mine = connect(self._options.address)
        try:
            self._look_for_nodes()
            self._watch = asyncio.create_task(self._watch_nodes())
            await self._some_post()
            if self._starting:
                await asyncio.wait(self._starting.values(), timeout=_TOGETHER)
        except BaseException:
            await self.close()
            raise
        count = len(self._posts) + len(self._starting)
        self.at_once = 8 * max(2, count)
        nodes = ", ".join(sorted({post.node for post in self._posts}))
        self._say(f"Ray: {len(self._posts)} of {count} stations are ready: {nodes}.")

    async def close(self) -> None:
        import ray

        for task in (getattr(self, "_watch", None), *self._starting.values()):
            if task is not None:
                task.cancel()
        await asyncio.gather(*(post.close() for post in self._posts))
        if self._mine:
            ray.shutdown()

    async def _watch_nodes(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_AROUND)
            self._look_for_nodes()

    def _look_for_nodes(self) -> None:
        """Start stations where there are none."""
        import ray

        nodes = [node for node in ray.nodes() if node["Alive"]]
        accelerated = self._model.computes_here and any(node["Resources"].get("GPU") for node in nodes)
        resource = "GPU" if accelerated else "CPU"
        working = [node for node in nodes if node["Resources"].get(resource, 0) >= 1] or nodes
        here = {post.place for post in self._posts} | set(self._starting)
        self._wanted = set()
        for node in working:
            count = int(node["Resources"].get("GPU", 0)) if accelerated else 1
            for number in range(count):
                place = f"{node['NodeID']}/{number}"
                self._wanted.add(place)
                if place not in here and self._lost.get(place, 0) < _DEATHS and place not in self._failed:
                    cpus = min(float(self._options.workers), node["Resources"].get("CPU", 0.0) / count)
                    task = asyncio.create_task(self._start(place, node, cpus, 1 if accelerated else 0))
                    self._starting[place] = task

    async def _start(self, place: str, node: Mapping[str, Any], cpus: float, gpus: int) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        name = f"{node['NodeManagerHostname']} ({node['NodeID'][:6]})"
        actor = (
            ray.remote(Station)
            .options(
                num_cpus=cpus,
                num_gpus=gpus,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
                max_concurrency=10_000,
            )
            .remote()
        )
        post = Post(actor, place, name, self._on_loss)
        try:
            setup = Setup(
                options=msgspec.json.encode(self._options),
                version=version("vivant"),
                threads=max(1, min(8, int(cpus / self._options.workers))),
                folder=str(Path.cwd()),
            )
            started = msgspec.msgpack.decode(
                await actor.start.remote(msgspec.msgpack.encode(setup), _keys()), type=Started
            )
        except ray.exceptions.RayError as error:
            self._lost[place] = self._lost.get(place, 0) + 1
            reason = one_line(str(error).strip().rpartition("\n")[2])
            self._failed_to_start(place, name, reason, final=self._lost[place] >= _DEATHS)
            return
        finally:
            self._starting.pop(place, None)
        if started.error:
            ray.kill(actor)
            self._failed_to_start(place, name, started.error, final=True)
            return
        post.open()
        self._posts.append(post)
        self._changed.set()

    def _failed_to_start(self, place: str, name: str, reason: str, *, final: bool) -> None:
        if final:
            self._failed[place] = reason
            self._say(f"Ray: no station on {name}: {reason}")
        self._changed.set()

    def _on_loss(self, post: Post) -> None:
        self._say(f"Ray: the station on {post.node} is lost; its samples go to others.")
        self._posts.remove(post)
        self._lost[post.place] = 0 if post.answered else self._lost.get(post.place, 0) + 1
        self._changed.set()

    async def _some_post(self) -> None:
        """Wait until there is a station."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _PATIENCE
        while not self._posts:
            if self._wanted and self._wanted <= self._failed.keys():
                raise ModelError(f"Ray: no node can work: {next(iter(self._failed.values()))}")
            left = end - loop.time()
            if left <= 0:
                raise ModelError(
                    f"Ray: no node has been there for {_PATIENCE:g} s. Run the same command to go on"
                )
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), min(left, 1.0))
            except TimeoutError:
                continue

    # ── the work ──

    async def look(self, job: Job) -> Look:
        return look_of((await self._anywhere("look", job))[1])

    async def prepare(self, job: Job, look: Look | None) -> Ready:  # noqa: ARG002 (stations remember hashes)
        held, answer = await self._anywhere("prepare", job)
        if answer.notes != job.notes:
            job = msgspec.structs.replace(job, notes=answer.notes)
        return Ready(job, look_of(answer), answer.load, held, answer.refused)

    async def ask(self, ready: Ready) -> Reply | TransientError:
        held: _Held = ready.held
        if not held.deaths:
            answer = await self._asked(ready)
            if answer is not None:
                return _outcome(answer)
        # One of those that a station died over may have killed it. Asked one at a time, the others are cleared.
        async with self._suspects:
            while (answer := await self._asked(ready)) is None:
                if ready.held.deaths >= _DEATHS:
                    error = (
                        f"the worker on {ready.held.post.node} was lost ({_DEATHS} times over this sample)"
                    )
                    return Reply(status="error", error=error)
            return _outcome(answer)

    async def _asked(self, ready: Ready) -> Answer | None:
        """The answer to one attempt; None where the station died over it."""
        held: _Held = ready.held
        if held.post.lost:
            job = msgspec.structs.replace(ready.job, notes=())
            ready.held, _ = await self._anywhere("prepare", job, held.deaths)
            held = ready.held
        try:
            return await held.post.call(Call(number=held.number, what="ask"))
        except LostStationError:
            held.deaths += 1
            return None

    def drop(self, ready: Ready) -> None:
        held: _Held = ready.held
        held.post.send(Call(number=held.number, what="drop"))

    async def _anywhere(
        self, what: Literal["look", "prepare"], job: Job, deaths: int = 0
    ) -> tuple[_Held, Answer]:
        """Have a job looked at or prepared by whichever station there is."""
        losses = 0
        while True:
            post = await self._choose(job)
            number = next(self._numbers)
            try:
                answer = await post.call(Call(number=number, what=what, job=job))
            except LostStationError as error:
                losses += 1
                if losses >= _LOSSES:
                    raise MediaError(f"{error} ({losses} times while this sample was prepared)") from error
                continue
            if answer.kind == "unseen":
                self._blind(post, answer.error)
                continue
            _raise_for(answer)
            return _Held(post, number, deaths), answer

    def _blind(self, post: Post, root: str) -> None:
        if (post.place, root) not in self._unseen:
            self._unseen.add((post.place, root))
            self._say(f"Ray: {post.node} does not see {root}; its samples go to other nodes.")

    async def _choose(self, job: Job) -> Post:
        await self._some_post()
        seeing = [post for post in self._posts if (post.place, job.root) not in self._unseen]
        if not seeing:
            raise DataError(f"Ray: no node sees {job.root}; put the data on storage that all nodes share")
        name = _first_file(job)
        favourite = max(seeing, key=lambda post: hashlib.sha256(f"{post.place} {name}".encode()).digest())
        total = sum(post.busy for post in seeing)
        if favourite.busy <= _SHARE * (total + 1) / len(seeing):
            return favourite
        return min(seeing, key=lambda post: post.busy)


def _first_file(job: Job) -> str:
    for message in job.messages:
        for part in message.parts:
            if isinstance(part, Image) and part.tiles:
                return part.tiles[0]
            if not isinstance(part, Text):
                return part.path
    return job.key


def _outcome(answer: Answer) -> Reply | TransientError:
    _raise_for(answer)
    if answer.failure is not None:
        return answer.failure.error()
    assert answer.reply is not None
    return answer.reply


def _raise_for(answer: Answer) -> None:
    if answer.kind == "media":
        raise MediaError(answer.error)
    if answer.kind == "fatal":
        raise ModelError(answer.error)


def connect(named: str | None) -> bool:
    """Join the cluster at an address (or `RAY_ADDRESS`), or start one here; whether that was for us to end."""
    import ray

    if ray.is_initialized():
        return False
    address = named or os.environ.get("RAY_ADDRESS")
    if address:
        _knock(address)
    try:
        with _own_signals():
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **({} if address else {"include_dashboard": False}),
            )
    except (ConnectionError, RuntimeError, ValueError, TimeoutError, ray.exceptions.RayError) as error:
        line = " ".join(str(error).split())[:200]
        hint = " (one that asks for a token needs the same RAY_AUTH_TOKEN here)" if address else ""
        raise UsageError(f"No Ray cluster at '{address or 'this machine'}': {line}{hint}") from error
    return True


def _knock(address: str) -> None:
    """Ray itself would try for minutes where nobody answers."""
    host, colon, port = address.rpartition(":")
    if "/" in address or not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK).close()
    except OSError as error:
        raise UsageError(f"No Ray cluster at '{address}': {error.strerror or error}") from error


def _keys() -> dict[str, str]:
    """What a node may need to know from this process's environment; its own settings win."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.endswith("_API_KEY") or name.startswith("VIVANT_") or name in ("HF_TOKEN", "OPENAI_BASE_URL")
    }


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself when it starts; a run ends in its own way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
