"""`vivant build mime`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vivant.cli.build_mime_data import app as data_app
from vivant.cli.show import say, ticker

app = typer.Typer(no_args_is_help=True, add_completion=False)
# Without a name: its commands stand beside those of this file.
app.add_typer(data_app)


@app.callback()
def mime() -> None:
    """Make MIME: motions put on characters, over backgrounds, seen from angles, as videos."""


@app.command()
def mini(out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")]) -> None:
    """Render the mini-edition anew: mimed actions in ten variants each."""
    from vivant.build.mime import build_mini

    build_mini(out, ticker())
    say(f"Written to {out}. Run it: vivant run mime --data {out} --model random")
