"""`vivant study`: making studies, and what came of them."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False)
