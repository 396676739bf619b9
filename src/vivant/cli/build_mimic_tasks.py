"""`vivant build mimic`: the steps from cleaned data to a benchmark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vivant.cli.build_mimic_options import Config, Force, Work, run_step

if TYPE_CHECKING:
    from vivant.build.mimic.settings import Settings
    from vivant.build.mimic.steps import Progress, Step

app = typer.Typer(add_completion=False)


@app.command()
def select(work: Work, config: Config = None, force: Force = False) -> None:
    """Choose the benchmark's videos: the top of each platform by interaction, spread over strata."""
    from vivant.build.mimic import select as module

    run_step(lambda settings, progress: module.select(work, settings, progress, force=force), config)


@app.command()
def split(work: Work, config: Config = None, force: Force = False) -> None:
    """Part benchmark and training by video, near-duplicate and uploader, and write the proof."""
    from vivant.build.mimic import split as module

    run_step(lambda settings, progress: module.split(work, settings, progress, force=force), config)


def _select(work: Path, settings: Settings, progress: Progress) -> Step:
    from vivant.build.mimic import select as module

    return module.select(work, settings, progress)


def _split(work: Path, settings: Settings, progress: Progress) -> Step:
    from vivant.build.mimic import split as module

    return module.split(work, settings, progress)


STEPS: dict[str, Callable[[Path, Settings, Progress], Step]] = {"select": _select, "split": _split}
"""The steps after clean by name, in their order, for `vivant build mimic all`. Each imports its module late."""
