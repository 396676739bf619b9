"""`vivant report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from vivant import api
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message

app = CommandApp()


@app.command()
def report(
    runs: o.Runs,
    out: Annotated[Path, Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
    protocol: o.ProtocolOption = None,
    title: Annotated[
        str, Option("--title", help="The report's title. [default: models and benchmarks]")
    ] = "",
    corrected_by: o.CorrectedBy = None,
) -> None:
    """Write a report on one or several runs: one HTML file that opens from disk, with no network.

    What was found in words and what cannot be concluded, scores with intervals beside chance, people and published
    figures, the papers' tables and figures, what went wrong, tokens and time, settings, and how to repeat it.

    Example:

        vivant report runs/mime-* -o report.html
    """
    file = api.report(
        runs, out, protocol=parse_protocol(protocol), title=title, corrected_by=corrected_by or ()
    )
    print_message(f"Written to {file} ({file.stat().st_size / 1e6:.1f} MB). Open it in any browser.")
