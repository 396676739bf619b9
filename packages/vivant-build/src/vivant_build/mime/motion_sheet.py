"""A motion as a picture: eight moments from the front and from the side, so that a wrong reading is seen at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from vivant.core.errors import UsageError
from vivant_build.mime.bundled_characters import make_character
from vivant_build.mime.motion import Motion
from vivant_build.mime.renderers import Performance
from vivant_build.mime.scenes import draw_background
from vivant_build.mime.video import frame_motion, render_frames, strip

_SIZE = (320, 240)
_HEIGHT = 200


def draw_motion_sheet(motion: Motion, out: Path, frames: int = 8) -> Path:
    """Draw moments of a motion, the front above and the side below, as a picture whose format `out` names."""
    moments = np.unique(np.linspace(0, len(motion) - 1, frames).round().astype(int))
    # In the middle of each picture, however far the recording walks: poses and heights are what is looked at.
    centred = motion.root[moments] * np.array([0.0, 1.0, 0.0])
    sample = replace(motion, root=centred, rotations=motion.rotations[moments])
    body = make_character("man")
    camera = frame_motion(body.pose(sample), _SIZE)
    rows = []
    for angle in (0.0, 90.0):
        view = replace(camera, angle=angle)
        pictures = render_frames(Performance(sample, body), view, draw_background("blank", view))
        rows.append(strip(list(pictures), _HEIGHT))
    sheet = Image.new("RGB", (rows[0].width, 2 * _HEIGHT), (255, 255, 255))
    for index, row in enumerate(rows):
        sheet.paste(row, (0, index * _HEIGHT))
    try:
        sheet.save(out, quality=82, optimize=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"{out} cannot be written: {error}") from None
    return out
