"""`vivant export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant.benchmarks import registry
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, say
from vivant.core.errors import UsageError, unknown_name_error
from vivant.runs.run import load_run

app = CommandApp()


@app.command()
def export(
    run: Annotated[Path, Argument(metavar="RUN", help="Run directory.")],
    kind: Annotated[
        str, Option("--as", metavar="FORMAT", help="A native format; see `vivant benchmarks show NAME`.")
    ],
    out: Annotated[Path, Option("--out", "-o", help="Folder to write to.")],
    protocol: o.ProtocolOption = None,
) -> None:
    """Write a run in a benchmark's native files, so that the original scripts can read them."""
    loaded = load_run(run)
    names = {task.partition("/")[0] for task in loaded.manifest.tasks}
    formats = {form for name in names for form in registry.get(name).native.exports}
    if kind not in formats:
        raise unknown_name_error("export format", kind, formats)
    if loaded.manifest.settings.permute != 1:
        raise UsageError(f"{run} asks each question in several orders, which no native format can hold")
    written: list[Path] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        parts = loaded.scores(parse_protocol(protocol))
        for name in sorted(names):
            if kind in registry.get(name).native.exports:
                own = [part for part in parts if part.task.partition("/")[0] == name]
                written += registry.get(name).native.export(own, kind, out)
    except OSError as error:
        raise UsageError(f"Cannot write to {out}: {error.strerror}") from error
    for path in dict.fromkeys(written):
        say(f"Written: {path}")
