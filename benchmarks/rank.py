"""`vivant rank` on 30 runs of 10,000 samples: seconds of CPU, beside reading the same runs' logs alone.

Limit: 5 seconds of CPU for the command once the runs are scored, start of the program included. Peer: decoding every
line of the logs once, which a ranking that does not store scores would have to do at least.

    python -m benchmarks.rank [runs] [samples]
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.runs_kit import quiz, run_of
from vivant.runs.log import read_log

LIMIT = 5.0


def main() -> int:
    """Measure, print, and return 1 where the limit is missed."""
    runs, samples = (int(text) for text in (sys.argv[1:] + ["30", "10000"][len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as folder:
        questions = quiz(samples, cluster=5)
        for number in range(runs):
            generator = random.Random(number)
            right = [generator.random() < 0.3 + 0.01 * number for _ in questions]
            run_of(Path(folder) / f"run{number}", questions, right, model=f"m{number}").scores()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", "from vivant.cli.main import main; main()", "rank", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        start = time.process_time()
        lines = sum(
            1 for number in range(runs) for _ in read_log(Path(folder) / f"run{number}" / "log.jsonl")
        )
        reading = time.process_time() - start
    print(f"{runs} runs × {samples:,} samples: {seconds:.2f} s of CPU (limit {LIMIT:g} s)")
    print(
        f"peer: reading the {lines:,} lines of the logs alone {reading:.2f} s; ratio {seconds / reading:.2f}"
    )
    return 0 if seconds <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
