"""Ball games: rolled, kicked, thrown, served. Written for a right-hander who faces +Z; left is +X."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.take import Take, columns


def bowling(take: Take) -> Pose:
    """Two steps, the arm swung down and far back, then forward past the ankle in a low lunge, and up."""
    figure = stand(take)
    z = take.keys((0, -0.75), (0.3, -0.75), (0.8, -0.35), (1.5, 0.25), (2.8, 0.3))
    drop = take.keys((0, 0.02), (0.5, 0.04), (1.1, 0.12), (1.55, 0.30), (2.1, 0.27), (2.8, 0.22))
    figure.hips = columns(take.keys((0, 0.0), (1.5, 0.04)), 0.94 - drop, z)
    figure.bend = columns(
        take.keys((0, 8), (0.6, 20), (1.2, 44), (1.6, 52), (2.1, 30), (2.8, 22)),
        take.keys((0, 0), (1.2, -10), (2, -6)),
        take.keys((0, 0), (1.15, -22), (1.6, 10), (2.8, 14)),
    )
    figure.head = columns(take.keys((0, 0), (1.2, -32), (1.7, -38), (2.8, -22)), 0.0, 0.0)
    figure.right.wrist = take.keys(
        (0.0, (-0.12, 0.02, 0.28)),
        (0.35, (-0.13, 0.02, 0.30)),
        (0.7, (-0.24, -0.24, 0.30)),
        (0.95, (-0.30, -0.30, -0.12)),
        (1.2, (-0.30, -0.02, -0.48)),
        (1.3, (-0.30, 0.02, -0.49)),
        (1.6, (-0.20, -0.32, 0.10)),
        (1.75, (-0.16, 0.0, 0.48)),
        (2.05, (-0.10, 0.52, 0.36)),
        (2.8, (-0.10, 0.50, 0.34)),
    )
    figure.right.elbow = take.hold(-0.6, -0.3, -1.0)
    figure.right.palm = take.keys(
        (0, (0.2, 1.0, 0.2)),
        (0.7, (0.1, 0.5, 1.0)),
        (1.3, (0.1, -0.6, 0.8)),
        (1.7, (0.1, 0.9, 0.4)),
        (2.1, (0.3, 0.4, -1.0)),
        (2.8, (0.3, 0.4, -1.0)),
    )
    figure.right.curl = take.keys((0, 50), (1.55, 50), (1.7, 15), (2.8, 40))
    figure.left.wrist = take.keys(
        (0.0, (0.12, -0.02, 0.28)),
        (0.4, (0.13, -0.02, 0.28)),
        (0.9, (0.46, -0.02, 0.16)),
        (1.5, (0.58, 0.12, -0.12)),
        (2.8, (0.52, 0.04, -0.05)),
    )
    figure.left.elbow = take.hold(0.5, -0.6, -0.8)
    figure.left.palm = take.keys((0, (-0.4, 0.9, 0.0)), (0.8, (0.0, -1.0, 0.2)), (2.8, (0.0, -1.0, 0.2)))
    figure.right_leg.ankle = take.keys(
        (0.0, (-0.1, 0.08, -0.75)),
        (0.3, (-0.1, 0.10, -0.72)),
        (0.55, (-0.1, 0.16, -0.45)),
        (0.8, (-0.1, 0.08, -0.2)),
        (1.15, (-0.1, 0.10, -0.2)),
        (1.6, (0.16, 0.13, -0.5)),
        (2.1, (0.24, 0.16, -0.48)),
        (2.8, (0.22, 0.14, -0.46)),
    )
    figure.right_leg.pitch = take.keys((0, 0), (1.0, 0), (1.25, 35), (1.7, 55), (2.8, 50))
    figure.left_leg.ankle = take.keys(
        (0.0, (0.1, 0.08, -0.78)),
        (0.75, (0.1, 0.09, -0.78)),
        (1.1, (0.08, 0.17, -0.2)),
        (1.4, (0.06, 0.08, 0.40)),
        (2.8, (0.06, 0.08, 0.45)),
    )
    figure.left_leg.pitch = take.keys((0, 0), (0.7, 10), (1.0, 20), (1.3, -10), (1.45, 0))
    return figure


def soccer(take: Take) -> Pose:
    """Two running steps, the left foot planted, the right leg drawn back and kicked through."""
    figure = stand(take)
    z = take.keys((0, -0.85), (0.15, -0.82), (0.9, 0.05), (1.15, 0.18), (1.5, 0.30), (2.4, 0.42))
    figure.hips = columns(
        take.keys((0, 0.0), (0.9, 0.06), (1.6, 0.04), (2.2, 0.0)),
        0.925
        - take.keys((0, 0.0), (0.35, 0.03), (0.6, 0.0), (0.9, 0.06), (1.2, 0.0), (1.8, 0.03), (2.3, 0.0)),
        z,
    )
    figure.bend = columns(
        take.keys((0, 8), (0.6, 12), (0.85, 0), (1.05, 6), (1.25, -12), (1.8, 2)),
        take.keys((0, 0), (0.9, 14), (1.3, 10), (2, 0)),
        take.keys((0, 0), (0.85, -22), (1.15, 22), (1.8, 0)),
    )
    figure.turn[:, 0] = take.keys((0, 0), (0.85, -14), (1.2, 18), (2, 0))
    figure.head = columns(
        take.keys((0, 18), (1.05, 30), (1.4, 0), (2.4, -4)),
        0.0,
        take.keys((0, 0), (0.85, 16), (1.2, -14), (2, 0)),
    )
    reach = take.amplitude
    figure.right_leg.ankle = take.keys(
        (0.0, (-0.1, 0.08, -0.9)),
        (0.2, (-0.1, 0.20, -0.72)),
        (0.42, (-0.1, 0.08, -0.35)),
        (0.6, (-0.1, 0.14, -0.38)),
        (0.85, (-0.16, 0.56 * reach, -0.52)),
        (0.92, (-0.16, 0.55 * reach, -0.50)),
        (1.05, (-0.10, 0.12, 0.25)),
        (1.25, (0.02, 0.72 * reach, 0.80)),
        (1.4, (0.0, 0.62, 0.80)),
        (1.75, (-0.1, 0.08, 0.56)),
        (2.4, (-0.1, 0.08, 0.5)),
    )
    figure.right_leg.pitch = take.keys(
        (0, 10), (0.3, 0), (0.6, 30), (0.85, 75), (1.05, 40), (1.3, 5), (1.7, 0)
    )
    figure.left_leg.ankle = take.keys(
        (0.0, (0.1, 0.08, -0.75)),
        (0.35, (0.1, 0.09, -0.75)),
        (0.6, (0.12, 0.24, -0.25)),
        (0.8, (0.13, 0.08, 0.12)),
        (2.4, (0.13, 0.08, 0.14)),
    )
    figure.left_leg.pitch = take.keys((0, 0), (0.4, 25), (0.65, 15), (0.8, 0), (1.2, 0), (1.3, 12), (1.7, 0))
    figure.left.wrist = take.keys(
        (0.0, (0.30, -0.16, 0.16)),
        (0.3, (0.30, -0.10, -0.20)),
        (0.6, (0.36, -0.04, 0.2)),
        (0.88, (0.60, 0.22, 0.0)),
        (1.2, (0.30, 0.0, 0.42)),
        (1.7, (0.36, -0.14, 0.16)),
    )
    figure.right.wrist = take.keys(
        (0.0, (-0.30, -0.16, 0.0)),
        (0.3, (-0.28, -0.06, 0.26)),
        (0.6, (-0.34, -0.10, 0.0)),
        (0.88, (-0.40, -0.04, 0.28)),
        (1.2, (-0.52, 0.04, -0.24)),
        (1.7, (-0.36, -0.14, 0.1)),
    )
    return figure


def basketball(take: Take) -> Pose:
    """The ball is bounced twice, gathered, raised, and shot from a jump with the wrist bent over."""
    figure = stand(take, apart=0.32)
    bounce = np.where(take.t < 1.2, 0.5 + 0.5 * np.cos(2 * np.pi * take.t / 0.6), 1.0)
    gather = take.keys((1.1, 0.0), (1.4, 1.0))
    dribble = columns(-0.30, 0.72 + 0.27 * bounce, 0.30)
    shot = take.keys(
        (1.1, (-0.26, 0.95, 0.30)),
        (1.4, (-0.10, 0.98, 0.28)),
        (1.72, (-0.12, 1.52, 0.24)),
        (1.86, (-0.12, 1.62, 0.22)),
        (2.05, (-0.12, 2.08, 0.34)),
        (2.4, (-0.12, 2.0, 0.36)),
        (2.7, (-0.16, 1.6, 0.34)),
        (2.9, (-0.2, 1.3, 0.3)),
    )
    leap = take.keys((1.8, 0.0), (1.9, 0.03), (2.12, 0.22 * take.amplitude), (2.35, 0.0), (2.5, 0.0))
    squat = take.keys(
        (0, 0.06), (1.1, 0.06), (1.65, 0.19), (1.9, 0.01), (2.3, 0.0), (2.48, 0.12), (2.85, 0.03)
    )
    figure.right.frame = figure.left.frame = "stage"
    right = dribble * (1 - gather[:, None]) + shot * gather[:, None]
    right[:, 1] += leap - 0.25 * squat * gather
    figure.right.wrist = right
    figure.right.elbow = columns(-1.0 + 0.6 * gather, -0.6 - 0.2 * gather, -0.4 + 1.0 * gather)
    figure.right.palm = take.keys(
        (1.1, (0.0, -1.0, 0.0)),
        (1.4, (1.0, 0.1, 0.2)),
        (1.7, (0.2, 0.6, 1.0)),
        (1.95, (0.0, 0.3, 1.0)),
        (2.1, (0.0, -1.0, 0.5)),
        (2.9, (0.0, -1.0, 0.4)),
    )
    figure.right.fingers = take.keys(
        (1.1, (0.1, -0.1, 1.0)),
        (1.4, (0.1, 0.2, 1.0)),
        (1.7, (0.0, 0.8, -0.5)),
        (1.95, (0.0, 1.0, -0.1)),
        (2.12, (0.0, -0.4, 1.0)),
        (2.9, (0.0, -0.6, 1.0)),
    )
    figure.right.curl = 14.0
    guide = shot + take.keys(
        (1.1, (0.5, 0.0, 0.0)),
        (1.4, (0.22, 0.0, 0.0)),
        (1.9, (0.20, 0.0, 0.02)),
        (2.1, (0.24, -0.18, -0.04)),
        (2.9, (0.36, -0.1, 0.0)),
    )
    guide[:, 1] += leap - 0.25 * squat
    side = columns(0.34, 0.93 + 0.03 * bounce, 0.22)
    figure.left.wrist = side * (1 - gather[:, None]) + guide * gather[:, None]
    figure.left.elbow = take.hold(1.0, -0.8, 0.0)
    figure.left.palm = columns(-1.0, 0.1, 0.2)
    figure.left.fingers = columns(0.0, gather, 1.0 - 0.8 * gather)
    figure.left.curl = 14.0
    figure.hips[:, 1] += leap - squat
    figure.hips[:, 2] -= 0.4 * squat
    figure.bend += columns(6 + 90 * squat * (1 - 0.3 * gather), 0.0, 4.0)
    figure.head += columns(take.keys((0, -6), (1.2, -8), (1.8, -22), (2.9, -20)), 0.0, 0.0)
    for leg in (figure.left_leg, figure.right_leg):
        leg.ankle[:, 1] += leap + take.keys((1.75, 0.0), (1.95, 0.07), (2.15, 0.05), (2.35, 0.0))
        leg.pitch = take.keys((1.75, 0), (1.95, 40), (2.15, 40), (2.38, 0))
    figure.right_leg.ankle[:, 2] += 0.10
    return figure


def tennis_serve(take: Take) -> Pose:
    """The left hand tosses a ball; the racket drops behind the back, swings up and over, and down across."""
    figure = stand(take, apart=0.4)
    figure.left.wrist = take.keys(
        (0.0, (0.10, -0.10, 0.40)),
        (0.4, (0.16, -0.18, 0.36)),
        (0.85, (0.20, 0.66, 0.28)),
        (1.25, (0.24, 0.56, 0.26)),
        (1.55, (0.20, 0.06, 0.26)),
        (2.6, (0.16, -0.06, 0.20)),
    )
    figure.left.elbow = take.hold(0.6, -1.0, 0.0)
    figure.left.palm = take.keys((0, (0, 1, 0.2)), (0.9, (0.0, 0.3, -1.0)), (2.6, (-1, 0, 0)))
    figure.left.curl = take.keys((0, 45), (0.75, 45), (0.85, 5), (2.6, 30))
    figure.right.wrist = take.keys(
        (0.0, (-0.02, -0.08, 0.42)),
        (0.4, (-0.20, -0.26, 0.26)),
        (0.75, (-0.50, -0.02, -0.16)),
        (1.05, (-0.34, 0.42, -0.10)),
        (1.28, (-0.26, 0.34, -0.20)),
        (1.45, (-0.18, 0.70, 0.08)),
        (1.6, (-0.06, 0.40, 0.46)),
        (1.8, (0.24, -0.22, 0.30)),
        (2.6, (0.26, -0.16, 0.28)),
    )
    figure.right.elbow = take.keys(
        (0, (-0.8, -0.6, -0.2)), (1.05, (-1.0, 0.1, -0.1)), (1.45, (-1.0, 0.2, 0.3)), (1.8, (-0.8, -0.4, 0.2))
    )
    figure.right.palm = take.keys(
        (0, (1, 0, 0.1)),
        (0.75, (1, 0.1, -0.3)),
        (1.0, (0.3, 0, 1)),
        (1.45, (0.2, 0, 1)),
        (1.6, (0.1, -1, -0.2)),
        (1.85, (0.3, -0.4, -1)),
    )
    figure.right.fingers = take.keys(
        (0, (0, 0.3, 1)),
        (0.75, (-0.5, 0.2, -1)),
        (1.05, (0.2, 1.0, -0.2)),
        (1.17, (-1.0, 0.1, -0.4)),
        (1.28, (0.1, -1.0, -0.3)),
        (1.37, (-1.0, 0.0, -0.3)),
        (1.45, (0.0, 1.0, 0.1)),
        (1.62, (0.1, -0.3, 1)),
        (1.85, (0.6, -0.7, 0.2)),
    )
    figure.right.curl = 82.0
    leap = take.keys((1.2, 0), (1.45, 0.07), (1.65, 0.0))
    figure.hips += columns(
        0.0,
        take.keys((0, 0), (0.95, -0.10), (1.2, -0.10), (1.42, 0.02), (1.8, -0.04)) + leap,
        take.keys((0, -0.05), (0.9, -0.08), (1.5, 0.10), (1.8, 0.16)),
    )
    figure.turn[:, 0] = take.keys((0, -40), (1.1, -58), (1.5, -10), (1.9, 10)) * take.amplitude
    figure.bend += columns(
        take.keys((0, 6), (1.05, -20), (1.45, 2), (1.8, 34), (2.6, 24)),
        take.keys((0, 0), (1.1, -8), (1.45, 12), (1.9, 0)),
        take.keys((0, 0), (1.1, -22), (1.5, 14), (1.9, 24)),
    )
    figure.head += columns(
        take.keys((0, 4), (0.8, -34), (1.4, -36), (1.7, -4)), 0.0, take.keys((0, 34), (1.1, 42), (1.5, 5))
    )
    figure.left_leg.ankle = figure.left_leg.ankle + columns(-0.04, leap, 0.22)
    figure.right_leg.ankle = (
        figure.right_leg.ankle
        + columns(0.0, leap, -0.16)
        + columns(0.04, 0.06, 0.12) * take.keys((1.2, 0.0), (1.7, 1.0))[:, None]
    )
    figure.right_leg.pitch = take.keys((0.9, 0), (1.4, 45), (1.8, 40))
    figure.left_leg.yaw, figure.right_leg.yaw = take.hold(-25.0), take.hold(-55.0)
    return figure
