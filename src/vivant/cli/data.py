"""`vivant data`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vivant import mini
from vivant.benchmarks import registry
from vivant.cli.show import say, show, ticker
from vivant.report.table import Table

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def data() -> None:
    """Where data are looked for, and whether they are whole. A run never downloads anything."""


@app.command(name="list")
def list_() -> None:
    """Each benchmark: where its data are looked for, and whether they are there."""
    body = []
    for name in registry.names():
        if name == "jsonl":
            continue
        place = registry.data_root() / name
        bundled = mini.root(name)
        size = f"{_size(bundled) / 1e6:.1f} MB" if bundled else "–"
        body.append((name, str(place), "yes" if place.exists() else "no", size, registry.get(name).data_help))
    show(
        Table(
            title="Data", columns=("benchmark", "looked for in", "there", "mini", "source"), body=tuple(body)
        )
    )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@app.command()
def check(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK")],
    path: Annotated[
        str | None,
        typer.Option("--data", metavar="PATH", help="Folder with the data; 'mini' for the bundled."),
    ] = None,
) -> None:
    """Read all samples and open all media; list everything that is missing or broken."""
    from vivant.check import check_data

    report = check_data(name, path, ticker())
    for line in report.found:
        say(line)
    for problem in report.problems:
        print(problem)
    if report.problems:
        say(f"{len(report.problems)} problem(s).")
        raise typer.Exit(1)
    say("No problems.")
