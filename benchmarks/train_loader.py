"""Does the data loader starve the trainer? Share of a training's time that it waits for the next batch.

A training of the size `tiny` on the processor, on the mini-edition's videos: frames decoded once, then prompts,
packing and frames by a thread beside the trainer. The first batch, for which everything must start, is left out.
Limit: at most 5 % of the time.

    python benchmarks/train_loader.py [steps]
"""

from __future__ import annotations

import csv
import logging
import sys
import tempfile
from pathlib import Path

LIMIT = 0.05


def main() -> None:
    """Print the share; exit with 1 where it is above the limit."""
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        recipe = make_recipe(
            {
                "model": "tiny",
                "data": {"sources": [{"benchmark": "mimic", "data": "mini"}]},
                "train": {"steps": steps, "device": "cpu", "threads": 1},
                "out": str(out),
                "checkpoint_every": steps,
            }
        )
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        train(recipe)
        with (out / "metrics.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))[1:]
    waited, seconds = (sum(float(row[name]) for row in rows) for name in ("waited", "seconds"))
    print(f"{len(rows)} steps in {seconds:.1f} s, of which {waited:.2f} s were waiting for data")
    print(f"share {waited / seconds:.3f} (limit {LIMIT})")
    sys.exit(0 if waited / seconds <= LIMIT else 1)


if __name__ == "__main__":
    main()
