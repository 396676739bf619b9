"""Bodies beyond MIME's three: other ages, builds and clothes, to see whether they change what a model sees."""

from __future__ import annotations

from collections.abc import Callable

from vivant.build.mime.characters import Avatar
from vivant.build.mime.clothing import HEAD, SIDES, Dress, Tailor
from vivant.build.mime.skeleton import make_skeleton

DRESSES: dict[str, Dress] = {
    "child": {
        "shirt": (226, 78, 66),
        "trousers": (70, 116, 170),
        "skin": (232, 184, 150),
        "shoes": (244, 240, 232),
        "hair": (214, 166, 84),
    },
    "elder": {
        "shirt": (120, 84, 96),
        "collar": (236, 232, 222),
        "trousers": (92, 86, 78),
        "skin": (214, 168, 142),
        "shoes": (66, 50, 42),
        "hair": (226, 226, 224),
    },
    "worker": {
        "shirt": (206, 72, 52),
        "overalls": (52, 86, 148),
        "skin": (142, 96, 70),
        "shoes": (112, 78, 48),
        "helmet": (250, 204, 50),
    },
    "dancer": {
        "shirt": (122, 66, 142),
        "skirt": (168, 88, 178),
        "skin": (112, 74, 56),
        "shoes": (230, 196, 200),
        "hair": (34, 26, 26),
    },
    "heavyweight": {
        "shirt": (86, 142, 84),
        "trousers": (56, 58, 66),
        "skin": (224, 172, 142),
        "shoes": (48, 44, 44),
        "hair": (60, 42, 34),
    },
}


def child(stature: float, dress: Dress) -> Avatar:
    """Three quarters of a grown-up's height, with a larger head and short hair."""
    size, head = 0.74 * stature, 1.34
    shirt, skin = dress["shirt"], dress["skin"]
    body = Tailor(size)
    body.limbs(0.92, shirt, skin, dress["trousers"], dress["shoes"], hands=1.06)
    body.face(skin, head)
    body.pair(("Chest", 0.058, 0.12, 0), ("Hips", 0.058, 0.06, 0), 0.096, 0.096, shirt)
    body.add(("Chest", 0, 0.11, 0.004), ("Hips", 0, 0.05, 0.01), 0.104, 0.108, shirt)
    body.add(("Hips", -0.062, 0, 0), ("Hips", 0.062, 0, 0), 0.098, 0.098, dress["trousers"])
    body.add(("Head", 0, 0.136, -0.02), ("Head", 0, 0.09, -0.036), 0.101, 0.092, dress["hair"], scale=head)
    fringe = ("Head", -0.04, 0.178, 0.05), ("Head", 0.045, 0.176, 0.05)
    body.add(*fringe, 0.034, 0.03, dress["hair"], shadow=False, scale=head)
    return body.finished("child", make_skeleton(size, shoulders=0.86, hips=0.94, arms=0.95, head=1.2))


def elder(stature: float, dress: Dress) -> Avatar:
    """Grey hair and beard, a cardigan over a light collar, a slighter build."""
    size = 0.97 * stature
    top, skin, hair = dress["shirt"], dress["skin"], dress["hair"]
    body = Tailor(size)
    body.limbs(0.93, top, skin, dress["trousers"], dress["shoes"])
    body.face(skin)
    body.pair(("Chest", 0.072, 0.12, 0), ("Hips", 0.066, 0.02, 0), 0.1, 0.1, top)
    body.add(("Chest", 0, 0.11, 0.004), ("Hips", 0, 0.04, 0.012), 0.108, 0.116, top)
    body.add(("Chest", 0, 0.13, 0.05), ("Chest", 0, 0.0, 0.075), 0.064, 0.05, dress["collar"], shadow=False)
    body.add(("Hips", -0.07, -0.02, 0), ("Hips", 0.07, -0.02, 0), 0.1, 0.1, dress["trousers"])
    body.add(
        ("Head", 0, 0.12, -0.036), ("Head", 0, 0.07, -0.04), 0.096, 0.088, hair, shadow=False, scale=HEAD
    )
    beard = ("Head", 0, 0.032, 0.062), ("Head", 0, -0.03, 0.07)
    body.add(*beard, 0.056, 0.036, hair, shadow=False, scale=HEAD)
    return body.finished("elder", make_skeleton(size, shoulders=0.95))


