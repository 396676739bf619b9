"""How long a run waits for Ray's workers, and what it says meanwhile. No cluster is started."""

from __future__ import annotations

import asyncio
import logging
import sys
from types import SimpleNamespace

import pytest

from vivant.core.errors import UsageError
from vivant.core.ray_connection import connect
from vivant.core.types import Job
from vivant.engine import ray_executor
from vivant.engine.executor import ExecutorStoppedError, PreparedRequest, RequestKey
from vivant.engine.options import RunOptions
from vivant.engine.ray_executor import RayExecutor, _RemoteRequest
from vivant.engine.tokens import RequestSize
from vivant.models.base import ModelError
from vivant.models.registry import create

pytest.importorskip("ray")


def wait(
    monkeypatch: pytest.MonkeyPatch, *, starting: int, joins: float | None = None, timeout: float
) -> None:
    """Wait for a worker while some are starting; one may be ready after some seconds."""
    monkeypatch.setattr(ray_executor, "_WORD_SECONDS", 0.05)
    monkeypatch.setattr(ray_executor, "_NO_NODE_SECONDS", 0.3)
    options = RunOptions(selectors=("mime",), model="first", executor="ray", start_timeout=timeout)

    async def main() -> None:
        executor = RayExecutor(create("first"), options)
        executor._changed = asyncio.Event()
        tasks = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(starting)]
        executor._starting = {str(number): task for number, task in enumerate(tasks)}
        if joins is not None:

            def join() -> None:
                executor._workers.append(None)  # type: ignore[arg-type]
                executor._changed.set()

            asyncio.get_running_loop().call_later(joins, join)
        try:
            await executor._wait_for_worker()
        finally:
            for task in tasks:
                task.cancel()

    asyncio.run(main())


def test_a_run_waits_for_workers_that_load_a_model_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger("vivant"), "propagate", True)
    with caplog.at_level(logging.INFO, "vivant"):
        wait(monkeypatch, starting=2, joins=1.2, timeout=600)
    assert any("waiting for 2 workers" in message for message in caplog.messages)


def test_the_wait_for_workers_that_start_has_the_limit_that_the_user_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ModelError, match=r"1 worker did not start within 0\.2 s.*--start-timeout"):
        wait(monkeypatch, starting=1, timeout=0.2)


def test_without_any_node_a_run_does_not_wait_long(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="no node has been there"):
        wait(monkeypatch, starting=0, timeout=600)


@pytest.mark.parametrize("starting", [0, 1])
def test_a_run_that_is_stopped_waits_for_no_node(monkeypatch: pytest.MonkeyPatch, starting: int) -> None:
    """Neither for one to come back nor for one that starts, whatever waits: a sample to prepare, one to send."""
    monkeypatch.setattr(ray_executor, "_NO_NODE_SECONDS", 3600)
    options = RunOptions(selectors=("mime",), model="first", executor="ray", start_timeout=3600)

    async def main() -> None:
        executor = RayExecutor(create("first"), options)
        executor._starting = {str(n): asyncio.create_task(asyncio.sleep(3600)) for n in range(starting)}
        job = Job(key="t/1", task="t", id="1", messages=())
        request = PreparedRequest(job, RequestKey("", ()), RequestSize(), _RemoteRequest(job))
        preparing = asyncio.create_task(executor.prepare(job, None))
        sending = asyncio.create_task(executor.send(request))
        await asyncio.sleep(0)
        executor.set_limit(0, 0)
        assert await asyncio.wait_for(sending, 600) is None
        with pytest.raises(ExecutorStoppedError):
            await asyncio.wait_for(preparing, 600)
        for task in executor._starting.values():
            task.cancel()

    asyncio.run(main())


def test_a_ray_that_cannot_start_is_one_line_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise Exception("The current node timed out during startup.\nThe GCS may be overloaded.")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, init=fail))
    with pytest.raises(UsageError) as caught:
        connect(None)
    message = str(caught.value)
    assert message.startswith(
        "Ray does not start on this machine: The current node timed out during startup."
    )
    assert message.endswith("or leave out --executor ray")
    assert "\n" not in message


def test_without_an_address_a_run_starts_a_ray_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, object]] = []
    fake = SimpleNamespace(is_initialized=lambda: False, init=lambda **options: given.append(options))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setitem(sys.modules, "ray", fake)
    assert connect(None)
    assert given[0]["address"] == "local", "Ray would join a cluster that somebody else runs on this machine"
