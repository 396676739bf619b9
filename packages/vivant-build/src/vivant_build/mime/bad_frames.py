"""Frames of a recording that cannot be used: short gaps are bridged, ends are cut, and what was done is said.

A reader marks such frames and holds the nearest good one in their place, so that whatever is measured over the file
stays sound. `bridge_frames` then takes them out of the motion.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vivant.core.errors import DataError
from vivant_build.mime.motion import Motion
from vivant_build.mime.rotation import Array, slerp

GAP = 0.5
"""Seconds that are bridged; a longer gap cuts the recording."""
SHARE = 0.25
"""Share of the frames that may be set aside; beyond it the file is refused."""
_NAMED = 3

Mask = NDArray[np.bool_]


def hold_rows(values: Array, bad: Mask) -> Array:
    """The values with the nearest good row in place of each bad one."""
    good = np.flatnonzero(~bad)
    rows = np.arange(len(values))
    after = np.clip(np.searchsorted(good, rows), 0, len(good) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.where(rows - good[before] < good[after] - rows, good[before], good[after])
    return np.asarray(values[np.where(bad, nearer, rows)])


def format_count(number: int, noun: str) -> str:
    """A number of things in words: "1 frame", "2 frames"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def describe_bad(source: str, reasons: list[str], total: int, what: str = "frames") -> list[str]:
    """A note on the frames that are set aside, or none; too many of them are refused.

    Args:
        source: The file, for the refusal.
        reasons: One for each bad frame, each naming its row: "line 57: 92 values, …".
        total: How many the file has, bad ones included.
        what: The word for them.
    """
    if not reasons:
        return []
    named = "; ".join(reasons[:_NAMED]) + (" …" if len(reasons) > _NAMED else "")
    count = f"{len(reasons)} of {total} {what}"
    if len(reasons) > SHARE * total:
        raise DataError(
            f"{source}: {count} cannot be used, more than {SHARE:.0%}; mend them or export the file again: {named}"
        )
    return [f"set aside {count}: {named}"]


def find_leaps(root: Array, reach: float) -> Mask:
    """Frames at places that cannot be reached from the longest stretch without leaps.

    Args:
        root: (frames, 3): where the hips are.
        reach: How far they can move from one frame to the next.
    """
    edges = np.flatnonzero(np.linalg.norm(np.diff(root, axis=0), axis=1) > reach) + 1
    parts = np.split(np.arange(len(root)), edges)
    bad = np.ones(len(root), dtype=bool)
    middle = int(np.argmax([len(part) for part in parts]))
    bad[parts[middle]] = False
    for side, near, far in ((parts[middle + 1 :], 0, -1), (parts[:middle][::-1], -1, 0)):
        last = parts[middle][far]
        for part in side:
            if np.linalg.norm(root[part[near]] - root[last]) <= reach:
                bad[part] = False
                last = part[far]
    return bad


def bridge_frames(motion: Motion, bad: Mask, first: int = 1) -> tuple[Motion, int, list[str]]:
    """The motion without its bad frames: gaps of up to GAP bridged, the longest stretch kept.

    Args:
        motion: With anything in its bad frames.
        bad: Which they are.
        first: The number that its first frame has in the file.

    Returns:
        The motion, how many frames were cut off its start, and notes.
    """
    if not bad.any():
        return motion, 0, []
    start, end = find_stretch(~bad, round(GAP * motion.fps))
    good = np.flatnonzero(~bad[start:end]) + start
    frames = np.arange(start, end)
    after = np.searchsorted(good, frames)
    before = np.where(good[after] == frames, after, after - 1)
    low, high = good[before], good[after]
    share = (frames - low) / np.maximum(high - low, 1)
    root = motion.root[low] * (1 - share[:, None]) + motion.root[high] * share[:, None]
    joints = motion.rotations.shape[1]
    turns = slerp(
        motion.rotations[low], motion.rotations[high], np.broadcast_to(share[:, None], (len(frames), joints))
    )
    gap = bad[start:end]
    rotations = np.where(gap[:, None, None, None], turns, motion.rotations[start:end])
    notes = []
    if gap.any():
        notes.append(f"bridged {format_count(int(gap.sum()), 'frame')} in gaps of at most {GAP:g} s")
    if (start, end) != (0, len(bad)):
        notes.append(
            f"kept frames {first + start} to {first + end - 1}: frames beyond them were set aside, or lie behind a gap "
            f"of more than {GAP:g} s"
        )
    return replace(motion, root=root, rotations=rotations), start, notes


def find_stretch(good: Mask, gap: int) -> tuple[int, int]:
    """The longest stretch whose gaps are no longer than `gap` frames: its first frame and the one after its last."""
    places = np.flatnonzero(good)
    breaks = np.flatnonzero(np.diff(places) > gap + 1)
    starts, ends = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(places) - 1]])
    best = int(np.argmax(places[ends] - places[starts]))
    return int(places[starts[best]]), int(places[ends[best]]) + 1


def find_runs(flags: Mask) -> list[tuple[int, int]]:
    """Runs of true, each as its first place and the one after its last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
