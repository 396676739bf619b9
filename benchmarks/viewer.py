"""The viewer over a run of 200,000 samples: how long a list takes, and how much memory the server holds.

Limits: each list of samples (first page, last page, filters, a search) within 100 ms, the server's memory within
300 MB. Peer for the list: reading the log from its start to the page wanted, which is what a viewer without an
index does. The server is another process; each address is asked ten times, and the median counts.

    python -m benchmarks.viewer [samples]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tests.support.view_kit import write_large

from vivant.runs.log import read_log

LIST_LIMIT = 0.100
MEMORY_LIMIT = 300
LISTS = {
    "first page": "",
    "last page": "page=999999",
    "wrong answers": "outcome=wrong",
    "one facet, page 20": "f.variant=base%2Bblank%400&page=20",
    "search": "q=take+77",
    "search and outcome": "q=hands&outcome=wrong&page=3",
    "slowest first": "sort=-seconds",
    "errors": "status=error",
}


def fetch(address: str) -> float:
    """Seconds until the page is there, waiting while the index is made."""
    while True:
        start = time.perf_counter()
        with urllib.request.urlopen(address, timeout=60) as answer:
            answer.read()
            if answer.status == 200:
                return time.perf_counter() - start
        time.sleep(0.2)


def memory(process: int) -> float:
    """The most that a process ever held, in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main(count: int) -> int:
    """Measure, print, and return 1 where a limit is missed."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_large(root / "runs" / "large", count)
        log = root / "runs" / "large" / "log.jsonl"
        print(f"{count:,} samples, log of {log.stat().st_size / 1e6:.0f} MB")
        start = time.perf_counter()
        for _ in read_log(log):
            pass
        peer = time.perf_counter() - start
        command = "from vivant.cli.main import main; main()"
        server = subprocess.Popen(
            [sys.executable, "-c", command, "view", str(root / "runs"), "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "VIVANT_CACHE": str(root / "cache")},
        )
        try:
            assert server.stderr is not None
            address = server.stderr.readline().split()[1]
            start = time.perf_counter()
            fetch(f"{address}run/large")
            print(
                f"index made in {time.perf_counter() - start:.1f} s; reading the log through takes {peer:.1f} s"
            )
            worst = 0.0
            for name, query in LISTS.items():
                first = fetch(f"{address}run/large?{query}")
                taken = statistics.median(fetch(f"{address}run/large?{query}") for _ in range(10))
                worst = max(worst, first)
                figures = f"first {first * 1000:6.0f} ms, then {taken * 1000:5.0f} ms"
                print(f"{name:22} {figures}, peer/viewer {peer / taken:5.0f}")
            held = memory(server.pid)
        finally:
            server.terminate()
            server.wait()
        print(f"slowest {worst * 1000:.0f} ms (limit {LIST_LIMIT * 1000:.0f})")
        print(f"memory {held:.0f} MB (limit {MEMORY_LIMIT})")
        return int(worst > LIST_LIMIT or held > MEMORY_LIMIT)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000))
