"""Which files are videos, and which of them show the same pictures: hashes of frames by their coarse waves.

Frames are decoded in processes of their own (a broken file may take its process with it) or on a Ray cluster that
sees the same files. What is found is kept in WORK/.frames.jsonl by path, size and time of change, so that an
interrupted run goes on and a second one decodes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.build.mimic.clean.tokens import I64
from vivant.build.mimic.workers import processes
from vivant.core.errors import MediaError
from vivant.core.progress import ProgressCallback

CACHE = ".frames.jsonl"
FRAMES = 5
_WIDE, _SIDE = 32, 16
_SEEN_SIDE = 144
_AT_ONCE = 16
_FLAT = 3.0
"""Deviation of the grey values below which a picture has nothing in it."""


class Seen(Struct, frozen=True):
    """One file: hashes of its frames as hex, or why it cannot be used."""

    file: str
    size: int
    changed: int
    hashes: tuple[str, ...] = ()
    problem: str = ""


def look(
    files: Sequence[str], root: Path, work: Path, workers: int, progress: ProgressCallback, ray: str = ""
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
    with processes(workers) as pool:
        waiting = {pool.submit(_see_all, run, str(root)): run for run in runs}
        for future in as_completed(waiting):
            try:
                yield from future.result()
            except BrokenProcessPool:
                alone += waiting[future]
    for file in alone:  # one of these ended its process: each gets one of its own
        with processes(1) as pool:
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
    return Seen(file, size, changed, tuple(map(picture_hash, pictures)))


def _pictures(path: str) -> list[NDArray[np.uint8]]:
    """Frames from the middles of equal stretches: the very first is often black."""
    from vivant.media.decoding import decode_frames
    from vivant.media.encoding import FrameEncoder
    from vivant.media.scan import scan_video

    scanned = scan_video(path, path, 1)
    count = len(scanned.table.timeline().pts)
    wanted = [int((number + 0.5) * count / FRAMES) for number in range(FRAMES)]
    encoder = FrameEncoder()
    found = {
        index: encoder.pixels(frame, _SEEN_SIDE)
        for index, frame in decode_frames(path, path, scanned, wanted, 1)
        if frame is not None
    }
    if len(found) < len(set(wanted)):
        raise MediaError("frames cannot be decoded")
    return [found[index] for index in wanted]


def picture_hash(picture: NDArray[np.uint8]) -> str:
    """256 bits as hex: which of the 16 × 16 coarsest waves of the picture (a cosine transform) are above the median.

    Size, coding and a little noise change few of them, another crop many. Nothing for a picture of one colour.
    """
    from PIL import Image

    grey = Image.fromarray(picture).convert("L").resize((_WIDE, _WIDE), Image.Resampling.BOX)
    small = np.asarray(grey, np.float64)
    if small.std() < _FLAT:
        return ""
    place = np.arange(_WIDE)
    waves = np.cos(np.pi * (2 * place[None, :] + 1) * place[:_SIDE, None] / (2 * _WIDE))
    found = (waves @ small @ waves.T).ravel()
    found[0] = 0  # the brightness of the whole
    return np.packbits((found > np.median(found))[_order()]).tobytes().hex()


def _order() -> I64:
    """The coarsest 8 × 8 waves first: by those, candidates are found."""
    row, column = np.divmod(np.arange(_SIDE * _SIDE), _SIDE)
    fine = (row >= _SIDE // 2) | (column >= _SIDE // 2)
    return np.argsort(fine, kind="stable")


def same_pictures(seen: Sequence[Seen], rows: I64, distance: int) -> I64:
    """Pairs of rows whose frames differ by at most `distance` of 256 bits each on average.

    Only those are compared that share sixteen coarse bits of a frame at the same place, each with the first of its
    bucket and with the one before: linear in the number of videos. Frames of one colour are passed over.
    """
    flat = np.array([[not one for one in video.hashes] for video in seen])
    octets = b"".join(bytes.fromhex(one or "00" * 32) for video in seen for one in video.hashes)
    hashes = np.frombuffer(octets, np.uint16).reshape(len(seen), FRAMES, 16)
    pairs: list[I64] = []
    for frame in range(FRAMES):
        usable = np.flatnonzero(~flat[:, frame])
        pairs += [_neighbours(hashes[usable, frame, quarter], usable) for quarter in range(4)]
    joined = np.concatenate(pairs)
    together = np.stack(np.divmod(np.unique(joined[:, 0] * len(seen) + joined[:, 1]), len(seen)), 1)
    differ = hashes[together[:, 0]] ^ hashes[together[:, 1]]
    apart = np.unpackbits(differ.view(np.uint8), axis=2).sum(2, dtype=np.int64)
    told = ~(flat[together[:, 0]] | flat[together[:, 1]])
    mean = np.where(told, apart, 0).sum(1) / np.maximum(told.sum(1), 1)
    found: I64 = rows[together[(mean <= distance) & (told.sum(1) * 2 > FRAMES)]]
    return found


def _neighbours(bucket: NDArray[np.uint16], members: I64) -> I64:
    order = np.argsort(bucket, kind="stable")
    ordered, members = bucket[order], members[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(same):
        return np.zeros((0, 2), np.int64)
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    head = members[np.flatnonzero(new)[np.cumsum(new) - 1]]
    return np.concatenate(
        [np.stack([head[same + 1], members[same + 1]], 1), np.stack([members[same], members[same + 1]], 1)]
    )
