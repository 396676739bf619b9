"""`vivant demo`: one table, one sentence, commands that work; from the wheel's own contents alone."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.helpers import logged_messages
from vivant import mini
from vivant.cli import demo
from vivant.cli.compare import app as compare_app
from vivant.cli.plan import app as plan_app
from vivant.cli.run import app as run_app
from vivant.metrics import minilm
from vivant.models import discovery
from vivant.models.discovery import FoundModel, find_local_models


@pytest.fixture(autouse=True)
def fresh_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No sentence model, no server, no hub cache; a folder of its own."""
    monkeypatch.setattr(minilm, "_package_folders", list)
    monkeypatch.setattr(minilm, "_hub_snapshots", list)
    monkeypatch.setattr(discovery, "_find_cached_models", list)
    monkeypatch.setattr(demo, "find_local_models", list)
    monkeypatch.setattr(demo, "which", lambda _: "/usr/bin/vivant")
    monkeypatch.delenv("VIVANT_MINILM", raising=False)
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.chdir(tmp_path)


@contextmanager
def serve_models(*names: str) -> Iterator[int]:
    """A server that lists models as OpenAI's protocol does, on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_one_table_one_sentence_and_commands_that_work(tmp_path: Path) -> None:
    with logged_messages() as messages:
        result = CliRunner().invoke(demo.app, [])
    assert result.exit_code == 0, result.exception
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if re.search(r"\d+\.\d", line)}
    assert list(rows) == ["vivant/tiny", "nearest", "blind", "chance"]
    for column in (0, 1):
        tiny, nearest, blind, chance = (float(re.findall(r"\d+\.\d", line)[column]) for line in rows.values())
        assert tiny > nearest + 15, "what the sentence under the table says"
        assert abs(blind - chance) < 10 and chance == 25
    assert all(
        re.search(r"\(\d+–\d+\).*\(\d+–\d+\)", rows[name]) for name in ("vivant/tiny", "nearest", "blind")
    )
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "heuristic" not in result.stdout
    assert (tmp_path / "runs" / "demo" / "report.html").is_file()
    assert len([line for line in messages if "samples" in line]) == 0, "runs do not report one by one"
    commands = [
        shlex.split(line.partition(" vivant ")[2]) for line in messages if line.startswith("  vivant ")
    ]
    assert [command[0] for command in commands] == ["compare", "run", "plan"]
    apps = {"compare": compare_app, "run": run_app, "plan": plan_app}
    for name, *arguments in commands:
        done = CliRunner().invoke(apps[name], arguments)
        assert done.exit_code == 0, (name, done.exception)


def test_a_server_on_this_machine_is_the_next_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serve_models("nomic-embed-text", "qwen2.5-vl-3b") as port, serve_models() as empty:
        (found,) = find_local_models({port: "vLLM", empty: "Ollama", 9: "LM Studio"})
    assert found.arguments == ("openai/qwen2.5-vl-3b", "--base-url", f"http://127.0.0.1:{port}/v1")
    lines = demo.list_next_commands(Path("runs/demo"), "vivant", [found])
    assert f"  vivant run mime/mcq --data mini --limit 20 --model {' '.join(found.arguments)}" in lines


def test_small_checkpoints_in_the_hub_cache_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(discovery, "find_spec", lambda _: object())
    configs = {
        "HuggingFaceTB--SmolVLM-256M": {
            "architectures": ["Idefics3ForConditionalGeneration"],
            "vision_config": {},
        },
        "openai--clip-vit-base-patch32": {"architectures": ["CLIPModel"], "vision_config": {}},
        "Qwen--Qwen3-0.6B": {"architectures": ["Qwen3ForCausalLM"]},
    }
    for name, config in configs.items():
        folder = tmp_path / "hub" / f"models--{name}" / "snapshots" / "abc"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "model.safetensors").write_bytes(b"0")
    assert find_local_models({9: "nobody"}) == [
        FoundModel("in the hub's cache", ("transformers/HuggingFaceTB/SmolVLM-256M",))
    ]


def test_who_has_no_vivant_on_the_path_is_told_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "which", lambda _: None)
    monkeypatch.setattr("sys.argv", [".venv/bin/vivant", "demo"])
    program = demo.find_program()
    assert program == ".venv/bin/vivant"
    lines = demo.list_next_commands(Path("runs/demo"), program, [])
    commands = [line for line in lines if line.startswith("  .venv/bin/vivant ")]
    assert len(commands) == 3
    assert max(map(len, commands)) <= 80
    assert lines[-1] == f'To type just `vivant`: export PATH="{Path.cwd()}/.venv/bin:$PATH"'


def test_the_look_up_table_does_not_hold_what_it_is_asked_about() -> None:
    """The baseline must not find the very video of the question: no mini's pictures are in its table."""
    import av
    import numpy as np
    from PIL import Image

    from vivant.models.nearest import FRAMES, HEIGHT, PICTURES, WIDTH, spread

    folder = mini.root("nearest")
    assert folder is not None
    with Image.open(folder / PICTURES) as picture:
        table = np.asarray(picture.convert("RGB")).astype(int)
    table = table.reshape(len(table), -1)
    videos = [
        path for name in ("mime", "mimic/videos") for path in sorted((folder.parent / name).glob("*.mp4"))
    ]
    for path in videos[::20]:
        with av.open(str(path)) as container:
            frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        small = [
            np.asarray(Image.fromarray(frames[i]).resize((WIDTH, HEIGHT), Image.Resampling.BOX))
            for i in spread(len(frames))
        ]
        differences = np.abs(table - np.stack(small).reshape(1, FRAMES * HEIGHT * WIDTH * 3)).mean(axis=1)
        assert differences.min() > 0.2, path.name
