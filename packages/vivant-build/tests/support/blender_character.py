"""Runs inside Blender: makes a simple rigged body with Mixamo's bone names, and a recording, for the tests.

    python blender_character.py FOLDER

Writes `body.fbx` and `body.glb` (arms hanging at 45°, centimetres in a skeleton scaled to metres, as Mixamo's
files are), `armless.fbx` (the same without a head), `bare.fbx` (no skeleton) and `wave.fbx` (its right hand waves).
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

import bpy  # type: ignore[import-not-found]
from mathutils import Vector  # type: ignore[import-not-found]

SIDE = {
    "Shoulder": ((0.03, 0, 1.42), (0.17, 0, 1.42), "Spine2", 0.05),
    "Arm": ((0.17, 0, 1.42), (0.37, 0, 1.22), "Shoulder", 0.055),
    "ForeArm": ((0.37, 0, 1.22), (0.55, 0, 1.04), "Arm", 0.045),
    "Hand": ((0.55, 0, 1.04), (0.62, 0, 0.97), "ForeArm", 0.045),
    "HandMiddle1": ((0.62, 0, 0.97), (0.68, 0, 0.91), "Hand", 0.035),
    "HandIndex1": ((0.62, -0.03, 0.97), (0.68, -0.03, 0.91), "Hand", 0.02),
    "UpLeg": ((0.09, 0, 0.92), (0.09, 0, 0.5), "Hips", 0.08),
    "Leg": ((0.09, 0, 0.5), (0.09, 0, 0.08), "UpLeg", 0.06),
    "Foot": ((0.09, 0, 0.08), (0.09, -0.13, 0.03), "Leg", 0.05),
    "ToeBase": ((0.09, -0.13, 0.03), (0.09, -0.2, 0.03), "Foot", 0.04),
}
TRUNK = {
    "Hips": ((0, 0, 0.96), (0, 0, 1.06), "", 0.12),
    "Spine": ((0, 0, 1.06), (0, 0, 1.16), "Hips", 0.12),
    "Spine1": ((0, 0, 1.16), (0, 0, 1.28), "Spine", 0.13),
    "Spine2": ((0, 0, 1.28), (0, 0, 1.46), "Spine1", 0.13),
    "Neck": ((0, 0, 1.46), (0, 0, 1.55), "Spine2", 0.05),
    "Head": ((0, 0, 1.55), (0, 0, 1.75), "Neck", 0.1),
}


def bones(armless: bool) -> dict[str, tuple[Any, Any, str, float]]:
    """All bones: head, tail, parent and girth, in metres, Z up, facing -Y."""
    found: dict[str, tuple[Any, Any, str, float]] = dict(TRUNK)
    for side, sign in (("Left", 1), ("Right", -1)):
        for name, (head, tail, parent, girth) in SIDE.items():
            if armless and side == "Right" and "Leg" not in name and name not in ("Foot", "ToeBase"):
                continue
            above = parent if parent in TRUNK else side + parent
            mirrored = [(sign * x, y, z) for x, y, z in (head, tail)]
            found[side + name] = (mirrored[0], mirrored[1], above, girth)
    return found


def make(armless: bool = False) -> Any:
    """A skeleton in centimetres, and a body of boxes that hangs on it."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = 30
    armature = bpy.data.objects.new("Armature", bpy.data.armatures.new("Armature"))
    scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    armature.scale = (0.01,) * 3
    bpy.ops.object.mode_set(mode="EDIT")
    for name, (head, tail, parent, _) in bones(armless).items():
        bone = armature.data.edit_bones.new("mixamorig:" + name)
        bone.head, bone.tail = Vector(head) * 100, Vector(tail) * 100
        if parent:
            bone.parent = armature.data.edit_bones["mixamorig:" + parent]
    bpy.ops.object.mode_set(mode="OBJECT")
    corners: list[Any] = []
    faces: list[Any] = []
    groups: dict[str, list[int]] = {}
    for name, (head, tail, _, girth) in bones(armless).items():
        start, end = Vector(head) * 100, Vector(tail) * 100
        turn = (end - start).to_track_quat("Z", "Y")
        place = len(corners)
        for z in (0.0, (end - start).length):
            for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corners.append(start + turn @ Vector((x * girth * 100, y * girth * 100, z)))
        quads = ((0, 1, 2, 3), (7, 6, 5, 4), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))
        faces += [tuple(place + n for n in quad) for quad in quads]
        groups["mixamorig:" + name] = list(range(place, place + 8))
    mesh = bpy.data.meshes.new("Body")
    mesh.from_pydata(corners, [], faces)
    paint = bpy.data.materials.new("Paint")
    paint.diffuse_color = (0.1, 0.3, 0.7, 1.0)
    paint.use_nodes = True
    paint.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.1, 0.3, 0.7, 1.0)
    mesh.materials.append(paint)
    body = bpy.data.objects.new("Body", mesh)
    scene.collection.objects.link(body)
    for name, members in groups.items():
        body.vertex_groups.new(name=name).add(members, 1.0, "REPLACE")
    body.parent = armature
    body.modifiers.new("Armature", "ARMATURE").object = armature
    return armature


def main() -> None:
    """Write all files."""
    folder = Path(sys.argv[-1])
    make()
    bpy.ops.export_scene.fbx(filepath=str(folder / "body.fbx"), add_leaf_bones=False, bake_anim=False)
    bpy.ops.export_scene.gltf(filepath=str(folder / "body.glb"), export_animations=False)
    make(armless=True)
    bpy.ops.export_scene.fbx(filepath=str(folder / "armless.fbx"), add_leaf_bones=False, bake_anim=False)
    armature = make()
    bone = armature.pose.bones["mixamorig:RightArm"]
    bone.rotation_mode = "QUATERNION"
    for frame in range(1, 31):
        bone.rotation_quaternion = (math.cos(frame / 30), math.sin(frame / 30), 0, 0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 30
    bpy.ops.export_scene.fbx(filepath=str(folder / "wave.fbx"), add_leaf_bones=False, bake_anim=True)
    armature.animation_data.action.name = "Wave"
    armature.animation_data.action = None
    bone.rotation_quaternion = (1, 0, 0, 0)
    bone = armature.pose.bones["mixamorig:LeftArm"]
    bone.rotation_mode = "QUATERNION"
    for frame in range(1, 21):
        bone.rotation_quaternion = (math.cos(frame / 30), math.sin(frame / 30), 0, 0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    armature.animation_data.action.name = "Greet"
    bpy.ops.export_scene.fbx(
        filepath=str(folder / "both.fbx"),
        add_leaf_bones=False,
        bake_anim=True,
        bake_anim_use_nla_strips=False,
        bake_anim_use_all_actions=True,
    )
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.export_scene.fbx(filepath=str(folder / "bare.fbx"))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