def worker(stature: float, dress: Dress) -> Avatar:
    """Overalls with braces over a shirt, boots, and a hard hat."""
    shirt, overalls, skin = dress["shirt"], dress["overalls"], dress["skin"]
    body = Tailor(stature)
    body.limbs(1.06, shirt, skin, overalls, dress["shoes"], hands=1.06)
    body.face(skin)
    body.pair(("Chest", 0.082, 0.125, 0), ("Chest", 0.07, -0.03, 0.005), 0.11, 0.1, shirt)
    body.pair(("Chest", 0.07, -0.05, 0.008), ("Hips", 0.066, 0.02, 0), 0.102, 0.104, overalls)
    body.add(("Chest", 0, 0.12, 0.0), ("Chest", 0, -0.03, 0.003), 0.116, 0.112, shirt)
    body.add(("Chest", 0, 0.04, 0.016), ("Hips", 0, 0.03, 0.008), 0.106, 0.112, overalls)
    body.pair(("Chest", 0.07, 0.2, 0.05), ("Chest", 0.06, 0.04, 0.104), 0.026, 0.026, overalls, shadow=False)
    body.add(("Hips", -0.074, -0.01, 0), ("Hips", 0.074, -0.01, 0), 0.106, 0.106, overalls)
    hat = dress["helmet"]
    body.add(("Head", 0, 0.15, -0.006), ("Head", 0, 0.142, -0.006), 0.112, 0.112, hat, scale=HEAD)
    brim = ("Head", -0.055, 0.142, 0.1), ("Head", 0.055, 0.142, 0.1)
    body.add(*brim, 0.02, 0.02, hat, shadow=False, scale=HEAD)
    return body.finished("worker", make_skeleton(stature, shoulders=1.05))


def dancer(stature: float, dress: Dress) -> Avatar:
    """A top and a wide skirt to the knees, the hair in a knot."""
    size = 0.95 * stature
    top, skirt, skin, hair = dress["shirt"], dress["skirt"], dress["skin"], dress["hair"]
    body = Tailor(size)
    body.limbs(0.82, top, skin, skin, dress["shoes"])
    body.face(skin)
    body.pair(("Chest", 0.06, 0.125, 0), ("Chest", 0.046, -0.02, 0), 0.09, 0.074, top)
    body.pair(("Chest", 0.052, 0.09, 0.05), ("Chest", 0.052, 0.06, 0.058), 0.056, 0.054, top, shadow=False)
    body.add(("Chest", 0, 0.12, 0.002), ("Hips", 0, 0.06, 0), 0.096, 0.09, top)
    body.add(("Hips", -0.06, 0.02, 0), ("Hips", 0.06, 0.02, 0), 0.104, 0.104, skirt)
    for side, x in SIDES:
        # Each half hangs on its own thigh, so that the skirt follows the legs.
        body.add(("Hips", x * 0.05, 0.0, 0), (f"{side}UpLeg", x * 0.03, -0.30, 0), 0.12, 0.15, skirt)
        body.add((f"{side}UpLeg", 0, -0.05, 0), (f"{side}UpLeg", -x * 0.03, -0.30, 0), 0.12, 0.14, skirt)
    body.add(("Head", 0, 0.138, -0.02), ("Head", 0, 0.09, -0.04), 0.102, 0.094, hair, scale=HEAD)
    body.add(("Head", 0, 0.2, -0.08), ("Head", 0, 0.21, -0.09), 0.05, 0.046, hair, shadow=False, scale=HEAD)
    return body.finished("dancer", make_skeleton(size, shoulders=0.86, hips=1.04, arms=0.98))


def heavyweight(stature: float, dress: Dress) -> Avatar:
    """Broad and round, with a belly."""
    shirt, skin = dress["shirt"], dress["skin"]
    body = Tailor(stature)
    body.limbs(1.26, shirt, skin, dress["trousers"], dress["shoes"], hands=0.9)
    body.face(skin, 1.12)
    body.pair(("Chest", 0.096, 0.115, 0), ("Hips", 0.09, 0.06, 0.01), 0.13, 0.14, shirt)
    body.add(("Chest", 0, 0.1, 0.01), ("Hips", 0, 0.08, 0.03), 0.14, 0.168, shirt)
    body.add(("Hips", 0, 0.14, 0.07), ("Hips", 0, 0.06, 0.07), 0.15, 0.144, shirt)
    body.add(("Hips", -0.085, -0.02, 0), ("Hips", 0.085, -0.02, 0), 0.132, 0.132, dress["trousers"])
    chin = ("Head", -0.02, 0.03, 0.03), ("Head", 0.02, 0.03, 0.03)
    body.add(*chin, 0.068, 0.068, skin, shadow=False, scale=HEAD)
    body.add(("Head", 0, 0.14, -0.026), ("Head", 0, 0.1, -0.036), 0.1, 0.094, dress["hair"], scale=1.12)
    return body.finished("heavyweight", make_skeleton(stature, shoulders=1.14, hips=1.12))


BODIES: dict[str, Callable[[float, Dress], Avatar]] = {
    "child": child,
    "elder": elder,
    "worker": worker,
    "dancer": dancer,
    "heavyweight": heavyweight,
}
