"""`vivant models`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from vivant.cli.show import say, show
from vivant.models.registry import backends
from vivant.report.table import Table

app = typer.Typer(invoke_without_command=True, add_completion=False)


@app.callback()
def models(ctx: typer.Context) -> None:
    """All backends: how each is written after --model, and what it needs."""
    if ctx.invoked_subcommand is None:
        body = []
        for backend in backends().values():
            key = "" if not backend.key else ("set" if os.environ.get(backend.key) else "not set")
            body.append((backend.form, backend.summary, backend.needs, key))
        body.append(
            ("./file.py:Class", "your own model; `vivant models new my_model.py` writes one", "nothing", "")
        )
        show(Table(title="Models", columns=("--model", "what it is", "needs", "key"), body=tuple(body)))


@app.command()
def new(path: Annotated[Path, typer.Argument(metavar="FILE.py")]) -> None:
    """Write a working example of a model of your own."""
    from vivant.models.custom import write_example

    write_example(path)
    say(f"Written. Try it: vivant run mime --data mini --model ./{path}:MyModel --limit 20")
