"""A small world to learn from: a coloured ball that moves over some ground, with texts about both and where it goes.

Title, tag and category tell the scene (colour and ground), the topic tells the motion, which no single frame and
no set of frames without order shows: balls leave on one side and come back on the other.
"""

from __future__ import annotations

import csv
import multiprocessing
import os
import socket
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import msgspec
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS
from vivant.core.randomness import derive_generator

SIDE, TIMES, FPS = 64, 16, 8
COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 200, 60),
    "blue": (50, 80, 230),
    "yellow": (230, 210, 40),
    "purple": (160, 60, 200),
    "white": (240, 240, 240),
}
GROUNDS = {"sea": (12, 28, 70), "sand": (72, 58, 26), "grass": (14, 56, 20), "night": (14, 13, 16)}
"""Dark, so that every ball is brighter: which edge of it leads can then be told from one difference of frames."""
MOTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
SCENE, MOTION = ("title", "tag", "category"), ("topic",)


def frames(
    colour: str,
    ground: str,
    motion: str,
    chance: Any,
    side: int = SIDE,
    times: int = TIMES,
    pace: float = 1.0,
) -> Any:
    """The frames of one clip, [times, side, side, 3]."""
    below = [tone + chance.randint(-12, 12) for tone in GROUNDS[ground]]
    clip = np.tile(np.array(below, np.uint8), (times, side, side, 1))
    size, speed = side * chance.uniform(0.13, 0.19), side * pace * chance.uniform(0.03, 0.05)
    x, y = chance.uniform(0, side), chance.uniform(0, side)
    across, along = MOTIONS[motion]
    rows, columns = np.mgrid[0:side, 0:side]
    for time in range(times):
        dx = (columns - x - across * speed * time + side / 2) % side - side / 2
        dy = (rows - y - along * speed * time + side / 2) % side - side / 2
        clip[time][dx**2 + dy**2 <= size**2] = COLOURS[colour]
    return clip


def _encode(clip: Any, path: Path) -> None:
    """Write frames as H.264; the same bytes on every processor."""
    exact = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
    reformatter = VideoReformatter()
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.height, stream.width = clip.shape[1:3]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        stream.options = {"crf": "23", "g": str(10 * FPS), "x264-params": "cpu-independent=1"}
        for number, pixels in enumerate(clip):
            picture = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame = reformatter.reformat(picture, format="yuv420p", interpolation=exact, threads=1)
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _options(task: str, colour: str, ground: str, motion: str, chance: Any) -> Sequence[str]:
    """Four texts, the right one first."""
    if task == "category":
        return [ground, *(other for other in GROUNDS if other != ground)]
    if task == "topic":
        return [f"going {motion}", *(f"going {other}" for other in MOTIONS if other != motion)]
    if task == "tag":
        return [f"#{colour}", *(f"#{c}" for c in chance.sample([c for c in COLOURS if c != colour], 3))]
    others = [f"my {c} ball on {g}" for c in COLOURS for g in GROUNDS if (c, g) != (colour, ground)]
    return [f"my {colour} ball on {ground}", *chance.sample(others, 3)]


def write_world(
    folder: Path,
    count: int,
    *,
    seed: int = 0,
    side: int = SIDE,
    times: int = TIMES,
    pace: float = 1.0,
    tasks: Sequence[str] = (*SCENE, *MOTION),
) -> Path:
    """A folder in the format of docs/mimic.md; `platform` is train for four fifths, test for the rest."""
    (folder / "videos").mkdir(parents=True)
    videos, items = [], []
    for number in range(count):
        chance = derive_generator(seed, "balls", str(number))
        colour, ground = chance.choice(list(COLOURS)), chance.choice(list(GROUNDS))
        motion = chance.choice(list(MOTIONS))
        platform = "test" if number % 5 == 4 else "train"
        name = f"v{number:04d}"
        clip = frames(colour, ground, motion, chance, side, times, pace)
        _encode(clip, folder / f"videos/{name}.mp4")
        videos.append(
            {
                "platform": platform,
                "id": name,
                "title": f"my {colour} ball on {ground}",
                "tags": [f"#{colour}"],
                "topics": [f"going {motion}"],
                "category": ground,
                "language": "en",
                "comments": [
                    {"id": "c1", "text": f"what a {colour} ball", "likes": 9},
                    {"id": "c2", "text": f"it goes {motion} all day", "likes": 5},
                ],
            }
        )
        for task in tasks:
            texts = _options(task, colour, ground, motion, chance)
            items.append(
                {
                    "id": f"{name}-{task}",
                    "task": task,
                    "video": f"{platform}/{name}",
                    "options": [{"text": text, "video": f"{platform}/{name}"} for text in texts],
                    "key": 0,
                }
            )
    for file, lines in ((VIDEOS, videos), (ITEMS, items)):
        (folder / file).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return folder


QUESTIONS = "balls.jsonl"
OPPOSITE = {"left": "right", "right": "left", "up": "down", "down": "up"}


