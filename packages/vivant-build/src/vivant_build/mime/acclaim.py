"""Acclaim's ASF and AMC, the form in which CMU's database was recorded: a skeleton's file and one a motion.

A bone of an ASF file turns at its start, about axes of its own, and reaches along its direction to its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import describe_bad, hold_rows
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.recording import build_bvh
from vivant_build.mime.rotation import Array, from_euler

_RATE = 120.0
"""CMU's; AMC files state none."""
_ROOT = ("tx", "ty", "tz", "rx", "ry", "rz")


@dataclass
class _Bone:
    direction: Array = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axes: Array = field(default_factory=lambda: np.eye(3))
    channels: tuple[str, ...] = ()
    parent: str = ""


def load_amc(file: Path, source_fps: float | None = None) -> Bvh:
    """Read a motion with the skeleton that is beside it."""
    bones = _read_asf(_find_asf(file))
    rows, reasons = _read_amc(file, bones)
    bad = np.array([row is None for row in rows])
    if bad.all():
        raise DataError(f"{file}: it holds no whole frame ({reasons[0] if reasons else 'none at all'})")
    notes = describe_bad(str(file), reasons, len(rows))
    blank = np.zeros(sum(len(bone.channels) for bone in bones.values()))
    values = hold_rows(np.stack([blank if row is None else row for row in rows]), bad)
    names = list(bones)
    turned: dict[str, Array] = {}
    starts: dict[str, Array] = {}
    column = 0
    for name, bone in bones.items():
        channels = {channel: values[:, column + n] for n, channel in enumerate(bone.channels)}
        column += len(bone.channels)
        zero = np.zeros(len(values))
        angles = np.stack([channels.get(channel, zero) for channel in ("rz", "ry", "rx")], axis=-1)
        local = bone.axes @ from_euler("ZYX", angles) @ bone.axes.T
        if not bone.parent:
            starts[name] = np.stack([channels.get(channel, zero) for channel in ("tx", "ty", "tz")], axis=-1)
            turned[name] = local
            continue
        above = bones[bone.parent]
        turned[name] = turned[bone.parent] @ local
        starts[name] = starts[bone.parent] + turned[bone.parent] @ (above.direction * above.length)
    # Ends of the last bones are joints as well, so that feet and heads have a length.
    for name in [name for name in names if not any(bone.parent == name for bone in bones.values())]:
        bone = bones[name]
        names.append(f"{name}_end")
        bones[f"{name}_end"] = _Bone(parent=name)
        turned[f"{name}_end"] = turned[name]
        starts[f"{name}_end"] = starts[name] + turned[name] @ (bone.direction * bone.length)
    parents = [names.index(bones[name].parent) if bones[name].parent else -1 for name in names]
    places, turns = (np.stack([table[name] for name in names], axis=1) for table in (starts, turned))
    if source_fps is None:
        notes = [
            f"the file states no rate: {_RATE:g} frames a second, as CMU's; --source-fps says another",
            *notes,
        ]
    bvh = build_bvh(names, parents, places, turns, source_fps or _RATE, str(file))
    return replace(bvh, notes=tuple(notes), bad=bad)


def _find_asf(file: Path) -> Path:
    """`79.asf` or `79-walk.asf` for `79_17.amc`, `HDM_bd.asf` for `HDM_bd_kick_001.amc`, or the folder's only one."""
    others = sorted(each for each in file.parent.glob("*") if each.suffix.lower() == ".asf")
    own = file.stem.lower()
    begins = [each for each in others if re.match(re.escape(each.stem.lower()) + r"(?![a-z0-9])", own)]
    if begins:
        return max(begins, key=lambda each: len(each.stem))
    subject = re.split(r"[_-]", own)[0]
    same = [each for each in others if re.split(r"[_-]", each.stem.lower())[0] == subject]
    for each in (same, others):
        if len(each) == 1:
            return each[0]
    beside = f"; beside it are {', '.join(each.name for each in others[:5])}" if others else ""
    raise DataError(
        f"{file}: its skeleton, {subject}.asf, is not beside it{beside}; put it there under that name"
    )


def _read_lines(file: Path) -> list[tuple[int, list[str]]]:
    """Numbered lines in words, without remarks."""
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error})") from None
    lines = [(number, line.split("#")[0].split()) for number, line in enumerate(text.splitlines(), 1)]
    return [(number, words) for number, words in lines if words]


def _read_asf(file: Path) -> dict[str, _Bone]:
    """The bones by name, each after its parent; "root" is the first."""
    bones = {"root": _Bone(channels=_ROOT)}
    links: list[tuple[str, str]] = []
    section, bone, name = "", _Bone(), ""
    for number, words in _read_lines(file):
        key, rest = words[0].lower(), words[1:]
        try:
            if key.startswith(":"):
                section = key
            elif section == ":root" and key == "order":
                bones["root"].channels = tuple(word.lower() for word in rest)
            elif section == ":root" and key == "orientation":
                bones["root"].axes = _axes(rest)
            elif section == ":bonedata" and key == "begin":
                bone, name = _Bone(), ""
            elif section == ":bonedata" and key == "end":
                bones[name] = bone
            elif section == ":bonedata" and key == "name":
                name = rest[0]
            elif section == ":bonedata" and key == "direction":
                bone.direction = np.array(rest[:3], dtype=float)
            elif section == ":bonedata" and key == "length":
                bone.length = float(rest[0])
            elif section == ":bonedata" and key == "axis":
                bone.axes = _axes(rest)
            elif section == ":bonedata" and key == "dof":
                bone.channels = tuple(word.lower() for word in rest)
            elif section == ":hierarchy" and key not in ("begin", "end"):
                links += [(words[0], child) for child in rest]
        except (ValueError, IndexError) as error:
            raise DataError(f"{file}, line {number}: {' '.join(words)} cannot be read ({error})") from None
    ordered = {"root": bones["root"]}
    for parent, child in links:
        if child not in bones or parent not in ordered:
            raise DataError(
                f"{file}: the hierarchy names {parent} {child}, and one of them is no bone before it"
            )
        bones[child].parent = parent
        ordered[child] = bones[child]
    if len(ordered) < 2:
        raise DataError(f"{file}: it holds no bones; an ASF file has :bonedata and :hierarchy")
    return ordered


def _axes(words: list[str]) -> Array:
    """A bone's own axes from three angles; the order XYZ turns about X first."""
    x, y, z = (float(word) for word in words[:3])
    return from_euler("ZYX", [z, y, x])


def _read_amc(file: Path, bones: dict[str, _Bone]) -> tuple[list[Array | None], list[str]]:
    """A row of values a frame, in the order of the bones' channels; None where one is torn."""
    frames: list[tuple[int, dict[str, list[str]]]] = []
    for number, words in _read_lines(file):
        if words[0].startswith(":"):
            continue
        if len(words) == 1 and words[0].isdigit():
            frames.append((number, {}))
        elif frames:
            frames[-1][1][words[0]] = words[1:]
    if not frames:
        raise DataError(f"{file}: it holds no frames; an AMC file numbers each on a line of its own")
    rows: list[Array | None] = []
    reasons = []
    for number, content in frames:
        try:
            row = np.array(
                [float(word) for name, bone in bones.items() if bone.channels for word in content[name]]
            )
        except (KeyError, ValueError) as error:
            reasons.append(f"line {number}: {error} is missing or no number")
            rows.append(None)
            continue
        whole = len(row) == sum(len(bone.channels) for bone in bones.values()) and np.isfinite(row).all()
        if not whole:
            reasons.append(f"line {number}: a bone has too few or too many values")
        rows.append(row if whole else None)
    return rows, reasons
