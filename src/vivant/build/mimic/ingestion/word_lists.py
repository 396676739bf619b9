"""Words that tell personal data from other text: `word_lists.yaml`, and the dictionaries of pyspellchecker.

A handle is often no word. Dictionaries of four languages (160,000 English words, and German, Spanish and Russian) are
loaded when the first doubtful word is met.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Collection
from functools import cache, lru_cache
from importlib.resources import files

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.errors import UsageError

_LANGUAGES = ("en", "de", "es", "ru")
_REPEATED = re.compile(r"(.)\1{2,}")
_ENDINGS = ("'s", "’s", "s", "n't")


class WordLists(Struct, frozen=True, forbid_unknown_fields=True):
    """The lists of the file, each separated by spaces."""

    services: str
    games: str
    short: str
    tiny: str
    glue: str
    at_words: str
    dot_words: str
    providers: str
    phone_words: str
    counted: str
    figures: str
    slang: str
    numbered: str
    given_names: str


@cache
def read_word_lists() -> WordLists:
    """The bundled lists."""
    content = (files("vivant.build.mimic.ingestion") / "word_lists.yaml").read_text(encoding="utf-8")
    return msgspec.yaml.decode(content, type=WordLists)


def split_list(text: str) -> list[str]:
    """The entries of a list."""
    return [word.replace("_", " ") for word in text.split()]


def join_words(*lists: str) -> str:
    """The entries of lists as alternatives of a pattern, the longest first, each character meant literally."""
    words = {word for text in lists for word in split_list(text)}
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


@cache
def _load_dictionary() -> NDArray[np.int64]:
    """Hashes of all words, in order: a twentieth of the memory of the words themselves."""
    try:
        folder = files("spellchecker") / "resources"
    except ModuleNotFoundError as error:
        raise UsageError(
            "Handles are told from words with the package pyspellchecker: pip install 'vivant[pipeline]'"
        ) from error
    hashes = [_hash_words(split_list(read_word_lists().slang))]
    for language in _LANGUAGES:
        content = gzip.decompress((folder / f"{language}.json.gz").read_bytes())
        hashes.append(_hash_words(msgspec.json.decode(content, type=dict[str, int])))
    return np.unique(np.concatenate(hashes))


def _hash_words(words: Collection[str]) -> NDArray[np.int64]:
    return np.fromiter(map(hash, words), np.int64, len(words))


@lru_cache(10_000)
def _is_listed(word: str) -> bool:
    words, key = _load_dictionary(), hash(word)
    index = int(np.searchsorted(words, key))
    return index < len(words) and int(words[index]) == key


@cache
def load_given_names() -> frozenset[str]:
    """First names that are seldom anything else."""
    return frozenset(split_list(read_word_lists().given_names))


def is_word(text: str) -> bool:
    """Whether a dictionary or the list of slang has a word, in any letter case; `sooo` counts as `so`."""
    lower = text.casefold().strip("-'’.")
    if _is_listed(lower):
        return True
    if any(lower.endswith(ending) and _is_listed(lower.removesuffix(ending)) for ending in _ENDINGS):
        return True
    if "-" in lower:
        return all(map(is_word, lower.split("-")))
    if _REPEATED.search(lower):
        return _is_listed(_REPEATED.sub(r"\1", lower)) or _is_listed(_REPEATED.sub(r"\1\1", lower))
    return False


def is_ordinary(text: str) -> bool:
    """Whether a word is one that texts use without meaning a person."""
    return text.casefold() not in load_given_names() and is_word(text)
