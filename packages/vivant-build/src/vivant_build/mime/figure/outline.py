"""Soft outlines: how much of a pixel an edge of the body covers, exactly, where one sample a pixel says all or nothing.

An outline runs where a face that is turned to the camera meets one that is turned away, or ends. Such an edge is
followed row by row, or column by column if it is more level than upright. Between two neighbouring pixels it moves the
border: the pixel that it enters takes a share of the other one's colour.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vivant_build.mime.figure.layer import Indices, Outline
from vivant_build.mime.figure.scan import Floats, Nearest, Window, count_within
from vivant_build.mime.figure.skin import Skin

_HALF = np.float32(0.5)
_BULGE = 0.2
"""Metres by which the surface beside its outline may be nearer or farther: it turns away from the camera there."""
_GAP = 0.015
"""Metres that the outline must be before what is behind it: less is one surface."""


def trace(
    skin: Skin,
    front: NDArray[np.bool_],
    corners: tuple[Floats, Floats, Floats],
    nearest: Nearest,
    window: Window,
    width: int,
) -> Outline:
    """The outline of a body, `front` being the faces that it shows, in a window of a picture so wide.

    Corners have an x, a y (pixels) and a depth.
    """
    x, y, depth = corners
    left, top, right, bottom = window
    wide = right - left
    a, b, inward = _contour(skin, front, x, y)
    dx, dy = x.take(b) - x.take(a), y.take(b) - y.take(a)
    # Along the edge u, across it v: rows and columns of a steep one, columns and rows of a level one.
    level = np.abs(dx) > np.abs(dy)
    u, v = np.where(level, (x.take(a), y.take(a)), (y.take(a), x.take(a)))
    du, dv = np.where(level, (dx, dy), (dy, dx))
    first, last = (
        np.clip(np.ceil(end - _HALF), np.where(level, left, top), np.where(level, right, bottom)).astype(
            np.intp
        )
        for end in (np.minimum(u, u + du), np.maximum(u, u + du))
    )
    edge = np.repeat(np.arange(len(a)), last - first)
    line = first.take(edge) + count_within(last - first)
    # No edge without a length reaches the middle of a row.
    along = (line + _HALF - u.take(edge)) / du.take(edge)
    across = v.take(edge) + dv.take(edge) * along
    key = nearest.key(depth.take(a).take(edge) * (1 - along) + depth.take(b).take(edge) * along)
    # Between which two pixels it passes, whether the body is on the side of the first, and how far the border moves.
    place = np.floor(across - _HALF).astype(np.intp)
    shift = across - (place + 1)
    before = (((inward > 0) ^ level) == (du > 0)).take(edge)
    level = level.take(edge)
    start = np.where(level, (place - top) * wide + line - left, (line - top) * wide + place - left)
    inside = (place >= np.where(level, top, left)) & (place + 1 < np.where(level, bottom, right))
    start = np.where(inside, start, 0)
    other = start + np.where(level, wide, 1)
    near, far = np.where(before, (start, other), (other, start))
    body, behind = nearest.keys.take(near, mode="clip"), nearest.keys.take(far, mode="clip")
    bulge, gap = (int(metres * nearest.fine) << nearest.bits for metres in (_BULGE, _GAP))
    kept = np.flatnonzero(inside & (np.abs(body - key) < bulge) & (behind > np.maximum(body, key) + gap))
    kept = kept[_outermost((2 * start + level).take(kept), np.where(before, shift, -shift).take(kept))]
    start, other, shift = start.take(kept), other.take(kept), shift.take(kept)
    # From the window to the picture.
    start, other = (spot + spot // wide * (width - wide) + (top * width + left) for spot in (start, other))
    pixels, neighbours = np.where(shift > 0, (other, start), (start, other))
    return Outline(pixels, neighbours, np.rint(np.abs(shift) * 256).astype(np.uint16))


def _contour(skin: Skin, front: NDArray[np.bool_], x: Floats, y: Floats) -> tuple[Indices, Indices, Floats]:
    """The two corners of each edge of the outline, and a number: above 0 if the body is to the right of a to b."""
    one, other = np.append(front, False).take(skin.edges[2:])
    a, b, *sides = skin.edges.take(np.flatnonzero(one != other), axis=1)
    face = skin.faces.take(np.where(np.append(front, False).take(sides[0]), *sides), axis=1)
    ax, ay = x.take(a), y.take(a)
    inward = (x.take(b) - ax) * (y.take(face).sum(axis=0) - 3 * ay)
    inward -= (y.take(b) - ay) * (x.take(face).sum(axis=0) - 3 * ax)
    return a, b, inward


def _outermost(pairs: Indices, outward: Floats) -> Indices:
    """Of those with the same pair of pixels the one that is farthest out: a jagged outline may pass there twice."""
    order = np.argsort(outward, kind="stable")
    latest = np.zeros(int(pairs.max(initial=-1)) + 1, np.intp)
    latest[pairs[order]] = order
    return np.flatnonzero(latest[pairs] == np.arange(len(pairs)))
