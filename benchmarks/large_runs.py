"""Memory of very large runs: a million text questions asked, scored, shown in a table, and two such runs compared.

Limits: `vivant run` (with its scores and table) and `vivant table` of a million rows under 500 MB, `vivant compare`
of two such runs under 1 GB. Peer: a loop that holds the questions alone, as `json.loads` gives them; the ratio to it is
printed beside each. Every command is a process of its own, and its peak is what the system reports when it ends. With
fewer samples the limits are the same: half the samples should take far more than half the memory.

    python -m benchmarks.large_runs [samples]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUN_LIMIT = 500
COMPARE_LIMIT = 1000
_PEER = "import json, sys; held = [json.loads(line) for line in open(sys.argv[1], 'rb')]"


def make_questions(folder: Path, count: int) -> Path:
    """Questions as long as real ones, with facets."""
    path = folder / "questions.jsonl"
    with path.open("w") as file:
        for number in range(count):
            line = {
                "id": f"q{number}",
                "question": f"Question {number}: which of these happens next, and why does it happen then?",
                "choices": [f"choice {letter} of question {number}" for letter in "abcd"],
                "answer": number % 4,
                "facets": {"kind": str(number % 7)},
            }
            file.write(json.dumps(line) + "\n")
    return path


def peak(*command: str) -> tuple[float, float, float]:
    """Run a command; megabytes at its peak, CPU seconds and seconds."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    words = process.stderr.read().decode("utf-8", "replace")
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {words[-500:]}")
    return used.ru_maxrss / 1000, used.ru_utime + used.ru_stime, time.perf_counter() - began


def main() -> None:
    """All of it, in a folder that is removed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    vivant = (sys.executable, "-m", "vivant")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["VIVANT_CACHE"] = str(folder / "cache")
        questions = str(make_questions(folder, count))
        size = Path(questions).stat().st_size / 1e6
        held, _, _ = peak(sys.executable, "-c", _PEER, questions)
        print(f"{count:,} questions, {size:.0f} MB; a loop that holds them: {held:.0f} MB")
        first, second = str(folder / "first"), str(folder / "random")
        commands = {
            "run": ((*vivant, "run", questions, "--model", "first", "--out", first), RUN_LIMIT),
            "a second run": ((*vivant, "run", questions, "--model", "random", "--out", second), RUN_LIMIT),
            "table": ((*vivant, "table", first, "--by", "kind"), RUN_LIMIT),
            "compare": ((*vivant, "compare", first, second), COMPARE_LIMIT),
        }
        for what, (command, limit) in commands.items():
            megabytes, used, seconds = peak(*command)
            verdict = "ok" if megabytes <= limit else "MISSED"
            print(
                f"{what}: {megabytes:.0f} MB (limit {limit}) {verdict}; {megabytes / held:.2f} × the loop; "
                f"{used:.0f} s of CPU, {seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
