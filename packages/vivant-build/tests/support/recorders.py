"""Our motions in the forms that recorders write: Xsens' MVNX, Acclaim's ASF and AMC, Motive's CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vivant_build.mime.motion import Motion
from vivant_build.mime.mvnx import SEGMENTS
from vivant_build.mime.rotation import Array, from_euler, to_euler, to_quaternion
from vivant_build.mime.skeleton import INDEX, OFFSETS, Skeleton

_MVN = {
    "Pelvis": "Hips",
    "L5": "Spine",
    "L3": "Spine",
    "T12": "Spine",
    "T8": "Chest",
    "Neck": "Neck",
    "Head": "Head",
}
_MVN |= {
    f"{side}{theirs}": f"{side}{ours}"
    for side in ("Left", "Right")
    for theirs, ours in (("Shoulder", "Shoulder"), ("UpperArm", "Arm"), ("ForeArm", "ForeArm"), ("Hand", "Hand"),
                         ("UpperLeg", "UpLeg"), ("LowerLeg", "Leg"), ("Foot", "Foot"), ("Toe", "Toe"))
}  # fmt: skip
_MOTIVE = {"Hip": "Hips", "Ab": "Spine", "Chest": "Chest", "Neck": "Neck", "Head": "Head"}
_MOTIVE |= {
    f"{side[0]}{theirs}": f"{side}{ours}"
    for side in ("Left", "Right")
    for theirs, ours in (("Shoulder", "Shoulder"), ("UArm", "Arm"), ("FArm", "ForeArm"), ("Hand", "Hand"),
                         ("Thigh", "UpLeg"), ("Shin", "Leg"), ("Foot", "Foot"), ("Toe", "Toe"))
}  # fmt: skip


def _numbers(values: Array) -> str:
    return " ".join(f"{value:.6f}" for value in values.ravel())


def write_mvnx(motion: Motion, file: Path, *, named: bool = True) -> None:
    """MVNX: Z up, X ahead, metres; three frames that calibrate come first. Some exports name no segments."""
    axes = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    positions, turned = motion.joints(Skeleton())
    order = [INDEX[_MVN[name]] for name in SEGMENTS]
    places = (positions @ axes.T)[:, order]
    turns = to_quaternion(axes @ turned[:, order] @ axes.T)
    still = f"<orientation>{'1 0 0 0 ' * 23}</orientation><position>{'0 0 0 ' * 23}</position>"
    frames = [
        f'<frame time="0" ms="0" type="{kind}">{still}</frame>' for kind in ("identity", "tpose", "tpose-isb")
    ]
    frames += [
        f'<frame time="{round(1000 * n / motion.fps)}" index="{n}" type="normal"><orientation>{_numbers(turn)}'
        f"</orientation><position>{_numbers(place)}</position><velocity>0 0 0</velocity></frame>"
        for n, (turn, place) in enumerate(zip(turns, places, strict=True))
    ]
    labels = "".join(f'<segment label="{name}" id="{n + 1}"/>' for n, name in enumerate(SEGMENTS))
    rate = f' frameRate="{motion.fps:g}"' if named else ""
    body = "\n".join(frames)
    file.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<mvnx xmlns="http://www.xsens.com/mvn/mvnx" version="4">\n'
        f'<subject label="A"{rate} segmentCount="23"><segments>{labels if named else ""}</segments>\n'
        f'<frames segmentCount="23" jointCount="22">\n{body}\n</frames></subject></mvnx>\n'
    )


_ASF = [("lowerback", "root", "Spine"), ("thorax", "lowerback", "Chest"), ("lowerneck", "thorax", ""),
        ("upperneck", "lowerneck", "Neck"), ("head", "upperneck", "Head")]  # fmt: skip
for _l, _side in (("l", "Left"), ("r", "Right")):
    _ASF += [(f"{_l}scapula", "thorax", ""), (f"{_l}clavicle", f"{_l}scapula", f"{_side}Shoulder"),
             (f"{_l}humerus", f"{_l}clavicle", f"{_side}Arm"), (f"{_l}radius", f"{_l}humerus", f"{_side}ForeArm"),
             (f"{_l}wrist", f"{_l}radius", f"{_side}Hand"), (f"{_l}hipjoint", "root", ""),
             (f"{_l}femur", f"{_l}hipjoint", f"{_side}UpLeg"), (f"{_l}tibia", f"{_l}femur", f"{_side}Leg"),
             (f"{_l}foot", f"{_l}tibia", f"{_side}Foot"), (f"{_l}toes", f"{_l}foot", f"{_side}Toe")]  # fmt: skip
_NEXT = {
    "lowerback": OFFSETS[INDEX["Chest"]],
    "thorax": np.array([0.0, 0.19, 0.0]),
    "head": np.array([0.0, 0.2, 0.0]),
}
_NEXT |= {"lowerneck": OFFSETS[INDEX["Neck"]] - _NEXT["thorax"], "upperneck": OFFSETS[INDEX["Head"]]}
for _l, _side, _sign in (("l", "Left", 1.0), ("r", "Right", -1.0)):
    _NEXT |= {f"{_l}scapula": OFFSETS[INDEX[f"{_side}Shoulder"]] - _NEXT["thorax"]}
    _NEXT |= {f"{_l}hipjoint": OFFSETS[INDEX[f"{_side}UpLeg"]], f"{_l}toes": np.array([0.0, 0.0, 0.07])}
    _NEXT |= {f"{_l}wrist": np.array([_sign * 0.095, 0.0, 0.0])}
    for _bone, _child in (("clavicle", "Arm"), ("humerus", "ForeArm"), ("radius", "Hand"), ("femur", "Leg"),
                          ("tibia", "Foot"), ("foot", "Toe")):  # fmt: skip
        _NEXT[_l + _bone] = OFFSETS[INDEX[_side + _child]]


def write_amc(motion: Motion, folder: Path) -> Path:
    """`79.asf` and `79_17.amc` in a folder, in CMU's unit: bones have axes of their own, hip joints do not turn."""
    unit = 1 / 0.056444
    head = ":version 1.10\n:name VICON\n:units\n  mass 1.0\n  length 0.45\n  angle deg\n:root\n"
    head += "   order TX TY TZ RX RY RZ\n   axis XYZ\n   position 0 0 0\n   orientation 0 0 0\n:bonedata\n"
    columns = [
        ("root", np.column_stack([motion.root * unit, to_euler("ZYX", motion.rotations[:, 0])[:, ::-1]]))
    ]
    for number, (name, _, joint) in enumerate(_ASF, 1):
        way = _NEXT[name] * unit
        length = float(np.linalg.norm(way))
        angles = [10.0 * number, -5.0 * number, 20.0] if joint else [0.0, 0.0, 0.0]
        head += f"  begin\n     id {number}\n     name {name}\n     direction {_numbers(way / length)}\n"
        head += f"     length {length:.6f}\n     axis {_numbers(np.array(angles))}  XYZ\n"
        if joint:
            head += "    dof rx ry rz\n    limits (-160.0 20.0)\n           (-70.0 70.0)\n           (-60.0 70.0)\n"
            axes = from_euler("ZYX", angles[::-1])
            local = axes.T @ motion.rotations[:, INDEX[joint]] @ axes
            columns.append((name, to_euler("ZYX", local)[:, ::-1]))
        head += "  end\n"
    links = [f"    {parent} {name}" for name, parent, _ in _ASF]
    (folder / "79.asf").write_text(head + ":hierarchy\n  begin\n" + "\n".join(links) + "\n  end\n")
    lines = ["#!OML:ASF A.ASF", ":FULLY-SPECIFIED", ":DEGREES"]
    for frame in range(len(motion)):
        lines.append(str(frame + 1))
        lines += [f"{name} {_numbers(values[frame])}" for name, values in columns]
    (folder / "79_17.amc").write_text("\n".join(lines) + "\n")
    return folder / "79_17.amc"


