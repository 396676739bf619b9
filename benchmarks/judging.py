"""Judging beside generating: 2,000 MMIE items with one 23 kB picture each, 64 at a time, the same local server.

Peer: our own generation of the answers. Judging reads them from the run, puts question, answer and rubric together,
sends the same picture, reads the verdict by its contract and logs it. Aim: no more CPU than generating takes. Its
request is three kilobytes longer (rubric, question and answer), which are encoded, hashed and logged too: a tenth
more is tolerated for that and for noise. Scoring the run from the verdicts, which needs no server, is measured
apart. The server is another process and answers after 50 ms.

    python -m benchmarks.judging [samples]
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.engine import AT_ONCE, DELAY, answer_completions, make_questions

LIMIT = 1.1
ANSWER = (
    "The boat leaves the harbour at dawn and comes home in the evening, and everyone is on the quay. " * 3
)


def serve(port: Any) -> None:
    """Answer generation with a text and judging with a verdict, after 50 ms."""
    import asyncio

    from aiohttp import web

    def body(text: str) -> bytes:
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9}
        return json.dumps({"model": "m", "choices": [choice], "usage": usage}).encode()

    answer, verdict = body(ANSWER), body("### Feedback\nIt is told well and holds together.\n### Score\n4")

    async def handle(request: web.Request) -> web.Response:
        judging = b"Judge it now" in await request.read()
        await asyncio.sleep(DELAY)
        return web.Response(body=verdict if judging else answer, content_type="application/json")

    answer_completions(handle, port)


def make_items(folder: Path, count: int) -> None:
    """The pictures of the engine's benchmark under questions in MMIE's released form."""
    make_questions(folder, count)
    items = []
    for number in range(count):
        question = [{"text": "Go on with the story, please.", "image": f"{number}.jpg"}]
        reference = [{"text": "And they lived on.", "image": None}]
        turns = [{"from": "human", "content": question}, {"from": "gpt", "content": reference}]
        items.append({"id": f"SA-{number}", "conversations": turns, "field": "Literature"})
    (folder / "mmie.json").write_text(json.dumps(items))


def generate(folder: Path, url: str, out: Path) -> None:
    """The peer."""
    from vivant.engine.evaluation import evaluate

    evaluate(
        "mmie/sa",
        "openai/m",
        data=(str(folder),),
        out=str(out),
        concurrency=AT_ONCE,
        base_url=url,
    )


def judge(url: str, out: Path) -> None:
    """All answers judged."""
    from vivant.judging.judge_run import judge_run
    from vivant.judging.options import JudgeOptions
    from vivant.runs.run import Run

    options = JudgeOptions(model="openai/j", base_url=url, concurrency=AT_ONCE)
    judge_run(Run(out), [options])


def score(out: Path) -> None:
    """The verdicts as scores."""
    from vivant.runs.run import Run

    scores = [score for part in Run(out).scores() for _, _, score in part.rows]
    assert all(score.status == "scored" for score in scores), scores[:2]


def cpu(function: Any, *arguments: Any) -> float:
    """CPU seconds of a function in a fresh process; what is loaded once for all items is loaded before."""
    context = multiprocessing.get_context("spawn")
    parent, child = context.Pipe()
    process = context.Process(target=_timed, args=(child, function, arguments))
    process.start()
    child.close()  # so that a process that fails ends the wait
    seconds: float = parent.recv()
    process.join()
    return seconds


def _timed(pipe: Any, function: Any, arguments: tuple[Any, ...]) -> None:

    before = os.times()
    function(*arguments)
    after = os.times()
    pipe.send(after.user + after.system - before.user - before.system)


def main() -> None:
    """Both in turn, five times each; the ratio of the best, which other work on the machine disturbs least."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    context = multiprocessing.get_context("spawn")
    port = context.Value("i", 0)
    server = context.Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.05)
    url = f"http://127.0.0.1:{port.value}/v1"
    generated: list[float] = []
    judged: list[float] = []
    scored: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        folder.mkdir()
        make_items(folder, count)
        for trial in range(5):
            os.environ["VIVANT_CACHE"] = f"{name}/cache{trial}"
            out = Path(name) / f"run{trial}"
            generated.append(cpu(generate, folder, url, out))
            judged.append(cpu(judge, url, out))
            scored.append(cpu(score, out))
    server.terminate()
    peer, ours = min(generated), min(judged)
    ratio = ours / peer
    print(f"{count} items, {AT_ONCE} at a time, server delay {DELAY * 1000:.0f} ms; best of 5")
    print(f"generating: {peer / count * 1000:.2f} ms CPU an item")
    print(f"judging:    {ours / count * 1000:.2f} ms CPU an item")
    print(f"scoring:    {min(scored) / count * 1000:.2f} ms CPU an item")
    print(f"ratio of CPU: {ratio:.2f} (limit {LIMIT}) {'ok' if ratio <= LIMIT else 'MISSED'}")
    sys.exit(0 if ratio <= LIMIT else 1)


if __name__ == "__main__":
    main()
