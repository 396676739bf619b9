"""Everyday actions: about the house, on the road. Written for a right-hander who faces +Z; left is +X."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.choreography.seat import sit
from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.rotation import unit
from vivant.build.mime.take import Take, columns


def sweep(take: Take) -> Pose:
    """Both hands on a broomstick whose brush is drawn over the floor from side to side."""
    figure = stand(take, apart=0.36, crouch=0.05)
    phase = 0.85 * take.t % 1.0
    # The brush is pulled quickly one way on the floor and carried back through the air.
    pull = np.where(
        phase < 0.5, 0.5 - 0.5 * np.cos(2 * np.pi * phase), 0.5 + 0.5 * np.cos(2 * np.pi * (phase - 0.5))
    )
    carried = np.where(phase < 0.5, 0.0, np.sin(2 * np.pi * (phase - 0.5)))
    brush = columns(0.95 - 1.6 * take.amplitude * pull, 0.14 * carried, 0.95 - 0.35 * pull)
    top = columns(-0.02 - 0.16 * pull, 1.16 + 0.03 * carried, 0.30)
    stick = unit(brush - top)
    figure.right.frame = figure.left.frame = "stage"
    figure.right.wrist = top + stick * 0.06
    figure.left.wrist = top + stick * 0.52
    figure.right.elbow = take.hold(-1.0, 0.3, -0.3)
    figure.left.elbow = take.hold(0.8, -0.5, -0.6)
    figure.right.palm = take.hold(0.1, -0.4, 1.0)
    figure.left.palm = take.hold(-0.8, 0.2, -0.4)
    figure.right.fingers, figure.left.fingers = take.hold(0.9, 0.0, 0.3), take.hold(-0.5, 0.0, 0.8)
    figure.right.curl = figure.left.curl = 78.0
    twist = 44 * (0.5 - pull)
    figure.bend += columns(30.0, 8 * (0.5 - pull), twist)
    figure.head += columns(14.0, 0.0, twist * 0.6)
    figure.hips += columns(0.16 * (0.5 - pull), -0.02, -0.05)
    figure.turn[:, 0] = twist * 0.4
    figure.left_leg.ankle += columns(0.02, 0.0, 0.14)
    figure.right_leg.ankle += columns(0.0, 0.0, -0.08)
    return figure


def climb(take: Take) -> Pose:
    """Up a ladder on the spot: each hand reaches up and is pulled down, the knees rise in turn."""
    figure = stand(take, apart=0.24)
    for sign, arm, leg, start in (
        (1.0, figure.left, figure.left_leg, 0.0),
        (-1.0, figure.right, figure.right_leg, 0.5),
    ):
        phase = (0.75 * take.t + start) % 1.0
        # Up in the first third with the rung let go, then down as the body is pulled past it.
        up = np.where(
            phase < 0.36,
            0.5 - 0.5 * np.cos(np.pi * phase / 0.36),
            0.5 + 0.5 * np.cos(np.pi * (phase - 0.36) / 0.64),
        )
        free = np.where(phase < 0.36, np.sin(np.pi * phase / 0.36), 0.0)
        arm.frame = "stage"
        arm.wrist = columns(sign * 0.19, 1.28 + 0.60 * take.amplitude * up, 0.40 - 0.14 * free)
        arm.elbow = take.hold(sign * 0.7, -1.0, -0.2)
        arm.palm = take.hold(0.0, -0.15, 1.0)
        arm.fingers = columns(0.0, 1.0, 0.15)
        arm.curl = 80.0 - 65.0 * free
        step = (0.75 * take.t + start + 0.5) % 1.0
        # Lifted and set down within half a turn: one foot is always on the ground.
        knee = np.where(step < 0.5, 0.5 - 0.5 * np.cos(4 * np.pi * step), 0.0)
        leg.ankle = columns(sign * 0.13, 0.08 + 0.36 * take.amplitude * knee, 0.02 + 0.20 * knee)
        leg.pitch = 10 * knee
    sway = take.wave(0.75, 0.2)
    figure.hips += columns(0.035 * sway, -0.008, 0.02)
    figure.bend += columns(3.0, -5 * sway, 7 * sway)
    figure.head += columns(-24.0, 0.0, 7 * sway)
    return figure


def drive(take: Take) -> Pose:
    """Seated at a steering wheel: turned one way and the other, a hand down to the gear stick in between."""
    figure = sit(take, height=0.44)
    steer = (
        take.keys((0, 0.0), (0.5, 62.0), (0.95, 62.0), (1.5, -68.0), (1.85, -60.0), (2.3, 0.0), (2.9, 20.0))
        * take.amplitude
    )
    gear = take.keys((0, 0.0), (1.9, 0.0), (2.15, 1.0), (2.3, 1.0), (2.45, 1.0), (2.7, 0.0))
    hub, across, upward = np.array([0.0, 0.80, 0.17]), np.array([1.0, 0, 0]), unit([0.0, 0.85, 0.5])
    for sign, arm in ((1.0, figure.left), (-1.0, figure.right)):
        angle = np.radians(90 - sign * 62 - steer)[:, None]
        rim = hub + 0.19 * (np.cos(angle) * across + np.sin(angle) * upward)
        arm.frame = "stage"
        if sign < 0:
            stick = columns(
                -0.38, 0.56 + 0.02 * take.wave(3), 0.10 - 0.06 * take.keys((2.2, 0.0), (2.4, 1.0))
            )
            rim = rim * (1 - gear[:, None]) + stick * gear[:, None]
        arm.wrist = rim - [0.0, 0.0, 0.04]
        arm.elbow = take.hold(sign * 1.0, -0.8, -0.3)
        arm.palm = take.hold(-sign * 0.7, -0.3, 0.6)
        arm.fingers = take.hold(-sign * 0.2, 0.6, 0.8)
        arm.curl = 80.0
    figure.hips[:, 2] -= 0.03
    figure.bend += columns(-9.0, steer * 0.09, steer * 0.06)
    figure.head += columns(3.0, steer * 0.08, steer * 0.30 - 12 * gear)
    figure.right_leg.ankle += columns(0.0, 0.0, 0.17)
    figure.left_leg.ankle += columns(0.02, 0.0, 0.12)
    figure.right_leg.pitch = -24 + 14 * gear + 5 * take.wave(0.7)
    figure.left_leg.pitch = -14 + 10 * gear
    figure.left_leg.yaw = figure.right_leg.yaw = take.hold(0.0)
    return figure


def drink(take: Take) -> Pose:
    """A cup is taken up to the mouth, tilted with the head laid back, and put down again."""
    figure = stand(take)
    up = take.keys((0, 0.0), (0.2, 0.0), (0.9, 1.0), (2.1, 1.0), (2.7, 0.0))
    tilt = take.keys((0.8, 0.0), (1.25, 1.0), (1.75, 1.0), (2.1, 0.0)) * take.amplitude
    low, high = np.array([-0.16, -0.08, 0.34]), np.array([-0.10, 0.31, 0.21])
    figure.right.wrist = low + (high - low) * up[:, None] + columns(0.0, 0.07 * tilt, 0.0)
    figure.right.elbow = columns(-1.0, -0.9 + 1.1 * tilt, 0.0)
    figure.right.palm = columns(0.9, 0.1 * tilt, 0.2 - 0.8 * up)
    figure.right.fingers = columns(0.55 * up, 0.3 + 0.2 * tilt, 0.8 - 0.6 * up)
    figure.right.curl = 62.0
    figure.head += columns(2 - 30 * tilt, 0.0, -3.0)
    figure.bend += columns(-5 * tilt, 0.0, 0.0)
    return figure


def hammer(take: Take) -> Pose:
    """A nail held against a wall by the left hand, struck by the right."""
    figure = stand(take, apart=0.3)
    phase = 1.25 * take.t % 1.0
    back = np.where(
        phase < 0.6,
        0.5 - 0.5 * np.cos(np.pi * phase / 0.6),
        0.5 + 0.5 * np.cos(np.pi * np.minimum((phase - 0.6) / 0.22, 1.0)),
    )
    figure.left.wrist = take.hold(0.10, 0.22, 0.42) + 0.004 * take.wave(9)[:, None]
    figure.left.palm, figure.left.fingers = take.hold(-1.0, 0.0, 0.2), take.hold(-0.2, 0.3, 1.0)
    figure.left.elbow, figure.left.curl = take.hold(0.6, -1.0, 0.0), 48.0
    hit, away = np.array([-0.12, 0.16, 0.40]), np.array([-0.33, 0.44, 0.06])
    figure.right.wrist = hit + (away - hit) * (back * take.amplitude)[:, None]
    figure.right.elbow = columns(-1.0, -0.5, -0.2)
    figure.right.palm = take.hold(1.0, -0.1, 0.1)
    figure.right.fingers = columns(0.1, 0.9 - 0.2 * back, 0.9 - 1.3 * back)
    figure.right.curl = 84.0
    figure.bend += columns(4 - 4 * back, 0.0, 8 - 16 * back)
    figure.head += columns(6.0, 4.0, 6.0)
    figure.left_leg.ankle[:, 2] += 0.14
    return figure


def wave_hand(take: Take) -> Pose:
    """One arm up, the open hand from side to side."""
    figure = stand(take)
    up = take.keys((0, 0.0), (0.5, 1.0), (2.3, 1.0), (2.7, 0.3))
    swing = take.wave(1.7) * take.amplitude
    low = figure.right.wrist
    high = columns(-0.42 - 0.16 * swing, 0.54 - 0.02 * swing**2, 0.12)
    figure.right.wrist = low * (1 - up[:, None]) + high * up[:, None]
    figure.right.elbow = take.hold(-1.0, -0.7, -0.3)
    figure.right.palm = columns(0.3 * (1 - up), 0.0, up)
    figure.right.curl = 35 - 33 * up
    figure.head += columns(-4.0, 5 * up, -6 * up)
    figure.bend[:, 1] += 4 * up
    return figure
