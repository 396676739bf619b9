"""Xsens' MVNX: an XML file with the place and the turn of every segment in every frame.

Metres, Z up; turns are quaternions with the real part first, and the identity in a T-pose. Frames that calibrate
(identity, T-pose, N-pose) are marked as such and left out.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from vivant.core.errors import DataError
from vivant_build.mime.bad_frames import describe_bad, hold_rows
from vivant_build.mime.bvh import Bvh
from vivant_build.mime.recording import build_bvh
from vivant_build.mime.rotation import Array, from_quaternion, unit

_CHAINS = (
    ("Pelvis", "L5", "L3", "T12", "T8", "Neck", "Head"),
    ("T8", "RightShoulder", "RightUpperArm", "RightForeArm", "RightHand"),
    ("T8", "LeftShoulder", "LeftUpperArm", "LeftForeArm", "LeftHand"),
    ("Pelvis", "RightUpperLeg", "RightLowerLeg", "RightFoot", "RightToe"),
    ("Pelvis", "LeftUpperLeg", "LeftLowerLeg", "LeftFoot", "LeftToe"),
)
_PARENTS = {child: parent for chain in _CHAINS for parent, child in pairwise(chain)}
SEGMENTS = tuple(dict.fromkeys(name for chain in _CHAINS for name in chain))
"""The 23 of a body, in the file's order; some exports leave their names out."""


def load_mvnx(file: Path) -> Bvh:
    """Read a file; frames without places or turns are set aside and named."""
    names, fps, times, rows, reasons = _parse(file)
    if not rows:
        raise DataError(f"{file}: it holds no frame of the type normal with positions and orientations")
    names = names or list(SEGMENTS)
    missing = [name for name in SEGMENTS if name not in names]
    if missing:
        raise DataError(f"{file}: the segments {', '.join(missing[:4])} are not among its {len(names)}")
    bad = np.array([row is None for row in rows])
    notes = describe_bad(str(file), reasons, len(rows))
    blank = np.zeros(7 * len(names))
    values = hold_rows(np.stack([blank if row is None else row for row in rows]), bad)
    turns = unit(values[:, : 4 * len(names)].reshape(len(rows), -1, 4))
    places = values[:, 4 * len(names) :].reshape(len(rows), -1, 3)
    order = [names.index(name) for name in SEGMENTS]
    parents = [SEGMENTS.index(_PARENTS[name]) if name in _PARENTS else -1 for name in SEGMENTS]
    if fps is None:
        fps = _find_rate(file, times)
    bvh = build_bvh(
        list(SEGMENTS), parents, places[:, order], from_quaternion(turns[:, order]), fps, str(file)
    )
    return replace(bvh, notes=tuple(notes), bad=bad)


def _parse(
    file: Path,
) -> tuple[list[str], float | None, list[float], list[Array | None], list[str]]:
    names: list[str] = []
    times: list[float] = []
    rows: list[Array | None] = []
    reasons: list[str] = []
    fps, stated = None, 0
    try:
        for event, element in ET.iterparse(file, events=("start", "end")):
            tag = element.tag.rsplit("}", 1)[-1]
            if event == "start" and "frameRate" in element.attrib:
                fps = float(element.attrib["frameRate"])
            if event == "start" and "segmentCount" in element.attrib:
                stated = int(element.attrib["segmentCount"])
            if event != "end":
                continue
            if tag == "segment":
                names.append(element.attrib.get("label", ""))
            elif tag == "frame":
                if element.attrib.get("type", "normal") == "normal":
                    times.append(float(element.attrib.get("time", "nan")))
                    row = _read_frame(element, len(names) or stated or len(SEGMENTS))
                    rows.append(row)
                    if row is None:
                        reasons.append(f"frame {len(rows)}: its orientation or position is missing or torn")
                element.clear()
    except FileNotFoundError:
        raise DataError(f"{file}: there is no such file") from None
    except (ET.ParseError, OSError) as error:
        raise DataError(f"{file}: is not an XML file that can be read ({error})") from None
    except ValueError as error:
        raise DataError(f"{file}: an attribute is no number ({error})") from None
    return names, fps, times, rows, reasons


def _read_frame(frame: ET.Element, segments: int) -> Array | None:
    """Turns and places of a frame as one row; None where they are not whole."""
    texts = {child.tag.rsplit("}", 1)[-1]: child.text or "" for child in frame}
    try:
        turns, places = (np.array(texts[name].split(), dtype=float) for name in ("orientation", "position"))
    except (KeyError, ValueError):
        return None
    whole = len(turns) >= 4 * segments and len(places) >= 3 * segments
    row = np.concatenate([turns[: 4 * segments], places[: 3 * segments]])
    return row if whole and np.isfinite(row).all() else None


def _find_rate(file: Path, times: list[float]) -> float:
    """Frames a second by the frames' times, which are milliseconds."""
    span = times[-1] - times[0]
    if not span > 0:
        raise DataError(f"{file}: it states neither a frameRate nor times")
    return float(round(1000 * (len(times) - 1) / span))
