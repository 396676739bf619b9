"""BVH files as motion-capture tools write them, made from a motion that is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vivant_build.mime import Motion
from vivant_build.mime.rotation import Array, basis, to_euler
from vivant_build.mime.skeleton import INDEX, JOINTS, OFFSETS, PARENTS, TIPS, Skeleton

Y_UP: Array = np.eye(3)
Z_UP: Array = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""From our axes to Z up, facing -Y."""


@dataclass
class Tool:
    """How one tool writes: `names` are ours → the tool's; joints without a name are not in its files."""

    names: dict[str, str]
    order: str = "ZYX"
    unit: float = 100.0
    axes: Array = field(default_factory=lambda: Y_UP)
    bone_axes: bool = False
    """Offsets lie along each parent's own X."""
    mirrored: bool = False
    """Right limbs along -X."""
    positions: bool = False
    """Position channels on every joint, and offsets of the hips that are a place in the studio."""
    added: bool = False
    """Position channels hold what is added to the offset, so nothing where bones keep their lengths."""
    root: str = ""
    """A joint above the hips, on the floor."""
    t_pose: int = 0
    """Rows of a T-pose before the motion."""
    tips: bool = True


def sided(**bones: str) -> dict[str, str]:
    """Names of limbs from templates: {S} Left, {s} left, {L} L, {l} l."""
    return {
        side + bone: name.format(S=side, s=side.lower(), L=side[0], l=side[0].lower())
        for side in ("Left", "Right")
        for bone, name in bones.items()
    }


def write_tool_bvh(motion: Motion, tool: Tool) -> str:
    """The text of the file that the tool would write of this motion."""
    _, turned = motion.joints(Skeleton())
    names = tool.names
    kept = [joint for joint in JOINTS if joint in names]
    bases = {joint: _basis(joint, tool) for joint in kept}
    lines, columns = ["HIERARCHY"], []
    count, held = len(motion), tool.t_pose
    rows = count + held
    spins = {j: np.concatenate([np.broadcast_to(np.eye(3), (held, 3, 3)), turned[:, INDEX[j]]]) for j in kept}
    spun = {j: tool.axes @ spins[j] @ bases[j] for j in kept}
    root = np.concatenate([np.repeat(motion.root[:1], held, axis=0), motion.root]) @ tool.axes.T * tool.unit

    def parent(joint: str) -> str:
        above = PARENTS[INDEX[joint]]
        while JOINTS[above] not in names:
            above = PARENTS[above]
        return JOINTS[above]

    def rest(joint: str) -> Array:
        place = np.zeros(3)
        index = INDEX[joint]
        while index > 0:
            place = place + OFFSETS[index]
            index = PARENTS[index]
        return place

    def add(joint: str, keyword: str, depth: int) -> None:
        first = joint == "Hips"
        if first:
            offset, local = np.array([4.6, 91.5, -427.0]) if tool.positions else np.zeros(3), spun[joint]
        else:
            above = parent(joint)
            offset = bases[above].T @ (rest(joint) - rest(above)) * tool.unit
            local = np.swapaxes(spun[above], -1, -2) @ spun[joint]
        pad = "\t" * depth
        turns = " ".join(f"{axis}rotation" for axis in tool.order)
        placed = first or tool.positions or tool.added
        channels = f"6 Xposition Yposition Zposition {turns}" if placed else f"3 {turns}"
        lines.extend([f"{pad}{keyword} {names[joint]}", f"{pad}{{", f"{pad}\tOFFSET {_words(offset)}"])
        lines.append(f"{pad}\tCHANNELS {channels} ")
        if placed:
            still = np.zeros(3) if tool.added else offset
            columns.append(root if first else np.broadcast_to(still, (rows, 3)))
        columns.append(to_euler(tool.order, local))
        below = [child for child in kept if child != "Hips" and parent(child) == joint]
        for child in below:
            add(child, "JOINT", depth + 1)
        if not below:
            tip = bases[joint].T @ TIPS.get(joint, np.zeros(3)) * tool.unit if tool.tips else np.zeros(3)
            lines.extend([f"{pad}\tEnd Site ", f"{pad}\t{{", f"{pad}\t\tOFFSET {_words(tip)}", f"{pad}\t}}"])
        lines.append(f"{pad}}}")

    if tool.root:
        turns = " ".join(f"{axis}rotation" for axis in tool.order)
        lines.extend([f"ROOT {tool.root}", "{", "\tOFFSET 0 0 0"])
        lines.append(f"\tCHANNELS 6 Xposition Yposition Zposition {turns}")
        columns.append(np.zeros((rows, 6)))
        add("Hips", "JOINT", 1)
        lines.append("}")
    else:
        add("Hips", "ROOT", 0)
    lines.extend(["MOTION", f"Frames:\t{rows}", f"Frame Time:\t{1 / motion.fps:.7f}"])
    lines.extend(_words(row) for row in np.concatenate(columns, axis=1))
    return "\r\n".join(lines) + "\r\n"


def _words(values: Array) -> str:
    return " ".join(f"{value:.6g}" if abs(value) < 1e-3 else f"{value:.6f}" for value in values)


def _basis(joint: str, tool: Tool) -> Array:
    """How the joint's own axes lie in our rest pose."""
    if not tool.bone_axes:
        return tool.axes.T
    if joint in ("Hips", "Spine", "Chest"):
        bone = np.array([0.0, 1.0, 0.0])
    else:
        bone = TIPS[joint] if joint in TIPS else OFFSETS[INDEX[joint] + 1]
    sign = -1.0 if tool.mirrored and joint.startswith("Right") else 1.0
    aside = (
        np.array([1.0, 0.0, 0.0])
        if "Leg" in joint or "Foot" in joint or "Toe" in joint
        else np.array([0, 0, 1.0])
    )
    return basis(sign * bone, sign * aside)
