"""Loopback stand-ins for hosted APIs: Gemini with its files and batches, Anthropic, OpenAI's batches.

Each keeps what it was sent. They run in a thread of their own, so that runs in other processes can use them.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import Any

import msgspec
from aiohttp import web

Answer = Callable[[dict[str, Any]], dict[str, Any]]
"""(request body) → response body; `{"status": 400, "body": …}` for a failure."""


@contextmanager
def running(app: web.Application) -> Iterator[int]:
    """Serve an application on loopback; yields its port."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    stop = asyncio.Event()
    port = 0

    async def main() -> None:
        nonlocal port
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        started.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    assert started.wait(600)
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(600)
        loop.close()


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")


def _answered(answer: Answer, body: dict[str, Any]) -> web.Response:
    made = answer(body)
    return _json(made["body"], made["status"]) if "status" in made and "body" in made else _json(made)


@dataclass
class Standin:
    """What a stand-in was sent, and how it behaves."""

    answer: Answer
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    polls: int = 0
    """How often a file is still being processed."""
    verdict: str = "ACTIVE"
    """What becomes of it then."""
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    hold: bool = False
    """Batches do not end while this is set."""
    lose: bool = False
    """The next batch is taken, but the connection breaks before its id is sent."""
    asked: list[str] = field(default_factory=list)
    """Method and path of everything."""
    port: int = 0

    def note(self, request: web.Request) -> None:
        self.asked.append(f"{request.method} {request.path}")
        self.headers.append(dict(request.headers))

    def break_after(self, request: web.Request) -> bool:
        if not self.lose:
            return False
        self.lose = False
        assert request.transport is not None
        request.transport.close()
        return True


@contextmanager
def gemini(answer: Answer, **behaviour: Any) -> Iterator[Standin]:
    """`generateContent`, resumable uploads with polling, batches."""
    me = Standin(answer, **behaviour)
    app = web.Application(client_max_size=2**28)
    waits: dict[str, int] = {}

    def about(name: str) -> dict[str, Any]:
        waits[name] = waits.get(name, me.polls)
        waits[name] -= 1
        state = "PROCESSING" if waits[name] >= 0 else me.verdict
        return {"name": name, "uri": f"https://files.example/{name}", "state": state}

    async def start(request: web.Request) -> web.Response:
        me.note(request)
        assert request.headers["X-Goog-Upload-Command"] == "start"
        # On another host: a client must not send its key there.
        return web.Response(headers={"X-Goog-Upload-URL": "https://elsewhere.example/upload/go?upload_id=1"})

    async def upload(request: web.Request) -> web.Response:
        me.note(request)
        assert request.headers["X-Goog-Upload-Command"] == "upload, finalize"
        name = f"files/f{len(me.files)}"
        me.files[name] = await request.read()
        return _json({"file": about(name)})

    async def file(request: web.Request) -> web.Response:
        me.note(request)
        name = f"files/{request.match_info['name']}"
        if request.method == "DELETE":
            me.deleted.append(name)
            return _json({})
        return _json(about(name))

    async def generate(request: web.Request) -> web.Response:
        me.note(request)
        body = msgspec.json.decode(await request.read())
        if request.path.endswith(":batchGenerateContent"):
            name = f"batches/b{len(me.batches)}"
            wanted = body["batch"]
            me.batches[name] = {
                "name": wanted["display_name"],
                "lines": me.files[wanted["input_config"]["file_name"]],
            }
            if me.break_after(request):
                return web.Response()
            return _json({"name": name})
        me.requests.append(body)
        return _answered(me.answer, body)

    async def batch(request: web.Request) -> web.Response:
        me.note(request)
        name = f"batches/{request.match_info['name']}"
        if me.hold:
            return _json({"name": name, "metadata": {"state": "BATCH_STATE_RUNNING"}})
        results = []
        for line in me.batches[name]["lines"].splitlines():
            one = msgspec.json.decode(line)
            made = me.answer(one["request"])
            failed = "status" in made
            part = {"error": {"code": made["status"], **made["body"]}} if failed else {"response": made}
            results.append(msgspec.json.encode({"key": one["key"], **part}))
        me.files[f"files/out-{request.match_info['name']}"] = b"\n".join(reversed(results))
        response = {"responsesFile": f"files/out-{request.match_info['name']}"}
        return _json(
            {
                "name": name,
                "done": True,
                "metadata": {"state": "BATCH_STATE_SUCCEEDED"},
                "response": response,
            }
        )

    async def listing(request: web.Request) -> web.Response:
        me.note(request)
        known = [{"name": n, "metadata": {"displayName": b["name"]}} for n, b in me.batches.items()]
        return _json({"operations": known})

    async def download(request: web.Request) -> web.Response:
        me.note(request)
        return web.Response(body=me.files[request.match_info["name"]])

    app.router.add_post("/upload/v1beta/files", start)
    app.router.add_post("/upload/go", upload)
    app.router.add_route("*", "/v1beta/files/{name}", file)
    app.router.add_get("/v1beta/batches/{name}", batch)
    app.router.add_get("/v1beta/batches", listing)
    app.router.add_get("/download/v1beta/{name:.+}:download", download)
    app.router.add_post("/v1beta/models/{rest:.+}", generate)
    with running(app) as port:
        me.port = port
        yield me


