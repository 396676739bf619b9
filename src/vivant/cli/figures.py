"""`vivant figures`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, say
from vivant.reporting.figures import draw_all
from vivant.runs.overview import score_runs
from vivant.runs.run import load_runs

app = CommandApp()


@app.command()
def figures(
    runs: o.Runs,
    out: Annotated[Path, Option("--out", "-o", help="Folder to draw into.")],
    form: Annotated[Literal["svg", "pdf", "png"], Option("--format", help="Kind of file.")] = "svg",
    protocol: o.ProtocolOption = None,
) -> None:
    """Draw what the benchmarks' papers draw: abilities and variants as bars, needles as maps."""
    parts = score_runs(load_runs(runs), parse_protocol(protocol))
    for path in draw_all(parts, out, f".{form}"):
        say(f"Drawn: {path}")
