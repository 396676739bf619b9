"""Importing an Inspect log of 100,000 samples: seconds and memory, beside Inspect's own reader of the same file.

    python benchmarks/inspect_import.py [SAMPLES]

Limit: 30 s for 100,000 samples, scores and table included. Peer: `inspect_ai.log.read_eval_log`, where Inspect is
installed. The file is written as Inspect writes it: a Zstandard member per sample, with events.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

LIMIT = 30.0
_OURS = """
from pathlib import Path
from vivant.bridges.inspect_import import import_inspect
run = import_inspect(Path({path!r}), Path({out!r}))
row = run.table().rows[0]
assert row.n == {count}, row.n
"""
_PEER = """
from inspect_ai.log import read_eval_log
log = read_eval_log({path!r})
assert len(log.samples) == {count}
"""


def write_log(path: Path, count: int) -> None:
    """A log of short questions, with the events of one request each."""
    import zstandard

    compress = zstandard.ZstdCompressor(level=3).compress
    members: list[tuple[str, bytes]] = []
    spec = {
        "task": "speed", "model": "m", "created": "2026-01-01T00:00:00+00:00", "eval_id": "e", "run_id": "r",
        "task_id": "t", "dataset": {"samples": count}, "config": {"epochs": 1},
    }  # fmt: skip
    results = {"total_samples": count, "completed_samples": count, "scores": [
        {"name": "match", "scorer": "match", "params": {}, "metrics": {}}]}  # fmt: skip
    head = {"version": 2, "status": "success", "eval": spec, "plan": {}, "stats": {}, "results": results}
    for number in range(count):
        message = {
            "id": f"m{number}",
            "role": "user",
            "content": f"How many stones are in pile {number}? " * 4,
        }
        reply = {
            "id": f"r{number}",
            "role": "assistant",
            "content": f"There are {number % 7} stones.",
            "source": "generate",
        }
        output = {
            "model": "m",
            "choices": [{"message": reply, "stop_reason": "stop"}],
            "completion": reply["content"],
        }
        events = [
            {"uuid": f"{number}-{k}", "span_id": "s", "timestamp": "2026-01-01T00:00:00+00:00", "working_start": 0.1,
             "event": "span_begin", "id": f"{k}", "type": "solver", "name": "generate"}
            for k in range(8)
        ]  # fmt: skip
        sample = {
            "id": f"q{number}", "epoch": 1, "input": [message], "target": str(number % 5), "messages": [message, reply],
            "output": output, "scores": {"match": {"value": "C" if number % 3 else "I", "answer": str(number % 7)}},
            "metadata": {"kind": f"k{number % 4}"}, "store": {}, "events": events, "model_usage": {}, "attachments": {},
        }  # fmt: skip
        members.append((f"samples/q{number}_epoch_1.json", json.dumps(sample).encode()))
    members.append(("header.json", json.dumps(head).encode()))
    _write_zip(path, [(name, compress(data), data) for name, data in members])


def _write_zip(path: Path, members: list[tuple[str, bytes, bytes]]) -> None:
    """A zip whose members are compressed already: stored, then marked as Zstandard."""
    import zlib

    with zipfile.ZipFile(path, "w") as archive:
        for name, packed, data in members:
            info = zipfile.ZipInfo(name)
            archive.writestr(info, packed)
            info.compress_type, info.file_size, info.CRC = 93, len(data), zlib.crc32(data)


def measure(script: str) -> tuple[float, float, float]:
    """Seconds of the wall clock and of the processor, and megabytes, of a script in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    code = script + "\nimport resource\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, cpu, float(output.split()[-1])


def main() -> None:
    """Measure and print; exit with 1 above the limit."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speed.eval"
        write_log(path, count)
        print(f"{count:,} samples, {path.stat().st_size / 1e6:.0f} MB")
        ours = measure(_OURS.format(path=str(path), out=f"{folder}/run", count=count))
        print(f"vivant import:  {ours[0]:6.1f} s, {ours[1]:6.1f} s of CPU, {ours[2]:6.0f} MB")
        if importlib.util.find_spec("inspect_ai") is not None:
            peer = measure(_PEER.format(path=str(path), count=count))
            print(f"read_eval_log:  {peer[0]:6.1f} s, {peer[1]:6.1f} s of CPU, {peer[2]:6.0f} MB")
    if ours[0] > LIMIT * max(count / 100_000, 0.1):
        sys.exit(f"above the limit of {LIMIT:g} s for 100,000 samples")


if __name__ == "__main__":
    main()
