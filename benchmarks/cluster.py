"""Ray against one process: 2,000 questions with a 23 kB picture each, 64 at a time, on one node; and decoding.

Limit: from the first request to the last reply, Ray takes ≤ 1.15 × the time of a local run (start-up apart),
against a server in another process that answers after 50 ms. A run on a Ray that it starts itself sends its first
request ≤ 10 s after it was called. Then 24 videos are decoded by workers with one decoding process each, on a cluster
of one node and on one of two: on two cores, two nodes should take ≥ 1.6 times less. Other load falsifies all three:
measure on a quiet machine. (The file is not called ray.py: Python would import it in place of Ray.)

    python -m benchmarks.cluster [samples]
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.engine import AT_ONCE, DELAY, make_questions, start_server

LIMIT = 1.15
SCALES = 1.6
START = 10.0
VIDEOS = 24


def evaluated(out: Path, questions: Path, **options: Any) -> float:
    """Run in a fresh process; seconds from the first request to the last reply, as the log has them."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_evaluate, args=(str(questions), str(out), options))
    process.start()
    process.join()
    assert process.exitcode == 0

    from vivant.runs.log import read_log

    records = list(read_log(out / "log.jsonl"))
    assert all(record.reply.status == "ok" for record in records), records[0].reply
    return max(r.started + r.seconds for r in records) - min(r.started for r in records)


def _evaluate(questions: str, out: str, options: dict[str, Any]) -> None:
    from vivant.engine.evaluation import evaluate

    url = options.pop("url", None)
    evaluate(questions, options.pop("model"), out=out, base_url=url, **options)


def requests(folder: Path, count: int) -> None:
    """Local and Ray in turn, five times each; the best of each, so that other load favours neither."""
    from ray.cluster_utils import Cluster

    server, url, _ = start_server()
    questions = make_questions(folder, count)
    common = {
        "model": "openai/m",
        "url": url,
        "concurrency": AT_ONCE,
        "cache": "off",
    }
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    local: list[float] = []
    ray: list[float] = []
    for trial in range(5):
        local.append(evaluated(folder / f"local{trial}", questions, **common))
        there = {"executor": "ray", "address": cluster.address}
        ray.append(evaluated(folder / f"ray{trial}", questions, **there, **common))
    cluster.shutdown()
    server.terminate()
    ratio = min(ray) / min(local)
    print(f"{count} requests, {AT_ONCE} at a time, server delay {DELAY * 1000:.0f} ms; best of 5")
    print(f"one process: {min(local):.2f} s    Ray, one node: {min(ray):.2f} s")
    print(f"ratio: {ratio:.2f} (limit {LIMIT}) {'ok' if ratio <= LIMIT else 'MISSED'}")


def start_up(folder: Path) -> None:
    """A run that starts Ray itself: seconds to its first request; the best of three."""
    questions = folder / "one.jsonl"
    questions.write_text('{"question": "Which?", "choices": ["a", "b"], "answer": 0}\n')
    seconds: list[float] = []
    for trial in range(3):
        called = time.time()
        out = folder / f"start{trial}"
        evaluated(out, questions, model="first", executor="ray")
        from vivant.runs.log import read_log

        seconds.append(next(read_log(out / "log.jsonl")).started - called)
    verdict = "ok" if min(seconds) <= START else "MISSED"
    print(f"start-up, Ray included: {min(seconds):.1f} s (at most {START:.0f}) {verdict}; best of 3")


class Shown:
    """A model that answers at once, so that only decoding counts."""

    batch_size = 1

    def generate(self, prompts: list[str], media: list[list[bytes]]) -> list[str]:
        """How much was shown."""
        return [str(sum(map(len, pictures))) for _, pictures in zip(prompts, media, strict=True)]


def decoding(folder: Path) -> None:
    """The same videos on one node and on two in turn, three times each with an empty cache; the best of each."""
    from ray.cluster_utils import Cluster

    questions = make_videos(folder)
    taken: dict[int, list[float]] = {1: [], 2: []}
    for trial, nodes in ((trial, nodes) for trial in range(3) for nodes in taken):
        os.environ["VIVANT_CACHE"] = str(folder / f"frames{trial}-{nodes}")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        for _ in range(nodes - 1):
            cluster.add_node(num_cpus=1)
        taken[nodes].append(
            evaluated(
                folder / f"nodes{trial}-{nodes}",
                questions,
                model=f"{__file__}:Shown",
                executor="ray",
                address=cluster.address,
                workers=1,
            )
        )
        cluster.shutdown()
    one, two = min(taken[1]), min(taken[2])
    # The clock starts at the first answer, when each node has decoded its first video.
    gain = (one / (VIDEOS - 1)) / (two / (VIDEOS - 2))
    cores = os.cpu_count() or 1
    verdict = "ok" if gain >= SCALES else "MISSED" if cores >= 2 else f"not to be expected on {cores} core"
    print(f"{VIDEOS} videos decoded: one node {one:.2f} s, two nodes {two:.2f} s; best of 3")
    print(f"gain: {gain:.2f} (at least {SCALES}) {verdict}")


def make_videos(folder: Path) -> Path:
    """Noise, which is hard to decode, five seconds a file. No two are the same: a frame is decoded once a cluster."""
    import json

    import av
    import numpy as np

    chance = np.random.default_rng(0)
    grains = chance.integers(0, 255, (8, 360, 640, 3), dtype=np.uint8)
    lines = []
    for number in range(VIDEOS):
        with av.open(str(folder / f"{number}.mp4"), "w") as out:
            stream: Any = out.add_stream("libx264", rate=30)
            stream.width, stream.height, stream.pix_fmt = 640, 360, "yuv420p"
            stream.options = {"preset": "ultrafast", "crf": "24", "g": "300"}
            for frame in range(150):
                pixels = np.roll(grains[(number + frame) % 8], frame + 23 * number, axis=1)
                for packet in stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")):
                    out.mux(packet)
            for packet in stream.encode():
                out.mux(packet)
        lines.append(
            json.dumps({"id": number, "video": f"{number}.mp4", "question": "What?", "answers": ["a"]})
        )
    path = folder / "videos.jsonl"
    path.write_text("\n".join(lines))
    return path


def main() -> None:
    """All three."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("OPENAI_API_KEY", "none")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with tempfile.TemporaryDirectory() as name:
        os.environ["VIVANT_CACHE"] = str(Path(name) / "cache")
        requests(Path(name), count)
        start_up(Path(name))
        decoding(Path(name))


if __name__ == "__main__":
    main()
