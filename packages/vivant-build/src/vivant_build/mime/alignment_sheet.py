"""Pictures to review choices by: every action before the background that fits it and the one that does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PIL import Image, ImageDraw, ImageFont

from vivant.core.errors import DataError
from vivant.core.progress import ProgressCallback
from vivant_build.mime.bundled_characters import make_character
from vivant_build.mime.plan import Staging
from vivant_build.mime.plan_file import Specification
from vivant_build.mime.rasterizer import Picture
from vivant_build.mime.renderers import Performance
from vivant_build.mime.rendering import ActionSetup, load_background, set_up_action
from vivant_build.mime.video import render_frames

if TYPE_CHECKING:
    from vivant_build.mime.background_alignment import Alignment

_CELL = (200, 150)
_ACROSS, _GAP, _CAPTION = 3, 6, 32
_RATE = 10.0


def draw_alignment_sheet(
    spec: Specification,
    alignments: Sequence[Alignment],
    out: Path,
    root: Path,
    progress: ProgressCallback | None = None,
) -> Path:
    """Pairs of pictures, aligned at the left, misaligned at the right, as the format that `out` names."""
    small = msgspec.structs.replace(spec, width=_CELL[0], height=_CELL[1], fps=_RATE, crop=None, seconds=None)
    labels = {action.name: action.labels for action in spec.cast}
    wide, high = 2 * _CELL[0] + _GAP, _CELL[1] + _CAPTION
    rows = -(-len(alignments) // _ACROSS)
    sheet = Image.new("RGB", (_ACROSS * (wide + 3 * _GAP), rows * (high + _GAP)), (255, 255, 255))
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=12)
    for number, alignment in enumerate(alignments):
        staging = Staging(
            action=alignment.action,
            actor=spec.actors[number % len(spec.actors)],
            labels=labels[alignment.action],
            distractors=alignment.distractors,
            aligned=alignment.aligned,
            misaligned=alignment.misaligned,
        )
        scene = set_up_action(small, staging, root)
        left, top = number % _ACROSS * (wide + 3 * _GAP), number // _ACROSS * (high + _GAP)
        pen.text(
            (left, top), f"{alignment.action}: {labels[alignment.action][0]}", fill=(20, 20, 20), font=font
        )
        for column, background in enumerate((alignment.aligned, alignment.misaligned)):
            x = left + column * (_CELL[0] + _GAP)
            pen.text((x, top + 15), background, fill=((20, 110, 50), (170, 40, 30))[column], font=font)
            sheet.paste(Image.fromarray(_still(small, scene, background, root)), (x, top + _CAPTION))
        if progress is not None:
            progress(number + 1, len(alignments), alignment.action)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        sheet.save(out, quality=84, optimize=True)
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror or error}") from None
    return out


def _still(spec: Specification, scene: ActionSetup, background: str, root: Path) -> Picture:
    """The man in the middle of the motion, before a background."""
    frame = len(scene.motion) // 2
    moment = replace(
        scene.motion,
        root=scene.motion.root[frame : frame + 1],
        rotations=scene.motion.rotations[frame : frame + 1],
    )
    planes = load_background(spec, background, scene.camera, root)
    look = "capsules" if spec.renderer == "capsules" else "built-in"
    return next(
        render_frames(Performance(moment, make_character("man", scene.stature)), scene.camera, planes, look)
    )
