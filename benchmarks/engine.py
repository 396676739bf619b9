"""Engine overhead: 2,000 questions with one 23 kB picture each, 64 at a time, against a local server.

Peer: a bare aiohttp loop that makes the same requests (read the file, base64, JSON, post, decode) and does
nothing else: no fingerprint, no cache, no log, no retries. Limit: CPU of the client ≤ 2 × the peer's, and at
least 60 requests in flight. The server is another process and answers after 50 ms.

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
from pathlib import Path
from typing import Any

DELAY = 0.05
AT_ONCE = 64
CPU_LIMIT = 2.0
FLIGHT_LIMIT = 60


def serve(port: Any, highest: Any) -> None:
    """Answer every chat completion with "A" after 50 ms; note how many are under way together."""
    from aiohttp import web

    now = 0

    async def handle(request: web.Request) -> web.Response:
        nonlocal now
        now += 1
        highest.value = max(highest.value, now)
        await request.read()
        await asyncio.sleep(DELAY)
        now -= 1
        return web.Response(
            body=b'{"model":"m","choices":[{"message":{"content":"A"},"finish_reason":"stop"}],'
            b'"usage":{"prompt_tokens":9,"completion_tokens":1}}',
            content_type="application/json",
        )

    async def main() -> None:
        app = web.Application(client_max_size=2**26)
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


def vivant_run(questions: Path, url: str, out: Path) -> None:
    """The same through `vivant.evaluate`: fingerprints, response cache, retries, log, progress."""
    from vivant.evaluation import evaluate
    from vivant.models.base import ModelOptions

    evaluate(
        str(questions),
        "openai/m",
        out=str(out),
        concurrency=AT_ONCE,
        model_options=ModelOptions(base_url=url),
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
    import aiohttp

    import vivant.evaluation
    import vivant.media
    import vivant.models.openai  # noqa: F401

    assert aiohttp
    os.environ.setdefault("OPENAI_API_KEY", "none")
    before, wall = os.times(), time.perf_counter()
    function(*arguments)
    after = os.times()
    pipe.send((after.user + after.system - before.user - before.system, time.perf_counter() - wall))


def main() -> None:
    """Run both in turn, three times each, and print the ratio of the medians."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    context = multiprocessing.get_context("spawn")
    port, highest = context.Value("i", 0), context.Value("i", 0)
    server = context.Process(target=serve, args=(port, highest), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.05)
    url = f"http://127.0.0.1:{port.value}/v1"
    peers: list[tuple[float, float]] = []
    ours: list[tuple[float, float]] = []
    flights: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        questions = make_questions(folder, count)
        for trial in range(3):
            peers.append(cpu(bare, folder, count, url))
            highest.value = 0
            os.environ["VIVANT_CACHE"] = str(folder / f"cache{trial}")
            ours.append(cpu(vivant_run, questions, url, folder / f"run{trial}"))
            flights.append(highest.value)
            lines = (folder / f"run{trial}" / "log.jsonl").read_bytes().count(b"\n")
            assert lines == count, f"{lines} of {count} in the log"
    server.terminate()
    peer_cpu, peer_wall = sorted(peers)[1]
    our_cpu, our_wall = sorted(ours)[1]
    ratio = our_cpu / peer_cpu
    print(f"{count} requests, {AT_ONCE} at a time, server delay {DELAY * 1000:.0f} ms; median of 3")
    print(f"peer, bare aiohttp: {peer_cpu / count * 1000:.2f} ms CPU a request, {peer_wall:.2f} s wall")
    print(f"vivant:             {our_cpu / count * 1000:.2f} ms CPU a request, {our_wall:.2f} s wall")
    print(f"ratio of CPU: {ratio:.2f} (limit {CPU_LIMIT}) {'ok' if ratio <= CPU_LIMIT else 'MISSED'}")
    fewest = min(flights)
    verdict = "ok" if fewest >= FLIGHT_LIMIT else "MISSED"
    print(f"in flight at most: {fewest} (at least {FLIGHT_LIMIT}) {verdict}")


if __name__ == "__main__":
    main()
