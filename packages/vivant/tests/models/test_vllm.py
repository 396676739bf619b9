"""vLLM as a program that a run starts and stops: with a stand-in executable that serves on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_server import Act, serving
from tests.support.helpers import questions, vivant
from vivant.core.errors import UsageError
from vivant.engine.evaluation import evaluate
from vivant.models.base import ModelError, ModelOptions
from vivant.models.registry import create
from vivant.runs.run import Run

PROGRAM = '''#!{python}
"""Stands in for the program vllm: `serve MODEL --host H --port P …`."""
import json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

given = sys.argv[1:]
open(os.environ["TRACE"], "a").write(json.dumps({{"args": given, "pid": os.getpid()}}) + "\\n")
assert given[0] == "serve"
if "--fail" in given:
    print("ValueError: no such model", file=sys.stderr)
    sys.exit(2)
ready = time.monotonic() + 0.4
asked = 0


class Handler(BaseHTTPRequestHandler):
    def send(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.send(200 if time.monotonic() > ready else 503, {{}})

    def do_POST(self):
        global asked
        asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        if "--die" in given and asked > 2:
            print("CUDA error: out of memory", file=sys.stderr, flush=True)
            os._exit(9)
        key = self.headers.get("Authorization", "")
        message = {{"content": "A", "refusal": None}}
        self.send(200, {{"model": key or "no key", "choices": [{{"message": message}}]}})

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", int(given[given.index("--port") + 1])), Handler).serve_forever()
'''


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in, and a file in which it notes how it was called."""
    path = tmp_path / "vllm"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(0o755)
    monkeypatch.setenv("TRACE", str(tmp_path / "trace"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return path


def calls(folder: Path) -> list[dict[str, Any]]:
    import json

    return [json.loads(line) for line in (folder / "trace").read_text().splitlines()]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def ask(path: Path, program: Path, out: Path, **values: str) -> Run:
    options = {"executable": str(program), **values}
    return evaluate(str(path), "vllm/org/model", out=out, cache="off", model_options=options)


def test_a_server_is_started_for_the_run_and_stopped_after_it(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-somebody-else")
    path = questions(tmp_path, 5)
    run = ask(path, program, tmp_path / "run", args="--max-model-len 4096", trust_remote_code="true")
    assert {r.reply.status for r in run.records().values()} == {"ok"}
    assert {r.reply.model for r in run.records().values()} == {"no key"}
    (call,) = calls(tmp_path)
    assert call["args"][:4] == ["serve", "org/model", "--host", "127.0.0.1"]
    assert call["args"][4:7] == ["--trust-remote-code", "--max-model-len", "4096"]
    assert not alive(call["pid"])
    assert not list(tmp_path.glob("vivant-vllm-*.log"))
    assert run.manifest.model == "vllm/org/model"
    # Another port the next time: still the same run.
    assert len(ask(path, program, tmp_path / "run", args="--max-model-len 4096").records()) == 5
    assert len(calls(tmp_path)) == 1


def test_a_server_that_does_not_start_says_why(tmp_path: Path, program: Path) -> None:
    path = questions(tmp_path, 1, pictures=False)
    with pytest.raises(ModelError, match="ended while starting: ValueError: no such model"):
        ask(path, program, tmp_path / "run", args="--fail")


def test_a_server_that_dies_ends_the_run_with_its_last_words(tmp_path: Path, program: Path) -> None:
    path = questions(tmp_path, 20, pictures=False)
    with pytest.raises(ModelError, match="the server died: CUDA error: out of memory"):
        ask(path, program, tmp_path / "run", args="--die")
    assert len(list(tmp_path.glob("vivant-vllm-*.log"))) == 1


def test_a_run_that_is_killed_takes_its_server_along(tmp_path: Path, program: Path) -> None:
    path = questions(tmp_path, 2, pictures=False)
    run = [sys.executable, "-c", "from vivant.cli.main import main; main()", "run", str(path)]
    run += ["--model", "vllm/m", "--model-option", f"executable={program}", "-o", "run"]
    process = subprocess.Popen(run, cwd=tmp_path, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 600
    while not (tmp_path / "trace").exists() and time.monotonic() < until:
        time.sleep(0.02)
    while not (tmp_path / "trace").read_text().endswith("\n"):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    pid = calls(tmp_path)[0]["pid"]
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(pid)


def test_a_running_server_is_attached_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "its-own")
    path = questions(tmp_path, 3, pictures=False)
    with serving(lambda _n, _b: Act("A")) as server:
        run = evaluate(str(path), "vllm/m", out=tmp_path / "run", cache="off", base_url=server.url)
    assert len(run.records()) == 3
    assert {request["model"] for request in server.requests} == {"m"}
    assert {request["authorization"] for request in server.requests} == {"Bearer its-own"}


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No program 'vllm-none' here"):
        create("vllm/m", ModelOptions(values={"executable": "vllm-none"}))
    result = vivant("models", cwd=tmp_path, env={"PATH": "/nowhere"})
    assert "only with --base-url" in result.stdout


def test_a_checkpoint_trained_further_is_another_model(tmp_path: Path, program: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    identities = []
    for weights in ("first", "second"):
        (folder / "model.safetensors").write_text(weights)
        identities.append(
            create(f"vllm/{folder}", ModelOptions(values={"executable": str(program)})).identity
        )
    assert identities[0] != identities[1]
    named = create("vllm/m", ModelOptions(values={"executable": str(program)})).identity
    assert "checkpoint" not in named, "names on the hub keep the identity that earlier runs have"
