"""Options that several commands share. Those that `run` has too are made from the same declarations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant.cli.option_parameters import make_option
from vivant.cli.output import check_format
from vivant.core.option_specs import list_declared_options
from vivant.engine.options import RunOptions
from vivant.judging.options import SCORING

_RUN = list_declared_options(RunOptions)

Data = Annotated[list[str] | None, make_option(_RUN["data"])]
Where = Annotated[list[str] | None, make_option(_RUN["where"])]
Style = Annotated[str | None, make_option(_RUN["style"])]
TaskOption = Annotated[list[str] | None, make_option(_RUN["task_options"])]
BaseUrl = Annotated[str | None, make_option(_RUN["base_url"])]
ModelOption = Annotated[list[str] | None, make_option(_RUN["model_options"])]
Timeout = Annotated[float, make_option(_RUN["timeout"])]
TrustRemoteCode = Annotated[bool, make_option(_RUN["trust_remote_code"])]

Port = Annotated[int, Option("--port", help="0 for any free one.")]
Runs = Annotated[list[Path], Argument(metavar="RUN…", help="Run directories, or folders of them.")]
OptionalRuns = Annotated[
    list[Path] | None, Argument(metavar="RUN…", help="Run directories, or folders of them.")
]
By = Annotated[
    list[str] | None, Option("--by", metavar="FACET", help="Group by this facet; repeat or a,b for several.")
]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="A scoring setting of the benchmark, e.g. threshold=0.75."),
]
ProtocolOption = Annotated[
    str | None,
    Option(
        "--protocol",
        metavar="NAME",
        help="How to score: paper or strict. [default: paper]",
        rich_help_panel=SCORING,
    ),
]
FormatOption = Annotated[
    str, Option("--format", help="text, csv, markdown, latex or json.", callback=check_format)
]
OutFile = Annotated[Path | None, Option("--out", "-o", help="Write to this file instead.")]
CorrectedBy = Annotated[
    list[Path] | None,
    Option(
        "--corrected-by",
        metavar="STUDY",
        help="Judged runs: what people would have scored, from the judge and people's scores of a part (a study, "
        "its export, or a file: id, score[, model, annotator]). Repeat for several.",
        rich_help_panel="Other tables",
    ),
]
