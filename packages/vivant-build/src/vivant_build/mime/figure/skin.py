"""A dressed body as arrays that a frame can be posed from: linear blend skinning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vivant_build.mime.figure.head import Piece
from vivant_build.mime.figure.scan import Floats
from vivant_build.mime.motion import Motion
from vivant_build.mime.rotation import Array
from vivant_build.mime.skeleton import INDEX, JOINTS, Skeleton, forward

BONES = (*JOINTS, "LeftFingerTips", "RightFingerTips")
"""The skeleton's joints, and the middle of the fingers, which bends as the knuckles do."""
_PLACE = {name: number for number, name in enumerate(BONES)}
_ATLAS = 1024


@dataclass(frozen=True, eq=False)
class Skin:
    """A body at rest, ready to be posed."""

    points: Floats
    """(3, n)"""
    normals: Floats
    weights: Floats
    """(bones, blends): every way in which corners follow the bones."""
    blend: np.typing.NDArray[np.intp]
    """Which of them each corner has."""
    faces: np.typing.NDArray[np.int64]
    """(3, triangles)"""
    edges: np.typing.NDArray[np.int64]
    """(4, edges): two corners, and the faces on both sides; one behind the last face where there is none."""
    spots: Floats
    """(2, n): column and row in the atlas."""
    atlas: np.typing.NDArray[np.uint8]
    """(height, width, 4): four bytes are read as fast as one."""
    areas: Floats
    """Square metres that each corner stands for."""


def rest_joints(skeleton: Skeleton) -> dict[str, Array]:
    """Where the joints are at rest."""
    still = np.broadcast_to(np.eye(3), (1, len(JOINTS), 3, 3))
    root = skeleton.offsets[0][None] / skeleton.scale
    positions, _ = forward(skeleton, root, still)
    return {name: positions[0, number] for name, number in INDEX.items()}


def bind(pieces: Iterable[Piece]) -> Skin:
    """Join pieces into one body and their tiles into one atlas."""
    made = list(pieces)
    atlas, corners = _pack([tile for _, tile in made])
    points, normals, weights, spots, faces = [], [], [], [], []
    first = 0
    for (mesh, tile), (x, y) in zip(made, corners, strict=True):
        points.append(mesh.points)
        normals.append(mesh.normals)
        bound = np.zeros((len(mesh.points), len(BONES)))
        for row, shares in enumerate(mesh.weights):
            for joint, share in shares.items():
                bound[row, _PLACE[joint]] = share
        weights.append(bound / bound.sum(axis=1, keepdims=True))
        high, wide = tile.shape[:2]
        # Half a pixel inside, so that rounding never leaves the tile.
        spots.append(
            np.stack([x + 0.5 + mesh.spots[:, 0] * (wide - 1.02), y + 0.5 + mesh.spots[:, 1] * (high - 1.02)])
        )
        faces.append(mesh.faces.T + first)
        first += len(mesh.points)
    place, face = np.concatenate(points), np.concatenate(faces, 1)
    a, b, c = (place[face[n]] for n in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    each = np.zeros(len(place))
    for n in range(3):
        np.add.at(each, face[n], area / 3)
    ways, blend = np.unique(np.concatenate(weights), axis=0, return_inverse=True)
    return Skin(
        np.ascontiguousarray(place.T, np.float32),
        np.ascontiguousarray(np.concatenate(normals).T, np.float32),
        np.ascontiguousarray(ways.T, np.float32),
        blend.ravel(),
        face,
        _edges(
            np.concatenate([np.column_stack([np.full(len(p), n), p]) for n, p in enumerate(points)]), face
        ),
        np.concatenate(spots, 1).astype(np.float32),
        atlas,
        each.astype(np.float32),
    )


def _edges(places: Array, faces: np.typing.NDArray[np.int64]) -> np.typing.NDArray[np.int64]:
    """The edges of faces. Corners at one place, as along the seam of a piece, count as one."""
    _, same = np.unique(np.round(places, 6), axis=0, return_inverse=True)
    start, end = faces.ravel(), np.roll(faces, -1, axis=0).ravel()
    ends = np.sort(same.ravel()[np.stack([start, end])], axis=0)
    order = np.lexsort(ends)
    order = order[(ends[0] < ends[1])[order]]
    ends, side = ends[:, order], np.tile(np.arange(faces.shape[1]), 3)[order]
    shared = np.append((ends[:, 1:] == ends[:, :-1]).all(axis=0), False)
    other = np.where(shared, np.roll(side, -1), faces.shape[1])
    first = ~np.roll(shared, 1)
    return np.stack([start[order], end[order], side, other])[:, first]


def _pack(tiles: list[Floats]) -> tuple[np.typing.NDArray[np.uint8], list[tuple[int, int]]]:
    """Tiles on shelves; returns the atlas and the corner (x, y) of each."""
    corners = [(0, 0)] * len(tiles)
    x = y = shelf = 0
    for number in sorted(range(len(tiles)), key=lambda n: (-tiles[n].shape[0], n)):
        high, wide = tiles[number].shape[:2]
        if x + wide > _ATLAS:
            x, y, shelf = 0, y + shelf, 0
        corners[number] = (x, y)
        shelf = max(shelf, high)
        x += wide
    atlas = np.zeros((y + shelf, _ATLAS, 4), np.uint8)
    atlas[..., 3] = 255
    for tile, (x, y) in zip(tiles, corners, strict=True):
        atlas[y : y + tile.shape[0], x : x + tile.shape[1], :3] = np.rint(np.clip(tile, 0, 255))
    return atlas, corners


def bone_transforms(motion: Motion, skeleton: Skeleton) -> Floats:
    """What each bone does to a corner at rest, in every frame: (frames, bones, 3, 4)."""
    positions, turned = motion.joints(skeleton)
    rest = rest_joints(skeleton)
    start = np.array([rest[name] for name in JOINTS])
    for side in ("Left", "Right"):
        fingers, hand = INDEX[side + "Fingers"], INDEX[side + "Hand"]
        half = skeleton.tips[side + "Fingers"] * 0.52
        local = np.swapaxes(turned[:, hand], -1, -2) @ turned[:, fingers]
        start = np.concatenate([start, [rest[side + "Fingers"] + half]])
        middle = positions[:, fingers] + turned[:, fingers] @ half
        positions = np.concatenate([positions, middle[:, None]], 1)
        turned = np.concatenate([turned, (turned[:, fingers] @ local)[:, None]], 1)
    shift = positions - np.einsum("fbij,bj->fbi", turned, start)
    return np.concatenate([turned, shift[..., None]], -1).astype(np.float32)


def pose(skin: Skin, bones: Floats) -> tuple[Floats, Floats]:
    """Corners (3, n) and normals (3, n) under the transforms (bones, 3, 4) of one frame."""
    ways = np.einsum("bw,bv->vw", skin.weights, bones.reshape(len(BONES), 12))
    each = ways.take(skin.blend, axis=1)
    points, normals = np.empty_like(skin.points), np.empty_like(skin.normals)
    for row in range(3):
        one, two, three, shift = each[4 * row : 4 * row + 4]
        points[row] = one * skin.points[0] + two * skin.points[1] + three * skin.points[2] + shift
        normals[row] = one * skin.normals[0] + two * skin.normals[1] + three * skin.normals[2]
    return points, normals
