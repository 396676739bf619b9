"""How bodies are put together: limbs, a face and a dress as capsules on a skeleton."""

from __future__ import annotations

from collections.abc import Mapping

from vivant.build.mime.characters import Avatar, Capsule, Colour, Point
from vivant.build.mime.skeleton import Skeleton

HEAD = 1.08
"""Heads are a little larger than life: they read better in a small picture."""
SIDES = (("Left", 1.0), ("Right", -1.0))
Dress = Mapping[str, Colour]
"""What a body wears, part by part."""


class Tailor:
    """Collects the capsules of one body; all measures are scaled by its size."""

    def __init__(self, size: float) -> None:
        self.size = size
        self.capsules: list[Capsule] = []

    def add(
        self,
        a: Point,
        b: Point,
        r1: float,
        r2: float,
        colour: Colour,
        *,
        shadow: bool = True,
        scale: float = 1.0,
    ) -> None:
        """One capsule; `scale` enlarges it about its joint."""
        s = self.size * scale

        def sized(point: Point) -> Point:
            return point[0], point[1] * s, point[2] * s, point[3] * s

        self.capsules.append(Capsule(sized(a), sized(b), r1 * s, r2 * s, colour, shadow))

    def pair(
        self,
        a: Point,
        b: Point,
        r1: float,
        r2: float,
        colour: Colour,
        *,
        shadow: bool = True,
        scale: float = 1.0,
    ) -> None:
        """The same on the left and, mirrored, on the right."""
        for x in (1.0, -1.0):
            start, end = ((point[0], x * point[1], point[2], point[3]) for point in (a, b))
            self.add(start, end, r1, r2, colour, shadow=shadow, scale=scale)

    def limbs(
        self, girth: float, top: Colour, skin: Colour, trousers: Colour, shoes: Colour, hands: float = 1.0
    ) -> None:
        """Arms and legs, `girth` × as thick as the man's; `hands` × that for the hands."""
        g, h = girth, girth * hands
        for side, x in SIDES:
            shoulder, arm, fore, hand, fingers = (
                side + n for n in ("Shoulder", "Arm", "ForeArm", "Hand", "Fingers")
            )
            self.add((shoulder, 0, -0.012, 0), (arm, 0, 0, 0), 0.066 * g, 0.062 * g, top)
            self.add((arm, 0, 0, 0), (fore, 0, 0, 0), 0.06 * g, 0.046 * g, top)
            self.add((fore, 0, 0, 0), (hand, 0, 0, 0), 0.043 * g, 0.031 * g, skin)
            palm, tip = (hand, x * 0.02, 0.0, 0.0), (fingers, x * 0.08, 0.0, 0.0)
            self.add(palm, (fingers, 0, 0, 0), 0.037 * h, 0.042 * h, skin, shadow=False)
            self.add((fingers, 0, 0, 0), tip, 0.038 * h, 0.029 * h, skin, shadow=False)
            root, thumb = (hand, x * 0.035, 0.0, 0.025), (hand, x * 0.095, -0.02, 0.06)
            self.add(root, thumb, 0.02 * h, 0.018 * h, skin, shadow=False)
            thigh, shin, foot, toe = (side + n for n in ("UpLeg", "Leg", "Foot", "Toe"))
            self.add((thigh, 0, 0, 0), (shin, 0, 0, 0), 0.088 * g, 0.061 * g, trousers)
            self.add((shin, 0, 0, 0), (foot, 0, 0, 0), 0.06 * g, 0.043 * g, trousers)
            self.add((foot, 0, -0.03, -0.035), (toe, 0, 0.015, 0), 0.047 * g, 0.042 * g, shoes)
            self.add((toe, 0, 0.015, 0), (toe, 0, 0, 0.07), 0.042 * g, 0.03 * g, shoes)

    def face(self, skin: Colour, head: float = HEAD) -> None:
        """Head and neck with eyes and nose, so that one sees where the figure looks; `head` enlarges them."""
        nose: Colour = (skin[0] - 16, skin[1] - 22, skin[2] - 22)
        self.add(("Neck", 0, -0.02, 0), ("Head", 0, 0.02, 0), 0.056, 0.054, skin, shadow=False)
        self.add(("Head", 0, 0.115, 0), ("Head", 0, 0.05, 0.025), 0.096, 0.072, skin, scale=head)
        self.add(
            ("Head", 0, 0.085, 0.09), ("Head", 0, 0.06, 0.104), 0.013, 0.018, nose, shadow=False, scale=head
        )
        eye, lid = ("Head", 0.036, 0.1, 0.088), ("Head", 0.036, 0.108, 0.088)
        self.pair(eye, lid, 0.013, 0.013, (38, 30, 30), shadow=False, scale=head)

    def finished(self, name: str, skeleton: Skeleton) -> Avatar:
        """The avatar."""
        return Avatar(name, skeleton, tuple(self.capsules))
