"""What goes out to a server and what comes back: text in one piece, keys that stay secret, waits in milliseconds."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from vivant.core.errors import UsageError
from vivant.core.types import Clip, Picture, Reply, Request, Text, Turn
from vivant.models.base import ModelOptions, TransientError
from vivant.models.http import HttpClient, complete_url
from vivant.models.openai import OpenAI
from vivant.models.openai_completions import read_completion
from vivant.models.reply_json import parse_json
from vivant.models.server_errors import RequestRefusedError, classify_error, parse_retry_after

PICTURE = Picture(data=b"\x89PNG", media_type="image/png", width=1, height=1)


def body(*parts: Text | Picture | Clip) -> object:
    model = OpenAI("m", ModelOptions(base_url="http://127.0.0.1:9/v1"))
    return model.body(Request(turns=(Turn(role="user", parts=parts),)))["messages"][0]["content"]


def test_a_message_of_text_alone_is_a_plain_string() -> None:
    """llama-cpp-python's server answers 500 to every list of text parts."""
    assert body(Text("Which one?"), Text("Answer with a letter.")) == "Which one?\nAnswer with a letter."
    assert body(Text("Which one?\n"), Text("A letter.")) == "Which one?\nA letter."


def test_text_beside_a_picture_is_joined_where_it_is_adjacent() -> None:
    content = body(Text("Look."), PICTURE, Text("Which?"), Text("A letter."))
    assert isinstance(content, list)
    assert [piece["type"] for piece in content] == ["text", "image_url", "text"]
    assert content[2]["text"] == "Which?\nA letter."


@pytest.mark.parametrize("key", ["x", "sk-1234567890"])
def test_a_key_is_taken_out_of_a_message_after_the_error_is_understood(key: str) -> None:
    client = HttpClient("http://127.0.0.1:9/v1", {"Authorization": f"Bearer {key}"}, 1.0)
    data = b'{"error": {"message": "key ' + key.encode() + b': maximum context length exceeded"}}'
    error = classify_error(400, {}, data, "there", client._redact(data))
    assert isinstance(error, RequestRefusedError) and error.status == "too_long"
    assert str(error) == "HTTP 400: key [key]: maximum context length exceeded"


def test_a_server_may_state_its_wait_in_milliseconds() -> None:
    assert parse_retry_after({"retry-after-ms": "250", "Retry-After": "1"}) == 0.25
    assert parse_retry_after({"retry-after-ms": "soon", "Retry-After": "3"}) == 3.0
    error = classify_error(429, {"retry-after-ms": "1500"}, b"{}", "there")
    assert isinstance(error, TransientError) and error.retry_after == 1.5


def completion(finish: str = "stop", **message: object) -> dict[str, object]:
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}]}


def test_odd_fields_of_a_reply_become_ordinary_ones() -> None:
    answer = completion(content="B", reasoning=["I see ", {"text": "a hand."}])
    answer |= {"model": 7, "usage": {"prompt_tokens": "12", "completion_tokens": 3.0}}
    reply = read_completion(answer, "there")
    assert (reply.status, reply.text, reply.thinking, reply.model) == ("ok", "B", "I see a hand.", "7")
    assert (reply.tokens_in, reply.tokens_out) == (12, 3)
    assert read_completion(completion(content="B") | {"usage": "none"}, "there").tokens_in is None
    assert read_completion(completion(content=None, refusal=True), "there").status == "refused"


