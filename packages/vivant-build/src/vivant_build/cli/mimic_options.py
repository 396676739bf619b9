"""What all commands of `vivant build mimic` share: their options, and how a step's way and end are told."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from vivant.cli.output import print_message, print_table
from vivant.core.progress import ProgressCallback, log_progress

if TYPE_CHECKING:
    from vivant_build.mimic.settings import PipelineSettings
    from vivant_build.mimic.steps import BuildStep

Work = Annotated[Path, Option("--work", "-w", help="The work folder: one sub-folder a step.")]
Config = Annotated[Path | None, Option("--config", "-c", help="YAML file of settings. [default: built in]")]
Ray = Annotated[
    str,
    Option(
        "--ray",
        metavar="ADDRESS",
        help="Work on the Ray cluster of this address (host:port); its nodes share WORK and media.",
    ),
]
Store = Annotated[
    str,
    Option(
        "--store",
        metavar="URL",
        help="Object storage (s3://bucket/folder) that holds the comments meanwhile.",
    ),
]
StoredMedia = Annotated[
    str,
    Option("--stored-media", metavar="URL", help="Object storage that holds the video files."),
]
TopicsBy = Annotated[
    str,
    Option(
        "--topics-by", metavar="MODEL", help="A model that names topics, e.g. openai/NAME. [default: terms]"
    ),
]
BaseUrl = Annotated[str | None, Option("--base-url", metavar="URL", help="Address of that model's server.")]
Force = Annotated[bool, Option("--force", help="Do it again although nothing has changed.")]


def run_step(run: Callable[[PipelineSettings, ProgressCallback], BuildStep], config: Path | None) -> None:
    """Read the settings, run one step with its progress shown, and print its table of counts."""
    from vivant_build.mimic.settings import read_settings

    settings = read_settings(config)
    with bar() as progress:
        step = run(settings, progress)
    print_step(step)


@contextlib.contextmanager
def bar() -> Iterator[ProgressCallback]:
    """A progress callback: a bar on a terminal, a line now and then elsewhere."""
    if not sys.stderr.isatty():
        yield log_progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("", total=None)

        def update(done: int, total: int, what: str) -> None:
            drawn.update(task, completed=done, total=total or None, description=what)

        yield update


def print_step(step: BuildStep) -> None:
    """The table of a step that has ended, and whether there was anything to do."""
    print_table(step.record.table())
    print_message(
        f"{step.name}: nothing has changed, kept {step.folder}" if step.kept else f"Written to {step.folder}"
    )
