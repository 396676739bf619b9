"""`vivant figures`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from vivant import api
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, say

app = CommandApp()


@app.command()
def figures(
    runs: o.Runs,
    out: Annotated[Path, Option("--out", "-o", help="Folder to draw into.")],
    form: Annotated[Literal["svg", "pdf", "png"], Option("--format", help="Kind of file.")] = "svg",
    protocol: o.ProtocolOption = None,
) -> None:
    """Draw what the benchmarks' papers draw: abilities and variants as bars, needles as maps."""
    for path in api.figures(runs, out, form=form, protocol=parse_protocol(protocol)):
        say(f"Drawn: {path}")
