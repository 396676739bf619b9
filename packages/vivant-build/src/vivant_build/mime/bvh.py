"""BVH files in and out: motion capture from anywhere animates the same bodies, and our motions leave as BVH.

`parse_bvh` takes a file as it stands (joints, offsets, channels in the order stated, frames), refuses a malformed
skeleton by its line and sets malformed frames aside; `vivant_build.mime.retarget` then puts the motion on this
package's skeleton.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vivant.core.errors import DataError, UsageError
from vivant_build.mime.bad_frames import Mask, describe_bad, hold_rows
from vivant_build.mime.motion import Motion
from vivant_build.mime.rotation import Array, from_euler, to_euler
from vivant_build.mime.skeleton import JOINTS, PARENTS, Skeleton

_CHANNELS = frozenset(axis + kind for axis in "XYZ" for kind in ("position", "rotation"))
_CENTIMETRES = 100.0
"""Files are written in centimetres, as most tools expect."""
_ORDER = "ZXY"
_ADDED = 0.01
"""Share of the offsets below which positions beside parents are what is added to them."""
_WORD = re.compile(r"[{}]|[^\s{}]+")
"""Braces stand alone even where a file glues them to a word."""


@dataclass
class BvhJoint:
    """A joint as a file states it; `parent` is its place in the list, -1 for the root."""

    name: str
    parent: int
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    channels: tuple[str, ...] = ()
    tip: tuple[float, float, float] | None = None
    """The end of the chain, where the joint has an End Site."""


@dataclass(frozen=True, eq=False)
class Bvh:
    """A parsed file: joints in the order of their channels, and one row of `values` per frame."""

    joints: tuple[BvhJoint, ...]
    frame_time: float
    values: Array
    source: str = "BVH"
    notes: tuple[str, ...] = ()
    """What of the file was set aside, in sentences."""
    bad: Mask | None = None
    """Frames that cannot be used, and hold the values of the nearest good one; none where it is left out."""
    first: int = 1
    """The number of its first frame in the file, where frames before it were cut off."""
    placed: bool = True
    """Whether the root's path is recorded; some estimators of bodies tell turns alone."""

    def globals(self) -> tuple[Array, Array]:
        """Positions (frames, joints, 3) and global rotations, in the file's own axes and unit."""
        frames = len(self.values)
        positions = np.empty((frames, len(self.joints), 3))
        turned = np.empty((frames, len(self.joints), 3, 3))
        column = 0
        for number, joint in enumerate(self.joints):
            columns = {name: column + n for n, name in enumerate(joint.channels)}
            column += len(joint.channels)
            order = [name for name in joint.channels if name.endswith("rotation")]
            angles = self.values[:, [columns[name] for name in order]]
            local = from_euler("".join(name[0] for name in order), angles)
            # A position channel states the whole place beside the parent; the offset is its value at rest.
            beside = np.broadcast_to(np.asarray(joint.offset), (frames, 3)).copy()
            for axis, name in enumerate(("Xposition", "Yposition", "Zposition")):
                if name in columns:
                    beside[:, axis] = self.values[:, columns[name]]
            if joint.parent < 0:
                positions[:, number], turned[:, number] = beside, local
                continue
            above = turned[:, joint.parent]
            positions[:, number] = positions[:, joint.parent] + np.einsum("fij,fj->fi", above, beside)
            turned[:, number] = above @ local
        return positions, turned

    def scaled(self, factor: float) -> Bvh:
        """The same skeleton and motion with all lengths multiplied."""
        x, y, z = np.array([joint.offset for joint in self.joints]).T * factor
        joints = tuple(
            replace(joint, offset=(float(x[n]), float(y[n]), float(z[n])))
            for n, joint in enumerate(self.joints)
        )
        channels = [name for joint in self.joints for name in joint.channels]
        factors = np.array([factor if name.endswith("position") else 1.0 for name in channels])
        return replace(self, joints=joints, values=self.values * factors)


class _Tokens:
    """The words of a file with their lines, and errors that name them."""

    def __init__(self, source: str, lines: Iterable[str]) -> None:
        self.source = source
        self._words: list[tuple[int, str]] = [
            (number, word) for number, line in enumerate(lines, 1) for word in _WORD.findall(line)
        ]
        self._next = 0
        self.line = 1

    def fail(self, reason: str) -> DataError:
        return DataError(f"{self.source}, line {self.line}: {reason}")

    def peek(self) -> str:
        return self._words[self._next][1] if self._next < len(self._words) else ""

    def take(self, what: str) -> str:
        if self._next >= len(self._words):
            raise self.fail(f"the file ends where {what} should be")
        self.line, word = self._words[self._next]
        self._next += 1
        return word

    def expect(self, word: str) -> None:
        token = self.take(f"'{word}'")
        if token.lower() != word.lower():
            raise self.fail(f"'{word}' is expected, not '{token[:40]}'")

    def number(self, what: str) -> float:
        word = self.take(what)
        try:
            value = float(word)
        except ValueError:
            raise self.fail(f"{what} must be a number, not '{word[:40]}'") from None
        if not math.isfinite(value):
            raise self.fail(f"{what} is {word}, which is not a finite number")
        return value

    def vector(self, what: str) -> tuple[float, float, float]:
        return self.number(what), self.number(what), self.number(what)

    def name(self) -> str:
        """All words up to the opening brace: some tools write names with spaces."""
        words = []
        while self.peek() not in {"{", ""}:
            words.append(self.take("a joint's name"))
        self.expect("{")
        if not words:
            raise self.fail("a joint has no name")
        return " ".join(words)


