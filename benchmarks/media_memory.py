"""Memory with large requests: 20 questions with 100 pictures of 1920 × 1080 each, against a local server.

Peer: a one-by-one loop at the same concurrency (each of its workers reads the files of a question, encodes them, posts
them, takes the next). Limits: peak memory ≤ 1.5 × the peer's at 4 at a time, and, at 16 at a time, what the run holds
beyond an idle process ≤ 1.25 × the stated 512 MB (`engine/byte_budget.py`).

    python -m benchmarks.media_memory [questions]
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import resource
import sys
import tempfile
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks.engine import start_server

PICTURES = 100
LIMIT = 1.5
HELD = 1.25


def make_questions(folder: Path, count: int) -> Path:
    """Pictures of about 400 kB: a smooth ground with some noise, as photographs have."""
    import numpy as np
    from PIL import Image

    generator = np.random.default_rng(0)
    ramp = np.linspace(0, 200, 1920, dtype=np.float32)[None, :, None].repeat(1080, 0).repeat(3, 2)
    for number in range(PICTURES):
        pixels = ramp + generator.normal(20, 6, (1080, 1920, 1)).astype(np.float32) + number % 7
        buffer = BytesIO()
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=85)
        (folder / f"{number}.jpg").write_bytes(buffer.getvalue())
    line = {"images": [f"{n}.jpg" for n in range(PICTURES)], "answer": "A"}
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps({"question": f"Question {n}?", **line}) + "\n" for n in range(count)))
    return path


def loop(folder: Path, count: int, at_once: int, url: str) -> None:
    """The peer."""
    import aiohttp

    async def main() -> None:
        numbers = iter(range(count))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def worker() -> None:
                for _ in numbers:
                    urls = (
                        f"data:image/jpeg;base64,{b64encode((folder / f'{n}.jpg').read_bytes()).decode()}"
                        for n in range(PICTURES)
                    )
                    content = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
                    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
                    async with session.post(f"{url}/chat/completions", json=body) as response:
                        json.loads(await response.read())

            await asyncio.gather(*(worker() for _ in range(at_once)))

    asyncio.run(main())


def run(questions: Path, at_once: int, url: str, out: Path) -> None:
    """The same through `vivant.evaluate`."""
    from vivant.engine.evaluation import evaluate

    evaluate(str(questions), "openai/m", out=out, concurrency=at_once, base_url=url, cache="off")


def idle(*_: Any) -> None:
    """What is imported anyway."""
    import vivant.engine.evaluation
    import vivant.media
    import vivant.models.openai  # noqa: F401


def measure(function: Any, *arguments: Any) -> float:
    """Peak megabytes of a function in a fresh process."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_measured, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    peak: float = mine.recv()
    process.join()
    return peak


def _measured(pipe: Any, function: Any, arguments: tuple[Any, ...]) -> None:
    os.environ.setdefault("OPENAI_API_KEY", "none")
    function(*arguments)
    pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Both, at 4 and at 16 at a time."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    server, url, _ = start_server()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["VIVANT_CACHE"] = str(folder / "cache")
        questions = make_questions(folder, count)
        each = sum(file.stat().st_size for file in folder.glob("*.jpg")) / 1e6
        print(f"{count} questions with {PICTURES} pictures, {each:.0f} MB each; peak memory in MB")
        base = measure(idle)
        peer = measure(loop, folder, count, 4, url)
        ours = measure(run, questions, 4, url, folder / "run4")
        ratio = ours / peer
        print(f"4 at a time: one-by-one loop {peer:.0f}, vivant {ours:.0f}")
        print(f"ratio {ratio:.2f} (limit {LIMIT}) {'ok' if ratio <= LIMIT else 'MISSED'}")
        many = measure(run, questions, 16, url, folder / "run16")
        share = (many - base) / 512
        print(f"16 at a time: one-by-one loop {measure(loop, folder, count, 16, url):.0f}, vivant {many:.0f}")
        print(
            f"held beyond an idle process ({base:.0f}): {many - base:.0f}, of 512 stated: {share:.2f}", end=""
        )
        print(f" (limit {HELD}) {'ok' if share <= HELD else 'MISSED'}")
    server.terminate()


if __name__ == "__main__":
    main()
