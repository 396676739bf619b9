"""`vivant plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vivant.cli import options as o
from vivant.cli.show import say, show
from vivant.engine.rundir import write_lines
from vivant.evaluation import Options, Prepared, prepare
from vivant.report.table import Table
from vivant.types import Audio, Image, Text, Video

app = typer.Typer(add_completion=False)


@app.command()
@o.asks()
def plan(
    options: Options,
    write: Annotated[
        str | None,
        typer.Option(
            "--write", metavar="FILE", help="Write every request as a JSON line: key, messages, options."
        ),
    ] = None,
) -> None:
    """Show what `vivant run` with the same arguments would send. Sends nothing and writes no run."""
    prepared = prepare(options)
    show(_table(prepared))
    for note in prepared.plan.notes:
        say(f"Note: {note}")
    say(f"Run directory: {prepared.out}")
    if write:
        write_lines(Path(write), prepared.plan.jobs())
        say(f"Requests written to {write}")


def _table(prepared: Prepared) -> Table:
    counts: dict[str, list[int]] = {}
    for job in prepared.plan.jobs():
        row = counts.setdefault(job.task, [0, 0, 0, 0, 0])
        parts = [part for message in job.messages for part in message.parts]
        row[0] += 1
        row[1] += sum(isinstance(part, Image) for part in parts)
        row[2] += sum(isinstance(part, Video) for part in parts)
        row[3] += sum(isinstance(part, Audio) for part in parts)
        row[4] += sum(len(part.text) for part in parts if isinstance(part, Text))
    return Table(
        title=f"{prepared.model.name}, style {prepared.plan.settings.style}",
        columns=("task", "requests", "pictures", "videos", "sounds", "characters of text"),
        body=tuple((task, *row) for task, row in counts.items()),
    )
