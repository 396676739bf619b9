"""Layouts of keypoints: which point of a body each number is.

Points that a layout shares with others have one name everywhere; those that nothing uses are named as they come.
"""

from __future__ import annotations


def _pairs(*names: str) -> tuple[str, ...]:
    """Left and right of each."""
    return tuple(f"{side}_{name}" for name in names for side in ("left", "right"))


def _others(count: int) -> tuple[str, ...]:
    """Points of faces and fingers, which nothing here follows."""
    return tuple(f"other_{number}" for number in range(count))


_EYES = ("eye_inner", "eye", "eye_outer")
BLAZEPOSE = (
    "nose",
    *(f"{side}_{name}" for side in ("left", "right") for name in _EYES),
    *(*_pairs("ear"), "mouth_left", "mouth_right"),
    *_pairs(
        "shoulder", "elbow", "wrist", "pinky", "index", "thumb", "hip", "knee", "ankle", "heel", "foot_index"
    ),
)
"""MediaPipe's 33."""
COCO = ("nose", *_pairs("eye", "ear", "shoulder", "elbow", "wrist", "hip", "knee", "ankle"))
HUMAN36M = (
    *("root", "right_hip", "right_knee", "right_ankle", "left_hip", "left_knee", "left_ankle"),
    *("spine", "thorax", "neck_base", "head"),
    *("left_shoulder", "left_elbow", "left_wrist", "right_shoulder", "right_elbow", "right_wrist"),
)
MPII = (
    *("right_ankle", "right_knee", "right_hip", "left_hip", "left_knee", "left_ankle", "root", "thorax"),
    *("neck", "head", "right_wrist", "right_elbow", "right_shoulder"),
    *("left_shoulder", "left_elbow", "left_wrist"),
)
HALPE = (*COCO, "head", "neck", "root", *_pairs("foot_index", "small_toe", "heel"))
"""The 26 of Halpe's bodies."""
WHOLEBODY = (
    *COCO,
    *("left_foot_index", "left_small_toe", "left_heel", "right_foot_index", "right_small_toe", "right_heel"),
    *_others(110),
)
"""COCO-WholeBody's 133: the body, feet, face and fingers."""
_ARMS = (
    *("nose", "neck", "right_shoulder", "right_elbow", "right_wrist"),
    *("left_shoulder", "left_elbow", "left_wrist"),
)
_LEGS = ("right_hip", "right_knee", "right_ankle", "left_hip", "left_knee", "left_ankle")
_FACE = ("right_eye", "left_eye", "right_ear", "left_ear")
BODY_25 = (
    *(*_ARMS, "root", *_LEGS, *_FACE),
    *("left_foot_index", "left_small_toe", "left_heel", "right_foot_index", "right_small_toe", "right_heel"),
)
OPENPOSE_COCO = (*_ARMS, *_LEGS, *_FACE)
SMPL_JOINTS = (
    *("root", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle"),
    *("right_ankle", "spine3", "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head"),
    *("left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist"),
    *("left_hand", "right_hand"),
)
KINECT = (
    *("root", "spine", "neck", "head", "left_shoulder", "left_elbow", "left_wrist", "left_hand"),
    *(
        "right_shoulder",
        "right_elbow",
        "right_wrist",
        "right_hand",
        "left_hip",
        "left_knee",
        "left_ankle",
        "left_foot",
    ),
    *("right_hip", "right_knee", "right_ankle", "right_foot", "thorax"),
    *("left_hand_tip", "left_thumb", "right_hand_tip", "right_thumb"),
)
FLAT_LAYOUTS = {
    len(layout): layout
    for layout in (COCO, MPII, HALPE, WHOLEBODY, (*HALPE, *_others(110)), BODY_25, OPENPOSE_COCO)
}
"""Layouts of points in a picture by their number; 136 are Halpe's with face and fingers."""
DEEP_LAYOUTS = {**FLAT_LAYOUTS, len(HUMAN36M): HUMAN36M}
"""Likewise of points with depth, where 17 are Human3.6M's."""
