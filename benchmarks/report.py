"""A report over 100,000 scored samples in two runs: within 10 s of CPU and 2 MB.

Judged by CPU time, which is the time it takes on a machine that does nothing else: one thread does all of it.
Peer: decoding the same files with msgspec and nothing else, which no report can do without.

    python -m benchmarks.report [samples]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.support.view_kit import write_large
from vivant.reporting.html import write_report
from vivant.runs.run import load_run

SECONDS_LIMIT = 10.0
SIZE_LIMIT = 2.0


def main(count: int) -> int:
    """Measure, print, and return 1 where a limit is missed."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = [
            write_large(root / name, count // 2, name, skill)
            for name, skill in (("strong", 0.6), ("weak", 0.4))
        ]
        start = time.process_time()
        for path in paths:
            run = load_run(path)
            _ = (run.dir.samples(), run.records())
        peer = time.process_time() - start
        start, cpu = time.perf_counter(), time.process_time()
        file = write_report(paths, root / "report.html")
        wall, taken = time.perf_counter() - start, time.process_time() - cpu
        size = file.stat().st_size / 1e6
        print(
            f"{count:,} samples: {taken:.1f} s of CPU (limit {SECONDS_LIMIT:.0f}), {wall:.1f} s on the clock"
        )
        print(f"{size:.2f} MB (limit {SIZE_LIMIT:.0f})")
        print(f"decoding alone {peer:.1f} s; ratio {taken / peer:.1f}")
        return int(taken > SECONDS_LIMIT or size > SIZE_LIMIT)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
