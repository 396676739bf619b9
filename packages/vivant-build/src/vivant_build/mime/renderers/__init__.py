"""Renderers behind one interface: a performance and a camera in, one layer with alpha a frame out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vivant.core.errors import unknown_name_error
from vivant_build.mime.camera import Camera
from vivant_build.mime.characters import Character
from vivant_build.mime.motion import Motion
from vivant_build.mime.rasterizer import Picture, Plane

RENDERERS = ("built-in", "capsules", "cycles", "workbench")
"""`built-in` models and dresses the bodies; `capsules` is the plain look of the bundled mini-edition."""


@dataclass(frozen=True, eq=False)
class Performance:
    """A motion at the rate of the video, and who does it."""

    motion: Motion
    body: Character | Path
    """A bundled body, or a character's file, which Blender alone can draw."""
    size: float = 1.0
    """How tall the actor is; a bundled body has it built in."""


class DrawnFrame(Protocol):
    """A drawn frame: the body and its shadow."""

    @property
    def solid(self) -> int:
        """How many pixels the body itself covers."""

    def over(self, background: Plane, still: Picture) -> Picture:
        """The frame before a background (3, height, width), which `still` holds as a finished picture."""

    def alone(self, width: int, height: int) -> Picture:
        """The whole frame as RGBA (height, width, 4), alpha straight, as PNG stores it."""


class Renderer(Protocol):
    """Draws a performance. The frames carry alpha and a shadow on the floor, and no background."""

    @property
    def identity(self) -> str:
        """Its name and whatever else changes its pictures: what another identity drew is drawn anew."""

    def layers(self, performance: Performance, camera: Camera) -> Iterator[DrawnFrame]:
        """One layer a frame, in order, made as they are asked for. `DrawnFrame.alone` gives RGBA pictures."""


def find_renderer(name: str, samples: int = 32) -> Renderer:
    """A renderer by name. Raises a line that says what to do where Blender is asked for and not there.

    `samples` is how many rays Cycles sends through each pixel.
    """
    if name not in RENDERERS:
        raise unknown_name_error("renderer", name, RENDERERS)
    if name in ("built-in", "capsules"):
        from vivant_build.mime.renderers.builtin import BuiltIn, PlainCapsules

        return BuiltIn() if name == "built-in" else PlainCapsules()
    from vivant_build.mime.renderers.blender import Blender

    return Blender(name, samples=samples)
