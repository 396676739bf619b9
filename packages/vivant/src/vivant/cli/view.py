"""`vivant view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from vivant.analysis.correction.people_files import load_people
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, print_message

app = CommandApp()


@app.command()
def view(
    root: Annotated[Path, Argument(metavar="FOLDER", help="Folder that holds runs.")] = Path("runs"),
    port: o.Port = 8765,
    host: Annotated[
        str, Option("--host", help="Another address than this machine's own needs a token, and gets one.")
    ] = "127.0.0.1",
    token: Annotated[
        str, Option("--token", envvar="VIVANT_VIEW_TOKEN", help="Ask for this token. [default: one is made]")
    ] = "",
    data: Annotated[
        list[Path] | None,
        Option("--data", help="With --host: a folder that media may be shown from; repeat for several."),
    ] = None,
    human: Annotated[
        list[Path] | None,
        Option(
            "--human",
            help="People's judgements (a study, a file), beside judges' and correcting them; repeat for several.",
        ),
    ] = None,
    export: Annotated[
        Path | None, Option("--export", help="Write a static site into this folder instead of serving.")
    ] = None,
    samples: Annotated[
        int, Option("--samples", min=1, help="With --export: pages of samples per run.")
    ] = 500,
    media: Annotated[
        float,
        Option(
            "--media", min=0, help="With --export: megabytes of pictures and videos in all; they are thinned."
        ),
    ] = 0.0,
    protocol: o.ProtocolOption = None,
) -> None:
    """Look at runs in the browser: scores, samples with pictures and videos, where runs differ, live progress.

    Example:

        vivant view runs

        vivant view runs --export site --media 50
    """
    from vivant.view.server import export_site, serve

    people = load_people(human) if human else None
    if export is not None:
        result = export_site(
            root,
            export,
            samples=samples,
            media=media,
            protocol=parse_protocol(protocol),
            people=people,
            report=print_message,
        )
        for line in result.skipped[:5]:
            print_message(f"Left out: {line}")
        print_message(
            f"Wrote {result.runs} runs, {result.samples:,} samples, {result.comparisons} comparisons, "
            f"{result.pictures:,} pictures and {result.videos:,} videos ({result.megabytes:.1f} MB) to "
            f"{result.folder}: open {result.folder / 'index.html'}"
        )
        return
    serve(
        root,
        host=host,
        port=port,
        token=token,
        protocol=parse_protocol(protocol),
        data=tuple(data or ()),
        people=people,
        ready=lambda address: print_message(f"Open {address}    (Ctrl-C ends it)"),
    )
