"""Options that several commands share. Those that `run` has too are made from the same declarations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vivant.cli.run_options import make_option

SCORING = "Scoring"

Data = Annotated[list[str] | None, make_option("data")]
Where = Annotated[list[str] | None, make_option("where")]
Style = Annotated[str | None, make_option("style")]
TaskOption = Annotated[list[str] | None, make_option("task_options")]
BaseUrl = Annotated[str | None, make_option("base_url")]
ModelOption = Annotated[list[str] | None, make_option("model_options")]
Timeout = Annotated[float, make_option("timeout")]
TrustRemoteCode = Annotated[bool, make_option("trust_remote_code")]

By = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="FACET", help="Group by this facet; repeat or a,b for several."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A scoring setting of the benchmark, e.g. threshold=0.75."
    ),
]
ProtocolOption = Annotated[
    str,
    typer.Option(
        "--protocol",
        metavar="NAME",
        help="paper (as published) or strict.",
        rich_help_panel=SCORING,
    ),
]
FormatOption = Annotated[str, typer.Option("--format", help="text, csv, markdown, latex or json.")]
OutFile = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file instead.")]
