"""`vivant import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_run, say
from vivant.cli.parsing import parse_pairs
from vivant.runs.importing import import_predictions

app = CommandApp()


@app.command(name="import")
def import_(
    task: Annotated[str, Argument(metavar="TASK", help="mime/mcq, mime/ff, … or your own .jsonl file.")],
    predictions: Annotated[Path, Argument(metavar="PREDICTIONS", help="The prediction file.")],
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
    """
    run = import_predictions(
        task,
        predictions,
        out,
        data=tuple(data or ()),
        model=model,
        style=style,
        options=parse_pairs(task_option, "--task-option"),
    )
    for note in run.manifest.notes:
        say(f"Note: {note}")
    print_run(out, protocol)
