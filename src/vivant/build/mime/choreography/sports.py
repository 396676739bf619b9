"""A bow, a rod, a club. Written for a right-hander who faces +Z; left is +X."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.take import Take, columns


def archery(take: Take) -> Pose:
    """The bow arm stretched to the left, the string drawn back to the chin, held and let go."""
    figure = stand(take, apart=0.46)
    figure.left.wrist = take.keys(
        (0.0, (0.34, -0.06, 0.30)),
        (0.55, (0.52, 0.16, 0.24)),
        (0.95, (0.69, 0.21, 0.05)),
        (2.1, (0.69, 0.21, 0.05)),
        (2.22, (0.70, 0.17, 0.06)),
        (2.8, (0.66, 0.06, 0.14)),
    )
    figure.left.elbow = take.hold(0.0, -1.0, -0.35)
    figure.left.palm = take.hold(0.2, 0.0, 1.0)
    figure.left.curl = 84.0
    figure.right.wrist = take.keys(
        (0.0, (0.10, -0.04, 0.32)),
        (0.5, (0.40, 0.16, 0.26)),
        (0.75, (0.46, 0.22, 0.18)),
        (1.5, (-0.13, 0.27, 0.17)),
        (2.1, (-0.14, 0.27, 0.17)),
        (2.2, (-0.30, 0.29, 0.06)),
        (2.5, (-0.38, 0.28, 0.0)),
        (2.8, (-0.34, 0.2, 0.06)),
    )
    figure.right.elbow = take.keys(
        (0.0, (-0.8, -0.6, -0.2)),
        (0.9, (-1.0, 0.2, -0.1)),
        (1.5, (-1.0, 0.1, 0.2)),
        (2.1, (-1.0, 0.1, 0.2)),
        (2.4, (-1.0, -0.2, -0.4)),
    )
    figure.right.fingers = take.hold(1.0, 0.0, -0.1)
    figure.right.palm = take.hold(0.0, -0.2, -1.0)
    figure.right.curl = take.keys((0, 60), (0.7, 82), (2.1, 82), (2.2, 8), (2.8, 25))
    figure.head += columns(4.0, 0.0, take.keys((0, 25), (0.7, 68), (2.8, 68)))
    figure.bend += columns(
        0.0, take.keys((0, 0), (1.5, -3), (2.8, -2)), take.keys((0, 10), (1.4, 0), (2.8, 2))
    )
    figure.left_leg.yaw, figure.right_leg.yaw = take.hold(35.0), take.hold(-2.0)
    return figure


def fishing(take: Take) -> Pose:
    """A rod swung back over the shoulder and whipped forward, then the line is wound in by small circles."""
    figure = stand(take, apart=0.3)
    reel = take.keys((1.15, 0.0), (1.4, 1.0))
    tug = take.keys((1.4, 0), (1.9, 1.0), (2.3, 0.2), (2.8, 1.0)) * take.amplitude
    right = take.keys(
        (0.0, (-0.10, -0.08, 0.36)),
        (0.25, (-0.12, 0.0, 0.36)),
        (0.65, (-0.24, 0.42, 0.02)),
        (0.75, (-0.24, 0.42, 0.0)),
        (0.98, (-0.06, 0.20, 0.50)),
        (1.2, (-0.05, 0.04, 0.44)),
        (1.5, (-0.06, -0.02, 0.36)),
    )
    right += columns(0.0, 0.09, -0.08) * tug[:, None]
    figure.right.wrist = right
    figure.right.elbow = take.hold(-1.0, -0.5, -0.1)
    figure.right.palm = take.hold(1.0, -0.1, 0.0)
    rod = take.keys(
        (0, (0.1, 0.5, 1.0)),
        (0.65, (0.0, 0.7, -0.8)),
        (0.78, (0.0, 0.7, -0.8)),
        (1.0, (0.0, -0.1, 1.0)),
        (1.3, (0.0, 0.3, 1.0)),
        (2.8, (0.0, 0.6, 1.0)),
    )
    figure.right.fingers, figure.right.curl = rod, 82.0
    turn = 2 * np.pi * 2.0 * take.t
    crank = right + columns(0.15, -0.06 + 0.075 * np.sin(turn), 0.02 + 0.075 * np.cos(turn))
    grip = right + columns(0.04, -0.14, take.keys((0, -0.06), (0.65, 0.12), (1.0, -0.12)))
    figure.left.wrist = grip * (1 - reel[:, None]) + crank * reel[:, None]
    figure.left.elbow = take.hold(0.8, -0.8, 0.0)
    figure.left.palm = take.hold(-1.0, 0.0, -0.2)
    figure.left.fingers, figure.left.curl = take.hold(-0.6, 0.25, 0.7), 74.0
    figure.bend += columns(
        take.keys((0, 4), (0.7, -14), (1.0, 14), (1.5, 2)) - 11 * tug,
        0.0,
        take.keys((0, 0), (0.7, -16), (1.0, 8), (1.5, 0)),
    )
    figure.hips += (
        columns(0.0, 0.0, take.keys((0, 0), (0.7, -0.07), (1.0, 0.07), (1.5, 0.0)))
        - columns(0.0, 0.01, 0.03) * tug[:, None]
    )
    figure.head += columns(take.keys((0, 0), (0.7, 4), (1.0, -12), (1.6, -4)), 0.0, 0.0)
    figure.left_leg.ankle[:, 2] += 0.20
    figure.right_leg.ankle[:, 2] -= 0.14
    return figure


def golf(take: Take) -> Pose:
    """Bent over an unseen ball: hands together low, up behind the right shoulder, down through, and round."""
    figure = stand(take, apart=0.44, crouch=0.05)
    hands = take.keys(
        (0.0, (0.02, -0.24, 0.34)),
        (0.25, (0.0, -0.23, 0.35)),
        (0.45, (0.02, -0.24, 0.34)),
        (0.8, (-0.26, -0.06, 0.34)),
        (1.12, (-0.20, 0.36, 0.24)),
        (1.25, (-0.20, 0.37, 0.23)),
        (1.45, (0.04, -0.26, 0.36)),
        (1.6, (0.28, 0.02, 0.34)),
        (1.8, (0.22, 0.38, 0.16)),
        (2.6, (0.20, 0.38, 0.14)),
    )
    figure.left.wrist = hands + take.hold(0.05, 0.01, 0.0)
    figure.right.wrist = hands + take.hold(-0.045, -0.02, 0.02)
    figure.left.elbow, figure.right.elbow = take.hold(0.7, -1.0, -0.1), take.hold(-0.7, -1.0, -0.1)
    club = take.keys(
        (0, (0.0, -1.0, 0.7)),
        (0.8, (-1.0, 0.4, 0.3)),
        (1.12, (0.1, 1.0, -0.6)),
        (1.25, (0.1, 1.0, -0.6)),
        (1.35, (-1.0, 0.1, 0.4)),
        (1.45, (0.0, -1.0, 0.6)),
        (1.6, (1.0, 0.3, 0.3)),
        (1.8, (-0.1, 0.8, -0.8)),
        (2.6, (-0.1, 0.8, -0.8)),
    )
    figure.left.fingers = figure.right.fingers = club
    # The palms lie flat on the shaft, facing one another, all the way round.
    facing = np.cross(club, [0.0, 0.0, 1.0])
    figure.left.palm, figure.right.palm = facing, -facing
    figure.left.curl = figure.right.curl = 84.0
    size = take.amplitude
    coil = take.keys((0, 0), (0.45, 0), (1.15, -58), (1.25, -58), (1.45, 14), (1.85, 66), (2.6, 64)) * size
    figure.turn[:, 0] = coil * 0.55
    figure.turn[:, 1] = take.keys((0, 18), (1.4, 18), (1.85, 4), (2.6, 3))
    figure.bend += columns(
        take.keys((0, 18), (1.25, 14), (1.45, 18), (1.85, -4), (2.6, -4)),
        take.keys((0, 0), (1.15, 6), (1.5, -8), (1.9, -4)),
        coil * 0.55,
    )
    figure.head += columns(
        take.keys((0, 16), (1.5, 16), (1.9, -4)),
        0.0,
        take.keys((0, 0), (1.15, 52), (1.45, -8), (1.6, -30), (1.95, 0)),
    )
    figure.hips += columns(
        take.keys((0, 0), (1.15, -0.05), (1.8, 0.10)),
        take.keys((0, -0.02), (1.45, -0.02), (1.9, 0.02)),
        -0.06,
    )
    figure.right_leg.pitch = take.keys((1.35, 0), (1.8, 50), (2.6, 52))
    figure.right_leg.ankle += columns(0.04, 0.11, 0.06) * take.keys((1.35, 0.0), (1.8, 1.0))[:, None]
    figure.right_leg.yaw = take.keys((1.3, -8), (1.8, 45), (2.6, 45))
    figure.left_leg.yaw = take.hold(22.0)
    return figure
