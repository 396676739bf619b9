"""`vivant judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from vivant import api
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message, write_tables
from vivant.cli.parsing import split_values
from vivant.core.errors import UsageError

app = CommandApp(no_args_is_help=True)


@app.callback()
def judge() -> None:
    """Plan which judgements by people to ask for next; `plan` is the only command.

    To let a judge score a run: `vivant score RUN --judge NAME`. To compare a judge with people: `vivant judge-check`.

    Example:

        vivant judge plan runs/mmie --half-width 3 --study studies/pilot
    """


@app.command()
def plan(
    runs: o.Runs,
    half_width: Annotated[
        float,
        Option(
            "--half-width", min=0.01, help="Half of the interval that you want, in hundredths of the scale."
        ),
    ] = 3.0,
    people: Annotated[
        list[Path] | None,
        Option(
            "--people", metavar="STUDY", help="What people have judged so far: a study or a file; repeat."
        ),
    ] = None,
    by: Annotated[
        list[str] | None, Option("--by", metavar="FACET", help="Ask about every value of this facet; repeat.")
    ] = None,
    pairs: Annotated[
        bool, Option("--pairs", help="Plan comparisons of two runs that a judge has compared.")
    ] = False,
    labels: Annotated[
        bool, Option("--labels", help="Plan labels of reasoning, of one run that a judge has labelled.")
    ] = False,
    key: Annotated[
        Path | None, Option("--key", help="The sealed key of the pack of comments that RUN names.")
    ] = None,
    count: Annotated[
        int | None, Option("--count", min=1, help="Ask about so many answers of each run and task now.")
    ] = None,
    study: Annotated[
        Path | None,
        Option("--study", metavar="DIR", help="Write a study of exactly these answers here."),
    ] = None,
    judgements: Annotated[
        int, Option("--judgements-per-item", min=1, help="From how many people, in the study.")
    ] = 1,
    seed: Annotated[int, Option("--seed", help="Seed of the draw.")] = 0,
    protocol: o.ProtocolOption = None,
    form: o.FormatOption = "text",
) -> None:
    """How many judgements by people give the interval that you want, and which answers to ask about.

    Without --people, a pilot is planned; its study then says how far the judge agrees with people. Answers are drawn at
    random, more where the judge is unsure, and `vivant table --corrected-by` weights them back. RUN may also be a pack
    of comments (`vivant mimic pack`), with --key.

    Examples:

        vivant judge plan runs/mmie --half-width 3 --study studies/pilot

        vivant judge plan runs/mmie --half-width 3 --people studies/pilot --study studies/second

        vivant table runs/mmie --corrected-by studies/pilot --corrected-by studies/second

        vivant judge plan runs/mmrv-cot --labels --study studies/labels

        vivant judge plan packs/first --key packs/first.key.jsonl --study studies/blind
    """
    from vivant.analysis.correction.planned_study import write_planned_study
    from vivant.benchmarks.mimic.packs import is_pack
    from vivant.hooks import load_people_hook

    if study is not None:
        load_people_hook()

    packs = [path for path in runs if is_pack(path)]
    if packs and (len(runs) > 1 or key is None or pairs or labels):
        raise UsageError(f"{packs[0]} is a pack of comments: name it alone, with --key FILE")
    if key is not None and not packs:
        raise UsageError(f"--key is the key of a pack of comments, which {runs[0]} is not")
    planned = api.plan_judgements(
        packs[0] if packs else runs,
        people or (),
        half_width=half_width,
        count=count,
        by=split_values(by),
        pairs=pairs,
        labels=labels,
        key=key,
        protocol=parse_protocol(protocol),
        seed=seed,
    )
    write_tables(planned.tables(), form, None)
    if study is None:
        print_message("Add --study DIR to write a study of these answers.")
        return
    result = write_planned_study(planned, study, judgements)
    for note in result.notes:
        print_message(f"Note: {note}")
    print_message(result.says)
    print_message(f"Next: vivant study check {study}; vivant study serve {study}")
    sources = " ".join(f"--corrected-by {source}" for source in [*(people or ()), study])
    print_message(f"Then: vivant table {'' if packs else ' '.join(map(str, runs)) + ' '}{sources}")
