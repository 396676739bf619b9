"""Fitting a context into a model's window: whole fragments, kept from the end backwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from vivant.benchmarks.milebench.data import CHARACTERS_PER_TOKEN
from vivant.core.errors import UsageError
from vivant.core.types import Image, Part, Text, Tokenizer


class Window(Struct, frozen=True):
    """How much a model takes."""

    tokens: int
    per_image: int
    tokenizer: Tokenizer
    tokenizer_name: str


class TruncatedContext(Struct, frozen=True):
    """What is left of a context, and what is not."""

    parts: tuple[Part, ...]
    lost_images: int = 0
    lost_tokens: int = 0


def estimate_tokens(text: str) -> list[str]:
    """Pieces of four characters: the stated estimate where a model's tokenizer is not at hand."""
    return [text[i : i + CHARACTERS_PER_TOKEN] for i in range(0, len(text), CHARACTERS_PER_TOKEN)]


def read_window(limits: Mapping[str, Any]) -> Window | None:
    """The window that a run's limits describe; None where there is none."""
    tokens = limits.get("max_context_len")
    if tokens is None:
        return None
    per_image = limits.get("n_tokens_per_image", 0)
    for name, value in (("max_context_len", tokens), ("n_tokens_per_image", per_image)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UsageError(f"{name} must be a whole number of tokens, not '{value}'")
    tokenizer = limits.get("tokenizer")
    if tokenizer is None:
        return Window(
            tokens, per_image, estimate_tokens, f"estimated at {CHARACTERS_PER_TOKEN} characters each"
        )
    if not callable(tokenizer):
        raise UsageError("The tokenizer in the limits must be a function from a text to its tokens")
    return Window(tokens, per_image, tokenizer, "by the model's tokenizer")


def fit_context(instruction: str, context: Sequence[Part], limits: Window) -> TruncatedContext:
    """Keep what fits beside the instruction.

    From the end backwards, each text between two pictures and each picture is taken whole; the first that
    does not fit ends it. Only the last text may be cut: it then keeps its last tokens.
    """
    budget = max(0, limits.tokens - len(limits.tokenizer(instruction)))
    pieces = _split_fragments(context)
    selected: list[Part] = []
    used = 0
    for piece in reversed(pieces):
        if isinstance(piece, Text):
            tokens = limits.tokenizer(piece.text)
            if used + len(tokens) > budget:
                if not selected and budget:
                    selected.append(Text("".join(tokens[-budget:])))
                break
            used += len(tokens)
        else:
            if used + limits.per_image > budget:
                break
            used += limits.per_image
        selected.append(piece)
    else:
        return TruncatedContext(tuple(pieces))
    parts = tuple(reversed(selected))
    return TruncatedContext(
        parts=parts,
        lost_images=_count_images(pieces) - _count_images(parts),
        lost_tokens=_count_tokens(pieces, limits) - _count_tokens(parts, limits),
    )


def _split_fragments(context: Sequence[Part]) -> list[Part]:
    """The context with a text, if an empty one, at its end: that is the fragment that may be cut."""
    parts = list(context)
    if not parts or not isinstance(parts[-1], Text):
        parts.append(Text(""))
    return parts


def _count_images(parts: Sequence[Part]) -> int:
    return sum(isinstance(part, Image) for part in parts)


def _count_tokens(parts: Sequence[Part], limits: Window) -> int:
    return sum(len(limits.tokenizer(part.text)) for part in parts if isinstance(part, Text))
