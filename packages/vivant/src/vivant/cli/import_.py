"""`vivant import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant.bridges.formats import IMPORTS, import_results
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message, print_run
from vivant.cli.parsing import parse_pairs
from vivant.core.errors import UsageError, unknown_name_error
from vivant.runs.importing import import_folder, import_predictions
from vivant.runs.run import Run

app = CommandApp()


@app.command(name="import")
def import_(
    files: Annotated[
        list[str],
        Argument(
            metavar="TASK PREDICTIONS",
            help="The task (mime/mcq, … or your own .jsonl file) and its prediction file; the benchmark and a folder. "
            "With --as: result files of another harness, or folders of them.",
            show_default=False,
        ),
    ],
    kind: Annotated[
        str | None,
        Option(
            "--as", metavar="HARNESS", help="Results of another harness: inspect, lmms-eval or vlmevalkit."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="The run directory to write. [default with --as: a folder in runs]"),
    ] = None,
    data: o.Data = None,
    model: Annotated[
        str | None, Option("--model", "-m", help="Name of the model. [default: from the file]")
    ] = None,
    style: o.Style = None,
    task_option: o.TaskOption = None,
    protocol: o.ProtocolOption = None,
) -> None:
    """Turn somebody's predictions or another harness's results into a run, and show its scores.

    Native files of a benchmark are recognised (MIME: raw_*.json, score_*.csv, human_eval.jsonl). For every
    benchmark, JSON lines of {"id": …, "response": "…"} work; options count in the order that `vivant plan
    --write` shows, or in the order of an "options" list in the line.

    MileBench's whole output folder becomes a run per model. A log of Inspect, lmms-eval or VLMEvalKit keeps the
    scores that its harness gave.

    vivant import milebench outputs --out runs/milebench
    vivant import --as inspect logs/2026-01-05_mmmu.eval
    """
    if kind is not None:
        _import_results(
            kind, files, out, model, {"--data": data, "--style": style, "--task-option": task_option}
        )
        return
    if len(files) != 2:
        raise UsageError(
            "Name a task and its predictions: vivant import TASK PREDICTIONS --out RUN; "
            "for another harness's results: vivant import --as HARNESS FILE"
        )
    if out is None:
        raise UsageError("Name the run directory to write: --out RUN")
    task, predictions = files[0], Path(files[1])
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


def _import_results(
    kind: str, files: list[str], out: Path | None, model: str | None, others: dict[str, object]
) -> None:
    if kind not in IMPORTS:
        raise unknown_name_error("import format", kind, IMPORTS)
    refused = [flag for flag, value in others.items() if value]
    if refused:
        raise UsageError(
            f"--as {kind} takes questions and scores from the file; leave out {', '.join(refused)}"
        )
    if out is not None and len(files) > 1:
        raise UsageError("--out is for one file; leave it out, or import the files one by one")
    for file in files:
        for run in import_results(kind, Path(file), out, model):
            _report(run, None)


def _report(run: Run, protocol: str | None) -> None:
    for note in run.manifest.notes:
        print_message(f"Note: {note}")
    print_run(run.dir.path, protocol)
