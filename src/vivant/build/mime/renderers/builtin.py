"""The built-in renderer: capsules in numpy, fast, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vivant.build.mime.camera import Camera
from vivant.build.mime.rasterizer import Layer, Painter
from vivant.build.mime.renderers import Performance
from vivant.core.errors import UsageError


class BuiltIn:
    """Draws bodies of capsules."""

    identity = "built-in 1"

    def layers(self, performance: Performance, camera: Camera) -> Iterator[Layer]:
        """See `Renderer.layers`."""
        if isinstance(performance.body, Path):
            raise UsageError(
                f"{performance.body} is a character's file, which Blender draws; set `renderer: cycles`"
            )
        shapes = performance.body.pose(performance.motion)
        painter = Painter(camera)
        for number in range(len(shapes)):
            yield painter.paint(shapes, number)
