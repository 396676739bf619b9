"""`vivant plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from typer import Option

from vivant.cli.help import CommandApp
from vivant.cli.output import print_message, print_table
from vivant.cli.run_options import with_run_options
from vivant.core.files import write_jsonl
from vivant.engine.options import RunOptions
from vivant.engine.plan_table import build_plan_table
from vivant.engine.run_planning import plan_run

app = CommandApp()


@app.command()
@with_run_options()
def plan(
    options: RunOptions,
    write: Annotated[
        str | None,
        Option("--write", metavar="FILE", help="Write every request as a JSON line: key, messages, options."),
    ] = None,
) -> None:
    """Show what `vivant run` with the same arguments would send, and what it may cost. Sends nothing, needs no key.
    Tokens are estimates; replies are counted at their limit, so that a run costs less rather than more.

    vivant plan mime/mcq --data mini --model openai/gpt-4o-mini --limit 20
    """
    prepared = plan_run(options, needs_key=False)
    table = build_plan_table(prepared, options)
    print_table(msgspec.structs.replace(table, notes=()))
    for note in table.notes:
        print_message(f"Note: {note}")
    print_message(f"Run directory: {prepared.out}")
    if write:
        write_jsonl(Path(write), prepared.plan.jobs())
        print_message(f"Requests written to {write}")
