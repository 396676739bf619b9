"""Keypoints of the people in each frame as JSON: MMPose, and others that list people with COCO's points.

MMPose's demos write `instance_info`, its inferencer a list of frames with `instances`; a saved result of the
inferencer has `predictions`. AlphaPose writes a row a person with the `image_id` of its frame, YOLO a list a frame.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from vivant.build.mime.keypoints import COCO, HUMAN36M, Keypoints, PoseFrame, join_frames

_SAME = {"right_foot": "right_ankle", "left_foot": "left_ankle"}
"""Human3.6M's names for what other layouts call ankles."""


def holds_people(entries: list[Any]) -> bool:
    """Whether the frames list people, in place of one body's landmarks."""
    if any(isinstance(entry, dict) and ("instances" in entry or "image_id" in entry) for entry in entries):
        return True
    people = next(filter(None, map(_list_people, entries)), [])
    return bool(people) and ("keypoint_scores" in people[0] or _count_points(people[0]) == len(COCO))


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
    layout = names or (COCO if flat else HUMAN36M)
    notes = (
        (f"several people in {crowd} frames: the one who is nearest to the frame before is taken",)
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
        for key in ("instances", "predictions"):
            if key in entry:
                return _list_people(entry[key])
        return [entry] if "keypoints" in entry else []
    if not isinstance(entry, list):
        return []
    return [person for each in entry if isinstance(each, (dict, list)) for person in _list_people(each)]


def _count_points(person: dict[str, Any]) -> int:
    try:
        return len(_read_person(person).points)
    except (TypeError, ValueError, KeyError, IndexError):
        return 0


def _read_person(person: dict[str, Any]) -> PoseFrame:
    marks = person["keypoints"]
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
    return min(
        fitting,
        key=lambda each: float(np.abs(np.mean(each.points, axis=0) - np.mean(last.points, axis=0)).sum()),
    )
