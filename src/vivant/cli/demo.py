"""`vivant demo`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Option

from vivant import mini
from vivant.benchmarks import registry
from vivant.cli.help import CommandApp
from vivant.cli.judges import needs_judge
from vivant.cli.output import print_table, say
from vivant.engine.evaluation import plan_run, run_plan
from vivant.engine.options import RunOptions
from vivant.judging.judge_run import judge_run
from vivant.judging.options import JudgeOptions
from vivant.reporting.html import write_report
from vivant.runs.overview import build_layout, build_side_by_side
from vivant.runs.run import Run
from vivant.train.onnx_backend import find_bundled_model

app = CommandApp()

BASELINES = ("random", "first", "longest", "blind")
TINY, _FRAMES = "vivant/tiny", 8
_MADE_FOR = {"mime": "mime/mcq", "mimic": "mimic"}
"""The bundled model that looks, how many frames of each video it is shown, and what it has learnt of which minis."""


@app.command()
def demo(
    out: Annotated[Path, Option("--out", "-o", help="Folder for the runs.")] = Path("runs/demo"),
) -> None:
    """Everything on the bundled mini-editions: the bundled model, four baselines, the tables, a report to open."""
    known = registry.names()
    names = [name for name in mini.list_installed() if name in known]
    runs: list[Run] = []
    seeing = find_bundled_model("tiny") is not None
    for model, name in contestants(names, seeing):
        options = RunOptions(
            selectors=(_MADE_FOR[name] if model == TINY else name,),
            model=model,
            data=("mini",),
            out=str(out / f"{name}-{model.replace('/', '-')}"),
            frames=_FRAMES if model == TINY else None,
        )
        prepared = plan_run(options)
        say(f"{name}, {model}: {prepared.plan.size} requests → {prepared.out}")
        run_plan(prepared, options)
        runs.append(Run(prepared.out))
        if needs_judge(runs[-1].manifest.tasks):
            judge_run(runs[-1], [JudgeOptions(model="heuristic")])
    print_table(build_side_by_side(runs))
    print_table(
        build_layout("mime:2", [run for run in runs if run.manifest.tasks[0].startswith("mime/")], "paper")
    )
    _judge_comments(out, [run for run in runs if "mimic/comment" in run.manifest.tasks])
    report = write_report([run.dir.path for run in runs], out / "report.html")
    say(f"Report: {report} (open it in any browser)    samples one by one: vivant view {out}")
    say(f"\n{_SEEING if seeing else _GUESSES}{_NEXT.format(out=out)}")


def contestants(names: Sequence[str], seeing: bool) -> list[tuple[str, str]]:
    """Who runs on what: the model that looks, where it is installed, on the minis it was made for; baselines on all."""
    looking = [(TINY, name) for name in names if seeing and name in _MADE_FOR]
    return [*looking, *((model, name) for model in BASELINES for name in names)]


def _judge_comments(out: Path, runs: list[Run]) -> None:
    """Comments in a blind pack, judged by the baseline judge, then the key is opened."""
    from vivant.benchmarks.mimic.pack_builder import build_pack
    from vivant.benchmarks.mimic.packs import Pack, open_key
    from vivant.benchmarks.mimic.panel_tables import build_panel_tables
    from vivant.benchmarks.mimic.panels import compute_outcome
    from vivant.judging.comment_authors import load_authors
    from vivant.judging.mimic_packs import judge_pack

    folder, judgements = out / "mimic-pack", out / "mimic-pack.heuristic.jsonl"
    if not (folder / "pack.json").exists():
        build_pack(
            load_authors([run.dir.path for run in runs]),
            registry.locate(registry.get("mimic"), "mini"),
            folder,
        )
    pack = Pack(folder)
    judge_pack(pack, JudgeOptions(model="heuristic"), judgements)
    for table in build_panel_tables(
        compute_outcome(pack, open_key(out / "mimic-pack.key.jsonl", pack), [judgements])
    ):
        print_table(table)


_SEEING = (
    "vivant/tiny has looked at the videos; the others guess. It is a toy that knows these "
    "worlds alone (docs/mimic-chat.md). Next, with a real model:"
)
_GUESSES = "These are guesses: no model has looked at a picture yet. Next, with a real model:"
_NEXT = """

  export OPENAI_API_KEY=…
  vivant run mime --data mini --model openai/gpt-4o-mini --limit 20
  vivant run mime --data mini --model openai/NAME --base-url http://localhost:8000/v1  any server
  vivant models new my_model.py                                                        your own model
  vivant table {out}/mime-* --by variant                                                these runs
  vivant table {out}/mmrv-* --layout mmrv:main                                          beside the paper
"""
