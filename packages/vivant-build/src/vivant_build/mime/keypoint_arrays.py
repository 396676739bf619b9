"""Keypoints as NumPy arrays (.npy, .npz): a frame a row, as lifters of poses save them.

VideoPose3D, MotionBERT and what followed them write (frames, 17, 3); scripts around MediaPipe (frames, 33, 4), flat or
not; HumanML3D (frames, 22, 3). The number of points tells the layout, and the body itself which axis is up.
"""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.keypoint_layouts import BLAZEPOSE, DEEP_LAYOUTS, FLAT_LAYOUTS, SMPL_JOINTS
from vivant_build.mime.keypoints import Keypoints, PoseFrame, join_frames
from vivant_build.mime.rotation import Array, between

ARRAY_NAMES = (
    *("keypoints_3d", "positions_3d", "poses_3d", "pose_3d", "joints3d", "joints_3d", "reconstruction"),
    *("pose_world_landmarks", "world_landmarks", "keypoints", "landmarks", "joints", "arr_0"),
)
"""What files of several arrays call the points, the first that is there is taken."""
_PICKLED = (
    "it holds pickled Python objects, which can run any program and are not loaded; save its arrays alone: "
    "numpy.savez('motion.npz', poses=…, trans=…, fps=30)"
)
_DEEP = {**DEEP_LAYOUTS, 33: BLAZEPOSE, 22: SMPL_JOINTS[:22], 24: SMPL_JOINTS}
_FLAT = {**FLAT_LAYOUTS, 33: BLAZEPOSE}
_ORIGIN = 0.02
"""Lengths of a trunk within which hips that are put in the origin stay."""


def load_arrays(file: Path) -> dict[str, Any]:
    """The plain arrays of a file by name; that of a .npy file is `arr_0`. Pickled objects are not loaded."""
    try:
        with file.open("rb") as stream:
            content = np.load(stream, allow_pickle=False)
            if isinstance(content, np.ndarray):
                return {"arr_0": content}
            arrays = {name: _read_plain(content, name) for name in content.files}
    except FileNotFoundError:
        raise DataError(f"{file}: there is no such file") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        if "ickle" in str(error):
            raise DataError(f"{file}: {_PICKLED}") from None
        raise DataError(f"{file}: is not a file of plain NumPy arrays ({error})") from None
    plain = {name: array for name, array in arrays.items() if array is not None}
    if arrays and not plain:
        raise DataError(f"{file}: {_PICKLED}")
    return plain


def _read_plain(content: Any, name: str) -> Any:
    """An array of an archive; None if it is one of pickled objects, which may lie beside those that are wanted."""
    try:
        return content[name]
    except ValueError as error:
        if "ickle" in str(error):
            return None
        raise


def read_arrays(file: Path, arrays: dict[str, Any], source_fps: float | None) -> Keypoints:
    """The keypoints of loaded arrays; see `load_keypoints`."""
    name = next((name for name in ARRAY_NAMES if name in arrays), None)
    if name is None:
        held = ", ".join(f"{key} {value.shape}" for key, value in sorted(arrays.items())[:6]) or "nothing"
        raise DataError(
            f"{file}: holds {held}; SMPL's poses, or keypoints as (frames, points, 3), are expected"
        )
    points = _shape(file, arrays[name])
    points, scores = _part_scores(points)
    flat = points.shape[2] == 2
    layouts = _FLAT if flat else _DEEP
    if points.shape[1] not in layouts:
        known = ", ".join(map(str, sorted(layouts)))
        raise DataError(f"{file}: {points.shape[1]} points a frame, and layouts of {known} are known")
    layout = layouts[points.shape[1]]
    heights = None
    if not flat:
        points, heights = face_picture(file, points, layout)
    frames: list[PoseFrame | None] = [
        PoseFrame(place, seen) if np.isfinite(place).any() else None
        for place, seen in zip(points, scores, strict=True)
    ]
    rate = next(
        (float(arrays[key]) for key in ("fps", "frame_rate") if np.size(arrays.get(key, ())) == 1), None
    )
    return replace(join_frames(file, frames, layout, rate, source_fps, bad=[]), heights=heights)


def _shape(file: Path, values: Any) -> Array:
    """The array as (frames, points, axes)."""
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.number):
        raise DataError(f"{file}: keypoints must be numbers, and these are {array.dtype}")
    array = array.astype(float)
    while array.ndim > 3 and 1 in array.shape[:-2]:
        array = np.squeeze(array, axis=array.shape.index(1))
    if array.ndim == 2:
        axes = next((n for n in (4, 3) if array.shape[1] == n * len(BLAZEPOSE)), 3)
        if array.shape[1] % axes == 0:
            array = array.reshape(len(array), -1, axes)
    if array.ndim != 3 or array.shape[2] not in (2, 3, 4) or not len(array):
        raise DataError(f"{file}: keypoints have the shape {array.shape}; (frames, points, 3) is expected")
    return array


def _part_scores(points: Array) -> tuple[Array, Array]:
    """Places and how sure they are: a fourth value, or a third one beside pixels, is a score."""
    ones = np.ones(points.shape[:2])
    if points.shape[2] == 4:
        return points[..., :3], np.clip(np.nan_to_num(points[..., 3]), 0.0, 1.0)
    if points.shape[2] == 3 and points.shape[1] in FLAT_LAYOUTS:
        places, third = points[..., :2], points[..., 2]
        scored = bool(np.all((third >= 0) & (third <= 1.01) | np.isnan(third)))
        if scored and np.any(np.abs(places) > 4):
            return places, np.clip(np.nan_to_num(third), 0.0, 1.0)
    return points, ones


def face_picture(
    file: Path, points: Array, layout: tuple[str, ...], *, seen: bool = True
) -> tuple[Array, Array | None]:
    """The points around the hips in a picture's axes (right, down, away), whichever axis is up; and their heights.

    Heights are over any level, and None where the hips are in the origin of every frame.

    Args:
        file: What errors name.
        points: (frames, points, 3).
        layout: The points' names.
        seen: By one camera, whose first axis is across the picture; any axis of a room can be up.
    """

    def middle(name: str) -> Array:
        sides = [layout.index(f"{side}_{name}") for side in ("left", "right")]
        return np.asarray(points[:, sides].mean(axis=1))

    hips = middle("hip")
    trunk = middle("shoulder") - hips
    trunk = trunk[np.isfinite(trunk).all(axis=1)]
    if not len(trunk):
        raise DataError(f"{file}: shoulders and hips are never seen together")
    up = trunk.mean(axis=0)
    axis = int(np.argmax(np.abs(up)))
    if axis == 0 and seen:
        raise DataError(f"{file}: people lie along the first axis; turn the video upright first")
    sign = float(np.sign(up[axis]))
    axes = {
        0: np.array([[0.0, 1.0, 0.0], [-sign, 0.0, 0.0], [0.0, 0.0, sign]]),
        1: np.diag([1.0, -sign, -sign]),
        2: np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -sign], [0.0, sign, 0.0]]),
    }[axis]
    if axis == 0:
        # No tool has X up: the axes are those of a board that leaned somewhere, so the body alone tells what is up.
        if {"left_ankle", "right_ankle"} <= set(layout):
            up = np.nanmean(middle("shoulder") - middle("ankle"), axis=0)
        axes = between(axes @ up, [0.0, -1.0, 0.0]) @ axes
    room = points @ axes.T
    placed = np.nanmax(np.abs(hips @ axes[1])) > _ORIGIN * float(np.linalg.norm(up))
    return room - (hips @ axes.T)[:, None], -room[..., 1] if placed else None
