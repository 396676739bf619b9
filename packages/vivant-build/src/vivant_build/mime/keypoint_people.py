"""Keypoints of the people in each frame as JSON: MMPose, AlphaPose, YOLO and others that list people.

MMPose's demos write `instance_info`, its inferencer a list of frames with `instances`; a saved result of the
inferencer has `predictions`. AlphaPose writes a row a person with the `image_id` of its frame, or `people` or `bodies`
by frame; YOLO a list a frame. The number of points tells the layout where no names are stated.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import format_count
from vivant_build.mime.keypoint_layouts import COCO, DEEP_LAYOUTS, FLAT_LAYOUTS
from vivant_build.mime.keypoints import Keypoints, PoseFrame, join_frames

_SAME = {f"{side}_{name}": f"{side}_{ours}" for side in ("left", "right")
         for name, ours in (("foot", "ankle"), ("big_toe", "foot_index"))}  # fmt: skip
"""Other layouts' names for the same points: Human3.6M's feet are ankles."""
_POINTS = ("keypoints", "pose_keypoints_2d", "joints")
_FAR = 1.0
"""Body heights that somebody can be from where they were last seen; beyond it is somebody else."""


def holds_people(entries: list[Any]) -> bool:
    """Whether the frames list people, in place of one body's landmarks."""
    marks = ("instances", "image_id", "people", "bodies")
    if any(isinstance(entry, dict) and any(mark in entry for mark in marks) for entry in entries):
        return True
    people = next(filter(None, map(_list_people, entries)), [])
    return bool(people) and ("keypoint_scores" in people[0] or _count_points(people[0]) in FLAT_LAYOUTS)


def read_people(
    file: Path,
    head: dict[str, Any],
    entries: list[Any],
    stated: float | None,
    source_fps: float | None,
    bad: list[str],
) -> Keypoints:
    """Of several people in a frame, the one nearest to the frame before."""
    meta = head.get("meta_info")
    names = _find_names(meta if isinstance(meta, dict) else {})
    frames: list[PoseFrame | None] = []
    crowd, last = 0, None
    for number, entry in enumerate(_gather_rows(entries)):
        people = []
        for instance in _list_people(entry):
            try:
                people.append(_read_person(instance))
            except (TypeError, ValueError, KeyError, IndexError) as error:
                bad.append(f"frame {number + 1}: {error}")
        crowd += len(people) > 1
        chosen = choose_person(people, last)
        frames.append(chosen)
        last = chosen if chosen is not None else last
    flat = all(frame is None or frame.points.shape[1] == 2 for frame in frames)
    sizes = [len(frame.points) for frame in frames if frame is not None]
    count = max(set(sizes), key=sizes.count) if sizes else len(COCO)
    layouts = FLAT_LAYOUTS if flat else DEEP_LAYOUTS
    if not names and count not in layouts:
        known = ", ".join(map(str, sorted(layouts)))
        raise DataError(
            f"{file}: people have {count} points, and layouts of {known} are known; add their names as "
            '{"meta_info": {"keypoint_id2name": {"0": "nose", …}}, "instance_info": […]}'
        )
    layout = names or layouts[count]
    notes = (
        (
            f"several people in {format_count(crowd, 'frame')}: the one who is nearest to the frame before is taken",
        )
        if crowd
        else ()
    )
    return join_frames(file, frames, layout, stated, source_fps, bad=bad, notes=notes, z_up=not flat)


def _gather_rows(entries: list[Any]) -> list[Any]:
    """Rows that name their frame (`image_id`: 12, or 000012.jpg), one list a frame, empty where no row does."""
    rows = [entry for entry in entries if isinstance(entry, dict) and "image_id" in entry]
    if not rows:
        return entries
    frames: dict[int, list[Any]] = {}
    order: dict[str, int] = {}
    for row in rows:
        name = str(row["image_id"])
        digits = re.findall(r"\d+", name)
        number = int(digits[-1]) if digits else order.setdefault(name, len(order))
        frames.setdefault(number, []).append(row)
    return [frames.get(number, []) for number in range(min(frames), max(frames) + 1)]


def _list_people(entry: Any) -> list[dict[str, Any]]:
    if isinstance(entry, dict):
        for key in ("instances", "predictions", "people", "bodies"):
            if key in entry:
                return _list_people(entry[key])
        return [entry] if any(key in entry for key in _POINTS) else []
    if not isinstance(entry, list):
        return []
    return [person for each in entry if isinstance(each, (dict, list)) for person in _list_people(each)]


def _count_points(person: dict[str, Any]) -> int:
    try:
        return len(_read_person(person).points)
    except (TypeError, ValueError, KeyError, IndexError):
        return 0


def _read_person(person: dict[str, Any]) -> PoseFrame:
    marks = next(person[key] for key in _POINTS if key in person)
    if isinstance(marks, dict):
        points = np.array([marks["x"], marks["y"]], dtype=float).T
        scores = np.array(marks.get("visible", np.ones(len(points))), dtype=float)
    elif marks and isinstance(marks[0], dict):
        points = np.array([[mark["x"], mark["y"]] for mark in marks], dtype=float)
        scores = np.array([mark.get("score", 1.0) for mark in marks], dtype=float)
    else:
        points = np.array(marks, dtype=float)
        points = points[0] if points.ndim == 3 else points
        if points.ndim == 1:
            points = points.reshape(-1, 3)
            points, scores = points[:, :2], points[:, 2]
        else:
            scores = np.ravel(np.array(person.get("keypoint_scores", np.ones(len(points))), dtype=float))
    if points.ndim != 2 or points.shape[1] not in (2, 3) or len(scores) != len(points):
        raise ValueError(f"keypoints of the shape {points.shape} with {len(scores)} scores")
    return PoseFrame(points, np.clip(scores, 0.0, 1.0))


def _find_names(meta: dict[str, Any]) -> tuple[str, ...]:
    table = meta.get("keypoint_id2name")
    if not isinstance(table, dict):
        return ()
    ordered = [str(table[key]) for key in sorted(table, key=int)]
    return tuple(_SAME.get(name, name) for name in ordered)


def choose_person(people: list[PoseFrame], last: PoseFrame | None) -> PoseFrame | None:
    """The one nearest to who was followed so far; at first the largest and surest."""
    if not people:
        return None
    if last is None:
        return max(
            people, key=lambda each: float(np.ptp(each.points[:, :2], axis=0).prod() * each.confidence.mean())
        )
    fitting = [each for each in people if each.points.shape == last.points.shape] or people
    nearest = min(fitting, key=lambda each: _distance(each, last))
    size = float(np.ptp(last.points[last.confidence > 0][:, :2], axis=0).max(initial=0.0))
    return nearest if _distance(nearest, last) <= _FAR * size or not size else None


def _distance(one: PoseFrame, other: PoseFrame) -> float:
    """How far the middles of two people are apart; points that were not found (0, 0) are left out."""
    middles = [each.points[each.confidence > 0][:, :2] for each in (one, other)]
    if not all(map(len, middles)):
        return 0.0
    return float(np.linalg.norm(np.median(middles[0], axis=0) - np.median(middles[1], axis=0)))