def write_motive(motion: Motion, file: Path, *, kind: str = "Quaternion", lost: range = range(0)) -> None:
    """Motive's CSV in millimetres; in frames that are lost the cells of a bone are empty."""
    positions, turned = motion.joints(Skeleton())
    width = 7 if kind == "Quaternion" else 6
    turns = to_quaternion(turned)[..., [1, 2, 3, 0]] if kind == "Quaternion" else to_euler(kind, turned)
    axes = "XYZW" if kind == "Quaternion" else kind
    head = [f"Format Version,1.23,Take Name,a take,Capture Frame Rate,{motion.fps:f},Export Frame Rate,{motion.fps:f},"
            f"Rotation Type,{kind},Length Units,Millimeters,Coordinate Space,Global", ""]  # fmt: skip
    marker = ["Bone Marker", "Actor:Hip_1", "9", "Position"]
    rows = [["", "", *["Bone"] * width * len(_MOTIVE), *[marker[0]] * 3]]
    rows += [["", "", *(f"Actor:{name}" for name in _MOTIVE for _ in range(width)), *[marker[1]] * 3]]
    rows += [["", "", *(str(n) for n in range(len(_MOTIVE)) for _ in range(width)), *[marker[2]] * 3]]
    what = [*["Rotation"] * (width - 3), *["Position"] * 3]
    rows += [["", "", *what * len(_MOTIVE), *[marker[3]] * 3]]
    rows += [["Frame", "Time (Seconds)", *[*axes, *"XYZ"] * len(_MOTIVE), *"XYZ"]]
    for frame in range(len(motion)):
        cells = [str(frame), f"{frame / motion.fps:.6f}"]
        for bone, joint in _MOTIVE.items():
            values = np.concatenate([turns[frame, INDEX[joint]], 1000 * positions[frame, INDEX[joint]]])
            gone = frame in lost and bone == "LShin"
            cells += [""] * width if gone else [f"{value:.6f}" for value in values]
        rows.append([*cells, "", "", ""])
    file.write_text("\r\n".join([*head, *(",".join(row) for row in rows)]) + "\r\n")
