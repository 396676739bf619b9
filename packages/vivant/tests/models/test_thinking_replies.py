"""What models that think answer, and the room that servers leave them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from tests.support import thinking_kit as kit
from tests.support.model_requests import ASKED, ROOM, make, question, reply_of
from tests.support.standin import anthropic, gemini, openai
from vivant.core.errors import UsageError
from vivant.core.types import Picture, Reply, Text
from vivant.models.anthropic import Anthropic
from vivant.models.gemini import Gemini
from vivant.models.openai import OpenAI
from vivant.models.openai_responses import read_response
from vivant.models.reply_limit import ReplyLimit
from vivant.models.server_errors import RequestRefusedError
from vivant.models.thinking import Thinking, find_largest_limit


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
