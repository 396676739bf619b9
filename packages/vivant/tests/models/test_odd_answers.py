"""Whatever a server puts into a field of its answer: a reply that can be logged, or an error that may pass."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vivant.core.types import Reply
from vivant.engine.request_building import check_reply
from vivant.models.anthropic import read_message
from vivant.models.base import TransientError
from vivant.models.gemini import read_response
from vivant.models.openai_completions import read_completion
from vivant.models.openai_responses import read_response as read_responses

ODD: tuple[Any, ...] = (None, 7, -1.5, "x", "", True, [], [7], [None], {}, {"a": 1}, [[]], "12")

OPENAI: dict[str, Any] = {
    "id": "c1",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "B",
                "reasoning_content": "hm",
                "refusal": None,
                "images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}],
                "tool_calls": [{"type": "function", "function": {"name": "f"}}],
            },
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 3,
        "completion_tokens": 1,
        "completion_tokens_details": {"reasoning_tokens": 1},
    },
}
TYPED = copy.deepcopy(OPENAI) | {"model": "typed parts"}
TYPED["choices"][0]["message"]["content"] = [
    {"type": "text", "text": "B"},
    {"type": "thinking", "thinking": "hm"},
]
GEMINI = {
    "modelVersion": "g",
    "promptFeedback": {"safetyRatings": []},
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "B"}]},
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1, "thoughtsTokenCount": 2},
}
ANTHROPIC = {
    "model": "c",
    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "B"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 1},
}
Reader = Callable[[Any, str], Reply]
READERS: dict[str, tuple[Reader, dict[str, Any]]] = {
    "openai": (read_completion, OPENAI),
    "typed parts": (read_completion, TYPED),
    "gemini": (read_response, GEMINI),
    "anthropic": (read_message, ANTHROPIC),
}


def find_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in an answer."""
    yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, child in children:
        yield from find_paths(child, (*path, name))


def put(answer: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    changed = copy.deepcopy(answer)
    place = changed
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = odd
    return changed


@pytest.mark.parametrize("provider", READERS)
def test_an_odd_value_anywhere_in_an_answer_is_converted_or_asked_for_again(provider: str) -> None:
    read, answer = READERS[provider]
    assert read(answer, "there").text == "B"
    for path in find_paths(answer):
        for odd in ODD:
            try:
                reply = read(put(answer, path, odd), "there")
            except TransientError:
                continue
            except Exception as error:
                pytest.fail(f"{provider} {path} = {odd!r}: {error!r}")
            assert check_reply(reply) == reply, (path, odd)


SIDE = {
    "openai": (("id",), ("model",), ("usage",), ("choices", 0, "index"), ("choices", 0, "message", "images")),
    "gemini": (("modelVersion",), ("promptFeedback",), ("usageMetadata",)),
    "anthropic": (("model",), ("usage",)),
}


@pytest.mark.parametrize("provider", SIDE)
def test_an_odd_value_beside_the_answer_costs_nothing(provider: str) -> None:
    read, answer = READERS[provider]
    for path in find_paths(answer):
        if any(path[: len(side)] == side for side in SIDE[provider]):
            for odd in ODD:
                reply = read(put(answer, path, odd), "there")
                assert (reply.status, reply.text) == ("ok", "B"), (path, odd)


NOTHING = (
    (read_completion, {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}, "no content"),
    (
        read_completion,
        {"choices": [{"message": {"content": None, "reasoning_content": "hm"}, "finish_reason": "stop"}]},
        "thoughts alone",
    ),
    (read_response, {"candidates": [{"finishReason": "STOP"}]}, "no content"),
    (
        read_response,
        {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "hm", "thought": True}]}}]},
        "thoughts alone",
    ),
    (
        read_message,
        {"content": [{"type": "thinking", "thinking": "hm"}], "stop_reason": "end_turn"},
        "thoughts alone",
    ),
    (
        read_message,
        {"content": [{"type": "text", "text": "B"}], "stop_reason": "pause_turn"},
        "stopped for pause_turn",
    ),
    (read_responses, {"status": "completed", "output": [{"type": "reasoning"}]}, "thoughts alone"),
    (read_message, {"content": [], "stop_reason": "end_turn"}, "no content"),
    (read_message, {"content": [{"type": "tool_use"}], "stop_reason": "tool_use"}, "called a tool"),
)


@pytest.mark.parametrize(("read", "answer", "words"), NOTHING)
def test_an_answer_that_is_none_is_an_error_not_a_wrong_answer(read: Reader, answer: Any, words: str) -> None:
    reply = read(answer, "there")
    assert reply.status == "error" and words in reply.error


def test_why_claude_refused_is_told() -> None:
    declined = {"type": "refusal", "category": "cyber", "explanation": "A safety classifier declined."}
    answer = ANTHROPIC | {"content": [], "stop_reason": "refusal", "stop_details": declined}
    reply = read_message(answer, "there")
    assert (reply.status, reply.error) == ("refused", "A safety classifier declined.")
    assert read_message(answer | {"stop_details": None}, "there").error == "the model refused"


def test_claude_counts_what_a_cache_holds_apart() -> None:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 500}
    assert read_message(ANTHROPIC | {"usage": usage}, "there").tokens_in == 543
