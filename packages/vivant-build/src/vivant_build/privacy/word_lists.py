"""Words that tell personal data from other text: `word_lists.yaml`, dictionaries, and lists of names.

A handle is often no word: the dictionaries of pyspellchecker have 160,000 English words, and German, Spanish and
Russian
ones. A word with a capital may be a name: the lists of mimesis have 18,000 first names and family names of some thirty
languages. Both are loaded when the first doubtful word is met, and kept as hashes, in a twentieth of the memory.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import groupby

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.errors import UsageError

_LANGUAGES = ("en", "de", "es", "ru")
_REPEATED = re.compile(r"(.)\1{2,}")
_COMMON = 200
"""So often does a common word stand in the texts that the dictionary was counted in."""
_ENDINGS = ("'s", "’s", "s", "n't")


@cache
def _read_lists() -> dict[str, str]:
    content = (files("vivant_build.privacy") / "word_lists.yaml").read_text(encoding="utf-8")
    lists = msgspec.yaml.decode(content, type=dict[str, str])
    lists["services"] += " " + unicodedata.normalize(
        "NFKC", lists["services"]
    )  # single Korean letters are folded
    return lists


def read_words(*names: str) -> list[str]:
    """The entries of some of the bundled lists."""
    return [word.replace("_", " ") for name in names for word in _read_lists()[name].split()]


def join_words(*names: str) -> str:
    """The entries of lists as alternatives of a pattern, the longest first, each character meant literally."""
    return join_alternatives(read_words(*names))


def join_alternatives(words: Iterable[str]) -> str:
    """Words as alternatives of a pattern, the longest first, each character meant literally."""
    return _join_endings(sorted(set(words)))


def _join_endings(words: list[str]) -> str:
    """Sorted words as a tree, so that a search looks at a common beginning once."""
    branches = []
    for first, group in groupby(filter(None, words), key=lambda word: word[0]):
        endings = [word[1:] for word in group]
        if len(endings) == 1:
            branches.append(re.escape(first + endings[0]))
        else:
            branches.append(f"{re.escape(first)}(?:{_join_endings(endings)}){'?' if '' in endings else ''}")
    return "|".join(branches)


def _find_package(name: str, purpose: str) -> Traversable:
    try:
        return files(name)
    except ModuleNotFoundError as error:
        package = {"spellchecker": "pyspellchecker"}.get(name, name)
        raise UsageError(f"{purpose} with the package {package}: pip install 'vivant[build]'") from error


@cache
def _load_dictionary() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The words of all languages, and those that texts use often."""
    folder = _find_package("spellchecker", "Handles are told from words") / "resources"
    slang = read_words("slang")
    hashes, common = [_hash_words(slang)], slang
    for language in _LANGUAGES:
        content = gzip.decompress((folder / f"{language}.json.gz").read_bytes())
        counts = msgspec.json.decode(content, type=dict[str, int])
        hashes.append(_hash_words(counts))
        hashes.append(_hash_words([remove_accents(word) for word in counts if not word.isascii()]))
        common += [word for word, count in counts.items() if count >= _COMMON]
    return np.unique(np.concatenate(hashes)), np.sort(_hash_words(common))


class _Person(Struct, frozen=True):
    """What is read of a language's file: lists, or lists by gender."""

    names: list[str] | dict[str, list[str]] = []
    surnames: list[str] | dict[str, list[str]] = []


@cache
def _load_first_names() -> NDArray[np.int64]:
    """Of all languages, in lower case without accents."""
    first = set(map(_simplify, read_words("given_names")))
    for language in _iter_languages():
        person = msgspec.json.decode((language / "person.json").read_bytes(), type=_Person)
        first.update(map(_simplify, _flatten(person.names)))
    first -= set(read_words("no_names"))
    return np.sort(_hash_words(first))


@cache
def load_surnames(language: str) -> frozenset[str]:
    """Family names of one language, as they are written."""
    folder = _find_package("mimesis", "Names are told from words") / "datasets" / language
    person = msgspec.json.decode((folder / "person.json").read_bytes(), type=_Person)
    return frozenset(_flatten(person.surnames))


def _iter_languages() -> Iterator[Traversable]:
    folder = _find_package("mimesis", "Names are told from words") / "datasets"
    for language in folder.iterdir():
        if (language / "person.json").is_file():
            yield language


def _flatten(names: list[str] | dict[str, list[str]]) -> list[str]:
    return names if isinstance(names, list) else [name for group in names.values() for name in group]


_ACCENTS = {
    code: base
    for code in (*range(0xC0, 0x250), ord("ё"), ord("Ё"))
    if (base := unicodedata.normalize("NFD", chr(code))[0]) != chr(code)
}


def remove_accents(text: str) -> str:
    """A text with plain letters in the places of Latin ones with accents, and `е` for `ё`."""
    return text if text.isascii() else text.translate(_ACCENTS)


def _simplify(word: str) -> str:
    return remove_accents(word.casefold())


@cache
def _load_given_names() -> frozenset[str]:
    return frozenset(read_words("given_names"))


def _hash_words(words: Collection[str]) -> NDArray[np.int64]:
    return np.fromiter(map(hash, words), np.int64, len(words))


def _is_in(words: NDArray[np.int64], word: str) -> bool:
    key = hash(word)
    index = int(np.searchsorted(words, key))
    return index < len(words) and int(words[index]) == key


@lru_cache(10_000)
def _is_listed(word: str) -> bool:
    return _is_in(_load_dictionary()[0], word)


@lru_cache(10_000)
def is_common_word(word: str) -> bool:
    """Whether texts often use a word in lower case; dictionaries also have words that nobody knows, and names."""
    return _is_in(_load_dictionary()[1], word)


@lru_cache(10_000)
def is_given_name(word: str) -> bool:
    """Whether a word is somewhere a first name, in any letter case; where no cue is near, see `is_ordinary`."""
    return _is_in(_load_first_names(), _simplify(word))


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
    """Whether a word is one that texts use without meaning a person, even where it can be a name."""
    return is_word(text) and text.casefold() not in _load_given_names()
