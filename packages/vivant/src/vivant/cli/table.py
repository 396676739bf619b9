"""`vivant table`."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from vivant import api
from vivant.cli import options as o
from vivant.cli.help import CommandApp, PanelCommand
from vivant.cli.output import parse_protocol, write_tables
from vivant.cli.parsing import parse_pairs, split_values
from vivant.core.errors import UsageError, unknown_name_error
from vivant.runs.published_rows import PublishedOption

app = CommandApp()

KINDS = "Other tables"


class _TableCommand(PanelCommand):
    """Lets `--published` stand without a value: all rows."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        flag = "--published"
        expanded: list[str] = []
        for index, word in enumerate(args):
            expanded.append(word)
            if word == flag and args[index + 1 : index + 2] not in (["all"], ["exact"]):
                expanded.append("all")
        return super().parse_args(ctx, expanded)


@app.command(cls=_TableCommand)
def table(
    runs: o.OptionalRuns = None,
    layout_name: Annotated[
        str | None,
        Option(
            "--layout",
            metavar="NAME",
            help="A benchmark's own table, e.g. mime:1 (see `vivant benchmarks show mime`), or a package's.",
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
    corrected_by: o.CorrectedBy = None,
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
    published: Annotated[
        str | None,
        Option(
            "--published",
            metavar="[all|exact]",
            help="Add the papers' own figures; exact: only rows whose recipe a run was asked by.",
        ),
    ] = None,
    out: o.OutFile = None,
) -> None:
    """Tables of one or several runs, with intervals, n, errors and unparsed replies beside every score.

    Examples:

        vivant table runs/* --by variant --chance-corrected

        vivant table runs/mime runs/mime-blind runs/mime-shuffled --controls

        vivant table runs/mmie --corrected-by studies/ratings
    """
    named = {
        "--layout": bool(layout_name),
        "--repeats": repeats,
        "--permutations": permutations,
        "--controls": controls,
        "--corrected-by": bool(corrected_by),
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
    if not runs and not corrected_by:
        raise UsageError("Name run directories, or folders of them")
    runs = runs or []
    chosen_protocol = parse_protocol(protocol)
    facets, conditions = split_values(by), tuple(where or ())
    if repeats:
        built = [api.repeats(runs, conditions, protocol=chosen_protocol)]
    elif permutations:
        built = api.permutations(runs, conditions, protocol=chosen_protocol)
    elif controls:
        built = [api.controls(runs, facets, conditions, protocol=chosen_protocol)]
    elif corrected_by:
        built = [api.corrected(runs, corrected_by, facets, conditions, protocol=chosen_protocol)]
    else:
        built = [
            api.table(
                runs,
                facets,
                conditions,
                protocol=chosen_protocol,
                layout=layout_name,
                published=_parse_published(published),
                chance_corrected=chance_corrected,
                intervals="bootstrap" if bootstrap else "auto",
                values=parse_pairs(settings, "--set"),
            )
        ]
    write_tables(built, form, out)


def _parse_published(value: str | None) -> PublishedOption:
    """What `--published` asks for; without it, what a table shows by itself."""
    choices: dict[str | None, PublishedOption] = {None: False, "all": True, "exact": "exact"}
    if value not in choices:
        raise unknown_name_error("choice of --published", value or "", ("all", "exact"))
    return choices[value]


_TAKES = {
    "--layout": ("--published", "--set"),
    "--repeats": ("--where",),
    "--permutations": ("--where",),
    "--controls": ("--by", "--where"),
    "--corrected-by": ("--by", "--where"),
}