@contextmanager
def anthropic(answer: Answer, **behaviour: Any) -> Iterator[Standin]:
    """`/messages` and its batches."""
    me = Standin(answer, **behaviour)
    app = web.Application(client_max_size=2**28)

    async def messages(request: web.Request) -> web.Response:
        me.note(request)
        body = msgspec.json.decode(await request.read())
        me.requests.append(body)
        return _answered(me.answer, body)

    async def create(request: web.Request) -> web.Response:
        me.note(request)
        body = msgspec.json.decode(await request.read())
        name = f"msgbatch_{len(me.batches)}"
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        me.batches[name] = {"requests": body["requests"], "created_at": created}
        return web.Response() if me.break_after(request) else _json(about(name))

    def about(name: str) -> dict[str, Any]:
        count = len(me.batches[name]["requests"])
        counts = {"processing": count if me.hold else 0, "succeeded": 0 if me.hold else count}
        return {
            "id": name,
            "created_at": me.batches[name]["created_at"],
            "processing_status": "in_progress" if me.hold else "ended",
            "request_counts": {**counts, "errored": 0, "canceled": 0, "expired": 0},
            "results_url": None
            if me.hold
            else f"https://elsewhere.example/v1/messages/batches/{name}/results",
        }

    async def state(request: web.Request) -> web.Response:
        me.note(request)
        return _json(about(request.match_info["name"]))

    async def listing(request: web.Request) -> web.Response:
        me.note(request)
        return _json({"data": [about(name) for name in me.batches]})

    async def results(request: web.Request) -> web.Response:
        me.note(request)
        lines = []
        for one in me.batches[request.match_info["name"]]["requests"]:
            made = me.answer(one["params"])
            if "status" in made:
                kind = "invalid_request_error" if made["status"] == 400 else "api_error"
                error = {"type": "error", "error": {"type": kind, **made["body"]["error"]}}
                result = {"type": "errored", "error": error}
            else:
                result = {"type": "succeeded", "message": made}
            lines.append(msgspec.json.encode({"custom_id": one["custom_id"], "result": result}))
        return web.Response(body=b"\n".join(reversed(lines)))

    app.router.add_post("/v1/messages", messages)
    app.router.add_post("/v1/messages/batches", create)
    app.router.add_get("/v1/messages/batches", listing)
    app.router.add_get("/v1/messages/batches/{name}", state)
    app.router.add_get("/v1/messages/batches/{name}/results", results)
    with running(app) as port:
        me.port = port
        yield me


