"""`vivant demo`."""

from __future__ import annotations

import logging
import shlex
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import which
from typing import Annotated

from msgspec import Struct, field
from typer import Option

from vivant.cli.help import CommandApp
from vivant.cli.output import logger, print_message, print_table
from vivant.engine.options import RunOptions
from vivant.engine.run_execution import open_progress, run_plan
from vivant.engine.run_planning import PlannedRun, plan_run
from vivant.models.discovery import FoundModel, find_local_models
from vivant.reporting.demo import SELECTORS, build_demo_table
from vivant.reporting.html import write_report
from vivant.runs.directory import RunDir
from vivant.runs.run import Run

app = CommandApp()


class Contestant(Struct, frozen=True, kw_only=True):
    """One row of the demo's table."""

    model: str
    sees: str
    folder: str
    values: dict[str, str] = field(default_factory=dict)


CONTESTANTS = (
    Contestant(model="vivant/tiny", sees="8 frames, 64 × 64 pixels", folder="vivant-tiny"),
    Contestant(model="nearest", sees="4 frames, 8 × 6 pixels", folder="nearest"),
    Contestant(model="blind", sees="the words alone", folder="blind", values={"by": "words"}),
)
_MEANING = (
    "vivant/tiny watched the videos; a look-up by 48 pixels, in what it learnt from, shows how far colour and layout "
    "carry. These are drawn mini-editions: a score here shows that everything works, not that a model is good."
)


@app.command()
def demo(
    out: Annotated[Path, Option("--out", "-o", help="Folder for the runs.")] = Path("runs/demo"),
) -> None:
    """Run the bundled model and two baselines on two mini-editions: one table, one report.

    Needs no key, no download and no network.

    Example:

        vivant demo
    """
    planned = [_plan(contestant, out) for contestant in CONTESTANTS]
    total = sum(prepared.plan.size for _, prepared in planned)
    done = sum(
        len(RunDir(prepared.out).records()) for _, prepared in planned if RunDir(prepared.out).exists()
    )
    with open_progress(total, done) as progress, _quietly():
        for options, prepared in planned:
            run_plan(prepared, options, nullcontext(progress))
    runs = {contestant.model: Run(out / contestant.folder) for contestant in CONTESTANTS}
    print_table(build_demo_table(runs, {contestant.model: contestant.sees for contestant in CONTESTANTS}))
    report = write_report([run.dir.path for run in runs.values()], out / "report.html")
    print_message(f"\n{textwrap.fill(_MEANING, 80)}\n\nReport: {report} (open it in a browser)\n\nNext:")
    for line in list_next_commands(out, find_program(), find_local_models()):
        print_message(line)


def _plan(contestant: Contestant, out: Path) -> tuple[RunOptions, PlannedRun]:
    options = RunOptions(
        selectors=tuple(SELECTORS),
        model=contestant.model,
        model_options=contestant.values,
        data=("mini",),
        out=str(out / contestant.folder),
    )
    return options, plan_run(options)


@contextmanager
def _quietly() -> Iterator[None]:
    """Only warnings: one bar stands for all runs."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def find_program() -> str:
    """How this user starts Vivant again: `vivant` where it is on PATH, else the path to it."""
    if which("vivant"):
        return "vivant"
    started = Path(sys.argv[0])
    if started.name == "vivant":
        return shlex.quote(str(started))
    beside = Path(sys.executable).with_name("vivant")
    return shlex.quote(str(beside)) if beside.exists() else f"{shlex.quote(sys.executable)} -m vivant"


def list_next_commands(out: Path, program: str, models: Sequence[FoundModel]) -> list[str]:
    """Three commands that work as printed, each with a line that says what for; how to put `vivant` on PATH."""
    folder = shlex.quote(str(out))
    steps = [
        ("Is the difference real?", f"compare {folder}/vivant-tiny {folder}/nearest"),
        (
            "Does it need the order of the frames?",
            "run mime/mcq --data mini -m vivant/tiny --control shuffled",
        ),
    ]
    if models:
        arguments = " ".join(map(shlex.quote, models[0].arguments))
        steps.append(
            (f"A real model, {models[0].where}:", f"run mime/mcq --data mini --limit 20 --model {arguments}")
        )
    else:
        steps.append(
            (
                "What a real model would be sent, and its price:",
                "plan mime --data mini --model openai/gpt-4o-mini",
            )
        )
    lines = [line for comment, command in steps for line in (f"  # {comment}", f"  {program} {command}")]
    if program != "vivant":
        folder_of = Path(shlex.split(program)[0]).parent
        lines.append(f'To type just `vivant`: export PATH="{folder_of.resolve()}:$PATH"')
    return lines
