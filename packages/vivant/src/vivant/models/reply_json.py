"""JSON as servers send it: strict JSON quickly, and what is nearly JSON all the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

import msgspec

from vivant.core.types import Reply
from vivant.models.base import TransientError

_BOM = b"\xef\xbb\xbf"
_DECODER = msgspec.json.Decoder()


Reader = Callable[[Any, str], Reply]
"""(decoded answer, server) → reply."""


def read_any_form(reader: Reader) -> Reader:
    """Let a reader take anything: an answer of a form that it does not know may come right on another try."""

    @wraps(reader)
    def read(answer: Any, where: str) -> Reply:
        try:
            return reader(answer, where)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            excerpt = str(answer)[:120]
            raise TransientError(f"{where} sent an answer of an unknown form: {excerpt}") from error

    return read


def parse_json(data: bytes) -> Any:
    """The value that an answer holds. Raises ValueError where it holds none.

    A byte-order mark is passed over; bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD; NaN and
    the infinities become None.
    """
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    text = data.removeprefix(_BOM).decode("utf-8", "replace")
    try:
        return _clean(json.loads(text, parse_constant=lambda _: None, strict=False))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {replace_surrogates(name): _clean(item) for name, item in value.items()}
    return value


def replace_surrogates(text: str) -> str:
    """A text that can be written as UTF-8: pairs are joined, halves become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
