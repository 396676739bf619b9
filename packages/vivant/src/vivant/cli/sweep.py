"""`vivant sweep`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import ask_user, parse_protocol, print_message, print_table
from vivant.cli.parsing import split_values
from vivant.cli.run_options import with_run_options
from vivant.core.errors import UsageError
from vivant.core.optional_packages import require_package
from vivant.engine.options import FRAMES, RunOptions
from vivant.engine.sweep import build_sweep_table, run_sweep
from vivant.reporting.sweep_figure import draw_sweep

app = CommandApp()


@app.command()
@with_run_options("recipe", "frames", "fps", "every", "every_start", "max_frames")
def sweep(
    options: RunOptions,
    frames: Annotated[
        str,
        Option(
            "--frames", metavar="N,N,…", help="Numbers of frames, e.g. 8,16,32,64.", rich_help_panel=FRAMES
        ),
    ],
    by: o.By = None,
    figure: Annotated[
        Path | None, Option("--figure", help="Where to draw the curve (.svg, .pdf, .png).")
    ] = None,
    protocol: o.ProtocolOption = None,
) -> None:
    """Score against the number of frames, one run each; each video is decoded once.

    vivant sweep mmrv --model openai/NAME --frames 8,16,32,64 --figure frames.svg
    """
    if figure is not None:
        require_package("matplotlib", "figures", "--figure")
    points = run_sweep(options, _counts(frames), ask_user)
    if not points:
        print_message("Stopped. Run the same command to go on.")
        raise typer.Exit(130)
    table = build_sweep_table(points, parse_protocol(protocol), split_values(by))
    print_table(table)
    folder = points[0].run.dir.path.parent
    if find_spec("matplotlib") is None:
        print_message(f"Runs: {folder}    For a figure: pip install 'vivant[figures]'")
        return
    drawn = figure or folder / "frames.svg"
    draw_sweep(points, drawn, table)
    print_message(f"Figure: {drawn}    runs: {folder}")


def _counts(text: str) -> list[int]:
    try:
        counts = [int(piece) for piece in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--frames {text}: write numbers with commas between them, e.g. 8,16,32") from error
    if any(count < 1 for count in counts):
        raise UsageError(f"--frames {text}: each must be at least 1")
    return counts
