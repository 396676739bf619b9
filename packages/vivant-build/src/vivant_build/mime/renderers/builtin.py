"""The renderers that need nothing but numpy and Pillow: dressed bodies, and the plain capsules of earlier editions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from vivant.core.errors import UsageError
from vivant_build.mime.camera import Camera
from vivant_build.mime.characters import Character
from vivant_build.mime.figure.dress import CharacterFigure, dress
from vivant_build.mime.figure.painter import FigurePainter
from vivant_build.mime.figure.skin import Skin, bind, bone_transforms, rest_joints
from vivant_build.mime.rasterizer import Layer, Painter
from vivant_build.mime.renderers import DrawnFrame, Performance
from vivant_build.mime.skeleton import Skeleton


class PlainCapsules:
    """Draws bodies of capsules."""

    # The name that it had when it was the only one: videos that it made stay valid.
    identity = "built-in 1"

    def layers(self, performance: Performance, camera: Camera) -> Iterator[Layer]:
        """See `Renderer.layers`."""
        shapes = _bundled(performance).pose(performance.motion)
        painter = Painter(camera)
        for number in range(len(shapes)):
            yield painter.paint(shapes, number)


class BuiltIn:
    """Draws modelled bodies in clothes; a character without a figure is drawn as capsules."""

    identity = "built-in 3"

    def layers(self, performance: Performance, camera: Camera) -> Iterator[DrawnFrame]:
        """See `Renderer.layers`."""
        body = _bundled(performance)
        if body.figure is None:
            yield from PlainCapsules().layers(performance, camera)
            return
        painter = FigurePainter(camera, load_skin(body.figure, body.skeleton))
        for bones in bone_transforms(performance.motion, body.skeleton):
            yield painter.paint(bones)


def _bundled(performance: Performance) -> Character:
    if isinstance(performance.body, Path):
        raise UsageError(
            f"{performance.body} is a character's file, which Blender draws; set `renderer: cycles`"
        )
    return performance.body


def load_skin(figure: CharacterFigure, skeleton: Skeleton) -> Skin:
    """A dressed body on a skeleton at rest; the shots of an edition show the same few again and again."""
    return _model(figure, _Rest(skeleton))


class _Rest:
    """A skeleton that equals another one with the same bones."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton
        self._bones = skeleton.offsets.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rest) and other._bones == self._bones

    def __hash__(self) -> int:
        return hash(self._bones)


@lru_cache(maxsize=8)
def _model(figure: CharacterFigure, rest: _Rest) -> Skin:
    return bind(dress(figure, rest_joints(rest.skeleton)))
