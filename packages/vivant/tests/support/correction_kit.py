"""Answers of known quality, a judge of known bias, and people who know the quality."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.support.fault_server import Act, serving
from tests.support.mmie_kit import format_verdict, make_entry, write_answers
from vivant.judging.judge_run import judge_run
from vivant.judging.options import JudgeOptions
from vivant.runs.importing import import_answers
from vivant.runs.run import Run


def quality_of(number: int) -> int:
    """What answer n deserves, from 0 to 5."""
    return (number * 7) % 6


def make_answers(tmp_path: Path, count: int = 60, models: tuple[str, ...] = ("writer",)) -> list[Run]:
    """A run for each model; the answer to SA-n says its quality, and the second model is a point worse."""
    runs: list[Run] = []
    for place, model in enumerate(models):
        items = [
            make_entry(f"SA-{n}", f"{model} quality {max(0, quality_of(n) - place)}", model=model)
            for n in range(count)
        ]
        folder = write_answers(tmp_path / model, items)
        runs += import_answers(["mmie"], folder, str(tmp_path / "runs" / model))
    return runs


def find_qualities(body: dict[str, Any], part: str = "answer") -> int:
    """The quality that stands in one of the texts that a judge is asked about."""
    pieces = body["messages"][1]["content"]
    text = pieces if isinstance(pieces, str) else "".join(piece.get("text", "") for piece in pieces)
    match = re.search(rf"<<<{part}.*?quality (\d)", text, re.DOTALL)
    assert match is not None
    return int(match[1])


def judge_kindly(runs: list[Run], name: str = "kind", bonus: int = 1) -> None:
    """A judge that gives each answer a point more than it deserves."""
    with serving(lambda _, body: Act(format_verdict(min(6, find_qualities(body) + bonus)))) as server:
        for run in runs:
            judge_run(run, [JudgeOptions(model=f"openai/{name}", base_url=server.url)])


def write_people(path: Path, numbers: range, model: str = "writer", column: str = "") -> Path:
    """People's scores of some answers: the quality, now and then a point off."""
    lines = [
        f"SA-{n},{min(6, quality_of(n) + (n % 5 == 0))},{model},p{n % 3}{column and ',' + column}"
        for n in numbers
    ]
    head = "id,score,model,annotator" + (",probability" if column else "")
    path.write_text("\n".join([head, *lines]))
    return path