def parse_bvh(text: str, source: str = "BVH", fps: float | None = None) -> Bvh:
    """Read the text of a BVH file. Every fault is a DataError that names `source` and the line.

    `fps` is the rate of a file that states none, or one that cannot be.
    """
    lines = text.splitlines()
    split = next((n for n, line in enumerate(lines) if line.strip().upper() == "MOTION"), None)
    tokens = _Tokens(source, lines if split is None else lines[:split])
    joints = _hierarchy(tokens)
    if split is None:
        raise tokens.fail("there is no MOTION part")
    width = sum(len(joint.channels) for joint in joints)
    places = any(name.endswith("position") for name in joints[0].channels)
    frame_time, values, notes, bad = _motion(source, lines, split + 1, width, fps, places=places)
    return Bvh(tuple(joints), frame_time, _add_offsets(joints, values), source, notes, bad)


def _add_offsets(joints: list[BvhJoint], values: Array) -> Array:
    """The values with offsets added to positions that are stated beside them.

    A position channel replaces the offset. In some tools' files it is added, so it is 0 where a bone keeps its length.
    """
    columns, offsets, column = [], [], 0
    for joint in joints:
        for index, name in enumerate(joint.channels):
            if joint.parent >= 0 and name.endswith("position"):
                columns.append(column + index)
                offsets.append(joint.offset["XYZ".index(name[0])])
        column += len(joint.channels)
    size = np.abs(np.array(offsets)).sum()
    if not columns or np.abs(values[:, columns]).mean(axis=0).sum() > _ADDED * size:
        return values
    values[:, columns] += np.array(offsets)
    return values


