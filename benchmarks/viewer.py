"""The viewer over a run of 200,000 samples: how long lists take, the index, the home page, and memory.

Limits: any list within 100 ms at the 95th percentile of 200 requests, no address asked twice; the index within 10 s;
the server's memory within 300 MB; first contentful paint of the home page within 300 ms (needs Chromium; left out
without it). Lists and index count by the server's processor time, which other work on the machine changes less than
the clock; the clock is printed beside it. Peer for a list: reading the log from its start, which is what a viewer
without an index does. The server is another process.

    python -m benchmarks.viewer [samples]
"""

from __future__ import annotations

import os
import shutil
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
INDEX_LIMIT = 10.0
MEMORY_LIMIT = 300
PAINT_LIMIT = 300
REQUESTS = 200
LISTS = {
    "pages": "page={}",
    "wrong answers": "outcome=wrong&page={}",
    "one facet": "f.variant=base%2Bblank%400&page={}",
    "search": "q=take+{}",
    "search and outcome": "q=hands&outcome=wrong&page={}",
    "slowest first": "sort=-time&page={}",
    "errors": "outcome=error&sort=-length&page={}",
    "two facets, sorted": "f.angle=0&f.avatar=man&sort=score&page={}",
}


def measure_processor(process: int) -> float:
    """Seconds that all threads of a process have computed."""
    total = 0
    for file in Path(f"/proc/{process}/task").glob("*/schedstat"):
        total += int(file.read_text().split()[0])
    return total / 1e9


def fetch(address: str, server: int) -> tuple[float, float]:
    """Seconds on the clock and of the processor until the page is there, waiting while the index is made."""
    start, before = time.perf_counter(), measure_processor(server)
    while True:
        with urllib.request.urlopen(address, timeout=60) as answer:
            answer.read()
            if answer.status == 200:
                return time.perf_counter() - start, measure_processor(server) - before
        time.sleep(0.1)


def measure_memory(process: int) -> float:
    """The most that a process ever held, in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measure_paint(address: str) -> float | None:
    """First contentful paint of a page in ms, the median of five loads; None without a browser."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        return None
    from playwright.sync_api import sync_playwright

    paint = (
        "() => new Promise(done => { const ask = () => { const entry = performance.getEntriesByName("
        "'first-contentful-paint')[0]; entry ? done(entry.startTime) : setTimeout(ask, 10) }; ask() })"
    )
    with sync_playwright() as playwright:
        flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        times = []
        for _ in range(6):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(address)
            times.append(float(page.evaluate(paint)))
            page.close()
        browser.close()
    return statistics.median(times[1:])


def measure_lists(address: str, server: int, peer: float) -> tuple[float, float]:
    """Print each kind of list; the 95th percentile over all of them, on the clock and of the processor."""
    taken: list[tuple[float, float]] = []
    each = REQUESTS // len(LISTS)
    for name, query in LISTS.items():
        addresses = [f"{address}run/large?{query.format(1 + 7 * number)}" for number in range(each)]
        times = [fetch(each_address, server) for each_address in addresses]
        taken += times
        clock, processor = (statistics.median(kind) for kind in zip(*times, strict=True))
        figures = f"median {clock * 1000:4.0f} ms on the clock, {processor * 1000:4.0f} ms of the processor"
        print(f"{name:22} {figures}, peer/viewer {peer / clock:4.0f}")
    clock, processor = (statistics.quantiles(kind, n=20)[-1] for kind in zip(*taken, strict=True))
    return clock, processor


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
        server = subprocess.Popen(
            [sys.executable, "-m", "vivant", "view", str(root / "runs"), "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "VIVANT_CACHE": str(root / "cache")},
        )  # fmt: skip
        try:
            assert server.stderr is not None
            address = server.stderr.readline().split()[1]
            clock, index = fetch(f"{address}run/large", server.pid)
            print(f"index made in {clock:.1f} s on the clock; reading the log through takes {peer:.1f} s")
            list_clock, slowest = measure_lists(address, server.pid, peer)
            held = measure_memory(server.pid)
            paint = measure_paint(address)
        finally:
            server.terminate()
            server.wait()
        print(
            f"95th percentile of {REQUESTS} lists {slowest * 1000:.0f} ms of the processor "
            f"(limit {LIST_LIMIT * 1000:.0f}), {list_clock * 1000:.0f} ms on the clock"
        )
        print(f"index {index:.1f} s of the processor (limit {INDEX_LIMIT:.0f})")
        print(f"memory {held:.0f} MB (limit {MEMORY_LIMIT})")
        print(
            "no browser"
            if paint is None
            else f"first paint of the home page {paint:.0f} ms (limit {PAINT_LIMIT})"
        )
        missed = slowest > LIST_LIMIT or index > INDEX_LIMIT or held > MEMORY_LIMIT
        return int(missed or (paint is not None and paint > PAINT_LIMIT))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000))
