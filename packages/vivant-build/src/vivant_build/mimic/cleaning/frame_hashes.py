"""Which files are videos, and which of them show the same pictures: hashes of frames by their coarse waves.

Frames are decoded in processes of their own (a broken file may take its process with it) or on a Ray cluster that
sees the same files. What is found is kept in WORK/.frames.jsonl by path, size and time of change (in object storage
by the address too), so that an interrupted run goes on and a second one decodes nothing. Missing files are not kept.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.errors import MediaError
from vivant.core.progress import ProgressCallback
from vivant.core.worker_pool import ProcessPool, RayPool
from vivant_build.mimic.cleaning.tokens import I64
from vivant_build.part_store import PartStore

CACHE = ".frames.jsonl"
FRAMES = 5
_WIDE, _SIDE = 32, 16
_SEEN_SIDE = 144
_AT_ONCE = 16
_MISSING = (-1, 0)
_FLAT = 3.0
"""Deviation of the grey values below which a picture has nothing in it."""


class FrameHashes(Struct, frozen=True):
    """One file: hashes of its frames as hex, or why it cannot be used."""

    file: str
    size: int
    changed: int
    hashes: tuple[str, ...] = ()
    problem: str = ""
    address: str = ""
    """A digest of the address in object storage, which may hold a key; '' for a folder."""


def hash_videos(
    files: Sequence[str],
    root: Path | str,
    work: Path,
    workers: int,
    progress: ProgressCallback,
    ray: str = "",
) -> dict[str, FrameHashes]:
    """Hashes of files, relative to a root; those known from before are not opened.

    A root may be an address of object storage.
    """
    states = PartStore(root).list_states() if isinstance(root, str) else {f: _status(root / f) for f in files}
    address = hashlib.sha256(root.encode()).hexdigest()[:16] if isinstance(root, str) else ""
    cached = _read_cache(work / CACHE)
    results: dict[str, FrameHashes] = {}
    missing: list[str] = []
    for file in files:
        before = cached.get((address, file))
        if before is not None and (before.size, before.changed) == states.get(file):
            results[file] = before
        else:
            missing.append(file)
    encoder = msgspec.json.Encoder()
    with (work / CACHE).open("ab") as cache:
        for hashes in _hash_missing(missing, root, workers, ray):
            if address:
                size, changed = states.get(hashes.file, _MISSING)
                hashes = msgspec.structs.replace(hashes, size=size, changed=changed, address=address)
            results[hashes.file] = hashes
            if hashes.size >= 0:
                cache.write(encoder.encode(hashes) + b"\n")
                cache.flush()
            progress(len(results), len(files), "videos looked at")
    return results


def _status(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return _MISSING
    return status.st_size, status.st_mtime_ns


def _read_cache(path: Path) -> dict[tuple[str, str], FrameHashes]:
    results: dict[tuple[str, str], FrameHashes] = {}
    if path.is_file():
        for line in path.read_bytes().splitlines():
            try:
                hashes = msgspec.json.decode(line, type=FrameHashes)
            except msgspec.MsgspecError:
                continue  # the torn last line of a run that was killed: that file is looked at again
            results[hashes.address, hashes.file] = hashes
    return results


def _hash_missing(files: Sequence[str], root: Path | str, workers: int, ray: str) -> Iterator[FrameHashes]:
    if ray:
        yield from _hash_on_ray(files, root, ray)
        return
    pool = ProcessPool(
        workers if len(files) >= _AT_ONCE else 1, partial(hash_video, root=str(root)), attempts=2
    )
    for file, hashes in pool.run(files):
        status = (0, 0) if isinstance(root, str) else _status(root / file)
        yield hashes or FrameHashes(file, *status, problem="the file ends the decoder")


def _hash_on_ray(files: Sequence[str], root: Path | str, address: str) -> Iterator[FrameHashes]:
    batches = [files[n : n + _AT_ONCE] for n in range(0, len(files), _AT_ONCE)]
    for _, hashed in RayPool(address, partial(_hash_batch, root=str(root))).run(batches):
        yield from hashed


def _hash_batch(files: Sequence[str], root: str) -> list[FrameHashes]:
    return [hash_video(file, root) for file in files]


def hash_video(file: str, root: str) -> FrameHashes:
    """Open one file and hash frames spread over it."""
    if "://" in root:
        return _hash_fetched(file, root)
    size, changed = _status(Path(root) / file)
    if size < 0:
        return FrameHashes(file, size, changed, problem="the file is missing")
    inside = os.path.realpath(Path(root) / file)
    if not inside.startswith(os.path.realpath(root) + os.sep):
        return FrameHashes(file, size, changed, problem="the file is outside the media folder")
    try:
        pictures = _decode_pictures(inside)
    except MediaError as error:
        return FrameHashes(
            file,
            size,
            changed,
            problem=f"the file cannot be read ({str(error).removeprefix(inside)[:80].strip(': ')})",
        )
    return FrameHashes(file, size, changed, tuple(map(hash_picture, pictures)))


def _hash_fetched(file: str, address: str) -> FrameHashes:
    """The same for a file in object storage: it is on this machine only while it is looked at."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"video{Path(file).suffix}"
        if not PartStore(address).fetch(file, place):
            return FrameHashes(file, *_MISSING, problem="the file is missing")
        hashed = hash_video(place.name, folder)
    return msgspec.structs.replace(hashed, file=file, changed=0)


