"""`vivant publish`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from vivant.bridges.cards import write_model_card
from vivant.bridges.conditions import list_conditions
from vivant.bridges.publishing import check_target, publish_runs
from vivant.bridges.trackers import list_trackers, make_points
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message
from vivant.core.errors import UsageError
from vivant.runs.overview import build_overview
from vivant.runs.run import load_runs

app = CommandApp()


@app.command()
def publish(
    runs: o.Runs,
    to: Annotated[
        str | None,
        Option(
            "--to", metavar="TARGET", help="hub:OWNER/NAME, or a folder: the runs as a dataset with a card."
        ),
    ] = None,
    public: Annotated[
        bool, Option("--public", help="Let everybody see the repository. [default: private]")
    ] = False,
    model_card: Annotated[
        Path | None,
        Option("--model-card", metavar="FILE", help="Write the scores into the head of a model's README.md."),
    ] = None,
    wandb: Annotated[
        str | None,
        Option("--wandb", metavar="PROJECT", help="Log the scores to Weights & Biases, over training steps."),
    ] = None,
    mlflow: Annotated[
        str | None,
        Option("--mlflow", metavar="EXPERIMENT", help="Log the scores to MLflow, over training steps."),
    ] = None,
    tensorboard: Annotated[
        str | None, Option("--tensorboard", metavar="DIR", help="Write the scores for TensorBoard.")
    ] = None,
    step: Annotated[
        int | None,
        Option("--step", help="The training step of the run. [default: the last number in the model's name]"),
    ] = None,
    protocol: o.ProtocolOption = None,
) -> None:
    """Give results to others: as a dataset, in a model's card, or where training is followed.

    Keys and paths of this machine are removed, and looked for again before anything is written or sent.

    vivant publish RUN --to hub:my-lab/my-results
    vivant publish RUN --model-card README.md
    vivant publish runs/checkpoint-* --tensorboard curves
    """
    loaded = load_runs(runs)
    chosen = parse_protocol(protocol)
    trackers = list_trackers(wandb, mlflow, tensorboard)
    if not (to or model_card or trackers):
        raise UsageError(
            "Say where to: --to hub:OWNER/NAME, --to DIR, --model-card FILE, --wandb, --mlflow or --tensorboard"
        )
    if public and not (to or "").startswith("hub:"):
        raise UsageError("--public is for --to hub:OWNER/NAME")
    if step is not None and len(loaded) > 1:
        raise UsageError("--step is for one run; without it, steps come from the names of the models")
    if to:
        check_target(to)
    conditions = list_conditions(loaded, chosen) if to or model_card else []
    for each in conditions:
        if each.state:
            print_message(f"Warning: {each.run}, {each.task}: {each.state}; the card says so")
    points = make_points(loaded, step, chosen) if trackers else []
    if model_card is not None:
        write_model_card(model_card, loaded, build_overview(loaded, chosen), conditions)
        print_message(f"Written: {model_card}")
    for name, tracker in trackers.items():
        print_message(f"{name}: {tracker(points, '')}")
    if to:
        address = publish_runs(loaded, to, public=public, protocol=chosen)
        print_message(f"Published: {address}{' (private)' if to.startswith('hub:') and not public else ''}")
