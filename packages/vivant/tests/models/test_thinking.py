"""Models that think: who does, what each provider is asked, and what tells their replies apart."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.model_requests import ROOM, body_of, make
from vivant.core.errors import UsageError
from vivant.judging.options import JudgeOptions
from vivant.models.anthropic import Anthropic
from vivant.models.base import ModelOptions, ThinkingOptions
from vivant.models.gemini import Gemini
from vivant.models.model_table import find_thinking
from vivant.models.openai import OpenAI
from vivant.models.registry import create
from vivant.models.thinking import merge_fields


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("gpt-5-mini", "default"),
        ("o4-mini", "always"),
        ("openai/gpt-5.2", "default"),
        ("gpt-7-mini", "default"),
        ("o5-mini", "always"),
        ("gpt-5-chat-latest", None),
        ("gpt-4o-mini", None),
        ("Qwen/Qwen3-VL-235B-A22B-Thinking", "always"),
        ("Qwen/Qwen3-VL-8B-Instruct", None),
        ("Qwen/Qwen2.5-VL-7B-Instruct", None),
        ("Qwen/Qwen3-8B", "default"),
        ("zai-org/GLM-4.5V", "default"),
        ("zai-org/GLM-4.6V", "default"),
        ("moonshotai/Kimi-VL-A3B-Thinking-2506", "always"),
        ("deepseek-ai/DeepSeek-R1", "always"),
        ("deepseek-r1:8b", "always"),
        ("openai/gpt-oss-120b", "always"),
        ("mistralai/Magistral-Small-2509", "always"),
        ("grok-4-fast-non-reasoning", None),
        ("deepseek-ai/DeepSeek-V3.1", "request"),
        ("llava-hf/llava-1.5-7b-hf", None),
    ],
)
def test_the_table_knows_who_thinks(name: str, starts: str | None) -> None:
    family = find_thinking(name)
    assert (family.starts if family is not None else None) == starts


def test_openai_gets_room_effort_and_no_temperature() -> None:
    plain = body_of(OpenAI, "gpt-5-mini")
    assert plain["max_completion_tokens"] == 64 + ROOM
    assert "reasoning_effort" not in plain and "temperature" not in plain
    assert body_of(OpenAI, "gpt-5-mini", effort="low")["reasoning_effort"] == "low"
    assert body_of(OpenAI, "o4-mini", tokens=1000)["max_completion_tokens"] == 1064
    assert body_of(OpenAI, "gpt-5", off=True)["reasoning_effort"] == "minimal"
    assert body_of(OpenAI, "gpt-5.2", off=True)["reasoning_effort"] == "none"
    later = body_of(OpenAI, "gpt-7", off=True)
    assert later["reasoning_effort"] == "none" and "temperature" not in later
    assert body_of(OpenAI, "o5")["max_completion_tokens"] == 64 + ROOM
    with pytest.raises(UsageError, match="o4-mini cannot answer without thinking"):
        make(OpenAI, "o4-mini", off=True)
    with pytest.raises(UsageError, match="gpt-5-pro takes high alone"):
        make(OpenAI, "gpt-5-pro", effort="low")


def test_servers_of_open_weights_get_fields_of_the_chat_template() -> None:
    body = body_of(OpenAI, "Qwen/Qwen3-VL-8B-Thinking")
    assert body["max_tokens"] == 64 + ROOM and body["temperature"] == 0.0
    assert "chat_template_kwargs" not in body
    off = body_of(OpenAI, "zai-org/GLM-4.5V", off=True)
    assert off["chat_template_kwargs"] == {"enable_thinking": False} and off["max_tokens"] == 64
    on = body_of(OpenAI, "zai-org/GLM-4.5V", effort="high")
    assert on["chat_template_kwargs"] == {"enable_thinking": True, "reasoning_effort": "high"}
    assert body_of(OpenAI, "DeepSeek-V3.1")["max_tokens"] == 64  # thinks only when told to
    told = body_of(OpenAI, "DeepSeek-V3.1", tokens=8000)
    assert (told["chat_template_kwargs"], told["max_tokens"]) == ({"thinking": True}, 8064)
    assert body_of(OpenAI, "gpt-oss-20b", effort="medium")["reasoning_effort"] == "medium"
    with pytest.raises(UsageError, match="cannot be told how hard to think"):
        make(OpenAI, "Qwen3-VL-8B-Thinking", effort="low")


def test_an_unknown_model_gets_room_only_when_told() -> None:
    assert body_of(OpenAI, "my-model")["max_tokens"] == 64
    assert body_of(OpenAI, "my-model", tokens=5000) == {**body_of(OpenAI, "my-model"), "max_tokens": 5064}
    assert body_of(OpenAI, "my-model", off=True)["chat_template_kwargs"] == {"enable_thinking": False}


def test_gateways_have_their_own_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k" * 20)
    monkeypatch.setenv("DASHSCOPE_API_KEY", "k" * 20)
    router, dashscope = {"server": "openrouter"}, {"server": "dashscope"}
    body = body_of(OpenAI, "anthropic/claude-opus-5", router, effort="high")
    assert body["reasoning"] == {"enabled": True, "effort": "high"} and body["max_tokens"] == 64 + ROOM
    assert body_of(OpenAI, "qwen/qwen3-vl", router, tokens=9000)["reasoning"] == {"max_tokens": 9000}
    assert body_of(OpenAI, "qwen/qwen3-vl", router, off=True)["reasoning"] == {"enabled": False}
    told = body_of(OpenAI, "qwen3-vl-plus", dashscope, effort="low")
    assert (told["enable_thinking"], told["thinking_budget"], told["max_tokens"]) == (True, 4096, 64 + 4096)


def test_gemini_takes_a_level_or_a_budget() -> None:
    def config(name: str, **thinking: Any) -> dict[str, Any]:
        found: dict[str, Any] = body_of(Gemini, name, **thinking)["generationConfig"]
        return found

    assert config("gemini-3-pro-preview")["maxOutputTokens"] == 64 + ROOM
    assert config("gemini-3-pro-preview", effort="low")["thinkingConfig"] == {
        "includeThoughts": True,
        "thinkingLevel": "low",
    }
    assert config("gemini-2.5-flash", tokens=2000)["thinkingConfig"] == {
        "includeThoughts": True,
        "thinkingBudget": 2000,
    }
    high = config("gemini-2.5-flash", effort="high")
    assert (high["thinkingConfig"]["thinkingBudget"], high["maxOutputTokens"]) == (24_576, 64 + 24_576)
    off = config("gemini-2.5-flash", off=True)
    assert (off["thinkingConfig"], off["maxOutputTokens"]) == ({"thinkingBudget": 0}, 64)
    for name in ("gemini-2.0-flash", "gemini-1.5-pro"):  # they refuse every field about thinking
        for switched_off in (False, True):
            assert config(name, off=switched_off) == {"maxOutputTokens": 64, "temperature": 0.0}
    for name, thinking, words in (
        ("gemini-3-pro-preview", {"effort": "medium"}, "takes low, high alone"),
        ("gemini-2.5-pro", {"off": True}, "cannot answer without thinking"),
        ("gemini-2.0-flash", {"effort": "low"}, "gemini-2.0-flash does not think"),
        ("gemini-2.5-flash", {"tokens": 99_999}, "takes 1 to 24,576"),
    ):
        with pytest.raises(UsageError, match=words):
            make(Gemini, name, **thinking)


def test_anthropic_gets_a_budget_below_max_tokens_and_no_temperature() -> None:
    plain = body_of(Anthropic, "claude-sonnet-4-5")
    assert (plain["max_tokens"], plain["temperature"], "thinking" in plain) == (64, 0.0, False)
    old = body_of(Anthropic, "claude-sonnet-4-5", effort="medium")
    assert old["thinking"] == {"type": "enabled", "budget_tokens": 12_288}
    assert old["max_tokens"] == 12_288 + 64 and "temperature" not in old
    new = body_of(Anthropic, "claude-opus-5", effort="low")
    assert new["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert new["output_config"] == {"effort": "low"} and new["max_tokens"] == 64 + ROOM
    assert body_of(Anthropic, "claude-opus-5", off=True)["thinking"] == {"type": "disabled"}
    with pytest.raises(UsageError, match="takes 1,024 or more"):
        make(Anthropic, "claude-sonnet-4-5", tokens=100)
    with pytest.raises(UsageError, match="cannot answer without thinking"):
        make(Anthropic, "claude-opus-5-5", off=True)


def test_options_for_a_model_that_does_not_think_are_refused() -> None:
    with pytest.raises(UsageError, match="random does not think; leave out --effort"):
        create("random", ModelOptions(thinking=ThinkingOptions(effort="low")))


def test_all_that_changes_a_request_is_in_the_identity() -> None:
    def identity(kind: Any, name: str, values: dict[str, Any] | None = None, **thinking: Any) -> bytes:
        return msgspec.json.encode(make(kind, name, values, **thinking).identity, order="sorted")

    ways: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"reasoning": "true"}, {}),
        ({"sampling": "false"}, {}),
        ({"extra_body": '{"a": 1}'}, {}),
        ({"api": "responses"}, {}),
        ({"max_images": "3"}, {}),
        ({}, {"tokens": 5000}),
        ({}, {"effort": "low"}),
        ({}, {"off": True}),
    ]
    assert len({identity(OpenAI, "m", values, **thinking) for values, thinking in ways}) == len(ways)
    claude = [identity(Anthropic, "claude-sonnet-4-5", values) for values in ({}, {"sampling": "false"})]
    assert claude[0] != claude[1]
    budgets = [{}, {"thinking_budget": 0}, {"thinking_budget": 500}]
    assert len({identity(Gemini, "gemini-2.5-flash", values) for values in budgets}) == 3


def test_models_that_do_not_think_keep_their_identity() -> None:
    assert make(OpenAI, "gpt-4o").identity == {
        "model": "openai/gpt-4o",
        "detail": "auto",
        "video": False,
        "extra": {},
    }
    assert make(Anthropic, "claude-sonnet-4-5").identity == {"model": "anthropic/claude-sonnet-4-5"}
    assert make(Gemini, "gemini-2.0-flash").identity == {"model": "gemini/gemini-2.0-flash", "video": False}


def test_fields_merge_deeply() -> None:
    base = {"a": {"b": 1, "c": {"d": 2}}, "e": [1]}
    assert merge_fields(base, {"a": {"c": {"f": 3}}, "e": [2]}) == {
        "a": {"b": 1, "c": {"d": 2, "f": 3}},
        "e": [2],
    }
    assert base == {"a": {"b": 1, "c": {"d": 2}}, "e": [1]}


def test_a_judge_is_told_among_its_options() -> None:
    options = JudgeOptions(model="openai/gpt-5", model_options={"effort": "low", "detail": "low"})
    assert options.backend_options.thinking == ThinkingOptions(effort="low")
    assert options.backend_options.values == {"detail": "low"}
    off = JudgeOptions(model="openai/gpt-5.2", model_options={"thinking": "false"})
    assert off.backend_options.thinking == ThinkingOptions(off=True)
    with pytest.raises(UsageError, match=r"did you mean 'low'\?"):
        _ = JudgeOptions(model="openai/gpt-5", model_options={"effort": "lo"}).backend_options
