"""`vivant audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from typer import Option

from vivant.analysis import audit as audits
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import get_output_width, write_output
from vivant.cli.parsing import parse_pairs, split_values
from vivant.core.errors import unknown_name_error

app = CommandApp()
FORMATS = ("text", "markdown", "json")


@app.command()
def audit(
    only: Annotated[
        list[str] | None,
        Option("--only", metavar="NAME", help="A benchmark or one check; repeat or a,b for several."),
    ] = None,
    data: Annotated[
        list[str] | None,
        Option(
            "--data",
            metavar="NAME=PATH",
            help="Files of a benchmark's own repository, to recompute from: mime=FOLDER, mmrv=FILE, mmie=FILE.",
        ),
    ] = None,
    form: Annotated[str, Option("--format", help="text, markdown or json.")] = "text",
    markdown: Annotated[bool, Option("--markdown", help="Short for --format markdown.")] = False,
    out: o.OutFile = None,
) -> None:
    """Recompute what the five benchmarks have published, and say where figures do not hold together.

    Examples:

        vivant audit --only milebench,mimic-overall

        vivant audit --data mime=MIME-repository/

        vivant audit --markdown -o docs/audit.md
    """
    form = "markdown" if markdown else form
    if form not in FORMATS:
        raise unknown_name_error("format", form, FORMATS)
    folders = {name: Path(path).expanduser() for name, path in parse_pairs(data, "--data").items()}
    cases = audits.audit(split_values(only), folders)
    if form == "json":
        text = msgspec.json.format(msgspec.json.encode(cases), indent=1).decode() + "\n"
    else:
        text = audits.to_markdown(cases) if form == "markdown" else audits.to_text(cases, get_output_width())
    write_output(text, out)
