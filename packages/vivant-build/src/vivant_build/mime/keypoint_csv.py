"""Keypoints as CSV: a row a frame (x0, y0, z0, v0 … or nose_x …) or a row a landmark (frame, landmark, x, y, z)."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from vivant_build.mime.keypoint_jumps import add_heights
from vivant_build.mime.keypoint_layouts import BLAZEPOSE
from vivant_build.mime.keypoints import (
    Keypoints,
    NoKeypointsError,
    PoseFrame,
    join_frames,
    plain_name,
)

_AXES = r"(?P<axis>wx|wy|wz|x|y|z|visibility|vis|v)"
_WIDE = (
    re.compile(rf"^(?P<label>(?:world_?)?){_AXES}_?(?P<number>\d+)$"),
    re.compile(rf"^(?P<label>.*?[a-z]?)_?(?P<number>\d+)_?{_AXES}$"),
    re.compile(rf"^(?P<label>.+)_{_AXES}(?P<number>)$"),
)
"""x0 and world_x0; 0_x and landmark_0_x; nose_x."""


def read_csv(file: Path, text: str, source_fps: float | None) -> Keypoints:
    """The keypoints of a table's text; see `load_keypoints`."""
    rows = list(csv.DictReader(_add_head(text).splitlines()))
    if not rows:
        raise NoKeypointsError(f"{file}: holds no rows below its head")
    columns = {name.strip().lower(): name for name in rows[0] if name}
    frame = next(
        (
            columns[name]
            for name in ("frame", "frame_id", "frame_index", "frame_idx", "frame_number")
            if name in columns
        ),
        None,
    )
    mark = next(
        (
            columns[name]
            for name in (
                "landmark",
                "landmark_id",
                "landmark_index",
                "landmark_idx",
                "landmark_name",
                "keypoint",
                "joint",
                "id",
            )
            if name in columns
        ),
        None,
    )
    long = frame is not None and mark is not None
    bad: list[str] = []
    cells = _long_cells(rows, columns, frame, mark, bad) if long else _wide_cells(rows, columns, bad)
    world = any(axis.startswith("w") for table in cells for _, axis in table)
    frames: list[PoseFrame | None] = []
    picture = np.full((len(cells), len(BLAZEPOSE)), np.nan)
    for number, table in enumerate(cells):
        points, seen = np.full((len(BLAZEPOSE), 3), np.nan), np.ones(len(BLAZEPOSE))
        for (index, axis), value in table.items():
            if not 0 <= index < len(BLAZEPOSE):
                continue
            if axis in ("v", "vis", "visibility"):
                seen[index] = value if np.isfinite(value) else 0.0
            elif axis.startswith("w") == world:
                points[index, "xyz".index(axis[-1])] = value
            elif axis == "y":
                picture[number, index] = value
        frames.append(PoseFrame(points, seen) if np.isfinite(points[:, :2]).any() else None)
    if not any(frames):
        raise NoKeypointsError(
            f"{file}: no column is known; it needs x0, y0, z0, v0 … or nose_x, nose_y … (a row a frame), or frame, "
            "landmark, x, y, z, visibility (a row a landmark)"
        )
    times = _csv_times(rows, columns, frame if long else None)
    for item, seconds in zip(frames, times, strict=False):
        if item is not None:
            item.seconds = seconds
    return add_heights(join_frames(file, frames, BLAZEPOSE, None, source_fps, bad=bad), picture)


def _add_head(text: str) -> str:
    """The text with names of its columns, where its first line is values of 33 landmarks."""
    first = text.split("\n", 1)[0].split(",")
    axes = {3 * len(BLAZEPOSE): "xyz", 4 * len(BLAZEPOSE): "xyzv"}.get(len(first))
    try:
        [float(cell) for cell in first]
    except ValueError:
        return text
    if axes is None:
        return text
    return ",".join(f"{axis}{n}" for n in range(len(BLAZEPOSE)) for axis in axes) + "\n" + text


def _long_cells(
    rows: list[dict[str, str]], columns: dict[str, str], frame: str | None, mark: str | None, bad: list[str]
) -> list[dict[tuple[int, str], float]]:
    axes = {
        key: axis
        for key, axis in (
            *(("x", "x"), ("y", "y"), ("z", "z"), ("x_px", "x"), ("y_px", "y"), ("z_norm", "z")),
            *(("visibility", "v"), ("vis", "v"), ("world_x", "wx"), ("world_y", "wy"), ("world_z", "wz")),
            *(
                ("x_world", "wx"),
                ("y_world", "wy"),
                ("z_world", "wz"),
                ("wx", "wx"),
                ("wy", "wy"),
                ("wz", "wz"),
            ),
        )
        if key in columns
    }
    tables: dict[int, dict[tuple[int, str], float]] = {}
    for line, row in enumerate(rows, 2):
        try:
            number = int(float(row[frame or ""]))
            name = str(row[mark or ""]).strip()
            index = int(name) if name.isdigit() else BLAZEPOSE.index(plain_name(name))
            values = {(index, axis): float(row[columns[key]] or "nan") for key, axis in axes.items()}
        except (TypeError, ValueError):
            bad.append(f"line {line}")
            continue
        tables.setdefault(number, {}).update(values)
    return [tables.get(number, {}) for number in range(min(tables), max(tables) + 1)] if tables else []


def _wide_cells(
    rows: list[dict[str, str]], columns: dict[str, str], bad: list[str]
) -> list[dict[tuple[int, str], float]]:
    places: dict[str, tuple[int, str]] = {}
    for lower, name in columns.items():
        match = next(filter(None, (pattern.match(lower) for pattern in _WIDE)), None)
        if match is None:
            continue
        label, axis = match["label"].strip("_"), match["axis"]
        if label.startswith("world"):
            label, axis = label.removeprefix("world").strip("_"), axis if axis[0] in "vw" else "w" + axis
        if match["number"]:
            places[name] = (int(match["number"]), axis)
        elif label in BLAZEPOSE:
            places[name] = (BLAZEPOSE.index(label), axis)
    numbers = {index for index, _ in places.values()}
    # x1 … x33 count from one; behind them, points of a face may go on.
    shift = 1 if numbers and min(numbers) == 1 and max(numbers) >= len(BLAZEPOSE) else 0
    cells = []
    for line, row in enumerate(rows, 2):
        try:
            cells.append({(i - shift, axis): float(row[name] or "nan") for name, (i, axis) in places.items()})
        except (TypeError, ValueError):
            bad.append(f"line {line}")
            cells.append({})
    return cells


def _csv_times(rows: list[dict[str, str]], columns: dict[str, str], frame: str | None) -> list[float | None]:
    for key, scale in (
        ("timestamp_ms", 1e-3),
        ("time_ms", 1e-3),
        ("timestamp", 1.0),
        ("time", 1.0),
        ("time_s", 1.0),
        ("time_sec", 1.0),
    ):
        if key not in columns:
            continue
        times: dict[int, float] = {}
        for number, row in enumerate(rows):
            try:
                times.setdefault(
                    int(float(row[frame])) if frame else number, float(row[columns[key]]) * scale
                )
            except (TypeError, ValueError):
                continue
        return [times.get(number) for number in range(min(times), max(times) + 1)] if times else []
    return []
