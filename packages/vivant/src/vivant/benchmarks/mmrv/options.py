"""One question as the data spell it: options with or without their letters, keys in several forms."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from vivant.core.errors import DataError
from vivant.core.types import Option

_LETTERED = re.compile(r"\s*(?:[(（\[]\s*([A-Z])\s*[)）\]]|([A-Z])\s*[).:、．：])\s*(.*)", re.DOTALL)
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KEY_BRACKETS = re.compile(r"[(（\[]\s*([A-Z])\s*[)）\]]")
_KEY_BARE = re.compile(r"([A-Z])(?:\s*[).:、．：].*)?", re.DOTALL)


def split_options(value: Any) -> list[str]:
    """Options as texts, from a list, a mapping of letters, a JSON list in a text, or lines of text."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                value = msgspec.json.decode(text)
            except msgspec.DecodeError:
                return _split_lines(text)
        else:
            return _split_lines(text)
    if isinstance(value, dict):
        value = [f"({letter}) {text}" for letter, text in value.items()]
    if not isinstance(value, list | tuple):
        raise DataError(f"`options` is {type(value).__name__}, not a list or lines of text")
    invalid = [item for item in value if not isinstance(item, str)]
    if invalid:
        raise DataError(f"`options` holds {type(invalid[0]).__name__} {invalid[0]!r}, not a text")
    return [item.strip() for item in value if item.strip()]


def _split_lines(text: str) -> list[str]:
    """Lines of text; where lines have letters, a line without one goes on with the option above it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or not _LETTERED.fullmatch(lines[0]):
        return lines
    options: list[str] = []
    for line in lines:
        if _LETTERED.fullmatch(line):
            options.append(line)
        else:
            options[-1] += " " + line
    return options


def parse_options(texts: list[str]) -> tuple[Option, ...]:
    """Options with their own letters, in their own order; letters by place where the data give none.

    Letters count only if they rise from option to option: "A. Lincoln" among bare texts is a name.
    An option without a letter between lettered ones takes the letter that follows the one before it.
    """
    matches = [_LETTERED.fullmatch(text) for text in texts]
    letters = [(match[1] or match[2]) if match else "" for match in matches]
    if sum(map(bool, letters)) * 2 > len(letters):
        filled: list[str] = []
        for letter in letters:
            following = chr(ord(filled[-1]) + 1) if filled else "A"
            filled.append(letter or following)
        if filled == sorted(set(filled)) and filled[-1] <= "Z":
            bodies = [match[3].strip() if match else text for match, text in zip(matches, texts, strict=True)]
            return tuple(Option(name, body) for name, body in zip(filled, bodies, strict=True))
    if len(texts) > len(_ALPHABET):
        raise DataError(f"{len(texts)} options, more than there are letters")
    return tuple(Option(name, text) for name, text in zip(_ALPHABET, texts, strict=False))


def parse_key(value: str, options: tuple[Option, ...]) -> str:
    """The letter that a key names: "(K)", "(B) ", "K", "K. text", an option's own text; '' if none."""
    text = value.strip()
    for option in options:
        if text and text == option.text:
            return option.name
    upper = text.upper()
    if match := _KEY_BRACKETS.match(upper) or _KEY_BARE.fullmatch(upper) or _KEY_BRACKETS.search(upper):
        return match[1]
    return ""


def find_skipped_letters(options: tuple[Option, ...]) -> str:
    """Letters between the first and the last option that no option has."""
    names = {option.name for option in options}
    return "".join(letter for letter in _ALPHABET[: _ALPHABET.index(max(names)) + 1] if letter not in names)
