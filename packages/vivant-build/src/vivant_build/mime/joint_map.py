"""Which joint of a file is which of ours: by a person's table, by a known source's names, by words, by structure."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from vivant.core.errors import DataError, unknown_name_error
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.joint_structure import find_by_structure
from vivant_build.mime.skeleton import JOINTS

_SIDED: dict[str, tuple[str, ...]] = {
    "Shoulder": ("collar", "clavicle", "clavicula", "collarbone", "shoulder"),
    "Arm": ("arm", "upperarm", "uparm", "armupper", "humerus", "shldr", "shoulder"),
    "ForeArm": ("forearm", "lowerarm", "lowarm", "loarm", "armlower", "elbow", "radius"),
    "Hand": ("hand", "wrist"),
    "Fingers": ("fingers", "handmiddle1", "middle1", "handindex1", "index1", "fingerbase", "finger0"),
    "UpLeg": ("upleg", "upperleg", "legupper", "thigh", "femur", "hip"),
    "Leg": ("leg", "lowerleg", "lowleg", "loleg", "leglower", "shin", "calf", "knee", "tibia"),
    "Foot": ("foot", "ankle"),
    "Toe": ("toe", "toebase", "toes", "ball", "toe0"),
}
"""Names after the side is taken away, most telling first."""
_NEEDED = ("Arm", "ForeArm", "UpLeg", "Leg")
NEEDED = (*(side + bone for bone in _NEEDED for side in ("Left", "Right")), "Head")
"""Joints without which no person can be seen."""
_KIND = re.compile(r"(?:bind|skin|deform|joint|jnt|bone)+$")
"""Words that say of a joint that it is one."""
_SIDES = (
    re.compile(r"(?P<side>left|right|l|r)(?P<bone>.+)"),
    re.compile(r"(?P<bone>.+?)(?P<side>left|right|l|r)$"),
)


def read_joint_table(file: Path) -> dict[str, str]:
    """A person's table: our joint (LeftArm, Head …) → the file's joint, as YAML."""
    try:
        table: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error})") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise DataError(f"{file}: is not YAML; write one line a joint, such as LeftArm: upperarm_l") from None
    if not isinstance(table, dict) or not table:
        raise DataError(f"{file}: holds no joints; write one line a joint, such as LeftArm: upperarm_l")
    for joint in table:
        if joint not in JOINTS:
            raise unknown_name_error("joint", str(joint), JOINTS)
    return {str(joint): str(name) for joint, name in table.items()}


def map_joints(bvh: Bvh, table: dict[str, str] | None = None) -> dict[str, int]:
    """Our joints → indices in the file's list. Raises a DataError naming the joints that cannot be found.

    Args:
        bvh: The file.
        table: Our joint → the file's name, for joints that a person states; the others are found.
    """
    joint_map, words = _by_source(bvh), _by_words(bvh)
    used = set(joint_map.values())
    if used:
        # Words still tell collarbones and the ends of limbs, which each tool names in its own way.
        ends = ("Shoulder", "Fingers", "Toe", "Hand", "Foot")
        words = {j: index for j, index in words.items() if j.endswith(ends) and index not in used}
    joint_map = {**words, **joint_map}
    stated = _by_table(bvh, table or {})
    joint_map.update(stated)
    missing = [joint for joint in NEEDED if joint not in joint_map]
    if missing:
        joint_map = {**find_by_structure(bvh), **stated}
        missing = missing if any(joint not in joint_map for joint in NEEDED) else []
    if missing:
        names = ", ".join(joint.name for joint in bvh.joints[:10]) + (" …" if len(bvh.joints) > 10 else "")
        raise DataError(
            f"{bvh.source}: no joint can be taken for {', '.join(missing)}; the file has {names}; name them in "
            "a YAML file (LeftArm: NAME …) for --joints, or rename them to common names (LeftArm, LeftForeArm, "
            "LeftUpLeg, LeftLeg, Head …)"
        )
    _map_trunk(bvh, joint_map)
    _map_toes(bvh, joint_map)
    return joint_map


def _map_toes(bvh: Bvh, joint_map: dict[str, int]) -> None:
    """Toes whose names say nothing: the only joint that hangs on a foot."""
    for side in ("Left", "Right"):
        if side + "Foot" not in joint_map or side + "Toe" in joint_map:
            continue
        foot = joint_map[side + "Foot"]
        below = [index for index, joint in enumerate(bvh.joints) if joint.parent == foot]
        if len(below) == 1 and any(bvh.joints[below[0]].offset):
            joint_map[side + "Toe"] = below[0]


def _by_table(bvh: Bvh, table: dict[str, str]) -> dict[str, int]:
    names = {joint.name: index for index, joint in enumerate(bvh.joints)}
    for name in table.values():
        if name not in names:
            raise unknown_name_error(f"joint of {bvh.source}", name, list(names))
    return {joint: names[name] for joint, name in table.items()}


@cache
def _sources() -> dict[str, tuple[str, dict[str, str]]]:
    """Source → the prefix of its names, and our joint → its name in letters and digits."""
    text = (files("vivant_build.mime") / "joints.yaml").read_text(encoding="utf-8")
    sources = {}
    for source, entry in yaml.safe_load(text).items():
        names = {}
        for joint, name in entry["joints"].items():
            if "{" not in name:
                names[joint] = name
                continue
            for side in ("Left", "Right"):
                names[side + joint] = name.format(side=side.lower(), s=side[0].lower())
        sources[source] = (entry.get("prefix", ""), names)
    return sources


def _plain(name: str) -> str:
    return "".join(letter for letter in name.rsplit(":", 1)[-1].lower() if letter.isalnum())


def _by_source(bvh: Bvh) -> dict[str, int]:
    """The joints as the best fitting source names them; empty where none names all that is needed."""
    best: dict[str, int] = {}
    for prefix, names in _sources().values():
        places: dict[str, int] = {}
        for index, joint in enumerate(bvh.joints):
            places.setdefault(re.sub(f"^(?:{prefix})", "", _plain(joint.name)), index)
        joint_map = {joint: places[name] for joint, name in names.items() if name in places}
        if all(joint in joint_map for joint in NEEDED) and len(joint_map) > len(best):
            best = joint_map
    return best


def _by_words(bvh: Bvh) -> dict[str, int]:
    sided: dict[tuple[str, str], int] = {}
    plain: dict[str, int] = {}
    # A joint whose name begins with a line leads to the one that is meant: both may have the same letters.
    joints = sorted(enumerate(bvh.joints), key=lambda entry: entry[1].name.startswith("_"))
    for numbered in (False, True):
        for index, joint in joints:
            word = _KIND.sub("", _plain(joint.name))
            for side, bone in _read_side(word):
                # The first joint of a limb in several pieces, such as upperleg01 and upperleg02.
                sided.setdefault((side, bone.rstrip("0123456789") if numbered else bone), index)
            plain.setdefault(word.rstrip("0123456789") if numbered else word, index)
    joint_map: dict[str, int] = {}
    for side in ("Left", "Right"):
        for bone, words in _SIDED.items():
            matches = [sided[side, word] for word in words if (side, word) in sided]
            if matches:
                joint_map[side + bone] = matches[0]
        # "Shoulder" names the collarbone in some files and the upper arm in others.
        if joint_map.get(side + "Shoulder") == joint_map.get(side + "Arm"):
            joint_map.pop(side + "Shoulder", None)
    head = next((plain[word] for word in ("head", "chead", "headbase", "skull") if word in plain), None)
    return joint_map if head is None else {**joint_map, "Head": head}


def _read_side(word: str) -> list[tuple[str, str]]:
    """The side and the bone that a name states: "legl" begins and ends with a letter of a side, so there may be two."""
    matches = filter(None, (pattern.match(word) for pattern in _SIDES))
    return [("Left" if match["side"].startswith("l") else "Right", match["bone"]) for match in matches]


def _map_trunk(bvh: Bvh, joint_map: dict[str, int]) -> None:
    """Trunk joints by their place between legs, arms and head, because their names mean different things."""

    def line(index: int) -> list[int]:
        path = [index]
        while path[-1] >= 0:
            path.append(bvh.joints[path[-1]].parent)
        return path[-2::-1]

    def fork(first: int, other: int) -> int:
        return [a for a, b in zip(line(first), line(other), strict=False) if a == b][-1]

    head = joint_map["Head"]
    hips = joint_map.setdefault("Hips", fork(joint_map["LeftUpLeg"], joint_map["RightUpLeg"]))
    chest = joint_map.get("Chest", fork(joint_map["LeftArm"], joint_map["RightArm"]))
    spine, neck = line(chest), line(head)
    if hips not in spine:
        # Legs on a joint of their own beside the spine: the hips are where both begin.
        hips = joint_map["Hips"] = fork(hips, chest)
    if chest not in neck:
        raise DataError(
            f"{bvh.source}: arms and head do not hang on a trunk that begins at the hips; state Hips and Chest with "
            "--joints"
        )
    if chest != hips:
        joint_map["Chest"] = chest
        if spine.index(chest) > spine.index(hips) + 1:
            joint_map.setdefault("Spine", spine[spine.index(hips) + 1])
    if len(neck) > neck.index(chest) + 2:
        joint_map.setdefault("Neck", neck[neck.index(chest) + 1])
