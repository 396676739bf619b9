"""CPU time of `vivant items` over 30 runs of 10,000 items: the whole command, and the analysis alone. Limit: 5 s.

python -m benchmarks.items [RUNS] [ITEMS]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import msgspec
import numpy as np

from tests.support.runs_kit import answer, make_run, quiz
from vivant.analysis.items.findings import analyse_items
from vivant.analysis.items.responses import read_responses
from vivant.core.types import Text
from vivant.runs.run import load_runs

LIMIT = 5.0


def make_runs(folder: Path, runs: int, items: int) -> None:
    """Runs of models that are right on 30 to 90 % of four options, with replies of 300 characters, scored."""
    rng = np.random.default_rng(0)
    samples = [
        msgspec.structs.replace(
            sample,
            question=(Text(f"Which tree stands {n} steps from house {n * 7919 % 1000}, street {n * 31}?"),),
        )
        for n, sample in enumerate(quiz(items))
    ]
    for number in range(runs):
        picks = np.where(rng.random(items) < 0.3 + 0.6 * number / runs, 0, rng.integers(1, 4, items))
        records = [
            answer(sample, int(pick), text="x" * 300) for sample, pick in zip(samples, picks, strict=True)
        ]
        make_run(folder / f"r{number}", samples, records, model=f"m{number}").scores()


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    items = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_runs(folder, runs, items)
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "vivant", "-q", "items", str(folder)], check=True, capture_output=True
        )
        after = getrusage(RUSAGE_CHILDREN)
        command = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        (matrix,) = read_responses(load_runs(folder))
        start = time.process_time()
        analyse_items(matrix)
        alone = time.process_time() - start
    print(f"{runs} runs × {items:,} items: command {command:.1f} s of CPU, analysis alone {alone:.1f} s")
    sys.exit(command > LIMIT)


if __name__ == "__main__":
    main()
