"""Prices of whole names, a user's own over them, and what a run says before it spends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from tests.engine.test_budgets import Named
from tests.engine.test_faults import options_for
from tests.support.fault_server import Act, FaultServer, serving
from tests.support.helpers import logged_messages, questions
from vivant.api import plan
from vivant.cli.models import app
from vivant.core.errors import UsageError
from vivant.core.records import Record
from vivant.core.types import Reply
from vivant.engine.budget import Price
from vivant.engine.cost import announce_cost, estimate_cost
from vivant.engine.evaluation import evaluate
from vivant.engine.options import RunOptions
from vivant.engine.prices import find_price
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import plan_run
from vivant.models.price_table import load_bundled_prices, update_user_prices, user_price_file
from vivant.reporting.usage import sum_usage


def price_of(name: str, server: str = "https://api.example.com/v1") -> tuple[float, float] | None:
    price = find_price(Named(name, server))
    return None if price is None else (price.input, price.output)


# ── whose price ──


def test_a_newer_model_is_never_priced_as_an_older_relative() -> None:
    assert price_of("anthropic/claude-opus-4-1") == (15, 75)
    assert price_of("anthropic/claude-opus-4-5") == (5, 25)
    assert price_of("anthropic/claude-sonnet-5") == (2, 10)
    assert price_of("openai/gpt-5.2") == (1.75, 14)
    assert price_of("gemini/gemini-3-pro-preview") == (2, 12)
    for unknown in (
        "anthropic/claude-opus-4-9",
        "anthropic/claude-opus-6",
        "openai/gpt-5.9",
        "openai/gpt-5-mini-high",
        "openai/gpt-4o-mini-tts",
        "gemini/gemini-2.5-pro-preview-tts",
        "openai/ft:gpt-4o:mine",
    ):
        assert price_of(unknown) is None


def test_a_date_at_the_end_of_a_name_is_the_same_model() -> None:
    assert price_of("anthropic/claude-opus-4-5-20251101") == price_of("anthropic/claude-opus-4-5")
    assert price_of("openai/gpt-5-mini-2025-08-07") == price_of("openai/gpt-5-mini")
    # The whole name first: this snapshot has a price of its own.
    assert price_of("openai/gpt-4o-2024-05-13") == (5, 15)
    assert price_of("openai/gpt-4o-2024-08-06") == (2.5, 10)


def test_a_server_that_is_known_has_its_own_prices() -> None:
    assert price_of("openai/grok-4.5", "https://api.x.ai/v1") == (2, 6)
    assert price_of("openai/gpt-4o", "https://api.x.ai/v1") is None
    assert price_of("openai/gpt-4o", "https://mine.openai.azure.com/openai/v1") == (2.5, 10)


def test_every_bundled_price_is_dated_and_says_where_it_was_seen() -> None:
    table = load_bundled_prices()
    assert len(table.models) > 80
    for name, facts in table.models.items():
        assert (facts.as_of or table.as_of) >= "2025-09", name
        assert (facts.source or table.source) in ("provider", "list"), name
        assert 0 < facts.input <= facts.output, name


# ── a user's own ──


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def test_a_users_prices_go_over_the_bundled_ones_and_whole_names_before_beginnings(config: Path) -> None:
    file = config / "mine.yaml"
    file.write_text(
        'as_of: "2026-11"\nmodels:\n  openai/gpt-5*: {input: 7, output: 8}\n  openai/gpt-5: {input: 1, output: 2}\n'
        "  house/x: {input: 3, output: 4}\n"
    )
    result = update_user_prices(file)
    assert (len(result.added), len(result.changed), result.unchanged) == (3, 0, 0)
    assert price_of("openai/gpt-5") == (1, 2)
    assert price_of("openai/gpt-5.9") == (7, 8)
    assert price_of("openai/gpt-4o") == (2.5, 10)
    assert price_of("openai/gpt-5", "http://localhost:8000/v1") == (1, 2)
    price = find_price(Named("house/x"))
    assert price is not None and price.as_of == "2026-11"


def test_an_update_keeps_what_it_does_not_name(config: Path) -> None:
    first, second = config / "a.yaml", config / "b.yaml"
    first.write_text('as_of: "2026-10"\nmodels: {a/x: {input: 1, output: 1}, a/y: {input: 1, output: 1}}')
    second.write_text('as_of: "2026-11"\nmodels: {a/x: {input: 2, output: 2}, a/z: {input: 3, output: 3}}')
    update_user_prices(first)
    result = update_user_prices(second)
    assert (result.added, result.changed, result.unchanged) == (["a/z"], ["a/x"], 0)
    prices = {name: find_price(Named(name)) for name in ("a/x", "a/y", "a/z")}
    assert [(p.input, p.as_of) for p in prices.values() if p] == [
        (2, "2026-11"),
        (1, "2026-10"),
        (3, "2026-11"),
    ]
    assert update_user_prices(second).unchanged == 2
    second.write_text("currency: EUR\nmodels: {a/x: {input: 2, output: 2}}")
    with pytest.raises(UsageError, match="one table has one currency"):
        update_user_prices(second)


def test_litellms_table_is_read_in_its_own_form(config: Path) -> None:
    """Names, fields and the number format as the project publishes them."""
    entries: dict[str, Any] = {
        "sample_spec": {
            "litellm_provider": "one of https://docs.litellm.ai/docs/providers",
            "mode": "one of: chat",
        },
        "gpt-9": {
            "input_cost_per_token": 1.75e-06,
            "input_cost_per_token_batches": 8.75e-07,
            "output_cost_per_token": 1.4e-05,
            "litellm_provider": "openai",
            "mode": "chat",
        },
        "openrouter/anthropic/claude-opus-9": {
            "input_cost_per_token": 5e-06,
            "output_cost_per_token": 2.5e-05,
            "litellm_provider": "openrouter",
            "mode": "chat",
        },
        "gemini/gemini-exp": {
            "input_cost_per_token": 0,
            "output_cost_per_token": 0,
            "litellm_provider": "gemini",
            "mode": "chat",
        },
        "text-embedding-9": {
            "input_cost_per_token": 1e-07,
            "litellm_provider": "openai",
            "mode": "embedding",
        },
        "dashscope/qwen-flash": {"tiered_pricing": [], "litellm_provider": "dashscope", "mode": "chat"},
    }
    file = config / "model_prices_and_context_window.json"
    file.write_text(json.dumps(entries))
    assert len(update_user_prices(file).added) == 2
    price = find_price(Named("openai/gpt-9"))
    assert price is not None and (price.input, price.output, price.batch) == (1.75, 14, 0.5)
    assert price_of("openai/anthropic/claude-opus-9", "https://openrouter.ai/api/v1") == (5, 25)
    assert price_of("gemini/gemini-exp") is None


@pytest.mark.parametrize(("name", "text"), [("p.json", "{"), ("p.json", "{}"), ("p.yaml", "models: 3")])
def test_a_bad_file_changes_nothing(config: Path, name: str, text: str) -> None:
    (config / name).write_text(text)
    with pytest.raises(UsageError, match=name):
        update_user_prices(config / name)
    assert not user_price_file().exists()


@pytest.mark.parametrize(
    "text",
    [
        "openai/gpt-9: {input: 1, output: 2}",
        "models: {openai/gpt-9: {in: 1, out: 2}}",
        "models: {openai/gpt-9: 3}",
        "models: {openai/gpt-9: {input: 1}}",
        "- openai/gpt-9",
        "",
    ],
)
def test_a_file_of_another_shape_is_told_what_a_price_file_looks_like(config: Path, text: str) -> None:
    (config / "p.yaml").write_text(text)
    with pytest.raises(UsageError) as caught:
        update_user_prices(config / "p.yaml")
    words = str(caught.value)
    assert words.startswith(f"{config}/p.yaml") and words.endswith(
        "a price file looks like `models: {openai/gpt-5: {input: 1.25, output: 10}}`, for a million tokens"
    )
    assert "\n" not in words and "box" not in words and "known:" not in words


def test_an_update_prints_what_it_changed_alone(config: Path) -> None:
    first, second = config / "a.yaml", config / "b.yaml"
    first.write_text("models: {a/x: {input: 1, output: 1}, a/y: {input: 1, output: 1}}")
    second.write_text("models: {a/x: {input: 2, output: 2}, a/y: {input: 1, output: 1}}")
    update_user_prices(first)
    result = CliRunner().invoke(app, ["prices", "--update", str(second)])
    assert result.exit_code == 0
    assert "a/x" in result.stdout and "a/y" not in result.stdout and "gpt" not in result.stdout
    assert "1 price changed, 1 as before" in result.stderr
    again = CliRunner().invoke(app, ["prices", "--update", str(second)])
    assert again.exit_code == 0 and not again.stdout
    assert "2 prices as before" in again.stderr


# ── before a run spends ──


def priced(path: Path, server: FaultServer, tmp_path: Path, **more: Any) -> RunOptions:
    prices = tmp_path / "prices.yaml"
    prices.write_text('as_of: "2026-05"\nmodels: {openai/stand-in: {input: 0, output: 1000}}\n')
    return options_for(path, server, tmp_path / "run", prices=str(prices), max_tokens=10, **more)


def test_a_run_says_what_it_may_cost_before_it_starts(tmp_path: Path) -> None:
    path = questions(tmp_path, 250, pictures=False)
    with serving(lambda _n, _b: Act()) as server:
        options = priced(path, server, tmp_path)
        with logged_messages() as messages:
            announce_cost([plan_run(options)], options)
        # 250 replies of at most 10 tokens, at 1,000 for a million.
        assert messages == ["Estimate: at most about 2.50 USD for 250 requests (prices of 2026-05)."]
        assert not server.requests
        run_plan(plan_run(options), options)
        with logged_messages() as messages:
            announce_cost([plan_run(options)], options)
        assert messages == []  # nothing is left to ask


def test_pictures_of_low_detail_are_estimated_at_their_base_price() -> None:
    tokens = {}
    for detail in ("auto", "low"):
        table = plan("mime/mcq", "openai/gpt-4o-mini", data="mini", limit=1, model_options={"detail": detail})
        (row,) = [dict(zip(table.columns, cells, strict=True)) for cells in table.body]
        assert row["frames"] == 8
        tokens[detail] = int(str(row["tokens in, about"]))
    assert tokens["auto"] - tokens["low"] == 8 * 5667


def test_a_model_that_nobody_charges_for_has_no_estimate(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    with serving(lambda _n, _b: Act()) as server:
        options = options_for(path, server, tmp_path / "run")
        assert estimate_cost([plan_run(options)], options) is None
    options = RunOptions(selectors=(str(path),), model="random", out=str(tmp_path / "other"))
    assert estimate_cost([plan_run(options)], options) is None


def test_a_model_without_a_price_is_said_to_have_none_and_a_plan_needs_no_key(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    options = RunOptions(selectors=(str(path),), model="openai/gpt-9", out=str(tmp_path / "run"))
    with pytest.raises(UsageError, match="No key for"):
        plan_run(options)
    prepared = plan_run(options, needs_key=False)
    estimate = estimate_cost([prepared], options)
    assert estimate is not None
    assert "No price is known for openai/gpt-9; --prices FILE gives one" in estimate.describe()
    for model in ("gemini/gemini-2.5-pro", "anthropic/claude-opus-4-5"):
        other = RunOptions(selectors=(str(path),), model=model, out=str(tmp_path / "run"))
        assert estimate_cost([plan_run(other, needs_key=False)], other) is not None


@pytest.mark.parametrize(
    ("answer", "more", "refused"),
    [
        (None, {}, "above --confirm-above 1 and there is nobody to ask; add --yes"),
        (False, {}, "Nothing was sent"),
        (True, {}, ""),
        (None, {"yes": True}, ""),
        (None, {"confirm_above": 3}, ""),
    ],
)
def test_above_a_limit_a_run_asks(
    tmp_path: Path, answer: bool | None, more: dict[str, Any], refused: str
) -> None:
    path = questions(tmp_path, 250, pictures=False)
    asked: list[str] = []

    def ask(question: str) -> bool | None:
        asked.append(question)
        return answer

    with serving(lambda _n, _b: Act()) as server:
        options = priced(path, server, tmp_path, **{"confirm_above": 1.0, **more})
        if refused:
            with pytest.raises(UsageError, match=refused):
                announce_cost([plan_run(options)], options, ask)
        else:
            announce_cost([plan_run(options)], options, ask)
        assert asked == ([] if more else ["That is above --confirm-above 1. Go on?"])
        assert not server.requests


def test_without_a_price_a_limit_cannot_be_compared_and_says_so(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    with serving(lambda _n, _b: Act()) as server:
        options = options_for(path, server, tmp_path / "run", confirm_above=1.0)
        with logged_messages() as messages:
            announce_cost([plan_run(options)], options)
    assert len(messages) == 1
    assert "no price is known for openai/stand-in, which runs on your own machines" in messages[0]
    hosted = RunOptions(
        selectors=(str(path),), model="openai/gpt-9", out=str(tmp_path / "other"), confirm_above=1.0
    )
    planned = plan_run(hosted, needs_key=False)
    with pytest.raises(UsageError, match=r"cannot be compared: no price is known for openai/gpt-9; .* --yes"):
        announce_cost([planned], hosted)
    announce_cost([planned], msgspec.structs.replace(hosted, yes=True))


def test_a_script_that_sets_a_limit_is_refused_before_the_first_request(tmp_path: Path) -> None:
    path = questions(tmp_path, 250, pictures=False)
    with serving(lambda _n, _b: Act()) as server:
        prices = priced(path, server, tmp_path).prices
        with pytest.raises(UsageError, match="nobody to ask"):
            evaluate(
                str(path),
                "openai/stand-in",
                base_url=server.url,
                prices=prices,
                max_tokens=10,
                confirm_above=1.0,
                out=str(tmp_path / "run"),
            )
        assert not server.requests


# ── what was spent ──


def record(status: Any, tokens: tuple[int | None, int | None], *, cached: bool = False) -> Record:
    reply = Reply(status=status, tokens_in=tokens[0], tokens_out=tokens[1])
    return Record(key="t/q", task="t", id="q", reply=reply, cached=cached)


def test_what_a_server_counted_for_a_refusal_is_part_of_what_was_spent() -> None:
    price = Price(input=1.0, output=10.0)
    records = [record("ok", (100, 5)), record("refused", (100, 1)), record("error", (None, None))]
    spent = sum_usage([*records, record("ok", (100, 5), cached=True)], price)
    assert (spent.requests, spent.tokens_in, spent.tokens_out) == (2, 200, 6)
    assert spent.cost == pytest.approx((200 * 1.0 + 6 * 10.0) / 1_000_000)
    assert spent.format().startswith("Tokens: 200 in, 6 out; 0.0003")


def test_counts_that_a_server_left_out_are_not_shown_as_none_spent() -> None:
    spent = sum_usage([record("ok", (None, 5)), record("ok", (100, 5))], Price(input=1.0, output=10.0))
    assert spent.cost is None
    assert spent.format() == "Tokens: 100 in, 10 out, as far as the server says."
