"""`vivant serve`: our own client against it, raw requests, what it refuses; and that it says how it failed."""

from __future__ import annotations

import io
import json
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import msgspec
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import uvicorn
from PIL import Image

from vivant import mini
from vivant.core.types import Clip, FramePolicy, Picture, Reply, Request
from vivant.engine.evaluation import evaluate
from vivant.models.base import Capabilities, Model, ModelError, TransientError
from vivant.serve.app import create_app
from vivant.serve.server import resolve_spec, serve
from vivant.serve.wire import stream_events

KEY = "open sesame"


class Counting(Model):
    """Says what it was shown; fails on demand."""

    name = "test/counting"
    capabilities = Capabilities(images=True)

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Reply:
        self.asked.append(request)
        if "fail" in request.text:
            return Reply(status="error", error="out of ideas")
        if "busy" in request.text:
            raise TransientError("come back later")
        if "broken" in request.text:
            raise ModelError("the weights are gone")
        if "no!" in request.text:
            return Reply(status="refused", error="I will not")
        parts = [part for turn in request.turns for part in turn.parts]
        pictures = sum(isinstance(part, Picture) for part in parts)
        clips = [len(part.frames) for part in parts if isinstance(part, Clip)]
        cut = request.decoding.max_tokens == 1
        text = f"{pictures} pictures, {sum(clips)} frames\nA"
        return Reply(status="truncated" if cut else "ok", text=text, tokens_in=7, tokens_out=3)


class Served:
    """A server in a thread."""

    def __init__(self, key: str = "") -> None:
        self.model = Counting()
        app = create_app(self.model, frames=FramePolicy(count=4), key=key)
        self._bound = socket.socket()
        self._bound.bind(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._bound.getsockname()[1]}/v1"
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._bound]}, daemon=True
        )
        self._thread.start()
        until = time.monotonic() + 600
        while not self._server.started:
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.02)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(600)
        self._bound.close()

    def post(self, body: Any, **headers: str) -> tuple[int, bytes]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kinds = {"Content-Type": "application/json", **headers}
        try:
            with urlopen(HttpRequest(f"{self.address}/chat/completions", data, kinds), timeout=600) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            with error:
                return error.code, error.read()

    def ask(self, content: Any, **more: Any) -> tuple[int, Any]:
        status, body = self.post({"messages": [{"role": "user", "content": content}], **more})
        return status, json.loads(body)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.stop()


def picture() -> str:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "PNG")
    return "data:image/png;base64," + b64encode(file.getvalue()).decode()


def test_models_are_listed(served: Served) -> None:
    with urlopen(f"{served.address}/models", timeout=600) as answer:
        listed = json.load(answer)
    assert [each["id"] for each in listed["data"]] == ["test/counting"]


def test_pictures_and_videos_reach_the_model(served: Served) -> None:
    root = mini.root("mime")
    assert root is not None
    video = next(root.rglob("*.mp4")).read_bytes()
    content = [
        {"type": "image_url", "image_url": {"url": picture()}},
        {"type": "image_url", "image_url": picture()},
        {"type": "video_url", "video_url": {"url": "data:video/mp4;base64," + b64encode(video).decode()}},
        {"type": "text", "text": "What is it?"},
    ]
    status, answer = served.ask(content, max_tokens=9, stop="\n\n", seed=5, temperature=0.5)
    assert status == 200
    assert answer["choices"][0]["message"]["content"] == "2 pictures, 4 frames\nA"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    asked = served.model.asked[-1]
    assert (asked.decoding.max_tokens, asked.decoding.stop, asked.decoding.seed) == (9, ("\n\n",), 5)
    assert asked.seed == 5 and asked.decoding.temperature == 0.5


