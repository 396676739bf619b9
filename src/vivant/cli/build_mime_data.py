"""`vivant build mime`: motions, labels and the dataset; mounted beside rendering by `build_mime`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vivant.cli.settle import split
from vivant.cli.show import say, ticker

app = typer.Typer(no_args_is_help=True, add_completion=False)

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")]
Seed = Annotated[int, typer.Option("--seed", help="Another seed makes other choices.")]


@app.command()
def motions(
    out: Out,
    actions: Annotated[
        list[str] | None, typer.Option("--actions", help="Names, with commas. [default: all]")
    ] = None,
    actors: Annotated[
        list[str] | None,
        typer.Option(
            "--actors", help="Write each action once for each of these: they differ in size, hand and tempo."
        ),
    ] = None,
    fps: Annotated[float, typer.Option("--fps", help="Frames a second.")] = 30.0,
    seed: Seed = 29,
) -> None:
    """Write the bundled motions as BVH, with their labels, accepted answers and categories.

    Example:

        vivant build mime motions --out motions --actors j,n --fps 60
    """
    from vivant.build.mime.library import TABLE, export_motions

    made = export_motions(
        out,
        actions=split(actions or []),
        actors=split(actors or []),
        fps=fps,
        seed=seed,
        progress=ticker(),
    )
    say(f"{len(made)} motions and {TABLE} written to {out}")


@app.command()
def clean(
    source: Annotated[Path, typer.Argument(metavar="IN.bvh", help="A motion.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.bvh", help="Where the cleaned one is written.")],
    fps: Annotated[float | None, typer.Option("--fps", help="Resample to this rate. [default: kept]")] = None,
    loop: Annotated[bool, typer.Option("--loop", help="Cut to the best loop and close it.")] = False,
    trim: Annotated[bool, typer.Option("--trim/--no-trim", help="Cut still parts off the ends.")] = True,
) -> None:
    """Clean a motion up: still ends cut, feet checked, loops closed, another rate; says what it found."""
    from vivant.build.mime.clean import clean_file

    for line in clean_file(source, out, fps=fps, ends=trim, loop=loop).lines():
        say(line)
    say(f"Written to {out}")
