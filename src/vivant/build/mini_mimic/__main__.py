"""Rebuild the mini-edition, and its contact sheet: `python -m vivant.build.mini_mimic FOLDER [SHEET]`."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from vivant.build.mini_mimic import build_mini_mimic
from vivant.build.mini_mimic.clips import SIZE, draw, load_clips

_COLUMNS = 8


def draw_sheet(out: Path) -> Path:
    """One picture of every clip, in the order of the world."""
    clips = list(load_clips().values())
    rows = -(-len(clips) // _COLUMNS)
    sheet = Image.new("RGB", (_COLUMNS * (SIZE[0] + 2) - 2, rows * (SIZE[1] + 2) - 2), (255, 255, 255))
    for number, clip in enumerate(clips):
        row, column = divmod(number, _COLUMNS)
        sheet.paste(Image.fromarray(draw(clip, 0.6)), (column * (SIZE[0] + 2), row * (SIZE[1] + 2)))
    sheet.save(out, quality=80, optimize=True)
    return out


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m vivant.build.mini_mimic FOLDER [SHEET]")
    build_mini_mimic(Path(sys.argv[1]), print)
    if len(sys.argv) == 3:
        draw_sheet(Path(sys.argv[2]))
