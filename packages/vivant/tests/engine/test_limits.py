"""Limits that are found, rates that are kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.engine.test_faults import ask, options_for
from tests.support.fault_server import Act, FaultServer, serving
from tests.support.helpers import questions
from vivant.core.records import Record
from vivant.core.types import Reply
from vivant.engine.budget import Meter
from vivant.engine.concurrency import AdaptiveLimit, Admission
from vivant.engine.rate_limit import RateLimit
from vivant.engine.recording import RunOutcome
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import plan_run
from vivant.engine.tokens import RequestSize
from vivant.runs.run import Run

# ── concurrency ──


def test_the_servers_limit_is_found_and_found_again_when_it_changes(tmp_path: Path) -> None:
    path = questions(tmp_path, 1200, pictures=False)
    # By requests served, not by the clock, and with a delay that dwarfs what a request costs: a busy machine is
    # slower, but takes the same steps.
    stages = [(6, 0, 200), (12, 200, 500), (3, 500, 600), (32, 600, 1200)]

    def behave(_number: int, _body: dict[str, Any]) -> Act:
        server.limit = next(limit for limit, start, _ in reversed(stages) if len(server.served) >= start)
        return Act(delay=0.1)

    with serving(behave) as server:
        server.limit = 6
        run = ask(path, server, tmp_path / "run", concurrency=32)
    assert {record.reply.status for record in run.records().values()} == {"ok"}
    assert len(run.records()) == 1200
    for limit, start, end in stages[:3]:
        settled = [under_way for _, under_way in server.served[(start + end) // 2 : end]]
        assert sum(settled) / len(settled) > 0.5 * limit
    assert server.refused < 0.15 * len(server.requests)
    assert max(under_way for _, under_way in server.served[900:]) > 12


def complain(limit: AdaptiveLimit, entries: Sequence[Admission], takes: int) -> None:
    for number, entry in enumerate(entries):
        if number >= takes:
            limit.slow_down(entry)
        else:
            limit.note_success()
        limit.release()


def simulate(limits: Sequence[int], most: int) -> list[float]:
    """Rounds of requests against a server that takes so many at once; the limit after each round."""

    async def rounds() -> list[float]:
        limit = AdaptiveLimit(most)
        found = []
        for takes in limits:
            complain(limit, [await limit.enter() for _ in range(int(limit.limit))], takes)
            found.append(limit.limit)
        return found

    return asyncio.run(rounds())


@pytest.mark.parametrize("takes", [1, 4, 13, 60])
def test_a_limit_is_found_within_a_few_rounds_and_kept_near(takes: int) -> None:
    found = simulate([takes] * 60, most=128)
    assert found[2] <= takes + 3
    near = found[2:]
    assert sum(near) / len(near) > 0.6 * takes
    assert max(near) <= takes + max(3.0, 0.5 * takes)


def test_a_limit_that_is_lifted_is_won_back_within_a_few_rounds() -> None:
    found = simulate([4] * 12 + [1000] * 12, most=64)
    assert found[11] <= 6
    assert found[-1] == 64


def test_complaints_of_one_crowd_count_once() -> None:
    async def main() -> float:
        limit = AdaptiveLimit(32)
        complain(limit, [await limit.enter() for _ in range(32)], 20)
        return limit.limit

    assert asyncio.run(main()) == pytest.approx(14)


def test_a_place_is_not_lost_when_somebody_stops_waiting_for_it() -> None:
    async def main() -> int:
        limit = AdaptiveLimit(1)
        await limit.enter()
        waiting = asyncio.create_task(limit.enter())
        await asyncio.sleep(0)
        limit.release()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.wait_for(limit.enter(), 600)
        return limit.in_flight

    assert asyncio.run(main()) == 1


# ── rates ──


def most_within(times: Sequence[float], window: float) -> int:
    """The largest number of events in any window."""
    ordered = sorted(times)
    most = first = 0
    for last, when in enumerate(ordered):
        while when - ordered[first] >= window:
            first += 1
        most = max(most, last - first + 1)
    return most


def run_with(path: Path, server: FaultServer, out: Path, meter: Meter, **more: Any) -> RunOutcome:
    """A run with a meter of the test's own: windows of a minute are too long for tests."""
    options = options_for(path, server, out, **more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vivant.engine.run_execution.create_meter", lambda _model, _options: meter)
        return run_plan(plan_run(options), options)


def test_requests_a_minute_are_kept_as_the_server_counts_them(tmp_path: Path) -> None:
    path = questions(tmp_path, 70, pictures=False)

    def behave(number: int, _body: dict[str, Any]) -> Act:
        # Answers of different length, and some that have to be asked for again: those count too.
        return Act(status=500) if number % 9 == 0 else Act(delay=0.002 * (number % 20))

    with serving(behave) as server:
        meter = Meter(rates=RateLimit(rpm=20, window=1.0))
        run_with(path, server, tmp_path / "run", meter, concurrency=40)
        times = list(server.times)
    assert len(Run(tmp_path / "run").records()) == 70
    assert most_within(times, 1.0) <= 20


def test_tokens_a_minute_are_kept_by_what_the_server_says_they_were(tmp_path: Path) -> None:
    path = questions(tmp_path, 60, pictures=False)
    spent: list[tuple[float, int]] = []

    def behave(number: int, _body: dict[str, Any]) -> Act:
        # Far more than the texts suggest, and uneven.
        tokens = 300 + 40 * (number % 5)
        spent.append((time.monotonic(), tokens + 10))
        return Act(delay=0.01, tokens=(tokens, 10))

    with serving(behave) as server:
        meter = Meter(rates=RateLimit(tpm=9_000, window=1.0))
        run_with(path, server, tmp_path / "run", meter, concurrency=30)
    assert len(Run(tmp_path / "run").records()) == 60
    for when, _ in spent:
        assert sum(tokens for other, tokens in spent if when <= other < when + 1.0) <= 9_000


def test_a_request_larger_than_a_minute_goes_alone() -> None:
    async def main() -> list[float]:
        rates = RateLimit(tpm=100, window=0.6)
        times = []
        for tokens in (500, 50, 50, 500):
            slot = await rates.enter(tokens)
            assert slot is not None
            rates.note_answer(slot, tokens)
            times.append(time.monotonic())
        return times

    times = asyncio.run(main())
    assert times[1] - times[0] >= 0.6
    assert times[3] - times[2] >= 0.6


def test_what_turned_out_smaller_makes_room_at_once() -> None:
    async def main() -> None:
        rates = RateLimit(tpm=100, window=3600.0)
        slot = await rates.enter(90)
        assert slot is not None
        waiting = asyncio.create_task(rates.enter(90))
        await asyncio.sleep(0.02)
        rates.note_answer(slot, 5)
        await asyncio.wait_for(waiting, 600)

    asyncio.run(main())


def test_a_resumed_run_remembers_what_was_sent_within_the_last_minute() -> None:
    async def main() -> float:
        meter = Meter(rates=RateLimit(rpm=3, window=1.0))
        began = time.time()
        meter.recall(Record(key="t/1", task="t", id="1", reply=Reply(tokens_in=5), attempts=3, started=began))
        reservation = await meter.admit(RequestSize(0, 10), 5)
        assert reservation is not None
        await meter.wait_for_rates(reservation)
        return time.time() - began

    assert asyncio.run(main()) >= 0.9
