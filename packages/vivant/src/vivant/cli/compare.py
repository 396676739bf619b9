"""`vivant compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from vivant.analysis.comparison import compare as compare_runs
from vivant.analysis.comparison_table import build_comparison_table, write_flips
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message, write_tables
from vivant.cli.parsing import parse_pairs, split_values
from vivant.core.errors import UsageError

app = CommandApp()


@app.command()
def compare(
    runs: o.Runs,
    by: o.By = None,
    between: Annotated[
        list[str] | None,
        Option(
            "--between", metavar="FACET", help="Compare the values of this facet inside each run instead."
        ),
    ] = None,
    match: Annotated[
        str | None,
        Option(
            "--match",
            metavar="FACET,…",
            help="With --between: pair samples of a cluster that agree in these; 'none' pairs nothing. "
            "Default: all facets that the data cross with it.",
        ),
    ] = None,
    rest: Annotated[
        bool, Option("--rest", help="With --between: each value against all others together.")
    ] = False,
    flips: Annotated[
        Path | None,
        Option("--flips", metavar="FILE", help="Write the samples that flipped (.jsonl or .csv)."),
    ] = None,
    where: o.Where = None,
    settings: o.Settings = None,
    protocol: o.ProtocolOption = None,
    form: o.FormatOption = "text",
    out: o.OutFile = None,
) -> None:
    """Compare runs sample by sample: differences with intervals, tests corrected for being many, flips.

    Examples:

        vivant compare runs/a runs/b runs/c --by variant --flips flips.csv

        vivant compare runs/mime-gpt --between avatar,background --where angle=0
    """
    if (match is not None or rest) and not between:
        raise UsageError("--match and --rest go with --between")
    if between and flips:
        raise UsageError("--flips goes with two runs or more, not with --between")
    matched = None if match is None else [] if match == "none" else split_values([match])
    comparison = compare_runs(
        runs,
        protocol=parse_protocol(protocol),
        by=split_values(by),
        where=tuple(where or ()),
        between=split_values(between),
        match=matched,
        rest=rest,
        values=parse_pairs(settings, "--set"),
    )
    write_tables([build_comparison_table(comparison)], form, out)
    if flips is not None:
        count = write_flips(comparison, flips)
        print_message(f"{count} samples that flipped: {flips}")
