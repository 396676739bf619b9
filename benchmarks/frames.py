"""Frames: 32 uniform frames of a video, right and fast, once and again, in bounded memory.

Peer: decord on the same files, where it is installed; else none, and the output says so. Right means: the
frames that a full decode from the start gives. Ours are timed from the file to 32 JPEGs in memory (hash,
table, decoding, encoding, cache), the peer's to 32 raw arrays.
Limits: no slower than the peer on 3 minutes of constant-rate 720p; all frames right on each kind of file; the
second run at least 20 times faster than the first; less than 400 MB above the base for one hour of 720p, less
than 600 MB for 109 pictures of 1080p, workers included, and no growth from sample to sample.

    python benchmarks/frames.py [--rounds N]
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import av
import msgspec
import numpy as np
import simplejpeg

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packages" / "vivant"))

from tests.support.media_kit import Pixels, cut_copy, job, make_video, number_of, numbered, uneven
from vivant.core.types import Clip, FramePolicy, Image, Video
from vivant.media import MediaLoader, probe

COUNT = 32
CLIP = 360
"""Frames of the clip that is repeated: two groups of pictures, as x264 makes them by default."""
HD = (1280, 720)
SPEED_LIMIT, AGAIN_LIMIT = 1.0, 20.0
HOUR_LIMIT, PICTURES_LIMIT = 400.0, 600.0
PICTURES = 109


# ── files ──


def textured(number: int, size: tuple[int, int]) -> Pixels:
    """A numbered picture over moving detail that costs a decoder what a filmed scene costs it."""
    image = numbered(number, size)
    half = size[1] // 2
    grain = np.random.default_rng(7).integers(0, 90, (half, size[0] * 2, 3), dtype=np.uint8)
    shift = number * 5 % size[0]
    image[half:] = image[half:] // 2 + grain[:, shift : shift + size[0]]
    return image


def repeat(source: Path, target: Path, times: int) -> Path:
    """The same packets again and again, with their timestamps moved on: a long video at no cost."""
    with av.open(str(target), "w") as out:
        copy: Any = None
        for turn in range(times):
            with av.open(str(source)) as given:
                stream = given.streams.video[0]
                copy = copy or out.add_stream_from_template(stream)
                assert stream.time_base is not None and stream.duration is not None
                for packet in given.demux(stream):
                    if packet.dts is None or packet.pts is None:
                        continue
                    packet.pts += turn * stream.duration
                    packet.dts += turn * stream.duration
                    packet.stream = copy
                    out.mux(packet)
    return target


def make_files(folder: Path) -> dict[str, Path]:
    """Three minutes at a constant rate, and shorter files with the traps."""
    settings = {"preset": "veryfast", "crf": "23"}
    clip = make_video(folder / "clip.mp4", CLIP, size=HD, options=settings, draw=textured)
    whole = make_video(folder / "whole.mp4", 600, size=(640, 480), options=settings)
    return {
        "constant 720p": repeat(clip, folder / "constant.mp4", 15),
        "variable rate": make_video(
            folder / "variable.mp4", 600, size=(640, 480), options=settings, times=uneven()
        ),
        "edit list": cut_copy(whole, folder / "edit.mp4", 5.3, 17.0),
    }


def truth(path: Path) -> list[int]:
    """The number in every frame, by a full decode."""
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        return [number_of(_small(frame)) for frame in container.decode(video=0)]


def _small(frame: av.VideoFrame) -> Pixels:
    return np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


# ── ours and theirs ──


class Spent(NamedTuple):
    """What one run took: seconds on the clock, and seconds of CPU in all processes."""

    wall: float
    cpu: float


def family(pid: int) -> Iterator[Path]:
    """The folders in /proc of a process and all it started."""
    waiting = [pid]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        for task in process.glob("task/*/children"):
            try:
                waiting += map(int, task.read_text().split())
            except OSError:
                # A thread that ended while we looked.
                continue
        yield process


def cpu_seconds() -> float:
    """CPU used so far by this process and those it started."""
    ticks = 0
    for process in family(os.getpid()):
        fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def ours(loader: MediaLoader, path: Path, count: int = COUNT) -> tuple[Spent, list[int]]:
    """Time, and the numbers in the frames."""
    made = job(path.parent, Video(path.name), frames=FramePolicy(count=count))
    start, burnt = time.perf_counter(), cpu_seconds()
    prepared = asyncio.run(loader.load(made))
    spent = Spent(time.perf_counter() - start, cpu_seconds() - burnt)
    clip = prepared.turns[0].parts[1]
    assert isinstance(clip, Clip)
    return spent, [number_of(frame.data) for frame in clip.frames]


def theirs(path: Path, count: int = COUNT) -> tuple[Spent, list[int]]:
    """The same with decord."""
    import decord

    start, burnt = time.perf_counter(), cpu_seconds()
    reader = decord.VideoReader(str(path))
    frames = reader.get_batch(np.linspace(0, len(reader) - 1, count).astype(int)).asnumpy()
    spent = Spent(time.perf_counter() - start, cpu_seconds() - burnt)
    return spent, [number_of(frame) for frame in frames]


def compare(folder: Path, rounds: int) -> bool:
    """Rightness on each file, speed on the first, and the second run."""
    files = make_files(folder)
    peer = importlib.util.find_spec("decord") is not None
    good = True
    spent: dict[str, list[Spent]] = {"ours": [], "again": [], "theirs": []}
    for name, path in files.items():
        numbers = truth(path)
        expected = [numbers[i] for i in np.linspace(0, len(numbers) - 1, COUNT).astype(int)]
        turns = rounds if name == "constant 720p" else 1
        for turn in range(turns):
            cache = folder / f"cache-{turn}"
            with MediaLoader(cache, workers=1) as loader:
                # A worker that has started, as a run has after its first video.
                loader.warm(folder, ["clip.mp4"], [FramePolicy(count=1)])
                first, got = ours(loader, path)
            with MediaLoader(cache, workers=1) as loader:
                again, same = ours(loader, path)
            other, seen = theirs(path) if peer else (Spent(0, 0), [])
            if turns > 1:
                spent["ours"].append(first)
                spent["again"].append(again)
                spent["theirs"].append(other)
        right = sum(a == b for a, b in zip(got, expected, strict=True))
        good = good and right == COUNT and same == got
        line = f"right    {name}: vivant {right}/{COUNT}"
        if peer:
            line += f", decord {sum(a == b for a, b in zip(seen, expected, strict=False))}/{COUNT}"
        print(f"{line}  {'ok' if right == COUNT else 'MISSED'}")
    median = {name: statistics.median(each.wall for each in values) for name, values in spent.items()}
    print(f"vivant   {COUNT} frames of 3 min 720p: {median['ours']:.2f} s, again {median['again']:.3f} s")
    if peer:
        # Each pair was run back to back, so that a busy machine burdens both.
        pairs = list(zip(spent["ours"], spent["theirs"], strict=True))
        ratios = [mine.wall / other.wall for mine, other in pairs]
        ratio = statistics.median(ratios)
        cpu = statistics.median(mine.cpu / other.cpu for mine, other in pairs)
        good = good and ratio <= SPEED_LIMIT
        print(
            f"peer     decord: {median['theirs']:.2f} s; rounds {', '.join(f'{each:.2f}' for each in ratios)}"
        )
        verdict = "ok" if ratio <= SPEED_LIMIT else "MISSED"
        print(
            f"ratio    {ratio:.2f} of decord's time (limit: at most {SPEED_LIMIT:.2f}), {cpu:.2f} "
            f"of its CPU  {verdict}"
        )
    else:
        print("peer     decord not installed: nothing to compare with")
    gain = median["ours"] / median["again"]
    verdict = "ok" if gain >= AGAIN_LIMIT else "MISSED"
    print(f"ratio    second run {gain:.0f} times faster (limit: at least {AGAIN_LIMIT:.0f})  {verdict}")
    return good and gain >= AGAIN_LIMIT


# ── memory ──


def resident(pid: int) -> float:
    """Megabytes in memory of a process and all it started."""
    total = 0.0
    for process in family(pid):
        try:
            status = (process / "status").read_text()
            total += (
                next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024
            )
        except (OSError, StopIteration):
            # Ended while we looked.
            continue
    return total


class Peak:
    """The most that this process and its workers held while it was watched."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.highest = 0.0

    def _watch(self) -> None:
        while not self._stop.wait(0.01):
            self.highest = max(self.highest, resident(os.getpid()))

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def peaks(folder: Path, jobs: Iterable[Any]) -> list[float]:
    """Megabytes above the base at the peak of each sample, one after another in one process."""
    import PIL.Image

    PIL.Image.init()
    base = resident(os.getpid())
    found = []
    with MediaLoader(folder / "cache-memory", workers=1) as loader:
        for each in jobs:
            with Peak() as peak:
                prepared = asyncio.run(loader.load(each))
            found.append(peak.highest - base)
            del prepared
    return found


