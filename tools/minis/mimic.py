"""MIMIC-mini: the pipeline's own product, from the invented world, with the chosen videos drawn.

`build_mini(out)` makes a small world, cleans it, and takes it through every step to a folder in the format of
docs/mimic.md. Two builds with the same libraries are equal.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import av
import msgspec
from PIL import Image

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, MimicVideo, iter_items, iter_videos
from vivant.core.errors import DataError
from vivant.core.files import write_jsonl
from vivant_build.mimic.audit import audit, read_report
from vivant_build.mimic.cleaning import clean
from vivant_build.mimic.mini import SECONDS, SETTINGS, SIZE, WORLD, read_topics, render_mini_clip
from vivant_build.mimic.selection import select_videos
from vivant_build.mimic.split import split_videos
from vivant_build.mimic.tasks import make_tasks
from vivant_build.mimic.world import make_world


def build_mini(out: Path, progress: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Write the mini-edition into a folder and return its files."""
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        make_world(work, WORLD)
        progress("the world is made")
        clean(work, SETTINGS)
        progress("it is clean")
        select_videos(work, SETTINGS)
        split_videos(work, SETTINGS)
        make_tasks(work, SETTINGS)
        audit(work, SETTINGS, redraw=True)
        failing = read_report(work).failing
        if failing:
            raise DataError(
                f"The mini-edition gives something away in {', '.join(failing)}; choose another seed"
            )
        progress("questions are asked")
        topics = read_topics(work)
        (out / "videos").mkdir(parents=True, exist_ok=True)
        written = [out / VIDEOS, out / ITEMS]
        videos = [_describe_drawn(line) for _, line in iter_videos(work / "tasks")]
        write_jsonl(out / VIDEOS, videos)
        write_jsonl(out / ITEMS, [item for _, item in iter_items(work / "audit")])
        for number, video in enumerate(videos):
            render_mini_clip(topics[video.ref], out / video.path)
            written.append(out / video.path)
            if (number + 1) % 12 == 0:
                progress(f"{number + 1} of {len(videos)} clips drawn")
    return written


def _describe_drawn(line: MimicVideo) -> MimicVideo:
    """The line of a video that is drawn: its file is short and small, and this project's own."""
    return msgspec.structs.replace(
        line, duration=SECONDS, width=SIZE[0], height=SIZE[1], licence="Apache-2.0", extra={}
    )


def draw_sheet(folder: Path, out: Path, columns: int = 8) -> Path:
    """One picture of every clip of an edition, in the order of the file."""
    pictures = []
    for _, line in iter_videos(folder):
        with av.open(str(folder / line.path)) as container:
            frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        pictures.append(Image.fromarray(frames[round(0.6 * (len(frames) - 1))]))
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (columns * (SIZE[0] + 2) - 2, rows * (SIZE[1] + 2) - 2), (255, 255, 255))
    for number, picture in enumerate(pictures):
        row, column = divmod(number, columns)
        sheet.paste(picture, (column * (SIZE[0] + 2), row * (SIZE[1] + 2)))
    sheet.save(out, quality=80, optimize=True)
    return out


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m minis.mimic FOLDER [SHEET]")
    build_mini(Path(sys.argv[1]), print)
    if len(sys.argv) == 3:
        draw_sheet(Path(sys.argv[1]), Path(sys.argv[2]))
