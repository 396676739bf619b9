"""Runs inside Blender, never inside Vivant: does the one task of a job file, writes its answer, and ends.

    python script.py JOB.json                                    with bpy as a module
    blender --background --python script.py -- JOB.json          with a whole Blender

Tasks: `hello` (which version), `bones` (a character's skeleton at rest), `bvh` (a recording as BVH), `render`
(frames of a performance). Arrays come as .npz; frames leave as PNG, each renamed when it is whole. Blender's axes
are used throughout: Z is up. Whoever calls has a time limit, since Blender may hang.
"""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import bpy  # type: ignore[import-not-found]
import numpy as np
from mathutils import Matrix, Quaternion, Vector  # type: ignore[import-not-found]


class TaskRefusedError(Exception):
    """Something about the user's files, in a sentence."""


def main() -> None:
    """Do the job named last on the command line; the answer lies beside it."""
    file = Path(sys.argv[-1])
    job = json.loads(file.read_text(encoding="utf-8"))
    try:
        answer = TASKS[job["task"]](job)
    except TaskRefusedError as error:
        answer = {"refused": str(error)}
    except Exception as error:
        traceback.print_exc()
        answer = {"error": f"{type(error).__name__}: {error}"}
    part = file.with_name("answer.part")
    part.write_text(json.dumps(answer), encoding="utf-8")
    part.replace(file.with_name("answer.json"))
    sys.stdout.flush()
    # Blender as a module does not end by itself.
    os._exit(0)


def hello(_: dict[str, Any]) -> dict[str, Any]:
    """Which Blender this is."""
    return {"version": list(bpy.app.version)}


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def load(path: str) -> list[Any]:
    """Import a file into an empty scene; what came with it."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    try:
        if path.lower().endswith(".fbx"):
            bpy.ops.import_scene.fbx(filepath=path)
        else:
            bpy.ops.import_scene.gltf(filepath=path)
    except RuntimeError as error:
        line = str(error).strip().splitlines()[-1]
        raise TaskRefusedError(f"Blender cannot import it ({line})") from None
    return list(bpy.context.scene.objects)


def armature_of(objects: list[Any]) -> Any:
    """The largest skeleton."""
    armatures = [thing for thing in objects if thing.type == "ARMATURE"]
    if not armatures:
        raise TaskRefusedError("it holds no skeleton; export it with its armature")
    return max(armatures, key=lambda thing: len(thing.data.bones))


def order_bones(bones: Any) -> list[Any]:
    """Parents before children."""
    result: list[Any] = []

    def visit(bone: Any) -> None:
        result.append(bone)
        for child in bone.children:
            visit(child)

    for bone in bones:
        if bone.parent is None:
            visit(bone)
    return result


def bones(job: dict[str, Any]) -> dict[str, Any]:
    """The skeleton of a character at rest, in its own space, and where that space lies in the world."""
    objects = load(job["file"])
    armature = armature_of(objects)
    if not any(thing.type == "MESH" for thing in objects):
        raise TaskRefusedError("it holds a skeleton and no body; export the mesh with it")
    listed = order_bones(armature.data.bones)
    places = {bone.name: number for number, bone in enumerate(listed)}
    return {
        "world": [list(row) for row in armature.matrix_world],
        "bones": [
            {
                "name": bone.name,
                "parent": places[bone.parent.name] if bone.parent else -1,
                "head": list(bone.head_local),
                "tail": list(bone.tail_local),
                "rest": [list(row) for row in bone.matrix_local.to_3x3()],
            }
            for bone in listed
        ],
    }


def bvh(job: dict[str, Any]) -> dict[str, Any]:
    """Every animation of a file's skeleton as BVH in the job's folder, all frames of each; name → file."""
    armature = armature_of(load(job["file"]))
    current = armature.animation_data.action if armature.animation_data else None
    if current is None:
        raise TaskRefusedError("it holds no animation; export it with its motion")
    bones = {f'pose.bones["{bone.name}"]' for bone in armature.data.bones}
    actions = [
        action
        for action in bpy.data.actions
        if action == current or any(curve.data_path.rpartition(".")[0] in bones for curve in action.fcurves)
    ]
    bpy.ops.object.select_all(action="DESELECT")
    armature.select_set(True)
    bpy.context.view_layer.objects.active = armature
    made: dict[str, str] = {}
    names = name_animations([action.name for action in actions])
    for number, (name, action) in enumerate(zip(names, actions, strict=True)):
        armature.animation_data.action = action
        # From Blender 4.4 on an action moves nothing until one of its slots is chosen.
        if getattr(armature.animation_data, "action_slot", action) is None and action.slots:
            armature.animation_data.action_slot = action.slots[0]
        # What an earlier animation moved and this one does not stands as at rest.
        for bone in armature.pose.bones:
            bone.matrix_basis.identity()
        first, last = (round(value) for value in action.frame_range)
        part = f"{number}.bvh"
        bpy.ops.export_anim.bvh(
            filepath=str(Path(job["out"]) / part),
            frame_start=first,
            frame_end=last,
            rotate_mode="NATIVE",
            global_scale=1.0,
        )
        made[name] = part
    return {"animations": made}


def name_animations(names: list[str]) -> list[str]:
    """Blender's `Object|Take|Layer` without the parts that all of a file's animations share."""
    parts = [name.split("|") for name in names]
    while len(names) > 1 and all(len(each) > 1 and each[0] == parts[0][0] for each in parts):
        parts = [each[1:] for each in parts]
    while len(names) > 1 and all(len(each) > 1 and each[-1] == parts[0][-1] for each in parts):
        parts = [each[:-1] for each in parts]
    return ["|".join(each) for each in parts]


# ── rendering ────────────────────────────────────────────────────────────────────────────────────


def render(job: dict[str, Any]) -> dict[str, Any]:
    """Frames 0 … n-1 into the job's folder."""
    arrays = np.load(job["arrays"])
    if "file" in job:
        count = len(arrays["turns"])
        pose = cast_character(job, arrays)
    else:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        count = len(arrays["points" if "atlas" in job else "a"])
        pose = cast_mesh(job, arrays) if "atlas" in job else cast_capsules(arrays)
    set_up(job)
    scene, folder = bpy.context.scene, Path(job["frames"])
    for number in range(count):
        pose(number)
        part = folder / "part.png"
        scene.render.filepath = str(part)
        bpy.ops.render.render(write_still=True)
        part.replace(folder / f"{number:06d}.png")
    return {"frames": count}


