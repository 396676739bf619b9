"""Recordings of any kind on our skeleton: BVH, FBX, glTF and VRM, SMPL (AMASS) and a pose estimator's keypoints."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant_build.mime.bvh import Bvh, BvhJoint, load_bvh
from vivant_build.mime.foot_locking import lock_feet, stand
from vivant_build.mime.motion import Motion
from vivant_build.mime.retarget import Retargeted, retarget
from vivant_build.mime.rotation import Array, to_euler

GLTF_FILES = (".glb", ".gltf", ".vrm", ".vrma")
KEYPOINT_FILES = (".json", ".jsonl", ".csv", ".npy", ".trc", ".skeleton")
MOTION_FILES = (".bvh", ".fbx", ".amc", ".mvnx", ".npz", *GLTF_FILES, *KEYPOINT_FILES)
"""Kinds of files that a motion can come from."""
_PICKLES = (".pkl", ".pickle", ".joblib", ".pth", ".pt")
FOREIGN_FILES = {
    **dict.fromkeys(
        _PICKLES,
        "a pickle can run any program when it is loaded, so it is not; if you trust it, save its arrays: "
        "numpy.savez('motion.npz', poses=…, trans=…, fps=30); joblib.load opens those of VIBE, WHAM and 4D-Humans",
    ),
    ".c3d": "it holds markers and no skeleton; solve them in the recorder's program and export BVH or FBX",
}
"""Kinds of files that hold motions, are not read, and what to do with them."""
_MOTIVE = "Motive's .csv"
_ORDER = "ZXY"
_STILL = 1e-4
"""Share of a skeleton's size by which a joint may move beside its parent and still hang on a rigid bone."""


def read_motion(file: Path) -> Motion:
    """The motion of a recording on this package's skeleton, on the floor in the middle of the stage."""
    return read_recording(file).motion


def read_recording(
    file: Path,
    *,
    joints: dict[str, str] | None = None,
    animation: str | None = None,
    source_fps: float | None = None,
    unit: float | None = None,
    video_size: tuple[int, int] | None = None,
    hold_feet: bool | None = None,
) -> Retargeted:
    """A recording of any kind on our skeleton.

    Args:
        file: Its suffix tells the kind: one of MOTION_FILES. A folder of OpenPose's files is one recording.
        joints: Our joint → the file's, for names that are not known.
        animation: Which one of a glTF or FBX file, where it holds several.
        source_fps: The rate of a file that states none.
        unit: Metres of the file's unit of length, where its figure is a person's height in no usual one.
        video_size: Width and height of the video, for landmarks that are shares of its sides.
        hold_feet: Lock standing feet in their places. [default: for keypoints, whose feet glide]
    """
    kind = ".json" if file.is_dir() else file.suffix.lower()
    if kind in FOREIGN_FILES:
        raise UsageError(f"{file}: {FOREIGN_FILES[kind]}")
    if kind not in MOTION_FILES:
        raise UsageError(f"{file}: a motion is one of {', '.join(MOTION_FILES)}, not '{file.suffix}'")
    if animation is not None and kind not in (".fbx", *GLTF_FILES):
        raise UsageError(
            f"{file}: --animation chooses one of a glTF or FBX file's; this kind of file holds one"
        )
    if kind == ".csv" and is_motive(file):
        kind = _MOTIVE
    if source_fps is not None and kind not in (".bvh", ".npz", ".amc", *KEYPOINT_FILES):
        raise UsageError(f"{file}: --source-fps is for files that state no rate; this kind states it")
    if source_fps is not None and not 0 < source_fps < math.inf:
        raise UsageError(f"{file}: --source-fps is a number of frames a second, above 0, not {source_fps:g}")
    if unit is not None and (kind in (".npz", *KEYPOINT_FILES) or unit <= 0):
        raise UsageError(
            f"{file}: --unit is a length in metres, above 0, for skeletons in a unit of their own"
        )
    if kind in KEYPOINT_FILES or (kind == ".npz" and not _holds_smpl(file)):
        from vivant_build.mime.keypoint_motion import lift_keypoints
        from vivant_build.mime.keypoints import load_keypoints
        from vivant_build.mime.openpose import load_openpose

        if joints is not None:
            raise UsageError(f"{file}: --joints names joints of a skeleton; keypoints go by their layout")
        keypoints = (
            load_openpose(file, source_fps) if file.is_dir() else load_keypoints(file, source_fps, video_size)
        )
        name = file.name if file.is_dir() else file.stem
        return lift_keypoints(keypoints, name, hold_feet=hold_feet is not False)
    skeleton = _load_skeleton(file, kind, animation, source_fps)
    if animation is not None:
        skeleton = replace(skeleton, source=f"{file}, animation {animation}")
    if unit is not None:
        skeleton = skeleton.scaled(unit)
    result = retarget(skeleton, animation or file.stem, joints)
    if not skeleton.placed:
        note = "no path of the hips is recorded: the lower foot is put on the floor, and who stands stays"
        result = replace(result, motion=stand(result.motion), notes=(*result.notes, note))
    if not (hold_feet or (hold_feet is None and not skeleton.placed)):
        return result
    motion, notes = lock_feet(result.motion)
    return replace(result, motion=motion, notes=(*result.notes, *notes), feet_held=True)


