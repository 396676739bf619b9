"""Whole-body sports: fists, weights, water, oars, rope. Right-handed, facing +Z; left is +X."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.choreography.seat import sit
from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.take import Take, columns


def boxing(take: Take) -> Pose:
    """From a guard before the chin: jab, cross, jab, hook, the weight bouncing on the toes."""
    figure = stand(take, apart=0.34, crouch=0.07)
    jab = take.keys((0, 0), (0.15, 0), (0.32, 1), (0.52, 0), (1.2, 0), (1.36, 1), (1.54, 0), (2.6, 0))
    cross = take.keys((0, 0), (0.6, 0), (0.78, 1), (1.02, 0), (2.15, 0), (2.32, 1), (2.55, 0))
    hook = take.keys((0, 0), (1.62, 0), (1.78, 0.45), (1.92, 1), (2.15, 0), (2.6, 0))
    wide = take.keys((1.6, 0), (1.76, 1), (1.95, 0.2), (2.1, 0))
    guard_left, guard_right = np.array([0.12, 0.26, 0.27]), np.array([-0.12, 0.25, 0.20])
    figure.left.wrist = (
        guard_left
        + (np.array([0.44, 0.22, 0.56]) - guard_left) * (jab * take.amplitude)[:, None]
        + (np.array([-0.02, 0.24, 0.42]) - guard_left) * hook[:, None]
        + columns(0.26, 0.0, -0.10) * wide[:, None]
    )
    figure.right.wrist = (
        guard_right + (np.array([-0.26, 0.22, 0.60]) - guard_right) * (cross * take.amplitude)[:, None]
    )
    figure.left.elbow = columns(0.5 + 0.8 * hook + wide, -1.0 + 1.1 * np.maximum(hook, wide), 0.0)
    figure.right.elbow = columns(-0.5, -1.0, 0.0)
    figure.left.palm = columns(-0.9 + 0.7 * jab, -0.9 * jab, -0.3)
    figure.right.palm = columns(0.9 - 0.7 * cross, -0.9 * cross, -0.3)
    figure.left.fingers = columns(0.0 - 0.9 * hook, 0.9 * (1 - jab) * (1 - hook), 0.4 + 0.6 * jab)
    figure.right.fingers = columns(0.0, 0.9 * (1 - cross), 0.4 + 0.6 * cross)
    figure.left.curl = figure.right.curl = 95.0
    hop = np.abs(take.wave(1.25))
    figure.hips += columns(0.02 * take.wave(1.25), 0.025 * hop - 0.01, 0.06 * (cross + 0.5 * jab))
    figure.turn[:, 0] = -24 + 34 * cross - 8 * jab - 30 * hook
    figure.bend += columns(10 + 6 * cross, 0.0, 22 * cross - 10 * jab - 24 * hook + 16 * wide)
    figure.head += columns(8.0, 0.0, 22 - 40 * cross + 12 * jab + 36 * hook)
    figure.left_leg.ankle += columns(0.0, 0.02 * hop, 0.22)
    figure.right_leg.ankle += columns(0.0, 0.04 + 0.02 * hop, -0.20)
    figure.right_leg.pitch = 28 + 10 * cross
    figure.left_leg.pitch = 8 * hop
    figure.right_leg.yaw = take.hold(-25.0)
    return figure


def clean_and_jerk(take: Take) -> Pose:
    """A bar taken from the floor to the shoulders, and from there overhead."""
    figure = stand(take, apart=0.36)
    bar = take.keys(
        (0.0, (0.36, 0.33, 0.22)),
        (0.25, (0.36, 0.33, 0.22)),
        (0.7, (0.36, 0.86, 0.20)),
        (0.95, (0.33, 1.30, 0.26)),
        (1.1, (0.27, 1.28, 0.22)),
        (1.5, (0.27, 1.44, 0.20)),
        (1.72, (0.27, 1.34, 0.20)),
        (1.95, (0.38, 1.86, 0.06)),
        (2.15, (0.40, 1.88, 0.02)),
        (2.9, (0.40, 1.90, 0.02)),
    )
    racked = take.keys((0.85, 0.0), (1.08, 1.0), (1.75, 1.0), (1.92, 0.0))
    raised = take.keys((0.85, 0.0), (1.08, 0.75), (1.75, 0.75), (1.95, 1.0))
    for sign, arm in ((1.0, figure.left), (-1.0, figure.right)):
        arm.frame = "stage"
        arm.wrist = bar * [sign, 1.0, 1.0]
        arm.elbow = columns(sign * (1.0 - 0.5 * racked), -0.4 * racked, -0.6 + 1.8 * racked)
        arm.palm = columns(0.0, 1.0 * racked, -1.0 + 2.0 * raised)
        arm.fingers = columns(0.0, -1.0 + 2.0 * raised, -0.5 * racked)
        arm.curl = 88.0
    figure.hips = columns(
        0.0,
        take.keys(
            (0, 0.50),
            (0.25, 0.50),
            (0.75, 0.93),
            (0.9, 0.92),
            (1.1, 0.72),
            (1.5, 0.935),
            (1.72, 0.84),
            (1.88, 0.94),
            (2.05, 0.84),
            (2.4, 0.86),
            (2.9, 0.88),
        ),
        take.keys((0, -0.22), (0.25, -0.22), (0.8, 0.02), (1.1, -0.10), (1.5, 0.0), (2.9, 0.0)),
    )
    figure.bend = columns(
        take.keys((0, 42), (0.25, 44), (0.75, 4), (1.1, 10), (1.5, 0), (2.9, -2)), 0.0, 0.0
    ) + take.drift(1.0)
    figure.head = columns(take.keys((0, -28), (0.7, -6), (1.5, -4), (2.0, -12)), 0.0, 0.0)
    split = take.keys((1.82, 0.0), (2.05, 1.0))
    hop = take.keys((1.82, 0.0), (1.93, 0.05), (2.05, 0.0))
    figure.left_leg.ankle += columns(0.0, 0.0, 0.34) * split[:, None] + columns(0.0, hop, 0.0)
    figure.right_leg.ankle += columns(0.0, 0.06, -0.36) * split[:, None] + columns(0.0, hop, 0.0)
    figure.right_leg.pitch = 42 * split
    for sign, leg in ((1.0, figure.left_leg), (-1.0, figure.right_leg)):
        leg.yaw = sign * (18 - 12 * split)
    return figure


def crawl(take: Take) -> Pose:
    """Bent over as if lying on water: the arms reach ahead and pull in turn, the head rolls to breathe."""
    figure = stand(take, apart=0.26, crouch=0.07)
    rate = 0.8
    for sign, arm, start in ((1.0, figure.left, 0.0), (-1.0, figure.right, 0.5)):
        angle = 2 * np.pi * (rate * take.t + start)
        # cos 1: stretched ahead; sin > 0: pulling down through the water; sin < 0: brought back above it.
        ahead, pull = np.cos(angle), np.sin(angle)
        above = np.maximum(-pull, 0.0)
        arm.wrist = columns(
            sign * (0.20 + 0.16 * above),
            0.16 + 0.52 * take.amplitude * ahead,
            np.where(pull > 0, 0.42 * pull, 0.34 * pull),
        )
        arm.elbow = columns(sign * (1.0 - 0.4 * above), -0.2, -0.3 - 1.2 * above)
        arm.palm = columns(0.0, -0.5, 1.0)
        arm.curl = 8.0
    roll = take.wave(rate, 0.0)
    breathe = np.maximum(take.wave(rate, 0.05), 0.0)
    figure.turn[:, 1] = 28.0
    figure.bend += columns(46.0, 0.0, -24 * roll)
    figure.head += columns(-24.0, -8 * breathe, -58 * breathe + 14 * roll)
    figure.hips += columns(0.0, 0.01 * take.wave(2 * rate), -0.16)
    for sign, leg in ((1.0, figure.left_leg), (-1.0, figure.right_leg)):
        kick = np.maximum(sign * take.wave(2 * rate), 0.0)
        leg.ankle += columns(0.0, 0.05 * kick, 0.0)
        leg.pitch = 22 * kick
    return figure


def jump_rope(take: Take) -> Pose:
    """Small jumps on the spot, the wrists turning a rope at the sides."""
    figure = stand(take, apart=0.14, crouch=0.02)
    rate = 1.9
    angle = 2 * np.pi * rate * take.t
    air = np.maximum(np.sin(angle), 0.0) * 0.15 * take.amplitude
    land = np.maximum(-np.sin(angle), 0.0) * 0.05
    for sign, arm in ((1.0, figure.left), (-1.0, figure.right)):
        # The rope is overhead half a turn after it passes under the feet.
        arm.wrist = columns(
            sign * 0.42, -0.17 + 0.085 * np.cos(angle + np.pi / 2), 0.16 + 0.085 * np.sin(angle + np.pi / 2)
        )
        arm.elbow = take.hold(sign * 0.35, -0.5, -1.0)
        arm.palm = take.hold(-sign * 0.2, 0.3, 1.0)
        arm.fingers = columns(
            sign * 1.0, 0.45 * np.cos(angle + np.pi / 2), 0.45 * np.sin(angle + np.pi / 2) + 0.3
        )
        arm.curl = 78.0
    figure.hips[:, 1] += air - land
    for leg in (figure.left_leg, figure.right_leg):
        leg.ankle[:, 1] += air * 0.92 + 0.035
        leg.pitch = 22 + 190 * air
    figure.bend += columns(3 + 60 * land, 0.0, 0.0)
    figure.head += columns(-2.0, 0.0, 0.0)
    return figure


def row(take: Take) -> Pose:
    """Seated low: body forward over bent knees, then legs out, back, and the handles to the chest."""
    figure = sit(take, height=0.22)
    phase = 0.62 * take.t % 1.0
    drive = np.where(
        phase < 0.42,
        0.5 - 0.5 * np.cos(np.pi * phase / 0.42),
        0.5 + 0.5 * np.cos(np.pi * (phase - 0.42) / 0.58),
    )
    legs = np.clip(drive * 1.35, 0.0, 1.0)
    arms = np.clip(drive * 2.2 - 1.2, 0.0, 1.0)
    figure.hips = columns(0.0, 0.22, 0.02 - 0.36 * legs)
    lean = (26 - 48 * drive) * take.amplitude
    figure.turn[:, 1] = lean * 0.5
    figure.bend += columns(lean * 0.7 + 6, 0.0, 0.0)
    for sign, arm, leg in ((1.0, figure.left, figure.left_leg), (-1.0, figure.right, figure.right_leg)):
        arm.wrist = columns(sign * (0.16 + 0.06 * arms), 0.10 - 0.06 * arms, 0.54 - 0.36 * arms)
        arm.elbow = columns(sign * 0.6, -0.7, -0.8)
        arm.palm = take.hold(0.0, -1.0, 0.0)
        arm.fingers = take.hold(0.0, 0.1, 1.0)
        arm.curl = 85.0
        leg.ankle = take.hold(sign * 0.12, 0.13, 0.50)
        leg.pitch = take.hold(-38.0)
        leg.yaw = take.hold(0.0)
        leg.knee = take.hold(sign * 6.0)
    figure.head += columns(-lean * 0.5 - 2, 0.0, 0.0)
    return figure
