"""`vivant build mimic`: the steps from cleaned data to a benchmark."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from vivant.cli.build_mimic_options import Config, Force, Work, run_step
from vivant.cli.help import CommandApp
from vivant.cli.output import print_table
from vivant.core.progress import ProgressCallback

if TYPE_CHECKING:
    from vivant.build.mimic.settings import PipelineSettings
    from vivant.build.mimic.steps import BuildStep

app = CommandApp()


@app.command()
def select(work: Work, config: Config = None, force: Force = False) -> None:
    """Choose the benchmark's videos: the top of each platform by interaction, spread over strata."""
    run_step(partial(_select, work, force=force), config)


@app.command()
def split(work: Work, config: Config = None, force: Force = False) -> None:
    """Part benchmark and training by video, near-duplicate and uploader, and write the proof."""
    run_step(partial(_split, work, force=force), config)


@app.command()
def tasks(work: Work, config: Config = None, force: Force = False) -> None:
    """Make the questions: right options from the videos, wrong ones from unrelated videos that look alike."""
    run_step(partial(_tasks, work, force=force), config)


@app.command()
def audit(
    work: Work,
    config: Config = None,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Draw the wrong options of tasks that fail again.")
    ] = False,
    drop: Annotated[
        bool, typer.Option("--drop", help="Leave out items that every guesser gets right.")
    ] = False,
    force: Force = False,
) -> None:
    """What can be solved without the video: guessers that see only the options, against 25 %."""
    from vivant.build.mimic.audit import report_tables

    run_step(partial(_audit, work, redraw=redraw, drop=drop, force=force), config)
    for table in report_tables(work):
        print_table(table)


@app.command()
def pool(work: Work, config: Config = None, force: Force = False) -> None:
    """Gather people's most-liked comments for blind packs: `vivant mimic pack RUN… --data WORK/pool`."""
    run_step(partial(_pool, work, force=force), config)


@app.command()
def train(work: Work, config: Config = None, force: Force = False) -> None:
    """Make training data of the same shape from the train split: a folder, pairs of text, shards."""
    run_step(partial(_train, work, force=force), config)


@app.command()
def publish(work: Work, config: Config = None, force: Force = False) -> None:
    """Write the benchmark with data sheet, card and checksums, and an edition of ids that may be passed on."""
    run_step(partial(_publish, work, force=force), config)


def _select(
    work: Path, settings: PipelineSettings, progress: ProgressCallback, *, force: bool = False
) -> BuildStep:
    from vivant.build.mimic.selection import select_videos as run

    return run(work, settings, progress, force=force)


def _split(
    work: Path, settings: PipelineSettings, progress: ProgressCallback, *, force: bool = False
) -> BuildStep:
    from vivant.build.mimic.split import split_videos as run

    return run(work, settings, progress, force=force)


def _tasks(
    work: Path, settings: PipelineSettings, progress: ProgressCallback, *, force: bool = False
) -> BuildStep:
    from vivant.build.mimic.tasks import make_tasks as run

    return run(work, settings, progress, force=force)


def _audit(
    work: Path,
    settings: PipelineSettings,
    progress: ProgressCallback,
    *,
    redraw: bool = True,
    drop: bool = False,
    force: bool = False,
) -> BuildStep:
    from vivant.build.mimic.audit import audit as run

    return run(work, settings, progress, redraw=redraw, drop=drop, force=force)


def _pool(
    work: Path, settings: PipelineSettings, progress: ProgressCallback, *, force: bool = False
) -> BuildStep:
    from vivant.build.mimic.comment_pool import make_comment_pool as run

    return run(work, settings, progress, force=force)


def _train(
    work: Path, settings: PipelineSettings, progress: ProgressCallback, *, force: bool = False
) -> BuildStep:
    from vivant.build.mimic.training_set import make_training_set as run

    return run(work, settings, progress, force=force)


def _publish(
    work: Path, settings: PipelineSettings, progress: ProgressCallback, *, force: bool = False
) -> BuildStep:
    from vivant.build.mimic.publication import publish as run

    return run(work, settings, progress, force=force)


class StepFunction(Protocol):
    """A step as a function."""

    def __call__(
        self, work: Path, settings: PipelineSettings, progress: ProgressCallback, *, force: bool = False
    ) -> BuildStep:
        """Do it, or find it done."""


STEPS: dict[str, StepFunction] = {
    "select": _select,
    "split": _split,
    "tasks": _tasks,
    "audit": _audit,
    "pool": _pool,
    "train": _train,
    "publish": _publish,
}
"""The steps after clean by name, in their order, for `vivant build mimic all`. Each imports its module late."""
