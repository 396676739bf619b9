"""Printing: messages to standard error, results to standard output."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.table import Table

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


def say(message: str) -> None:
    """Tell the user something that is not a result."""
    if not logger.handlers:  # a command called without `main`
        print_log()
    logger.info("%s", message)


def show(table: Table) -> None:
    """A table on standard output, as wide as the terminal allows."""
    from rich.console import Console

    from vivant.core.table import to_rich, to_text

    if sys.stdout.isatty():
        Console().print(to_rich(table))
    else:
        print(to_text(table), end="")


def deliver(made: Sequence[Table], form: str, out: Path | None) -> None:
    """Tables in the form asked for, on standard output or in a file."""
    from vivant.core import table as tables

    if form not in tables.FORMATS:
        raise unknown_name_error("format", form, tables.FORMATS)
    if form == "text" and out is None:
        for one in made:
            show(one)
        return
    text = tables.to_json(made) if form == "json" else "\n".join(tables.render(one, form) for one in made)
    put(text, out)


def put(text: str, out: Path | None) -> None:
    """A result on standard output, or in a file."""
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write {out}: {error.strerror}") from error
    say(f"Written to {out}")


def protocol_name(name: str) -> Protocol:
    """A protocol by name."""
    if name not in ("paper", "strict"):
        raise unknown_name_error("protocol", name, ("paper", "strict"))
    return cast(Protocol, name)


def print_run(path: str | Path, protocol: str) -> int:
    """Score a run, print its table, and return how many samples failed."""
    from vivant.report.overview import overview
    from vivant.runs.run import load_run

    table = overview([load_run(path)], protocol_name(protocol))
    show(table)
    say(f"Log and scores: {path}    more: vivant table {path} --by FACET")
    return sum(row.errors for row in table.rows)
