"""Questions in clusters, and a model that is right by chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tests.support.helpers import questions
from vivant.engine.evaluation import evaluate
from vivant.runs.run import Run

MODEL = """
import asyncio
import random


class Model:
    def __init__(self, right="0.7", seed="", slow=""):
        self.right, self.seed, self.slow = float(right), seed, slow

    async def generate(self, request):
        name = request.key.rpartition("/")[2]
        if name in self.slow.split("+"):
            await asyncio.sleep(0.3)
        chance = random.Random(name + self.seed).random()
        wanted = "right" if chance < self.right else "wrong"
        return next(option.name for option in request.options if option.text == wanted)
"""


def clustered(folder: Path, count: int, size: int = 2, **more: Any) -> Path:
    """Questions in clusters, whose right choice is called `right`."""
    path = questions(folder, count, pictures=False)
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    for number, line in enumerate(lines):
        line.update({"cluster": f"v{number // size}", "facets": {"kind": "abc"[number // size % 3]}, **more})
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b"\n")
    (folder / "own.py").write_text(MODEL, "utf-8")
    return path


def ask(folder: Path, name: str = "run", right: float = 0.7, **options: Any) -> Run:
    settings = {"right": str(right), **options.pop("model_options", {})}
    return evaluate(
        str(folder / "mine.jsonl"),
        f"{folder / 'own.py'}:Model",
        model_options=settings,
        out=folder / name,
        cache="off",
        **options,
    )


def truth(folder: Path, right: float = 0.7) -> float:
    row = ask(folder, "everything", right).table().rows[0]
    assert row.value is not None
    return row.value
