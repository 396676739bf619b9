"""`vivant watch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant.bridges.trackers import ScorePoint, list_trackers
from vivant.bridges.watching import PLACE
from vivant.bridges.watching import watch as watch_checkpoints
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message
from vivant.cli.run_options import with_run_options
from vivant.core.errors import UsageError
from vivant.engine.options import RunOptions

app = CommandApp()


@app.command()
@with_run_options(model=PLACE)
def watch(
    options: RunOptions,
    folder: Annotated[
        Path, Argument(metavar="CHECKPOINTS", help="The folder that the training writes its checkpoints to.")
    ],
    interval: Annotated[
        float, Option("--interval", help="Seconds between two looks for new checkpoints.", min=0.05)
    ] = 30.0,
    once: Annotated[
        bool, Option("--once", help="Evaluate the checkpoints that are there, then end.")
    ] = False,
    wandb: Annotated[
        str | None, Option("--wandb", metavar="PROJECT", help="Log each score to Weights & Biases.")
    ] = None,
    mlflow: Annotated[
        str | None, Option("--mlflow", metavar="EXPERIMENT", help="Log each score to MLflow.")
    ] = None,
    tensorboard: Annotated[
        str | None, Option("--tensorboard", metavar="DIR", help="Write each score for TensorBoard.")
    ] = None,
) -> None:
    """Evaluate the checkpoints of a training as they appear, and draw the curve. Stop it with Ctrl-C.

    The backend is known by the checkpoint's form; --model names another, with {} in place of the checkpoint's folder.
    A recipe says how to ask; its model is not used. Without a benchmark, it is the recipe's: mime/qwen2.5-vl-7b.

    vivant watch CHECKPOINTS mime --limit 200
    vivant watch CHECKPOINTS mime --recipe paper/qwen2.5-vl-7b --model transformers/{}
    """
    folder = folder.expanduser()
    out = Path(options.out or f"runs/watch-{folder.resolve().name}")
    trackers = list_trackers(wandb, mlflow, tensorboard)
    try:
        points = watch_checkpoints(
            folder, options, out, interval=interval, once=once, trackers=trackers, report=_report
        )
    except KeyboardInterrupt:
        print_message(f"Stopped. Run the same command to go on. Curve: {out / 'curve.svg'}")
        return
    if not points:
        raise UsageError(f"{folder} holds no checkpoint with a step that could be evaluated")
    print_message(f"Curve: {out / 'curve.svg'}    runs: {out}")


def _report(point: ScorePoint) -> None:
    scores = [f"{name} {value:.1f}" for name, value in point.values.items() if f"{name}_low" in point.values]
    print(f"step {point.step}: {', '.join(scores) or point.values}", flush=True)
