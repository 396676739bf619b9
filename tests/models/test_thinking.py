"""Models that think: who does, what each provider is asked, and what it answers."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import msgspec
import pytest

from tests.models.test_hosted import question
from tests.support import thinking_kit as kit
from tests.support.standin import Standin, anthropic, gemini, openai
from vivant.core.errors import UsageError
from vivant.core.types import Picture, Reply, Text
from vivant.judging.options import JudgeOptions
from vivant.models.anthropic import Anthropic
from vivant.models.base import ModelOptions, ThinkingOptions
from vivant.models.gemini import Gemini
from vivant.models.model_table import find_thinking
from vivant.models.openai import OpenAI
from vivant.models.openai_responses import read_response
from vivant.models.registry import create
from vivant.models.reply_limit import ReplyLimit
from vivant.models.server_errors import RequestRefusedError
from vivant.models.thinking import Thinking, find_largest_limit, merge_fields

ROOM = 32_768
ASKED = question(Text("Which?"), max_tokens=64, temperature=0.0)


def make(kind: Any, name: str, values: dict[str, Any] | None = None, **thinking: Any) -> Any:
    options = ModelOptions(
        base_url="http://127.0.0.1:9/v1", values=values or {}, thinking=ThinkingOptions(**thinking)
    )
    return kind(name, options)


def body_of(kind: Any, name: str, values: dict[str, Any] | None = None, **thinking: Any) -> dict[str, Any]:
    made = make(kind, name, values, **thinking)
    body: dict[str, Any] = made.body(ASKED, {}) if kind is Gemini else made.body(ASKED)
    return body


def reply_of(server: Standin, kind: Any, name: str, root: str = "v1", **thinking: Any) -> Reply:
    options = ModelOptions(
        base_url=f"http://127.0.0.1:{server.port}/{root}", thinking=ThinkingOptions(**thinking)
    )

    async def ask() -> Reply:
        model = kind(name, options)
        await model.open()
        try:
            reply: Reply = await model.generate(ASKED)
            return reply
        finally:
            await model.close()

    return asyncio.run(ask())


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


# ── what is asked ──


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


# ── what comes back ──


def test_every_provider_answers_within_the_room_it_is_given() -> None:
    """The stand-ins count thoughts against the limit and refuse what the real servers refuse."""
    replies: list[Reply] = []
    with openai(kit.gpt5("B")) as server:
        replies += [reply_of(server, OpenAI, "gpt-5-mini"), reply_of(server, OpenAI, "gpt-5-pro")]
        assert server.asked == ["POST /v1/chat/completions", "POST /v1/responses"]
    with gemini(kit.gemini_thinker("B")) as server:
        replies.append(reply_of(server, Gemini, "gemini-3-pro-preview", "v1beta"))
    with anthropic(kit.claude("B")) as server:
        replies.append(reply_of(server, Anthropic, "claude-sonnet-4-5", tokens=5000))
        replies.append(reply_of(server, Anthropic, "claude-opus-5"))
    with openai(kit.vllm("B")) as server:
        replies.append(reply_of(server, OpenAI, "Qwen/Qwen3-VL-8B-Thinking"))
    with openai(kit.vllm("B", parser=False)) as server:
        replies.append(reply_of(server, OpenAI, "Qwen/Qwen3-VL-8B-Thinking"))
    assert [(reply.status, reply.text) for reply in replies] == [("ok", "B")] * 7
    assert [reply.tokens_out for reply in replies] == [kit.THOUGHTS + 1] * 7
    assert [reply.tokens_thinking for reply in replies[:3]] == [kit.THOUGHTS] * 3
    assert [bool(reply.thinking) for reply in replies] == [False] + [True] * 6


def test_a_reply_cut_off_in_thoughts_holds_no_answer() -> None:
    replies: list[Reply] = []
    with openai(kit.gpt5()) as server:
        replies.append(reply_of(server, OpenAI, "gpt-5-mini", tokens=100))
        replies.append(reply_of(server, OpenAI, "gpt-5-pro", tokens=100))
    with gemini(kit.gemini_thinker()) as server:
        replies.append(reply_of(server, Gemini, "gemini-3-pro-preview", "v1beta", tokens=100))
    with openai(kit.vllm(parser=False)) as server:
        replies.append(reply_of(server, OpenAI, "Qwen3-VL-8B-Thinking", tokens=100))
    with anthropic(kit.claude(by_default=True)) as server:
        replies.append(reply_of(server, Anthropic, "claude-opus-5", tokens=1024))
    assert [(reply.status, reply.has_answer) for reply in replies] == [("truncated", False)] * 5


def test_a_small_window_leaves_what_room_it_has() -> None:
    with openai(kit.vllm("B", window=8192)) as server:
        reply = reply_of(server, OpenAI, "Qwen3-VL-8B-Thinking")
    assert (reply.status, reply.text) == ("ok", "B")
    assert [body["max_tokens"] for body in server.requests] == [64 + ROOM, 8192 - 50]
    with openai(kit.vllm("B", window=40_000, request=20_000, exact=False)) as server:
        assert reply_of(server, OpenAI, "Qwen3-VL-8B-Thinking").text == "B"
    assert [body["max_tokens"] for body in server.requests] == [64 + ROOM, (64 + ROOM) // 2]
    with openai(kit.vllm("B", window=100)) as server:
        assert reply_of(server, OpenAI, "Qwen3-VL-8B-Thinking").status == "too_long"


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        (
            "max_tokens is too large: 40000. This model supports at most 16384 completion tokens, whereas",
            16384,
        ),
        ("max_tokens: 40000 > 32000, which is the maximum allowed number of output tokens for claude", 32000),
        (
            "This model's maximum context length is 32768 tokens. However, you requested 33790 tokens (1022 in "
            "the messages, 32768 in the completion). Please reduce the length of the messages or completion.",
            31746,
        ),
        (
            "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a "
            "total of 33768 tokens: 1000 tokens from the input messages and 32768 tokens for the completion.",
            31768,
        ),
        (
            "You passed 500 input tokens and requested 32832 output tokens. However, the model's context length "
            "is only 32768 tokens, resulting in",
            32268,
        ),
        (
            "max_tokens=32832 cannot be greater than max_model_len=max_total_tokens=8192. Please request fewer",
            4096,
        ),
        (
            "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and "
            "your prompt contains at least 62466 input tokens, for a total of at least 128001 tokens.",
            32767,
        ),
        (
            "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and "
            "your prompt contains 62500 input tokens, for a total of 128035 tokens.",
            65500,
        ),
        ("This model's maximum context length is 4096 tokens. Your messages resulted in 5000 tokens.", None),
    ],
)
def test_what_servers_allow_is_read_in_their_own_words(words: str, limit: int | None) -> None:
    largest = find_largest_limit(f"HTTP 400: {words}", 64)
    assert (largest.tokens if largest is not None else None) == limit


def test_what_a_long_request_leaves_of_the_window_does_not_bind_the_next() -> None:
    limit, sent = ReplyLimit(Thinking(room=ROOM)), []

    async def post(most: int | None, request: int) -> str:
        asked = min(64 + ROOM, most or 64 + ROOM)
        sent.append(asked)
        if request + asked > 40_000:
            words = f"maximum context length is 40000 tokens and your request has {request} input tokens"
            raise RequestRefusedError(f"This model's {words}")
        return "B"

    for request in (39_000, 1_000):
        assert asyncio.run(limit.send(partial(post, request=request), 64)) == "B"
    assert sent == [64 + ROOM, 1_000, 64 + ROOM]


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("max_tokens: 65600 > 64000, which is the maximum allowed number of output tokens for m", 64_000),
        ("but the supported range is from 1 (inclusive) to 65537 (exclusive).", 65_536),
    ],
)
def test_the_most_that_a_model_writes_is_asked_for_once(words: str, most: int) -> None:
    limit, sent = ReplyLimit(Thinking(room=65_536)), []

    async def post(allowed: int | None) -> str:
        sent.append(allowed)
        if allowed is None:
            raise RequestRefusedError(words)
        return "B"

    for _ in range(2):
        assert asyncio.run(limit.send(post, 64)) == "B"
    assert sent == [None, most, most]
    model = make(Anthropic, "claude-opus-5", tokens=65_536)
    assert model.body(ASKED, most)["max_tokens"] == min(most, 65_600)
    model = make(Gemini, "gemini-3-pro-preview", tokens=65_536)
    assert model.body(ASKED, {}, most)["generationConfig"]["maxOutputTokens"] == min(most, 65_600)


# ── the Responses API ──


def test_the_responses_api_takes_the_same_request() -> None:
    request = question(Picture(b"\x89PNG", "image/png", 1, 1), Text("Which?"), max_tokens=64, temperature=0.0)
    extra = {"api": "responses", "detail": "low", "extra_body": '{"reasoning": {"summary": "auto"}}'}
    body = make(OpenAI, "gpt-5-mini", extra, effort="high").body(request)
    image, text = body["input"][0]["content"]
    assert image["type"] == "input_image" and image["detail"] == "low"
    assert image["image_url"].startswith("data:image/png;base64,")
    assert text == {"type": "input_text", "text": "Which?"}
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}  # merged, not replaced
    assert body["max_output_tokens"] == 64 + ROOM and body["store"] is False
    assert not {"messages", "temperature", "max_completion_tokens"} & set(body)
    with pytest.raises(UsageError, match="write chat or responses"):
        make(OpenAI, "m", {"api": "answers"})


@pytest.mark.parametrize(
    ("change", "status", "error"),
    [
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "refused",
            "content filter",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "truncated",
            "limit",
        ),
        (
            {"status": "failed", "error": {"code": "invalid_image", "message": "bad image"}},
            "error",
            "bad image",
        ),
        (
            {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I can't."}]}]},
            "refused",
            "I can't.",
        ),
        ({"output": [{"type": "function_call", "name": "f"}]}, "error", "called a tool"),
    ],
)
def test_responses_that_are_no_answer(change: dict[str, Any], status: str, error: str) -> None:
    answer = kit.gpt5()({"model": "gpt-5-pro", "input": []})
    reply = read_response(answer | change, "here")
    assert reply.status == status and error in reply.error


# ── identity ──


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
