"""How long until step 1 of a training on 150,000 videos?

A simulated folder: 150,000 lines of videos and questions, whose files are links to one clip. Nothing but the
first steps' videos is decoded beforehand, and each process finds its part by itself. Limit: a minute of processor time
from reading the recipe to the end of step 1 (the clock is printed beside it).

    python -m benchmarks.train_startup [videos]
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import msgspec

LIMIT = 60.0


def write_folder(folder: Path, count: int) -> Path:
    """A folder in the format of docs/mimic.md with so many videos, whose files are links to a few clips."""
    from tests.support.train_kit import write_world

    world = write_world(folder, 5, side=32, times=4, tasks=("topic",))
    videos = [msgspec.json.decode(line) for line in (world / "videos.jsonl").read_bytes().splitlines()]
    items = [msgspec.json.decode(line) for line in (world / "items.jsonl").read_bytes().splitlines()]
    with (world / "videos.jsonl").open("wb") as video_file, (world / "items.jsonl").open("wb") as item_file:
        for number in range(count):
            video, item = videos[number % 5], items[number % 5]
            name, ref = f"n{number:06d}", f"{video['platform']}/n{number:06d}"
            video_file.write(msgspec.json.encode({**video, "id": name}) + b"\n")
            options = [{**option, "video": ref} for option in item["options"]]
            line = {**item, "id": f"{name}-topic", "video": ref, "options": options}
            item_file.write(msgspec.json.encode(line) + b"\n")
            os.link(world / f"videos/{video['id']}.mp4", world / f"videos/{name}.mp4")
    return world


def main() -> None:
    """Print the seconds; exit with 1 where they are above the limit."""
    from tests.support.train_kit import recipe

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 150_000
    with tempfile.TemporaryDirectory() as folder:
        world = write_folder(Path(folder) / "world", count)
        os.environ["VIVANT_CACHE"] = str(Path(folder) / "cache")
        from vivant_train.settings import make_recipe
        from vivant_train.trainer import train

        content = recipe(world, train={"steps": 1})
        content["data"]["sources"] = [{"benchmark": "mimic/topic", "data": str(world)}]
        clock, cpu = time.perf_counter(), time.process_time()
        train(make_recipe(content))
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{count:,} videos: step 1 after {cpu:.1f} s of processor time (limit {LIMIT:g}),")
    print(f"{clock:.1f} s by the clock, peak memory {peak:.2f} GB")
    sys.exit(0 if cpu <= LIMIT else 1)


if __name__ == "__main__":
    main()
