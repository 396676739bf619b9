"""SMPL motions (NPZ): SMPL (72 angles), SMPL-H (156) and SMPL-X (165), as AMASS and estimators of bodies name them.

AMASS has `poses` and `trans`, or `root_orient` and `pose_body`; estimators have `global_orient`, `body_pose` and
`transl` (4D-Humans, GVHMR), `pose_world` and `trans_world` (WHAM), `pose` (VIBE) or `smpl_thetas` (ROMP), as
axis-angles or matrices.

Such a file has turns of joints and the path of the pelvis, and no bone lengths: those need the body model, which may
not be passed on. The mean body's proportions stand in. Turns are unaffected; strides of a very tall or short person
come out a little long or short, which the foot sliding of `clean` shows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import describe_bad, hold_rows
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.keypoint_arrays import load_arrays
from vivant_build.mime.recording import build_bvh
from vivant_build.mime.rotation import Array, to_quaternion, unit

_RATES = ("mocap_framerate", "mocap_frame_rate", "fps")
_POSES = ("poses", "pose_world", "pose", "smpl_thetas")
_ROOTS, _BODIES = ("root_orient", "global_orient"), ("pose_body", "body_pose")
_PATHS = ("trans", "trans_world", "transl")
SMPL_ARRAYS = frozenset((*_POSES, *_BODIES, "betas"))
"""Names of arrays that tell a file of this kind from one of keypoints."""
_WIDTHS = {72: "SMPL", 156: "SMPL-H", 165: "SMPL-X", 66: "SMPL's body"}
# Offsets of the mean neutral body in metres, Y up, facing +Z, left +X; both sides made alike.
_MIDDLE = {
    "pelvis": ("", (0.0, 0.0, 0.0)),
    "spine1": ("pelvis", (0.0, 0.109, -0.0267)),
    "spine2": ("spine1", (0.0, 0.1352, 0.0011)),
    "spine3": ("spine2", (0.0, 0.0529, 0.0254)),
    "neck": ("spine3", (0.0, 0.2139, -0.0429)),
    "head": ("neck", (0.0, 0.0651, 0.0513)),
}
_SIDED = {
    "hip": ("pelvis", (0.0686, -0.091, -0.0055)),
    "knee": ("hip", (0.0363, -0.3789, -0.0067)),
    "ankle": ("knee", (-0.0147, -0.3982, -0.043)),
    "foot": ("ankle", (0.0259, -0.052, 0.1213)),
    "collar": ("spine3", (0.0803, 0.1203, -0.0365)),
    "shoulder": ("collar", (0.1022, 0.0315, -0.0088)),
    "elbow": ("shoulder", (0.2598, -0.0131, -0.0247)),
    "wrist": ("elbow", (0.2515, 0.0084, -0.003)),
}
_ORDER = (
    *("pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle"),
    *("right_ankle", "spine3", "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head"),
    *("left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist"),
)
"""The first 22 joints, which all three models share."""


def load_smpl(file: Path, source_fps: float | None = None, content: dict[str, Any] | None = None) -> Bvh:
    """Read a file; `source_fps` is the rate of one that states none, `content` its arrays if they are loaded."""
    arrays = _pick_arrays(file, load_arrays(file) if content is None else content)
    poses = _poses(file, arrays)
    frames = len(poses)
    stated = next((name for name in _PATHS if name in arrays), None)
    path = np.zeros((frames, 3)) if stated is None else arrays[stated].reshape(len(arrays[stated]), -1)
    if path.shape != (frames, 3):
        raise DataError(
            f"{file}: {stated} is {path.shape} and poses have {frames} frames; export the file again"
        )
    fps = _rate(file, arrays, source_fps)
    turns = poses[:, : 3 * len(_ORDER)].reshape(frames, len(_ORDER), 3)
    bad = np.zeros(frames, dtype=bool)
    reasons: dict[int, str] = {}
    for name, values in (("poses", turns), ("trans", path)):
        for row in np.flatnonzero(~np.isfinite(values.reshape(frames, -1)).all(axis=1)).tolist():
            bad[row] = True
            reasons.setdefault(row, f"row {row + 1} of {name}: a value is no finite number")
    notes = describe_bad(str(file), [reasons[row] for row in sorted(reasons)], frames)
    turns, path = hold_rows(turns, bad), hold_rows(path, bad)
    names, parents, offsets = _skeleton()
    local = from_axis_angle(turns)
    turned, positions = np.empty_like(local), np.empty((frames, len(names), 3))
    for index, parent in enumerate(parents):
        if parent < 0:
            turned[:, index], positions[:, index] = local[:, index], path
            continue
        positions[:, index] = positions[:, parent] + turned[:, parent] @ offsets[index]
        turned[:, index] = turned[:, parent] @ local[:, index]
    axes = _up_axes(positions, names, stated_z=any(name in arrays for name in _RATES[:2]))
    bvh = build_bvh(names, parents, positions @ axes.T, axes @ turned, fps, str(file))
    return replace(bvh, notes=tuple(notes), bad=bad, placed=stated is not None)


def _pick_arrays(file: Path, content: dict[str, Any]) -> dict[str, Array]:
    wanted = (*_POSES, *_ROOTS, *_BODIES, *_PATHS, *_RATES)
    arrays = {name: content[name] for name in wanted if name in content}
    if not any(name in arrays for name in (*_POSES, *_BODIES)):
        shape = "betas" in content or "stagei" in file.stem or file.stem == "shape"
        reason = (
            "it holds a body's shape and no motion; take the file that ends in _poses or _stageii"
            if shape
            else f"it has no poses; it holds {', '.join(sorted(content)[:8]) or 'nothing'}"
        )
        raise DataError(f"{file}: {reason}")
    try:
        return {name: np.asarray(array).astype(float) for name, array in arrays.items()}
    except (TypeError, ValueError):
        raise DataError(f"{file}: poses, trans and the frame rate must be numbers") from None


def _poses(file: Path, arrays: dict[str, Array]) -> Array:
    """Axis-angles of the joints (frames, 3 × joints)."""
    poses = next((_as_angles(arrays[name]) for name in _POSES if name in arrays), None)
    if poses is None:
        parts = [
            _as_angles(arrays[name]) for names in (_ROOTS, _BODIES) for name in names[:2] if name in arrays
        ]
        if len(parts) != 2 or {part.ndim for part in parts} != {2} or len(parts[0]) != len(parts[1]):
            raise DataError(
                f"{file}: {' or '.join(_BODIES)} needs {' or '.join(_ROOTS)} of as many frames beside it"
            )
        poses = np.concatenate(parts, axis=1)
    if poses.ndim != 2 or poses.shape[1] not in _WIDTHS:
        widths = ", ".join(f"{width} ({model})" for width, model in _WIDTHS.items())
        raise DataError(f"{file}: poses are {poses.shape}; a row has {widths} angles")
    if not len(poses):
        raise DataError(f"{file}: the file has no frames")
    return poses


def _as_angles(values: Array) -> Array:
    """Turns as rows of axis-angles; they may come joint by joint, or as matrices."""
    if values.ndim > 2 and values.shape[-2:] == (3, 3):
        quaternion = to_quaternion(values)
        sine = np.linalg.norm(quaternion[..., 1:], axis=-1, keepdims=True)
        values = unit(quaternion[..., 1:]) * 2 * np.arctan2(sine, quaternion[..., :1])
    return values.reshape(len(values), -1) if values.ndim > 2 else values


def _rate(file: Path, arrays: dict[str, Array], source_fps: float | None) -> float:
    stated = next((float(arrays[name]) for name in _RATES if name in arrays and arrays[name].size == 1), None)
    fps = stated if stated is not None else source_fps
    if fps is None:
        raise DataError(f"{file}: states no frame rate; give it with --source-fps")
    if not 1 <= fps <= 1000:
        raise DataError(f"{file}: {fps:g} frames a second is not from 1 to 1000")
    # 120.00004577 is 120 that went through a shorter number.
    return float(round(fps)) if abs(fps - round(fps)) < 0.01 else fps


def _skeleton() -> tuple[list[str], list[int], Array]:
    table = dict(_MIDDLE)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for name, (parent, (x, y, z)) in _SIDED.items():
            above = f"{side}_{parent}" if parent in _SIDED else parent
            table[f"{side}_{name}"] = (above, (sign * x, y, z))
    parents = [_ORDER.index(table[name][0]) if table[name][0] else -1 for name in _ORDER]
    return list(_ORDER), parents, np.array([table[name][1] for name in _ORDER])


def from_axis_angle(vectors: Array) -> Array:
    """Rotation matrices of axis-angle vectors (…, 3) in radians."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = (unit(vectors)[..., n] for n in range(3))
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    identity: Array = np.eye(3)
    return np.asarray(identity + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross))


def _up_axes(positions: Array, names: list[str], *, stated_z: bool) -> Array:
    """The rotation that brings the file's up axis to +Y: AMASS has Z up, others Y up or Y down."""
    feet = [names.index("left_ankle"), names.index("right_ankle")]
    upright = unit(positions[:, names.index("head")] - positions[:, feet].mean(axis=1)).mean(axis=0)
    main = 2 if stated_z else int(np.argmax(np.abs(upright)))
    if main == 2:
        return np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
    if main == 1 and upright[1] < 0:
        return np.diag([1.0, -1.0, -1.0])
    return np.eye(3) if main == 1 else np.array([[0, -1.0, 0], [1.0, 0, 0], [0, 0, 1.0]])
