"""Instruments, played in the air. Written for a right-handed player who faces +Z; left is +X."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.choreography.seat import sit
from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.take import Take, columns


def violin(take: Take) -> Pose:
    """The left hand holds the neck beside the chin, the right draws a bow across it."""
    figure = stand(take, apart=0.26)
    # Long strokes and short ones: the bow's place runs from 0 at the frog to 1 at the tip.
    stroke = take.keys(
        (0.0, 0.1), (0.55, 1.0), (1.1, 0.05), (1.35, 0.55), (1.6, 0.1), (1.85, 0.6), (2.1, 0.12), (2.7, 1.0)
    )
    bridge, bow = np.array([0.15, 0.27, 0.20]), np.array([-0.74, -0.34, 0.58])
    figure.right.wrist = bridge + bow * (0.06 + 0.46 * take.amplitude * stroke)[:, None]
    figure.right.elbow = columns(-1.0, 0.35 - 0.5 * stroke, -0.25)
    figure.right.palm = take.hold(0.3, -1.0, -0.1)
    figure.right.fingers = columns(0.5, -0.55 + 0.5 * stroke, 0.5)
    figure.right.curl = 55.0
    shake = 0.008 * take.wave(5.0)
    figure.left.wrist = columns(
        0.43 + shake * 0.6, 0.20 + take.keys((0, 0.0), (1.3, 0.02), (2.6, 0.0)), 0.34 + shake
    )
    figure.left.elbow = take.hold(0.2, -1.0, 0.1)
    figure.left.palm = take.hold(-0.75, 0.1, -0.6)
    figure.left.fingers = take.hold(-0.2, 0.9, 0.1)
    figure.left.curl = 62.0 + 18.0 * take.wave(3.1, 0.2)
    sway = take.wave(0.45)
    figure.head += columns(14.0 + 3 * sway, 20.0, 30.0)
    figure.bend += columns(4 + 3 * sway, 4 * sway, 8 * stroke - 4)
    figure.hips[:, 0] += 0.02 * sway
    return figure


def guitar(take: Take) -> Pose:
    """The left hand slides along a neck held out to the left, the right strums before the belly."""
    figure = stand(take, apart=0.34, crouch=0.02)
    strum = take.wave(2.4)
    figure.right.wrist = columns(-0.04 + 0.03 * strum, -0.13 + 0.11 * take.amplitude * strum, 0.23)
    figure.right.elbow = take.hold(-1.0, 0.25, -0.45)
    figure.right.palm = take.hold(0.2, -0.1, -1.0)
    figure.right.fingers = columns(0.75, -0.45 + 0.5 * strum, 0.1)
    figure.right.curl = 40.0
    fret = take.keys(
        (0, 0.0), (0.55, 0.0), (0.75, 1.0), (1.4, 1.0), (1.6, 0.35), (2.1, 0.35), (2.3, 0.9), (2.8, 0.9)
    )
    figure.left.wrist = columns(0.52 - 0.17 * fret, 0.13 - 0.06 * fret, 0.22 + 0.04 * fret)
    figure.left.elbow = take.hold(0.25, -1.0, 0.0)
    figure.left.palm = take.hold(-0.2, 0.55, -0.8)
    figure.left.fingers = take.hold(-0.45, 0.75, -0.2)
    figure.left.curl = 58.0 + 20.0 * take.wave(2.4, 0.3)
    beat = take.wave(1.2)
    figure.hips[:, 1] -= 0.012 * (1 + take.wave(2.4, 0.25))
    figure.hips[:, 0] += 0.025 * beat
    figure.head += columns(15 + 7 * take.wave(1.2, 0.25), 4 * beat, 26 - 10 * fret)
    figure.bend += columns(4.0, 3 * beat, 4.0)
    return figure


def piano(take: Take) -> Pose:
    """Seated, hands over keys: chords low on the left, runs to the right and back."""
    figure = sit(take, height=0.5)
    for arm in (figure.left, figure.right):
        arm.frame = "stage"
        arm.palm = take.hold(0.0, -1.0, 0.0)
        arm.fingers = take.hold(0.0, -0.22, 1.0)
    run = take.keys(
        (0, 0.16), (0.5, 0.5), (0.8, 0.52), (1.25, 0.12), (1.6, 0.3), (2.0, 0.58), (2.4, 0.2), (2.8, 0.4)
    )
    chord = take.keys(
        (0, 0.3), (0.45, 0.3), (0.7, 0.12), (1.2, 0.12), (1.5, 0.42), (2.0, 0.42), (2.3, 0.15), (2.8, 0.15)
    )
    patter = np.abs(take.wave(2.2))
    lift = np.maximum(take.wave(1.7, 0.4), 0.0)
    size = take.amplitude
    figure.right.wrist = columns(-run, 0.79 + 0.045 * size * patter, 0.2)
    figure.left.wrist = columns(chord, 0.79 + 0.12 * size * lift, 0.2)
    figure.right.elbow = take.hold(-1.0, -0.7, -0.4)
    figure.left.elbow = take.hold(1.0, -0.7, -0.4)
    figure.right.curl = 38.0 + 22.0 * take.wave(4.4)
    figure.left.curl = 40.0 + 18.0 * take.wave(1.7, 0.1)
    aim = (chord - run) / 2
    figure.bend += columns(13 + 5 * take.wave(0.85), 28 * aim, 10 * aim)
    figure.head += columns(20 + 8 * take.wave(1.7, 0.15), 0.0, 45 * aim)
    figure.right_leg.ankle += columns(0.0, 0.0, 0.08)
    figure.right_leg.pitch = 6.0 - 10 * np.maximum(take.wave(0.8), 0)
    return figure


def drums(take: Take) -> Pose:
    """Seated, two sticks: quick alternate strokes in front, now and then a cymbal up at the side."""
    figure = sit(take, height=0.52)
    crash = take.keys(
        (0.0, 0.0), (0.75, 0.0), (0.95, 1.0), (1.15, 0.0), (1.95, 0.0), (2.15, 1.0), (2.35, 0.0), (2.8, 0.0)
    )
    for side, sign, arm in (("left", 1.0, figure.left), ("right", -1.0, figure.right)):
        arm.frame = "stage"
        hit = take.wave(2.1, 0.0 if side == "left" else 0.5)
        up = 0.5 + 0.5 * hit
        away = crash if side == "right" else 0.0 * crash
        arm.wrist = columns(
            sign * (0.17 + 0.30 * away),
            0.80 + 0.17 * take.amplitude * up * (1 - away) + 0.50 * away,
            0.20 + 0.05 * up,
        )
        arm.elbow = take.hold(sign * 1.0, -0.5, -0.6)
        arm.palm = take.hold(-sign * 0.5, -1.0, 0.0)
        arm.fingers = columns(-sign * 0.25, -0.35 + 0.9 * up, 1.0)
        arm.curl = 75.0
    figure.bend += columns(8 + 3 * take.wave(1.05), -6 * crash, -12 * crash)
    figure.head += columns(
        10 + 9 * take.wave(2.1, 0.1) * (1 - crash) - 10 * crash, 5 * take.wave(1.05), -25 * crash
    )
    figure.right_leg.pitch = -14 + 14 * take.wave(2.1)
    figure.left_leg.pitch = -8 + 8 * take.wave(1.05)
    return figure
