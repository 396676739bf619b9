"""The seated pose that several actions share."""

from __future__ import annotations

from vivant.build.mime.pose import Pose, stand
from vivant.build.mime.skeleton import ANKLE_HEIGHT
from vivant.build.mime.take import Take


def sit(take: Take, height: float = 0.48, *, apart: float = 0.3) -> Pose:
    """On a seat that is not there: hips `height` above the floor, shins upright, feet flat."""
    figure = stand(take)
    figure.hips = take.hold(0.0, height, -0.25) + take.drift(0.004)
    for sign, leg in ((1.0, figure.left_leg), (-1.0, figure.right_leg)):
        leg.ankle = take.hold(sign * apart / 2, ANKLE_HEIGHT, 0.17)
        leg.yaw = take.hold(sign * 10.0)
    return figure
