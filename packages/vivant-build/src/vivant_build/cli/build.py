"""`vivant build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from vivant.cli.help import CommandApp
from vivant.cli.output import print_message
from vivant.cli.parsing import split_values
from vivant.core.errors import UsageError
from vivant_build.cli.mime import app as mime_app
from vivant_build.cli.mimic import app as mimic_app

app = CommandApp(no_args_is_help=True)
app.add_typer(mime_app, name="mime")
app.add_typer(mimic_app, name="mimic")

Out = Annotated[Path, Option("--out", "-o", help="Folder to write to.")]


@app.callback()
def build() -> None:
    """Make benchmarks.

    Examples:

        vivant build mime plan mini

        vivant build mimic all crawl --work build
    """


@app.command()
def needles(
    out: Out,
    kind: Annotated[
        Literal["text", "image"],
        Option("--kind", help="text: a word in the text; image: a word drawn into a picture."),
    ] = "text",
    pictures: Annotated[
        Path | None, Option("--pictures", help="A folder of pictures for the haystack. [default: drawn ones]")
    ] = None,
    depths: Annotated[
        list[str] | None, Option("--depths", help="Tenths of the way, e.g. 0,5,9. [default: 0 to 9]")
    ] = None,
    lengths: Annotated[
        list[str] | None,
        Option(
            "--lengths", help="Tokens (text) or pictures (image), e.g. 0,1000,8000. [default: MileBench's 32]"
        ),
    ] = None,
    per_cell: Annotated[int, Option("--per-cell", min=1, help="Samples per depth and length.")] = 1,
    seed: Annotated[int, Option("--seed", help="Another seed makes other needles.")] = 0,
) -> None:
    """Make a needle set like MileBench's that no model has seen.

    Example:

        vivant build needles --kind image --depths 0,5,9 --lengths 4,16,62 --seed 7 --out needles

        vivant run milebench --data needles --model openai/NAME
    """
    from vivant_build.needles import DEPTHS, build_needles

    folder = build_needles(
        out,
        kind=kind,
        pictures=pictures,
        depths=_numbers(depths, "--depths") or DEPTHS,
        lengths=_numbers(lengths, "--lengths"),
        per_cell=per_cell,
        seed=seed,
    )
    print_message(
        f"Written to {folder}. Run it: vivant run milebench/{folder.name} --data {out} --model NAME"
    )


def _numbers(entries: list[str] | None, flag: str) -> list[int] | None:
    if entries is None:
        return None
    try:
        return [int(piece) for piece in split_values(entries)]
    except ValueError as error:
        raise UsageError(f"{flag} {','.join(entries)}: write numbers with commas between them") from error
