"""The MIMIC pipeline from clean to the pool of comments: 15,000, 50,000 and 150,000 videos with 100 comments each.

Limits at 150,000 videos and 15 million comments: 10 minutes and 4 GB on two cores; time that grows with the number of
videos to a power of at most 1.1. Time is elapsed time, and beside it CPU seconds shared by two cores: what the run
would take on a machine that does nothing else. Memory is that of all processes together, sampled. The benchmark grows
with the world (4,000 videos of 150,000). Peer: the same selection in pandas, at the largest size it manages in 4 GB.

    python benchmarks/mimic_pipeline.py [FOLDER] [VIDEOS…]

Worlds and work are kept in FOLDER, where one is named, and used again.
"""

from __future__ import annotations

import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

SIZES = (15_000, 50_000, 150_000)
PER_VIDEO = 100
TARGET_SHARE = 4000 / 150_000
STEPS = ("clean", "select", "split", "tasks", "audit", "pool")
MINUTES, GIGABYTES, EXPONENT = 10.0, 4.0, 1.1
CORES = 2


# ── in a process of its own ──


def run_step(work: Path, name: str, videos: int) -> None:
    """One step with the settings of a benchmark of 4,000 of 150,000."""
    from vivant_build.mimic.audit import audit
    from vivant_build.mimic.cleaning import clean
    from vivant_build.mimic.comment_pool import make_comment_pool
    from vivant_build.mimic.selection import select_videos
    from vivant_build.mimic.settings import AuditSettings, PipelineSettings, SelectSettings
    from vivant_build.mimic.split import split_videos
    from vivant_build.mimic.tasks import make_tasks

    target = round(videos * TARGET_SHARE)
    settings = PipelineSettings(
        select=SelectSettings(target=target, top={"*": 0.05}), audit=AuditSettings(practice=target)
    )
    if name == "clean":
        clean(work, settings)
    elif name == "audit":
        audit(work, settings, redraw=True)
    else:
        steps: dict[str, Callable[[Path, PipelineSettings], object]] = {
            "select": select_videos,
            "split": split_videos,
            "tasks": make_tasks,
            "pool": make_comment_pool,
        }
        steps[name](work, settings)


def pandas_selection(work: Path, videos: int) -> None:
    """What the step select does, as one would write it in pandas."""
    import numpy as np
    import pandas as pd

    table = pd.read_parquet(work / "clean" / "videos")
    comments = pd.read_parquet(work / "clean" / "comments")
    alone = comments[comments["reply_to"] == ""].groupby("ref").size()
    table["alone"] = table["ref"].map(alone).fillna(0)
    table["comments"] = table["comment_count"].fillna(table["alone"])
    by_platform = table.groupby("platform")
    prior = by_platform["views"].transform("median").clip(lower=1)
    for part in ("likes", "comments"):
        rate = by_platform[part].transform("sum") / by_platform["views"].transform("sum").clip(lower=1)
        table[f"{part}_rate"] = (table[part] + prior * rate) / (table["views"] + prior)
    weights = {"views": 1.0, "likes": 1.0, "comments": 1.0, "likes_rate": 0.5, "comments_rate": 0.5}
    places = pd.DataFrame({part: table.groupby("platform")[part].rank(pct=True) for part in weights})
    known = places.notna() * np.array(list(weights.values()))
    table["score"] = (places.fillna(0) * np.array(list(weights.values()))).sum(axis=1) / known.sum(axis=1)
    table["place"] = table.groupby("platform")["score"].rank(pct=True, ascending=False)
    share = table["uploader"].map(table["uploader"].value_counts(normalize=True))
    fit = table[(table["place"] <= 0.05) & (table["alone"] >= 5) & (share <= 0.05)].copy()
    fit = fit.sort_values(["score", "ref"], ascending=[False, True]).drop_duplicates("dup_group")
    fit = fit[fit.groupby("uploader").cumcount() < 3]
    bins = pd.cut(fit["duration"], [0, 15, 60, 300, 1200, 1e9], right=False)
    fit["stratum"] = fit["category"] + "|" + fit["language"] + "|" + bins.astype(str)
    sizes = fit["stratum"].value_counts()
    wanted = (np.sqrt(sizes) / np.sqrt(sizes).sum() * round(videos * TARGET_SHARE)).clip(upper=sizes).round()
    chosen = fit[fit.groupby("stratum").cumcount() < fit["stratum"].map(wanted)]
    assert len(chosen)


# ── measuring ──


