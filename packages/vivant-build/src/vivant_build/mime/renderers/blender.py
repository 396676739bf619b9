"""Blender behind the renderers' interface: frames come back as PNG files and leave as layers, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from vivant_build.mime.blender.character import TO_BLENDER, drive, read_bones
from vivant_build.mime.blender.process import (
    BlenderError,
    find_blender,
    iter_frames,
    job_folder,
    start_blender,
    time_limit,
)
from vivant_build.mime.bundled_characters import make_character
from vivant_build.mime.camera import Camera
from vivant_build.mime.characters import Character
from vivant_build.mime.figure.skin import bone_transforms, pose
from vivant_build.mime.motion import Motion
from vivant_build.mime.rasterizer import LIGHT, Layer, Painter, Plane
from vivant_build.mime.renderers import Performance
from vivant_build.mime.renderers.builtin import load_skin

_LIMIT = 900.0
"""Seconds for one frame, and for Blender to start."""


class Blender:
    """Cycles (light, shadows caught by the floor) or Workbench (quick; the built-in renderer's shadow)."""

    def __init__(self, engine: str, *, limit: float | None = None, samples: int = 32) -> None:
        self._engine = engine
        self._limit = time_limit(_LIMIT) if limit is None else limit
        self._samples = samples
        self._found = find_blender()

    @property
    def identity(self) -> str:
        """See `Renderer.identity`."""
        samples = f" {self._samples}" if self._engine == "cycles" else ""
        # The scenes behind the body and the bodies are in their second look.
        return f"{self._engine}{samples} Blender {self._found.version}, scenes 2, bodies 2"

    def layers(self, performance: Performance, camera: Camera) -> Iterator[Layer]:
        """See `Renderer.layers`."""
        name = f"{performance.motion.name}, {camera.angle:g}°"
        with job_folder() as folder:
            frames = folder / "frames"
            frames.mkdir()
            arrays = folder / "arrays.npz"
            job = self._job(performance, camera, arrays)
            job |= {"arrays": str(arrays), "frames": str(frames)}
            shadow = _Shadow(performance, camera) if self._engine == "workbench" else None
            with start_blender(self._found, job, folder) as process:
                count = len(performance.motion)
                for number, file in enumerate(iter_frames(process, folder, frames, count, self._limit, name)):
                    layer = _read(file, camera, name)
                    yield shadow.under(layer, number) if shadow is not None else layer

    def _job(self, performance: Performance, camera: Camera, arrays: Path) -> dict[str, Any]:
        job: dict[str, Any] = {
            "task": "render",
            "engine": self._engine,
            "samples": self._samples,
            # A job has one core; --workers says how many there are.
            "threads": 1,
            "width": camera.width,
            "height": camera.height,
            "field": camera.field,
            "camera": _place_camera(camera),
            "light": [float(value) for value in TO_BLENDER @ (np.asarray(LIGHT, float) @ camera.axes)],
        }
        if isinstance(performance.body, Character):
            return job | _save_body(performance.body, performance.motion, arrays)
        bones = read_bones(performance.body)
        driven = drive(bones, performance.motion, performance.size, str(performance.body))
        np.savez(arrays, turns=driven.turns, places=driven.places)
        file = str(performance.body.resolve())
        return job | {"file": file, "bones": driven.names, "hips": driven.hips, "scale": driven.scale}


def _save_body(body: Character, motion: Motion, arrays: Path) -> dict[str, str]:
    """A bundled body in every frame: modelled and dressed as the built-in renderer draws it, else its capsules."""
    if body.figure is None:
        shapes = body.pose(motion)
        a, b = (ends @ TO_BLENDER.T for ends in (shapes.a, shapes.b))
        np.savez(arrays, a=a, b=b, r1=shapes.r1, r2=shapes.r2, colours=shapes.colours)
        return {}
    skin = load_skin(body.figure, body.skeleton)
    posed = [pose(skin, bones) for bones in bone_transforms(motion, body.skeleton)]
    points, normals = (np.stack(each).swapaxes(1, 2) @ TO_BLENDER.T for each in zip(*posed, strict=True))
    high, wide = skin.atlas.shape[:2]
    places = np.stack([skin.spots[0] / wide, 1 - skin.spots[1] / high], axis=1)
    np.savez(arrays, points=points, normals=normals, faces=skin.faces.T, places=places)
    atlas = arrays.with_name("atlas.png")
    Image.fromarray(skin.atlas[..., :3]).save(atlas)
    return {"atlas": str(atlas)}


def _place_camera(camera: Camera) -> list[list[float]]:
    """The camera's place and axes as Blender wants them: it looks along its own -Z, up is +Y."""
    right, down, forward = camera.axes
    matrix = np.eye(4)
    matrix[:3, :3] = TO_BLENDER @ np.stack([right, -down, -forward], axis=1)
    matrix[:3, 3] = TO_BLENDER @ camera.position
    return [[float(value) for value in row] for row in matrix]


def _read(file: Path, camera: Camera, name: str) -> Layer:
    """A frame as a layer: the part that is not empty, colours multiplied by alpha."""
    try:
        with Image.open(file) as picture:
            pixels = np.asarray(picture.convert("RGBA"), np.float32) / np.float32(255)
    except (OSError, UnidentifiedImageError, SyntaxError) as error:
        raise BlenderError(f"{name}: Blender's frame cannot be read ({error})") from None
    if pixels.shape != (camera.height, camera.width, 4):
        raise BlenderError(f"{name}: Blender drew {pixels.shape[1]}×{pixels.shape[0]} pixels")
    rows, columns = (np.flatnonzero(pixels[..., 3].any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return Layer(0, 0, np.zeros((4, 1, 1), np.float32))
    top, left = int(rows[0]), int(columns[0])
    window = pixels[top : int(rows[-1]) + 1, left : int(columns[-1]) + 1]
    planes: Plane = np.ascontiguousarray(window.transpose(2, 0, 1))
    planes[:3] *= planes[3]
    return Layer(top, left, planes)


class _Shadow:
    """The floor's shadow for an engine that has none, cast by a body of capsules in the same motion."""

    def __init__(self, performance: Performance, camera: Camera) -> None:
        body = performance.body
        caster = body if isinstance(body, Character) else make_character("man", performance.size)
        self._shapes = caster.pose(performance.motion)
        self._painter = Painter(camera)

    def under(self, layer: Layer, number: int) -> Layer:
        """The layer with the shadow behind it."""
        dark = self._painter.shadow(self._shapes, number)
        return layer if dark is None else layer.with_shadow(dark)
