"""`vivant rank`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from typer import Option

from vivant.analysis.ranking import rank as rank_runs
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, write_tables
from vivant.cli.parsing import split_values
from vivant.core.errors import UsageError

app = CommandApp()


@app.command()
def rank(
    runs: o.Runs,
    weights: Annotated[
        list[str] | None,
        Option(
            "--weights",
            metavar="TASK=W",
            help="Over several tasks, rank by a mean of scores with these weights, or 'equal'. Default: Bradley–Terry.",
        ),
    ] = None,
    requests: Annotated[
        int, Option("--requests", metavar="N", min=1, help="How many more requests you can pay for.")
    ] = 500,
    protocol: o.ProtocolOption = None,
    form: o.FormatOption = "text",
    out: o.OutFile = None,
) -> None:
    """Rank runs: which ranks are possible, who cannot be told apart, and what to ask next.

    Examples:

        vivant rank runs/

        vivant rank runs/ --weights mime/mcq=2,mmrv/mcq=1
    """
    ranking = rank_runs(
        runs, protocol=parse_protocol(protocol), weights=_parse_weights(weights), requests=requests
    )
    write_tables(ranking.tables(), form, out)


def _parse_weights(texts: list[str] | None) -> Mapping[str, float] | str | None:
    values = split_values(texts)
    if not values:
        return None
    if list(values) == ["equal"]:
        return "equal"
    weights: dict[str, float] = {}
    for text in values:
        task, _, number = text.partition("=")
        try:
            weights[task] = float(number)
        except ValueError:
            raise UsageError(f"--weights {text}: write TASK=NUMBER, e.g. mime/mcq=2, or equal") from None
    return weights
