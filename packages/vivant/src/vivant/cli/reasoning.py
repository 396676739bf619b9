"""`vivant reasoning`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from vivant.analysis.reasoning.judge_labels import LabelOptions, label_run
from vivant.analysis.reasoning.people_labels import import_labels, write_template
from vivant.analysis.reasoning.segments import MAX_SEGMENTS
from vivant.cli import judge_options as j
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message, write_tables
from vivant.cli.parsing import split_values
from vivant.core.errors import UsageError
from vivant.judging.options import JudgeOptions
from vivant.reporting.reasoning import build_reasoning_tables
from vivant.runs.run import load_runs

app = CommandApp()


@app.command()
@j.with_judges
def reasoning(
    runs: o.Runs,
    judges: list[JudgeOptions],
    labels: Annotated[
        Path | None, Option("--labels", metavar="FILE", help="People's labels (.csv or .jsonl), for one run.")
    ] = None,
    template: Annotated[
        Path | None, Option("--template", metavar="FILE", help="Write a table (.csv) for people to fill in.")
    ] = None,
    only: Annotated[
        Literal["segments", "errors"] | None,
        Option("--only", help="Label segments of reasoning alone, or wrong answers alone."),
    ] = None,
    kinds: Annotated[
        str,
        Option("--kinds", help="general, or a benchmark's: mmrv, mime. [default: of the task's own paper]"),
    ] = "",
    segments: Annotated[
        int, Option("--segments", min=1, max=50, help="Segments per reply at most.")
    ] = MAX_SEGMENTS,
    limit: Annotated[
        int | None, Option("--limit", min=1, help="Replies per task at most, chosen by their ids.")
    ] = None,
    by: o.By = None,
    protocol: o.ProtocolOption = None,
    form: o.FormatOption = "text",
    out: o.OutFile = None,
) -> None:
    """What models reason about, and how they go wrong: labels by a judge or by people, counted.

    Reasoning (--style cot, or thinking that the server reports) is cut into segments; each rests on the text of
    the question, on what is seen, on knowledge or on nothing. Wrong answers are sorted by kind.

    Examples:

        vivant reasoning runs/mmrv-cot --judge openai/gpt-4.1 --limit 500

        vivant reasoning runs/mmrv-cot --template label-me.csv

        vivant reasoning runs/mmrv-cot --labels label-me.csv
    """
    loaded = load_runs(runs)
    chosen_protocol = parse_protocol(protocol)
    options = LabelOptions(
        segments=only != "errors", errors=only != "segments", most=segments, limit=limit, kinds=kinds
    )
    if (labels or template) and len(loaded) != 1:
        raise UsageError("--labels and --template take one run at a time")
    if sum(map(bool, (judges, labels, template))) > 1:
        raise UsageError("Choose one of --judge, --labels and --template")
    if template is not None:
        count = write_template(loaded[0], template, chosen_protocol, options)
        print_message(
            f"{count} rows to label: {template}. Fill in 'label', then: vivant reasoning {runs[0]} --labels FILE"
        )
        return
    if labels is not None:
        for note in import_labels(loaded[0], labels, chosen_protocol, options):
            print_message(f"{labels}: {note}.")
    for run in loaded:
        for judge in judges:
            outcome = label_run(run, judge, chosen_protocol, options)
            if outcome.stopped:
                print_message(f"Stopped after {outcome.done} verdicts. Run the same command to go on.")
                raise typer.Exit(130)
    write_tables(build_reasoning_tables(loaded, chosen_protocol, split_values(by)), form, out)
