"""The bundled mini-edition of MMIE: drawn stories, how-to steps and problems, in the released format."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from minis.mmie.canvas import Canvas
from minis.mmie.problems import PROBLEMS
from minis.mmie.projects import PROJECTS
from minis.mmie.stories import STORIES
from vivant.core.errors import VivantError

_GO_ON = "Go on with the story in two more frames, each with a sentence and a picture in the same style."
_STEPS = "Explain it in three steps, each with a picture."
_SOLVE = "Show your reasoning, then state the answer."

Draw = Callable[[Canvas], None]


def build_mini(out: Path, progress: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Write `mmie.json` and `images/`; the same bytes every time with the same libraries."""
    maker = _Maker(out)
    try:
        (out / "images").mkdir(parents=True, exist_ok=True)
        items = [*maker.stories(), *maker.projects(), *maker.problems()]
        file = out / "mmie.json"
        file.write_bytes(msgspec.json.format(msgspec.json.encode(items), indent=1) + b"\n")
    except OSError as error:
        raise VivantError(f"Cannot write to {out}: {error.strerror}") from error
    progress(f"{len(items)} items, {len(maker.written)} pictures")
    return [file, *maker.written]


class _Maker:
    def __init__(self, out: Path) -> None:
        self._out = out
        self.written: list[Path] = []
        self._digests: dict[str, str] = {}

    def _picture(self, name: str, draw: Draw) -> str:
        canvas = Canvas()
        draw(canvas)
        data = canvas.png()
        path = self._out / "images" / f"{name}.png"
        path.write_bytes(data)
        self.written.append(path)
        digest = hashlib.sha256(data).hexdigest()
        if digest in self._digests:
            raise VivantError(f"{name} and {self._digests[digest]} are the same picture")
        self._digests[digest] = name
        return f"images/{name}.png"

    def _part(self, text: str, name: str = "", draw: Draw | None = None) -> dict[str, Any]:
        return {"text": text, "image": self._picture(name, draw) if draw else None}

    def stories(self) -> list[dict[str, Any]]:
        items = []
        for number, (field, title, frames) in enumerate(STORIES, 1):
            name = f"SA-{number:03d}"
            parts = [self._part(text, f"{name}-{n}", draw) for n, (text, draw) in enumerate(frames, 1)]
            opening = {"text": f"“{title}”: the first two frames of a story in four.", "image": None}
            asked = [opening, *parts[:2], {"text": _GO_ON, "image": None}]
            items.append(_item(name, "situational analysis", field, asked, parts[2:]))
        return items

    def projects(self) -> list[dict[str, Any]]:
        items = []
        for number, (field, _, (question, goal), steps) in enumerate(PROJECTS, 1):
            name = f"PBL-{number:03d}"
            asked = [self._part(question, f"{name}-0", goal), {"text": _STEPS, "image": None}]
            told = [
                self._part(f"Step {n}: {text}", f"{name}-{n}", draw)
                for n, (text, draw) in enumerate(steps, 1)
            ]
            items.append(_item(name, "project-based learning", field, asked, told))
        return items

    def problems(self) -> list[dict[str, Any]]:
        items = []
        for number, (field, question, draw, options, answer) in enumerate(PROBLEMS, 1):
            name = f"MSR-{number:03d}"
            listed = "".join(f"\n({letter}) {text}" for letter, text in zip("ABCD", options, strict=False))
            asked = [self._part(question + listed, f"{name}-0", draw), {"text": _SOLVE, "image": None}]
            items.append(_item(name, "multi-step reasoning", field, asked, [{"text": answer, "image": None}]))
        return items


def _item(
    name: str, category: str, field: str, question: list[dict[str, Any]], answer: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "id": name,
        "conversations": [
            {"from": "human", "content": question},
            {"from": "gpt", "content": answer},
        ],
        "catagory": category,
        "field": field,
    }
