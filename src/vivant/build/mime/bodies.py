"""The builds and dresses of the bundled avatars, capsule by capsule, in the reference skeleton's metres."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vivant.build.mime.avatars import Avatar, Capsule, Colour, Point
from vivant.build.mime.skeleton import Skeleton, make_skeleton
from vivant.errors import unknown

_HEAD = 1.08
"""Heads are a little larger than life: they read better in a small picture."""
_SIDES = (("Left", 1.0), ("Right", -1.0))


class _Tailor:
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
        for side, x in _SIDES:
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

    def face(self, skin: Colour) -> None:
        """Head and neck with eyes and nose, so that one sees where the figure looks."""
        nose: Colour = (skin[0] - 16, skin[1] - 22, skin[2] - 22)
        self.add(("Neck", 0, -0.02, 0), ("Head", 0, 0.02, 0), 0.056, 0.054, skin, shadow=False)
        self.add(("Head", 0, 0.115, 0), ("Head", 0, 0.05, 0.025), 0.096, 0.072, skin, scale=_HEAD)
        self.add(
            ("Head", 0, 0.085, 0.09), ("Head", 0, 0.06, 0.104), 0.013, 0.018, nose, shadow=False, scale=_HEAD
        )
        eye, lid = ("Head", 0.036, 0.1, 0.088), ("Head", 0.036, 0.108, 0.088)
        self.pair(eye, lid, 0.013, 0.013, (38, 30, 30), shadow=False, scale=_HEAD)

    def finished(self, name: str, skeleton: Skeleton) -> Avatar:
        """The avatar."""
        return Avatar(name, skeleton, tuple(self.capsules))


Dress = Mapping[str, Colour]
DRESSES: dict[str, Dress] = {
    "man": {
        "shirt": (234, 176, 48),
        "trousers": (44, 56, 92),
        "skin": (226, 172, 138),
        "shoes": (52, 46, 44),
        "hair": (70, 46, 32),
    },
    "woman": {
        "shirt": (46, 138, 122),
        "trousers": (66, 52, 78),
        "skin": (236, 190, 160),
        "shoes": (214, 206, 196),
        "hair": (188, 120, 44),
    },
    "spacesuit": {
        "suit": (236, 238, 240),
        "joints": (120, 130, 146),
        "band": (206, 74, 44),
        "visor": (74, 58, 24),
    },
}
"""What each body wears, part by part."""


def man(stature: float, dress: Dress) -> Avatar:
    """Short hair, a shirt and trousers."""
    shirt, trousers, skin = dress["shirt"], dress["trousers"], dress["skin"]
    body = _Tailor(stature)
    body.limbs(1.0, shirt, skin, trousers, dress["shoes"])
    body.face(skin)
    body.pair(("Chest", 0.078, 0.125, 0), ("Chest", 0.066, -0.03, 0.005), 0.108, 0.096, shirt)
    body.pair(("Chest", 0.066, -0.03, 0.005), ("Hips", 0.062, 0.07, 0), 0.096, 0.092, shirt)
    body.add(("Chest", 0, 0.12, 0.003), ("Hips", 0, 0.06, 0.003), 0.117, 0.104, shirt)
    body.add(("Hips", -0.072, 0, 0), ("Hips", 0.072, 0, 0), 0.1, 0.1, trousers)
    crown, nape = ("Head", 0.0, 0.138, -0.022), ("Head", 0.0, 0.1, -0.035)
    body.add(crown, nape, 0.1, 0.09, dress["hair"], shadow=False, scale=_HEAD)
    return body.finished("man", make_skeleton(stature))


def woman(stature: float, dress: Dress) -> Avatar:
    """Smaller and slighter, with long hair."""
    size = 0.94 * stature
    top, trousers, skin, hair = dress["shirt"], dress["trousers"], dress["skin"], dress["hair"]
    body = _Tailor(size)
    body.limbs(0.86, top, skin, trousers, dress["shoes"])
    body.face(skin)
    body.pair(("Chest", 0.062, 0.125, 0), ("Chest", 0.05, -0.02, 0), 0.094, 0.078, top)
    body.pair(("Chest", 0.055, 0.09, 0.05), ("Chest", 0.055, 0.06, 0.06), 0.06, 0.058, top, shadow=False)
    body.pair(("Chest", 0.05, -0.02, 0), ("Hips", 0.072, 0.02, 0), 0.078, 0.098, top)
    body.add(("Chest", 0, 0.12, 0.002), ("Chest", 0, -0.02, 0.002), 0.1, 0.086, top)
    body.add(("Chest", 0, -0.02, 0.002), ("Hips", 0, 0.02, 0), 0.086, 0.108, top)
    body.add(("Hips", -0.08, -0.03, 0), ("Hips", 0.08, -0.03, 0), 0.1, 0.1, trousers)
    nape = ("Head", 0.0, 0.09, -0.05)
    body.add(("Head", 0, 0.138, -0.018), nape, 0.104, 0.098, hair, scale=_HEAD)
    body.add(nape, ("Head", 0, -0.15, -0.085), 0.098, 0.062, hair, shadow=False, scale=_HEAD)
    temple, lock = ("Head", 0.07, 0.12, -0.01), ("Head", 0.085, -0.09, -0.03)
    body.pair(temple, lock, 0.05, 0.035, hair, shadow=False, scale=_HEAD)
    return body.finished("woman", make_skeleton(size, shoulders=0.88, hips=1.06, arms=0.97))


def spacesuit(stature: float, dress: Dress) -> Avatar:
    """Bulky, with joints, gloves and boots of another colour, a helmet with a dark visor, and a back-pack."""
    white, grey = dress["suit"], dress["joints"]
    body = _Tailor(stature)
    # Gloves are thick, but a hand as thick as the arm would hide what it does.
    body.limbs(1.5, white, white, white, grey, hands=0.84)
    body.capsules = [_gloved(part, grey) for part in body.capsules]
    for side, x in _SIDES:
        for joint, radius in ((side + "ForeArm", 0.076), (side + "Leg", 0.098)):
            body.add((joint, 0, 0, 0), (joint, 0, 0, 0), radius, radius, grey, shadow=False)
        band, end = (side + "Arm", x * 0.14, 0.0, 0.0), (side + "Arm", x * 0.16, 0.0, 0.0)
        body.add(band, end, 0.085, 0.085, dress["band"], shadow=False)
    body.pair(("Chest", 0.085, 0.12, 0), ("Chest", 0.08, -0.03, 0), 0.15, 0.145, white)
    body.pair(("Chest", 0.08, -0.03, 0), ("Hips", 0.08, 0.02, 0), 0.145, 0.14, white)
    body.add(("Chest", 0, 0.12, 0.002), ("Hips", 0, 0.04, 0.002), 0.16, 0.152, white)
    body.add(("Hips", -0.09, 0, 0), ("Hips", 0.09, 0, 0), 0.14, 0.14, grey)
    panel = ("Chest", -0.06, 0.02, 0.125), ("Chest", 0.06, 0.02, 0.125)
    body.add(*panel, 0.045, 0.045, (70, 84, 104), shadow=False)
    body.pair(("Chest", 0.1, 0.2, -0.2), ("Chest", 0.1, -0.14, -0.2), 0.1, 0.1, (188, 194, 204))
    body.add(("Neck", 0, 0.02, 0), ("Head", 0, 0, 0), 0.12, 0.12, grey, shadow=False)
    body.add(("Head", 0, 0.1, 0), ("Head", 0, 0.1, 0), 0.175, 0.175, white)
    visor = ("Head", -0.03, 0.1, 0.062), ("Head", 0.03, 0.1, 0.062)
    body.add(*visor, 0.128, 0.128, dress["visor"], shadow=False)
    return body.finished("spacesuit", make_skeleton(stature, shoulders=1.12, hips=1.1))


def _gloved(part: Capsule, glove: Colour) -> Capsule:
    if not part.a[0].endswith(("Hand", "Fingers")):
        return part
    return Capsule(part.a, part.b, part.r1, part.r2, glove, part.shadow)


AVATARS: dict[str, Callable[[float, Dress], Avatar]] = {"man": man, "woman": woman, "spacesuit": spacesuit}


def make_avatar(
    name: str, stature: float = 1.0, *, build: float = 1.0, clothes: Mapping[str, Colour] | None = None
) -> Avatar:
    """A bundled body by name: `stature` × its usual height, `build` × its girth, in clothes of other colours."""
    if name not in AVATARS:
        raise unknown("avatar", name, AVATARS)
    for part in clothes or {}:
        if part not in DRESSES[name]:
            raise unknown(f"clothes of '{name}'", part, DRESSES[name])
    avatar = AVATARS[name](stature, {**DRESSES[name], **(clothes or {})})
    if build == 1.0:
        return avatar
    return Avatar(name, avatar.skeleton, tuple(_stouter(part, build) for part in avatar.capsules))


def _stouter(part: Capsule, build: float) -> Capsule:
    if part.a[0] == "Head":
        return part
    return Capsule(part.a, part.b, part.r1 * build, part.r2 * build, part.colour, part.shadow)
