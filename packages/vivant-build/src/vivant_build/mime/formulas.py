"""Formulas in the data files of actions and scenes, such as `0.30 + 0.5 * lift` or `(0, sin(angle), 1)`.

A formula is an expression in Python's notation, parsed once and computed here. It knows numbers, the names and
functions that it is given, tuples, `.x .y .z` of vectors and the fields of dataclasses, and reaches nothing else.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from vivant.core.errors import DataError

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.USub: operator.neg,
}
COMPONENTS = {"x": 0, "y": 1, "z": 2}
CONSTANTS = {"pi": np.pi}


@lru_cache(maxsize=8192)
def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise DataError(f"the formula '{text}' cannot be read: {error.msg}") from None


class Formulas:
    """Formulas over one set of names. `names` may grow between two of them.

    Args:
        names: Values by name; a value with attributes (an arm, say) is reached as `arm.wrist`.
        functions: What formulas may call.
        join: Makes the value of a tuple from its parts.
    """

    def __init__(
        self,
        names: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]],
        join: Callable[[Sequence[Any]], Any] = tuple,
    ) -> None:
        self.names: dict[str, Any] = {**CONSTANTS, **names}
        self._functions = functions
        self._join = join

    def compute(self, formula: float | str | Sequence[Any]) -> Any:
        """The value of a formula; a list is a tuple of formulas."""
        if isinstance(formula, str):
            try:
                return self._visit(_parse(formula))
            except (TypeError, ValueError, IndexError) as error:
                raise DataError(f"the formula '{formula}' cannot be computed: {error}") from None
        if isinstance(formula, Sequence):
            return self._join([self.compute(part) for part in formula])
        return formula

    def _visit(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() as value):
                return value
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Attribute(value=inner, attr=name):
                return self._part(self._visit(inner), name)
            case ast.Subscript(value=inner, slice=index):
                return self._visit(inner)[int(self._visit(index))]
            case ast.Tuple(elts=parts):
                return self._join([self._visit(part) for part in parts])
            case ast.UnaryOp(op=sign, operand=inner) if type(sign) in _OPERATORS:
                return _OPERATORS[type(sign)](self._visit(inner))
            case (
                ast.BinOp(left=left, op=sign, right=right)
                | ast.Compare(left=left, ops=[sign], comparators=[right])
            ) if type(sign) in _OPERATORS:
                return _OPERATORS[type(sign)](*align(self._visit(left), self._visit(right)))
            case ast.IfExp(test=test, body=yes, orelse=no):
                return self._visit(yes if self._visit(test) else no)
            case ast.Call(func=ast.Name(id=name), args=parts, keywords=options) if name in self._functions:
                keywords = {option.arg: self._visit(option.value) for option in options if option.arg}
                return self._functions[name](*[self._visit(part) for part in parts], **keywords)
        raise DataError(f"a formula does not know '{ast.unparse(node)}'")

    def _part(self, value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray) and name in COMPONENTS:
            return value[:, COMPONENTS[name]]
        if name.startswith("_") or name not in getattr(value, "__dataclass_fields__", ()):
            raise DataError(f"a formula does not know '.{name}'")
        return getattr(value, name)


def align(a: Any, b: Any) -> tuple[Any, Any]:
    """A number per frame scales a vector per frame."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and {a.ndim, b.ndim} == {1, 2}:
        return (a[:, None], b) if a.ndim == 1 else (a, b[:, None])
    return a, b
