"""`vivant table`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vivant.cli import options as o
from vivant.cli.settle import split
from vivant.cli.show import protocol_name, say, show
from vivant.errors import UsageError, unknown
from vivant.report import table as tables
from vivant.report.overview import layout, overview
from vivant.runs import load_run

app = typer.Typer(add_completion=False)


@app.command()
def table(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run directories.")],
    layout_name: Annotated[
        str | None,
        typer.Option(
            "--layout", metavar="NAME", help="A benchmark's own table, e.g. mime:1; see `vivant benchmarks`."
        ),
    ] = None,
    by: o.By = None,
    where: o.Where = None,
    protocol: o.ProtocolOption = "paper",
    form: Annotated[str, typer.Option("--format", help="text, csv, markdown, latex or json.")] = "text",
    published: Annotated[bool, typer.Option("--published", help="Add the papers' own figures.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file instead.")] = None,
) -> None:
    """Tables of one or several runs, with intervals, n, errors and unparsed replies beside every score."""
    if form not in tables.FORMATS:
        raise unknown("format", form, tables.FORMATS)
    loaded = [load_run(path) for path in runs]
    if layout_name:
        if by or where or published:
            raise UsageError("--layout has its own groups; leave out --by, --where and --published")
        made = layout(layout_name, loaded, protocol_name(protocol))
    else:
        made = overview(loaded, protocol_name(protocol), split(by), tuple(where or ()), published)
    if form == "text" and out is None:
        show(made)
        return
    text = tables.render(made, form)
    if out is None:
        sys.stdout.write(text)
    else:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"Cannot write {out}: {error.strerror}") from error
        say(f"Written to {out}")
