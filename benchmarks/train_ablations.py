"""What each part of MIMIC-Chat is for: the same training with a part left out, each in a process of its own.

Scene: held-out questions whose options are of different clips. Direction: options are two clips, each played both
ways, so that who knows the pictures alone is right in half. Then a trained model is taken to another benchmark, MIME,
its backbones frozen: with low-rank updates of the language model's attention, without, and not trained at all.

    python -m benchmarks.train_ablations LESSONS OUT [variant …]

LESSONS is the folder that `tools/tiny` fills. Variants that OUT has already are not trained again.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STEPS, ADAPTING = 600, 300
TASKS = ("tag", "topic", "category")
FRAMES = {"count": 8, "longest_side": 96}
PARTS: Mapping[str, Mapping[str, Any]] = {
    "both branches": {},
    "spatial only": {"temporal": {"on": False}},
    "temporal only": {"spatial": {"on": False}},
    "gates closed": {"fusion": {"gates": "closed"}},
}
FROZEN = {"vision": {"frozen": True}, "language": {"frozen": True}}
LORA = {"vision": {"frozen": True}, "language": {"frozen": True, "lora": {"rank": 16, "alpha": 32}}}
ADAPTED: Mapping[str, Mapping[str, Any]] = {"LoRA off": FROZEN, "LoRA on": LORA}


def folder(out: Path, name: str) -> Path:
    """Where a variant is trained."""
    return out / name.replace(" ", "-").lower()


def recipe(name: str, lessons: Path, out: Path) -> Any:
    """The training of a variant."""
    from vivant_train.settings import make_recipe

    train = {"learning_rate": 1e-3, "batch_tokens": 1536, "row_tokens": 192, "per_video": 2, "threads": 1}
    train["answers_alike"] = True
    said: dict[str, Any] = {"out": str(folder(out, name).resolve()), "checkpoint_every": 200}
    if name in PARTS:
        form = {"words": 1.0, "until": 0.3}
        sources = [{"benchmark": f"mimic/{task}", "data": "mimic-train", **form} for task in TASKS]
        sources.append({"benchmark": "mimic/topic", "data": "direction-train", **form})
        said |= {"model": {"size": "tiny", **PARTS[name]}, "train": {**train, "steps": STEPS, "warm_up": 40}}
    else:
        takes = sorted(each.name for each in lessons.glob("mime-train-*"))
        sources = [{"benchmark": "mime/mcq", "data": take, "words": 0.3} for take in takes]
        said |= {"model": {"size": "tiny", **ADAPTED[name]}, "begin": str(trained(out, "both branches"))}
        said |= {"train": {**train, "steps": ADAPTING, "warm_up": 20}}
    return make_recipe({**said, "data": {"sources": sources, "frames": FRAMES, "vocabulary": 3000}}, name)


def trained(out: Path, name: str) -> Path:
    """The finished model of a variant."""
    return (folder(out, name) / "last").resolve()


def train_one(name: str, lessons: Path, out: Path) -> None:
    """Train a variant, going on where it was stopped."""
    from vivant_train.checkpoints import list_checkpoints
    from vivant_train.trainer import train

    variant = recipe(name, lessons, out)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    train(variant, lessons.resolve(), resume=bool(list_checkpoints(Path(variant.out))))


def score(model: Path, selector: tuple[str, ...], data: str, out: Path) -> tuple[str, int]:
    """Accuracy over all samples with its interval, clustered by video, as text; and their number."""
    import msgspec

    from vivant.benchmarks.summary import cluster_of
    from vivant.core.types import FramePolicy
    from vivant.engine.evaluation import evaluate
    from vivant.metrics.intervals import mean_interval

    run = evaluate(
        selector,
        f"mimic-chat/{model}",
        data=(data,),
        frames=msgspec.convert(FRAMES, FramePolicy),
        out=str(out),
        cache="off",
    )
    rows = [
        (cluster_of(sample), value.value or 0.0) for part in run.scores() for sample, _, value in part.rows
    ]
    values = [value for _, value in rows]
    around = mean_interval(values, [cluster for cluster, _ in rows], binary=True)
    assert around is not None
    return f"{sum(values) / len(values):5.1%} [{around.low:.0%}, {around.high:.0%}]", len(values)


def main() -> None:
    """Train what is missing, then print the table."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    lessons, out, names = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    if names == ["table"]:
        return table(lessons, out)
    for name in names or [*PARTS, *ADAPTED]:
        if len(names) == 1:
            train_one(name, lessons, out)
        elif not trained(out, name).is_dir():
            subprocess.run(
                [sys.executable, "-m", "benchmarks.train_ablations", *sys.argv[1:3], name], check=True
            )
    return None if len(names) == 1 else table(lessons, out)


def table(lessons: Path, out: Path) -> None:
    """All variants that are trained."""
    scene = tuple(f"mimic/{task}" for task in TASKS)
    print(f"{'variant':16}  {'scene (chance 25%)':22}  {'direction (scene alone: 50%)':22}")
    for name in PARTS:
        if trained(out, name).is_dir():
            runs = out / "runs" / name
            told = score(trained(out, name), scene, str(lessons / "mimic-held-out"), runs / "scene")
            turned = score(
                trained(out, name), ("mimic/topic",), str(lessons / "direction-held-out"), runs / "direction"
            )
            print(f"{name:16}  {told[0]:22}  {turned[0]:22}  n = {told[1]}, {turned[1]}")
    print(f"\n{'taken to MIME':16}  {'multiple choice (chance 25%)':22}")
    for name in ("both branches", *ADAPTED):
        if trained(out, name).is_dir():
            told = score(trained(out, name), ("mime/mcq",), "mini", out / "runs" / name / "mime")
            print(f"{'not trained' if name in PARTS else name:16}  {told[0]:22}  n = {told[1]}")


if __name__ == "__main__":
    main()
