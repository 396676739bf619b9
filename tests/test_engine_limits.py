"""Limits that are found, rates that are kept, budgets that are not passed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fault_server import Act, FaultServer, serving
from tests.helpers import questions, vivant
from tests.test_engine_faults import QUICK, ask, number_of, options_for
from vivant.cli.settle import duration
from vivant.engine.limits import AdaptiveLimit, Entry
from vivant.engine.prices import price_of
from vivant.engine.rates import RateLimit
from vivant.engine.runner import Outcome
from vivant.engine.spending import Budget, Meter, Price
from vivant.engine.tokens import Estimator, Load, measure, text_tokens
from vivant.errors import UsageError
from vivant.evaluation import Options, prepare, run_plan
from vivant.models.base import Model, ModelOptions
from vivant.models.capabilities import PictureTokens
from vivant.models.registry import create
from vivant.runs import Run
from vivant.types import Picture, Record, Reply, Text, Turn

# ── concurrency ──


def test_the_servers_limit_is_found_and_found_again_when_it_changes(tmp_path: Path) -> None:
    path = questions(tmp_path, 2000, pictures=False)
    # By requests served, not by the clock: a busy machine is slower, but takes the same steps.
    stages = [(6, 0, 400), (24, 400, 900), (3, 900, 1100), (64, 1100, 2000)]

    def behave(_number: int, _body: dict[str, Any]) -> Act:
        server.limit = next(limit for limit, start, _ in reversed(stages) if len(server.served) >= start)
        return Act(delay=0.02)

    with serving(behave) as server:
        server.limit = 6
        run = ask(path, server, tmp_path / "run", concurrency=32)
    assert {record.reply.status for record in run.records().values()} == {"ok"}
    assert len(run.records()) == 2000
    for limit, start, end in stages[:3]:
        settled = [under_way for _, under_way in server.served[(start + end) // 2 : end]]
        assert sum(settled) / len(settled) > 0.5 * limit
    assert server.refused < 0.15 * len(server.requests)
    assert max(under_way for _, under_way in server.served[1500:]) > 24


def complain(limit: AdaptiveLimit, entries: Sequence[Entry], takes: int) -> None:
    for number, entry in enumerate(entries):
        if number >= takes:
            limit.slow_down(entry)
        else:
            limit.succeeded()
        limit.release()


def simulate(limits: Sequence[int], most: int) -> list[float]:
    """Rounds of requests against a server that takes so many at once; the limit after each round."""

    async def rounds() -> list[float]:
        limit = AdaptiveLimit(most)
        found = []
        for takes in limits:
            complain(limit, [await limit.acquire() for _ in range(int(limit.limit))], takes)
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
        complain(limit, [await limit.acquire() for _ in range(32)], 20)
        return limit.limit

    assert asyncio.run(main()) == pytest.approx(14)


def test_a_place_is_not_lost_when_somebody_stops_waiting_for_it() -> None:
    async def main() -> int:
        limit = AdaptiveLimit(1)
        await limit.acquire()
        waiting = asyncio.create_task(limit.acquire())
        await asyncio.sleep(0)
        limit.release()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.wait_for(limit.acquire(), 1)
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


def run_with(path: Path, server: FaultServer, out: Path, meter: Meter, **more: Any) -> Outcome:
    """A run with a meter of the test's own: windows of a minute are too long for tests."""
    options = options_for(path, server, out, **more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vivant.evaluation.meter_for", lambda _model, _options: meter)
        return run_plan(prepare(options), options)


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
    # And they are used: each window is filled before the next.
    assert times[-1] - times[0] < 1.25 * len(times) / 20 + 1.0


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
    assert spent[-1][0] - spent[0][0] < 2 * sum(tokens for _, tokens in spent) / 9_000 + 5.0


def test_a_request_larger_than_a_minute_goes_alone() -> None:
    async def main() -> list[float]:
        rates = RateLimit(tpm=100, window=0.6)
        times = []
        for tokens in (500, 50, 50, 500):
            slot = await rates.enter(tokens)
            rates.answered(slot, tokens)
            times.append(time.monotonic())
        return times

    times = asyncio.run(main())
    assert times[1] - times[0] >= 0.6
    assert times[2] - times[1] < 0.5
    assert times[3] - times[2] >= 0.6


def test_what_turned_out_smaller_makes_room_at_once() -> None:
    async def main() -> float:
        rates = RateLimit(tpm=100, window=5.0)
        slot = await rates.enter(90)
        waiting = asyncio.create_task(rates.enter(90))
        await asyncio.sleep(0.02)
        began = time.monotonic()
        rates.answered(slot, 5)
        await asyncio.wait_for(waiting, 2)
        return time.monotonic() - began

    assert asyncio.run(main()) < 1.0


def test_a_resumed_run_remembers_what_was_sent_within_the_last_minute() -> None:
    async def main() -> float:
        meter = Meter(rates=RateLimit(rpm=3, window=1.0))
        record = Record(
            key="t/1", task="t", id="1", reply=Reply(tokens_in=5), attempts=3, started=time.time()
        )
        meter.recall(record)
        began = time.monotonic()
        held = await meter.admit(Load(0, 10), 5)
        assert held is not None
        await meter.turn(held)
        return time.monotonic() - began

    assert asyncio.run(main()) >= 0.9


# ── budgets ──


def heavy(_number: int, _body: dict[str, Any]) -> Act:
    return Act(delay=0.01, tokens=(700, 60))


@pytest.mark.parametrize("concurrency", [1, 24])
def test_a_budget_of_tokens_stops_before_it_is_passed_and_more_of_it_goes_on(
    tmp_path: Path, concurrency: int
) -> None:
    path = questions(tmp_path, 120, pictures=False)
    with serving(heavy) as server:
        common: dict[str, Any] = {"concurrency": concurrency}
        options = options_for(path, server, tmp_path / "run", max_tokens=20_000, **common)
        outcome = run_plan(prepare(options), options)
        assert outcome.stopped
        assert "--max-tokens 20,000" in outcome.reason
        first = len(Run(tmp_path / "run").records())
        assert server.spent == first * 760 <= 20_000
        assert server.spent > 20_000 - 3 * 1000
        # The same budget again buys nothing: it is that of the whole run.
        assert run_plan(prepare(options), options).done == 0
        assert server.spent <= 20_000
        more = options_for(path, server, tmp_path / "run", max_tokens=200_000, **common)
        assert not run_plan(prepare(more), more).stopped
    assert len(Run(tmp_path / "run").records()) == 120
    assert len(server.requests) == 120


def test_a_budget_of_money_stops_before_it_is_passed_and_says_so(tmp_path: Path) -> None:
    path = questions(tmp_path, 100, pictures=False)
    prices = tmp_path / "prices.yaml"
    prices.write_text("as_of: today\ncurrency: EUR\nmodels: {openai/x: {input: 1000, output: 2000}}\n")
    with serving(heavy) as server:
        command = (
            "run",
            path,
            "--model",
            "openai/x",
            "--base-url",
            server.url,
            "--out",
            "run",
            "--cache",
            "off",
        )
        result = vivant(*command, "--max-cost", "20", "--prices", prices, cwd=tmp_path)
    assert result.returncode == 3, result.stderr
    assert "could pass --max-cost 20" in result.stderr
    assert "EUR spent so far" in result.stderr
    assert "Run the same command with more of it to go on: run" in result.stderr
    cost = len(Run(tmp_path / "run").records()) * (700 * 1000 + 60 * 2000) / 1e6
    assert 15 < cost <= 20
    unpriced = vivant(*command, "--max-cost", "20", cwd=tmp_path)
    assert "no price is known for openai/x; give one with --prices FILE" in unpriced.stderr


def test_a_budget_of_time_stops_before_it_is_passed_and_logs_what_came_back(tmp_path: Path) -> None:
    path = questions(tmp_path, 500, pictures=False)
    with serving(lambda _n, _b: Act(delay=0.1)) as server:
        options = options_for(path, server, tmp_path / "run", concurrency=4, max_time=1.5)
        began = time.monotonic()
        outcome = run_plan(prepare(options), options)
        took = time.monotonic() - began
    assert outcome.stopped
    assert "--max-time 1.5 s" in outcome.reason
    assert took < 8  # all of it would take twelve seconds and more
    assert len(server.requests) >= outcome.done >= len(server.requests) - 4
    assert outcome.done >= 8


def test_what_hangs_does_not_outlast_a_budget_of_time(tmp_path: Path) -> None:
    path = questions(tmp_path, 20, pictures=False)

    def behave(_number: int, body: dict[str, Any]) -> Act:
        return Act(hang=number_of(body) >= 10)

    with serving(behave) as server:
        options = options_for(path, server, tmp_path / "run", concurrency=16, max_time=1.0)
        began = time.monotonic()
        outcome = run_plan(prepare(options), options)
        took = time.monotonic() - began
    assert outcome.stopped
    assert took < 20
    # What hung is no record at all: it is asked again when the run is resumed.
    assert len(Run(tmp_path / "run").records()) == 10


@given(
    sizes=st.lists(st.tuples(st.integers(1, 400), st.integers(0, 50)), min_size=1, max_size=60),
    budget=st.integers(100, 5_000),
    abreast=st.integers(1, 16),
)
@settings(max_examples=60, deadline=None)
def test_no_order_of_replies_passes_a_budget_whose_estimates_hold(
    sizes: list[tuple[int, int]], budget: int, abreast: int
) -> None:
    """Requests of all sizes, `abreast` at a time, against a server that counts exactly what is estimated."""

    async def main() -> int:
        meter = Meter(Budget(tokens=budget))
        pending = iter(sizes)
        spent = 0

        async def work() -> None:
            nonlocal spent
            for tokens, written in pending:
                held = await meter.admit(Load(0, tokens), 50)
                if held is None:
                    return
                await asyncio.sleep(0)
                spent += tokens + written
                assert spent <= budget
                meter.settle(held, Reply(tokens_in=tokens, tokens_out=written))

        async with asyncio.TaskGroup() as group:
            for _ in range(abreast):
                group.create_task(work())
        return meter.spent - spent

    assert asyncio.run(main()) == 0


# ── estimates and prices ──


def test_the_estimate_learns_from_replies() -> None:
    estimator = Estimator()
    load = Load(0, 100)
    assert not estimator.known
    estimator.after(load, Reply(tokens_in=3_300, tokens_out=7))
    assert estimator.known
    assert 3_300 <= estimator.before(load, 50).sent <= 3_700
    assert estimator.before(load, 50).written == 50
    for _ in range(200):
        estimator.after(load, Reply(tokens_in=1_000, tokens_out=2_000))
    assert 1_000 <= estimator.before(load, None).sent <= 1_300
    assert estimator.before(load, None).written >= 2_000


def test_text_and_pictures_are_counted() -> None:
    assert text_tokens("word " * 100) == 125
    assert text_tokens("图像中有什么") == 6
    turn = Turn("user", (Text("a" * 400), Picture(b"12345", "image/png", 512, 512)))
    load = measure((turn,), PictureTokens("tiles", base=85, unit=170))
    assert load.bytes == 5
    assert 100 + 255 <= load.tokens <= 100 + 255 + 20


class Named(Model):
    def __init__(self, name: str, server: str = "https://api.openai.com/v1") -> None:
        self.name = name
        self._server = server

    @property
    def server(self) -> str:
        return self._server

    async def generate(self, request: Any) -> Reply:
        raise AssertionError(request)


def test_prices_are_found_by_the_longest_name_and_are_dated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mini, full = price_of(Named("openai/gpt-4o-mini-2024-07-18")), price_of(Named("openai/gpt-4o-2024-08-06"))
    assert mini is not None and full is not None
    assert mini.input < full.input
    assert mini.as_of and mini.currency == "USD"
    assert price_of(Named("openai/gpt-4oxyz")) is None
    assert price_of(Named("openai/unheard-of")) is None
    own = tmp_path / "own.yaml"
    own.write_text("models: {openai/gpt-4o: {input: 1, output: 2, as_of: 2026-01}}")
    assert price_of(Named("openai/gpt-4o"), str(own)) == Price(input=1, output=2, as_of="2026-01")
    monkeypatch.setenv("VIVANT_PRICES", str(own))
    assert price_of(Named("openai/gpt-4o")) == Price(input=1, output=2, as_of="2026-01")
    assert price_of(Named("openai/gpt-4.1")) is not None


@pytest.mark.parametrize(
    "server",
    ["http://localhost:8000/v1", "http://127.0.0.1/v1", "http://10.0.0.7:1/v1", "http://gpu-node:8000/v1"],
)
def test_a_server_of_ones_own_has_no_list_price(server: str) -> None:
    assert price_of(Named("openai/gpt-4o", server)) is None


@pytest.mark.parametrize("text", ["models: 3", "models: {a: {input: x, output: 1}}", "modls: {}", "{"])
def test_a_bad_price_file_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"p\.yaml should hold `models:"):
        price_of(Named("a"), str(tmp_path / "p.yaml"))
    with pytest.raises(UsageError, match="Cannot read the prices"):
        price_of(Named("a"), str(tmp_path / "none.yaml"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("45s", 45), ("30m", 1800), ("1h30m", 5400), ("2d", 172800)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text, "--max-time") == seconds


@pytest.mark.parametrize("text", ["", "0", "h", "1x", "-5", "1h 30m", "30m1"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(UsageError, match="--max-time"):
        duration(text, "--max-time")


def test_the_plan_says_what_is_left_and_what_it_may_cost(tmp_path: Path) -> None:
    path = questions(tmp_path, 10)
    prices = tmp_path / "prices.yaml"
    prices.write_text("as_of: 2026-05\nmodels: {openai/x: {input: 1000000, output: 0}}\n")
    common = (path, "--model", "openai/x", "--out", "run", "--prices", prices)
    with serving(lambda _n, _b: Act()) as server:
        address = ("--base-url", server.url)
        before = vivant("plan", *common, *address, "--max-cost", "1", cwd=tmp_path)
        assert not server.requests
        options = Options(
            selectors=(str(path),),
            model="openai/x",
            out=str(tmp_path / "run"),
            model_options=ModelOptions(base_url=server.url),
            max_tokens=180,
            retry=QUICK,
        )
        run_plan(prepare(options), options)
        after = vivant("plan", *common, *address, cwd=tmp_path)
    assert before.returncode == after.returncode == 0, before.stderr + after.stderr
    cells = table_line(before.stdout)
    assert cells[1:6] == ["10", "10", "0", "0", "0"]
    assert 100 < int(cells[6]) < 1_000 and int(cells[7]) == 1280
    assert float(cells[8]) == pytest.approx(float(cells[6]), abs=1)
    assert "as of 2026-05" in before.stderr
    assert "may pass --max-cost 1" in before.stderr
    done = len(Run(tmp_path / "run").records())
    assert 0 < done < 10
    assert f"{done} of 10 samples are there already" in after.stderr
    assert table_line(after.stdout)[1] == str(10 - done)


def table_line(output: str) -> list[str]:
    return next(line.split() for line in output.splitlines() if "jsonl/mine" in line)


def test_baselines_have_no_price() -> None:
    assert price_of(create("random")) is None
