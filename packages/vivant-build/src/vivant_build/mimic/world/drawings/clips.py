"""Clips: a backdrop, and a list of what is drawn on it at a time from 0 to 1. `*.yaml` in this folder holds them.

An entry of a list is a call of one of Stage's shapes (`box(60, 168, 260, 190, RED)`), a value (`dip = 6 * sin(t)`),
a loop (`for: x in (1, 2)`, `draw:` …) or a condition (`if:`, `draw:`, `else:` …). Expressions are arithmetic on these
values, the colours and the functions named here: they are interpreted, never executed as Python.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from PIL import Image

from vivant.core.yaml_files import read_yaml
from vivant_build.mimic.world.drawings import canvas
from vivant_build.mimic.world.drawings.canvas import Stage, between, ease

SIZE = (192, 144)
_FILES = ("home.yaml", "outdoors.yaml", "shows.yaml")
_COLOURS: dict[str, Any] = {
    **{name: value for name, value in vars(canvas).items() if name.isupper() and isinstance(value, tuple)},
    "WOOD": (196, 152, 104), "KITCHEN": (247, 236, 214), "ROOM": (226, 214, 236), "DARK": (30, 28, 44),
    "SEA": (58, 128, 178), "ROAD": (92, 94, 102), "SAND": (232, 204, 150), "TEAL": (60, 160, 160),
    "PINK": (238, 130, 170),
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (math.sin, math.cos, math.radians, min, max, abs, int, bool, range, enumerate)},
    "between": between,
    "ease": ease,
}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.USub: operator.neg,
    ast.Not: operator.not_, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.NotIn: lambda value, values: value not in values,
}  # fmt: skip


class ClipDrawing(Struct, frozen=True, forbid_unknown_fields=True):
    """How to draw one clip. Colours are names or expressions."""

    shows: str
    sky: str
    draw: list[Any]
    ground: str | None = "GRASS"
    horizon: float = 180


def load_clips() -> dict[str, ClipDrawing]:
    """All clips by name."""
    folder = Path(__file__).parent
    return {name: drawing for file in _FILES for name, drawing in _read(folder / file).items()}


@lru_cache(maxsize=len(_FILES))
def _read(path: Path) -> dict[str, ClipDrawing]:
    return read_yaml(path, dict[str, ClipDrawing])


def draw_clip(drawing: ClipDrawing, time: float) -> NDArray[np.uint8]:
    """The picture of a clip at a time from 0 to 1."""
    values: dict[str, Any] = {**_COLOURS, "pi": math.pi, "t": time}
    sky, ground = (_Pen(values).evaluate(_parse(text)) for text in (drawing.sky, drawing.ground or "None"))
    stage = Stage(sky, ground, drawing.horizon)
    _Pen(values, stage).draw(drawing.draw)
    return np.asarray(stage.picture().resize(SIZE, Image.Resampling.LANCZOS))


@lru_cache(maxsize=4096)
def _parse(text: str) -> ast.AST:
    """The statement or expression that a text holds."""
    node = ast.parse(text).body[0]
    return node.value if isinstance(node, ast.Expr) else node


class _Pen:
    """Draws the entries of a list; `values` holds what they name."""

    def __init__(self, values: dict[str, Any], stage: Stage | None = None) -> None:
        self._values = values
        self._stage = stage

    def draw(self, entries: Sequence[str | Mapping[str, Any]]) -> None:
        for entry in entries:
            if isinstance(entry, str):
                self._run(_parse(entry))
            elif "for" in entry:
                loop = _parse(f"for {entry['for']}: pass")
                assert isinstance(loop, ast.For)
                for value in self.evaluate(loop.iter):
                    self._bind(loop.target, value)
                    self.draw(entry["draw"])
            else:
                self.draw(entry["draw"] if self.evaluate(_parse(entry["if"])) else entry.get("else", ()))

    def _run(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            self._bind(node.targets[0], self.evaluate(node.value))
        else:
            self.evaluate(node)

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Tuple):
            for part, item in zip(target.elts, value, strict=True):
                self._bind(part, item)
        else:
            assert isinstance(target, ast.Name)
            self._values[target.id] = value

    def evaluate(self, node: ast.AST | None) -> Any:
        """The value of an expression; anything but arithmetic, choices, tuples and known calls is refused."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._values[name]
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(map(self.evaluate, parts))
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](self.evaluate(left), self.evaluate(right))
            case ast.UnaryOp(op=op, operand=operand):
                return _OPERATORS[type(op)](self.evaluate(operand))
            case ast.BoolOp(op=op, values=parts):
                return (all if isinstance(op, ast.And) else any)(self.evaluate(part) for part in parts)
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.evaluate(part) for part in (left, *others)]
                return all(
                    _OPERATORS[type(op)](*pair) for op, pair in zip(ops, pairwise(values), strict=True)
                )
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.evaluate(body if self.evaluate(test) else other)
            case ast.Subscript(value=values, slice=ast.Slice(upper=upper)):
                return self.evaluate(values)[: self.evaluate(upper)]
            case ast.Subscript(value=values, slice=index):
                return self.evaluate(values)[self.evaluate(index)]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                call = _FUNCTIONS.get(name) or getattr(self._stage, name)
                return call(
                    *map(self.evaluate, args), **{k.arg: self.evaluate(k.value) for k in keywords if k.arg}
                )
        raise ValueError(f"A clip cannot say: {ast.unparse(node) if node else node}")