def write_questions(world: Path, names: Mapping[str, str] | None = None) -> Path:
    """Open questions on each clip of a world, one on its motion and one on its colour; `names` replaces answers."""
    lines = []
    for text in (world / VIDEOS).read_bytes().splitlines():
        video = msgspec.json.decode(text)
        answers = {
            "motion": ("Which way?", video["topics"][0].removeprefix("going ")),
            "colour": ("Which colour?", video["tags"][0].removeprefix("#")),
        }
        for kind, (question, answer) in answers.items():
            line = {"id": f"{video['id']}-{kind}", "video": f"videos/{video['id']}.mp4", "question": question}
            facets = {"kind": kind, "part": video["platform"]}
            lines.append({**line, "answers": [(names or {}).get(answer, answer)], "facets": facets})
    path = world / QUESTIONS
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def write_balls(folder: Path, count: int = 300, names: Mapping[str, str] | None = None) -> Path:
    """A world of quick balls in clips of four frames, and its questions."""
    return write_questions(write_world(folder, count, side=32, times=4, pace=2.0, tasks=("topic",)), names)


def balls_recipe(world: Path, out: Path, *, kinds: str = "motion", **train: Any) -> dict[str, Any]:
    """A recipe that learns to answer the questions of such a world within a minute."""
    source = {"benchmark": str(world / QUESTIONS), "where": ["part=train", f"kind={kinds}"]}
    return {
        "model": {
            "size": "tiny",
            "vision": {"image_size": 32, "config": {"model_type": "conv", "widths": [16, 16, 32]}},
            "spatial": {"grid": 1, "frames": 4},
            "temporal": {"widths": [24, 32], "tokens": 4},
            "language": {"config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}},
        },
        "data": {"sources": [source], "frames": {"count": 4}, "vocabulary": 420, "workers": 1},
        "train": {
            "steps": 60,
            "learning_rate": 3e-3,
            "warm_up": 10,
            "batch_tokens": 1200,
            "row_tokens": 128,
            "per_video": 1,
            "threads": 1,
            "device": "cpu",
            **train,
        },
        "out": str(out),
        "checkpoint_every": 1000,
    }


def recipe(folder: Path, **changes: Any) -> dict[str, Any]:
    """A recipe for a training of seconds; `changes` are laid over its parts."""
    content: dict[str, Any] = {
        "model": {
            "size": "tiny",
            "vision": {"config": {"model_type": "conv", "widths": [16, 16, 16]}, "image_size": 32},
            "spatial": {"grid": 1, "frames": 4},
            "temporal": {"tokens": 2, "widths": [8, 8, 16], "depth": 1, "heads": 2},
            "language": {
                "config": {
                    "hidden_size": 32,
                    "intermediate_size": 64,
                    "num_hidden_layers": 2,
                    "num_attention_heads": 2,
                    "num_key_value_heads": 2,
                }
            },
        },
        "data": {
            "sources": [{"benchmark": "mimic/thinking", "data": str(folder), "where": ["platform=train"]}],
            "frames": {"count": 8},
            "vocabulary": 420,
            "workers": 1,
        },
        "train": {
            "steps": 6,
            "warm_up": 2,
            "batch_tokens": 600,
            "row_tokens": 300,
            "threads": 1,
            "device": "cpu",
        },
        "checkpoint_every": 2,
        "out": str(folder.parent / "out"),
    }
    for name, value in changes.items():
        base = content.get(name)
        content[name] = {**base, **value} if isinstance(base, dict) and isinstance(value, dict) else value
    return content


def read_rows(out: Path, *columns: str) -> list[tuple[str, ...]]:
    """These columns of what a training wrote at each step."""
    with (out / "metrics.csv").open(encoding="utf-8") as file:
        return [tuple(row[column] for column in columns) for row in csv.DictReader(file)]


def start_process(content: dict[str, Any], *, resume: bool = False, **environment: str) -> Any:
    """The same training in a process of its own, forked so that nothing is imported again."""

    def work() -> None:
        from accelerate.state import AcceleratorState, PartialState

        from vivant_train.settings import make_recipe
        from vivant_train.trainer import train

        PartialState._reset_state()
        AcceleratorState._reset_state()
        os.environ.update(environment)
        train(make_recipe(content), resume=resume)

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    return process


def start_two(content: dict[str, Any], *, resume: bool = False) -> list[Any]:
    """Two processes on the processor that share a training."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}  # as torchrun sets them
    return [
        start_process(content, resume=resume, **shared, RANK=str(n), LOCAL_RANK=str(n), OMP_NUM_THREADS="1")
        for n in range(2)
    ]


def join_all(processes: list[Any]) -> None:
    """Wait until all have ended well; where one has not, end the others too."""
    try:
        for process in processes:
            process.join(600)
            assert process.exitcode == 0
    finally:
        for process in processes:
            process.kill()
