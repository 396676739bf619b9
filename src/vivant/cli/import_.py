"""`vivant import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_run, say
from vivant.cli.parsing import parse_pairs
from vivant.core.errors import UsageError
from vivant.runs.importing import import_folder, import_predictions
from vivant.runs.run import Run

app = CommandApp()


@app.command(name="import")
def import_(
    task: Annotated[
        str,
        Argument(
            metavar="TASK", help="mime/mcq, mime/ff, … or your own .jsonl file; with a folder, the benchmark."
        ),
    ],
    predictions: Annotated[
        Path, Argument(metavar="PREDICTIONS", help="The prediction file, or MileBench's output folder.")
    ],
    out: Annotated[Path, Option("--out", "-o", help="The run directory to write.")],
    data: o.Data = None,
    model: Annotated[
        str | None, Option("--model", "-m", help="Name of the model. (default: from the file)")
    ] = None,
    style: o.Style = None,
    task_option: o.TaskOption = None,
    protocol: o.ProtocolOption = None,
) -> None:
    """Turn somebody's prediction file into a run, and score it.

    Native files of a benchmark are recognised (MIME: raw_*.json, score_*.csv, human_eval.jsonl). For every
    benchmark, JSON lines of {"id": …, "response": "…"} work; options count in the order that `vivant plan
    --write` shows, or in the order of an "options" list in the line.

    MileBench's whole output folder becomes a run per model.

    vivant import milebench outputs --out runs/milebench
    """
    options = parse_pairs(task_option, "--task-option")
    if predictions.is_dir():
        if model is not None:
            raise UsageError("--model: the models of a folder are named by its folders")
        runs = import_folder(task, predictions, out, data=tuple(data or ()), style=style, options=options)
        for run in runs:
            _report(run, protocol)
        return
    run = import_predictions(
        task,
        predictions,
        out,
        data=tuple(data or ()),
        model=model,
        style=style,
        options=options,
    )
    _report(run, protocol)


def _report(run: Run, protocol: str | None) -> None:
    for note in run.manifest.notes:
        say(f"Note: {note}")
    print_run(run.dir.path, protocol)
