"""Which files are videos, and which of them show the same pictures: difference hashes of frames.

Frames are decoded in processes of their own (a broken file may take its process with it) or on a Ray cluster that
sees the same files. What is found is kept in WORK/.frames.jsonl by path, size and time of change, so that an
interrupted run goes on and a second one decodes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.build.mimic.clean.tokens import I64
from vivant.build.mimic.steps import Progress
from vivant.errors import MediaError

CACHE = ".frames.jsonl"
FRAMES = 5
_SIDE = 8
_SEEN_SIDE = 144
_AT_ONCE = 16
_FLAT = 6
"""A hash with fewer bits of one kind comes from a picture without anything in it."""


class Seen(Struct, frozen=True):
    """One file: hashes of its frames as hex, or why it cannot be used."""

    file: str
    size: int
    changed: int
    hashes: tuple[str, ...] = ()
    problem: str = ""


def look(
    files: Sequence[str], root: Path, work: Path, workers: int, progress: Progress, ray: str = ""
) -> dict[str, Seen]:
    """Hashes of files, relative to a root; those known from before are not opened."""
    known = _read(work / CACHE)
    found: dict[str, Seen] = {}
    left: list[str] = []
    for file in files:
        size, changed = _status(root / file)
        before = known.get(file)
        if before is not None and (before.size, before.changed) == (size, changed):
            found[file] = before
        else:
            left.append(file)
    encoder = msgspec.json.Encoder()
    with (work / CACHE).open("ab") as cache:
        for seen in _looked(left, root, workers, ray):
            found[seen.file] = seen
            cache.write(encoder.encode(seen) + b"\n")
            cache.flush()
            progress(len(found), len(files), "videos looked at")
    return found


def _status(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return -1, 0
    return status.st_size, status.st_mtime_ns


def _read(path: Path) -> dict[str, Seen]:
    found: dict[str, Seen] = {}
    if path.is_file():
        for line in path.read_bytes().splitlines():
            try:
                seen = msgspec.json.decode(line, type=Seen)
            except msgspec.MsgspecError:
                continue  # the torn last line of a run that was killed: that file is looked at again
            found[seen.file] = seen
    return found


def _looked(files: Sequence[str], root: Path, workers: int, ray: str) -> Iterator[Seen]:
    runs = [list(files[n : n + _AT_ONCE]) for n in range(0, len(files), _AT_ONCE)]
    if ray:
        yield from _on_ray(runs, root, ray)
        return
    if workers < 2 or len(files) < _AT_ONCE:
        for file in files:
            yield see(file, str(root))
        return
    alone: list[str] = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(_see_all, run, str(root)): run for run in runs}
        for future in as_completed(waiting):
            try:
                yield from future.result()
            except BrokenProcessPool:
                alone += waiting[future]
    for file in alone:  # one of these ended its process: each gets one of its own
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            try:
                yield pool.submit(see, file, str(root)).result()
            except BrokenProcessPool:
                size, changed = _status(root / file)
                yield Seen(file, size, changed, problem="the file ends the decoder")


def _on_ray(runs: list[list[str]], root: Path, address: str) -> Iterator[Seen]:
    import ray

    from vivant.engine.ray_executor import connect

    connect(address)
    task: Any = ray.remote(_see_all)
    waiting = [task.remote(run, str(root)) for run in runs]
    while waiting:
        ready, waiting = ray.wait(waiting)
        for one in ready:
            yield from ray.get(one)


def _see_all(files: Sequence[str], root: str) -> list[Seen]:
    return [see(file, root) for file in files]


def see(file: str, root: str) -> Seen:
    """Open one file and hash frames spread over it."""
    size, changed = _status(Path(root) / file)
    if size < 0:
        return Seen(file, size, changed, problem="the file is missing")
    inside = os.path.realpath(Path(root) / file)
    if not inside.startswith(os.path.realpath(root) + os.sep):
        return Seen(file, size, changed, problem="the file is outside the media folder")
    try:
        pictures = _pictures(inside)
    except MediaError as error:
        return Seen(
            file,
            size,
            changed,
            problem=f"the file cannot be read ({str(error).removeprefix(inside)[:80].strip(': ')})",
        )
    return Seen(file, size, changed, tuple(f"{difference_hash(one):016x}" for one in pictures))


def _pictures(path: str) -> list[NDArray[np.uint8]]:
    """Frames from the middles of equal stretches: the very first is often black."""
    from vivant.media.decode import decode
    from vivant.media.encode import Encoder
    from vivant.media.scan import scan

    scanned = scan(path, path, 1)
    count = len(scanned.table.timeline().pts)
    wanted = [int((number + 0.5) * count / FRAMES) for number in range(FRAMES)]
    encoder = Encoder()
    found = {
        index: encoder.pixels(frame, _SEEN_SIDE)
        for index, frame in decode(path, path, scanned, wanted, 1)
        if frame is not None
    }
    if len(found) < len(set(wanted)):
        raise MediaError("frames cannot be decoded")
    return [found[index] for index in wanted]


def difference_hash(picture: NDArray[np.uint8]) -> int:
    """64 bits: whether each of 8 × 8 fields is brighter than its right neighbour."""
    from PIL import Image

    small = np.asarray(
        Image.fromarray(picture).convert("L").resize((_SIDE + 1, _SIDE), Image.Resampling.BOX), np.int64
    )
    bits = (small[:, :-1] > small[:, 1:]).ravel()
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def same_pictures(hashes: NDArray[np.uint64], rows: I64, distance: int) -> I64:
    """Pairs of rows whose frames differ by at most `distance` bits each on average. Videos × frames in.

    Only those are compared that share sixteen bits of a frame at the same place, each with the first of its bucket
    and with the one before: linear in the number of videos.
    """
    pairs: list[NDArray[np.int64]] = []
    ones = _ones(hashes)
    flat = (ones < _FLAT) | (ones > 64 - _FLAT)
    for frame in range(hashes.shape[1]):
        usable = np.flatnonzero(~flat[:, frame])
        for quarter in range(4):
            bucket = (hashes[usable, frame] >> np.uint64(16 * quarter)) & np.uint64(0xFFFF)
            order = np.argsort(bucket, kind="stable")
            ordered, members = bucket[order], usable[order]
            same = np.flatnonzero(ordered[1:] == ordered[:-1])
            if len(same):
                new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
                head = members[np.flatnonzero(new)[np.cumsum(new) - 1]]
                pairs += [
                    np.stack([head[same + 1], members[same + 1]], 1),
                    np.stack([members[same], members[same + 1]], 1),
                ]
    if not pairs:
        return np.zeros((0, 2), np.int64)
    together = np.unique(np.concatenate(pairs), axis=0)
    apart = _ones(hashes[together[:, 0]] ^ hashes[together[:, 1]])
    told = ~(flat[together[:, 0]] | flat[together[:, 1]])
    mean = np.where(told, apart, 0).sum(1) / np.maximum(told.sum(1), 1)
    found: I64 = rows[together[(mean <= distance) & (told.sum(1) * 2 > hashes.shape[1])]]
    return found


def _ones(values: NDArray[np.uint64]) -> I64:
    """How many bits of each are set."""
    octets = np.ascontiguousarray(values).view(np.uint8).reshape(*values.shape, 8)
    counted: I64 = np.unpackbits(octets, axis=-1).sum(-1, dtype=np.int64)
    return counted
