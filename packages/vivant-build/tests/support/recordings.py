"""Our motions in the forms of other recordings: AMASS (NPZ), glTF and VRM, and keypoints of pose estimators."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from vivant_build.mime.keypoint_layouts import BLAZEPOSE, COCO, HUMAN36M
from vivant_build.mime.motion import Motion
from vivant_build.mime.rotation import Array, about, to_quaternion
from vivant_build.mime.skeleton import INDEX, JOINTS, OFFSETS, PARENTS, Skeleton

_SMPL = {
    "Hips": 0, "LeftUpLeg": 1, "RightUpLeg": 2, "Spine": 3, "LeftLeg": 4, "RightLeg": 5, "LeftFoot": 7,
    "RightFoot": 8, "Chest": 9, "LeftToe": 10, "RightToe": 11, "Neck": 12, "LeftShoulder": 13, "RightShoulder": 14,
    "Head": 15, "LeftArm": 16, "RightArm": 17, "LeftForeArm": 18, "RightForeArm": 19, "LeftHand": 20, "RightHand": 21,
}  # fmt: skip


def smpl_arrays(motion: Motion, width: int = 156) -> dict[str, Any]:
    """What an AMASS file of the motion holds: axis-angle turns, Z up."""
    turns = motion.rotations.copy()
    turns[:, 0] = about("X", 90.0) @ turns[:, 0]
    quaternion = to_quaternion(turns)
    sine = np.linalg.norm(quaternion[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, quaternion[..., :1])
    vectors = quaternion[..., 1:] / np.where(sine > 1e-12, sine, 1.0) * angle
    poses = np.zeros((len(motion), width))
    for joint, place in _SMPL.items():
        poses[:, 3 * place : 3 * place + 3] = vectors[:, INDEX[joint]]
    path = motion.root @ about("X", 90.0).T
    return {
        "poses": poses,
        "trans": path,
        "betas": np.zeros(16),
        "gender": np.array(b"female"),
        "mocap_framerate": np.array(motion.fps + 0.00004577),
    }


class GltfWriter:
    """A motion as glTF 2: bones with frames of their own at rest, an armature above them, one animation or more."""

    def __init__(self, motion: Motion, names: dict[str, str] | None = None) -> None:
        self.motion = motion
        self.names = names or {joint: f"mixamorig:{joint}" for joint in JOINTS}
        self._data = bytearray()
        self._views: list[dict[str, Any]] = []
        self._accessors: list[dict[str, Any]] = []
        # Each bone has axes of its own at rest, as exporters write them.
        self._axes = [about("Z", 20.0 * n) @ about("X", 35.0 * n) for n in range(len(JOINTS))]

    def accessor(self, values: Array, kind: str) -> int:
        start = len(self._data)
        self._data += np.ascontiguousarray(values, "<f4").tobytes()
        self._views.append({"buffer": 0, "byteOffset": start, "byteLength": len(self._data) - start})
        self._accessors.append(
            {"bufferView": len(self._views) - 1, "componentType": 5126, "count": len(values), "type": kind}
        )
        return len(self._accessors) - 1

    def document(
        self, *, animations: tuple[str, ...] = ("take",), interpolation: str = "LINEAR", posed: bool = False
    ) -> dict[str, Any]:
        """The document; `posed` writes the nodes in the pose of frame 0 in place of the bind pose."""
        motion, count = self.motion, len(JOINTS)
        rest = [
            self._axes[n] if PARENTS[n] < 0 else self._axes[PARENTS[n]].T @ self._axes[n]
            for n in range(count)
        ]
        local = []
        for n in range(count):
            above = np.eye(3) if PARENTS[n] < 0 else self._axes[PARENTS[n]]
            local.append(above.T @ motion.rotations[:, n] @ self._axes[n])
        shown = [turns[0] for turns in local] if posed else rest
        nodes: list[dict[str, Any]] = []
        for n, joint in enumerate(JOINTS):
            above = np.eye(3) if PARENTS[n] < 0 else self._axes[PARENTS[n]]
            offset = np.array([0.0, 0.95, 0.0]) if n == 0 else OFFSETS[n]
            nodes.append(
                {
                    "name": self.names[joint],
                    "translation": (above.T @ offset * 100).tolist(),
                    "rotation": to_quaternion(shown[n])[[1, 2, 3, 0]].tolist(),
                    "children": [child for child, parent in enumerate(PARENTS) if parent == n],
                }
            )
        # An armature in centimetres, as Mixamo's files have it.
        nodes.append({"name": "Armature", "scale": [0.01, 0.01, 0.01], "children": [0]})
        inverse = []
        place = np.zeros((count, 3))
        for n in range(count):
            parent = PARENTS[n]
            place[n] = [0.0, 0.95, 0.0] if parent < 0 else place[parent] + OFFSETS[n]
            matrix = np.eye(4)
            matrix[:3, :3], matrix[:3, 3] = self._axes[n], place[n] * 100
            inverse.append(np.linalg.inv(matrix).T.ravel())
        times = self.accessor((np.arange(len(motion)) / motion.fps)[:, None], "SCALAR")
        channels: list[Any] = []
        samplers: list[Any] = []
        for n in range(count):
            values = to_quaternion(local[n])[:, [1, 2, 3, 0]]
            self._key(channels, samplers, n, "rotation", values, times, "VEC4", interpolation)
        self._key(channels, samplers, 0, "translation", motion.root * 100, times, "VEC3", interpolation)
        bind = self.accessor(np.array(inverse), "MAT4")
        return {
            "asset": {"version": "2.0"},
            "nodes": nodes,
            "skins": [{"joints": list(range(count)), "inverseBindMatrices": bind}],
            "animations": [{"name": name, "channels": channels, "samplers": samplers} for name in animations],
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": len(self._data)}],
        }

    def _key(
        self, channels: list[Any], samplers: list[Any], node: int, path: str, values: Array, times: int, kind: str,
        interpolation: str,
    ) -> None:  # fmt: skip
        if interpolation == "CUBICSPLINE":
            slope = np.gradient(values, axis=0) * self.motion.fps
            values = np.stack([slope, values, slope], axis=1).reshape(-1, values.shape[1])
        samplers.append(
            {"input": times, "output": self.accessor(values, kind), "interpolation": interpolation}
        )
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})

    def write(self, file: Path, document: dict[str, Any]) -> Path:
        """Binary for .glb, .vrm and .vrma; text with the buffer inside for .gltf."""
        if file.suffix == ".gltf":
            uri = "data:application/octet-stream;base64," + base64.b64encode(bytes(self._data)).decode()
            file.write_text(
                json.dumps({**document, "buffers": [{"uri": uri, "byteLength": len(self._data)}]})
            )
            return file
        text = json.dumps(document).encode()
        text += b" " * (-len(text) % 4)
        data = bytes(self._data) + b"\0" * (-len(self._data) % 4)
        chunks = (
            struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
        )
        file.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)
        return file


def body_points(motion: Motion) -> dict[str, Array]:
    """Where an estimator would see the points of all layouts, in our axes and metres."""
    positions, turned = motion.joints(Skeleton())

    def at(joint: str, *offset: float) -> Array:
        beside = turned[:, INDEX[joint]] @ np.array(offset or (0.0, 0.0, 0.0))
        return np.asarray(positions[:, INDEX[joint]] + beside)

    points = {"nose": at("Head", 0, 0.06, 0.11)}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        name = side.title()
        for eye in ("eye_inner", "eye", "eye_outer"):
            points[f"{side}_{eye}"] = at("Head", sign * 0.03, 0.1, 0.09)
        points[f"{side}_ear"] = at("Head", sign * 0.08, 0.085, 0.0)
        points[f"mouth_{side}"] = at("Head", sign * 0.02, 0.02, 0.09)
        joints = {
            "shoulder": "Arm",
            "elbow": "ForeArm",
            "wrist": "Hand",
            "hip": "UpLeg",
            "knee": "Leg",
            "ankle": "Foot",
        }
        for point, joint in joints.items():
            points[f"{side}_{point}"] = at(name + joint)
        for finger, ahead in (("index", 0.03), ("pinky", -0.03), ("thumb", 0.05)):
            points[f"{side}_{finger}"] = at(name + "Hand", sign * 0.085, 0, ahead)
        points[f"{side}_heel"] = at(name + "Foot", 0, -0.05, -0.05)
        points[f"{side}_foot_index"] = at(name + "Foot", 0, -0.05, 0.15)
    shoulders, hips, ears = (
        (points[f"left_{part}"] + points[f"right_{part}"]) / 2 for part in ("shoulder", "hip", "ear")
    )
    points |= {"root": hips, "thorax": shoulders, "spine": (hips + shoulders) / 2}
    return points | {"neck_base": points["nose"], "head": np.add(ears, [0.0, 0.12, 0.0])}


def world_landmarks(motion: Motion) -> Array:
    """MediaPipe's world landmarks: metres around the hips, x right, y down, z away."""
    points = body_points(motion)
    return np.stack([points[name] - points["root"] for name in BLAZEPOSE], axis=1) * [1.0, -1.0, -1.0]


