"""A backend in a package of its own, as the documentation shows it: found by its entry point, run end to end."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from tests.support.helpers import questions
from tests.support.helpers import vivant_process as vivant
from tests.support.standin import running

PAGE = Path(__file__).resolve().parents[4] / "docs" / "your-own-model.md"


def example() -> str:
    """The backend that the page shows."""
    (code,) = re.findall(
        r'```python\n("""The backend `acme`.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    return str(code)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which the package is installed, with some entry points that do not work."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "vivant_acme.py").write_text(example())
    (site / "acme_faults.py").write_text("number = 3\n\n\ndef nothing(name, options):\n    return None\n")
    info = site / "vivant_acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vivant-acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[vivant.models]\nacme = vivant_acme:create\nopenai = vivant_acme:create\n"
        "absent = not_there:create\nnumber = acme_faults:number\nnothing = acme_faults:nothing\n"
    )
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")])),
        "ACME_API_KEY": "acme-secret",
    }


def test_the_example_is_short() -> None:
    assert sum(bool(line.strip()) for line in example().splitlines()) <= 45


def test_a_packaged_backend_is_found_by_its_entry_point(tmp_path: Path, environment: dict[str, str]) -> None:
    bodies: list[dict[str, object]] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer acme-secret"
        bodies.append(msgspec.json.decode(await request.read()))
        if len(bodies) == 1:
            return web.Response(status=503, headers={"Retry-After": "0"})
        prompt = str(bodies[-1]["prompt"])
        right = next(line[0] for line in prompt.splitlines() if line.endswith(". right"))
        return web.json_response({"text": right, "tokens_in": 9, "tokens_out": 1})

    app = web.Application()
    app.router.add_post("/v1/answer", answer)
    path = questions(tmp_path, 4)
    with running(app) as port:
        command = ("--model", "acme/one", "--base-url", f"http://127.0.0.1:{port}/v1", "--out", "run")
        done = vivant("run", path, *command, "--model-option", "quality=low", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert re.search(r"acme/one .*100\.0", done.stdout)
    assert len(bodies) == 5
    assert all(body["model"] == "one" and body["quality"] == "low" for body in bodies)
    assert all(len(msgspec.convert(body["images"], list[str])) == 1 for body in bodies)
    files = [file for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert files and not any(b"acme-secret" in file.read_bytes() for file in files)


def test_a_plugin_is_listed_and_its_mistakes_are_one_line(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    listed = vivant("models", cwd=tmp_path, env={**environment, "COLUMNS": "250"})
    assert listed.returncode == 0, listed.stderr
    assert "from the package vivant-acme" in listed.stdout
    assert "any OpenAI-compatible server" in listed.stdout, "a plug-in replaces no backend of ours"
    path = questions(tmp_path, 2, pictures=False)
    for model, reason in (
        ("acme/one --model-option qualty=low", "did you mean 'quality'?"),
        ("absent/x", "(not_there:create) from the package vivant-acme cannot be loaded: ModuleNotFoundError"),
        ("number/x", "(acme_faults:number) from the package vivant-acme is not a function or a class"),
        ("nothing/x", "(acme_faults:nothing) from the package vivant-acme returned NoneType, not a Model"),
    ):
        failed = vivant("run", path, "--model", *model.split(), cwd=tmp_path, env=environment)
        assert failed.returncode == 1, model
        assert reason in " ".join(failed.stderr.split())
        assert "Traceback" not in failed.stderr
