"""One dataset of MileBench-mini in the making: its pictures, its questions, its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from minis.milebench.drawing import Canvas
from vivant.benchmarks.milebench.datasets import find_level
from vivant.core.randomness import derive_generator

SEED = 2024
COUNT = 18
"""Questions of a dataset, where its pictures do not ask for fewer."""


class DatasetWriter:
    """Collects questions and writes `<root>/<name>/<name>.json` beside `images/`."""

    def __init__(self, root: Path, name: str, instruction: str) -> None:
        self._folder = root / name
        self._name = name
        self._instruction = instruction
        self._items: list[dict[str, Any]] = []
        self._pictures: dict[bytes, str] = {}
        (self._folder / "images").mkdir(parents=True, exist_ok=True)

    def chance(self, *names: object) -> Random:
        """A generator for something in this dataset."""
        return derive_generator(SEED, "milebench-mini", self._name, *map(str, names))

    def picture(self, canvas: Canvas, name: str) -> str:
        """Save a picture and return the name by which questions know it; equal pictures share a file."""
        file = self._pictures.setdefault(canvas.content, f"{name}.png")
        if file == f"{name}.png":
            canvas.save(self._folder / "images" / file)
        return file

    def ask(
        self,
        context: str,
        images: Sequence[str],
        response: str,
        choices: Sequence[str] = (),
        evidence: Sequence[int] = (),
    ) -> None:
        """One question. Marks in the context are `{image#n}`, n counting `images` from 1."""
        assert not choices or response in choices, (self._name, response, choices)
        instance: dict[str, Any] = {"context": context, "images_path": list(images)}
        if choices:
            instance["choice_list"] = list(choices)
        item: dict[str, Any] = {
            "sample_id": len(self._items),
            "task_instruction_id": 0,
            "task_instance": instance,
            "response": response,
            "image_quantity_level": find_level(len(images)),
        }
        if evidence:
            item["evidence"] = list(evidence)
        self._items.append(item)

    def write(self) -> None:
        """The annotation file."""
        choice = "choice_list" in self._items[0]["task_instance"]
        content = {
            "meta_data": {
                "dataset": self._name,
                "split": "mini",
                "num_sample": str(len(self._items)),
                "task_instruction": [self._instruction],
                "question_type": "multi-choice" if choice else "open-ended",
            },
            "data": self._items,
        }
        text = json.dumps(content, ensure_ascii=False, indent=1)
        (self._folder / f"{self._name}.json").write_text(text + "\n", encoding="utf-8")


def marks(count: int, first: int = 1) -> str:
    """`{image#1} {image#2} …`"""
    return " ".join(f"{{image#{number}}}" for number in range(first, first + count))


def shuffled(chance: Random, key: str, others: Sequence[str], size: int = 4) -> list[str]:
    """The key among `size - 1` of the others, in random order."""
    pool = [other for other in dict.fromkeys(others) if other != key]
    choices = [key, *chance.sample(pool, min(size - 1, len(pool)))]
    chance.shuffle(choices)
    return choices
