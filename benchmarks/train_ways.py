"""Two processes that share a training: DDP, FSDP2 and, where it is installed, DeepSpeed, on the processor.

The same recipe each way: a frozen language model of 41 M parameters, LoRA on its attention, cross-attention inside it,
rows of 512 tokens. Losses must be those of DDP; the median step of FSDP2 takes at most 1.2 times that of DDP. Each
process has one thread, so the machine needs two free cores.

    python -m benchmarks.train_ways [steps]
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.train_kit import recipe, write_world

LIMIT = 1.2
WARM = 2
"""Steps at the beginning that do not count."""
WAYS: dict[str, dict[str, Any]] = {
    "DDP": {},
    "FSDP2": {"fsdp": {}},
    "FSDP2, layers kept": {"fsdp": {"reshard_after_forward": False}},
    "DeepSpeed, ZeRO 1": {"deepspeed": {"zero_stage": 1}},
}


def make_content(world: Path, out: Path, steps: int, way: dict[str, Any]) -> dict[str, Any]:
    """The recipe; both backbones begin from chance, and only what learns in the large sizes learns."""
    content = recipe(
        world,
        out=str(out),
        train={"steps": steps, "row_tokens": 512, "batch_tokens": 4096, "micro_rows": 2, **way},
        checkpoint_every=steps,
    )
    content["model"] = {
        "size": "tiny",
        "fusion": {"place": "both", "hint": False, "match": 0, "start": 0.1, "every": 4},
        "language": {
            "lines": False,
            "frozen": True,
            "lora": {"rank": 16, "alpha": 32},
            "config": {
                "hidden_size": 640,
                "intermediate_size": 2048,
                "num_hidden_layers": 7,
                "num_attention_heads": 10,
                "num_key_value_heads": 10,
            },
        },
    }
    return content


def run_two(content: dict[str, Any]) -> None:
    """Train in two processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    code = "import json, sys; from vivant_train.settings import make_recipe; from vivant_train.trainer import train; "
    code += "train(make_recipe(json.loads(sys.argv[1])))"
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code, json.dumps(content)],
            env={**os.environ, **shared, "ACCELERATE_USE_CPU": "true", "RANK": str(n), "LOCAL_RANK": str(n)},
        )
        for n in range(2)
    ]
    codes = [process.wait() for process in processes]
    if any(codes):
        sys.exit("A process failed.")


def main() -> None:
    """Print a line for each way; exit with 1 above the limit, or where losses differ."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seconds: dict[str, float] = {}
    losses: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        world = write_world(Path(folder) / "world", 40, side=32, times=8)
        for number, (name, way) in enumerate(WAYS.items()):
            if "deepspeed" in way and importlib.util.find_spec("deepspeed") is None:
                print(f"{name}: deepspeed is not installed")
                continue
            out = Path(folder) / str(number)
            run_two(make_content(world, out, steps, way))
            with (out / "metrics.csv").open(encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            losses[name] = [float(row["loss"]) for row in rows]
            seconds[name] = statistics.median(float(row["seconds"]) for row in rows[WARM:])
            difference = max(abs(a - b) for a, b in zip(losses[name], losses["DDP"], strict=True))
            print(
                f"{name:20} {seconds[name]:6.2f} s a step, {seconds[name] / seconds['DDP']:.2f} of DDP; "
                f"losses differ by {difference:.1e}",
                flush=True,
            )
            if difference > 1e-3:
                sys.exit("The losses differ.")
    ratio = seconds["FSDP2"] / seconds["DDP"]
    print(f"FSDP2 takes {ratio:.2f} times the step of DDP (limit {LIMIT:g})")
    sys.exit(ratio > LIMIT)


if __name__ == "__main__":
    main()
