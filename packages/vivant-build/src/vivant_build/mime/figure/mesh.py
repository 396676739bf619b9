"""Meshes of quadrilaterals between rings, each corner bound to joints; pieces join into one body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vivant_build.mime.rotation import Array

Weights = Mapping[str, float]
"""Joints by name, and how much a place follows each."""


@dataclass(frozen=True)
class Ring:
    """A cross-section: an oval around `centre`, `side` × wide and `front` × deep before it, `back` × behind it.

    `side` and `front` are vectors with their lengths. `square` 0 is an ellipse; towards 1 it becomes a rectangle.
    """

    centre: Array
    side: Array
    front: Array
    weights: Weights
    back: float = 1.0
    square: float = 0.0


@dataclass(frozen=True, eq=False)
class Mesh:
    """Corners at rest with their normals, the place of each in its tile of the texture, and triangles."""

    points: Array
    normals: Array
    spots: Array
    """(n, 2) from 0 to 1: around (from the back over the left side) and along."""
    weights: tuple[Weights, ...]
    faces: NDArray[np.int64]
    """(n, 3)"""


def loft(
    rings: Sequence[Ring],
    around: int,
    *,
    start: bool = True,
    end: bool = True,
    bend: Callable[[Array, Array], Array] | None = None,
) -> Mesh:
    """A tube through rings, with a lid at its start and its end.

    `bend` moves corners: it gets points (rings, around + 1, 3) and spots, and returns points.
    """
    angle = np.linspace(0, 2 * np.pi, around + 1)
    # The seam lies behind.
    across, ahead = np.sin(angle), -np.cos(angle)
    rows = []
    for ring in rings:
        power = 1.0 - 0.75 * ring.square
        a = np.sign(across) * np.abs(across) ** power
        f = np.sign(ahead) * np.abs(ahead) ** power
        f = np.where(f < 0, f * ring.back, f)
        rows.append(ring.centre + a[:, None] * ring.side + f[:, None] * ring.front)
    points = np.array(rows)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points.mean(axis=1), axis=0), axis=1))])
    along = length / max(length[-1], 1e-9)
    spots = np.stack(np.broadcast_arrays(angle[None] / (2 * np.pi), along[:, None]), -1)
    if bend is not None:
        points = bend(points, spots)
    count, wide = points.shape[:2]
    here = np.arange(count * wide).reshape(count, wide)
    a, b, c, d = (v.ravel() for v in (here[:-1, :-1], here[:-1, 1:], here[1:, 1:], here[1:, :-1]))
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    corners, places = points.reshape(-1, 3), spots.reshape(-1, 2)
    weights = [ring.weights for ring in rings for _ in range(wide)]
    for wanted, row, along_end in ((start, 0, 0.0), (end, count - 1, 1.0)):
        if not wanted:
            continue
        middle = len(corners)
        corners = np.concatenate([corners, points[row].mean(axis=0, keepdims=True)])
        places = np.concatenate([places, [[0.5, along_end]]])
        weights.append(rings[row].weights)
        one, two = here[row, :-1], here[row, 1:]
        lid = np.stack(
            [np.full(len(one), middle), two, one] if row == 0 else [np.full(len(one), middle), one, two], 1
        )
        faces = np.concatenate([faces, lid])
    faces = _outward(corners, faces)
    return Mesh(corners, _normals(corners, faces, here), places, tuple(weights), faces)


def cut_faces(mesh: Mesh, keep: Callable[[Array, Array], NDArray[np.bool_]]) -> Mesh:
    """The mesh without the faces whose middle (its point and its spot) is not to be kept."""
    middle, spot = mesh.points[mesh.faces].mean(axis=1), mesh.spots[mesh.faces].mean(axis=1)
    return Mesh(mesh.points, mesh.normals, mesh.spots, mesh.weights, mesh.faces[keep(middle, spot)])


def _outward(points: Array, faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """Faces turned so that the volume inside is positive."""
    a, b, c = (points[faces[:, n]] for n in range(3))
    volume = np.einsum("ij,ij->i", a - points.mean(axis=0), np.cross(b - a, c - a)).sum()
    return faces if volume > 0 else faces[:, ::-1]


def _normals(points: Array, faces: NDArray[np.int64], grid: NDArray[np.int64]) -> Array:
    """Normals that are smooth across faces and across the seam."""
    a, b, c = (points[faces[:, n]] for n in range(3))
    each = np.cross(b - a, c - a)
    normals = np.zeros_like(points)
    for n in range(3):
        np.add.at(normals, faces[:, n], each)
    seam = normals[grid[:, 0]] + normals[grid[:, -1]]
    normals[grid[:, 0]] = normals[grid[:, -1]] = seam
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12))


def ball(
    centre: Array,
    radii: Sequence[float],
    weights: Weights,
    *,
    square: float = 0.0,
    around: int = 14,
    rings: int = 9,
) -> Mesh:
    """An ellipsoid with its axis upright; `square` makes it a box with rounded edges."""
    wide, high, deep = radii
    steps = np.linspace(-np.pi / 2, np.pi / 2, rings + 2)[1:-1]
    power = 1.0 - 0.8 * square
    rows = []
    for step in steps:
        share, rise = np.cos(step) ** power, np.sign(step) * np.abs(np.sin(step)) ** power
        rows.append(
            Ring(
                centre + np.array([0.0, high * rise, 0.0]),
                np.array([wide * share, 0.0, 0.0]),
                np.array([0.0, 0.0, deep * share]),
                weights,
                square=square,
            )
        )
    return loft(rows, around)
