"""Motive's CSV export (OptiTrack): the place and the turn of every bone in every frame, below rows of names.

The first row states rate, unit, kind of rotation and space in pairs. Then come rows of types, names, ids, parents (in
some versions), of what a column is (rotation, position) and of its axis. Turns are the identity in a T-pose; Y is up.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import describe_bad, hold_rows
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.recording import build_bvh
from vivant_build.mime.rotation import Array, from_euler, from_quaternion, unit

_CHAINS = (
    ("Hip", "Ab", "Spine2", "Spine3", "Spine4", "Chest", "Neck", "Neck2", "Head"),
    ("Hips", "Spine", "Spine1", "Spine2", "Spine3", "Neck", "Neck1", "Head"),
    *(("Chest", f"{s}Shoulder", f"{s}UArm", f"{s}FArm", f"{s}Hand") for s in "LR"),
    *(("Hip", f"{s}Thigh", f"{s}Shin", f"{s}Foot", f"{s}Toe") for s in "LR"),
    *(("Spine3", "Spine2", "Spine1", "Spine", f"{s}Shoulder") for s in ("Left", "Right")),
    *((f"{s}Shoulder", f"{s}Arm", f"{s}ForeArm", f"{s}Hand") for s in ("Left", "Right")),
    *(("Hips", f"{s}UpLeg", f"{s}Leg", f"{s}Foot", f"{s}ToeBase") for s in ("Left", "Right")),
)
"""Bones from parent to child, by Motive's own names and by those of MotionBuilder; some are left out by some setups."""
_AXES = {"Rotation": ("X", "Y", "Z", "W"), "Position": ("X", "Y", "Z")}


def load_motive(file: Path) -> Bvh:
    """Read the first skeleton of a file."""
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        rows = list(csv.reader(stream))
    stated = dict(zip(rows[0][::2], rows[0][1::2], strict=False))
    head = next((n for n, row in enumerate(rows) if row and row[0].strip() == "Frame"), None)
    if head is None:
        raise DataError(f"{file}: has no row that begins with Frame; export it again with its header")
    columns, others = _find_columns(file, rows, head)
    if stated.get("Coordinate Space", "Global").lower() != "global":
        raise DataError(
            f"{file}: its coordinates are {stated['Coordinate Space']}; export it with Global ones"
        )
    names, parents = _find_parents(file, list(columns))
    kind = stated.get("Rotation Type", "Quaternion")
    wanted = [columns[name][key] for name in names for key in _keys(kind)]
    values, bad, reasons = _read_values(rows[head + 1 :], wanted, head + 2)
    notes = describe_bad(str(file), reasons, len(values))
    if others:
        notes.append(f"it holds {len(others) + 1} skeletons: the first is taken, not {', '.join(others)}")
    values = hold_rows(values, bad).reshape(len(values), len(names), -1)
    places, turns = values[..., -3:], values[..., :-3]
    matrices = (
        from_quaternion(unit(turns[..., [3, 0, 1, 2]]))
        if kind == "Quaternion"
        else from_euler(kind.upper(), turns)
    )
    bvh = build_bvh(names, parents, places, matrices, _find_rate(file, stated), str(file))
    return replace(bvh, notes=tuple(notes), bad=bad)


def _keys(kind: str) -> list[tuple[str, str]]:
    """What is read of a bone: its turn, as quaternion or angles in their order, then its place."""
    axes = _AXES["Rotation"] if kind == "Quaternion" else tuple(kind.upper())
    return [("Rotation", axis) for axis in axes] + [("Position", axis) for axis in _AXES["Position"]]


def _find_columns(
    file: Path, rows: list[list[str]], head: int
) -> tuple[dict[str, dict[tuple[str, str], int]], list[str]]:
    """Columns by bone (without its skeleton's name), what they are and axis; names of further skeletons."""
    types = next((row for row in rows[1:head] if "Bone" in row), None)
    kinds = next((row for row in rows[1:head] if {"Rotation", "Position"} & set(row)), None)
    if types is None or kinds is None:
        raise DataError(
            f"{file}: it holds markers or rigid bodies and no skeleton; export it with Bones, or as BVH or FBX"
        )
    names = rows[rows.index(types) + 1]
    skeletons: dict[str, dict[str, dict[tuple[str, str], int]]] = {}
    for column, kind in enumerate(types):
        if kind == "Bone" and column < min(len(names), len(kinds), len(rows[head])):
            skeleton, _, bone = names[column].strip('"').rpartition(":")
            key = (kinds[column].strip(), rows[head][column].strip().upper())
            skeletons.setdefault(skeleton, {}).setdefault(bone, {})[key] = column
    first, *others = skeletons
    bones = skeletons[first]
    # The root may have the skeleton's own name.
    if first in bones and not {"Hip", "Hips"} & bones.keys():
        bones = {("Hip" if bone == first else bone): columns for bone, columns in bones.items()}
    return bones, others


def _find_parents(file: Path, bones: list[str]) -> tuple[list[str], list[int]]:
    """The bones, each after its parent, and the parents' places among them; fingers and props are left out."""
    above: dict[str, str] = {}
    for chain in _CHAINS:
        known = [name for name in chain if name in bones]
        if known and known[0] in ("Spine3", "Spine2", "Spine1", "Spine"):
            known = [known[0], known[-1]] if known[-1].endswith("Shoulder") else []
        for parent, child in pairwise(known):
            above.setdefault(child, parent)
    root = next((name for name in ("Hip", "Hips") if name in bones), None)
    if root is None:
        raise DataError(f"{file}: no bone is called Hip or Hips; its bones: {', '.join(bones[:8])} …")
    ordered: list[str] = [root]
    while rest := [name for name in above if name not in ordered and above[name] in ordered]:
        ordered += rest
    return ordered, [ordered.index(above[name]) if name in above else -1 for name in ordered]


def _read_values(
    rows: list[list[str]], columns: list[int], line: int
) -> tuple[Array, np.ndarray[tuple[int], np.dtype[np.bool_]], list[str]]:
    values, reasons = np.full((len(rows), len(columns)), np.nan), []
    bad = np.zeros(len(rows), dtype=bool)
    for number, row in enumerate(rows):
        try:
            values[number] = [float(row[column]) for column in columns]
        except (ValueError, IndexError):
            bad[number] = True
            reasons.append(f"line {line + number}: a bone was not tracked")
    return values, bad, reasons


def _find_rate(file: Path, stated: dict[str, str]) -> float:
    try:
        return float(stated.get("Export Frame Rate") or stated["Capture Frame Rate"])
    except (KeyError, ValueError):
        raise DataError(
            f"{file}: its first row states no frame rate; export it again with its header"
        ) from None
