"""`vivant build mime`: motions, labels and the dataset; mounted beside rendering by `build_mime`."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False)