def set_up(job: dict[str, Any]) -> None:
    """Engine, picture, camera, lights and, for Cycles, the floor that catches the shadow."""
    scene = bpy.context.scene
    drawn = scene.render
    drawn.engine = {"cycles": "CYCLES", "workbench": "BLENDER_WORKBENCH"}[job["engine"]]
    drawn.resolution_x, drawn.resolution_y, drawn.resolution_percentage = job["width"], job["height"], 100
    drawn.film_transparent = True
    drawn.threads_mode, drawn.threads = "FIXED", job["threads"]
    drawn.image_settings.file_format = "PNG"
    drawn.image_settings.color_mode, drawn.image_settings.color_depth = "RGBA", "8"
    drawn.image_settings.compression = 15
    drawn.use_persistent_data = True
    scene.view_settings.view_transform = "Standard"
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.data.sensor_fit, camera.data.angle = "VERTICAL", math.radians(job["field"])
    camera.matrix_world = Matrix(job["camera"])
    scene.collection.objects.link(camera)
    scene.camera = camera
    if job["engine"] == "workbench":
        shading = scene.display.shading
        shading.light, shading.show_shadows, shading.show_cavity = "STUDIO", False, True
        shading.show_specular_highlight = "file" in job
        shading.color_type = "TEXTURE" if "file" in job or "atlas" in job else "MATERIAL"
        scene.display.render_aa = "8"
        return
    scene.cycles.device, scene.cycles.samples = "CPU", job["samples"]
    scene.cycles.max_bounces = 1
    scene.cycles.use_denoising = False
    lamp = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    lamp.data.energy, lamp.data.angle = 1.9, math.radians(12.0)
    lamp.rotation_mode = "QUATERNION"
    lamp.rotation_quaternion = Vector(job["light"]).to_track_quat("Z", "Y")
    scene.collection.objects.link(lamp)
    world = bpy.data.worlds.new("world")
    world.use_nodes = True
    ambient = world.node_tree.nodes["Background"]
    ambient.inputs["Color"].default_value, ambient.inputs["Strength"].default_value = (1, 1, 1, 1), 0.5
    scene.world = world
    floor = bpy.data.meshes.new("floor")
    floor.from_pydata([(-30, -30, 0), (30, -30, 0), (30, 30, 0), (-30, 30, 0)], [], [(0, 1, 2, 3)])
    plane = bpy.data.objects.new("floor", floor)
    plane.is_shadow_catcher = True
    scene.collection.objects.link(plane)


def cast_character(job: dict[str, Any], arrays: Any) -> Any:
    """A character's file, scaled, its bones turned frame by frame."""
    objects = load(job["file"])
    armature = armature_of(objects)
    for thing in objects:
        if thing.type in ("CAMERA", "LIGHT"):
            bpy.data.objects.remove(thing)
    armature.animation_data_clear()
    holder = bpy.data.objects.new("holder", None)
    bpy.context.scene.collection.objects.link(holder)
    for thing in bpy.context.scene.objects:
        if thing.parent is None and thing is not holder:
            thing.parent = holder
    holder.scale = (job["scale"],) * 3
    posed = [armature.pose.bones[name] for name in job["bones"]]
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
        bone.rotation_mode = "QUATERNION"
        while bone.constraints:
            bone.constraints.remove(bone.constraints[0])
    hips = armature.pose.bones[job["hips"]]
    turns, places = arrays["turns"], arrays["places"]

    def pose(number: int) -> None:
        for bone, turn in zip(posed, turns[number], strict=True):
            bone.rotation_quaternion = Quaternion(turn.tolist())
        hips.location = places[number].tolist()
        bpy.context.view_layer.update()

    return pose


