"""The builds and dresses of the bundled avatars, capsule by capsule, in the reference skeleton's metres."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vivant.build.mime import extra_characters as wardrobe
from vivant.build.mime.characters import Avatar, Capsule, Colour
from vivant.build.mime.clothing import HEAD, SIDES, Dress, Tailor
from vivant.build.mime.skeleton import make_skeleton
from vivant.core.errors import unknown_name_error

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
    **wardrobe.DRESSES,
}
"""What each body wears, part by part."""


def man(stature: float, dress: Dress) -> Avatar:
    """Short hair, a shirt and trousers."""
    shirt, trousers, skin = dress["shirt"], dress["trousers"], dress["skin"]
    body = Tailor(stature)
    body.limbs(1.0, shirt, skin, trousers, dress["shoes"])
    body.face(skin)
    body.pair(("Chest", 0.078, 0.125, 0), ("Chest", 0.066, -0.03, 0.005), 0.108, 0.096, shirt)
    body.pair(("Chest", 0.066, -0.03, 0.005), ("Hips", 0.062, 0.07, 0), 0.096, 0.092, shirt)
    body.add(("Chest", 0, 0.12, 0.003), ("Hips", 0, 0.06, 0.003), 0.117, 0.104, shirt)
    body.add(("Hips", -0.072, 0, 0), ("Hips", 0.072, 0, 0), 0.1, 0.1, trousers)
    crown, nape = ("Head", 0.0, 0.138, -0.022), ("Head", 0.0, 0.1, -0.035)
    body.add(crown, nape, 0.1, 0.09, dress["hair"], shadow=False, scale=HEAD)
    return body.finished("man", make_skeleton(stature))


def woman(stature: float, dress: Dress) -> Avatar:
    """Smaller and slighter, with long hair."""
    size = 0.94 * stature
    top, trousers, skin, hair = dress["shirt"], dress["trousers"], dress["skin"], dress["hair"]
    body = Tailor(size)
    body.limbs(0.86, top, skin, trousers, dress["shoes"])
    body.face(skin)
    body.pair(("Chest", 0.062, 0.125, 0), ("Chest", 0.05, -0.02, 0), 0.094, 0.078, top)
    body.pair(("Chest", 0.055, 0.09, 0.05), ("Chest", 0.055, 0.06, 0.06), 0.06, 0.058, top, shadow=False)
    body.pair(("Chest", 0.05, -0.02, 0), ("Hips", 0.072, 0.02, 0), 0.078, 0.098, top)
    body.add(("Chest", 0, 0.12, 0.002), ("Chest", 0, -0.02, 0.002), 0.1, 0.086, top)
    body.add(("Chest", 0, -0.02, 0.002), ("Hips", 0, 0.02, 0), 0.086, 0.108, top)
    body.add(("Hips", -0.08, -0.03, 0), ("Hips", 0.08, -0.03, 0), 0.1, 0.1, trousers)
    nape = ("Head", 0.0, 0.09, -0.05)
    body.add(("Head", 0, 0.138, -0.018), nape, 0.104, 0.098, hair, scale=HEAD)
    body.add(nape, ("Head", 0, -0.15, -0.085), 0.098, 0.062, hair, shadow=False, scale=HEAD)
    temple, lock = ("Head", 0.07, 0.12, -0.01), ("Head", 0.085, -0.09, -0.03)
    body.pair(temple, lock, 0.05, 0.035, hair, shadow=False, scale=HEAD)
    return body.finished("woman", make_skeleton(size, shoulders=0.88, hips=1.06, arms=0.97))


def spacesuit(stature: float, dress: Dress) -> Avatar:
    """Bulky, with joints, gloves and boots of another colour, a helmet with a dark visor, and a back-pack."""
    white, grey = dress["suit"], dress["joints"]
    body = Tailor(stature)
    # Gloves are thick, but a hand as thick as the arm would hide what it does.
    body.limbs(1.5, white, white, white, grey, hands=0.84)
    body.capsules = [_gloved(part, grey) for part in body.capsules]
    for side, x in SIDES:
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


AVATARS: dict[str, Callable[[float, Dress], Avatar]] = {
    "man": man,
    "woman": woman,
    "spacesuit": spacesuit,
    **wardrobe.BODIES,
}
"""Every bundled body; the first three are MIME's."""


def make_avatar(
    name: str, stature: float = 1.0, *, build: float = 1.0, clothes: Mapping[str, Colour] | None = None
) -> Avatar:
    """A bundled body by name: `stature` × its usual height, `build` × its girth, in clothes of other colours."""
    if name not in AVATARS:
        raise unknown_name_error("avatar", name, AVATARS)
    for part in clothes or {}:
        if part not in DRESSES[name]:
            raise unknown_name_error(f"clothes of '{name}'", part, DRESSES[name])
    avatar = AVATARS[name](stature, {**DRESSES[name], **(clothes or {})})
    if build == 1.0:
        return avatar
    return Avatar(name, avatar.skeleton, tuple(_stouter(part, build) for part in avatar.capsules))


def _stouter(part: Capsule, build: float) -> Capsule:
    if part.a[0] == "Head":
        return part
    return Capsule(part.a, part.b, part.r1 * build, part.r2 * build, part.colour, part.shadow)
