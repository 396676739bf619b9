"""`vivant build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vivant.cli.show import say

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def build() -> None:
    """Make benchmarks."""


@app.command()
def mime(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder to write the videos and metadata.jsonl to.")
    ],
) -> None:
    """Render the mini-edition of MIME anew: mimed actions in ten variants each."""
    from vivant.build.mime import build_mini

    build_mini(out, progress=say)
    say(f"Written to {out}. Run it: vivant run mime --data {out} --model random")
