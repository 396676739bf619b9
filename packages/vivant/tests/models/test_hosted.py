"""Gemini and Anthropic against stand-ins: what is sent, what is read, what is kept; keys."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.helpers import picture, questions
from tests.support.media_kit import make_video
from tests.support.model_requests import question
from tests.support.standin import (
    Standin,
    anthropic,
    anthropic_says,
    gemini,
    gemini_says,
)
from vivant.core.errors import UsageError
from vivant.core.types import Clip, Decoding, FramePolicy, Reply, Request, Sound, Text, Turn
from vivant.engine.evaluation import evaluate
from vivant.models.base import ModelError, ModelOptions
from vivant.models.registry import create
from vivant.runs.run import Run


def address(server: Standin, version: str) -> str:
    return f"http://127.0.0.1:{server.port}/{version}"


def ask(path: Path, model: str, server: Standin, out: Path, **options: Any) -> Run:
    version = "v1beta" if model.startswith("gemini") else "v1"
    return evaluate(
        str(path),
        model,
        out=str(out),
        cache="off",
        base_url=address(server, version),
        **options,
    )


def one(model: str, request: Request, **options: Any) -> Reply:
    """Ask a model once, outside a run."""

    async def main() -> Reply:
        made = create(model, ModelOptions(**options))
        await made.open()
        try:
            return await made.generate(request)
        finally:
            await made.close()

    return asyncio.run(main())


def videos(folder: Path, count: int, files: int = 1) -> Path:
    """Questions about videos; `files` different ones."""
    for number in range(files):
        make_video(folder / f"{number}.mp4", 12 + number)
    lines = [
        {"id": n, "question": "Seen?", "video": f"{n % files}.mp4", "choices": ["yes", "no"], "answer": "yes"}
        for n in range(count)
    ]
    path = folder / "videos.jsonl"
    path.write_bytes(b"\n".join(msgspec.json.encode(line) for line in lines))
    return path


# ── Gemini ──


def test_gemini_receives_the_picture_as_it_is_and_the_settings(tmp_path: Path) -> None:
    path = questions(tmp_path, 1)
    with gemini(lambda _: gemini_says("A")) as server:
        run = ask(path, "gemini/gemini-2.5-flash", server, tmp_path / "run")
    body = server.requests[0]
    pieces = body["contents"][0]["parts"]
    assert b64decode(pieces[0]["inlineData"]["data"]) == (tmp_path / "0.png").read_bytes()
    assert pieces[0]["inlineData"]["mimeType"] == "image/png"
    assert "Which one, number 0?" in pieces[1]["text"]
    thinking = {"thinkingConfig": {"includeThoughts": True}}
    assert body["generationConfig"] == {"maxOutputTokens": 128 + 32_768, "temperature": 0.0, **thinking}
    record = next(iter(run.records().values()))
    assert (record.reply.text, record.reply.model) == ("A", "gemini-test-001")
    assert (record.reply.tokens_in, record.reply.tokens_out) == (300, 7)


def test_geminis_roles_system_text_and_thoughts() -> None:
    thought = {"text": "let me see", "thought": True}
    content = {"content": {"parts": [thought, {"text": "B"}]}, "finishReason": "STOP"}
    request = Request(
        turns=(
            Turn("system", (Text("Be brief."),)),
            Turn("user", (Text("One?"),)),
            Turn("assistant", (Text("A"),)),
            Turn("user", (Text("Two?"), Sound(b"RIFF", "audio/wav"))),
        ),
        decoding=Decoding(stop=("END",), top_p=0.5, seed=7),
    )
    with gemini(lambda _: {"candidates": [content]}) as server:
        reply = one(
            "gemini/g",
            request,
            base_url=address(server, "v1beta"),
            values={"resolution": "low", "thinking_budget": "0", "extra_body": '{"safetySettings": []}'},
        )
    body = server.requests[0]
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    assert body["contents"][2]["parts"][1]["inlineData"]["mimeType"] == "audio/wav"
    assert body["generationConfig"] == {
        "temperature": 0.0,
        "topP": 0.5,
        "seed": 7,
        "stopSequences": ["END"],
        "mediaResolution": "MEDIA_RESOLUTION_LOW",
        "thinkingConfig": {"thinkingBudget": 0},
    }
    assert body["safetySettings"] == []
    assert (reply.text, reply.thinking, reply.tokens_in) == ("B", "let me see", None)


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (gemini_says("", "SAFETY"), "refused", "SAFETY"),
        ({"promptFeedback": {"blockReason": "OTHER"}}, "refused", "OTHER"),
        (gemini_says("half", "MAX_TOKENS"), "truncated", "token limit"),
        (gemini_says("", "MALFORMED_FUNCTION_CALL"), "error", "MALFORMED"),
        ({"status": 400, "body": {"error": {"message": "exceeds the maximum context"}}}, "too_long", "400"),
        ({"status": 400, "body": {"error": {"message": "bad field"}}}, "error", "bad field"),
    ],
)
def test_what_gemini_did_not_answer_is_a_status(answer: Any, status: str, words: str) -> None:
    with gemini(lambda _: answer) as server:
        reply = one("gemini/g", question(Text("Hm?")), base_url=address(server, "v1beta"))
    assert reply.status == status
    assert words in reply.error


def test_a_small_video_goes_into_the_request_and_a_large_one_through_the_files(tmp_path: Path) -> None:
    path = videos(tmp_path, 3, files=2)
    with gemini(lambda _: gemini_says("A")) as server:
        ask(path, "gemini/g", server, tmp_path / "small", video_as="native")
        sent = [body["contents"][0]["parts"][0] for body in server.requests]
        assert {b64decode(part["inlineData"]["data"]) for part in sent} == {
            (tmp_path / f"{n}.mp4").read_bytes() for n in range(2)
        }
        assert {part["inlineData"]["mimeType"] for part in sent} == {"video/mp4"}
        assert server.files == {}
        server.requests.clear()
        large: Any = {"video_as": "native", "model_options": {"inline_bytes": "100"}}
        run = ask(path, "gemini/g", server, tmp_path / "large", **large)
    assert {r.reply.status for r in run.records().values()} == {"ok"}
    # Three questions about two files: each was uploaded once, used by its address, and deleted.
    assert sorted(server.files.values()) == sorted((tmp_path / f"{n}.mp4").read_bytes() for n in range(2))
    uris = {body["contents"][0]["parts"][0]["fileData"]["fileUri"] for body in server.requests}
    assert uris == {f"https://files.example/{name}" for name in server.files}
    assert sorted(server.deleted) == sorted(server.files)


def test_an_upload_is_waited_for_and_one_that_cannot_be_read_costs_its_sample(tmp_path: Path) -> None:
    path = videos(tmp_path, 1)
    settings: Any = {"video_as": "native", "model_options": {"inline_bytes": "100"}}
    with gemini(lambda _: gemini_says("A"), polls=2) as server:
        run = ask(path, "gemini/g", server, tmp_path / "run", **settings)
        assert sum(line == "GET /v1beta/files/f0" for line in server.asked) == 2
    assert next(iter(run.records().values())).reply.status == "ok"
    with gemini(lambda _: gemini_says("A"), polls=1, verdict="FAILED") as server:
        run = ask(path, "gemini/g", server, tmp_path / "failed", **settings)
    record = next(iter(run.records().values()))
    assert record.reply.status == "error"
    assert "0.mp4: the provider cannot read this video (FAILED)" in record.reply.error
    assert server.deleted == ["files/f0"]
    assert server.requests == []


def test_an_upload_that_is_interrupted_does_not_stay_at_the_provider(tmp_path: Path) -> None:
    videos(tmp_path, 1)
    file = tmp_path / "0.mp4"
    clip = Clip((), str(file))
    with gemini(lambda _: gemini_says("A"), polls=1000) as server:

        async def main() -> None:
            values = {"inline_bytes": "100"}
            made = create(
                "gemini/g", ModelOptions(base_url=address(server, "v1beta"), video="native", values=values)
            )
            await made.open()
            asked = asyncio.create_task(made.generate(question(clip, Text("Hm?"))))
            while "GET /v1beta/files/f0" not in server.asked:  # noqa: ASYNC110 (it runs in a thread)
                await asyncio.sleep(0.02)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await made.close()

        asyncio.run(main())
    assert server.deleted == ["files/f0"]


def test_gemini_is_shown_frames_unless_asked_otherwise(tmp_path: Path) -> None:
    path = videos(tmp_path, 1)
    with gemini(lambda _: gemini_says("A")) as server:
        ask(path, "gemini/g", server, tmp_path / "run", frames=FramePolicy(count=4))
    pieces = server.requests[0]["contents"][0]["parts"]
    kinds = [piece["inlineData"]["mimeType"] for piece in pieces if "inlineData" in piece]
    assert kinds == ["image/jpeg"] * 4


def test_geminis_own_way_to_ask_for_patience_is_heard(tmp_path: Path) -> None:
    path = questions(tmp_path, 1, pictures=False)
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.6s"}
    busy = {"status": 429, "body": {"error": {"message": "quota", "details": [detail]}}}
    answers = [gemini_says("A"), busy]
    with gemini(lambda _: answers.pop()) as server:
        run = ask(path, "gemini/g", server, tmp_path / "run")
    record = next(iter(run.records().values()))
    assert (record.reply.status, record.attempts) == ("ok", 2)
    assert len(server.requests) == 2


# ── Anthropic ──


def test_anthropic_receives_the_picture_as_it_is_and_the_settings(tmp_path: Path) -> None:
    path = questions(tmp_path, 1)
    with anthropic(lambda _: anthropic_says("A")) as server:
        run = ask(path, "anthropic/claude-sonnet-4-5", server, tmp_path / "run")
    body = server.requests[0]
    image, text, _ = body["messages"][0]["content"]
    assert image["source"]["media_type"] == "image/png"
    assert b64decode(image["source"]["data"]) == (tmp_path / "0.png").read_bytes()
    assert "Which one" in text["text"]
    assert {key: body[key] for key in ("model", "max_tokens", "temperature")} == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 128,
        "temperature": 0.0,
    }
    assert server.headers[0]["anthropic-version"] == "2023-06-01"
    reply = next(iter(run.records().values())).reply
    assert (reply.text, reply.thinking, reply.tokens_in, reply.tokens_out) == ("A", "hm", 310, 3)


def test_anthropics_turns_and_what_newer_models_refuse() -> None:
    request = Request(
        turns=(
            Turn("system", (Text("Be brief."),)),
            Turn("user", (Text("One?"), Text(" "))),
            Turn("assistant", (Text("A"),)),
            Turn("user", (Text("Two?"),)),
        ),
        decoding=Decoding(temperature=0.0, stop=("END",)),
    )
    with anthropic(lambda _: anthropic_says("B")) as server:
        one("anthropic/claude-3-5-haiku", request, base_url=address(server, "v1"))
        one("anthropic/claude-opus-4-7", request, base_url=address(server, "v1"))
        one("anthropic/claude-3-x", request, base_url=address(server, "v1"), values={"sampling": "false"})
    old, new, told = server.requests
    assert old["system"] == [{"type": "text", "text": "Be brief."}]
    assert [m["role"] for m in old["messages"]] == ["user", "assistant", "user"]
    assert old["messages"][0]["content"] == [{"type": "text", "text": "One?"}]
    assert old["stop_sequences"] == ["END"]
    assert old["max_tokens"] == 4096
    assert "temperature" in old
    assert "temperature" not in new
    assert "temperature" not in told


@pytest.mark.parametrize(
    ("stop", "status"),
    [
        ("end_turn", "ok"),
        ("stop_sequence", "ok"),
        ("max_tokens", "truncated"),
        ("model_context_window_exceeded", "truncated"),
        ("refusal", "refused"),
    ],
)
def test_why_anthropic_stopped_is_a_status(stop: str, status: str) -> None:
    with anthropic(lambda _: anthropic_says("A", stop)) as server:
        reply = one("anthropic/claude-3", question(Text("Hm?")), base_url=address(server, "v1"))
    assert reply.status == status


def test_several_hundred_pictures_are_scaled_to_anthropics_limit_for_many(tmp_path: Path) -> None:
    images = []
    for number in range(24):
        picture(tmp_path / f"{number}.jpg", (number, 0, 0), (2400, 48))
        images.append(f"{number}.jpg")
    line = {"id": 1, "question": "How many?", "images": images, "choices": ["24", "25"], "answer": "24"}
    path = tmp_path / "many.jsonl"
    path.write_bytes(msgspec.json.encode(line))
    with anthropic(lambda _: anthropic_says("A")) as server:
        run = ask(path, "anthropic/claude-sonnet-5", server, tmp_path / "run")
    record = next(iter(run.records().values()))
    assert len(server.requests[0]["messages"][0]["content"]) == 24 + 2
    assert {use.note for use in record.media} == {"resized to 2000×40"}
    assert record.notes == ("shrunk to the model's limits: 24 pictures resized",)


# ── keys ──


@pytest.mark.parametrize(
    ("model", "variable", "header", "value"),
    [
        ("gemini/g", "GEMINI_API_KEY", "x-goog-api-key", "top-secret-1"),
        ("anthropic/claude-3", "ANTHROPIC_API_KEY", "x-api-key", "top-secret-1"),
    ],
)
def test_a_key_reaches_its_server_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, variable: str, header: str, value: str
) -> None:
    path = questions(tmp_path, 2, pictures=False)
    monkeypatch.setenv(variable, "top-secret-1\n")
    echo = {"status": 422, "body": {"error": {"message": "you sent top-secret-1 and it is bad"}}}
    serve = gemini if model.startswith("gemini") else anthropic
    with serve(lambda _: echo) as server:
        run = ask(path, model, server, tmp_path / "run")
    assert {headers.get(header, headers.get(header.title())) for headers in server.headers} == {value}
    assert "[key]" in next(iter(run.records().values())).reply.error
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"top-secret" not in file.read_bytes(), file


@pytest.mark.parametrize("model", ["gemini/g", "anthropic/claude-3", "openai/gpt-4o"])
def test_a_missing_key_is_named(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=r"set [A-Z]+_API_KEY"):
        create(model)


def test_a_wrong_gemini_key_ends_the_run(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    wrong = {"status": 400, "body": {"error": {"message": "API key not valid. Please pass a valid API key."}}}
    with gemini(lambda _: wrong) as server, pytest.raises(ModelError, match="refuses the key"):
        ask(path, "gemini/g", server, tmp_path / "run", concurrency=1)
    assert len(server.requests) == 1
