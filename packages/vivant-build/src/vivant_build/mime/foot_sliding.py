"""Foot sliding: how far feet that stand on the floor move over it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vivant_build.mime.bad_frames import find_runs
from vivant_build.mime.motion import Motion
from vivant_build.mime.skeleton import INDEX, Skeleton

_STEP = 0.1
"""Seconds between the moments that are compared."""
_FLOOR, _LIFT = 0.025, 0.12
"""A foot stands while it is this near (metres) to the lowest it ever is and rises more slowly (metres a second)."""
_SELDOM = 0.1
"""Share of the time in which a foot must stand for its sliding to say something."""
SLIDING = 0.06
"""Metres that a standing foot may slide in one stance before it is reported as sliding."""


@dataclass(frozen=True)
class Sliding:
    """How standing feet move over the floor."""

    worst: float
    """Metres: the longest way in one stance."""
    foot: str
    at: float
    """Seconds: when that stance begins."""
    rate: float
    """Metres per second of standing, over all stances."""
    standing: float
    """Share of the time in which at least one foot stands."""

    @property
    def slides(self) -> bool:
        """Whether the worst stance is one that a viewer would notice."""
        return self.worst > SLIDING


def format_sliding(sliding: Sliding) -> str:
    """Foot sliding in a sentence."""
    if sliding.standing < _SELDOM:
        return f"a foot rests on the floor in {sliding.standing:.0%} of the frames, too few to tell whether feet slide"
    verdict = "more than a viewer overlooks" if sliding.slides else "fine"
    return (
        f"feet slide at most {100 * sliding.worst:.1f} cm in one stance ({sliding.foot.lower()} foot at "
        f"{sliding.at:.2f} s), {100 * sliding.rate:.1f} cm a second: {verdict}"
    )


def measure_sliding(motion: Motion) -> Sliding:
    """How far feet that stand on the floor move over it. Turning on the ball or heel is not sliding."""
    positions, _ = motion.joints(Skeleton())
    feet = {
        side: (positions[:, INDEX[side + "Foot"]], positions[:, INDEX[side + "Toe"]])
        for side in ("Left", "Right")
    }
    # Both feet share one floor, heel and toe each at its own height.
    heel, toe = (min(float(feet[side][spot][:, 1].min()) for side in feet) for spot in (0, 1))
    # Recordings tremble: steps of a tenth of a second tell a way from a tremble, steps of a frame do not.
    stride = max(1, round(_STEP * motion.fps))
    worst, worst_foot, worst_at, way, stood = 0.0, "Left", 0.0, 0.0, 0.0
    standing = np.zeros(len(motion), dtype=bool)
    for side, (ankle, ball) in feet.items():
        rising = np.abs(np.gradient(ball[:, 1])) * motion.fps if len(ball) > 1 else np.zeros(len(ball))
        near = np.minimum(ankle[:, 1] - heel, ball[:, 1] - toe) < _FLOOR
        down = near & (rising < _LIFT)
        standing |= down
        for start, end in find_runs(down):
            moments = np.unique([*range(start, end, stride), end - 1])
            steps = [
                np.linalg.norm(np.diff(spot[moments][:, [0, 2]], axis=0), axis=1) for spot in (ankle, ball)
            ]
            slid = float(np.minimum(*steps).sum())
            way, stood = way + slid, stood + (end - start) / motion.fps
            if slid > worst:
                worst, worst_foot, worst_at = slid, side, start / motion.fps
    return Sliding(worst, worst_foot, worst_at, way / stood if stood else 0.0, float(standing.mean()))
