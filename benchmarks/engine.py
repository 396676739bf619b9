"""Engine overhead: 2,000 questions with one 23 kB picture each, 64 at a time, against a local server.

Peer: a bare aiohttp loop that makes the same requests (read the file, base64, JSON, post, decode) and does
nothing else: no fingerprint, no cache, no log, no retries. Limit: CPU of the client ≤ 2 × the peer's, and at
least 60 requests in flight; once as a run is by default, once with rates and budgets kept too. The server is
another process and answers after 50 ms. Where Inspect (`inspect_ai`) is installed, it is measured beside them.

    python benchmarks/engine.py [samples]
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from base64 import b64encode
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DELAY = 0.05
AT_ONCE = 64
CPU_LIMIT = 2.0
FLIGHT_LIMIT = 60


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


def bare(folder: Path, count: int, url: str) -> None:
    """The peer."""
    import aiohttp

    async def main() -> None:
        numbers = iter(range(count))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def worker() -> None:
                for number in numbers:
                    data = b64encode((folder / f"{number}.jpg").read_bytes()).decode()
                    body = {
                        "model": "m",
                        "temperature": 0.0,
                        "max_tokens": 128,
                        "messages": [
                            {
                                "role": "user",
                                "content": [
                                    {
                                        "type": "image_url",
                                        "image_url": {"url": f"data:image/jpeg;base64,{data}"},
                                    },
                                    {"type": "text", "text": "What is this?\nA. a cat\nB. a dog\nC. a bird"},
                                ],
                            }
                        ],
                    }
                    async with session.post(f"{url}/chat/completions", json=body) as response:
                        json.loads(await response.read())

            await asyncio.gather(*(worker() for _ in range(AT_ONCE)))

    asyncio.run(main())


def vivant_run(questions: Path, url: str, out: Path, **more: Any) -> None:
    """The same through `vivant.evaluate`: fingerprints, response cache, retries, log, progress."""
    from vivant.engine.evaluation import evaluate

    evaluate(
        str(questions),
        "openai/m",
        out=str(out),
        concurrency=AT_ONCE,
        base_url=url,
        **more,
    )


def metered_run(questions: Path, url: str, out: Path) -> None:
    """The same with limits that are kept but never reached."""
    many = 1_000_000_000
    vivant_run(questions, url, out, rpm=many, tpm=many, budget_tokens=many, budget_time=3600.0)


def inspect_run(folder: Path, count: int, url: str, out: Path) -> None:
    """The same with Inspect: a multiple-choice task over the same pictures."""
    import inspect_ai
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    samples = [
        Sample(
            id=number,
            input=[
                ChatMessageUser(
                    content=[
                        ContentImage(image=str(folder / f"{number}.jpg")),
                        ContentText(text="What is this?"),
                    ]
                )
            ],
            choices=["a cat", "a dog", "a bird", "a fish"],
            target="A",
        )
        for number in range(count)
    ]
    task = inspect_ai.Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice())
    model = get_model(
        "openai/m",
        base_url=url,
        api_key="none",
        responses_api=False,
        config=GenerateConfig(max_connections=AT_ONCE, temperature=0.0, max_tokens=128),
    )
    inspect_ai.eval(
        task, model=model, log_dir=str(out), display="none", max_samples=AT_ONCE, log_images=False
    )


def cpu(function: Any, *arguments: Any) -> tuple[float, float]:
    """CPU and wall seconds of a function in a fresh process, imports apart."""
    parent, child = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_timed, args=(child, function, arguments))
    process.start()
    result: tuple[float, float] = parent.recv()
    process.join()
    return result


def _timed(pipe: Any, function: Any, arguments: tuple[Any, ...]) -> None:
    if function is inspect_run:
        import inspect_ai
        import openai

        assert inspect_ai and openai
    else:
        import aiohttp

        import vivant.engine.evaluation
        import vivant.media
        import vivant.models.openai  # noqa: F401

        assert aiohttp
    os.environ.setdefault("OPENAI_API_KEY", "none")
    before, wall = os.times(), time.perf_counter()
    function(*arguments)
    after = os.times()
    pipe.send((after.user + after.system - before.user - before.system, time.perf_counter() - wall))


def main() -> None:
    """Run all in turn, three times each, and print the ratios of the medians."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    context = multiprocessing.get_context("spawn")
    port, highest = context.Value("i", 0), context.Value("i", 0)
    server = context.Process(target=serve, args=(port, highest), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.05)
    url = f"http://127.0.0.1:{port.value}/v1"
    taken: dict[str, list[tuple[float, float]]] = {}
    flights: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        questions = make_questions(folder, count)

        def measure(what: str, function: Any, *arguments: Any) -> None:
            highest.value = 0
            taken.setdefault(what, []).append(cpu(function, *arguments))
            flights.setdefault(what, []).append(highest.value)

        for trial in range(3):
            measure("bare aiohttp", bare, folder, count, url)
            for what, function in (("vivant", vivant_run), ("vivant, metered", metered_run)):
                out = folder / f"{function.__name__}{trial}"
                os.environ["VIVANT_CACHE"] = str(folder / f"cache-{out.name}")
                measure(what, function, questions, url, out)
                lines = (out / "log.jsonl").read_bytes().count(b"\n")
                assert lines == count, f"{lines} of {count} in the log"
            if find_spec("inspect_ai") is not None:
                measure("Inspect", inspect_run, folder, count, url, folder / f"inspect{trial}")
    server.terminate()
    peer = sorted(taken["bare aiohttp"])[1][0]
    print(f"{count} requests, {AT_ONCE} at a time, server delay {DELAY * 1000:.0f} ms; medians of 3")
    for what, rounds in taken.items():
        used, wall = sorted(rounds)[1]
        ratio, fewest = used / peer, min(flights[what])
        print(
            f"{what + ':':<17}{used / count * 1000:6.2f} ms CPU a request, {wall:6.2f} s, ratio {ratio:.2f}, "
            f"in flight at most {fewest}"
        )
        if what.startswith("vivant"):
            print(f"{'':<17}ratio ≤ {CPU_LIMIT}: {'ok' if ratio <= CPU_LIMIT else 'MISSED'}; ", end="")
            print(f"in flight ≥ {FLIGHT_LIMIT}: {'ok' if fewest >= FLIGHT_LIMIT else 'MISSED'}")


if __name__ == "__main__":
    main()
