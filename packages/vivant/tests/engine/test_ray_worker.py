"""A worker of a cluster, and how workers share a limit, without Ray."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vivant.core.types import Image, Job, Message, Reply, Text
from vivant.engine.concurrency import ConcurrencyLimit
from vivant.engine.executor import PreparedRequest, RequestKey
from vivant.engine.options import RunOptions
from vivant.engine.ray_shares import LimitShares
from vivant.engine.ray_worker import RayWorker, WorkerAnswer, WorkerCall, WorkerSetup, WorkerStarted
from vivant.engine.tokens import RequestSize
from vivant.models.base import TransientError


def setup(path: Path, **changes: Any) -> bytes:
    options = RunOptions(selectors=(str(path),), model=changes.pop("model", "first"), workers=1)
    return msgspec.msgpack.encode(
        WorkerSetup(
            **{
                "options": msgspec.json.encode(options),
                "version": version("vivant"),
                "threads": 1,
                "folder": str(path.parent),
                **changes,
            }
        )
    )


async def started(worker: RayWorker, message: bytes) -> str:
    return msgspec.msgpack.decode(await worker.start(message, {}), type=WorkerStarted).error


async def answers(worker: RayWorker, *calls: WorkerCall, bundle: int = 0) -> dict[int, WorkerAnswer]:
    await worker.submit(bundle, msgspec.msgpack.encode(list(calls)))
    return await collect(worker, len(calls))


async def collect(worker: RayWorker, count: int) -> dict[int, WorkerAnswer]:
    result: dict[int, WorkerAnswer] = {}
    while len(result) < count:
        for answer in msgspec.msgpack.decode(await worker.collect(), type=list[WorkerAnswer]):
            result[answer.number] = answer
    return result


def job(root: Path | str, *parts: Any) -> Job:
    return Job(key="t/1", task="t", id="1", messages=(Message("user", parts),), root=str(root))


def test_a_worker_says_what_it_cannot_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(
        "class M:\n    def generate(self, prompts, media):\n        return ['seen' for _ in prompts]\n"
    )

    async def main() -> dict[int, WorkerAnswer]:
        worker = RayWorker()
        older = await started(worker, setup(tmp_path / "q.jsonl", version="0.0.1"))
        assert "the run was started with 0.0.1" in older
        unknown = await started(worker, setup(tmp_path / "q.jsonl", model="randm"))
        assert "did you mean 'random'" in unknown
        assert await started(worker, setup(tmp_path / "q.jsonl", model="m.py:M")) == ""
        found = await answers(
            worker,
            WorkerCall(number=1, method="prepare", job=job(tmp_path, Text("hello"))),
            WorkerCall(number=2, method="prepare", job=job(tmp_path, Image("none.png"))),
            WorkerCall(number=3, method="prepare", job=job("/nowhere/at/all", Image("none.png"))),
            WorkerCall(number=4, method="identify", job=job("/nowhere/at/all", Text("no media"))),
        )
        found |= {10: (await answers(worker, WorkerCall(number=1, method="send"), bundle=1))[1]}
        await worker.stop()
        return found

    found = asyncio.run(main())
    assert found[1].kind == "" and found[1].size.tokens > 0
    assert found[2].kind == "media" and "none.png" in found[2].error
    assert found[3].kind == "no data" and found[3].error == "/nowhere/at/all"
    assert found[4].kind == "" and found[4].fingerprint
    assert found[10].reply is not None and found[10].reply.text == "seen"


def test_a_worker_takes_bundles_in_their_order_and_answers_every_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(
        "class M:\n    def generate(self, prompts, media):\n        return ['seen' for _ in prompts]\n"
    )

    async def main() -> dict[int, WorkerAnswer]:
        worker = RayWorker()
        assert await started(worker, setup(tmp_path / "q.jsonl", model="m.py:M")) == ""
        asks = [
            WorkerCall(number=1, method="ask", job=job(tmp_path, Text("hello"))),
            WorkerCall(number=2, method="ask", job=job(tmp_path, Image("none.png"))),
            WorkerCall(number=3, method="ask", job=job("/nowhere/at/all", Image("none.png"))),
            WorkerCall(number=9, method="ask"),
            WorkerCall(number=10, method="limit", limit=2),
        ]
        await worker.submit(1, msgspec.msgpack.encode([WorkerCall(number=11, method="limit", limit=0)]))
        await worker.submit(0, msgspec.msgpack.encode(asks))
        result = await collect(worker, len(asks) + 1)
        await worker.submit(2, msgspec.msgpack.encode([WorkerCall(number=12, method="limit", limit=1)]))
        again = WorkerCall(number=13, method="ask", job=job(tmp_path, Text("hello")))
        await worker.submit(3, msgspec.msgpack.encode([again]))
        result |= await collect(worker, 2)
        await worker.stop()
        return result

    result = asyncio.run(main())
    assert result[1].kind == "withdrawn"  # the last limit leaves no room
    assert result[2].kind == "media" and "none.png" in result[2].error
    assert result[3].kind == "no data"
    assert result[9].kind == "fatal"  # a call that cannot be answered ends the run; it must not wait for ever
    assert result[13].reply is not None and result[13].reply.text == "seen"


class SlowExecutor:
    """Answers when it is told to, and counts what is under way."""

    def __init__(self, outcome: Reply | TransientError | None = None) -> None:
        self.outcome = outcome or Reply(text="A")
        self.under_way = 0
        self.prepared = 0
        self.all_prepared = asyncio.Event()
        self.gate = asyncio.Semaphore(0)

    async def identify(self, _job: Job) -> RequestKey:
        return RequestKey("", ())

    async def prepare(self, job: Job, key: RequestKey) -> PreparedRequest:
        self.prepared += 1
        if self.prepared == 6:
            self.all_prepared.set()
        return PreparedRequest(job, key, RequestSize(), None)

    async def send(self, _request: PreparedRequest) -> Reply | TransientError:
        self.under_way += 1
        await self.gate.acquire()
        self.under_way -= 1
        return self.outcome


def test_a_worker_keeps_its_share_and_gives_back_what_has_not_begun() -> None:
    async def main() -> tuple[list[int], dict[int, WorkerAnswer]]:
        worker = RayWorker()
        executor = SlowExecutor()
        worker._executor = executor  # type: ignore[assignment]
        asks = [WorkerCall(number=number, method="ask", job=job("", Text("?"))) for number in range(6)]
        limit = WorkerCall(number=100, method="limit", limit=2)
        await worker.submit(0, msgspec.msgpack.encode([limit, *asks]))
        assert (await collect(worker, 1)).keys() == {100}
        await asyncio.wait_for(executor.all_prepared.wait(), 600)
        await settle()
        seen = [executor.under_way]
        for _ in range(2):  # the next is sent when one is answered
            executor.gate.release()
            await collect(worker, 1)
            seen.append(executor.under_way)
        back = WorkerCall(number=102, method="give back", limit=1)
        await worker.submit(1, msgspec.msgpack.encode([back]))
        result = await collect(worker, 2)
        assert result.keys() == {5, 102}, "the last that waits is given back"
        stop = WorkerCall(number=101, method="limit", limit=0)
        await worker.submit(2, msgspec.msgpack.encode([stop]))
        result |= await collect(worker, 1)
        assert 101 not in result, "a lower limit is confirmed when it holds, not before"
        seen.append(executor.under_way)
        for _ in range(2):
            executor.gate.release()
        result |= await collect(worker, 3)
        return seen, result

    seen, result = asyncio.run(main())
    assert seen == [2, 2, 2, 2]
    assert {number for number, answer in result.items() if answer.kind == "withdrawn"} == {4, 5}
    assert {number for number, answer in result.items() if answer.reply is not None} == {2, 3}
    assert 101 in result


def test_after_a_complaint_a_worker_sends_nothing_new_until_it_is_told_its_share() -> None:
    async def main() -> list[int]:
        worker = RayWorker()
        executor = SlowExecutor(TransientError("too many", slow_down=True))
        worker._executor = executor  # type: ignore[assignment]
        asks = [WorkerCall(number=number, method="ask", job=job("", Text("?"))) for number in range(6)]
        limit = WorkerCall(number=100, method="limit", limit=4)
        await worker.submit(0, msgspec.msgpack.encode([limit, *asks]))
        await asyncio.wait_for(executor.all_prepared.wait(), 600)
        await settle()
        seen = [executor.under_way]
        for _ in range(2):
            executor.gate.release()
        result = await collect(worker, 3)
        seen.append(executor.under_way)
        assert {answer.failure.position for answer in result.values() if answer.failure} == {1, 2}
        told = WorkerCall(number=101, method="limit", limit=3, cuts=1)
        await worker.submit(1, msgspec.msgpack.encode([told]))
        await settle()
        seen.append(executor.under_way)
        return seen

    assert asyncio.run(main()) == [4, 2, 3]


def test_a_worker_that_may_send_nothing_more_answers_every_call() -> None:
    async def main(turns: int) -> dict[int, WorkerAnswer]:
        worker = RayWorker()
        executor = SlowExecutor(TransientError("500"))
        worker._executor = executor  # type: ignore[assignment]
        asks = [WorkerCall(number=number, method="ask", job=job("", Text("?"))) for number in range(3)]
        limit = WorkerCall(number=100, method="limit", limit=1)
        await worker.submit(0, msgspec.msgpack.encode([limit, *asks]))
        await collect(worker, 1)
        executor.gate.release()
        assert (await collect(worker, 1))[0].failure is not None
        executor.outcome = Reply(text="A")
        await worker.submit(1, msgspec.msgpack.encode([WorkerCall(number=0, method="send")]))
        await settle()
        executor.gate.release()
        for _ in range(turns):  # the word comes while one leaves and the next enters
            await asyncio.sleep(0)
        await worker.submit(2, msgspec.msgpack.encode([WorkerCall(number=101, method="limit", limit=0)]))
        for _ in range(3):
            executor.gate.release()
        return await asyncio.wait_for(collect(worker, 4), 600)

    for turns in range(12):
        result = asyncio.run(main(turns))
        assert result.keys() == {0, 1, 2, 101}, turns
        assert all(answer.reply or answer.kind == "withdrawn" for n, answer in result.items() if n != 101)
        assert result[0].method == "send" and result[1].reply is not None


def test_one_that_is_sent_away_and_cancelled_at_once_held_no_place() -> None:
    async def main() -> int:
        limit = ConcurrencyLimit(1)
        await limit.acquire()
        waiting = asyncio.create_task(limit.acquire())
        await asyncio.sleep(0)
        limit.change(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return limit.in_flight

    assert asyncio.run(main()) == 1


def test_a_share_that_falls_and_rises_at_once_is_the_one_that_the_worker_is_told() -> None:
    async def main() -> None:
        alone, *both = workers = [SharingWorker() for _ in range(3)]
        for group, cut, risen in (([alone], 4, 5), (both, 1, 2)):
            shares = LimitShares(group)  # type: ignore[arg-type]
            shares.set_limit(16)
            shares.set_limit(cut, 1)  # two replies of one bundle: a complaint, then a success
            shares.set_limit(risen, 1)
            await settle()
            assert sum(worker.limit for worker in group) == risen
        assert [worker.told for worker in workers] == [worker.limit for worker in workers]

    asyncio.run(main())


def test_what_a_worker_may_hold_is_free_when_it_has_answered_the_last_word() -> None:
    async def main() -> None:
        first, second = SharingWorker(), SharingWorker()
        workers: list[Any] = [first]
        shares = LimitShares(workers)
        shares.set_limit(16)
        shares.set_limit(4)
        await settle()
        shares.set_limit(12)
        workers.append(second)
        shares.admit(second)  # type: ignore[arg-type]
        await settle()
        assert (first.limit, second.limit) == (6, 0)
        first.confirm(1)  # it answers that no more than 4 were under way, and had 12 since
        await settle()
        assert (first.limit, second.limit) == (6, 0)
        first.confirm()
        await settle()
        assert (first.limit, second.limit) == (6, 6)

    asyncio.run(main())


def test_shares_of_a_limit_never_exceed_it_while_workers_come_and_go() -> None:
    async def main() -> None:
        workers: list[Any] = []
        shares = LimitShares(workers)
        first, second, third = (SharingWorker() for _ in range(3))
        workers.append(first)
        shares.set_limit(6)
        assert first.limit == 6
        workers.append(second)
        shares.admit(second)  # type: ignore[arg-type]
        await asyncio.sleep(0)
        assert (first.limit, second.limit) == (3, 0), "what the first has under way still counts"
        shares.set_limit(4)
        await asyncio.sleep(0)
        assert (first.limit, second.limit) == (2, 0)
        first.confirm()
        await settle()
        assert (first.limit, second.limit) == (2, 2)
        workers.append(third)
        shares.admit(third)  # type: ignore[arg-type]
        workers.remove(first)
        shares.share_out()
        assert (second.limit, third.limit) == (2, 2)
        shares.set_limit(1)
        await asyncio.sleep(0)
        second.confirm()
        third.confirm()
        await settle()
        assert (second.limit, third.limit) == (1, 0)
        shares.prefer(third)  # type: ignore[arg-type]
        await asyncio.sleep(0)
        assert (second.limit, third.limit) == (0, 0)
        second.confirm()
        await settle()
        assert (second.limit, third.limit) == (0, 1)

    asyncio.run(main())


def test_what_waits_at_a_busy_worker_moves_to_an_idle_one_that_sees_the_data() -> None:
    async def main() -> None:
        busy, idle = SharingWorker(), SharingWorker()
        busy.slot, idle.slot = "a", "b"
        shares = LimitShares([busy, idle])  # type: ignore[list-item]
        shares.set_limit(4)
        busy.busy, idle.busy = 9, 1
        shares.rebalance()
        await settle()
        assert busy.taken == []
        idle.busy = 0
        shares.rebalance()
        shares.rebalance()  # not twice before the first is done
        await settle()
        assert busy.taken == [4]
        shares.excluded.add("b")
        shares.rebalance()
        await settle()
        assert busy.taken == [4]

    asyncio.run(main())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class SharingWorker:
    """What LimitShares knows of a worker."""

    def __init__(self) -> None:
        self.slot = ""
        self.limit = self.held = self.busy = 0
        self.told = 0
        self.taken: list[int] = []
        self._unconfirmed: list[asyncio.Event] = []

    def confirm(self, count: int = 100) -> None:
        for event in self._unconfirmed[:count]:
            event.set()
        del self._unconfirmed[:count]

    def send_limit(self, limit: int, _cuts: int) -> None:
        assert limit in (0, self.limit)
        self.told = limit

    async def take_back(self, count: int) -> None:
        self.taken.append(count)
        self.busy -= count

    async def call_limit(self, limit: int, _cuts: int) -> None:
        self.told = limit
        self._unconfirmed.append(event := asyncio.Event())
        await event.wait()
