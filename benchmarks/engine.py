"""Engine overhead: 2,000 questions with one 23 kB picture each, 64 at a time, against a local server.

Peer: a bare aiohttp loop that makes the same requests (read the file, base64, JSON, post, decode) and does
nothing else: no fingerprint, no cache, no log, no retries. Limit: CPU of the client, from the start of its process to
the end, ≤ 1.6 × the peer's (medians of five runs that take turns), and at least 60 requests in flight; once as a run is
by default (retries, response cache, log), once with rates and budgets kept too. The ratio without the start of the
process and its imports is printed beside it. All start from compiled bytecode, as from an installed wheel: a
first, small run of each compiles it. The server is another process and answers after 50 ms. Where Inspect
(`inspect_ai`) or lmms-eval (`lmms_eval`) are installed, or lie in the folder that `BRIDGES` names, they are measured
beside them.

    [BRIDGES=.venv/bridges] python -m benchmarks.engine [samples [runs]]
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import pickle
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from benchmarks.client import AT_ONCE as AT_ONCE

DELAY = 0.05
CPU_LIMIT = 1.6
FLIGHT_LIMIT = 60
OTHERS = {"Inspect": "inspect_run", "lmms-eval": "lmms_run"}
CLIENTS = {"bare aiohttp": "bare", "vivant": "vivant_run", "vivant, metered": "metered_run", **OTHERS}
_PACKAGES = {"Inspect": "inspect_ai", "lmms-eval": "lmms_eval"}
_WARM_UP = 64
"""Questions of the run that compiles the bytecode."""


def serve(port: Any, highest: Any, fail_every: int = 0) -> None:
    """Answer every chat completion with "A" after 50 ms; note how many are under way together. With `fail_every`,
    each so-many-th is answered with 503."""
    from aiohttp import web

    now = seen = 0

    async def handle(request: web.Request) -> web.Response:
        nonlocal now, seen
        now += 1
        seen += 1
        highest.value = max(highest.value, now)
        await request.read()
        if fail_every and seen % fail_every == 0:
            now -= 1
            return web.Response(status=503, headers={"Retry-After": "0"})
        await asyncio.sleep(DELAY)
        now -= 1
        return web.Response(
            body=b'{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":'
            b'{"role":"assistant","content":"ANSWER: A"},"finish_reason":"stop"}],'
            b'"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}',
            content_type="application/json",
        )

    answer_completions(handle, port)


def start_server(fail_every: int = 0) -> tuple[Any, str, Any]:
    """The server in a process of its own, its address, and where it counts the most requests at once."""
    context = multiprocessing.get_context("spawn")
    port, highest = context.Value("i", 0), context.Value("i", 0)
    server = context.Process(target=serve, args=(port, highest, fail_every), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.05)
    return server, f"http://127.0.0.1:{port.value}/v1", highest


def answer_completions(handle: Any, port: Any) -> None:
    """Serve chat completions by `handle` on a free port, which is told, until the process is ended."""
    from aiohttp import web

    async def main() -> None:
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/v1/chat/completions", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port.value = runner.addresses[0][1]
        await asyncio.sleep(3600)

    asyncio.run(main())


def make_questions(folder: Path, count: int) -> Path:
    """One JPEG-sized file per question. Noise would not be a JPEG, so a real header stands before it."""
    from io import BytesIO

    import numpy as np
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=90)
    base = buffer.getvalue()
    lines = []
    for number in range(count):
        tail = random.Random(number).randbytes(max(0, 23_000 - len(base)))
        (folder / f"{number}.jpg").write_bytes(base + tail)
        lines.append(
            json.dumps(
                {
                    "id": number,
                    "image": f"{number}.jpg",
                    "question": "What is this?",
                    "choices": ["a cat", "a dog", "a bird", "a fish"],
                    "answer": 0,
                }
            )
        )
    path = folder / "questions.jsonl"
    path.write_text("\n".join(lines))
    return path


def peer_path() -> list[str]:
    """Where the other harnesses are looked for."""
    return [os.environ["BRIDGES"], *sys.path] if "BRIDGES" in os.environ else sys.path


def cpu(function: str, *arguments: Any) -> tuple[float, float, float]:
    """CPU seconds of a fresh process that runs a function, those after its imports, and wall seconds."""
    reader, writer = os.pipe()
    call = pickle.dumps((function, arguments))
    path = peer_path() if function in OTHERS.values() else sys.path
    script = f"import sys; sys.path[:0] = {path!r}; from benchmarks.client import main; main({writer})"
    before = os.times()
    process = subprocess.run([sys.executable, "-c", script], input=call, pass_fds=(writer,), check=False)
    after = os.times()
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        message = pipe.read()
    if process.returncode or not message:
        raise RuntimeError(f"{function} failed")
    used, wall = json.loads(message)
    whole = after.children_user + after.children_system - before.children_user - before.children_system
    return whole, used, wall


def main() -> None:
    """Run all in turn, five times each, and print the ratios of the medians."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    server, url, highest = start_server()
    taken: dict[str, list[tuple[float, float, float]]] = {}
    flights: dict[str, list[int]] = {}
    absent: dict[str, str] = {}
    os.environ.setdefault("OPENAI_API_KEY", "none")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")

        def measure(what: str, trial: int, questions: int) -> None:
            highest.value = 0
            function = CLIENTS[what]
            out = folder / f"{function}{trial}"
            os.environ["VIVANT_CACHE"] = str(folder / f"cache-{out.name}")
            if what in OTHERS:
                times = cpu(function, folder, questions, url, out)
            elif what == "bare aiohttp":
                times = cpu(function, folder, questions, url)
            else:
                times = cpu(function, make_questions(folder, questions), url, out)
                lines = (out / "log.jsonl").read_bytes().count(b"\n")
                assert lines == questions, f"{lines} of {questions} in the log"
            if trial >= 0:
                taken.setdefault(what, []).append(times)
                flights.setdefault(what, []).append(highest.value)

        make_questions(folder, count)
        for what in CLIENTS:
            if what in OTHERS and PathFinder.find_spec(_PACKAGES[what], peer_path()) is None:
                absent[what] = "not installed"
                continue
            try:
                measure(what, -1, min(count, _WARM_UP))
            except RuntimeError:
                if what not in OTHERS:
                    raise
                absent[what] = "installed, but it does not run here"
        for trial in range(runs):
            for what in CLIENTS:
                if what not in absent:
                    measure(what, trial, count)
    server.terminate()
    report(count, runs, taken, flights, absent)


