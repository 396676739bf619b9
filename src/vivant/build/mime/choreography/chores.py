"""Work with tools, about house and garden. Written for a right-hander who faces +Z; left is +X."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.rotation import unit
from vivant.build.mime.take import Take, columns


def chop(take: Take) -> Pose:
    """An axe raised over the head with both hands and brought down hard on a block, twice."""
    figure = stand(take, apart=0.46, crouch=0.03)
    up = take.keys(
        (0.0, 0.0),
        (0.12, 0.0),
        (0.72, 1.0),
        (0.84, 1.0),
        (1.04, 0.0),
        (1.4, 0.0),
        (2.0, 1.0),
        (2.12, 1.0),
        (2.32, 0.0),
        (2.8, 0.0),
    )
    figure.right.frame = figure.left.frame = "stage"
    # On an arc before the body, not through it.
    angle = np.radians(-38 + 128 * np.minimum(take.amplitude, 1.06) * up)
    hands = columns(0.0, 1.28 + 0.60 * np.sin(angle), 0.06 + 0.56 * np.cos(angle))
    shaft = columns(0.0, np.sin(angle + 0.6 * (up - 0.3)), np.cos(angle + 0.9 * up - 0.2))
    apart = 0.05 + 0.16 * take.keys(
        (0, 0.0), (0.4, 1.0), (0.84, 0.2), (1.04, 0.0), (1.7, 1.0), (2.12, 0.2), (2.3, 0)
    )
    figure.left.wrist = hands + columns(0.045, 0.0, 0.0) - shaft * 0.05
    figure.right.wrist = hands - columns(0.045, 0.0, 0.0) + shaft * apart[:, None]
    figure.left.elbow = columns(1.0, -0.6 + 0.5 * up, 0.1)
    figure.right.elbow = columns(-1.0, -0.6 + 0.5 * up, 0.1)
    figure.left.fingers = figure.right.fingers = shaft
    figure.left.palm, figure.right.palm = take.hold(-1.0, 0.0, 0.0), take.hold(1.0, 0.0, 0.0)
    figure.left.curl = figure.right.curl = 84.0
    figure.bend += columns(34 - 46 * up, 0.0, 0.0)
    figure.turn[:, 1] = 16 - 18 * up
    figure.hips += columns(0.0, -0.08 * (1 - up), -0.06 + 0.05 * up)
    figure.head += columns(16 - 10 * up, 0.0, 0.0)
    return figure


def dig(take: Take) -> Pose:
    """A spade driven in with the foot, levered down, lifted, and its load thrown aside."""
    figure = stand(take, apart=0.34, crouch=0.05)
    figure.right.frame = figure.left.frame = "stage"
    top = take.keys(
        (0.0, (-0.12, 1.12, 0.30)),
        (0.25, (-0.12, 1.12, 0.30)),
        (0.55, (-0.12, 0.96, 0.30)),
        (0.7, (-0.12, 0.96, 0.30)),
        (1.05, (-0.20, 0.74, 0.10)),
        (1.4, (-0.24, 0.92, 0.06)),
        (1.8, (-0.02, 1.16, 0.20)),
        (2.0, (0.06, 1.20, 0.24)),
        (2.7, (-0.10, 1.12, 0.28)),
    )
    blade = take.keys(
        (0.0, (0.02, 0.10, 0.72)),
        (0.25, (0.02, 0.10, 0.72)),
        (0.55, (0.02, -0.10, 0.70)),
        (0.7, (0.02, -0.10, 0.70)),
        (1.05, (0.04, 0.0, 0.92)),
        (1.4, (0.16, 0.62, 0.96)),
        (1.8, (1.05, 1.05, 0.70)),
        (2.0, (1.20, 1.20, 0.55)),
        (2.7, (0.02, 0.14, 0.74)),
    )
    shaft = unit(blade - top)
    figure.right.wrist = top
    figure.left.wrist = top + shaft * 0.42
    figure.right.elbow, figure.left.elbow = take.hold(-1.0, 0.1, -0.5), take.hold(0.8, -0.6, -0.2)
    figure.right.palm, figure.left.palm = take.hold(0.4, -0.8, 0.6), take.hold(-0.4, 0.7, 0.3)
    figure.right.fingers, figure.left.fingers = columns(0.8, 0.0, 0.6), columns(-0.8, 0.0, 0.7)
    figure.right.curl = figure.left.curl = 82.0
    throw = take.keys((1.3, 0.0), (1.8, 1.0), (2.05, 1.0), (2.6, 0.0)) * take.amplitude
    low = take.keys((0, 0.4), (0.6, 0.7), (1.05, 1.0), (1.4, 0.8), (1.9, 0.1), (2.7, 0.35))
    figure.bend += columns(8 + 30 * low, 0.0, 30 * throw)
    figure.turn = columns(20 * throw, 12 * low, 0.0)
    figure.head += columns(18.0, 0.0, 10 * throw)
    figure.hips += columns(0.05 * throw, -0.12 * low, -0.08 * low)
    stamp = take.keys((0.0, 0.0), (0.22, 1.0), (0.30, 1.0), (0.55, 0.55), (0.7, 0.55), (0.98, 0.0))
    figure.right_leg.ankle += columns(0.10, 0.42, 0.46) * stamp[:, None]
    figure.right_leg.pitch = -8 * stamp
    figure.left_leg.ankle += columns(0.02, 0.0, 0.02)
    return figure


def saw(take: Take) -> Pose:
    """Bent over a plank that one hand holds down, the other drives a saw to and fro."""
    figure = stand(take, apart=0.34, crouch=0.05)
    stroke = take.wave(1.15) * take.amplitude
    figure.right.frame = figure.left.frame = "stage"
    figure.right.wrist = columns(-0.20, 0.88 - 0.10 * stroke, 0.36 + 0.22 * stroke)
    figure.right.elbow = take.hold(-0.5, 0.4, -1.0)
    figure.right.palm = take.hold(1.0, 0.0, 0.1)
    figure.right.fingers, figure.right.curl = take.hold(0.1, -0.35, 1.0), 80.0
    figure.left.wrist = take.hold(0.16, 0.80, 0.50) + take.drift(0.003)
    figure.left.elbow = take.hold(1.0, 0.1, -0.4)
    figure.left.palm, figure.left.fingers = take.hold(0.0, -1.0, 0.0), take.hold(-0.3, 0.0, 1.0)
    figure.left.curl = 12.0
    figure.turn[:, 1] = 14.0
    figure.bend += columns(30 + 4 * stroke, 0.0, 8 + 11 * stroke)
    figure.head += columns(8.0, 4.0, -8 * stroke - 6)
    figure.hips += columns(0.0, 0.0, -0.10 + 0.02 * stroke)
    figure.left_leg.ankle += columns(0.0, 0.30, 0.34)
    figure.left_leg.pitch = take.hold(4.0)
    figure.right_leg.ankle += columns(0.02, 0.0, -0.10)
    figure.right_leg.yaw = take.hold(-24.0)
    return figure


def wipe_window(take: Take) -> Pose:
    """A flat hand on an upright pane: two wide circles, then strokes from side to side further down."""
    figure = stand(take, apart=0.3)
    circle = take.keys((0, 1.0), (1.5, 1.0), (1.75, 0.0))
    turn = 2 * np.pi * 1.15 * take.t
    size = 0.20 * take.amplitude
    round_ = columns(size * np.cos(turn), size * np.sin(turn))
    zigzag = columns(0.26 * take.amplitude * take.wave(1.3, 0.1), take.keys((1.6, 0.02), (2.8, -0.30)))
    path = round_ * circle[:, None] + zigzag * (1 - circle[:, None])
    figure.right.frame = "stage"
    figure.right.wrist = columns(-0.16 + path[:, 0], 1.50 + path[:, 1], 0.44)
    figure.right.elbow = take.hold(-1.0, -0.8, 0.0)
    figure.right.palm, figure.right.fingers = take.hold(0.0, 0.0, 1.0), columns(0.15 + path[:, 0], 1.0, 0.1)
    figure.right.curl = 0.0
    figure.left.wrist = take.hold(0.26, -0.16, 0.16) + take.drift(0.006)
    figure.left.elbow, figure.left.curl = take.hold(0.7, -0.2, -1.0), 70.0
    figure.left.palm = take.hold(-1.0, 0.0, 0.0)
    figure.hips[:, 0] += 0.18 * path[:, 0]
    figure.bend += columns(4.0, -14 * path[:, 0], 6.0)
    figure.head += columns(-8 - 30 * path[:, 1], 0.0, -50 * path[:, 0] - 8)
    return figure


def brush_teeth(take: Take) -> Pose:
    """Small quick strokes before the mouth with the elbow out, one side and then the other."""
    figure = stand(take)
    side = take.keys((0, 0.0), (1.15, 0.0), (1.4, 1.0), (2.8, 1.0))
    rub = take.wave(3.2) * take.amplitude
    base = columns(-0.21 + 0.05 * side, 0.31 + 0.01 * side, 0.17 + 0.03 * side)
    figure.right.wrist = base + columns(0.035 * rub, 0.012 * rub * side, 0.01 * rub)
    figure.right.elbow = take.hold(-1.0, 0.0, 0.1)
    figure.right.palm = take.hold(0.2, -0.2, -1.0)
    figure.right.fingers, figure.right.curl = columns(1.0, 0.25, -0.05), 76.0
    figure.left.wrist = take.hold(0.14, -0.02, 0.30) + take.drift(0.006)
    figure.left.elbow, figure.left.palm = take.hold(0.8, -1.0, -0.2), take.hold(-1.0, 0.1, 0.0)
    figure.left.fingers, figure.left.curl = take.hold(-0.1, 0.2, 1.0), 60.0
    figure.head += columns(2.0, 6 - 10 * side, 12 - 24 * side) + columns(0.0, 0.0, 1.5 * rub)
    figure.bend += columns(6.0, 0.0, 0.0)
    return figure


def stir(take: Take) -> Pose:
    """A pot held by its handle, stirred round and round, then a taste from the spoon."""
    figure = stand(take, apart=0.26)
    taste = take.keys((0, 0.0), (1.65, 0.0), (2.05, 1.0), (2.5, 1.0), (2.8, 0.8))
    turn = 2 * np.pi * 1.3 * take.t
    size = 0.11 * take.amplitude
    pot = columns(-0.08 + size * np.cos(turn), 0.0, 0.36 + size * np.sin(turn))
    mouth = columns(-0.13, 0.30, 0.20)
    figure.right.wrist = pot * (1 - taste[:, None]) + mouth * taste[:, None]
    figure.right.elbow = columns(-1.0, 0.1 - 0.4 * taste, -0.1)
    figure.right.palm = columns(0.5, -0.7 * (1 - taste), -0.5 * taste - 0.1)
    figure.right.fingers = columns(0.25 + 0.5 * taste, -0.8 + 1.0 * taste, 0.45 - 0.4 * taste)
    figure.right.curl = 74.0
    figure.left.wrist = take.hold(0.24, -0.13, 0.32) + take.drift(0.005)
    figure.left.elbow, figure.left.palm = take.hold(1.0, -0.5, -0.3), take.hold(0.0, -1.0, 0.0)
    figure.left.fingers, figure.left.curl = take.hold(-0.6, 0.0, 0.8), 78.0
    figure.bend += columns(11 - 8 * taste, 0.0, 0.0)
    figure.head += columns(26 - 20 * taste, 0.0, -4.0)
    return figure