def memory(kind: str, folder: Path) -> list[float]:
    """What a fresh process measures: one kind of sample, several times over."""
    if kind == "hour":
        parts = [Video("hour.mp4", start=float(n)) for n in range(6)]
        return peaks(folder, (job(folder, part, frames=FramePolicy(count=COUNT)) for part in parts))
    side = 512 if kind == "shrunk" else None
    samples = []
    for sample in range(5):
        images = [Image(f"{sample}-{n}.jpg") for n in range(PICTURES)]
        samples.append(job(folder, *images, frames=FramePolicy(longest_side=side)))
    return peaks(folder, samples)


def measure_memory(folder: Path) -> bool:
    """Each kind in a process of its own, so that nothing is left over from the one before."""
    clip = make_video(folder / "plain.mp4", CLIP, size=HD, options={"preset": "ultrafast", "crf": "30"})
    repeat(clip, folder / "hour.mp4", 300)
    info = probe(folder / "hour.mp4")
    size = (folder / "hour.mp4").stat().st_size / 1e6
    print(
        f"files    {info.duration / 3600:.2f} h of {info.width}×{info.height}, {info.frames} "
        f"frames, {size:.0f} MB"
    )
    for sample in range(5):
        for number in range(PICTURES):
            image = textured(sample * PICTURES + number, (1920, 1080))
            (folder / f"{sample}-{number}.jpg").write_bytes(simplejpeg.encode_jpeg(image, 85, "RGB", "420"))
    good = True
    for kind, what, limit in (
        ("hour", f"{COUNT} frames of an hour of 720p", HOUR_LIMIT),
        ("pictures", f"{PICTURES} pictures of 1080p as they are", PICTURES_LIMIT),
        ("shrunk", f"{PICTURES} pictures of 1080p shrunk to 512", PICTURES_LIMIT),
    ):
        ran = subprocess.run(
            [sys.executable, __file__, "--memory", kind, "--folder", str(folder)],
            capture_output=True,
            check=True,
        )
        found = msgspec.json.decode(ran.stdout, type=list[float])
        # The last samples against the first ones: 10 % or 20 MB is the allocator's own unrest.
        steady = max(found[-2:]) <= max(found[:3]) * 1.1 + 20
        fine = max(found) < limit and steady
        good = good and fine
        print(
            f"memory   {what}: {max(found):.0f} MB above base (limit {limit:.0f}); by sample"
            f" {', '.join(f'{value:.0f}' for value in found)}  {'ok' if fine else 'MISSED'}"
        )
    return good


def main() -> int:
    """Make the files, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--memory", choices=("hour", "pictures", "shrunk"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory:
        sys.stdout.buffer.write(msgspec.json.encode(memory(given.memory, given.folder)))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="vivant-frames-"))
    try:
        good = compare(folder, given.rounds)
        return 0 if measure_memory(folder) and good else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
