"""Gestures, and small things that hands do before others. Right-handed, facing +Z; left is +X."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.take import Take, columns


def clap(take: Take) -> Pose:
    """The hands meet before the chest, again and again."""
    figure = stand(take)
    rate = 2.2
    phase = rate * take.t % 1.0
    open_ = np.where(
        phase < 0.55, np.sin(np.pi * phase / 0.55 / 2), np.cos(np.pi * (phase - 0.55) / 0.45 / 2)
    )
    for sign, arm in ((1.0, figure.left), (-1.0, figure.right)):
        arm.wrist = columns(
            sign * (0.035 + 0.20 * take.amplitude * open_), 0.09 + sign * 0.02 + 0.02 * open_, 0.31
        )
        arm.elbow = take.hold(sign * 0.8, -1.0, -0.3)
        arm.palm = columns(-sign * 1.0, -0.05 * sign, 0.25 * open_)
        arm.fingers = columns(-sign * 0.1 + sign * 0.35 * open_, 0.75, 0.7)
        arm.curl = 4.0
    figure.head += columns(-4.0, 4 * take.wave(0.55), 6 * take.wave(0.3))
    figure.bend += columns(2.0 + 1.5 * open_, 3 * take.wave(0.55), 0.0)
    figure.hips[:, 1] -= 0.008 * (1 - open_)
    return figure


def salute(take: Take) -> Pose:
    """Heels together, the flat hand up to the temple, held, and smartly down."""
    figure = stand(take, apart=0.10)
    up = take.keys((0, 0.0), (0.35, 0.0), (0.7, 1.0), (1.9, 1.0), (2.25, 0.0))
    low = take.hold(-0.235, -0.32, 0.0)
    aside = columns(0.0, 0.0, 0.16) * (4 * up * (1 - up))[:, None]
    figure.right.wrist = low * (1 - up[:, None]) + take.hold(-0.235, 0.40, 0.10) * up[:, None] + aside
    figure.right.elbow = columns(-1.0, -0.2 * (1 - up), -0.6 * (1 - up) + 0.05 * up)
    figure.right.palm = columns(1.0 - 0.9 * up, -0.75 * up, 0.75 * up)
    figure.right.fingers = columns(0.85 * up, -1.0 + 1.55 * up, 0.0)
    figure.right.curl = 2.0
    figure.left.wrist = take.hold(0.235, -0.32, 0.0)
    figure.left.curl = 8.0
    figure.head += columns(-4.0, 0.0, 0.0)
    figure.bend += columns(-3.0, 0.0, 0.0)
    click = take.keys((0, 1.0), (0.2, 0.0))
    for sign, leg in ((1.0, figure.left_leg), (-1.0, figure.right_leg)):
        leg.yaw = take.hold(sign * 16.0)
        leg.ankle[:, 0] += sign * 0.05 * take.amplitude * click * (sign > 0)
        leg.ankle[:, 1] += (0.03 * np.sin(np.pi * click)) * (sign > 0)
    return figure


def phone(take: Take) -> Pose:
    """A receiver put to the ear and listened to, while the free hand talks along."""
    figure = stand(take)
    up = take.keys((0, 0.0), (0.15, 0.0), (0.75, 1.0), (2.9, 1.0))
    low = take.hold(-0.22, -0.10, 0.28)
    figure.right.wrist = low * (1 - up[:, None]) + take.hold(-0.165, 0.35, 0.10) * up[:, None]
    figure.right.elbow = columns(-1.0, -0.9, 0.1 + 0.3 * up)
    figure.right.palm = columns(1.0, 0.4 * (1 - up), 0.15)
    figure.right.fingers = columns(0.12, 0.3 + 0.7 * up, 1.0 - 1.25 * up)
    figure.right.curl = 58.0
    talk = take.keys((0.8, 0.0), (1.15, 1.0), (2.9, 1.0)) * take.amplitude
    beat = take.wave(1.25)
    rest = take.hold(0.27, -0.28, 0.06)
    wave = columns(0.30 + 0.09 * beat, -0.02 + 0.08 * beat, 0.30 - 0.03 * beat)
    figure.left.wrist = rest * (1 - talk[:, None]) + wave * talk[:, None]
    figure.left.elbow = take.hold(0.7, -0.7, -0.6)
    figure.left.palm = columns(-0.6, 0.9 * talk, -0.2)
    figure.left.curl = 26.0
    nod = take.keys((1.2, 0), (1.4, 1), (1.6, 0), (1.8, 1), (2.0, 0))
    figure.head += columns(4 + 12 * nod, -12 * up, 6 * up)
    figure.bend += columns(2.0, -3 * up, 7 * take.wave(0.4))
    figure.hips[:, 0] += 0.03 * take.wave(0.4)
    return figure


def photograph(take: Take) -> Pose:
    """A camera raised to the eye in both hands, the knees bent to aim, the shutter pressed, and lowered."""
    figure = stand(take, apart=0.34)
    up = take.keys((0, 0.0), (0.2, 0.0), (0.7, 1.0), (2.2, 1.0), (2.7, 0.15))
    aim = take.keys((0.7, 0.0), (1.1, 1.0), (1.9, 1.0), (2.2, 0.0)) * take.amplitude
    press = take.keys((1.15, 0), (1.25, 1), (1.35, 0), (1.6, 0), (1.7, 1), (1.8, 0))
    for sign, arm in ((1.0, figure.left), (-1.0, figure.right)):
        low = take.hold(sign * 0.13, 0.0, 0.30)
        high = take.hold(sign * 0.125, 0.37, 0.22)
        arm.wrist = low * (1 - up[:, None]) + high * up[:, None]
        arm.elbow = take.hold(sign * 0.75, -1.0, 0.15)
        arm.palm = columns(-sign * 1.0, 0.0, 0.25)
        arm.fingers = columns(-sign * 0.35, 0.55, 0.75)
        arm.curl = 62.0
    figure.right.curl = 50.0 + 32.0 * press
    figure.hips += columns(0.0, -0.10 * aim, -0.05 * aim)
    figure.bend += columns(6 + 10 * aim, 0.0, 5 * take.wave(0.35) * aim)
    figure.head += columns(14 - 12 * up, 5 * up, 0.0)
    figure.left_leg.ankle[:, 2] += 0.16
    figure.right_leg.ankle[:, 2] -= 0.08
    return figure


def haul(take: Take) -> Pose:
    """Leaning back against a rope: hand over hand, each reaching ahead and pulling to the hip."""
    figure = stand(take, apart=0.3, crouch=0.12)
    rate = 0.72
    figure.right.frame = figure.left.frame = "stage"
    sway = take.wave(2 * rate, 0.1)
    for sign, arm, start in ((1.0, figure.left, 0.0), (-1.0, figure.right, 0.5)):
        phase = (rate * take.t + start) % 1.0
        # Pulled slowly for most of the turn, let go and thrown ahead in the rest.
        back = np.where(
            phase < 0.64,
            0.5 - 0.5 * np.cos(np.pi * phase / 0.64),
            0.5 + 0.5 * np.cos(np.pi * (phase - 0.64) / 0.36),
        )
        free = np.where(phase < 0.64, 0.0, np.sin(np.pi * (phase - 0.64) / 0.36))
        arm.wrist = columns(
            sign * (0.03 + 0.09 * free),
            1.14 - 0.10 * back + 0.12 * free,
            0.36 - 0.46 * take.amplitude * back,
        )
        arm.elbow = columns(sign * 0.9, -0.5, -0.6)
        arm.palm = columns(-sign * 0.8, -0.5, 0.0)
        arm.fingers = columns(-sign * 0.2, 0.1, 1.0)
        arm.curl = 84.0 - 50.0 * free
    turn = take.wave(rate, 0.1)
    figure.hips += columns(0.0, 0.012 * sway, -0.30)
    figure.turn = columns(8 * turn, -20.0, 0.0)
    figure.bend += columns(2 + 5 * sway, 0.0, 16 * turn)
    figure.head += columns(16.0, 0.0, -16 * turn)
    figure.left_leg.ankle += columns(0.0, 0.0, 0.38)
    figure.right_leg.ankle += columns(0.0, 0.0, 0.02)
    figure.left_leg.pitch = take.hold(-12.0)
    return figure
