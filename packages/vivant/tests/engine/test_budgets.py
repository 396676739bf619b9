"""Budgets that are not passed; estimates and prices that say what a run may cost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.test_faults import QUICK, number_of, options_for
from tests.support.fault_server import Act, serving
from tests.support.helpers import questions, vivant
from vivant.core.errors import UsageError
from vivant.core.records import Record
from vivant.core.types import Picture, Reply, Text, Turn
from vivant.engine.budget import Meter, Price, RunBudget
from vivant.engine.option_parsing import parse_duration
from vivant.engine.options import RunOptions
from vivant.engine.prices import find_price
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import plan_run
from vivant.engine.tokens import Estimator, RequestSize, TokenUsage, count_text_tokens, measure_request
from vivant.models.base import Model
from vivant.models.model_table import PictureTokens
from vivant.models.registry import create
from vivant.runs.run import Run

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
        options = options_for(path, server, tmp_path / "run", budget_tokens=20_000, **common)
        outcome = run_plan(plan_run(options), options)
        assert outcome.stopped
        assert "--budget-tokens 20,000" in outcome.reason
        first = len(Run(tmp_path / "run").records())
        assert server.spent == first * 760 <= 20_000
        assert server.spent > 20_000 - 3 * 1000
        # The same budget again buys nothing: it is that of the whole run.
        assert run_plan(plan_run(options), options).done == 0
        assert server.spent <= 20_000
        more = options_for(path, server, tmp_path / "run", budget_tokens=200_000, **common)
        assert not run_plan(plan_run(more), more).stopped
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
        result = vivant(*command, "--budget-cost", "20", "--prices", prices, cwd=tmp_path)
    assert result.returncode == 3, result.stderr
    assert "could pass --budget-cost 20" in result.stderr
    assert "EUR spent so far" in result.stderr
    assert "Run the same command with more of it to go on: run" in result.stderr
    cost = len(Run(tmp_path / "run").records()) * (700 * 1000 + 60 * 2000) / 1e6
    assert 15 < cost <= 20
    unpriced = vivant(*command, "--budget-cost", "20", cwd=tmp_path)
    assert "no price is known for openai/x; give one with --prices FILE" in unpriced.stderr


def test_a_budget_of_time_stops_before_it_is_passed_and_logs_what_came_back(tmp_path: Path) -> None:
    path = questions(tmp_path, 500, pictures=False)
    with serving(lambda _n, _b: Act(delay=0.1)) as server:
        options = options_for(path, server, tmp_path / "run", concurrency=4, budget_time=1.5)
        outcome = run_plan(plan_run(options), options)
    assert outcome.stopped
    assert "--budget-time 1.5 s" in outcome.reason
    assert len(server.requests) < 500
    assert len(server.requests) >= outcome.done >= len(server.requests) - 4


def test_what_hangs_does_not_outlast_a_budget_of_time(tmp_path: Path) -> None:
    path = questions(tmp_path, 20, pictures=False)

    def behave(_number: int, body: dict[str, Any]) -> Act:
        return Act(hang=number_of(body) >= 10)

    with serving(behave) as server:
        options = options_for(path, server, tmp_path / "run", concurrency=16, budget_time=1.0)
        outcome = run_plan(plan_run(options), options)
    assert outcome.stopped
    # What hung is no record at all: it is asked again when the run is resumed.
    assert all(int(record.id[1:]) < 10 for record in Run(tmp_path / "run").records().values())


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
        meter = Meter(RunBudget(tokens=budget))
        pending = iter(sizes)
        spent = 0

        async def work() -> None:
            nonlocal spent
            for tokens, written in pending:
                reservation = await meter.admit(RequestSize(0, tokens), 50)
                if reservation is None:
                    return
                await asyncio.sleep(0)
                spent += tokens + written
                assert spent <= budget
                meter.settle(reservation, Reply(tokens_in=tokens, tokens_out=written))

        async with asyncio.TaskGroup() as group:
            for _ in range(abreast):
                group.create_task(work())
        return meter.spent - spent

    assert asyncio.run(main()) == 0


# ── estimates and prices ──


def test_the_estimate_learns_from_replies() -> None:
    estimator = Estimator()
    size = RequestSize(0, 100)
    assert not estimator.known
    estimator.measure(size, Reply(tokens_in=3_300, tokens_out=7))
    assert estimator.known
    assert 3_300 <= estimator.estimate(size, 50).sent <= 3_700
    assert estimator.estimate(size, 50).written == 50
    for _ in range(200):
        estimator.measure(size, Reply(tokens_in=1_000, tokens_out=2_000))
    assert 1_000 <= estimator.estimate(size, None).sent <= 1_300
    assert estimator.estimate(size, None).written >= 2_000


def test_text_and_pictures_are_counted() -> None:
    assert count_text_tokens("word " * 100) == 125
    assert count_text_tokens("图像中有什么") == 6
    turn = Turn("user", (Text("a" * 400), Picture(b"12345", "image/png", 512, 512)))
    size = measure_request((turn,), PictureTokens("tiles", base=85, unit=170))
    assert size.bytes == 5 + 8  # the picture, and its base64 in the request
    assert 100 + 255 <= size.tokens <= 100 + 255 + 20


class Named(Model):
    def __init__(self, name: str, server: str = "https://api.openai.com/v1") -> None:
        self.name = name
        self._server = server

    @property
    def server(self) -> str:
        return self._server

    async def generate(self, request: Any) -> Reply:
        raise AssertionError(request)


def test_prices_are_found_by_name_and_are_dated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mini, full = (
        find_price(Named("openai/gpt-4o-mini-2024-07-18")),
        find_price(Named("openai/gpt-4o-2024-08-06")),
    )
    assert mini is not None and full is not None
    assert mini.input < full.input
    assert mini.as_of and mini.currency == "USD"
    assert find_price(Named("openai/gpt-4oxyz")) is None
    assert find_price(Named("openai/unheard-of")) is None
    own = tmp_path / "own.yaml"
    own.write_text("models: {openai/gpt-4o: {input: 1, output: 2, as_of: 2026-01}}")
    assert find_price(Named("openai/gpt-4o"), str(own)) == Price(
        input=1, output=2, as_of="2026-01", batch=0.5
    )
    monkeypatch.setenv("VIVANT_PRICES", str(own))
    assert find_price(Named("openai/gpt-4o")) == Price(input=1, output=2, as_of="2026-01", batch=0.5)
    assert find_price(Named("openai/gpt-4.1")) is not None


@pytest.mark.parametrize(
    "server",
    ["http://localhost:8000/v1", "http://127.0.0.1/v1", "http://10.0.0.7:1/v1", "http://gpu-node:8000/v1"],
)
def test_a_server_of_ones_own_has_no_list_price(server: str) -> None:
    assert find_price(Named("openai/gpt-4o", server)) is None


def test_a_batch_costs_what_its_provider_asks_for_one(tmp_path: Path) -> None:
    million = TokenUsage(1_000_000, 1_000_000)
    for name in ("openai/gpt-4o", "anthropic/claude-sonnet-4", "gemini/gemini-2.5-pro"):
        price = find_price(Named(name, ""))
        assert price is not None
        assert price.cost(million, batch=True) == price.cost(million) / 2
    own = tmp_path / "own.yaml"
    own.write_text(
        "batch: {house: 0.75}\nmodels: {house/a: {input: 1, output: 1}, house/b: {input: 1, output: 1, batch: 0.1},"
        " other/c: {input: 1, output: 1}, openai/d: {input: 1, output: 1}}"
    )
    found = {
        name: find_price(Named(name), str(own)) for name in ("house/a", "house/b", "other/c", "openai/d")
    }
    shares = {name: price.batch for name, price in found.items() if price is not None}
    assert shares == {"house/a": 0.75, "house/b": 0.1, "other/c": 1.0, "openai/d": 0.5}


def test_what_a_batch_took_counts_at_its_own_price() -> None:
    meter = Meter(RunBudget(cost=100, price=Price(input=1_000_000, output=0, batch=0.5)))
    reply = Reply(text="A", tokens_in=4, tokens_out=1)
    meter.recall(Record(key="a", task="t", id="a", reply=reply))
    assert meter.cost == 4
    meter.recall(Record(key="b", task="t", id="b", reply=reply, extra={"batch": "batch_1"}))
    assert meter.cost == 6


@pytest.mark.parametrize("text", ["models: 3", "models: {a: {input: x, output: 1}}", "modls: {}", "{"])
def test_a_bad_price_file_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"p\.yaml.*looks like `models:"):
        find_price(Named("a"), str(tmp_path / "p.yaml"))
    with pytest.raises(UsageError, match=r"cannot be read.*price file"):
        find_price(Named("a"), str(tmp_path / "none.yaml"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("45s", 45), ("30m", 1800), ("1h30m", 5400), ("2d", 172800)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text, "--budget-time") == seconds


@pytest.mark.parametrize("text", ["", "0", "h", "1x", "-5", "1h 30m", "30m1"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(UsageError, match="--budget-time"):
        parse_duration(text, "--budget-time")


def test_the_plan_says_what_is_left_and_what_it_may_cost(tmp_path: Path) -> None:
    path = questions(tmp_path, 10)
    prices = tmp_path / "prices.yaml"
    prices.write_text("as_of: 2026-05\nmodels: {openai/x: {input: 1000000, output: 0}}\n")
    common = (path, "--model", "openai/x", "--out", "run", "--prices", prices)
    with serving(lambda _n, _b: Act()) as server:
        address = ("--base-url", server.url)
        before = vivant("plan", *common, *address, "--budget-cost", "1", cwd=tmp_path)
        assert not server.requests
        options = RunOptions(
            selectors=(str(path),),
            model="openai/x",
            out=str(tmp_path / "run"),
            base_url=server.url,
            budget_tokens=180,
            retry=QUICK,
        )
        run_plan(plan_run(options), options)
        after = vivant("plan", *common, *address, cwd=tmp_path)
        batch = vivant("plan", *common, *address, "--out", "other", "--batch", cwd=tmp_path)
    assert before.returncode == after.returncode == 0, before.stderr + after.stderr
    cells = table_line(before.stdout)
    assert cells[1:6] == ["10", "10", "0", "0", "0"]
    assert 100 < int(cells[6]) < 1_000 and int(cells[7]) == 1280
    assert float(cells[8]) == pytest.approx(float(cells[6]), abs=1)
    assert "as of 2026-05" in before.stderr
    assert float(table_line(batch.stdout)[8]) == pytest.approx(float(cells[6]) / 2, abs=1)
    assert "a batch costs 50% of that" in batch.stderr
    assert "may pass --budget-cost 1" in before.stderr
    done = len(Run(tmp_path / "run").records())
    assert 0 < done < 10
    assert f"{done} of 10 samples are done" in after.stderr
    assert table_line(after.stdout)[1] == str(10 - done)


def table_line(output: str) -> list[str]:
    return next(line.split() for line in output.splitlines() if "jsonl/mine" in line)


def test_baselines_have_no_price() -> None:
    assert find_price(create("random")) is None
