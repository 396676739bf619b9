"""Memory of a long run: 50,000 questions, with a model that answers at once and with one behind HTTP.

What a run must hold (the questions) is there before the first request; from then on it must not grow. Limit: from a
tenth of the way to the end, resident memory grows by ≤ 10 %. The second run has all that a real one has: pictures,
connections, an answer in a thousand a 503, retries, the response cache, rates, budgets. Then its log is cut to half and
the run is resumed, with one answer in ten marked as failed, so that the log is rewritten: it must take no more memory
than the first time.

    python -m benchmarks.engine_memory [samples]
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.engine import AT_ONCE, start_server

GROWTH = 1.10
PICTURES = 100
FAIL_EVERY = 1000


def make_questions(folder: Path, count: int) -> Path:
    """Questions as long as real ones, with a picture each."""
    import numpy as np
    from PIL import Image

    chance = np.random.default_rng(0)
    for number in range(PICTURES):
        pixels = chance.integers(0, 255, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.jpg", quality=90)
    path = folder / "questions.jsonl"
    with path.open("w") as file:
        for number in range(count):
            question = f"Question {number}: " + "which of these happens next, and why? " * 8
            choices = [f"choice {number} {letter} " + "and so on " * 5 for letter in "abcd"]
            line = {
                "question": question,
                "choices": choices,
                "answer": 0,
                "image": f"{number % PICTURES}.jpg",
            }
            file.write(json.dumps(line) + "\n")
    return path


def resident() -> float:
    """Megabytes that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def run(pipe: Any, questions: str, out: str, url: str) -> None:
    """Evaluate, and report memory at every tenth of the way."""
    from vivant.core.records import Record
    from vivant.engine import run_execution
    from vivant.engine.options import RunOptions
    from vivant.engine.progress import LineProgress
    from vivant.engine.run_planning import plan_run

    marks: list[float] = []

    class Watching(LineProgress):
        def update(self, record: Record) -> None:
            super().update(record)
            counts = self._counts
            if counts.done % max(1, counts.total // 10) == 0:
                marks.append(resident())

    run_execution.open_progress = lambda total, done: Watching(total, done, sys.stderr)
    options = RunOptions(selectors=(questions,), model="first", out=out)
    if url:
        options = RunOptions(
            selectors=(questions,),
            model="openai/m",
            out=out,
            concurrency=AT_ONCE,
            base_url=url,
            rpm=10_000_000,
            budget_tokens=10**12,
        )
    prepared = plan_run(options)
    ready = resident()
    began = time.perf_counter()
    run_execution.run_plan(prepared, options)
    pipe.send((ready, marks, time.perf_counter() - began))


def measured(questions: Path, out: Path, url: str = "") -> tuple[float, list[float], float]:
    """In a fresh process."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=run, args=(theirs, str(questions), str(out), url))
    process.start()
    result: tuple[float, list[float], float] = mine.recv()
    process.join()
    return result


def grown(what: str, count: int, questions: Path, out: Path, url: str = "") -> list[float]:
    """One run, and what it shows."""
    ready, marks, seconds = measured(questions, out, url)
    growth = marks[-1] / marks[0]
    print(
        f"{what}: {count} samples in {seconds:.0f} s; log {(out / 'log.jsonl').stat().st_size / 1e6:.0f} MB"
    )
    print(f"memory in MB: {ready:.0f} when planned; {' '.join(f'{mark:.0f}' for mark in marks)}")
    verdict = "ok" if growth <= GROWTH else "MISSED"
    print(f"growth from the first tenth to the end: {growth:.3f} (limit {GROWTH}) {verdict}")
    return marks


def main() -> None:
    """At once, through HTTP, and resumed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    server, url, _ = start_server(FAIL_EVERY)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["VIVANT_CACHE"] = str(folder / "cache")
        os.environ.setdefault("OPENAI_API_KEY", "none")
        questions = make_questions(folder, count)
        grown("a model that answers at once", count, questions, folder / "first")
        marks = grown("a model behind HTTP", count, questions, folder / "run", url)
        log = folder / "run" / "log.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)[: count // 2]
        failed = b'"reply":{"status":"error","error":"told to fail"'
        log.write_bytes(
            b"".join(
                line if n % 10 else line.replace(b'"reply":{', failed + b",", 1)
                for n, line in enumerate(lines)
            )
        )
        _, again, _ = measured(questions, folder / "run", url)
        ratio = max(again) / max(marks)
        verdict = "ok" if ratio <= GROWTH else "MISSED"
        print(f"resumed, with {count // 20} lines dropped: at most {max(again):.0f} MB")
        print(f"ratio to the first run: {ratio:.3f} (limit {GROWTH}) {verdict}")
    server.terminate()


if __name__ == "__main__":
    main()
