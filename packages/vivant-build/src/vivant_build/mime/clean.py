"""Motion clean-up: still ends cut off, foot sliding measured, loops found and closed, another rate.

`clean_file` does all of it from a recording to BVH and says what it found; the parts work on any `Motion`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vivant.core.errors import DataError, UsageError
from vivant_build.mime.bad_frames import format_count
from vivant_build.mime.bvh import write_bvh
from vivant_build.mime.foot_sliding import Sliding, format_sliding, measure_sliding
from vivant_build.mime.joint_map import read_joint_table
from vivant_build.mime.motion import Motion
from vivant_build.mime.recording import read_recording
from vivant_build.mime.recording_check import tell_unit
from vivant_build.mime.retarget import Retargeted
from vivant_build.mime.rotation import Array, slerp
from vivant_build.mime.skeleton import INDEX, JOINTS, STATURE, Skeleton

STILL = 0.15
"""Metres a second below which no joint counts as moving."""
MARGIN = 0.2
"""Seconds of stillness that are kept at each end: an action wants to be seen beginning."""
_SMOOTH = 0.1
LOOP_GAP = 0.06
"""Metres by which joints may differ on average where a loop closes; more is no loop."""
_WAY = 3.0
"""Metres of the floor that a picture shows with the person large enough in it."""
_STROLL = 1.0
"""Seconds over which a path is smoothed: a step sways about it, an action may still lunge."""
_AWAY, _STEADY = 110.0, 0.5
"""Degrees from the camera beyond a side view; and how much of one direction there must be: less is a spin."""
_LOOKED, _MOST = 30.0, 1500
"""Frames a second, and in all, that loops are looked for in."""


@dataclass(frozen=True)
class Loop:
    """A stretch whose end passes into its start: frames `start` up to, not including, `end`."""

    start: int
    end: int
    gap: float
    """Metres by which joints differ on average between the two."""


@dataclass(frozen=True)
class CleaningReport:
    """What a clean-up found and did."""

    source: str
    fps: float
    frames: int
    unit: str
    """Of the file, told by the height of its skeleton; empty where the height is none of a person."""
    stature: float
    """In that unit."""
    ignored: tuple[str, ...]
    cut_start: float
    cut_end: float
    sliding: Sliding
    loop: Loop | None
    result: Motion
    dropped: tuple[int, int] = (0, 0)
    """Frames of a T-pose cut off the start and the end."""
    notes: tuple[str, ...] = ()
    """What the reader mended, in sentences."""
    feet_held: bool = False
    turned: float = 0.0
    """Degrees by which somebody who faced away was turned to the camera."""

    def lines(self) -> list[str]:
        """The report in sentences."""
        unit = f"{self.stature:.4g} {self.unit}" if self.unit else f"{self.stature:.4g} of an unknown unit"
        motion = self.result
        hint = "; --lock-feet holds them" if self.sliding.slides and not self.feet_held else ""
        lines = [
            f"{self.source}: {format_count(self.frames, 'frame')} at {self.fps:g} a second; the skeleton is "
            f"{unit} tall, scaled to {STATURE:g} m",
            f"cut {self.cut_start:.2f} s of stillness at the start and {self.cut_end:.2f} s at the end; "
            f"{format_count(len(motion), 'frame')} at {motion.fps:g} a second remain ({motion.seconds:.2f} s)",
            format_sliding(self.sliding) + hint,
        ]
        if self.ignored:
            names = ", ".join(self.ignored[:6]) + (" …" if len(self.ignored) > 6 else "")
            number = len(self.ignored)
            verb = (
                "has no place here and is left out" if number == 1 else "have no place here and are left out"
            )
            lines.insert(1, f"{format_count(number, 'joint')} {verb}: {names}")
        if any(self.dropped):
            start, end = self.dropped
            lines.insert(1, f"cut a T-pose: {format_count(start, 'frame')} at the start, {end} at the end")
        lines[1:1] = self.notes
        if self.turned:
            lines.append(
                f"turned by {self.turned:.0f}° to face the camera; --keep-heading leaves it as recorded"
            )
        if self.loop is not None:
            seconds = (self.loop.end - self.loop.start) / self.fps
            lines.append(
                f"closed a loop of {seconds:.2f} s; its ends were {100 * self.loop.gap:.1f} cm apart"
            )
        way = float(np.ptp(motion.root[:, [0, 2]], axis=0).max())
        if way > _WAY:
            lines.append(
                f"it walks {way:.1f} m, more than a picture holds well; --in-place keeps it on the spot"
            )
        return lines


# ── the parts ────────────────────────────────────────────────────────────────────────────────────


def _speeds(motion: Motion) -> Array:
    """The speed of the fastest joint in each frame, metres a second, smoothed."""
    positions, _ = motion.joints(Skeleton())
    if len(motion) < 2:
        return np.zeros(len(motion))
    fastest = np.linalg.norm(np.gradient(positions, axis=0), axis=-1).max(axis=1) * motion.fps
    width = max(1, round(_SMOOTH * motion.fps) | 1)
    padded = np.pad(fastest, width // 2, mode="edge")
    return np.asarray(np.convolve(padded, np.ones(width) / width, mode="valid"))


def find_ends(motion: Motion, source: str = "") -> tuple[int, int]:
    """The first frame of the action and the one after its last: still parts lie outside.

    Raises a DataError that names `source` where nothing moves at all.
    """
    speed = _speeds(motion)
    # A jittery recording is never quite still: what is slow beside its own quick parts counts as well.
    limit = max(STILL, 0.06 * float(np.quantile(speed, 0.95)))
    moving = np.flatnonzero(speed > limit)
    if not len(moving):
        raise DataError(
            f"{source or motion.name}: nothing moves faster than {STILL:g} m a second, so there is no action to find; "
            "--no-trim keeps it whole"
        )
    margin = round(MARGIN * motion.fps)
    return max(0, int(moving[0]) - margin), min(len(motion), int(moving[-1]) + 1 + margin)


def trim(motion: Motion) -> Motion:
    """The motion without the still parts at its ends."""
    start, end = find_ends(motion)
    return cut(motion, start, end)


def cut(motion: Motion, start: int, end: int) -> Motion:
    """Frames `start` up to, not including, `end`."""
    if not 0 <= start < end <= len(motion):
        raise UsageError(f"{motion.name}: frames {start} to {end} are not within its {len(motion)}")
    return replace(motion, root=motion.root[start:end], rotations=motion.rotations[start:end])


def find_loop(motion: Motion, shortest: float = 0.6) -> Loop | None:
    """The stretch of at least `shortest` seconds whose end fits its start best; None where none fits well.

    Poses and their velocities are compared around the hips, so the way over the stage does not matter. The
    stretch holds at least half of the motion's widest change of pose, since standing still fits itself. Of
    equally good ones the longest is taken.
    """
    # Every pose is compared with every other: of quick or long recordings, every so many frames are looked at.
    step = max(1, round(motion.fps / _LOOKED), -(-len(motion) // _MOST))
    least = max(2, round(shortest * motion.fps / step))
    if len(motion) <= least * step:
        return None
    positions, _ = motion.joints(Skeleton())
    around = positions - positions[:, :1] * [1.0, 0.0, 1.0]
    flow = np.gradient(around, axis=0) * motion.fps * 0.1
    poses = np.concatenate([around, flow], axis=-1)[::step]

    def apart(start: int) -> Array:
        """How far each pose from `start` on is from the one there, in metres a joint."""
        return np.asarray(np.linalg.norm(poses[start:] - poses[start], axis=-1).mean(axis=1))

    widest = max(float(apart(start).max()) for start in range(len(poses)))
    best: tuple[float, int, Loop] | None = None
    for start in range(len(poses) - least):
        gaps = apart(start)
        lively = np.maximum.accumulate(gaps) >= 0.5 * widest
        for length in np.flatnonzero(lively[least:] & (gaps[least:] <= LOOP_GAP)) + least:
            # A millimetre more is worth a longer loop.
            rank = (round(float(gaps[length]), 3), -int(length))
            if best is None or rank < best[:2]:
                best = (*rank, Loop(step * start, step * (start + int(length)), float(gaps[length])))
    return None if best is None else best[2]


def close_loop(motion: Motion, loop: Loop, blend: float = 0.25) -> Motion:
    """The stretch of a loop, its last `blend` seconds bent so that the next round begins where it ends.

    The way over the stage is taken out evenly: the last step leads back to the first frame.
    """
    part = cut(motion, loop.start, loop.end)
    after = min(loop.end, len(motion) - 1)
    count = min(max(1, round(blend * motion.fps)), len(part))
    share = (np.arange(count) + 1.0) / count
    ease = share * share * (3 - 2 * share)
    root, rotations = part.root.copy(), part.rotations.copy()
    drift = motion.root[after] - motion.root[loop.start]
    drift[1] = 0.0
    root -= drift * (np.arange(len(part)) / len(part))[:, None]
    rise = motion.root[loop.start, 1] - motion.root[after, 1]
    root[-count:, 1] += rise * ease
    # The turn from the frame after the end to the frame at the start, shared out over the blend.
    correction = np.swapaxes(motion.rotations[after], -1, -2) @ motion.rotations[loop.start]
    none = np.broadcast_to(np.eye(3), (count, len(JOINTS), 3, 3))
    full = np.broadcast_to(correction, (count, len(JOINTS), 3, 3))
    rotations[-count:] = rotations[-count:] @ slerp(none, full, np.repeat(ease[:, None], len(JOINTS), axis=1))
    return replace(part, root=root, rotations=rotations)


def keep_in_place(motion: Motion) -> Motion:
    """The motion on the spot: the path of the hips over the floor is taken out, steps and leaning stay."""
    width = max(1, round(_STROLL * motion.fps) | 1)
    root = motion.root.copy()
    for axis in (0, 2):
        # Carried on at its ends, so that a steady walk is steady there too.
        if len(root) > 1:
            carried = np.pad(root[:, axis], width // 2, mode="reflect", reflect_type="odd")
            root[:, axis] -= np.convolve(carried, np.ones(width) / width, mode="valid")
        else:
            root[:, axis] = 0.0
    return replace(motion, root=root)


def find_turn(motion: Motion) -> float:
    """Degrees that turn somebody who shows the camera their back to face it; 0 where the face or a side is seen.

    The direction is the chest's, on average. Somebody who turns about faces no direction and is left alone.
    """
    _, turned = motion.joints(Skeleton())
    ahead = turned[:, INDEX["Chest"], :, 2][:, [0, 2]].mean(axis=0)
    angle = float(np.degrees(np.arctan2(ahead[0], ahead[1])))
    return -angle if np.linalg.norm(ahead) >= _STEADY and abs(angle) > _AWAY else 0.0


# ── all of it ────────────────────────────────────────────────────────────────────────────────────


def clean(
    retargeted: Retargeted,
    source: str,
    *,
    fps: float | None = None,
    ends: bool = True,
    loop: bool = False,
    in_place: bool = False,
    keep_heading: bool = False,
) -> CleaningReport:
    """Cut, close, resample and turn a motion; the report has the result. Sliding is that before it is kept in place."""
    motion = retargeted.motion
    start, end = find_ends(motion, source) if ends else (0, len(motion))
    result = cut(motion, start, end)
    closed = None
    if loop:
        closed = find_loop(result)
        if closed is None:
            raise DataError(
                f"{source}: no stretch of it ends as it begins (within {100 * LOOP_GAP:g} cm a joint); leave "
                "out --loop, or cut the file to whole rounds"
            )
        result = close_loop(result, closed)
    if fps is not None:
        if not 1 <= fps <= 240:
            raise UsageError(f"A rate of {fps:g} frames a second is not from 1 to 240")
        result = result.resampled(fps)
    sliding = measure_sliding(result)
    if in_place:
        result = keep_in_place(result)
    turn = 0.0 if keep_heading else find_turn(result)
    if turn:
        result = result.turned(turn)
    return CleaningReport(
        source=source,
        fps=motion.fps,
        frames=len(motion),
        unit=retargeted.unit or tell_unit(retargeted.stature),
        stature=retargeted.stature,
        ignored=retargeted.ignored,
        cut_start=start / motion.fps,
        cut_end=(len(motion) - end) / motion.fps,
        sliding=sliding,
        loop=closed,
        result=result,
        dropped=retargeted.dropped,
        notes=retargeted.notes,
        feet_held=retargeted.feet_held,
        turned=turn,
    )


def clean_file(
    source: Path,
    out: Path,
    *,
    fps: float | None = None,
    ends: bool = True,
    loop: bool = False,
    in_place: bool = False,
    keep_heading: bool = False,
    hold_feet: bool | None = None,
    joints: Path | None = None,
    animation: str | None = None,
    source_fps: float | None = None,
    unit: float | None = None,
    video_size: tuple[int, int] | None = None,
    sheet: Path | None = None,
) -> CleaningReport:
    """Clean a recording up into a BVH file, on this package's skeleton, in centimetres.

    Args:
        source: The recording, of any kind in `recording.MOTION_FILES`.
        out: The BVH file to write.
        fps: Resample to this rate.
        ends: Cut still parts off.
        loop: Cut to the best loop and close it.
        in_place: Take the path over the floor out.
        keep_heading: Leave somebody who faces away from the camera as recorded.
        hold_feet: Lock standing feet in their places. [default: for keypoints, whose feet glide]
        joints: A YAML table of our joints and the file's, for names that are not known.
        animation: Which one of a glTF file, where it holds several.
        source_fps: The rate of a recording that states none.
        unit: Metres of the file's unit of length, where it is none of the usual ones.
        video_size: Width and height of the video, for landmarks that are shares of its sides.
        sheet: Where to draw the result as a contact sheet.
    """
    table = None if joints is None else read_joint_table(joints)
    retargeted = read_recording(
        source,
        joints=table,
        animation=animation,
        source_fps=source_fps,
        unit=unit,
        video_size=video_size,
        hold_feet=hold_feet,
    )
    report = clean(
        retargeted,
        str(source) if animation is None else f"{source}, animation {animation}",
        fps=fps,
        ends=ends,
        loop=loop,
        in_place=in_place,
        keep_heading=keep_heading,
    )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: cannot be written ({error.strerror or error})") from None
    write_bvh(report.result, out)
    if sheet is not None:
        from vivant_build.mime.motion_sheet import draw_motion_sheet

        draw_motion_sheet(report.result, sheet)
    return report
