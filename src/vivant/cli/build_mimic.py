"""`vivant build mimic`: its world, ingest and clean. The steps after those stand in build_mimic_tasks."""

from __future__ import annotations

import typer

from vivant.cli.build_mimic_tasks import app as tasks_app

app = typer.Typer(no_args_is_help=True, add_completion=False)
app.add_typer(tasks_app)


@app.callback()
def mimic() -> None:
    """Make a benchmark like MIMIC-Bench from videos' metadata and comments, step by step."""
