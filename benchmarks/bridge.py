"""A bridged task beside a native one: CPU per request of the engine, and of lmms-eval's own client.

The same pictures and prompts, once as an AI2D task of lmms-eval (`lmms:ai2d`, its data on disk), once as questions in
JSON lines, 64 at a time, against a local server that answers after 50 ms. Limit: the engine's CPU on the bridged task
≤ 2 × that on the native one (medians of runs that take turns; planning apart, and printed). Peer: lmms-eval 0.7's
asynchronous client on the same task. Needs lmms-eval.

    python -m benchmarks.bridge [samples [runs]]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.engine import AT_ONCE, start_server

LIMIT = 2.0


def write_data(folder: Path, count: int) -> None:
    """AI2D's layout with noise for pictures (about 23 kB each), and the same questions for the native run."""
    import datasets

    from tests.support.lmms_kit import draw, encode

    rows: list[dict[str, Any]] = [
        {
            "question": f"Which part is number {number}?",
            "options": ["leaf", "stem", "root", "seed"],
            "answer": str(number % 4),
            "image": encode(draw(number, "JPEG", size=(160, 120))),
        }
        for number in range(count)
    ]
    (folder / "ai2d").mkdir()
    table = datasets.Dataset.from_list(rows).cast_column("image", datasets.Image())
    table.to_parquet(str(folder / "ai2d" / "test-00000-of-00001.parquet"))
    with (folder / "native.jsonl").open("w") as file:
        for number, row in enumerate(rows):
            (folder / f"{number}.jpg").write_bytes(row["image"]["bytes"])
            question = {
                "id": str(number),
                "question": row["question"],
                "image": f"{number}.jpg",
                "answer": "leaf",
            }
            file.write(json.dumps(question) + "\n")


def run_engine(selector: str, data: str, url: str, out: str) -> dict[str, float]:
    """Seconds of CPU for planning, asking and scoring."""
    from vivant.engine.option_parsing import make_options
    from vivant.engine.run_execution import run_plan
    from vivant.engine.run_planning import plan_run
    from vivant.runs.run import Run

    options = make_options(
        selectors=(selector,), model="openai/m", base_url=url, concurrency=AT_ONCE, out=out, cache="off",
        **({"data": (data,)} if data else {}),
    )  # fmt: skip
    marks = [time.process_time()]
    prepared = plan_run(options)
    marks.append(time.process_time())
    run_plan(prepared, options)
    marks.append(time.process_time())
    Run(out).scores()
    marks.append(time.process_time())
    return dict(zip(("plan", "ask", "score"), (b - a for a, b in pairwise(marks)), strict=True))


def run_lmms(data: str, url: str) -> dict[str, float]:
    """Seconds of CPU of lmms-eval's client for the same task, its scoring and building apart."""
    from lmms_eval.models.chat.async_openai import AsyncOpenAIChat

    from vivant.bridges.lmms_index import find_entry
    from vivant.bridges.lmms_task import LmmsTask, TaskSource

    os.environ["LMMS_IMAGE_ENCODE_FORMAT"] = "JPEG"
    built = LmmsTask(TaskSource(entry=find_entry("ai2d"), data=Path(data)))
    model = AsyncOpenAIChat(model_version="m", base_url=url, api_key="none", num_cpus=AT_ONCE)
    built.task.build_all_requests()
    model.task_dict = {"ai2d": built.task.dataset}
    before = time.process_time()
    model.generate_until(built.task.instances)
    return {"ask": time.process_time() - before}


def measure(name: str, *arguments: str) -> dict[str, float]:
    """Run one of the functions above in a process of its own."""
    call = f"print('\\n' + json.dumps({name}(*{arguments!r})))"
    code = f"import json\nfrom benchmarks.bridge import {name}\n{call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measure and print; exit with 1 above the limit."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    os.environ |= {"OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
    server, url, _ = start_server()
    figures: dict[str, list[dict[str, float]]] = {"native": [], "bridged": [], "lmms-eval": []}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ |= {"VIVANT_CACHE": str(folder / "cache"), "HF_HOME": str(folder / "hub")}
        write_data(folder, count)
        data = str(folder / "ai2d")
        for turn in range(runs):
            native: Any = (str(folder / "native.jsonl"), "", url, str(folder / f"native-{turn}"))
            figures["native"].append(measure("run_engine", *native))
            figures["bridged"].append(
                measure("run_engine", "lmms:ai2d", data, url, str(folder / f"bridged-{turn}"))
            )
            figures["lmms-eval"].append(measure("run_lmms", data, url))
    server.terminate()
    medians = {}
    for name, results in figures.items():
        stages = {stage: statistics.median(r[stage] for r in results) / count * 1000 for stage in results[0]}
        medians[name] = stages["ask"]
        print(f"{name:10}", *(f"{stage} {value:.2f} ms" for stage, value in stages.items()), sep="   ")
    ratio, peer = medians["bridged"] / medians["native"], medians["lmms-eval"] / medians["bridged"]
    print(f"bridged / native: {ratio:.2f} (limit {LIMIT:g});  lmms-eval / bridged: {peer:.1f}")
    if ratio > LIMIT:
        sys.exit("above the limit")


if __name__ == "__main__":
    main()
