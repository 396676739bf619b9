"""`vivant figures`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import protocol_name, say
from vivant.report.figures import draw_all
from vivant.report.overview import scored
from vivant.runs.run import load_run

app = CommandApp()


@app.command()
def figures(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run directories.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to draw into.")],
    form: Annotated[Literal["svg", "pdf", "png"], typer.Option("--format", help="Kind of file.")] = "svg",
    protocol: o.ProtocolOption = "paper",
) -> None:
    """Draw what the benchmarks' papers draw: abilities and variants as bars, needles as maps."""
    parts = scored([load_run(path) for path in runs], protocol_name(protocol))
    for path in draw_all(parts, out, f".{form}"):
        say(f"Drawn: {path}")