def _decode_pictures(path: str) -> list[NDArray[np.uint8]]:
    """Frames from the middles of equal stretches: the very first is often black."""
    from vivant.media.decoding import decode_frames
    from vivant.media.encoding import FrameEncoder
    from vivant.media.scan import scan_video

    scanned = scan_video(path, path, 1)
    count = len(scanned.table.timeline().pts)
    indices = [int((number + 0.5) * count / FRAMES) for number in range(FRAMES)]
    encoder = FrameEncoder()
    pictures = {
        index: encoder.pixels(frame, _SEEN_SIDE)
        for index, frame in decode_frames(path, path, scanned, indices, 1)
        if frame is not None
    }
    if len(pictures) < len(set(indices)):
        raise MediaError("frames cannot be decoded")
    return [pictures[index] for index in indices]


def hash_picture(picture: NDArray[np.uint8]) -> str:
    """256 bits as hex: which of the 16 × 16 coarsest waves of the picture (a cosine transform) are above the median.

    Size, coding and a little noise change few of them, another crop many. Nothing for a picture of one colour.
    """
    from PIL import Image

    grey = Image.fromarray(picture).convert("L").resize((_WIDE, _WIDE), Image.Resampling.BOX)
    small = np.asarray(grey, np.float64)
    if small.std() < _FLAT:
        return ""
    positions = np.arange(_WIDE)
    waves = np.cos(np.pi * (2 * positions[None, :] + 1) * positions[:_SIDE, None] / (2 * _WIDE))
    coefficients = (waves @ small @ waves.T).ravel()
    coefficients[0] = 0  # the brightness of the whole
    return np.packbits((coefficients > np.median(coefficients))[_coarse_first()]).tobytes().hex()


def _coarse_first() -> I64:
    """The coarsest 8 × 8 waves first: by those, candidates are found."""
    row, column = np.divmod(np.arange(_SIDE * _SIDE), _SIDE)
    fine = (row >= _SIDE // 2) | (column >= _SIDE // 2)
    return np.argsort(fine, kind="stable")


def find_same_pictures(videos: Sequence[FrameHashes], rows: I64, distance: int) -> I64:
    """Pairs of rows whose frames differ by at most `distance` of 256 bits each on average.

    Only those are compared that share sixteen coarse bits of a frame at the same place, each with the first of its
    bucket and with the one before: linear in the number of videos. Frames of one colour are passed over.
    """
    flat = np.array([[not value for value in video.hashes] for video in videos])
    octets = b"".join(bytes.fromhex(value or "00" * 32) for video in videos for value in video.hashes)
    hashes = np.frombuffer(octets, np.uint16).reshape(len(videos), FRAMES, 16)
    pairs: list[I64] = []
    for frame in range(FRAMES):
        usable = np.flatnonzero(~flat[:, frame])
        pairs += [_pair_neighbours(hashes[usable, frame, quarter], usable) for quarter in range(4)]
    joined = np.concatenate(pairs)
    together = np.stack(np.divmod(np.unique(joined[:, 0] * len(videos) + joined[:, 1]), len(videos)), 1)
    differ = hashes[together[:, 0]] ^ hashes[together[:, 1]]
    apart = np.unpackbits(differ.view(np.uint8), axis=2).sum(2, dtype=np.int64)
    comparable = ~(flat[together[:, 0]] | flat[together[:, 1]])
    mean = np.where(comparable, apart, 0).sum(1) / np.maximum(comparable.sum(1), 1)
    result: I64 = rows[together[(mean <= distance) & (comparable.sum(1) * 2 > FRAMES)]]
    return result


def _pair_neighbours(bucket: NDArray[np.uint16], members: I64) -> I64:
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
