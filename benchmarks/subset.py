"""`vivant subset make` on 30 runs of 10,000 samples: seconds of CPU, and the error on models left out.

Limit: 60 seconds of CPU, start of the program included. Peer for the error: as many samples drawn at random.

    python -m benchmarks.subset [runs] [samples]
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.support.runs_kit import quiz, run_of
from vivant.metrics.item_response import predict
from vivant.runs.subset import read_subset

LIMIT = 60.0
SIZE = 100


def main() -> int:
    """Measure, print, and return 1 where the limit is missed."""
    runs, samples = (int(text) for text in (sys.argv[1:] + ["30", "10000"][len(sys.argv) - 1 :]))
    rng = np.random.default_rng(0)
    difficulties = np.repeat(rng.normal(0, 1.2, samples // 5), 5) + rng.normal(0, 0.8, samples)
    with tempfile.TemporaryDirectory() as folder:
        questions = quiz(samples, cluster=5)
        for number in range(runs):
            generator = random.Random(number)
            chances = predict(difficulties, generator.gauss(0, 0.8))
            right = [generator.random() < chance for chance in chances]
            run_of(Path(folder) / "runs" / f"run{number}", questions, right, model=f"m{number}").scores()
        out = Path(folder) / "subset.json"
        command = [sys.executable, "-c", "from vivant.cli.main import main; main()", "-q", "subset", "make"]
        command += [str(Path(folder) / "runs"), "--size", str(SIZE), "-o", str(out)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        task = read_subset(out).tasks["jsonl/quiz"]
    print(f"{SIZE} of {samples:,} samples from {runs} runs: {seconds:.1f} s of CPU (limit {LIMIT:g} s)")
    print(
        f"error on models left out {100 * task.error:.2f} points; peer, at random: {100 * task.random_error:.2f}"
    )
    return 0 if seconds <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