def cast_mesh(job: dict[str, Any], arrays: Any) -> Any:
    """A dressed body in one mesh, whose corners and normals are given for every frame."""
    points, normals, faces = arrays["points"], arrays["normals"], arrays["faces"]
    mesh = bpy.data.meshes.new("body")
    mesh.from_pydata(points[0].tolist(), [], faces.tolist())
    mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
    layer = mesh.uv_layers.new(name="places")
    layer.data.foreach_set("uv", arrays["places"][faces.ravel()].astype(np.float32).ravel())
    material = bpy.data.materials.new("clothes")
    material.use_nodes = True
    nodes = material.node_tree.nodes
    picture = nodes.new("ShaderNodeTexImage")
    picture.image = bpy.data.images.load(job["atlas"])
    picture.interpolation = "Closest"
    nodes.active = picture
    surface = nodes["Principled BSDF"]
    surface.inputs["Roughness"].default_value = 0.9
    material.node_tree.links.new(picture.outputs["Color"], surface.inputs["Base Color"])
    mesh.materials.append(material)
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("body", mesh))

    def pose(number: int) -> None:
        mesh.vertices.foreach_set("co", points[number].astype(np.float32).ravel())
        mesh.normals_split_custom_set_from_vertices(normals[number].tolist())
        mesh.update()
        bpy.context.view_layer.update()

    return pose


def cast_capsules(arrays: Any) -> Any:
    """Two balls and a tapered tube for every capsule, put in place frame by frame."""
    a, b, colours = arrays["a"], arrays["b"], arrays["colours"]
    ball = _solid("ball", [(math.sin(t), -math.cos(t)) for t in np.linspace(0, math.pi, 13)])
    parts = []
    for n, (r1, r2) in enumerate(zip(arrays["r1"], arrays["r2"], strict=True)):
        tube = _solid("tube", [(float(r1), 0.0), (float(r2), 1.0)])
        material = bpy.data.materials.new(f"paint{n}")
        linear = [_linear(float(tone) / 255) for tone in colours[n]]
        material.diffuse_color = (*linear, 1.0)
        material.roughness = 0.9
        material.use_nodes = True
        surface = material.node_tree.nodes["Principled BSDF"]
        surface.inputs["Base Color"].default_value = (*linear, 1.0)
        surface.inputs["Roughness"].default_value = 0.9
        objects = []
        for mesh in (ball.copy(), ball.copy(), tube):
            mesh.materials.append(material)
            thing = bpy.data.objects.new(mesh.name, mesh)
            bpy.context.scene.collection.objects.link(thing)
            objects.append(thing)
        parts.append((objects, float(r1), float(r2)))

    def pose(number: int) -> None:
        for n, ((first, second, tube), r1, r2) in enumerate(parts):
            start, end = Vector(a[number, n]), Vector(b[number, n])
            first.matrix_world = Matrix.Translation(start) @ Matrix.Scale(r1, 4)
            second.matrix_world = Matrix.Translation(end) @ Matrix.Scale(r2, 4)
            along = end - start
            turn = along.to_track_quat("Z", "Y").to_matrix().to_4x4() if along.length > 1e-6 else Matrix()
            stretch = Matrix.Diagonal((1.0, 1.0, max(along.length, 1e-5), 1.0))
            tube.matrix_world = Matrix.Translation(start) @ turn @ stretch
        bpy.context.view_layer.update()

    return pose


def _solid(name: str, outline: list[tuple[float, float]], around: int = 20) -> Any:
    """A smooth surface of revolution about Z from (radius, height) points."""
    angles = [2 * math.pi * k / around for k in range(around)]
    corners = [(r * math.cos(t), r * math.sin(t), z) for r, z in outline for t in angles]
    faces = [
        (
            i * around + k,
            i * around + (k + 1) % around,
            (i + 1) * around + (k + 1) % around,
            (i + 1) * around + k,
        )
        for i in range(len(outline) - 1)
        for k in range(around)
    ]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], faces)
    mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
    return mesh


def _linear(tone: float) -> float:
    """From the screen's tone curve to light."""
    return tone / 12.92 if tone <= 0.04045 else ((tone + 0.055) / 1.055) ** 2.4


TASKS = {"hello": hello, "bones": bones, "bvh": bvh, "render": render}

if __name__ == "__main__":
    main()
