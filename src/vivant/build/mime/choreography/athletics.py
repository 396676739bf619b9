"""Bats, blades, paddles, pedals and exercise. Written for a right-hander who faces +Z; left is +X."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.choreography.seat import sit
from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.take import Take, columns


def bat(take: Take) -> Pose:
    """Hands together at the rear shoulder, a stride, then the bat is swung level round to the other side."""
    figure = stand(take, apart=0.5, crouch=0.07)
    hands = take.keys(
        (0.0, (-0.22, 0.23, 0.17)),
        (0.3, (-0.20, 0.27, 0.19)),
        (0.6, (-0.23, 0.23, 0.17)),
        (0.95, (-0.27, 0.24, 0.14)),
        (1.12, (-0.14, 0.04, 0.36)),
        (1.24, (0.10, 0.0, 0.46)),
        (1.40, (0.34, 0.10, 0.30)),
        (1.62, (0.35, 0.15, 0.05)),
        (2.4, (0.35, 0.15, 0.05)),
    )
    figure.left.wrist = hands + take.hold(0.03, -0.045, 0.0)
    figure.right.wrist = hands + take.hold(-0.02, 0.045, 0.0)
    figure.left.elbow = take.hold(0.5, -0.9, 0.5)
    figure.right.elbow = take.keys((0, (-1.0, -0.1, -0.2)), (0.95, (-1, 0.1, -0.3)), (1.3, (-0.6, -1.0, 0.0)))
    stick = take.keys(
        (0.0, (-0.1, 1.0, -0.35)),
        (0.3, (0.1, 1.0, -0.2)),
        (0.6, (-0.1, 1.0, -0.35)),
        (0.95, (0.15, 0.9, -0.5)),
        (1.12, (-1.0, 0.15, -0.1)),
        (1.24, (-0.2, 0.05, 1.0)),
        (1.40, (1.0, 0.2, 0.3)),
        (1.62, (0.1, 0.3, -1.0)),
        (2.4, (0.1, 0.2, -1.0)),
    )
    # Fists around the stick: fingers lie across it, one palm to each side, all the way round.
    across = np.cross([0.0, 1.0, 0.0], stick)
    figure.left.fingers = figure.right.fingers = across
    figure.right.palm = np.cross(stick, across)
    figure.left.palm = -figure.right.palm
    figure.left.curl = figure.right.curl = 86.0
    coil = take.keys((0, -22), (0.7, -24), (0.98, -38), (1.24, 34), (1.5, 66), (2.4, 64)) * take.amplitude
    figure.turn[:, 0] = 0.6 * coil
    figure.bend += columns(take.keys((0, 14), (1.24, 12), (1.6, 2)), 0.0, 0.6 * coil)
    figure.head += columns(6.0, 0.0, 48 - 0.9 * coil)
    figure.hips += columns(take.keys((0, -0.05), (0.95, -0.07), (1.3, 0.08), (2.4, 0.1)), 0.0, -0.03)
    lift = take.keys((0.6, 0.0), (0.8, 1.0), (0.98, 0.0))
    step = take.keys((0.6, 0.0), (0.98, 1.0))
    figure.left_leg.ankle += columns(0.14 * step, 0.13 * lift, 0.0)
    figure.left_leg.yaw = take.keys((0, 20), (0.98, 45))
    figure.right_leg.pitch = take.keys((1.1, 0), (1.4, 48), (2.4, 48))
    figure.right_leg.yaw = take.keys((1.1, -8), (1.4, 42), (2.4, 42))
    figure.right_leg.ankle += columns(0.05, 0.10, 0.05) * take.keys((1.1, 0.0), (1.4, 1.0))[:, None]
    return figure


def push_up(take: Take) -> Pose:
    """Face down on hands and toes: the straight body is let down to the floor and pressed up."""
    figure = stand(take)
    down = 0.5 - 0.5 * take.wave(0.72, 0.25)
    slope = 19.0 - 13.5 * np.minimum(take.amplitude, 1.05) * down
    rise, along = np.sin(np.radians(slope)), np.cos(np.radians(slope))
    foot = np.array([0.16, -0.88])
    figure.hips = columns(0.0, foot[0] + 0.87 * rise, foot[1] + 0.87 * along)
    figure.turn = columns(0.0, 90.0 - slope, 0.0)
    figure.bend = take.hold(0.0, 0.0, 0.0)
    figure.head = columns(-26 - 6 * down, 0.0, 0.0) + take.drift(1.5)
    for sign, arm, leg in ((1.0, figure.left, figure.left_leg), (-1.0, figure.right, figure.right_leg)):
        arm.frame = "stage"
        arm.wrist = take.hold(sign * 0.27, 0.055, 0.40)
        arm.elbow = take.hold(sign * 1.0, 0.3, -0.9)
        arm.palm, arm.fingers, arm.curl = take.hold(0.0, -1.0, 0.0), take.hold(0.0, 0.0, 1.0), 2.0
        leg.ankle = take.hold(sign * 0.08, foot[0], foot[1])
        leg.pitch = take.hold(78.0)
        leg.yaw = take.hold(0.0)
    return figure


def jumping_jack(take: Take) -> Pose:
    """Legs apart and arms overhead in one jump, together and down in the next."""
    figure = stand(take, apart=0.16)
    rate = 1.15
    out = 0.5 - 0.5 * take.wave(rate, 0.25)
    air = np.abs(take.wave(rate)) ** 1.5 * 0.07
    angle = np.radians(-74 + 152 * np.minimum(take.amplitude, 1.05) * out)
    spread = 0.09 + 0.30 * take.amplitude * out
    for sign, arm, leg in ((1.0, figure.left, figure.left_leg), (-1.0, figure.right, figure.right_leg)):
        arm.wrist = columns(sign * (0.17 + 0.50 * np.cos(angle)), 0.20 + 0.51 * np.sin(angle), 0.04)
        arm.elbow = take.hold(sign * 0.2, -0.1, -1.0)
        arm.palm = columns(-sign * np.sin(angle) * -1.0, -np.cos(angle), 0.25)
        arm.curl = 6.0
        leg.ankle = columns(sign * spread, 0.08 + air, -0.02)
        leg.pitch = 300 * air
        leg.yaw = take.hold(sign * 14.0)
    reach = np.sqrt(0.83**2 - np.maximum(spread - 0.09, 0.0) ** 2)
    figure.hips = columns(0.0, 0.08 + reach + 0.04 - 0.02 + 0.9 * air, 0.0)
    figure.head += columns(-3.0, 0.0, 0.0)
    return figure


def run(take: Take) -> Pose:
    """On the spot, as mimes run: knees driven up in turn, heels kicked back, bent arms pumping."""
    figure = stand(take, crouch=0.03)
    rate = 1.35
    for sign, arm, leg, start in (
        (1.0, figure.left, figure.left_leg, 0.0),
        (-1.0, figure.right, figure.right_leg, 0.5),
    ):
        size = take.amplitude
        path = take.cycle(
            rate,
            start,
            (0.0, (sign * 0.08, 0.08, 0.0)),
            (0.26, (sign * 0.08, 0.08, 0.0)),
            (0.42, (sign * 0.08, 0.30 * size, -0.34)),
            (0.54, (sign * 0.08, 0.44 * size, -0.28)),
            (0.70, (sign * 0.08, 0.42 * size, 0.20)),
            (0.80, (sign * 0.08, 0.34 * size, 0.28)),
            (1.0, (sign * 0.08, 0.08, 0.0)),
        )
        leg.ankle = path
        leg.pitch = take.cycle(rate, start, (0, 4), (0.2, 4), (0.4, 58), (0.54, 62), (0.75, 4), (1.0, 4))
        leg.yaw = take.hold(0.0)
        swing = -take.wave(rate, start + 0.48) * size
        arm.wrist = columns(
            sign * (0.24 - 0.06 * np.maximum(swing, 0)),
            0.02 + 0.12 * np.abs(swing) * (swing > 0),
            0.16 + 0.24 * swing,
        )
        arm.elbow = take.hold(sign * 0.45, -0.25, -1.0)
        arm.palm = take.hold(-sign * 1.0, 0.0, 0.0)
        arm.curl = 72.0
    figure.hips[:, 1] += 0.03 * np.abs(take.wave(rate, 0.13)) - 0.02
    twist = take.wave(rate, 0.48)
    figure.turn[:, 1] = 4.0
    figure.bend += columns(9.0, 0.0, 9 * twist)
    figure.head += columns(-8.0, 0.0, -7 * twist)
    return figure


def fence(take: Take) -> Pose:
    """Sideways on guard, the blade hand ahead, the other raised behind; two lunges with a parry between."""
    figure = stand(take)
    lunge = take.keys(
        (0, 0.0), (0.35, 0.0), (0.62, 1.0), (0.85, 1.0), (1.25, 0.0), (1.7, 0.0), (1.95, 1.0), (2.5, 1.0)
    )
    arm_out = take.keys(
        (0, 0.0), (0.25, 0.0), (0.5, 1.0), (0.9, 1.0), (1.2, 0.0), (1.6, 0.0), (1.85, 1.0), (2.5, 1.0)
    )
    parry = take.keys((1.15, 0.0), (1.3, 1.0), (1.45, -0.7), (1.6, 0.0))
    size = take.amplitude
    figure.hips = columns(0.0, 0.82 - 0.17 * size * lunge, -0.12 + 0.40 * size * lunge) + take.drift(0.005)
    figure.turn = columns(52 - 6 * lunge, 4 * lunge, 0.0)
    figure.bend += columns(4 + 5 * lunge, -6 * lunge, 8.0)
    figure.head += columns(2.0, 0.0, -58.0 + 6 * lunge)
    figure.right.frame = figure.left.frame = "stage"
    guard, hit = np.array([-0.10, 1.10, 0.36]), np.array([-0.10, 1.26, 0.98])
    figure.right.wrist = guard + (hit - guard) * arm_out[:, None] + columns(0.16, 0.08, 0.0) * parry[:, None]
    figure.right.elbow = take.hold(-0.5, -1.0, -0.1)
    figure.right.palm = take.hold(0.5, 0.6, 0.0)
    figure.right.fingers = columns(0.3 * parry, 0.12 + 0.4 * parry - 0.1 * arm_out, 1.0)
    figure.right.curl = 74.0
    figure.left.wrist = (
        take.hold(0.10, 1.52, -0.58) * (1 - lunge[:, None])
        + columns(0.12, 1.02, -0.50 + 0.1 * lunge) * lunge[:, None]
    )
    figure.left.elbow = columns(0.6, 0.2 - 0.4 * lunge, -1.0)
    figure.left.palm = columns(0.2, 0.3, 1.0 - 0.6 * lunge)
    figure.left.fingers = columns(0.0, 0.9 - 1.0 * lunge, 0.5 - 1.2 * lunge)
    figure.left.curl = 34.0
    hop = take.keys(
        (0.3, 0), (0.48, 1), (0.62, 0), (0.9, 0), (1.08, 1), (1.25, 0), (1.66, 0), (1.82, 1), (1.95, 0)
    )
    figure.right_leg.ankle = columns(-0.06, 0.08 + 0.07 * hop, 0.24 + 0.46 * size * lunge)
    figure.right_leg.yaw = take.hold(0.0)
    figure.right_leg.pitch = -24 * hop
    figure.left_leg.ankle = take.hold(0.06, 0.08, -0.42)
    figure.left_leg.yaw = take.hold(78.0)
    return figure


def kayak(take: Take) -> Pose:
    """Seated on the ground, both hands on one shaft that dips left and right in turn."""
    figure = sit(take, height=0.16)
    figure.hips = take.hold(0.0, 0.16, -0.12)
    rate = 0.82
    roll = take.wave(rate)
    reach = take.wave(rate, -0.22)
    tilt = np.radians(42 * take.amplitude * roll)
    yaw = np.radians(36 * reach)
    along = columns(np.cos(tilt) * np.cos(yaw), -np.sin(tilt), np.sin(yaw) * np.cos(tilt))
    centre = columns(0.06 * roll, 0.13, 0.36)
    for sign, arm, leg in ((1.0, figure.left, figure.left_leg), (-1.0, figure.right, figure.right_leg)):
        arm.wrist = centre + sign * 0.31 * along
        arm.elbow = columns(sign * 1.0, -0.8, -0.3)
        arm.palm = take.hold(0.0, -0.6, 0.9)
        arm.fingers = take.hold(0.0, 0.6, 0.8)
        arm.curl = 84.0
        leg.ankle = take.hold(sign * 0.13, 0.12, 0.56)
        leg.pitch = take.hold(-32.0)
        leg.yaw = take.hold(sign * 4.0)
        leg.knee = take.hold(sign * 16.0)
    figure.turn[:, 1] = 6.0
    figure.bend += columns(10.0, 7 * roll, 20 * reach)
    figure.head += columns(-6.0, -4 * roll, -14 * reach)
    return figure


def cycle(take: Take) -> Pose:
    """Seated high, hands on a bar ahead, the feet going round on pedals."""
    figure = stand(take)
    rate = 1.1
    figure.hips = columns(0.012 * take.wave(rate), 0.93, -0.26)
    figure.turn[:, 1] = 20.0
    figure.bend += columns(22.0, 4 * take.wave(rate), 5 * take.wave(rate))
    figure.head += columns(-26.0, -3 * take.wave(rate), 0.0)
    for sign, arm, leg, start in (
        (1.0, figure.left, figure.left_leg, 0.0),
        (-1.0, figure.right, figure.right_leg, 0.5),
    ):
        arm.frame = "stage"
        arm.wrist = take.hold(sign * 0.22, 0.99, 0.44) + take.drift(0.004)
        arm.elbow = take.hold(sign * 1.0, -0.7, -0.2)
        arm.palm = take.hold(0.0, -1.0, 0.3)
        arm.fingers = take.hold(-sign * 0.25, -0.1, 1.0)
        arm.curl = 78.0
        angle = 2 * np.pi * (rate * take.t + start)
        size = 0.175 * take.amplitude
        leg.ankle = columns(sign * 0.10, 0.36 - size * np.cos(angle), -0.02 + size * np.sin(angle))
        leg.pitch = 14 - 14 * np.sin(angle + 0.6)
        leg.yaw = take.hold(0.0)
    return figure
