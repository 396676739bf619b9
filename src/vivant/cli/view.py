"""`vivant view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, say
from vivant.view.server import serve

app = CommandApp()


@app.command()
def view(
    root: Annotated[Path, Argument(metavar="[RUNS_DIR]", help="Folder that holds runs.")] = Path("runs"),
    port: o.Port = 8765,
    host: Annotated[
        str, Option("--host", help="Another address than this machine's own needs a token, and gets one.")
    ] = "127.0.0.1",
    token: Annotated[
        str, Option("--token", envvar="VIVANT_VIEW_TOKEN", help="Ask for this token. (default: one is made)")
    ] = "",
    data: Annotated[
        list[Path] | None,
        Option("--data", help="With --host: folders that media may be shown from; may be repeated."),
    ] = None,
    protocol: o.ProtocolOption = None,
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
        protocol=parse_protocol(protocol),
        data=tuple(data or ()),
        ready=lambda address: say(f"Open {address}    (Ctrl-C ends it)"),
    )
