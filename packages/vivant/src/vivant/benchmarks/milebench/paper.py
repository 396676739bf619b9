"""The option that the `paper` protocol reads in a reply, to the letter.

Texts that arrive here are normalised; options are normalised a second time where the protocol does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from vivant.benchmarks.milebench.normalisation import normalise

EMPTY = "C"
"""What an empty reply counts as."""

_REGEX_SIGNS = frozenset("\\.^$*+?{}[]|()")


class PaperChoice(Struct, frozen=True):
    """What was read, and which rule read it."""

    name: str
    rule: str


class _Options(Struct, frozen=True):
    names: tuple[str, ...]
    known: frozenset[str]
    named: tuple[str, ...]
    """`<name> <choice>`, normalised."""
    bare: tuple[str, ...]
    """The choice without spaces."""


def option_name(index: int) -> str:
    """A … Z, AA … AZ, BA …: past BZ it goes on through the character table, as the published scorer does."""
    if index < 26:
        return chr(65 + index)
    if index < 52:
        return "A" + chr(39 + index)
    return "B" + chr(13 + index)


def read_choice(reply: str, choices: Sequence[str]) -> PaperChoice:
    """The name of the option that a reply chooses; "" or several letters where it chooses none."""
    if reply == "":
        return PaperChoice(EMPTY, "empty")
    options = prepare_options(tuple(choices))
    index = _find_first(reply, options.named)
    if index is not None:
        # Of a name with two letters only the first survives: options past Z cannot be chosen in this way.
        return PaperChoice(options.named[index][0].upper(), "name and text")
    index = _find_first(reply.replace(" ", ""), options.bare)
    if index is not None:
        choice = options.bare[index]
        # The published scorer compares what it found with a text in which signs of regular expressions are
        # escaped, so a choice such as "4.5" is found and then not recognised.
        if not _REGEX_SIGNS.intersection(choice):
            return PaperChoice(options.names[options.bare.index(choice)], "text")
    if len(reply) <= 2 and reply.upper() in options.known:
        return PaperChoice(reply.upper(), "name")
    letters = "".join(sign.upper() for sign in reply if sign.upper() in options.known)
    return PaperChoice(letters, "letters")


@lru_cache(maxsize=1 << 12)
def prepare_options(choices: tuple[str, ...]) -> _Options:
    names = tuple(option_name(index) for index in range(len(choices)))
    return _Options(
        names=names,
        known=frozenset(names),
        named=tuple(normalise(f"{name} {choice}") for name, choice in zip(names, choices, strict=True)),
        bare=tuple(normalise(choice).replace(" ", "") for choice in choices),
    )


def _find_first(text: str, needles: Sequence[str]) -> int | None:
    """The needle that stands earliest in the text; of several at one place, the first of the list."""
    best: int | None = None
    limit = len(text) + 1
    for index, needle in enumerate(needles):
        position = text.find(needle, 0, limit - 1 + len(needle))
        if 0 <= position < limit:
            best, limit = index, position
            if position == 0:
                break
    return best
