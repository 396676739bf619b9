"""Blind packs: 4,000 videos with 24 models' and 5 human comments each; and 100,000 judgements scored.

Peer of the packs: a plain loop that does what cannot be avoided, reading the same logs and the same data with
msgspec and writing the same lines, with everything in memory. Limits: at most 4 × its CPU, and memory that
grows by less than a tenth from 1,000 videos to 4,000 (each size is measured in a process of its own).
Judgements: all figures of a pack with 100,000 of them, files included, in under 2 s of CPU; the agreement
figures alone are measured against the `krippendorff` package in `agreement.py`.

    python benchmarks/mimic_packs.py
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from vivant.benchmarks.mimic.format import Comment, MimicVideo, select_most_liked
from vivant.benchmarks.mimic.judgements import CommentJudgement, Judges, write_judgements
from vivant.benchmarks.mimic.pack_builder import build_pack
from vivant.benchmarks.mimic.packs import Pack, open_key
from vivant.benchmarks.mimic.panels import compute_outcome
from vivant.core.records import Record
from vivant.core.types import Message, Reply, Text, Video
from vivant.judging.comment_authors import load_authors
from vivant.runs.directory import RunDir, new_manifest
from vivant.runs.log import read_log
from vivant.runs.settings import RunSettings

VIDEOS, MODELS, COMMENTS = 4000, 24, 60
TASK = "mimic/comment"
RATIO_LIMIT, GROWTH_LIMIT, CPU_LIMIT = 4.0, 1.1, 2.0
JUDGEMENTS = 100_000
ROUNDS = 3


def make_world(folder: Path, videos: int) -> None:
    """Data and runs as they come: long prompts in the logs, more comments than are needed."""
    chance = random.Random(0)
    words = [f"word{n}" for n in range(3000)]

    def sentence() -> str:
        return " ".join(chance.choices(words, k=chance.randint(4, 20)))

    data = folder / "data"
    data.mkdir(parents=True)
    encoder = msgspec.json.Encoder()
    with (data / "videos.jsonl").open("wb") as file:
        for number in range(videos):
            comments = tuple(
                Comment(id=f"c{n}", text=sentence(), likes=chance.randrange(10**6)) for n in range(COMMENTS)
            )
            line = MimicVideo(platform="youtube", id=f"v{number}", title=sentence(), comments=comments)
            file.write(encoder.encode(line) + b"\n")
    prompt = (Message("user", (Video("videos/v.mp4"), Text("You came across this video. " * 20))),)
    for model in range(MODELS):
        run = RunDir(folder / f"run{model:02d}")
        settings = RunSettings(
            tasks=(TASK,), model={"model": f"m{model}"}, style="zero-shot", data={TASK: "0"}
        )
        run.create(new_manifest(run.path, f"m{model}", settings, {TASK: videos}, {TASK: str(data)}), [])
        order = list(range(videos))
        chance.shuffle(order)
        with run.log_file.open("wb") as file:
            for number in order:
                name = f"youtube/v{number}"
                record = Record(
                    key=f"{TASK}/{name}", task=TASK, id=name, messages=prompt, reply=Reply(text=sentence())
                )
                file.write(encoder.encode(record) + b"\n")


def run_paths(folder: Path) -> list[Path]:
    """The runs of a world."""
    return sorted(folder.glob("run*"))


def ours(folder: Path) -> None:
    """The pack."""
    shutil.rmtree(folder / "pack", ignore_errors=True)
    (folder / "pack.key.jsonl").unlink(missing_ok=True)
    build_pack(load_authors(run_paths(folder)), folder / "data", folder / "pack")


def plain(folder: Path) -> None:
    """The same reading and writing, without order, names or seals."""
    written: dict[str, list[str]] = {}
    for run in run_paths(folder):
        for record in read_log(run / "log.jsonl"):
            written.setdefault(record.id, []).append(record.reply.text)
    encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder(MimicVideo)
    with (folder / "data/videos.jsonl").open("rb") as source, (folder / "plain.jsonl").open("wb") as out:
        for line in source:
            video = decoder.decode(line)
            texts = written[video.ref] + [comment.text for comment in select_most_liked(video.comments, 5)]
            for text in texts:
                out.write(encoder.encode({"video": video.ref, "text": text}) + b"\n")
                out.write(encoder.encode({"video": video.ref, "source": 0}) + b"\n")


def measured(folder: Path, what: str) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of one piece of work in a process of its own."""
    command = [sys.executable, __file__, what, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def work(what: str, folder: Path) -> None:
    """What the process does."""
    start = time.process_time()
    {"ours": ours, "plain": plain}[what](folder)
    print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def score(folder: Path) -> float:
    """CPU seconds to score 100,000 judgements of the pack by five people."""
    pack = Pack(folder / "pack")
    chance = random.Random(1)
    people = [f"p{n}" for n in range(5)]
    items = [item.item for item in pack.items()][: JUDGEMENTS // len(people)]
    judgements = [
        CommentJudgement(
            annotator=person,
            item=item,
            verdict="human" if chance.random() < 0.5 else "ai",
            realism=float(chance.randint(0, 5)),
        )
        for person in people
        for item in items
    ]
    file = folder / "judgements.jsonl"
    write_judgements(file, Judges(pack=pack.header.pack, kind="people", name="people"), judgements)
    start = time.process_time()
    compute_outcome(pack, open_key(folder / "pack.key.jsonl", pack), [file])
    return time.process_time() - start


def main() -> int:
    """Measure and print the ratios."""
    with tempfile.TemporaryDirectory() as temporary:
        small, large = Path(temporary, "small"), Path(temporary, "large")
        make_world(small, VIDEOS // 4)
        make_world(large, VIDEOS)
        _, memory_small = measured(small, "ours")
        wall = time.perf_counter()
        cpu, memory = measured(large, "ours")
        wall = time.perf_counter() - wall
        floor, floor_memory = measured(large, "plain")
        for _ in range(ROUNDS - 1):  # the best of each: what the machine does besides is not measured
            cpu = min(cpu, measured(large, "ours")[0])
            floor = min(floor, measured(large, "plain")[0])
        judging = score(large)
    ratio, growth = cpu / floor, memory / memory_small
    print(f"vivant   {VIDEOS} videos × {MODELS + 5} comments: {cpu:.2f} s of CPU, {wall:.1f} s in all")
    print(f"peer     plain loop: {floor:.2f} s of CPU, {floor_memory:.0f} MB")
    good = ratio <= RATIO_LIMIT
    print(f"ratio    {ratio:.2f} (limit: at most {RATIO_LIMIT:.0f})  {'ok' if good else 'MISSED'}")
    flat = growth <= GROWTH_LIMIT
    print(
        f"memory   {memory_small:.0f} MB for {VIDEOS // 4} videos, {memory:.0f} MB for {VIDEOS}: × {growth:.2f} "
        f"(limit: {GROWTH_LIMIT})  {'ok' if flat else 'MISSED'}"
    )
    quick = judging <= CPU_LIMIT
    print(
        f"scoring  {JUDGEMENTS:,} judgements: {judging:.2f} s of CPU (limit: {CPU_LIMIT:.0f})  "
        f"{'ok' if quick else 'MISSED'}"
    )
    return 0 if good and flat and quick else 1


if __name__ == "__main__":
    if len(sys.argv) == 3:
        work(sys.argv[1], Path(sys.argv[2]))
        sys.exit(0)
    sys.exit(main())
