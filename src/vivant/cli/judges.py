"""The options of judges, declared once for every command that judges."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from vivant.benchmarks import registry
from vivant.cli.output import protocol_name, say
from vivant.cli.parsing import parse_pairs
from vivant.core.errors import UsageError
from vivant.engine.option_parsing import load_prompts
from vivant.engine.options import RunOptions
from vivant.judging.judge_run import JudgeOptions, judge_run
from vivant.models.base import ModelOptions
from vivant.runs.run import Run, load_run

JUDGE = "The judge"


def _option(kind: Any, flag: str, text: str, default: Any, **more: Any) -> tuple[Any, Any]:
    return Annotated[kind, typer.Option(flag, help=text, rich_help_panel=JUDGE, **more)], default


_DECLARED: dict[str, tuple[Any, Any]] = {
    "judge": _option(
        list[str] | None,
        "--judge",
        "Who judges, where a benchmark needs it: openai/NAME, ./file.py:Class, heuristic, replay/FILE, …; "
        "repeat for several.",
        None,
        metavar="MODEL",
    ),
    "judge_samples": _option(
        int, "--judge-samples", "Verdicts per answer; all but the first are drawn.", 1, min=1
    ),
    "judge_attempts": _option(
        int, "--judge-attempts", "How often a verdict that cannot be read is asked for in all.", 3, min=1
    ),
    "judge_base_url": _option(str | None, "--judge-base-url", "Address of the judge's server.", None),
    "judge_option": _option(
        list[str] | None, "--judge-option", "A setting of the judge's backend.", None, metavar="NAME=VALUE"
    ),
    "judge_prompts": _option(
        str | None, "--judge-prompts", "YAML or JSON of rubric texts of your own.", None, metavar="FILE"
    ),
    "judge_max_images": _option(
        int | None,
        "--judge-max-images",
        "As many pictures as the judge takes (protocol strict).",
        None,
        min=0,
    ),
    "judge_concurrency": _option(
        int, "--judge-concurrency", "Requests to the judge at once, at most.", 16, min=1
    ),
}


def judged(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of judges; it receives them settled, as `judges`."""
    own = inspect.signature(command, eval_str=True).parameters
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for n, p in own.items() if n != "judges"]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in _DECLARED.items()
    ]

    @functools.wraps(command)
    def called(**given: Any) -> None:
        said = {name: given.pop(name, default) for name, (_, default) in _DECLARED.items()}
        command(judges=settle_judges(said), **given)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


def settle_judges(said: dict[str, Any]) -> list[JudgeOptions]:
    """The judges that the options name; none, where they name none."""
    return [
        JudgeOptions(
            model=name,
            model_options=ModelOptions(
                base_url=said["judge_base_url"], values=parse_pairs(said["judge_option"], "--judge-option")
            ),
            samples=said["judge_samples"],
            attempts=said["judge_attempts"],
            max_images=said["judge_max_images"],
            wording=load_prompts(said["judge_prompts"]),
            concurrency=said["judge_concurrency"],
        )
        for name in said["judge"] or []
    ]


def like(options: RunOptions, judges: Sequence[JudgeOptions]) -> list[JudgeOptions]:
    """The judges with what the user said of the whole run."""
    return [
        msgspec.structs.replace(judge, cache=options.cache, keep_errors=options.keep_errors)
        for judge in judges
    ]


def needs_judge(tasks: Sequence[str]) -> bool:
    """Whether any of these tasks is scored by a judge."""
    return any(registry.of_task(task).task(task).judged for task in tasks)


def let_judge(path: Path, judges: Sequence[JudgeOptions], protocol: str) -> Run:
    """Have a run judged; leaves with 130 where the user stops it."""
    run = load_run(path)
    outcome = judge_run(run, judges, protocol_name(protocol))
    if outcome.stopped:
        say(f"Stopped after {outcome.done} verdicts. Run the same command to go on: {path}")
        raise typer.Exit(130)
    return run


def refuse_idle(tasks: Sequence[str], judges: Sequence[JudgeOptions]) -> None:
    """A judge that would judge nothing is a mistake to hear of before anything is sent."""
    if judges and not needs_judge(tasks):
        raise UsageError(f"--judge: nothing in {', '.join(tasks)} is scored by a judge")
