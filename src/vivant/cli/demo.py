"""`vivant demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vivant import mini
from vivant.benchmarks import registry
from vivant.cli.judges import needs_judge
from vivant.cli.show import say, show
from vivant.evaluation import Options, prepare, run_plan
from vivant.report.overview import layout, side_by_side
from vivant.runs import Run
from vivant.scoring.judge.judging import JudgeOptions, judge_run

app = typer.Typer(add_completion=False)

BASELINES = ("random", "first", "longest", "blind")


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the runs.")] = Path("runs/demo"),
) -> None:
    """Everything on the bundled mini-editions: four baselines, then the tables."""
    known = registry.names()
    names = [name for name in mini.installed() if name in known]
    runs: list[Run] = []
    for model in BASELINES:
        for name in names:
            options = Options(
                selectors=(name,), model=model, data=("mini",), out=str(out / f"{name}-{model}")
            )
            prepared = prepare(options)
            say(f"{name}, {model}: {prepared.plan.size} requests → {prepared.out}")
            run_plan(prepared, options, say)
            runs.append(Run(prepared.out))
            if needs_judge(runs[-1].manifest.tasks):
                judge_run(runs[-1], [JudgeOptions(model="heuristic")], say=say)
    show(side_by_side(runs))
    show(layout("mime:2", [run for run in runs if run.manifest.tasks[0].startswith("mime/")], "paper"))
    say(_NEXT.format(out=out))


_NEXT = """
These are guesses: no model has looked at a picture yet. Next, with a real model:

  export OPENAI_API_KEY=…
  vivant run mime --data mini --model openai/gpt-4o-mini --limit 20
  vivant run mime --data mini --model openai/NAME --base-url http://localhost:8000/v1  any server
  vivant models new my_model.py                                                        your own model
  vivant table {out}/mime-* --by variant                                                these runs
  vivant table {out}/mmrv-* --layout mmrv:main                                          beside the paper
"""
