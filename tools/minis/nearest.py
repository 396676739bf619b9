"""The look-up table of the baseline `nearest`: the videos that `vivant/tiny` learns from, as 8 × 6 pixels.

    PYTHONPATH=tools python -m minis.nearest LESSONS OUT

LESSONS is the folder `lessons` that `python tools/tiny WORK` writes; OUT is `packages/vivant/src/vivant/mini/nearest`.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

import av
import msgspec
import numpy as np
from PIL import Image

from tiny.training_data import MIME, MIMIC
from vivant.benchmarks.data_files import iter_json_objects
from vivant.benchmarks.mimic.format import iter_items, iter_videos
from vivant.models.nearest import PICTURES, TEXTS, Thumbnails, shrink, spread

_STEP = 8
"""Pixels are rounded by so much: the file halves, and distances between videos hardly change."""
_LEFT_OUT = "comment-popularity"
"""Which comment is liked most says nothing about the video."""


def make_table(lessons: Path, out: Path) -> int:
    """Write the table and return how many videos it holds."""
    texts: dict[Path, list[str]] = {}
    folder = lessons / f"{MIMIC}-train"
    files = {line.ref: folder / line.path for _, line in iter_videos(folder)}
    for _, item in iter_items(folder):
        if item.task != _LEFT_OUT and item.key is not None:
            texts.setdefault(files[item.video], []).append(item.options[item.key].text)
    for take in sorted(lessons.glob(f"{MIME}-[0-9]*")):
        for _, row in iter_json_objects(take / "metadata.jsonl"):
            texts[take / row["file_name"]] = row["label"].split("|")
    thumbnails = np.stack([_shrink_video(path) for path in texts]) // _STEP * _STEP + _STEP // 2
    out.mkdir(parents=True, exist_ok=True)
    Image.fromarray(thumbnails.reshape(len(texts), -1, 3)).save(out / PICTURES, optimize=True)
    (out / TEXTS).write_bytes(msgspec.json.encode([list(dict.fromkeys(group)) for group in texts.values()]))
    return len(texts)


def _shrink_video(path: Path) -> Thumbnails:
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    encoded = []
    for index in spread(len(frames)):
        buffer = BytesIO()
        Image.fromarray(frames[index]).save(buffer, "BMP")
        encoded.append(buffer.getvalue())
    return shrink(encoded)


if __name__ == "__main__":
    print(make_table(Path(sys.argv[1]), Path(sys.argv[2])), "videos")
