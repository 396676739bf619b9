"""The bodies that a motion can be put on: tapered capsules between joints, posed frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vivant_build.mime.figure.dress import CharacterFigure
from vivant_build.mime.motion import Motion
from vivant_build.mime.rotation import Array
from vivant_build.mime.skeleton import INDEX, Skeleton

Colour = tuple[int, int, int]
Point = tuple[str, float, float, float]
"""A joint, and a place in metres beside it that turns with it."""


@dataclass(frozen=True)
class Capsule:
    """A limb or a part of one: a ball of radius `r1` at `a` swept to one of `r2` at `b`."""

    a: Point
    b: Point
    r1: float
    r2: float
    colour: Colour
    shadow: bool = True
    """Whether it is large enough to darken the floor."""


@dataclass(frozen=True, eq=False)
class Character:
    """A skeleton and what is around it: capsules, and a figure to be modelled."""

    name: str
    skeleton: Skeleton
    capsules: tuple[Capsule, ...]
    figure: CharacterFigure | None = None
    """Without one, the built-in renderer draws the capsules."""

    def pose(self, motion: Motion) -> Shapes:
        """Where all capsules are in every frame of a motion."""
        positions, turned = motion.joints(self.skeleton)

        def ends(points: Sequence[Point]) -> Array:
            joints = [INDEX[point[0]] for point in points]
            beside = np.array([point[1:] for point in points])
            return np.asarray(positions[:, joints] + np.einsum("fnij,nj->fni", turned[:, joints], beside))

        return Shapes(
            ends([c.a for c in self.capsules]),
            ends([c.b for c in self.capsules]),
            np.array([c.r1 for c in self.capsules]),
            np.array([c.r2 for c in self.capsules]),
            np.array([c.colour for c in self.capsules], dtype=np.float32),
            np.array([c.shadow for c in self.capsules]),
        )


@dataclass(frozen=True, eq=False)
class Shapes:
    """Capsules in stage coordinates: ends (frames, n, 3), radii (n,), colours (n, 3)."""

    a: Array
    b: Array
    r1: Array
    r2: Array
    colours: np.typing.NDArray[np.float32]
    shadow: np.typing.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.a)
