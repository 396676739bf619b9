"""`vivant run`."""

from __future__ import annotations

from pathlib import Path

import typer

from vivant.benchmarks import registry
from vivant.cli import options as o
from vivant.cli.show import print_run, say
from vivant.evaluate import Options, prepare, run_plan
from vivant.imports import import_human
from vivant.models.human import NAME as HUMAN
from vivant.runs import load_run

app = typer.Typer(add_completion=False)


@app.command()
@o.asks(runs=True)
def run(
    options: Options,
    protocol: o.ProtocolOption = "paper",
) -> None:
    """Evaluate a model. The same command again resumes the run; nothing answered is asked twice.

    Examples:

        vivant run mime --data mini --model random

        vivant run mime --model openai/gpt-4o-mini --style cot --frames 16

        vivant run ./mine.jsonl --model openai/my-model --base-url http://localhost:8000/v1
    """
    if options.model == HUMAN:
        print_run(_human(options), protocol)
        return
    prepared = prepare(options)
    plan = prepared.plan
    say(f"{prepared.model.name}: {plan.size} requests in {len(plan.tasks)} task(s) → {prepared.out}")
    for note in plan.notes:
        say(f"Note: {note}")
    outcome = run_plan(prepared, options, say)
    if outcome.stopped:
        say(f"Stopped after {outcome.done} samples. Run the same command to go on: {prepared.out}")
        raise typer.Exit(130)
    errors = print_run(prepared.out, protocol)
    if errors:
        say(f"{errors} samples failed; the first: {first_error(prepared.out)}")
        say("Run the same command to try them again.")
        raise typer.Exit(1)


def _human(options: Options) -> str:
    selections = registry.select(options.selectors, options.data)
    place = options.out or f"runs/{selections[0].benchmark.name}-human"
    import_human(selections, Path(place), selections[0].benchmark.styles[0])
    return place


def first_error(path: Path) -> str:
    """The first failed sample of a run, with the reason."""
    for record in load_run(path).records().values():
        if record.reply.status == "error":
            return f"{record.key}: {record.reply.error}"
    return "no record"