def coco_pixels(motion: Motion, scale: float = 300.0) -> Array:
    """COCO's seventeen points in the pixels of a picture."""
    points = body_points(motion)
    return np.stack([points[name] for name in COCO], axis=1)[..., :2] * [scale, -scale] + [640.0, 700.0]


def human36m_points(motion: Motion, *, inferencer: bool = True) -> Array:
    """Human3.6M's seventeen in 3D as MMPose's inferencer turns them, or as its RTMPose3D demo does."""
    points = body_points(motion)
    camera = np.stack([points[name] - points["root"] for name in HUMAN36M], axis=1) * [1.0, -1.0, -1.0]
    result = camera[..., [0, 2, 1]] * ([-1.0, 1.0, -1.0] if inferencer else [-1.0, -1.0, -1.0])
    result[..., 2] -= result[..., 2].min(axis=-1, keepdims=True)
    return np.asarray(result)


def trc_text(motion: Motion, axes: Array | None = None) -> str:
    """A TRC file as Pose2Sim writes it; `axes` turns ours into the room's."""
    room = np.eye(3) if axes is None else axes
    place = {name: points @ room.T for name, points in body_points(motion).items()}
    for side in ("left", "right"):
        place[f"{side}_big_toe"] = place[f"{side}_foot_index"]
    marks = [f"{side}_{name}" for side in ("right", "left")
             for name in ("hip", "knee", "ankle", "big_toe", "heel", "shoulder", "elbow", "wrist")]  # fmt: skip
    trc = [name[0].upper() + "".join(part.title() for part in name.split("_")[1:]) for name in marks]
    assert "RBigToe" in trc
    head = ["PathFileType\t4\t(X/Y/Z)\ta.trc", "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits",
            f"30\t30\t{len(motion)}\t{len(marks)}\tm", "Frame#\tTime\t" + "\t\t\t".join(trc) + "\t\t",
            "\t\t" + "\t".join(f"{a}{n + 1}" for n in range(len(marks)) for a in "XYZ")]  # fmt: skip
    rows = [f"{n + 1}\t{n / 30:.4f}\t" + "\t".join(f"{v:.6f}" for name in marks for v in place[name][n])
            for n in range(len(motion))]  # fmt: skip
    return "\n".join([*head, *rows]) + "\n"