class Measured(threading.Thread):
    """A command with its elapsed time, CPU time and the memory of all its processes."""

    def __init__(self, *arguments: str, limit: float | None = None) -> None:
        super().__init__(daemon=True)
        self.memory = 0.0
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        self._process = subprocess.Popen([sys.executable, __file__, *arguments], stderr=subprocess.PIPE)
        self._limit = limit
        self.start()
        _, complaint = self._process.communicate()
        self.seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.works = self._process.returncode == 0
        if not self.works and limit is None:
            raise SystemExit(complaint.decode(errors="replace"))

    def run(self) -> None:
        while self._process.poll() is None:
            self.memory = max(self.memory, sum(map(_resident, _family(self._process.pid))))
            if self._limit is not None and self.memory > self._limit:
                self._process.kill()
            time.sleep(0.1)


def _family(pid: int) -> list[int]:
    """A process and all that it started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += parents.get(one, [])
    return found


def _resident(pid: int) -> float:
    """Gigabytes of its own, and its part of what it shares."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e6 for line in lines if line.startswith("Pss:")), 0.0)


def measure(folder: Path, videos: int) -> dict[str, float]:
    """All steps at one size; prints a line each and returns the sums."""
    from vivant_build.mimic.world import WorldPlan, make_world

    work = folder / f"world-{videos}"
    make_world(work, WorldPlan(videos=videos, comments=videos * PER_VIDEO))
    for name in (*STEPS, "vectors"):
        shutil.rmtree(work / name, ignore_errors=True)
    total = {"seconds": 0.0, "cpu": 0.0, "memory": 0.0}
    for name in STEPS:
        done = Measured("step", str(work), name, str(videos))
        total["seconds"] += done.seconds
        total["cpu"] += done.cpu
        total["memory"] = max(total["memory"], done.memory)
        print(
            f"  {name:<8} {done.seconds:7.1f} s elapsed, {done.cpu:7.1f} s of CPU, {done.memory:5.2f} GB",
            flush=True,
        )
    return total


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The power of the size that fits the times best."""
    x, y = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)) / sum(
        (a - middle_x) ** 2 for a in x
    )


def main(folder: Path, sizes: Sequence[int]) -> int:
    """Measure every size, then the peer."""
    found: dict[int, dict[str, float]] = {}
    for videos in sizes:
        print(f"{videos:,} videos, {videos * PER_VIDEO:,} comments", flush=True)
        found[videos] = measure(folder, videos)
        (folder / "measured.json").write_text(json.dumps(found))
    largest = max(sizes)
    minutes, shared = found[largest]["seconds"] / 60, found[largest]["cpu"] / CORES / 60
    quick = min(minutes, shared) <= MINUTES
    print(
        f"vivant   {largest:,} videos: {minutes:.1f} min elapsed, {shared:.1f} min of {CORES} cores "
        f"(limit: {MINUTES:.0f})  {'ok' if quick else 'MISSED'}"
    )
    memory = found[largest]["memory"]
    small = memory <= GIGABYTES
    print(f"memory   {memory:.2f} GB (limit: {GIGABYTES:.0f})  {'ok' if small else 'MISSED'}")
    linear = True
    if len(sizes) > 1:
        power = exponent(sizes, [found[size]["cpu"] for size in sizes])
        linear = power <= EXPONENT
        print(f"growth   CPU ~ videos^{power:.2f} (limit: {EXPONENT})  {'ok' if linear else 'MISSED'}")
    for videos in sorted(sizes, reverse=True):
        work = folder / f"world-{videos}"
        peer = Measured("pandas", str(work), "", str(videos), limit=GIGABYTES)
        if peer.works:
            ours = Measured("step-again", str(work), "select", str(videos))
            print(
                f"peer     pandas, the same selection of {videos:,}: {peer.cpu:.1f} s of CPU, {peer.memory:.2f} GB; "
                f"vivant {ours.cpu:.1f} s, {ours.memory:.2f} GB: ratio {ours.cpu / peer.cpu:.2f}"
            )
            break
        print(f"peer     pandas does not manage {videos:,} in {GIGABYTES:.0f} GB")
    return 0 if quick and small and linear else 1


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] in ("step", "step-again", "pandas"):
        kind, place, step, count = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
        if kind == "step-again":
            shutil.rmtree(place / step)
        if kind == "pandas":
            pandas_selection(place, count)
        else:
            run_step(place, step, count)
        sys.exit(0)
    wanted = [int(size.replace(",", "")) for size in sys.argv[2:]] or list(SIZES)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        sys.exit(main(Path(sys.argv[1]), wanted))
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary), wanted))
