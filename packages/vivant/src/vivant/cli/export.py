"""`vivant export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant import api
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message
from vivant.cli.parsing import parse_pairs

app = CommandApp()


@app.command()
def export(
    run: Annotated[Path, Argument(metavar="RUN", help="Run directory.")],
    kind: Annotated[
        str,
        Option(
            "--as",
            metavar="FORMAT",
            help="inspect, a benchmark's native format (see `vivant benchmarks show NAME`), or a format that a "
            "package adds.",
        ),
    ],
    out: Annotated[Path, Option("--out", "-o", help="Folder to write to.")],
    settings: o.Settings = None,
    protocol: o.ProtocolOption = None,
) -> None:
    """Write a run for other tools: as an Inspect log, in a benchmark's native files, or in a package's own format.

    vivant export RUN --as inspect --out logs
    """
    values = parse_pairs(settings, "--set")
    for path in api.export(run, kind, out, protocol=parse_protocol(protocol), values=values):
        print_message(f"Written: {path}")
