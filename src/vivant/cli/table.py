"""`vivant table`."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from vivant import api
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, write_tables
from vivant.cli.parsing import parse_pairs, split_values
from vivant.core import table as tables
from vivant.core.errors import UsageError, unknown_name_error

app = CommandApp()

KINDS = "Other tables"


@app.command()
def table(
    runs: o.Runs,
    layout_name: Annotated[
        str | None,
        Option(
            "--layout",
            metavar="NAME",
            help="A benchmark's own table, e.g. mime:1; see `vivant benchmarks show mime`.",
            rich_help_panel=KINDS,
        ),
    ] = None,
    repeats: Annotated[
        bool,
        Option(
            "--repeats",
            help="Runs made with --repeat: spread, pass@k, agreement of answers.",
            rich_help_panel=KINDS,
        ),
    ] = False,
    permutations: Annotated[
        bool,
        Option(
            "--permutations",
            help="Runs made with --permute: consistent accuracy, preference for places.",
            rich_help_panel=KINDS,
        ),
    ] = False,
    controls: Annotated[
        bool,
        Option(
            "--controls",
            help="A run and others of its model with --control: what is left without pictures, without order.",
            rich_help_panel=KINDS,
        ),
    ] = False,
    by: o.By = None,
    where: o.Where = None,
    chance_corrected: Annotated[
        bool, Option("--chance-corrected", help="Beside each score, the same with chance as 0.")
    ] = False,
    bootstrap: Annotated[
        bool, Option("--bootstrap", help="Intervals by resampling clusters, in place of formulas.")
    ] = False,
    settings: o.Settings = None,
    protocol: o.ProtocolOption = None,
    form: o.FormatOption = "text",
    published: Annotated[bool, Option("--published", help="Add the papers' own figures.")] = False,
    out: o.OutFile = None,
) -> None:
    """Tables of one or several runs, with intervals, n, errors and unparsed replies beside every score.

    Examples:

        vivant table runs/* --by variant --chance-corrected

        vivant table runs/mime runs/mime-blind runs/mime-shuffled --controls
    """
    if form not in tables.FORMATS:
        raise unknown_name_error("format", form, tables.FORMATS)
    named = {
        "--layout": bool(layout_name),
        "--repeats": repeats,
        "--permutations": permutations,
        "--controls": controls,
    }
    chosen = [flag for flag, value in named.items() if value]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} are different tables; choose one")
    extras = {
        "--by": by,
        "--where": where,
        "--published": published,
        "--chance-corrected": chance_corrected,
        "--bootstrap": bootstrap,
        "--set": settings,
    }
    for flag in chosen:
        refused = [name for name, value in extras.items() if value and name not in _TAKES[flag]]
        if refused:
            raise UsageError(f"{flag} has its own groups and columns; leave out {', '.join(refused)}")
    chosen_protocol = parse_protocol(protocol)
    facets, conditions = split_values(by), tuple(where or ())
    if repeats:
        built = [api.repeats(runs, conditions, protocol=chosen_protocol)]
    elif permutations:
        built = api.permutations(runs, conditions, protocol=chosen_protocol)
    elif controls:
        built = [api.controls(runs, facets, conditions, protocol=chosen_protocol)]
    else:
        built = [
            api.table(
                runs,
                facets,
                conditions,
                protocol=chosen_protocol,
                layout=layout_name,
                published=published,
                chance_corrected=chance_corrected,
                intervals="bootstrap" if bootstrap else "auto",
                values=parse_pairs(settings, "--set"),
            )
        ]
    write_tables(built, form, out)


_TAKES = {
    "--layout": (),
    "--repeats": ("--where",),
    "--permutations": ("--where",),
    "--controls": ("--by", "--where"),
}
