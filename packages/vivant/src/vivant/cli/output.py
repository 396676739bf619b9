"""Printing: messages to standard error, results to standard output."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vivant.benchmarks.base import PROTOCOLS, Protocol
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.table import PIPED_WIDTH, Table

if TYPE_CHECKING:
    from vivant.runs.run import Run

logger = logging.getLogger("vivant")


class _StandardError(logging.Handler):
    """Prints messages plainly. Looks the stream up each time, because tests and Ray put another in its place."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


def print_log(*, quiet: bool = False, verbose: bool = False) -> None:
    """Print what the library logs: `quiet` leaves out all but warnings and errors, `verbose` adds details."""
    if not any(isinstance(handler, _StandardError) for handler in logger.handlers):
        logger.addHandler(_StandardError())
        logger.propagate = False
    logger.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)


def print_message(message: str) -> None:
    """Tell the user something that is not a result."""
    if not logger.handlers:  # a command called without `main`
        print_log()
    logger.info("%s", message)


def ask_user(question: str) -> bool | None:
    """Ask something on the terminal; None where there is none."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    import typer

    return typer.confirm(question, err=True)


def get_output_width() -> int:
    """Columns for tables on standard output: of the terminal, or $COLUMNS; 160 where they go to a file or a pipe."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH


def print_table(*tables: Table) -> None:
    """Print tables on standard output, no wider than the terminal, with an empty line between two."""
    from vivant.core.table_layout import StyledLine, layout_table

    lines: list[StyledLine] = []
    for table in tables:
        lines += [StyledLine("")] if lines and lines[-1].text else []
        lines += layout_table(table, get_output_width())
    if not lines:
        return
    if not sys.stdout.isatty():
        print(*(line.text for line in lines), sep="\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        console.print(Text(line.text, style=line.style), soft_wrap=True)


def check_format(form: str) -> str:
    """The format of tables, unless it is none: said before anything is asked, written or paid for."""
    from vivant.core.table import FORMATS

    if form not in FORMATS:
        raise unknown_name_error("format", form, FORMATS)
    return form


def write_tables(content: Sequence[Table], form: str, out: Path | None) -> None:
    """Write tables in a format, to standard output or to a file."""
    from vivant.core import table as tables

    if form == "text" and out is None:
        print_table(*content)
        return
    text = (
        tables.to_json(content)
        if form == "json"
        else "\n".join(tables.render(table, form) for table in content)
    )
    write_output(text, out)


def write_output(text: str, out: Path | None) -> None:
    """Write a result to standard output, or to a file."""
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write {out}: {error.strerror}") from error
    print_message(f"Written to {out}")


def parse_protocol(name: str | None) -> Protocol | None:
    """A protocol by name; None leaves the choice to the benchmarks."""
    if name is not None and name not in PROTOCOLS:
        raise unknown_name_error("protocol", name, PROTOCOLS)
    return name


def print_run(path: str | Path, protocol: str | None, prices: str | None = None) -> int:
    """Score a run, print its table, and return how many samples failed. `prices` is a file of the user's."""
    from vivant.benchmarks import registry
    from vivant.runs.overview import build_overview
    from vivant.runs.run import load_run

    run = load_run(path)
    table = build_overview([run], parse_protocol(protocol))
    print_table(table)
    print_usage(run, prices)
    print_message(f"Log and scores: {path}")
    facet = next((name for task in run.manifest.tasks for name in registry.get_by_task(task).facets), "")
    print_message(f"More: vivant table {path} --by {facet}" if facet else f"More: vivant report {path}")
    return sum(row.errors for row in table.rows)


def print_usage(run: Run, prices: str | None = None) -> None:
    """Say what a run took, where its server tells; `prices` is a file of the user's."""
    from vivant.reporting.usage import describe_usage

    if run.dir.log_file.exists() and (usage := describe_usage(run, prices)):
        print_message(usage)
