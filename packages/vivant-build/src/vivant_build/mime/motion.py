"""A motion: the rotations of every joint over time, free of any body's measures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vivant.core.errors import UsageError
from vivant_build.mime.rotation import Array, about, slerp
from vivant_build.mime.skeleton import INDEX, JOINTS, Skeleton, forward

_MIRRORED = tuple(
    INDEX[name.replace("Left", "Right") if name.startswith("Left") else name.replace("Right", "Left")]
    for name in JOINTS
)


@dataclass(frozen=True, eq=False)
class Motion:
    """`root` (frames, 3): hips, in the reference skeleton's metres; `rotations`: local, joint by joint."""

    name: str
    fps: float
    root: Array
    rotations: Array

    def __len__(self) -> int:
        return len(self.root)

    @property
    def seconds(self) -> float:
        """How long the motion lasts when each frame stands for 1/fps."""
        return len(self) / self.fps

    def joints(self, skeleton: Skeleton) -> tuple[Array, Array]:
        """Positions and global rotations of this motion on one body."""
        return forward(skeleton, self.root, self.rotations)

    def turned(self, degrees: float) -> Motion:
        """The same motion, facing another way: counter-clockwise as seen from above."""
        matrix = about("Y", degrees)
        rotations = self.rotations.copy()
        rotations[:, 0] = matrix @ rotations[:, 0]
        return replace(self, root=self.root @ matrix.T, rotations=rotations)

    def mirrored(self) -> Motion:
        """The same motion by a person of the other hand: left and right change places."""
        flip = np.diag([-1.0, 1.0, 1.0])
        return replace(
            self,
            root=self.root * [-1.0, 1.0, 1.0],
            rotations=flip @ self.rotations[:, _MIRRORED, :, :] @ flip,
        )

    def resampled(self, fps: float) -> Motion:
        """The same motion at another rate: positions linearly, rotations along the shortest arc."""
        if fps <= 0:
            raise UsageError(f"A motion cannot be sampled at {fps} frames a second; give a positive rate")
        if fps == self.fps:
            return self
        count = max(1, round(self.seconds * fps))
        position = np.clip(np.arange(count) * (self.fps / fps), 0, len(self) - 1)
        low = np.floor(position).astype(int)
        high = np.minimum(low + 1, len(self) - 1)
        share = position - low
        root = self.root[low] * (1 - share[:, None]) + self.root[high] * share[:, None]
        rotations = slerp(
            self.rotations[low], self.rotations[high], np.broadcast_to(share[:, None], (count, len(JOINTS)))
        )
        return replace(self, fps=fps, root=root, rotations=rotations)
