"""`vivant run`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vivant.cli import options as o
from vivant.cli.show import print_run, say
from vivant.evaluate import prepare, run_plan
from vivant.models.human import NAME as HUMAN

app = typer.Typer()


@app.command()
def run(
    selectors: o.Selectors,
    model: o.ModelName,
    data: o.Data = None,
    style: o.Style = None,
    where: o.Where = None,
    limit: o.Limit = None,
    frames: o.Frames = None,
    fps: o.Fps = None,
    every: o.EveryKth = None,
    max_frames: o.MaxFrames = None,
    longest_side: o.LongestSide = None,
    audio: o.AudioTrack = False,
    control_name: o.ControlName = "none",
    prompts: o.Prompts = None,
    seed: o.Seed = 0,
    repeat: o.Repeat = 1,
    temperature: o.Temperature = 0.0,
    max_tokens: o.MaxTokens = None,
    variant: o.Variant = None,
    base_url: o.BaseUrl = None,
    model_option: o.ModelOption = None,
    timeout: o.Timeout = 600.0,
    native_video: o.NativeVideo = False,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Run directory. [default: runs/<named after the settings>]"),
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-j", min=1, help="Requests under way at once, at most.")
    ] = 16,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes that decode video.")] = 2,
    cache: Annotated[
        Literal["auto", "always", "off"],
        typer.Option("--cache", help="Reuse replies to identical requests: auto means greedy decoding only."),
    ] = "auto",
    keep_errors: Annotated[
        bool, typer.Option("--keep-errors", help="When resuming, do not ask again what failed before.")
    ] = False,
    protocol: o.ProtocolOption = "paper",
) -> None:
    """Evaluate a model. The same command again resumes the run; nothing answered is asked twice.

    Examples:

        vivant run mime --data mini --model random

        vivant run mime --model openai/gpt-4o-mini --style cot --frames 16

        vivant run ./mine.jsonl --model openai/my-model --base-url http://localhost:8000/v1
    """
    settled = o.run_options(locals())
    if settled.model == HUMAN:
        print_run(_human(settled.selectors, settled.data, out), protocol)
        return
    prepared = prepare(settled)
    plan = prepared.plan
    say(f"{prepared.model.name}: {plan.size} requests in {len(plan.tasks)} task(s) → {prepared.out}")
    for note in plan.notes:
        say(f"Note: {note}")
    outcome = run_plan(prepared, settled, say)
    if outcome.stopped:
        say(f"Stopped after {outcome.done} samples. Run the same command to go on: {prepared.out}")
        raise typer.Exit(130)
    errors = print_run(prepared.out, protocol)
    if errors:
        say(f"{errors} samples failed; the first: {first_error(prepared.out)}")
        say("Run the same command to try them again.")
        raise typer.Exit(1)


def _human(selectors: tuple[str, ...], data: tuple[str, ...], out: str | None) -> str:
    from pathlib import Path

    from vivant.benchmarks import registry
    from vivant.imports import import_human

    selections = registry.select(selectors, data)
    place = out or f"runs/{selections[0].benchmark.name}-human"
    import_human(selections, Path(place), selections[0].benchmark.styles[0])
    return place


def first_error(path: object) -> str:
    """The first failed sample of a run, with the reason."""
    from vivant.runs import load_run

    for record in load_run(str(path)).records().values():
        if record.reply.status == "error":
            return f"{record.key}: {record.reply.error}"
    return ""
