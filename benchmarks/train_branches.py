"""What each part of MIMIC-Chat adds, trained until its loss no longer falls: the same training with a part left out.

The world is one of moving balls. Colour is a question that a frame answers; motion one that only the order of frames
answers. Then a trained model is taken to a world with other words for the same motions, its backbones frozen: as
it was, with projectors, gates and temporal branch learning, and with low-rank updates of the language model as well.

    python -m benchmarks.train_branches OUT

Variants that OUT has already are not trained again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.train_kit import QUESTIONS, balls_recipe, write_balls

STEPS, ADAPTING, CLIPS = 200, 100, 500
SINGLE = {"count": 1}
PARTS: Mapping[str, Mapping[str, Any]] = {
    "both branches": {},
    "spatial only": {"temporal": {"on": False}},
    "temporal only": {"spatial": {"on": False}},
    "one frame": {},
    "gates closed": {"fusion": {"gates": "closed"}},
}
FROZEN = {"vision": {"frozen": True}, "language": {"frozen": True}}
LORA = {"vision": {"frozen": True}, "language": {"frozen": True, "lora": {"rank": 16, "alpha": 32}}}
ADAPTED: Mapping[str, Mapping[str, Any]] = {"LoRA off": FROZEN, "LoRA on": LORA}
OTHER_WORDS = {"left": "west", "right": "east", "up": "north", "down": "south"}


def train_variant(name: str, out: Path) -> Path:
    """Train a variant unless it is there; the finished model."""
    from vivant_train.settings import make_recipe
    from vivant_train.trainer import train

    folder = out / name.replace(" ", "-").lower()
    model = (folder / "last").resolve()
    if model.is_dir():
        return model
    if name in PARTS:
        content = balls_recipe(out / "balls", folder, kinds="motion,colour", steps=STEPS)
        content["model"] = {**content["model"], **PARTS[name]}
        if name == "one frame":
            content["data"]["frames"] = SINGLE
    else:
        content = balls_recipe(out / "other-words", folder, steps=ADAPTING)
        content["model"] = {"size": "tiny", **ADAPTED[name]}
        content["begin"] = str(train_variant("both branches", out))
    train(make_recipe(content))
    return model


def score(model: Path, questions: Path, kind: str, out: Path, frames: int = 4) -> str:
    """Accuracy on held-out clips with its 95 % interval, as text."""
    from vivant.core.files import remove
    from vivant.engine.evaluation import evaluate
    from vivant.metrics.intervals import mean_interval

    remove(out)
    run = evaluate(
        str(questions),
        f"mimic-chat/{model}",
        where=("part=test", f"kind={kind}"),
        frames=frames,
        out=str(out),
        cache="off",
        model_options={"device": "cpu", "threads": 1},
    )
    values = [value.value or 0.0 for part in run.scores() for _, _, value in part.rows]
    around = mean_interval(values, [str(number) for number in range(len(values))], binary=True)
    assert around is not None
    return f"{sum(values) / len(values):6.1%} [{around.low:.0%}, {around.high:.0%}] of {len(values)}"


def main() -> None:
    """Train what is missing and print the tables."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = Path(sys.argv[1]).resolve()
    for name, words in (("balls", None), ("other-words", OTHER_WORDS)):
        if not (out / name / QUESTIONS).is_file():
            write_balls(out / name, CLIPS, words)
    print(f"{'':14}  {'motion (chance 25 %)':26}  colour (chance 17 %)")
    for name in PARTS:
        model, frames = train_variant(name, out), 1 if name == "one frame" else 4
        cells = [
            score(model, out / "balls" / QUESTIONS, kind, out / "runs" / f"{name}-{kind}", frames)
            for kind in ("motion", "colour")
        ]
        print(f"{name:14}  {cells[0]:26}  {cells[1]}", flush=True)
    print("\nother words for motion")
    for name in ("both branches", *ADAPTED):
        cell = score(
            train_variant(name, out),
            out / "other-words" / QUESTIONS,
            "motion",
            out / "runs" / f"{name}-other",
        )
        print(f"{'as it was' if name in PARTS else name:14}  {cell}", flush=True)


if __name__ == "__main__":
    main()
