"""Keypoints as text: TRC (OpenSim, as Pose2Sim, Sports2D and OpenCap write it) and NTU's .skeleton (Kinect)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import format_count
from vivant_build.mime.keypoint_arrays import face_picture
from vivant_build.mime.keypoint_layouts import KINECT
from vivant_build.mime.keypoint_people import choose_person
from vivant_build.mime.keypoints import Keypoints, PoseFrame, join_frames, plain_name

_KINECT_RATE = 30.0


def read_trc(file: Path, text: str, source_fps: float | None) -> Keypoints:
    """The markers of a TRC file by name; other markers than those of a body do no harm."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if len(lines) < 6 or not lines[0].startswith("PathFileType"):
        raise DataError(f"{file}: does not begin with PathFileType, as a TRC file does")
    stated = dict(zip(lines[1].split("\t"), lines[2].split("\t"), strict=False))
    names = tuple(plain_name(name) for name in lines[3].split("\t")[2:] if name.strip())
    missing = [f"{side}_{name}" for side in ("left", "right") for name in ("shoulder", "hip")
               if f"{side}_{name}" not in names]  # fmt: skip
    if missing:
        raise DataError(
            f"{file}: no marker is called {', '.join(missing)} (RShoulder, LHip …); markers on the skin need a "
            "skeleton, which OpenSim or the recorder's program solves: export its motion as BVH"
        )
    rows, bad = [], []
    for number, line in enumerate(lines[5:], 6):
        cells = line.split("\t")[2:]
        if not any(cell.strip() for cell in cells):
            continue
        try:
            values = [float(cell) if cell.strip() else np.nan for cell in cells[: 3 * len(names)]]
            rows.append(np.array(values + [np.nan] * (3 * len(names) - len(values))).reshape(-1, 3))
        except ValueError:
            bad.append(f"line {number}: a value is no number")
            rows.append(np.full((len(names), 3), np.nan))
    if not rows:
        raise DataError(f"{file}: holds no rows below its head")
    points, heights = face_picture(file, np.stack(rows), names, seen=False)
    frames: list[PoseFrame | None] = [
        PoseFrame(place, np.isfinite(place).all(axis=1).astype(float)) if np.isfinite(place).any() else None
        for place in points
    ]
    try:
        rate = float(stated["DataRate"])
    except (KeyError, ValueError):
        rate = None
    return replace(join_frames(file, frames, names, rate, source_fps, bad=bad), heights=heights)


def read_skeleton(file: Path, text: str, source_fps: float | None) -> Keypoints:
    """NTU's text: the number of frames; of each its bodies; of each a line of its own and 25 joints."""
    words = iter(text.split("\n"))
    frames: list[PoseFrame | None] = []
    crowd, last = 0, None
    try:
        for _ in range(int(next(words))):
            people = []
            for _ in range(int(next(words))):
                next(words)
                rows = [next(words).split() for _ in range(int(next(words)))]
                # A Kinect's axes are left (of itself), up, away.
                points = np.array([row[:3] for row in rows], dtype=float) * [-1.0, -1.0, 1.0]
                people.append(PoseFrame(points, np.ones(len(points))))
            crowd += len(people) > 1
            chosen = choose_person(people, last)
            frames.append(chosen)
            last = chosen if chosen is not None else last
    except (StopIteration, ValueError, IndexError) as error:
        if not frames:
            raise DataError(f"{file}: is not a .skeleton file as NTU writes it ({error})") from None
    hips = [KINECT.index("left_hip"), KINECT.index("right_hip")]
    heights = np.full((len(frames), len(KINECT)), np.nan)
    for number, frame in enumerate(frames):
        if frame is not None and len(frame.points) == len(KINECT):
            heights[number] = -frame.points[:, 1]
            frame.points = frame.points - frame.points[hips].mean(axis=0)
    notes = (f"several people in {format_count(crowd, 'frame')}: one is followed",) if crowd else ()
    keypoints = join_frames(file, frames, KINECT, _KINECT_RATE, source_fps, bad=[], notes=notes)
    return replace(keypoints, heights=heights)