def load_bvh(file: Path, fps: float | None = None) -> Bvh:
    """Read a BVH file from disk; `fps` is the rate of one that states none."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error})") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Names in an older encoding: their letters do not matter, as long as they differ.
        if not content.lstrip().upper().startswith(b"HIERARCHY"):
            raise DataError(f"{file}: is not a text file, so not BVH") from None
        text = content.decode("latin-1")
    return parse_bvh(text, str(file), fps)


def _hierarchy(tokens: _Tokens) -> list[BvhJoint]:
    tokens.expect("HIERARCHY")
    tokens.expect("ROOT")
    joints: list[BvhJoint] = []
    path: list[int] = []

    def opened(parent: int) -> None:
        name = tokens.name()
        if any(joint.name == name for joint in joints):
            raise tokens.fail(f"joint '{name}' occurs twice")
        joints.append(BvhJoint(name, parent))
        path.append(len(joints) - 1)

    opened(-1)
    while path:
        joint = joints[path[-1]]
        word = tokens.take("'}'")
        match word.upper():
            case "OFFSET":
                joint.offset = tokens.vector(f"the offset of '{joint.name}'")
            case "CHANNELS":
                joint.channels = _channels(tokens, joint.name)
            case "JOINT":
                opened(path[-1])
            case "END":
                tokens.expect("Site")
                tokens.expect("{")
                tokens.expect("OFFSET")
                joint.tip = tokens.vector(f"the end of '{joint.name}'")
                tokens.expect("}")
            case "}":
                path.pop()
            case _:
                raise tokens.fail(f"'{word[:40]}' is not known inside joint '{joint.name}'")
    if tokens.peek():
        token = tokens.take("MOTION")
        raise tokens.fail(
            f"'{token[:40]}' stands after the skeleton, where MOTION should be (one ROOT per file)"
        )
    return joints


def _channels(tokens: _Tokens, joint: str) -> tuple[str, ...]:
    count = tokens.number(f"the number of channels of '{joint}'")
    if count != int(count) or not 0 <= count <= 6:
        raise tokens.fail(f"joint '{joint}' states {count:g} channels; 0 to 6 are possible")
    names = []
    for _ in range(int(count)):
        word = tokens.take(f"a channel of '{joint}'")
        name = word[:1].upper() + word[1:].lower()
        if name not in _CHANNELS:
            raise tokens.fail(
                f"joint '{joint}' has an unknown channel '{word[:40]}'; known: {', '.join(sorted(_CHANNELS))}"
            )
        if name in names:
            raise tokens.fail(f"joint '{joint}' states the channel {name} twice")
        names.append(name)
    return tuple(names)


def _motion(
    source: str, lines: list[str], start: int, width: int, fps: float | None, *, places: bool
) -> tuple[float, Array, tuple[str, ...], Mask]:
    """The part after MOTION, notes on it, and its bad frames; `start` is the index of its first line.

    A recording that was cut short ends in a part of a row and states more frames than it has; what is whole is read.
    Where the root has `places`, a row of zeros is one in which nothing was tracked.
    """
    rows = [(number, line.split()) for number, line in enumerate(lines[start:], start + 1) if line.strip()]

    def fail(number: int, reason: str) -> DataError:
        return DataError(f"{source}, line {number}: {reason}")

    def stated(index: int, *words: str) -> float:
        if index >= len(rows):
            raise fail(len(lines), f"'{' '.join(words)}' is missing after MOTION")
        number, fields = rows[index]
        if [word.lower() for word in fields[:-1]] != [word.lower() for word in words]:
            raise fail(number, f"'{' '.join(words)} <number>' is expected")
        try:
            return float(fields[-1])
        except ValueError:
            raise fail(
                number, f"'{' '.join(words)}' must be followed by a number, not '{fields[-1][:40]}'"
            ) from None

    count = stated(0, "Frames:")
    try:
        frame_time = stated(1, "Frame", "Time:")
        if not (math.isfinite(frame_time) and frame_time > 0):
            raise fail(
                rows[1][0], f"the frame time is {frame_time:g}; it must be a positive number of seconds"
            )
    except DataError as error:
        if fps is None:
            raise DataError(f"{error}; give the recording's rate with --source-fps") from None
        frame_time = 1 / fps
    else:
        if fps is not None:
            raise UsageError(
                f"{source}: --source-fps is for files that state no rate; this one states {1 / frame_time:g} a second"
            )
    frames = rows[2:] if len(rows) > 1 and rows[1][1][0].lower() == "frame" else rows[1:]
    if not frames or count < 1:
        raise fail(rows[0][0], "the file has no frames")
    if width == 0:
        raise fail(rows[0][0], "no joint has a channel, so there is nothing that moves")
    notes = []
    if len(frames) > 1 and len(frames[-1][1]) < width:
        number, words = frames.pop()
        notes.append(f"line {number}, the last, is cut off ({len(words)} of {width} values) and set aside")
    if count != len(frames) + len(notes):
        notes.append(f"line {rows[0][0]} states {count:g} frames and {len(frames)} are there, which are read")
    values = np.zeros((len(frames), width))
    bad = np.zeros(len(frames), dtype=bool)
    reasons = []
    for index, (number, words) in enumerate(frames):
        reason = _read_row(words, values[index])
        if not reason and places and index and not values[index].any():
            reason = "every value is 0"
        if reason:
            bad[index] = True
            reasons.append(f"line {number}: {reason}")
    notes.extend(describe_bad(source, reasons, len(frames)))
    return frame_time, hold_rows(values, bad), tuple(notes), bad


def _read_row(words: list[str], row: Array) -> str:
    """Fill a row of values; what keeps it from being used, or nothing."""
    if len(words) != len(row):
        return f"{len(words)} values, but the channels ask for {len(row)}"
    try:
        row[:] = [float(word) for word in words]
    except ValueError:
        word = next(word for word in words if not _is_number(word))
        return f"'{word[:40]}' is not a number"
    if not np.isfinite(row).all():
        return f"it holds {words[int(np.argmin(np.isfinite(row)))]}, which is not a finite number"
    return ""


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def write_bvh(motion: Motion, out: Path, skeleton: Skeleton | None = None) -> None:
    """Write a motion as BVH in centimetres, Y up, with this package's joint names."""
    body = skeleton or Skeleton()
    lines = ["HIERARCHY"]

    def vector(values: Array) -> str:
        return " ".join(f"{value * _CENTIMETRES:.6f}" for value in values)

    def joint(number: int, depth: int) -> None:
        indent = "  " * depth
        name = JOINTS[number]
        # The root's place is in its channels; an offset would be added to it.
        offset = np.zeros(3) if number == 0 else body.offsets[number]
        rotations = " ".join(f"{axis}rotation" for axis in _ORDER)
        channels = f"6 Xposition Yposition Zposition {rotations}" if number == 0 else f"3 {rotations}"
        lines.extend([f"{indent}{'JOINT' if number else 'ROOT'} {name}", f"{indent}{{"])
        lines.extend([f"{indent}  OFFSET {vector(offset)}", f"{indent}  CHANNELS {channels}"])
        order.append(number)
        for child in (n for n, parent in enumerate(PARENTS) if parent == number):
            joint(child, depth + 1)
        if name in body.tips:
            lines.extend(
                [f"{indent}  End Site", f"{indent}  {{", f"{indent}    OFFSET {vector(body.tips[name])}"]
            )
            lines.append(f"{indent}  }}")
        lines.append(f"{indent}}}")

    order: list[int] = []
    joint(0, 0)
    angles = to_euler(_ORDER, motion.rotations[:, order]).reshape(len(motion), -1)
    rows = np.concatenate([motion.root * body.scale * _CENTIMETRES, angles], axis=1)
    lines.extend(["MOTION", f"Frames: {len(motion)}", f"Frame Time: {1 / motion.fps:.9f}"])
    lines.extend(" ".join(f"{value:.6f}" for value in row) for row in rows)
    try:
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{out}: cannot be written ({error.strerror or error})") from None