@contextmanager
def openai(answer: Answer, **behaviour: Any) -> Iterator[Standin]:
    """`/chat/completions`, `/responses`, `/files` and `/batches`."""
    me = Standin(answer, **behaviour)
    app = web.Application(client_max_size=2**28)

    async def chat(request: web.Request) -> web.Response:
        me.note(request)
        body = msgspec.json.decode(await request.read())
        me.requests.append(body)
        return _answered(me.answer, body)

    async def file(request: web.Request) -> web.Response:
        me.note(request)
        head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        parts = BytesParser().parsebytes(head + await request.read()).get_payload()
        found = {part.get_param("name", header="content-disposition"): part for part in parts}  # type: ignore[union-attr]
        assert found["purpose"].get_payload() == "batch"  # type: ignore[union-attr]
        name = f"file-{len(me.files)}"
        content = found["file"].get_payload(decode=True)  # type: ignore[union-attr]
        assert isinstance(content, bytes)
        me.files[name] = content
        return _json({"id": name})

    async def create(request: web.Request) -> web.Response:
        me.note(request)
        body = msgspec.json.decode(await request.read())
        name = f"batch_{len(me.batches)}"
        me.batches[name] = body
        return web.Response() if me.break_after(request) else _json({"id": name})

    async def listing(request: web.Request) -> web.Response:
        me.note(request)
        return _json({"data": [{"id": name, **body} for name, body in me.batches.items()]})

    async def state(request: web.Request) -> web.Response:
        me.note(request)
        name = request.match_info["name"]
        if me.hold:
            return _json({"id": name, "status": "in_progress", "request_counts": {"completed": 0}})
        if me.verdict == "forgotten":
            return _json({"error": {"message": "no such batch"}}, 404)
        if me.verdict == "failed":
            problem = {"data": [{"message": "unknown model in line 1"}]}
            return _json({"id": name, "status": "failed", "errors": problem})
        good: list[bytes] = []
        bad: list[bytes] = []
        for line in me.files[me.batches[name]["input_file_id"]].splitlines():
            one = msgspec.json.decode(line)
            assert one["method"] == "POST" and one["url"] == me.batches[name]["endpoint"]
            assert one["url"] == ("/v1/responses" if "input" in one["body"] else "/v1/chat/completions")
            made = me.answer(one["body"])
            status, body = (made["status"], made["body"]) if "body" in made else (200, made)
            response = {"status_code": status, "body": body}
            encoded = msgspec.json.encode({"custom_id": one["custom_id"], "response": response})
            (good if status == 200 else bad).append(encoded)
        me.files[f"{name}-out"] = b"\n".join(reversed(good))
        me.files[f"{name}-err"] = b"\n".join(bad)
        files = {"output_file_id": f"{name}-out", "error_file_id": f"{name}-err" if bad else None}
        return _json({"id": name, "status": "completed", **files})

    async def content(request: web.Request) -> web.Response:
        me.note(request)
        return web.Response(body=me.files[request.match_info["name"]])

    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_post("/v1/responses", chat)
    app.router.add_post("/v1/files", file)
    app.router.add_get("/v1/files/{name}/content", content)
    app.router.add_post("/v1/batches", create)
    app.router.add_get("/v1/batches", listing)
    app.router.add_get("/v1/batches/{name}", state)
    with running(app) as port:
        me.port = port
        yield me


def gemini_says(text: str, finish: str = "STOP", **more: Any) -> dict[str, Any]:
    """A `generateContent` response."""
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish}],
        "usageMetadata": {"promptTokenCount": 300, "candidatesTokenCount": 2, "thoughtsTokenCount": 5},
        "modelVersion": "gemini-test-001",
        **more,
    }


def anthropic_says(text: str, stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    """A message."""
    return {
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
        "stop_reason": stop,
        "usage": {"input_tokens": 310, "output_tokens": 3},
        **more,
    }


def openai_says(text: str, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A chat completion."""
    message = {"role": "assistant", "content": text}
    return {
        "model": "gpt-test",
        "choices": [{"message": message, "finish_reason": finish, **more}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 1},
    }
