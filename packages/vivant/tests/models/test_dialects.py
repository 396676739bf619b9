"""OpenAI's dialects: the same request as each server wants it, and what each says."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.models.test_hosted import ask
from tests.support.helpers import picture, questions
from tests.support.model_requests import question
from tests.support.standin import (
    openai,
    openai_says,
)
from vivant.core.errors import UsageError
from vivant.core.types import Picture, Request, Text
from vivant.models.base import ModelOptions
from vivant.models.model_table import find_server
from vivant.models.openai import OpenAI


def body_of(name: str, request: Request, **values: Any) -> dict[str, Any]:
    made = OpenAI(name, ModelOptions(base_url="http://127.0.0.1:9/v1", values=values))
    return made.body(request)


def test_reasoning_models_get_their_own_fields() -> None:
    request = question(Text("Hm?"), max_tokens=9, temperature=0.0, top_p=0.9, stop=("x",))
    thinking = body_of("gpt-5-mini", request)
    assert thinking["max_completion_tokens"] == 9 + 32_768  # and room for thoughts
    assert not {"max_tokens", "temperature", "top_p", "stop"} & set(thinking)
    plain = body_of("gpt-4o", request)
    assert plain["max_tokens"] == 9
    assert plain["temperature"] == 0.0
    assert plain["stop"] == ["x"]
    assert "max_completion_tokens" in body_of("own-model", request, reasoning="true")
    assert body_of("openai/o3", request)["max_completion_tokens"] == 9 + 32_768  # through a gateway
    assert body_of("own-model", request, reasoning="true")["max_completion_tokens"] == 9 + 32_768
    assert body_of("gpt-5-mini", request, reasoning="false")["max_tokens"] == 9


def test_a_servers_dialect_comes_from_the_table() -> None:
    request = question(Text("Hm?"), seed=3)
    assert body_of("m", request)["seed"] == 3
    assert body_of("m", request, server="mistral", key_variable="HOME")["random_seed"] == 3
    assert find_server("https://api.groq.com/openai/v1").name == "groq"
    assert find_server("http://127.0.0.1:11434/v1").name == "ollama"
    assert find_server("https://my.openai.azure.com/openai/v1").key_header == "api-key"
    assert find_server("https://api.groq.com.evil.example/v1").name == "generic"
    with pytest.raises(UsageError, match=r"did you mean 'ollama'\?"):
        body_of("m", request, server="olama")
    with pytest.raises(UsageError, match="ollama does not take --model-option detail"):
        body_of("m", request, server="ollama", detail="low")
    with pytest.raises(UsageError, match="groq does not take --video-as native"):
        OpenAI("m", ModelOptions(video="native", values={"server": "groq", "key_variable": "HOME"}))


def test_options_that_make_no_sense_are_refused() -> None:
    for values, words in (
        ({"extra_body": "no json"}, "write a JSON object"),
        ({"extra_body": "[1]"}, "write a JSON object"),
        ({"max_images": "many"}, "whole number above 0"),
        ({"reasoning": "perhaps"}, "true or false"),
    ):
        with pytest.raises(UsageError, match=words):
            body_of("m", question(Text("Hm?")), **values)
    assert body_of("m", question(Text("Hm?")), extra_body='{"top_k": 5}')["top_k"] == 5


def test_a_recognised_host_gets_its_own_key_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai-only")
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(UsageError, match="set GROQ_API_KEY"):
        OpenAI("m", ModelOptions(base_url="https://api.groq.com/openai/v1"))


def test_thinking_inside_the_answer_is_told_apart(tmp_path: Path) -> None:
    path = questions(tmp_path, 2, pictures=False)
    answers = [openai_says("<think>\nA or B</think>\n\nB"), openai_says("<think>It may be A", "length")]
    with openai(lambda _: answers.pop()) as server:
        run = ask(path, "openai/x", server, tmp_path / "run", concurrency=1)
    cut, whole = (record.reply for record in run.records().values())
    assert (cut.status, cut.text, cut.thinking) == ("truncated", "", "It may be A")
    assert (whole.status, whole.text, whole.thinking) == ("ok", "B", "A or B")


def test_a_format_that_a_server_does_not_take_is_converted(tmp_path: Path) -> None:
    picture(tmp_path / "0.webp", (1, 2, 3))
    line = {"id": 1, "question": "What?", "image": "0.webp", "choices": ["a", "b"], "answer": "a"}
    path = tmp_path / "q.jsonl"
    path.write_bytes(msgspec.json.encode(line))
    with openai(lambda _: openai_says("A")) as server:
        run = ask(path, "openai/x", server, tmp_path / "run", model_options={"server": "llama.cpp"})
    url = server.requests[0]["messages"][0]["content"][0]["image_url"]["url"]
    assert url.startswith("data:image/png;base64,")
    assert next(iter(run.records().values())).media[0].note == "converted to PNG"
    assert isinstance(Picture(b64decode(url.partition(",")[2]), "image/png", 1, 1).data, bytes)
