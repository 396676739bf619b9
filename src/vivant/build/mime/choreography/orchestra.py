"""Wind, low strings and the baton. Written for a right-hander who faces +Z; left is +X."""

from __future__ import annotations

import numpy as np

from vivant.build.mime.choreography.seat import sit
from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.take import Take, columns


def flute(take: Take) -> Pose:
    """A tube held out to the right of the mouth, both hands on it, fingers working, body swaying."""
    figure = stand(take, apart=0.26)
    sway = take.wave(0.42)
    lift = take.keys((0, 0.0), (0.5, 0.03), (1.1, 0.0), (1.7, 0.05), (2.3, 0.0), (2.8, 0.03)) * take.amplitude
    figure.left.wrist = columns(-0.13, 0.30 + 0.5 * lift, 0.26)
    figure.left.elbow = take.hold(0.7, -1.0, 0.3)
    figure.left.palm = take.hold(-0.3, 0.2, -1.0)
    figure.left.fingers = take.hold(-0.75, 0.8, -0.1)
    figure.left.curl = 48.0 + 22.0 * take.wave(3.1)
    figure.right.wrist = columns(-0.37, 0.30 + lift, 0.20)
    figure.right.elbow = take.hold(-0.8, -1.0, -0.3)
    figure.right.palm = take.hold(0.1, -0.3, 1.0)
    figure.right.fingers = take.hold(0.25, 0.9, 0.35)
    figure.right.curl = 50.0 + 22.0 * take.wave(2.6, 0.3)
    figure.head += columns(8 + 3 * sway, -16.0, 22.0)
    figure.bend += columns(3 + 4 * sway, 5 * sway, -10.0)
    figure.hips[:, 0] += 0.03 * sway
    return figure


def cello(take: Take) -> Pose:
    """Seated with the knees wide: one hand up at a neck beside the head, the other draws a bow across."""
    figure = sit(take, height=0.5, apart=0.62)
    stroke = take.keys((0, 0.0), (0.7, 1.0), (1.35, 0.05), (1.7, 0.6), (2.0, 0.1), (2.7, 1.0))
    figure.right.wrist = columns(
        -0.05 - 0.40 * take.amplitude * stroke, -0.13 + 0.02 * stroke, 0.40 - 0.14 * stroke
    )
    figure.right.elbow = columns(-1.0, 0.1 - 0.3 * stroke, -0.1)
    figure.right.palm = take.hold(0.1, -0.9, -0.5)
    figure.right.fingers = columns(0.7, -0.6 + 0.5 * stroke, 0.5)
    figure.right.curl = 52.0
    shift = take.keys((0, 0.0), (0.6, 0.0), (0.9, 1.0), (1.6, 1.0), (1.9, 0.3), (2.8, 0.3))
    shake = 0.008 * take.wave(5.2)
    figure.left.wrist = columns(0.26 - 0.08 * shift, 0.33 - 0.17 * shift + shake, 0.13 + 0.12 * shift)
    figure.left.elbow = take.hold(1.0, -0.3, 0.2)
    figure.left.palm = take.hold(-0.5, -0.1, -0.9)
    figure.left.fingers = take.hold(-0.9, 0.4, 0.2)
    figure.left.curl = 55.0 + 18.0 * take.wave(2.7)
    for sign, leg in ((1.0, figure.left_leg), (-1.0, figure.right_leg)):
        leg.yaw = take.hold(sign * 30.0)
        leg.knee = take.hold(sign * 8.0)
    sway = take.wave(0.5)
    figure.bend += columns(8 + 3 * sway, 3 * sway, 8 - 10 * stroke)
    figure.head += columns(12 + 4 * sway, -10.0, 10 - 6 * stroke)
    return figure


def conduct(take: Take) -> Pose:
    """A baton beats four: down, in, out, up, the free hand mirroring and then swelling upward."""
    figure = stand(take, apart=0.28)
    rate = 0.75
    beat = take.cycle(
        rate,
        0.0,
        (0.0, (0.0, 0.30)),
        (0.2, (0.02, -0.14)),
        (0.28, (0.03, 0.0)),
        (0.45, (-0.17, -0.09)),
        (0.53, (-0.12, 0.04)),
        (0.70, (0.26, -0.06)),
        (0.78, (0.22, 0.08)),
        (1.0, (0.0, 0.30)),
    )
    beat = beat * take.amplitude
    figure.right.wrist = columns(-0.26 - beat[:, 0], 0.17 + beat[:, 1], 0.34)
    swell = take.keys((0, 0.0), (1.35, 0.0), (1.75, 1.0), (2.3, 1.0), (2.7, 0.2))
    left = columns(0.26 + beat[:, 0], 0.17 + beat[:, 1], 0.34)
    figure.left.wrist = (
        left * (1 - swell[:, None])
        + columns(0.34, 0.18 + 0.32 * swell + 0.02 * take.wave(4), 0.36) * swell[:, None]
    )
    figure.right.elbow, figure.left.elbow = take.hold(-1.0, -0.7, -0.2), take.hold(1.0, -0.7, -0.2)
    figure.right.palm = take.hold(0.2, -1.0, 0.2)
    figure.right.fingers = columns(0.35, 0.25 + beat[:, 1], 1.0)
    figure.right.curl = 66.0
    figure.left.palm = columns(-np.sin(np.pi * swell), -np.cos(np.pi * swell), 0.0)
    figure.left.fingers = columns(-0.2, 0.3, 1.0)
    figure.left.curl = 22.0
    nod = np.maximum(-beat[:, 1], 0.0)
    figure.head += columns(2 + 40 * nod - 10 * swell, 0.0, 10 * take.wave(0.4))
    figure.bend += columns(4 + 26 * nod, 0.0, 10 * take.wave(0.4))
    figure.hips[:, 1] -= 0.06 * nod
    return figure
