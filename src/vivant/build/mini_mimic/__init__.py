"""MIMIC-mini: forty-eight drawn clips with invented titles, tags and comments, and all tasks about them.

`build_mini_mimic(out)` writes a folder in the format of docs/mimic.md. The clips are drawn by the modules
here, what their makers say stands in `world.yaml`, how viewers write in `voices.yaml`; two builds with the
same libraries are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, VideoLine, write_jsonl


def build_mini_mimic(out: Path, progress: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Write the mini-edition into a folder and return its files."""
    from vivant.build.mime.video import encode
    from vivant.build.mini_mimic.clips import FPS, SIZE, frames, load_clips
    from vivant.build.mini_mimic.comments import Thread, write_thread
    from vivant.build.mini_mimic.items import make_items

    clips = load_clips()
    world, voices = _read("world.yaml"), _read("voices.yaml")
    (out / "videos").mkdir(parents=True, exist_ok=True)
    written = [out / VIDEOS, out / ITEMS]
    videos: list[VideoLine] = []
    threads: dict[str, Thread] = {}
    for number, entry in enumerate(world):
        clip = clips[entry["clip"]]
        name = _id(entry["clip"])
        thread = write_thread(entry, voices, turn=sum(bool(t.ranks) for t in threads.values()))
        video = VideoLine(
            platform=entry["platform"],
            id=name,
            file=f"videos/{name}.mp4",
            title=entry["title"],
            description=entry["description"],
            tags=tuple(entry["tags"]),
            topics=tuple(entry["topics"]),
            category=entry["category"],
            language=entry.get("lang", "en"),
            duration=clip.seconds,
            width=SIZE[0],
            height=SIZE[1],
            comment_count=len(thread.comments),
            licence="Apache-2.0",
            source="drawn by vivant.build.mini_mimic",
            comments=thread.comments,
        )
        encode(frames(clip), out / video.file, FPS, crf=27, preset="slow")
        written.append(out / video.file)
        videos.append(video)
        threads[video.ref] = thread
        if (number + 1) % 12 == 0:
            progress(f"{number + 1} of {len(world)} clips drawn")
    write_jsonl(out / VIDEOS, videos)
    write_jsonl(out / ITEMS, list(make_items(videos, threads)))
    return written


def _id(clip: str) -> str:
    """Eight letters that say nothing about the clip: file names reach models that take files."""
    return hashlib.sha256(f"mimic-mini/{clip}".encode()).hexdigest()[:8]


def _read(name: str) -> Any:
    return yaml.safe_load(resources.files(__package__).joinpath(name).read_text("utf-8"))
