"""`vivant subset`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from vivant.analysis.subset_making import make_subset
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message, print_table
from vivant.core.errors import UsageError

app = CommandApp(no_args_is_help=True)


@app.callback()
def subset() -> None:
    """A small set of samples that predicts the score on all of them.

    Example:

        vivant subset make runs/* --size 100 --out mime-100.json
    """


@app.command()
def make(
    runs: o.Runs,
    size: Annotated[int, Option("--size", metavar="N", min=2, help="Samples of each task.")] = 100,
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The file to write.")] = Path(
        "subset.json"
    ),
    seed: Annotated[int, Option("--seed", metavar="N", help="Seed of the choice.")] = 0,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace a file that is there.")] = False,
    protocol: o.ProtocolOption = None,
) -> None:
    """Choose samples from past runs, and measure the error on models left out.

    Ask a new model these alone with `vivant run --subset FILE`: its table has the estimate for all samples.

    Examples:

        vivant subset make runs/ --size 100 -o subset.json

        vivant run mime/mcq --model openai/NAME --subset subset.json
    """
    if out.exists() and not overwrite:
        raise UsageError(f"{out} is there already: choose another --out, or --overwrite")
    result = make_subset(runs, size, out, protocol=parse_protocol(protocol), seed=seed, report=print_message)
    print_table(*result.tables())
    print_message(f"Written to {out}. Next: vivant run TASK --model NAME --subset {out}")
