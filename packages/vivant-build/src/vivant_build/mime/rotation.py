"""Rotations as matrices and quaternions, for whole motions at once: leading axes are frames and joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
_AXES = {"X": 0, "Y": 1, "Z": 2}


def unit(vectors: ArrayLike) -> Array:
    """The vectors at length one; a zero vector stays zero."""
    array = np.asarray(vectors, dtype=float)
    length = np.linalg.norm(array, axis=-1, keepdims=True)
    return np.asarray(np.divide(array, length, out=np.zeros_like(array), where=length > 1e-12))


def about(axis: str, degrees: ArrayLike) -> Array:
    """Rotation matrices about one coordinate axis ("X", "Y" or "Z")."""
    angle = np.radians(np.asarray(degrees, dtype=float))
    i = _AXES[axis]
    j, k = (i + 1) % 3, (i + 2) % 3
    matrix = np.zeros((*angle.shape, 3, 3))
    matrix[..., i, i] = 1.0
    matrix[..., j, j] = matrix[..., k, k] = np.cos(angle)
    matrix[..., k, j] = np.sin(angle)
    matrix[..., j, k] = -np.sin(angle)
    return matrix


def from_euler(order: str, degrees: ArrayLike) -> Array:
    """Matrices from angles (…, len(order)), applied as BVH applies its channels: R = R1 · R2 · R3."""
    angles = np.asarray(degrees, dtype=float)
    matrix = np.broadcast_to(np.eye(3), (*angles.shape[:-1], 3, 3))
    for index, axis in enumerate(order):
        matrix = matrix @ about(axis, angles[..., index])
    return np.asarray(matrix)


def to_euler(order: str, matrices: Array) -> Array:
    """Angles in degrees (…, 3) such that `from_euler(order, …)` gives the matrices back."""
    i, j, k = (_AXES[axis] for axis in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    middle = np.arcsin(np.clip(sign * matrices[..., i, k], -1.0, 1.0))
    # Near ±90° of the middle angle the outer two turn about one axis: all of the turn goes to the first.
    locked = np.abs(np.cos(middle)) < 1e-6
    first = np.where(
        locked,
        np.arctan2(sign * matrices[..., k, j], matrices[..., j, j]),
        np.arctan2(-sign * matrices[..., j, k], matrices[..., k, k]),
    )
    last = np.where(locked, 0.0, np.arctan2(-sign * matrices[..., i, j], matrices[..., i, i]))
    return np.asarray(np.degrees(np.stack([first, middle, last], axis=-1)))


def basis(direction: ArrayLike, reference: ArrayLike) -> Array:
    """Frames whose first column is `direction` and whose second is `reference` made perpendicular to it."""
    first = unit(direction)
    other = np.asarray(reference, dtype=float)
    second = other - first * np.sum(first * other, axis=-1, keepdims=True)
    # A reference along the direction says nothing: any perpendicular serves.
    lost = np.linalg.norm(second, axis=-1, keepdims=True) < 1e-9
    spare = np.where(np.abs(first[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    spare = spare - first * np.sum(first * spare, axis=-1, keepdims=True)
    second = unit(np.where(lost, spare, second))
    return np.stack([first, second, np.cross(first, second)], axis=-1)


def between(start: ArrayLike, end: ArrayLike) -> Array:
    """The smallest rotations that turn `start` into the direction of `end`."""
    u, v = np.broadcast_arrays(unit(start), unit(end))
    half = unit(u + v)
    # Opposite directions: half a turn about any perpendicular.
    opposite = np.linalg.norm(half, axis=-1, keepdims=True) < 1e-9
    half = np.where(opposite, basis(u, [0.3, 0.5, 0.8])[..., :, 1], half)
    identity: Array = np.eye(3)
    once = 2 * half[..., :, None] * half[..., None, :] - identity
    return np.asarray(once @ (2 * u[..., :, None] * u[..., None, :] - identity))


def to_quaternion(matrices: Array) -> Array:
    """Unit quaternions (…, 4) with the real part first and not negative."""
    m = matrices
    squares = np.stack(
        [
            1 + m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2],
            1 + m[..., 0, 0] - m[..., 1, 1] - m[..., 2, 2],
            1 - m[..., 0, 0] + m[..., 1, 1] - m[..., 2, 2],
            1 - m[..., 0, 0] - m[..., 1, 1] + m[..., 2, 2],
        ],
        axis=-1,
    )
    w, x, y, z = (np.sqrt(np.maximum(squares[..., n], 0.0)) / 2 for n in range(4))
    dwx, dwy, dwz = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    sxy, sxz, syz = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    # Four formulas, each exact where its own component is the largest.
    forms = np.stack(
        [
            np.stack([4 * w * w, dwx, dwy, dwz], axis=-1),
            np.stack([dwx, 4 * x * x, sxy, sxz], axis=-1),
            np.stack([dwy, sxy, 4 * y * y, syz], axis=-1),
            np.stack([dwz, sxz, syz, 4 * z * z], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)[..., None, None]
    quaternion = unit(np.take_along_axis(forms, best, axis=-2)[..., 0, :])
    return np.where(quaternion[..., :1] < 0, -quaternion, quaternion)


def from_quaternion(quaternions: Array) -> Array:
    """Rotation matrices of unit quaternions, real part first."""
    w, x, y, z = (quaternions[..., n] for n in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def slerp(start: Array, end: Array, share: Any) -> Array:
    """Rotation matrices on the way from `start` to `end`, `share` from 0 to 1."""
    p, q = to_quaternion(start), to_quaternion(end)
    dot = np.sum(p * q, axis=-1, keepdims=True)
    q = np.where(dot < 0, -q, q)
    angle = np.arccos(np.clip(np.abs(dot), 0.0, 1.0))
    part = np.asarray(share, dtype=float)[..., None]
    sine = np.sin(angle)
    close = sine < 1e-6
    safe = np.where(close, 1.0, sine)
    a = np.where(close, 1 - part, np.sin((1 - part) * angle) / safe)
    b = np.where(close, part, np.sin(part * angle) / safe)
    return from_quaternion(unit(a * p + b * q))
