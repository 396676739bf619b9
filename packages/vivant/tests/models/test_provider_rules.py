"""Every known model with every option about thinking: refused at once, or a request that the provider takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.model_requests import question
from tests.support.provider_rules import CLAUDE, GEMINI, GPT, refuse_claude, refuse_gemini, refuse_gpt
from vivant.core.errors import UsageError
from vivant.core.types import Decoding, Request, Text
from vivant.engine.option_parsing import make_options
from vivant.engine.run_planning import create_model
from vivant.models.anthropic import Anthropic
from vivant.models.base import ModelOptions, ThinkingOptions
from vivant.models.gemini import Gemini
from vivant.models.openai import OpenAI
from vivant.models.registry import create
from vivant.models.thinking import find_largest_limit

ASKED = question(Text("Which?"), max_tokens=64, temperature=0.0)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"effort": "low"},
    {"effort": "medium"},
    {"effort": "high"},
    {"tokens": 8_192},
    {"tokens": 30_000},
    {"off": True},
)


def make(provider: str, name: str, thinking: dict[str, Any]) -> Any:
    values = {"server": "openai"} if provider == "openai" else {}
    told = ThinkingOptions(**thinking)
    address = "http://127.0.0.1:9/v1"
    return create(
        f"{provider}/{name}", ModelOptions(base_url=address, values=values, thinking=told, needs_key=False)
    )


def refuse(model: Any, most: int | None = None) -> str:
    if isinstance(model, Gemini):
        return refuse_gemini(model.model, model.body(ASKED, {}, most))
    assert isinstance(model, OpenAI | Anthropic)
    body = model.body(ASKED, most)
    return refuse_claude(body) if isinstance(model, Anthropic) else refuse_gpt(body)


KNOWN = [
    *(("anthropic", name) for name in CLAUDE),
    *(("gemini", name) for name in GEMINI),
    *(("openai", name) for name in GPT),
]


@pytest.mark.parametrize(("provider", "name"), KNOWN)
def test_what_is_sent_is_what_the_provider_takes(provider: str, name: str) -> None:
    sent = []
    for thinking in OPTIONS:
        try:
            model = make(provider, name, thinking)
        except UsageError as error:
            assert "leave out" in str(error) or "takes" in str(error)
            continue
        sent.append(thinking)
        refusal = refuse(model)
        if refusal:  # a limit on the whole reply is lowered, and asked again
            largest = find_largest_limit(refusal, 64)
            assert largest is not None, (thinking, refusal)
            assert not refuse(model, largest.tokens)
    assert {} in sent


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("anthropic", "claude-3-5-haiku-20241022"),
        ("anthropic", "claude-haiku-5-5"),
        ("anthropic", "claude-sonnet-5"),
        ("anthropic", "claude-sonnet-5-5"),
        ("anthropic", "claude-opus-4-7"),
        ("gemini", "gemini-2.0-flash"),
        ("gemini", "gemini-2.5-flash"),
        ("gemini", "gemini-3.1-flash-lite"),
        ("gemini", "gemini-3.6-flash"),
        ("openai", "gpt-4o-mini"),
        ("openai", "gpt-5-mini"),
        ("openai", "gpt-6-sol"),
    ],
)
def test_models_that_can_answer_at_once_are_told_to(provider: str, name: str) -> None:
    assert refuse(make(provider, name, {"off": True})) == ""


@pytest.mark.parametrize(
    ("provider", "name", "thinking", "words"),
    [
        ("anthropic", "claude-opus-5-5", {"off": True}, "cannot answer without thinking"),
        ("anthropic", "claude-opus-4-1-20250805", {"tokens": 40_000}, "takes 1,024 to 30,000"),
        ("gemini", "gemini-3.8-flash", {"off": True}, "cannot answer without thinking"),
        ("openai", "gpt-4o-mini", {"effort": "low"}, "gpt-4o-mini does not think"),
        ("openai", "o4-mini", {"off": True}, "cannot answer without thinking"),
        (
            "openai",
            "Qwen/Qwen2.5-VL-7B-Instruct",
            {"effort": "low"},
            "'instruct' in their names do not think",
        ),
    ],
)
def test_what_a_model_cannot_follow_is_refused_before_it_is_sent(
    provider: str, name: str, thinking: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        make(provider, name, thinking)


@pytest.mark.parametrize("name", CLAUDE)
@pytest.mark.parametrize("temperature", [None, "server"])
def test_top_p_is_sent_or_refused_and_never_dropped(name: str, temperature: Any) -> None:
    rule = CLAUDE[name]
    options = make_options(
        selectors="mime",
        model=f"anthropic/{name}",
        base_url="http://127.0.0.1:9/v1",
        decoding=Decoding(top_p=0.9, max_tokens=64),
        temperature=temperature,
    )
    if not rule.sampling or (temperature is None and not rule.combines):
        with pytest.raises(UsageError, match=r"takes no top p|together; --temperature server leaves"):
            create_model(options, needs_key=False)
        return
    model = create_model(options, needs_key=False)
    assert isinstance(model, Anthropic)
    body = model.body(Request(turns=ASKED.turns, decoding=options.decoding_settings))
    assert body["top_p"] == 0.9
    assert body.get("temperature") == (0.0 if temperature is None else None)
    assert refuse_claude(body) == ""


def test_saying_no_to_a_model_that_does_not_think_is_no_other_run() -> None:
    for provider, name in (
        ("openai", "gpt-4o"),
        ("gemini", "gemini-2.0-flash"),
        ("anthropic", "claude-3-5-haiku"),
    ):
        assert make(provider, name, {"off": True}).identity == make(provider, name, {}).identity


def test_a_gateway_tells_models_how_hard_to_think_whose_templates_cannot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", "k" * 20)
    options = ModelOptions(
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        thinking=ThinkingOptions(effort="low"),
    )
    model = create("openai/qwen3-vl-235b-a22b-thinking", options)
    assert isinstance(model, OpenAI)
    assert model.body(ASKED)["thinking_budget"] == 4_096


def test_models_to_come_are_asked_as_the_latest_are() -> None:
    body = make("anthropic", "claude-haiku-7", {"off": True}).body(ASKED)
    assert body["thinking"] == {"type": "disabled"} and "temperature" not in body