def _load_skeleton(file: Path, kind: str, animation: str | None, source_fps: float | None) -> Bvh:
    if kind == ".npz":
        from vivant_build.mime.smpl import load_smpl

        return load_smpl(file, source_fps)
    if kind in GLTF_FILES:
        from vivant_build.mime.gltf import load_gltf

        return load_gltf(file, animation)
    if kind == ".amc":
        from vivant_build.mime.acclaim import load_amc

        return load_amc(file, source_fps)
    if kind == ".mvnx":
        from vivant_build.mime.mvnx import load_mvnx

        return load_mvnx(file)
    if kind == _MOTIVE:
        from vivant_build.mime.motive import load_motive

        return load_motive(file)
    if kind == ".fbx":
        from vivant_build.mime.blender.motions import convert_fbx

        converted = convert_fbx(file)
        name = choose_animation(file, tuple(converted), animation)
        return replace(load_bvh(converted[name]), source=str(file))
    return load_bvh(file, source_fps)


def is_motive(file: Path) -> bool:
    """Whether a table is an export of Motive, in place of keypoints."""
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as stream:
            return stream.readline().startswith("Format Version")
    except OSError:
        return False


def _holds_smpl(file: Path) -> bool:
    """Whether a file of arrays holds SMPL's turns, in place of keypoints."""
    from vivant_build.mime.keypoint_arrays import ARRAY_NAMES, load_arrays
    from vivant_build.mime.smpl import SMPL_ARRAYS

    names = load_arrays(file).keys()
    return bool(names & SMPL_ARRAYS) or not names & set(ARRAY_NAMES)


def list_animations(file: Path) -> tuple[str, ...]:
    """The animations of a file whose kind can hold several; empty for the other kinds, which hold one motion."""
    kind = file.suffix.lower()
    if kind in GLTF_FILES:
        from vivant_build.mime.gltf import list_gltf_animations

        return list_gltf_animations(file)
    if kind == ".fbx":
        from vivant_build.mime.blender.motions import convert_fbx

        return tuple(convert_fbx(file))
    return ()


def choose_animation(file: Path, names: tuple[str, ...], wanted: str | None) -> str:
    """The animation of a file that is wanted, or its only one."""
    if not names:
        raise DataError(f"{file}: it holds no animation; export it with its motion")
    if wanted is not None:
        if wanted not in names:
            raise unknown_name_error(f"animation of {file}", wanted, names)
        return wanted
    if len(names) > 1:
        raise UsageError(
            f"{file}: it holds {len(names)} animations ({', '.join(names[:12])}); choose one with "
            "`vivant build mime clean … --animation NAME`, or name a folder in place of a .bvh file to get each"
        )
    return names[0]


def build_bvh(
    names: list[str], parents: list[int], positions: Array, rotations: Array, fps: float, source: str
) -> Bvh:
    """A skeleton's global positions and rotations in the form of a BVH file, as `retarget` reads it.

    Args:
        names: Of the joints, each after its parent.
        parents: The parent's place in the list; -1 for the root.
        positions: (frames, joints, 3).
        rotations: (frames, joints, 3, 3), the identity in the rest pose.
        fps: Frames a second.
        source: What errors name.
    """
    size = float(np.ptp(positions[0], axis=0).max())
    if not np.isfinite(positions).all() or not np.isfinite(rotations).all():
        frame = int(np.argmin(np.isfinite(positions).all((1, 2)) & np.isfinite(rotations).all((1, 2, 3))))
        raise DataError(f"{source}: frame {frame + 1} holds a value that is no finite number")
    joints, columns = [], []
    for index, (name, parent) in enumerate(zip(names, parents, strict=True)):
        if parent < 0:
            beside, local = positions[:, index], rotations[:, index]
        else:
            inverse = np.swapaxes(rotations[:, parent], -1, -2)
            beside = np.einsum("fij,fj->fi", inverse, positions[:, index] - positions[:, parent])
            local = inverse @ rotations[:, index]
        offset = np.median(beside, axis=0)
        channels = tuple(f"{axis}rotation" for axis in _ORDER)
        if parent < 0 or np.abs(beside - offset).max() > _STILL * size:
            channels = ("Xposition", "Yposition", "Zposition", *channels)
            columns.append(beside)
        columns.append(to_euler(_ORDER, local))
        joints.append(
            BvhJoint(name, parent, (float(offset[0]), float(offset[1]), float(offset[2])), channels)
        )
    return Bvh(tuple(joints), 1 / fps, np.concatenate(columns, axis=1), source)
