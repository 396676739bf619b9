"""Keypoints as JSON: MediaPipe's landmarks in the forms that people write, and predictions of people in frames.

MediaPipe writes no file of its own. Frames come as a list, by number, or under `frames`, `poses` or `results`; a
landmark is {x, y, z, visibility} or a list. World landmarks (metres around the hips) are taken where a file has them
beside those of the picture, which then tell how high the body is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vivant_build.mime.keypoint_jumps import add_heights
from vivant_build.mime.keypoint_layouts import BLAZEPOSE
from vivant_build.mime.keypoint_people import holds_people, read_people
from vivant_build.mime.keypoints import (
    Keypoints,
    NoKeypointsError,
    PoseFrame,
    join_frames,
    plain_name,
)
from vivant_build.mime.rotation import Array

_WORLD = (
    "pose_world_landmarks",
    "poseWorldLandmarks",
    "world_landmarks",
    "worldLandmarks",
    "landmarks_3d",
    "keypoints3D",
)
_PICTURE = ("pose_landmarks", "poseLandmarks", "landmarks", "pose", "keypoints", "landmark")
_FRAMES = ("frames", "poses", "results", "instance_info", "predictions", "data", "landmarks_sequence")
_FRAME = r"(?:frame_?(\d+)|.*?(\d+)\.(?:jpe?g|png))"
_RATES = ("fps", "frame_rate", "frameRate", "framerate")


def read_json(file: Path, document: Any, source_fps: float | None, broken: tuple[str, ...] = ()) -> Keypoints:
    """The keypoints of a parsed document; see `load_keypoints`. `broken` names lines that were no JSON."""
    head = document if isinstance(document, dict) else {}
    entries = _frame_entries(document)
    if not entries:
        raise NoKeypointsError(
            f"{file}: holds no frames; a list of frames, each with its landmarks, is expected"
        )
    bad = list(broken)
    if holds_people(entries):
        return read_people(file, head, entries, _stated_rate(head), source_fps, bad)
    world = any(isinstance(entry, dict) and any(key in entry for key in _WORLD) for entry in entries)
    frames: list[PoseFrame | None] = []
    layout = _find_layout(_content(entry, world) for entry in entries)
    for number, entry in enumerate(entries):
        seconds = _seconds(entry) if isinstance(entry, dict) else None
        try:
            frame = _landmarks(_content(entry, world), layout)
        except (TypeError, ValueError, KeyError) as error:
            bad.append(f"frame {number + 1}: {error}")
            frame = None
        if frame is not None:
            frame.seconds = seconds
        frames.append(frame)
    size = tuple(head.get(name) or head.get("video_" + name) for name in ("width", "height"))
    keypoints = join_frames(file, frames, layout, _stated_rate(head), source_fps, size=size, bad=bad)
    if not world:
        return keypoints
    picture = np.full(keypoints.confidence.shape, np.nan)
    for number, entry in enumerate(entries):
        picture[number] = _read_downs(entry, layout)
    return add_heights(keypoints, picture)


def _read_downs(entry: Any, layout: tuple[str, ...]) -> Array | float:
    """How far down in the picture the landmarks are that stand beside those of the world; NaN if there are none."""
    if not isinstance(entry, dict) or not any(key in entry for key in _PICTURE):
        return np.nan
    try:
        frame = _landmarks(_content(entry, world=False), layout)
    except (TypeError, ValueError, KeyError):
        return np.nan
    return np.nan if frame is None or len(frame.points) != len(layout) else frame.points[:, 1]


def _find_layout(contents: Iterator[Any]) -> tuple[str, ...]:
    """The names of the first body that names its points, unless they are MediaPipe's; else those."""
    table = next((content for content in contents if isinstance(content, dict) and content), {})
    names = tuple(
        dict.fromkeys(plain_name(key) for key, mark in table.items() if isinstance(mark, (dict, list)))
    )
    body = {f"{side}_{name}" for side in ("left", "right") for name in ("shoulder", "elbow", "hip")}
    return names if body <= set(names) and not set(BLAZEPOSE) <= set(names) else BLAZEPOSE


def _frame_entries(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return []
    for name in _FRAMES:
        if isinstance(document.get(name), (list, dict)):
            return _frame_entries(document[name])
    numbered = {int(key): value for key, value in document.items() if re.fullmatch(r"\d+", key)}
    named = {
        int(m[1] or m[2]): value for key, value in document.items() if (m := re.fullmatch(_FRAME, key, re.I))
    }
    by_number = numbered or named
    return (
        [by_number.get(number) for number in range(min(by_number), max(by_number) + 1)] if by_number else []
    )


def _content(entry: Any, world: bool) -> Any:
    """The landmarks of a frame's entry: one person's, unwrapped."""
    if isinstance(entry, dict):
        for key in _WORLD if world else _PICTURE:
            if key in entry:
                return _content(entry[key], world=False)
        people = [value for key, value in entry.items() if re.fullmatch(r"person_?\d+", key)]
        return None if world else people[0] if people else entry
    if isinstance(entry, list) and entry and isinstance(entry[0], list) and entry[0]:
        # A list of people, each a list of landmarks; [x, y, z] is a landmark.
        return _content(entry[0], world=False) if isinstance(entry[0][0], (dict, list)) else entry
    return entry


def _landmarks(content: Any, layout: tuple[str, ...]) -> PoseFrame | None:
    if not content:
        return None
    if isinstance(content, dict):
        table = {plain_name(key): value for key, value in content.items()}
        content = [table[name] for name in layout if name in table]
        if len(content) != len(layout):
            return None
    if len(content) != len(layout):
        raise ValueError(f"{len(content)} landmarks, and {len(layout)} are expected")
    points, seen = np.empty((len(content), 3)), np.ones(len(content))
    for index, mark in enumerate(content):
        if isinstance(mark, dict):
            points[index] = [float(mark["x"]), float(mark["y"]), float(mark.get("z", np.nan))]
            seen[index] = float(mark.get("visibility", mark.get("score", 1.0)) or 0.0)
        else:
            values = [float(value) for value in mark]
            points[index] = values[:3] if len(values) >= 3 else [*values[:2], np.nan]
            seen[index] = values[3] if len(values) > 3 else 1.0
    return PoseFrame(points, seen)


def _seconds(entry: dict[str, Any]) -> float | None:
    for key, scale in (
        ("timestamp_ms", 1e-3),
        ("time_ms", 1e-3),
        ("timestamp", 1.0),
        ("time", 1.0),
        ("t", 1.0),
        ("time_s", 1.0),
    ):
        value = entry.get(key)
        if isinstance(value, (int, float)):
            return float(value) * scale
    return None


def _stated_rate(head: dict[str, Any]) -> float | None:
    places = [
        head,
        *(
            part
            for part in (head.get("metadata"), head.get("meta"), head.get("video"))
            if isinstance(part, dict)
        ),
    ]
    for place in places:
        for key in _RATES:
            if isinstance(place.get(key), (int, float)) and place[key] > 0:
                return float(place[key])
    return None
