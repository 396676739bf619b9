"""A camera that orbits the stage and looks slightly down on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vivant.core.errors import UsageError
from vivant_build.mime.rotation import Array, unit

_CLOSEST, _FARTHEST = 3.4, 9.0
_MARGIN = 0.07
"""Share of the picture that stays free at each edge, beyond the middles of the outermost limbs."""


@dataclass(frozen=True)
class Camera:
    """A perspective camera. `angle` 0 sees the figure's front, 90 its left side, and so on round."""

    angle: float = 0.0
    distance: float = 4.8
    target: tuple[float, float, float] = (0.0, 0.92, 0.0)
    pitch: float = 6.0
    """Degrees by which it looks down."""
    field: float = 27.0
    """Vertical angle of view in degrees."""
    width: int = 640
    height: int = 480

    def __post_init__(self) -> None:
        if self.width < 16 or self.height < 16:
            raise UsageError(f"A picture of {self.width}×{self.height} is too small; use at least 16×16")
        if not 1.0 <= self.field <= 120.0:
            raise UsageError(f"An angle of view of {self.field}° is not between 1 and 120")

    @cached_property
    def focal(self) -> float:
        """Focal length in pixels."""
        return float(self.height / 2 / np.tan(np.radians(self.field / 2)))

    @cached_property
    def position(self) -> Array:
        """Where the camera stands."""
        around, down = np.radians(self.angle), np.radians(self.pitch)
        away = np.array([np.sin(around) * np.cos(down), np.sin(down), np.cos(around) * np.cos(down)])
        return np.asarray(self.target) + self.distance * away

    @cached_property
    def axes(self) -> Array:
        """Rows: right, down and forward, in stage coordinates."""
        forward = unit(np.asarray(self.target) - self.position)
        right = unit(np.cross(forward, [0.0, 1.0, 0.0]))
        return np.stack([right, np.cross(forward, right), forward])

    @property
    def horizon(self) -> float:
        """The row in which the far end of the floor lies."""
        return float(self.height / 2 - self.focal * np.tan(np.radians(self.pitch)))

    def view(self, points: Array) -> Array:
        """Stage coordinates as right, down and depth from the camera, in metres."""
        return (np.asarray(points, dtype=float) - self.position) @ self.axes.T

    def project(self, points: Array) -> Array:
        """Pixel coordinates (…, 2) of stage points before the camera."""
        seen = self.view(points)
        centre = np.array([self.width / 2, self.height / 2])
        return centre + self.focal * seen[..., :2] / seen[..., 2:3]

    def floor(self, step: int = 1) -> tuple[Array, Array]:
        """Stage x and z of the floor seen in each pixel (every `step`-th), NaN above the horizon."""
        rows = np.arange(step / 2, self.height, step)[:, None]
        columns = np.arange(step / 2, self.width, step)[None, :]
        right, down, forward = self.axes
        rays = (
            (columns - self.width / 2)[..., None] * right
            + (rows - self.height / 2)[..., None] * down
            + self.focal * forward
        )
        drop = np.where(rays[..., 1] < -1e-9, rays[..., 1], np.nan)
        reach = -self.position[1] / drop
        return self.position[0] + reach * rays[..., 0], self.position[2] + reach * rays[..., 2]


def fit(
    points: Array, *, angles: Sequence[float] = (0.0, 90.0, 180.0, 270.0), size: tuple[int, int]
) -> Camera:
    """A camera that keeps all points in the picture from every angle, so that one distance serves all views.

    `points` (n, 3) are the ends of a body's capsules over a whole motion. The camera looks at the middle of
    what they cover; it stays within sensible distances, so that short motions do not fill the picture.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    target = (float(middle[0]), float(np.clip(middle[1], 0.5, 1.25)), float(middle[2]))
    distance = _CLOSEST
    while distance < _FARTHEST:
        cameras = [
            Camera(angle=a, distance=distance, target=target, width=size[0], height=size[1]) for a in angles
        ]
        if all(_inside(camera, points) for camera in cameras):
            break
        distance += 0.1
    return Camera(distance=distance, target=target, width=size[0], height=size[1])


def _inside(camera: Camera, points: Array) -> bool:
    pixels = camera.project(points)
    size = np.array([camera.width, camera.height])
    return bool(np.all(pixels > _MARGIN * size) and np.all(pixels < (1 - _MARGIN) * size))
