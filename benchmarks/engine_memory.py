"""Memory of a long run: 50,000 questions with a model that answers at once; then the same run resumed.

What a run must hold (the questions) is there before the first request; from then on it must not grow. Limit: from a
tenth of the way to the end, resident memory grows by ≤ 10 %. Then the log is cut to half and the run is resumed, with
one answer in ten marked as failed, so that the log is rewritten: it must take no more memory than the first time.

    python benchmarks/engine_memory.py [samples]
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GROWTH = 1.10


def make_questions(folder: Path, count: int) -> Path:
    """Questions as long as real ones."""
    path = folder / "questions.jsonl"
    with path.open("w") as file:
        for number in range(count):
            question = f"Question {number}: " + "which of these happens next, and why? " * 8
            choices = [f"choice {number} {letter} " + "and so on " * 5 for letter in "abcd"]
            file.write(json.dumps({"question": question, "choices": choices, "answer": 0}) + "\n")
    return path


def resident() -> float:
    """Megabytes that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def run(pipe: Any, questions: str, out: str) -> None:
    """Evaluate, and report memory at every tenth of the way."""
    from vivant import evaluation
    from vivant.engine.progress import LineProgress
    from vivant.types import Record

    marks: list[float] = []

    class Watching(LineProgress):
        def update(self, record: Record) -> None:
            super().update(record)
            counts = self._counts
            if counts.done % max(1, counts.total // 10) == 0:
                marks.append(resident())

    evaluation.progress_for = lambda total, done: Watching(total, done, sys.stderr)
    options = evaluation.Options(selectors=(questions,), model="first", out=out)
    prepared = evaluation.prepare(options)
    ready = resident()
    began = time.perf_counter()
    evaluation.run_plan(prepared, options)
    pipe.send((ready, marks, time.perf_counter() - began))


def measured(questions: Path, out: Path) -> tuple[float, list[float], float]:
    """In a fresh process."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=run, args=(theirs, str(questions), str(out)))
    process.start()
    result: tuple[float, list[float], float] = mine.recv()
    process.join()
    return result


def main() -> None:
    """First run, then a resumed one."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        questions = make_questions(folder, count)
        ready, marks, seconds = measured(questions, folder / "run")
        growth = marks[-1] / marks[0]
        print(
            f"{count} samples in {seconds:.0f} s; log {(folder / 'run/log.jsonl').stat().st_size / 1e6:.0f} MB"
        )
        print(f"memory in MB: {ready:.0f} when planned; {' '.join(f'{mark:.0f}' for mark in marks)}")
        verdict = "ok" if growth <= GROWTH else "MISSED"
        print(f"growth from the first tenth to the end: {growth:.3f} (limit {GROWTH}) {verdict}")
        log = folder / "run" / "log.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)[: count // 2]
        failed = b'"reply":{"status":"error","error":"told to fail"'
        log.write_bytes(
            b"".join(
                line if n % 10 else line.replace(b'"reply":{', failed + b",", 1)
                for n, line in enumerate(lines)
            )
        )
        _, again, _ = measured(questions, folder / "run")
        ratio = max(again) / max(marks)
        verdict = "ok" if ratio <= GROWTH else "MISSED"
        print(f"resumed, with {count // 20} lines dropped: at most {max(again):.0f} MB")
        print(f"ratio to the first run: {ratio:.3f} (limit {GROWTH}) {verdict}")


if __name__ == "__main__":
    main()
