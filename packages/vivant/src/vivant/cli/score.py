"""`vivant score`."""

from __future__ import annotations

from vivant.cli import judge_options as j
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message, print_table
from vivant.cli.parsing import parse_pairs
from vivant.judging.options import JudgeOptions
from vivant.runs.overview import build_overview
from vivant.runs.run import choose_common_protocol, load_runs

app = CommandApp()


@app.command()
@j.with_judges
def score(
    runs: o.Runs, judges: list[JudgeOptions], protocol: o.ProtocolOption = None, settings: o.Settings = None
) -> None:
    """Score runs again from their logs; no model is needed. The new scores replace the stored ones.

    With --set, the scores go to a file of their own, and the default ones stay: `vivant table --set` shows them too.

    Where a judge is named, it judges first: what it said already is not asked again.

    Examples:

        vivant score runs/mime-gpt --set threshold=0.75

        vivant score runs/mmie-gpt --judge openai/gpt-4o --judge-samples 3
    """
    loaded = load_runs(runs)
    values = parse_pairs(settings, "--set")
    protocol = choose_common_protocol(loaded, parse_protocol(protocol))
    if judges:
        for run in loaded:
            j.judge_or_exit(run.dir.path, judges, protocol)
    for run in loaded:
        run.scores(protocol, values, anew=True)
    print_table(build_overview(loaded, protocol, values=values))
    print_message(f"Scores written to {', '.join(str(run.score_file(protocol, values)) for run in loaded)}")
