"""`vivant figures`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from vivant import api
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message

app = CommandApp()


@app.command()
def figures(
    runs: o.Runs,
    out: Annotated[Path, Option("--out", "-o", help="Folder to draw into.")],
    form: Annotated[Literal["svg", "pdf", "png"], Option("--format", help="Kind of file.")] = "svg",
    width: Annotated[
        Literal["column", "page"], Option("--width", help="One column of a paper, or the page.")
    ] = "column",
    font_size: Annotated[float, Option("--font-size", min=4, max=24, help="Points, as printed.")] = 8.0,
    latex: Annotated[bool, Option("--latex", help="Let LaTeX set the labels; it must be installed.")] = False,
    protocol: o.ProtocolOption = None,
) -> None:
    """Draw figures for a paper: levels as bars, needles as maps, accuracy against cost.

    They have the intervals of the tables, and name models, settings and n. Text stays text in SVG and PDF.

    Example:

        vivant figures runs/milebench-* --out figures --format pdf
    """
    files = api.figures(
        runs, out, form=form, protocol=parse_protocol(protocol), width=width, font_size=font_size, latex=latex
    )
    for path in files:
        print_message(f"Drawn: {path}")
    if not files:
        print_message("Nothing to draw: these benchmarks name no figure, and no tokens were reported.")