def test_only_a_completed_answer_is_ok() -> None:
    with pytest.raises(TransientError, match="failed while it answered: finish_reason is error"):
        read_completion(completion("error", content=None), "there")
    failed: Any = completion("error", content="B")
    failed["choices"][0]["error"] = {"code": 502, "message": "Upstream went away"}  # OpenRouter
    with pytest.raises(TransientError, match="failed while it answered: Upstream went away"):
        read_completion(failed, "there")
    called = read_completion(completion("tool_calls", content=None), "there")
    assert (called.status, called.error) == ("error", "the model called a tool and gave no answer")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": NaN, "b": -Infinity}', {"a": None, "b": None}),
        (b'{"a": "caf\xe9"}', {"a": "caf\ufffd"}),
        (rb'{"a": "\ud83d broken", "b": "\ud83d\ude00"}', {"a": "\ufffd broken", "b": "\U0001f600"}),
        (b'{"a": "line\nbreak"}', {"a": "line\nbreak"}),
    ],
    ids=["byte-order mark", "NaN", "no UTF-8", "half a pair", "control character"],
)
def test_what_is_nearly_json_is_read(data: bytes, value: object) -> None:
    assert parse_json(data) == value


@pytest.mark.parametrize("data", [b"<html>", b"", b"{", b"[" * 100_000])
def test_what_is_no_json_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(ValueError):
        parse_json(data)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("gpu-3:8000/v1", "http://gpu-3:8000/v1"),
        (" https://api.example.com/v1", "https://api.example.com/v1"),
        ("HTTP://gpu/v1", "HTTP://gpu/v1"),
    ],
)
def test_an_address_in_the_local_network_may_lack_its_scheme(written: str, meant: str) -> None:
    assert complete_url(written) == meant


@pytest.mark.parametrize(
    "written", ["api.example.com/v1", "ftp://api.example.com/v1", "https:/api.example.com/v1"]
)
def test_another_address_must_say_its_scheme(written: str) -> None:
    with pytest.raises(UsageError, match=r"is not an address of a server; write https://"):
        complete_url(written)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http:/127.0.0.1:8977/ok/v1", "http://127.0.0.1:8977/ok/v1"),
        ("http:localhost:8000/v1", "http://localhost:8000/v1"),
        ("https:///api.example.com/v1", "https://api.example.com/v1"),
        ("ftp://localhost", "http://localhost"),
        ("ftp://10.0.0.7:21/v1", "http://10.0.0.7:21/v1"),
        ("ws://api.example.com/v1", "https://api.example.com/v1"),
        ("http://", "http://HOST:PORT/v1"),
        ("http://localhost:80a0/v1", "http://HOST:PORT/v1"),
        ("localhost:99999", "http://HOST:PORT/v1"),
    ],
)
def test_a_misspelt_address_is_shown_as_it_should_be(written: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"is not an address of a server; write {re.escape(meant)}$"):
        complete_url(written)


def test_an_address_without_a_scheme_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(UsageError, match=r"'api\.example\.com/v1' .* write https://api\.example\.com/v1$"):
        OpenAI("m", ModelOptions(base_url="api.example.com/v1"))


def test_a_key_that_an_answer_quotes_stays_out_of_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1234567890")
    options = ModelOptions(base_url="http://127.0.0.1:9/v1", values={"key_variable": "MY_KEY"})
    model = OpenAI("m", options)

    async def echo() -> Reply:
        return read_completion({"headers": {"Authorization": "Bearer sk-1234567890"}}, "there")

    with pytest.raises(TransientError, match=r"sent JSON without choices: .*Bearer \[key\]"):
        asyncio.run(model.read_reply(echo()))


@pytest.mark.parametrize(
    ("base", "path", "address"),
    [
        ("http://gpu:8000/v1", "//health", "http://gpu:8000/health"),
        ("https://proxy/google/v1beta", "//upload/v1beta/files", "https://proxy/google/upload/v1beta/files"),
        ("http://gpu:8000/serve", "//health", "http://gpu:8000/health"),
        ("http://gpu:8000/v1", "/models", "http://gpu:8000/v1/models"),
        ("https://proxy/a/v1", "https://api.anthropic.com/a/v1/r?x=1", "https://proxy/a/v1/r?x=1"),
    ],
)
def test_a_path_leads_to_the_server_that_the_user_named(base: str, path: str, address: str) -> None:
    assert HttpClient(base, {}, 1.0).address(path) == address
