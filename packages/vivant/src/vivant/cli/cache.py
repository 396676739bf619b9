"""`vivant cache`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from vivant.cli.help import CommandApp
from vivant.cli.output import print_message, print_table
from vivant.core.disk_space import format_size
from vivant.core.errors import UsageError
from vivant.core.paths import cache_root
from vivant.core.table import Table
from vivant.engine import reply_cache as replies
from vivant.engine.option_parsing import parse_duration
from vivant.media import measure_cache as media_usage
from vivant.media import trim_cache as trim_media

app = CommandApp(invoke_without_command=True)

Part = Literal["media", "replies"]

_OTHERS = {
    "view": "the viewer's indexes",
    "shards": "media as training reads them",
    "mime": "motions and characters, as rendering reads them",
    "blender": "Blender, in an environment of its own",
}
"""Folders that other commands keep; to be rid of one, delete it."""


@app.callback()
def cache(ctx: typer.Context) -> None:
    """What the caches hold: frames made from videos, replies of models, fetched models. All can be made again.

    Examples:

        vivant cache

        vivant cache trim --older-than 30d
    """
    if ctx.invoked_subcommand is not None:
        return
    root = cache_root()
    media = media_usage(root)
    count, size = replies.measure_cache(root / "replies.sqlite")
    body = [
        ("media", "frames, sound and pictures, by content", media.media, format_size(media.bytes)),
        ("replies", "answers to identical requests", count, format_size(size)),
        ("models", "fetched with `vivant data get`", *_measure_folder(root / "models")),
    ]
    body += [
        (name, what, *_measure_folder(root / name))
        for name, what in _OTHERS.items()
        if (root / name).is_dir()
    ]
    print_table(
        Table(title=f"Caches in {root}", columns=("cache", "what", "entries", "size"), body=tuple(body))
    )
    print_message("vivant cache trim --older-than 30d makes room. VIVANT_CACHE is the cache root.")


@app.command()
def trim(
    older_than: Annotated[
        str,
        Option(
            "--older-than", metavar="TIME", help="What was not used for so long: 12h, 30d; 0 for everything."
        ),
    ],
    only: Annotated[Part | None, Option("--only", help="One of the caches.")] = None,
) -> None:
    """Remove what was made from media, and replies, that are older. Safe beside running runs.

    Frames are made again when they are needed. Replies are asked, and paid for, again.

    Example:

        vivant cache trim --older-than 30d --only media
    """
    seconds = 0.0 if older_than == "0" else parse_duration(older_than, "--older-than")
    if seconds is None:
        raise UsageError("--older-than needs a time, e.g. 30d")
    root = cache_root()
    if only in (None, "media"):
        trimmed = trim_media(root, seconds)
        print_message(f"media: {trimmed.media} entries removed, {format_size(trimmed.bytes)}")
    if only in (None, "replies"):
        print_message(f"replies: {replies.trim_cache(root / 'replies.sqlite', seconds)} removed")


def _measure_folder(folder: Path) -> tuple[int, str]:
    """How many things a folder holds, and how large they are."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return len(list(folder.glob("*"))), format_size(sum(file.stat().st_size for file in files))