def report(
    count: int,
    runs: int,
    taken: dict[str, list[tuple[float, float, float]]],
    flights: dict[str, list[int]],
    absent: dict[str, str],
) -> None:
    """Print ratios to the peer, and whether limits are kept."""
    print(f"{count} requests, {AT_ONCE} at a time, server delay {DELAY * 1000:.0f} ms; medians of {runs}")
    peer = [statistics.median(column) for column in zip(*taken["bare aiohttp"], strict=True)]
    for what, rounds in taken.items():
        whole, used, wall = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratio, fewest = whole / peer[0], min(flights[what])
        print(
            f"{what + ':':<17}{whole / count * 1000:6.2f} ms CPU a request with the start, ratio {ratio:.2f}; "
            f"without {used / count * 1000:.2f} ms, ratio {used / peer[1]:.2f}; {wall:.2f} s, "
            f"in flight at most {fewest}"
        )
        if what.startswith("vivant"):
            print(f"{'':<17}ratio ≤ {CPU_LIMIT}: {'ok' if ratio <= CPU_LIMIT else 'MISSED'}; ", end="")
            print(f"in flight ≥ {FLIGHT_LIMIT}: {'ok' if fewest >= FLIGHT_LIMIT else 'MISSED'}")
    ours = statistics.median(whole for whole, _, _ in taken["vivant"])
    for what, rounds in taken.items():
        if what in ("Inspect", "lmms-eval"):
            print(
                f"{what} takes {statistics.median(whole for whole, _, _ in rounds) / ours:.1f} × as much as vivant"
            )
    for what, reason in absent.items():
        print(f"{what}: {reason}")


if __name__ == "__main__":
    main()
