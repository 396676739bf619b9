"""`vivant view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import protocol_name, say
from vivant.view.server import serve

app = CommandApp()


@app.command()
def view(
    root: Annotated[Path, typer.Argument(metavar="[RUNS_DIR]", help="Folder that holds runs.")] = Path(
        "runs"
    ),
    port: Annotated[int, typer.Option("--port", help="0 for any free one.")] = 8765,
    host: Annotated[
        str,
        typer.Option("--host", help="Another address than this machine's own needs a token, and gets one."),
    ] = "127.0.0.1",
    token: Annotated[
        str,
        typer.Option(
            "--token", envvar="VIVANT_VIEW_TOKEN", help="Ask for this token. (default: one is made)"
        ),
    ] = "",
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="With --host: folders that media may be shown from; may be repeated."),
    ] = None,
    protocol: o.ProtocolOption = "paper",
) -> None:
    """Look at runs in the browser: samples with their pictures and videos, two runs side by side, live progress.

    Example:

        vivant view runs
    """
    serve(
        root,
        host=host,
        port=port,
        token=token,
        protocol=protocol_name(protocol),
        data=tuple(data or ()),
        ready=lambda address: say(f"Open {address}    (Ctrl-C ends it)"),
    )
