"""Small folders in MMIE's two formats."""

from __future__ import annotations

import io
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec

from tests.support.helpers import picture


def make_part(text: str | None = None, image: str | None = None) -> dict[str, Any]:
    """One part as the files have it."""
    return {"text": text, "image": image}


def make_entry(name: str, answer: Any = "An answer.", **more: Any) -> dict[str, Any]:
    """One item of the judge's input."""
    item = {
        "id": name,
        "question": [make_part("What comes next?", "images/0.png")],
        "answer": answer,
        "model": "writer",
        "gt_answer": [make_part(f"reference of {name}")],
    }
    return {**item, **more}


def write_answers(folder: Path, items: list[dict[str, Any]], pictures: int = 6) -> Path:
    """`data.json` and `images/`."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for number in range(pictures):
        picture(folder / "images" / f"{number}.png", (number * 40 % 256, 90, 200 - number * 20))
    (folder / "data.json").write_bytes(msgspec.json.encode(items))
    return folder


def write_three_answers(folder: Path) -> Path:
    """One answer per category, with pictures."""
    story = [make_part("Then", "images/1.png"), make_part("At last", "images/2.png")]
    items = [make_entry("SA-1", story), make_entry("PBL-1", "Just text."), make_entry("MSR-1", "It is 42.")]
    return write_answers(folder, items)


def format_verdict(score: object) -> str:
    """A reply as a judge should write it."""
    return f"### Feedback\nReasons.\n### Score\n{score}"


class CommandOutput(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def run_vivant(*arguments: str | Path, cwd: Path) -> CommandOutput:
    """The command line in this process: as a user calls it, without the time that starting Python takes."""
    from vivant.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        chdir(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", ["vivant", *map(str, arguments)]),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(bool(left.code))
    return CommandOutput(code, out.getvalue(), err.getvalue())