def test_a_stream_says_the_same_in_stream_events(served: Served) -> None:
    body = {
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    status, sent = served.post(body)
    events = [line.removeprefix("data: ") for line in sent.decode().split("\n\n") if line]
    assert status == 200 and events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"])
    assert text == "0 pictures, 0 frames\nA"
    assert [c["choices"][0]["finish_reason"] for c in chunks if c["choices"]][-1] == "stop"
    assert chunks[-1]["usage"]["total_tokens"] == 10
    assert len({chunk["id"] for chunk in chunks}) == 1


def test_pieces_keep_every_space() -> None:
    text = "  two  words\n\nand a tail \n"
    events = list(stream_events(Reply(text=text), "m", with_usage=False))[:-1]
    chunks = [msgspec.json.decode(event.removeprefix(b"data: ")) for event in events]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == text


def test_how_an_answer_ended_is_told(served: Served) -> None:
    assert served.ask("x", max_tokens=1)[1]["choices"][0]["finish_reason"] == "length"
    refused = served.ask("no!")[1]["choices"][0]
    assert refused["finish_reason"] == "content_filter" and refused["message"]["refusal"] == "I will not"


@pytest.mark.parametrize(
    ("content", "more", "status", "text"),
    [
        ("fail", {}, 500, "out of ideas"),
        ("busy", {}, 503, "come back later"),
        ("broken", {}, 500, "the weights are gone"),
        ("x", {"model": "another"}, 404, "test/counting is"),
        ("x", {"n": 3}, 400, "n is not offered"),
        ("x", {"logprobs": True}, 400, "logprobs is not offered"),
        ("x", {"max_tokens": -1}, 400, "at least 1"),
        ("x", {"temperature": 9}, 400, "from 0 to 2"),
        ([{"type": "image_url", "image_url": {"url": "http://example.org/a.png"}}], {}, 400, "not fetched"),
        ([{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}], {}, 400, "not fetched"),
        (
            [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
            {},
            400,
            "no whole picture",
        ),
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,§§"}}], {}, 400, "base64"),
        ([{"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}}], {}, 400, "video_url"),
        ([{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}], {}, 400, "no sound"),
        ([{"type": "hologram"}], {}, 400, "hologram"),
        ("", {}, 400, "nothing to answer"),
        ([{"type": "text", "text": " \n"}], {}, 400, "nothing to answer"),
        ("x", {"response_format": {"type": "json_object"}}, 400, "response_format is not offered"),
        ("x", {"response_format": {"type": "json_schema", "json_schema": {}}}, 400, "response_format is not"),
    ],
)
def test_what_cannot_be_answered_is_an_error(
    served: Served, content: Any, more: dict[str, Any], status: int, text: str
) -> None:
    result, answer = served.ask(content, **more)
    assert result == status
    assert text in answer["error"]["message"] and "\n" not in answer["error"]["message"]


def test_plain_text_as_response_format_is_let_pass(served: Served) -> None:
    assert served.ask("x", response_format={"type": "text"})[0] == 200


def test_bodies_that_are_none(served: Served) -> None:
    assert served.post(b"{")[0] == 400
    assert served.post({"messages": []})[0] == 400
    assert served.post(b"{}", **{"Content-Type": "text/plain"})[0] == 415


def test_without_a_key_only_this_machine_is_answered(served: Served) -> None:
    body = {"messages": [{"role": "user", "content": "Which?"}]}
    for host in ("evil.example", "testserver", "127.0.0.1.evil.example", "localhost.evil.example:80", ""):
        status, answer = served.post(body, Host=host)
        assert status in (400, 403) and b"pictures" not in answer, host
    for host in ("localhost", "LOCALHOST:99", "127.0.0.1:1", "[::1]:8000"):
        assert served.post(body, Host=host)[0] == 200, host


def test_with_a_key_other_hosts_may_ask() -> None:
    made = Served(key="secret")
    try:
        body = {"messages": [{"role": "user", "content": "Which?"}]}
        assert made.post(body, Host="models.example", Authorization="Bearer secret")[0] == 200
        assert made.post(body, Host="models.example")[0] == 401
    finally:
        made.stop()


def test_a_key_is_asked_for() -> None:
    locked = Served(KEY)
    try:
        body = {"messages": [{"role": "user", "content": "x"}]}
        assert locked.post(body)[0] == 401
        assert locked.post(body, Authorization="Bearer open")[0] == 401
        assert locked.post(body, Authorization=f"Bearer {KEY}")[0] == 200
        assert not locked.model.asked[1:]
    finally:
        locked.stop()


def test_our_own_client_runs_a_benchmark_against_it(served: Served, tmp_path: Path) -> None:
    run = evaluate(
        "mime/mcq",
        "openai/test/counting",
        data=("mini",),
        limit=3,
        frames=2,
        out=str(tmp_path / "run"),
        cache="off",
        base_url=served.address,
    )
    replies = [record.reply for record in run.records().values()]
    assert [reply.status for reply in replies] == ["ok"] * 3
    assert all(reply.text.startswith("2 pictures") for reply in replies)


def test_a_folder_says_what_it_holds(tmp_path: Path) -> None:
    from vivant.core.errors import UsageError

    assert resolve_spec("vivant/tiny") == "vivant/tiny"
    with pytest.raises(UsageError, match="holds no model"):
        resolve_spec(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "mimic_chat"}')
    assert resolve_spec(str(tmp_path)) == f"mimic-chat/{tmp_path}"
    (tmp_path / "vivant-onnx.json").write_text("{}")
    assert resolve_spec(str(tmp_path)) == f"onnx/{tmp_path}"


def test_a_model_that_does_not_open_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sick(Counting):
        async def open(self) -> None:
            raise ModelError("no weights here")

    monkeypatch.setattr("vivant.serve.server.create", lambda _spec, _options: Sick())
    with pytest.raises(ModelError, match="no weights here"):
        serve("sick", port=0)
