"""`vivant run`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from vivant.benchmarks import registry
from vivant.cli import judge_options as j
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import ask_user, parse_protocol, print_message, print_run, print_usage
from vivant.cli.run_options import with_run_options
from vivant.core.errors import UsageError
from vivant.engine.cost import announce_cost
from vivant.engine.evaluation import run_human
from vivant.engine.option_checks import stops_early
from vivant.engine.options import QUESTIONS, RunOptions
from vivant.engine.recording import RunOutcome
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import plan_run
from vivant.judging.options import JudgeOptions
from vivant.models.registry import create
from vivant.models.server_errors import is_rejection
from vivant.runs.human import NAME as HUMAN
from vivant.runs.importing import export_result, import_answers
from vivant.runs.log import read_log
from vivant.runs.run import load_run

app = CommandApp()


@app.command()
@with_run_options()
@j.with_judges
def run(
    options: RunOptions,
    judges: list[JudgeOptions],
    answers: Annotated[
        Path | None,
        Option(
            "--answers",
            metavar="DIR",
            help="Judge answers that are there already, in the benchmark's own format; no --model.",
            rich_help_panel=QUESTIONS,
            hidden=True,
        ),
    ] = None,
    protocol: o.ProtocolOption = None,
) -> None:
    """Evaluate a model. Run the same command again to resume.

    vivant run mime --model random --data mini
    vivant run ./mine.jsonl --model openai/NAME --base-url http://gpu:8000/v1
    """
    judges = j.apply_run_options(options, judges)
    if answers is not None:
        _judge_answers(options, answers, judges, protocol)
        return
    if options.model == HUMAN:
        print_run(run_human(options).dir.path, protocol)
        return
    for judge in judges:  # a misspelt judge should not show after hours of answers
        create(judge.model, judge.backend_options)
    prepared = plan_run(options)
    plan = prepared.plan
    tasks = [task.task for task in plan.tasks]
    j.check_judged(tasks, judges)
    registry.choose_protocol(tasks, parse_protocol(protocol))  # what cannot be scored is not asked
    counted = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    print_message(f"{prepared.model.name}: {plan.size} requests in {counted} → {prepared.out}")
    for note in plan.notes:
        print_message(f"Note: {note}")
    if j.needs_judge(tasks) and not judges:
        print_message(
            "Note: answers here are scored by a judge and none is named; --judge can be given later too"
        )
    announce_cost([prepared], options, ask_user, besides="the judge" if judges else "")
    judge_answers = partial(j.judge_or_exit, prepared.out, judges, protocol) if judges else None
    outcome = run_plan(prepared, options, protocol=parse_protocol(protocol), judge=judge_answers)
    if outcome.stopped:
        raise _report_stop(outcome, prepared.out, options.prices)
    if judges and not stops_early(options):  # such a run was judged as it went
        j.judge_or_exit(prepared.out, judges, protocol)
    _report(prepared.out, protocol, options.prices)


def _report_stop(outcome: RunOutcome, folder: Path, prices: str | None) -> typer.Exit:
    """Say what the run took and why it is not finished; the exit is 3 for a budget, 130 for the user's own stop."""
    print_usage(load_run(folder), prices)
    if outcome.reason:
        print_message(f"Stopped after {outcome.done} samples: {outcome.reason}.")
        if not outcome.cut_off:
            print_message(f"Run the same command with more of it to go on: {folder}")
        return typer.Exit(3)
    print_message(f"Stopped after {outcome.done} samples. Run the same command to go on: {folder}")
    return typer.Exit(130)


def _report(path: Path, protocol: str | None, prices: str | None = None) -> None:
    errors = print_run(path, protocol, prices)
    if errors:
        print_message(
            f"{errors} sample{'s' * (errors != 1)} failed; the first: {first_error(path, protocol)}"
        )
        print_message(_describe_retry(path, errors))
        raise typer.Exit(1)


def _judge_answers(
    options: RunOptions, folder: Path, judges: list[JudgeOptions], protocol: str | None
) -> None:
    """Each model's answers become a run, which is judged; verdicts are also written as the original does."""
    if options.model:
        raise UsageError("--answers are there already: leave out --model, or leave out --answers")
    if not judges:
        raise UsageError("--answers need a judge: add --judge openai/NAME; see `vivant models`")
    variant = registry.parse_task_options(options.selectors, options.task_options).variant
    runs = import_answers(
        options.selectors, folder, options.out, options.data, variant,
        where=options.where, limit=options.limit, seed=options.seed,
    )  # fmt: skip
    for run in runs:
        for note in run.manifest.notes:
            print_message(f"Note: {note}")
        print_message(f"{run.model}: {sum(run.manifest.planned.values())} answers → {run.dir.path}")
        j.judge_or_exit(run.dir.path, judges, protocol)
        for path in export_result(run, parse_protocol(protocol)):
            print_message(f"Written: {path}")
        _report(run.dir.path, protocol)


_FINAL = ("refused", "too_long")
"""What the server said of the question itself: resuming does not ask again."""


def _describe_retry(path: Path, errors: int) -> str:
    """What running the same command again does about failed samples, by the kind of their errors."""
    replies = [record.reply for record in read_log(load_run(path).dir.log_file)]
    final = sum(reply.status in _FINAL for reply in replies)
    rejected = sum(reply.status == "error" and is_rejection(reply.error) for reply in replies)
    sentences = []
    if final:
        sentences.append("Questions that were refused or are too long are not asked again.")
        if any(reply.status == "too_long" for reply in replies):
            sentences.append("Fewer --frames and a smaller --longest-side take less room.")
    if rejected:
        which = "them" if rejected >= errors else f"{rejected} of them"
        sentences.append(
            f"The server rejected {which} as sent, and will again: mend what it names, then run the same command."
        )
    if errors > final + rejected:
        which = "the others" if sentences else "them"
        sentences.append(f"Run the same command to try {which} again.")
    return " ".join(sentences)


def first_error(path: Path, protocol: str | None) -> str:
    """The first failed sample of a run, with the reason; one that can be tried again comes first."""
    run = load_run(path)
    final = ""
    for record in read_log(run.dir.log_file):
        if record.reply.status == "error":
            return f"{record.key}: {record.reply.error}"
        if record.reply.status in _FINAL and not final:
            final = f"{record.key}: {record.reply.status}: {record.reply.error}"
    if final:
        return final
    scores = (score for part in run.scores(parse_protocol(protocol)) for _, _, score in part.rows)
    return next((f"{score.key}: {score.rule}" for score in scores if score.status == "missing"), "no record")
