"""`vivant build mimic`: the steps from cleaned data to a benchmark."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

from typer import Option

from vivant.cli.help import CommandApp
from vivant.cli.output import print_table
from vivant.core.progress import ProgressCallback
from vivant_build.cli.mimic_options import BaseUrl, Config, Force, Ray, TopicsBy, Work, run_step

if TYPE_CHECKING:
    from vivant_build.mimic.settings import PipelineSettings
    from vivant_build.mimic.steps import BuildStep

app = CommandApp()


class StepFunction(Protocol):
    """A step after `clean` as a function."""

    def __call__(
        self,
        work: Path,
        settings: PipelineSettings,
        progress: ProgressCallback,
        *,
        force: bool = False,
        ray: str = "",
    ) -> BuildStep:
        """Run the step, or keep what an earlier run wrote."""


def _import_late(path: str, **options: bool) -> StepFunction:
    """The step `module:function` of `vivant_build.mimic`, imported when it runs."""
    module, _, name = path.partition(":")

    def run(
        work: Path,
        settings: PipelineSettings,
        progress: ProgressCallback,
        *,
        force: bool = False,
        ray: str = "",
    ) -> BuildStep:
        function = getattr(import_module(f"vivant_build.mimic.{module}"), name)
        on_ray = {"ray": ray} if ray else {}
        step: BuildStep = function(work, settings, progress, force=force, **options, **on_ray)
        return step

    return run


STEPS: dict[str, StepFunction] = {
    "select": _import_late("selection:select_videos"),
    "split": _import_late("split:split_videos"),
    "tasks": _import_late("tasks:make_tasks"),
    "audit": _import_late("audit:audit", redraw=True),
    "pool": _import_late("comment_pool:make_comment_pool"),
    "train": _import_late("training_set:make_training_set"),
    "publish": _import_late("publication:publish"),
}
"""The steps after `clean` by name, in their order, for `vivant build mimic all`."""


def _add_command(name: str, summary: str) -> None:
    def command(work: Work, config: Config = None, force: Force = False) -> None:
        run_step(partial(STEPS[name], work, force=force), config)

    command.__doc__ = f"{summary}\n\nExample:\n\n    vivant build mimic {name} --work build"
    app.command(name)(command)


@app.command()
def topics(
    work: Work,
    topics_by: TopicsBy = "",
    base_url: BaseUrl = None,
    review: Annotated[
        Path | None,
        Option(
            "--review",
            help="A run on WORK/topics/questions.jsonl: topics that it does not confirm are dropped.",
        ),
    ] = None,
    config: Config = None,
    force: Force = False,
) -> None:
    """Make topics for videos that have none: groups of titles, tags and descriptions, named by their terms.

    Example:

        vivant build mimic topics --work build

        vivant build mimic topics --work build --topics-by openai/my-model
    """
    from vivant_build.mimic.topics import make_topics, topics_table

    run_step(
        partial(make_topics, work, model=topics_by, base_url=base_url, review=review, force=force),
        config,
    )
    print_table(topics_table(work))


_add_command(
    "select", "Choose the benchmark's videos: the top of each platform by interaction, spread over strata."
)
_add_command(
    "split", "Part benchmark and training by video, near-duplicate and uploader, and write the proof."
)


@app.command()
def tasks(work: Work, ray: Ray = "", config: Config = None, force: Force = False) -> None:
    """Make the questions: right options from the videos, wrong ones from unrelated videos that look alike.

    Example:

        vivant build mimic tasks --work build
    """
    run_step(partial(STEPS["tasks"], work, force=force, ray=ray), config)


@app.command()
def audit(
    work: Work,
    config: Config = None,
    redraw: Annotated[
        bool, Option("--redraw", help="Draw the wrong options of tasks that fail again.")
    ] = False,
    drop: Annotated[bool, Option("--drop", help="Leave out items that every guesser gets right.")] = False,
    force: Force = False,
) -> None:
    """What can be solved without the video: guessers that see only the options, against 25 %.

    Example:

        vivant build mimic audit --work build --redraw
    """
    from vivant_build.mimic.audit import audit as audit_tasks
    from vivant_build.mimic.audit import report_tables

    run_step(partial(audit_tasks, work, redraw=redraw, drop=drop, force=force), config)
    print_table(*report_tables(work))


_add_command(
    "pool", "Gather people's most-liked comments for blind packs: `vivant mimic pack RUN… --data WORK/pool`."
)
_add_command(
    "train", "Make training data of the same shape from the train split: a folder, pairs of text, shards."
)
_add_command(
    "publish",
    "Write the benchmark with data sheet, card and checksums, and an edition of ids that may be passed on.",
)
