"""OpenPose's output: a folder with a JSON file a frame, each with its people (`VIDEO_000000000012_keypoints.json`)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import format_count
from vivant_build.mime.keypoint_layouts import BODY_25, OPENPOSE_COCO
from vivant_build.mime.keypoint_people import choose_person
from vivant_build.mime.keypoints import Keypoints, PoseFrame, join_frames

_LAYOUTS = {len(layout): layout for layout in (BODY_25, OPENPOSE_COCO)}
_FRAME = re.compile(r"(\d+)_keypoints\.json$")


def holds_openpose(folder: Path) -> bool:
    """Whether a folder is one recording by OpenPose."""
    return folder.is_dir() and any(map(is_openpose, folder.iterdir()))


def is_openpose(file: Path) -> bool:
    """Whether a file is a frame of such a recording."""
    return _FRAME.search(file.name) is not None


def load_openpose(folder: Path, source_fps: float | None = None) -> Keypoints:
    """Read a folder; of several people in a frame, the one nearest to the frame before. It states no rate."""
    files = {int(m[1]): file for file in folder.iterdir() if (m := _FRAME.search(file.name))}
    if not files:
        raise DataError(f"{folder}: holds no file whose name ends in a frame's number and _keypoints.json")
    bad: list[str] = []
    frames: list[PoseFrame | None] = []
    crowd, last = 0, None
    for number in range(min(files), max(files) + 1):
        people = _read_people(files[number], bad) if number in files else []
        crowd += len(people) > 1
        chosen = choose_person(people, last)
        frames.append(chosen)
        last = chosen if chosen is not None else last
    sizes = [len(frame.points) for frame in frames if frame is not None]
    layout = _LAYOUTS[max(set(sizes), key=sizes.count)] if sizes else BODY_25
    notes = (
        (
            f"several people in {format_count(crowd, 'frame')}: the one who is nearest to the frame before is taken",
        )
        if crowd
        else ()
    )
    return join_frames(folder, frames, layout, None, source_fps, bad=bad, notes=notes)


def _read_people(file: Path, bad: list[str]) -> list[PoseFrame]:
    """Everybody in a frame; what cannot be read is named in `bad`."""
    try:
        document = json.loads(file.read_text(encoding="utf-8-sig"))
        return [_read_person(person) for person in document["people"]]
    except json.JSONDecodeError as error:
        bad.append(f"{file.name}, line {error.lineno}: is not JSON ({error.msg})")
    except (OSError, UnicodeDecodeError, TypeError, KeyError, ValueError) as error:
        bad.append(f"{file.name}: {error}")
    return []


def _read_person(person: dict[str, Any]) -> PoseFrame:
    values = np.array(person["pose_keypoints_2d"], dtype=float)
    if len(values) % 3 or len(values) // 3 not in _LAYOUTS:
        raise ValueError(
            f"{len(values)} values; BODY_25 has {3 * len(BODY_25)}, COCO {3 * len(OPENPOSE_COCO)}"
        )
    rows = values.reshape(-1, 3)
    return PoseFrame(rows[:, :2], np.clip(rows[:, 2], 0.0, 1.0))
