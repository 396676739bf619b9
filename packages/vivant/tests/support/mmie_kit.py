"""Small folders in MMIE's two formats."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec
from msgspec import Struct

from tests.support.helpers import picture
from vivant.benchmarks.mmie.files import EVALUATION
from vivant.benchmarks.mmie.items import CATEGORIES, find_category, read_items
from vivant.benchmarks.mmie.paper import Exists, build_judge_view, is_on_scale
from vivant.core.errors import MediaError
from vivant.media.paths import resolve_media


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


# ── what the published scripts make of a folder, with the protocol's own rules ──


def make_exists(root: Path) -> Exists:
    """Whether a path names a file inside the folder. What leaves the folder counts as missing."""

    def exists(path: str) -> bool:
        try:
            resolve_media(root, path)
        except MediaError:
            return False
        return True

    return exists


class JudgeInput(Struct, frozen=True, kw_only=True):
    """One entry of what the original makes of its input file."""

    id: str
    model: str
    question: str
    answer: str
    gt_answer: str | None
    images: tuple[str, ...]


def list_judge_inputs(folder: Path, name: str = EVALUATION) -> list[JudgeInput]:
    """What the published protocol shows its judge of the answers in a folder, without those it leaves out."""
    exists = make_exists(folder)
    inputs: list[JudgeInput] = []
    for item in read_items(folder / name):
        view = build_judge_view(item.question, item.answer or (), exists)
        if not view.left_out:
            inputs.append(
                JudgeInput(
                    id=item.id,
                    model=item.model,
                    question=view.question_text,
                    answer=view.answer_text,
                    gt_answer=item.reference[0].text if item.reference else None,
                    images=view.images,
                )
            )
    return inputs


def compute_averages(scores: Iterable[tuple[str, int | None]]) -> dict[str, float | int | None]:
    """Mean of (id, score) per category and over all, on the scale, to three decimals; and how many count."""
    counted = [
        (find_category(item), score) for item, score in scores if score is not None and is_on_scale(score)
    ]
    groups = {name: [score for category, score in counted if category == name] for name in CATEGORIES}
    groups["AVG"] = [score for _, score in counted]
    means = {
        name: _round_thousandths(sum(values) / len(values)) if values else None
        for name, values in groups.items()
    }
    return {**means, "n": len(counted)}


def _round_thousandths(mean: float) -> float:
    """Rounded as numpy does it, which differs from `round(mean, 3)` where the fourth decimal is a lone 5."""
    return round(mean * 1000) / 1000
