"""Keypoints of a pose estimator: the layouts, and frames of one person joined into an array over time."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.rotation import Array


class NoKeypointsError(DataError):
    """A file that may be in order, but is of another kind: no frames and no columns of landmarks are in it."""


@dataclass(frozen=True, eq=False)
class Keypoints:
    """Positions (frames, points, 3), NaN where nothing was seen; x right, y down, z away, as in a picture."""

    source: str
    names: tuple[str, ...]
    positions: Array
    confidence: Array
    """(frames, points), from 0 to 1."""
    fps: float
    flat: bool
    """Whether there is no depth."""
    z_up: bool = False
    """Whether Z is up instead, as MMPose writes its 3D poses."""
    size: tuple[Any, ...] = ()
    """Width and height of the picture, where the file states them; once loaded, where positions are pixels."""
    notes: tuple[str, ...] = ()
    heights: Array | None = None
    """(frames, points), upwards from any level, in the unit of positions; None where a file tells none."""

    def point(self, *names: str) -> Array | None:
        """The middle of the named points; None where the layout lacks one."""
        if not set(names) <= set(self.names):
            return None
        return np.asarray(np.mean([self.positions[:, self.names.index(name)] for name in names], axis=0))


@dataclass
class PoseFrame:
    """One person in one frame, as a file states it."""

    points: Array
    """(points, 3 or 2)."""
    confidence: Array
    seconds: float | None = None


def plain_name(name: str) -> str:
    """A point's name as the layouts write it: RBigToe, right big toe and RIGHT_FOOT_INDEX are one."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=^[RL])(?=[A-Z][a-z])|[ .-]", "_", str(name).strip()).lower()
    side, _, rest = split.partition("_")
    if side in ("r", "l", "right", "left"):
        return f"{'right' if side[0] == 'r' else 'left'}_{'foot_index' if rest == 'big_toe' else rest}"
    return "root" if split in ("chip", "hip", "mid_hip") else split


def join_frames(
    file: Path,
    frames: list[PoseFrame | None],
    names: tuple[str, ...],
    stated: float | None,
    source_fps: float | None,
    *,
    size: tuple[Any, ...] = (),
    bad: list[str],
    notes: tuple[str, ...] = (),
    z_up: bool = False,
) -> Keypoints:
    seen = [frame for frame in frames if frame is not None]
    for number, frame in enumerate(frames):
        if frame is not None and len(frame.points) != len(names):
            frames[number] = None
            bad.append(f"frame {number + 1}: {len(frame.points)} points, and {len(names)} are expected")
    seen = [frame for frame in frames if frame is not None]
    if not seen:
        first = f" ({bad[0]})" if bad else ""
        raise DataError(f"{file}: nobody is seen in any of its {len(frames)} frames{first}")
    positions = np.full((len(frames), len(names), 3), np.nan)
    confidence = np.zeros((len(frames), len(names)))
    for number, frame in enumerate(frames):
        if frame is not None:
            positions[number, :, : frame.points.shape[1]] = frame.points
            confidence[number] = frame.confidence
    if bad:
        notes = (*notes, f"set aside {len(bad)} that cannot be read, the first: {bad[0]}")
    flat = not np.isfinite(positions[..., 2]).any()
    fps = _find_rate(file, frames, stated, source_fps)
    return Keypoints(str(file), names, positions, confidence, fps, flat, z_up, size, notes)


def _find_rate(
    file: Path, frames: list[PoseFrame | None], stated: float | None, source_fps: float | None
) -> float:
    fps = source_fps or stated
    if fps is None:
        times = [
            (number, frame.seconds)
            for number, frame in enumerate(frames)
            if frame is not None and frame.seconds is not None
        ]
        if len(times) > 1 and times[-1][1] > times[0][1]:
            fps = (times[-1][0] - times[0][0]) / (times[-1][1] - times[0][1])
            # Times in milliseconds that are called times.
            fps = fps * 1000 if fps < 0.5 else fps
            fps = float(round(fps)) if abs(fps - round(fps)) < 0.02 * fps else fps
    if fps is None:
        raise DataError(f"{file}: states neither a rate nor times; give the video's with --source-fps")
    if not 1 <= fps <= 1000:
        raise DataError(f"{file}: {fps:g} frames a second is not from 1 to 1000")
    return fps


def _in_one_measure(keypoints: Keypoints, video_size: tuple[int, int] | None) -> Keypoints:
    """World landmarks and pixels are in one measure; shares of a picture's sides need its size."""
    hips = keypoints.point("left_hip", "right_hip")
    spread = np.nanmax(np.abs(keypoints.positions[..., :2]))
    if keypoints.z_up or hips is None or np.nanmedian(np.abs(hips[:, :2])) < 0.05 or spread > 4:
        return replace(keypoints, size=())
    size = video_size or keypoints.size
    if len(size) != 2 or not all(isinstance(side, (int, float)) and side > 0 for side in size):
        raise DataError(
            f"{keypoints.source}: landmarks are shares of the picture's sides, and its size is not stated; save world "
            "landmarks, or give the video's size: --video-size 1920x1080"
        )
    width, height = float(size[0]), float(size[1])
    return replace(keypoints, positions=keypoints.positions * [width, height, width], size=(width, height))


def load_keypoints(
    file: Path, source_fps: float | None = None, video_size: tuple[int, int] | None = None
) -> Keypoints:
    """Read a file, whose suffix tells its kind.

    Args:
        file: JSON, JSON lines, CSV, NumPy's arrays, TRC or NTU's .skeleton.
        source_fps: The rate of one that states none.
        video_size: Width and height of the video, for landmarks that are shares of its sides.
    """
    return _in_one_measure(_load(file, source_fps), video_size)


def _load(file: Path, source_fps: float | None) -> Keypoints:
    if file.suffix.lower() in (".npy", ".npz"):
        from vivant_build.mime.keypoint_arrays import load_arrays, read_arrays

        return read_arrays(file, load_arrays(file), source_fps)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{file}: is not a text file") from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error})") from None
    from vivant_build.mime.keypoint_csv import read_csv
    from vivant_build.mime.keypoint_json import read_json
    from vivant_build.mime.keypoint_text import read_skeleton, read_trc

    if file.suffix.lower() in (".trc", ".skeleton"):
        return (read_trc if file.suffix.lower() == ".trc" else read_skeleton)(file, text, source_fps)
    if file.suffix.lower() == ".csv":
        return read_csv(file, text, source_fps)
    document, broken = (
        _parse_lines(file, text) if file.suffix.lower() == ".jsonl" else (_parse(file, text), ())
    )
    return read_json(file, document, source_fps, broken)


def _parse(file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{file}, line {error.lineno}: is not JSON ({error.msg})") from None


def _parse_lines(file: Path, text: str) -> tuple[list[Any], tuple[str, ...]]:
    """A frame a line; a line that is no JSON is a frame in which nothing was read."""
    frames: list[Any] = []
    broken = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            frames.append(json.loads(line))
        except json.JSONDecodeError as error:
            broken.append(f"line {number}: is not JSON ({error.msg})")
            frames.append(None)
    if frames and len(broken) == len(frames):
        raise DataError(f"{file}, {broken[0]}")
    return frames, tuple(broken)
