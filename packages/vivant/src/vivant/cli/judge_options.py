"""The options of judges, declared once for every command that judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import typer

from vivant.benchmarks import registry
from vivant.benchmarks.wording import check_judge_prompts
from vivant.cli.option_parameters import add_parameters, list_flags, make_parameter, parse_value
from vivant.cli.output import parse_protocol, print_message
from vivant.core.errors import UsageError
from vivant.engine.option_parsing import load_prompts
from vivant.engine.options import RunOptions
from vivant.judging.judge_run import judge_run
from vivant.judging.options import JudgeOptions
from vivant.runs.run import Run, load_run


def with_judges(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of judges; it receives them parsed, as `judges`."""
    declared = list_flags(JudgeOptions)
    parameters = {name: make_parameter(option, f"judge_{name}") for name, option in declared.items()}
    parameters["model"] = make_parameter(declared["model"], "judge", kind=list[str] | None, default=None)

    def make(arguments: dict[str, Any]) -> list[JudgeOptions]:
        values = {
            name: parse_value(option, arguments[parameters[name].name]) for name, option in declared.items()
        }
        values["prompts"] = load_prompts(values["prompts"])
        names = values.pop("model") or []
        return [JudgeOptions(model=name, **values) for name in names]

    named = {parameter.name: parameter for parameter in parameters.values()}
    return add_parameters(command, named, "judges", make, first=False)


def apply_run_options(options: RunOptions, judges: Sequence[JudgeOptions]) -> list[JudgeOptions]:
    """The judges, with the cache and the errors treated as in the run."""
    return [
        msgspec.structs.replace(judge, cache=options.cache, keep_errors=options.keep_errors)
        for judge in judges
    ]


def needs_judge(tasks: Sequence[str]) -> bool:
    """Whether any of these tasks is scored by a judge."""
    return any(registry.get_by_task(task).task(task).judged for task in tasks)


def judge_or_exit(path: Path, judges: Sequence[JudgeOptions], protocol: str | None) -> Run:
    """Judge a run; exit with 130 where the user stops it."""
    run = load_run(path)
    outcome = judge_run(run, judges, parse_protocol(protocol))
    if outcome.stopped:
        print_message(f"Stopped after {outcome.done} verdicts. Run the same command to go on: {path}")
        raise typer.Exit(130)
    return run


def check_judged(tasks: Sequence[str], judges: Sequence[JudgeOptions]) -> None:
    """Raise where a judge is named and nothing needs one, or where its texts have unknown names."""
    if judges and not needs_judge(tasks):
        raise UsageError(f"--judge: nothing in {', '.join(tasks)} is scored by a judge")
    for judge in judges:
        check_judge_prompts([registry.get_by_task(task) for task in tasks], judge.prompts)
