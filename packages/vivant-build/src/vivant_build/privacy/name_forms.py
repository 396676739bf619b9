"""How a name is written: as a crawl states it, and in texts, with the endings of six languages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vivant_build.privacy.contact_patterns import CJK, EMOJI
from vivant_build.privacy.text_forms import fold_text
from vivant_build.privacy.word_lists import read_words, remove_accents

HANDLE = re.compile(r"@?([A-Za-z0-9_]{4,60})")
AROUND = ".,;:!?…\"'`´’‘“”«»()[]{}<>*~@#&/|\\+=-–—。，、！？：；（）「」『』【】"
"""Signs around a word that are none of it."""
RUSSIAN_ENDINGS = read_words("russian_endings")
_LOST, _RESTORED = "аяйьеоыи", ("", *"аяйьоеыи")
"""Letters that a Russian name loses before an ending."""
_HONORIFICS = read_words("honorifics")
_OFFICES = read_words("channel_endings")
"""What the name of a channel may end with."""
_PLACEHOLDERS = {"deleted user", "user deleted", "unknown user", "private user", "[deleted]"}
_SHORTEST_NAME, _SHORTEST_PAIR, _LONGEST_NAME = 4, 7, 60
_UNSPACED = re.compile(f"[{CJK}]")
_BETWEEN = re.compile(r"[\s._\-'’]{0,3}")
_RUSSIAN_BETWEEN = re.compile(rf"[а-яё]{{0,3}}{_BETWEEN.pattern}")
_ORNAMENT = re.compile(rf"^[^\w@]+|[^\w]+$|[{EMOJI}\ufe0f]+")
_OFFICE = re.compile(f"(?: |^)(?:{'|'.join(map(re.escape, _OFFICES))})$")


def fold_name(name: str) -> str:
    """Return a name in the form in which texts are searched for it: simple letters, lower case, no accents, no @.

    Empty if the name cannot be told from words, such as a number or two letters.
    """
    if handle := HANDLE.fullmatch(name):
        return "" if handle.group(1).isdecimal() else handle.group(1).lower()
    folded = remove_accents(" ".join(fold_text(name)[0].casefold().split())).lstrip("@").strip()
    if folded in _PLACEHOLDERS or len(folded) > _LONGEST_NAME:
        return ""
    folded = " ".join(_ORNAMENT.sub(" ", folded).split())
    while (shorter := _OFFICE.sub("", folded).strip()) != folded and len(shorter) >= _SHORTEST_NAME:
        folded = shorter
    words = re.findall(r"\w+", folded)
    if not any(character.isalpha() for character in folded) or not words or folded in _PLACEHOLDERS:
        return ""
    if _UNSPACED.search(folded):
        return folded if len(folded) >= 2 else ""
    if len(folded) < _SHORTEST_NAME:
        return ""
    return folded if len(words) == 1 or len(folded) >= _SHORTEST_PAIR else ""


def list_keys(name: str) -> list[str]:
    """A name's longest word; of Marta Walks also martawalks and marta_walks."""
    words = [word.strip(AROUND) for word in name.split()]
    keys = [max(words, key=lambda word: (len(word), word))]
    return keys + [sign.join(words) for sign in ("", "_", ".", "-")] if len(words) > 1 else keys


def list_forms(lower: str) -> set[str]:
    """The words of a text, and what they may be a form of."""
    words = {word.strip(AROUND) for word in lower.split()}
    if _UNSPACED.search(lower):
        words |= set(re.findall(r"[\w.]+", _UNSPACED.sub(" ", lower)))
    words.discard("")
    forms = words | {word.rstrip("s").rstrip("'’`´") for word in words}
    for word in filter(is_russian, words):
        for stem in {word.removesuffix(ending) for ending in ("", *RUSSIAN_ENDINGS)}:
            forms.update(stem + letter for letter in _RESTORED)
    return forms


def is_russian(word: str) -> bool:
    """Whether a word ends like a Russian one."""
    return "а" <= word[-1:] <= "ё"


def cut_vowel(word: str) -> str:
    """What Russian endings are added to."""
    return word[:-1] if word[-1] in _LOST else word


class _Bounds(NamedTuple):
    """What may stand before and behind a name; the ending behind goes with it."""

    before: re.Pattern[str]
    behind: re.Pattern[str]


def _make_bounds(before: str, behind: str) -> _Bounds:
    return _Bounds(re.compile(before), re.compile(behind))


_NO_LETTER_BEFORE, _NO_LETTER_BEHIND = rf"(?<![^\W{CJK}])", rf"(?![^\W{CJK}])"
_LATIN = _make_bounds(_NO_LETTER_BEFORE, rf"(?:['’`´]?s|['’])?{_NO_LETTER_BEHIND}")
_RUSSIAN = _make_bounds(_NO_LETTER_BEFORE, rf"(?:{'|'.join(RUSSIAN_ENDINGS)})?{_NO_LETTER_BEHIND}")
_KATAKANA = _make_bounds(r"(?<![\u30a0-\u30ff])", r"(?![\u30a0-\u30ff])")
_ANYWHERE = _make_bounds("", "")
_TITLED = _make_bounds("", f"(?={'|'.join(_HONORIFICS)})")
_MARKED = _make_bounds("(?<=[@#])", "")


def find_name(name: str, lower: str) -> Iterator[tuple[int, int]]:
    """Where a folded name stands in a folded text: not inside a longer word, with a language's endings."""
    words = name.split()
    unspaced = _UNSPACED.search(name) is not None
    if unspaced:
        bounds = _choose_bounds([character for character in name if character.isalnum()])
    elif is_russian(words[-1]) and len(words[-1]) > 3:
        words = [cut_vowel(word) if is_russian(word) else word for word in words]
        bounds = (_RUSSIAN,)
    else:
        bounds = (_LATIN,)
    start = lower.find(words[0])
    while start >= 0:
        next_start = start + 1
        end = _match_words(words, lower, start)
        for before, behind in bounds if end else ():
            first = start - (not unspaced and start > 0 and lower[start - 1] == "@")
            first = first if before.match(lower, first) else start
            ending = behind.match(lower, end)
            if ending and before.match(lower, first):
                yield first, ending.end()
                next_start = ending.end()
                break
        start = lower.find(words[0], next_start)


def _choose_bounds(letters: Sequence[str]) -> tuple[_Bounds, ...]:
    """Names of scripts without spaces may stand anywhere, if they are long; short ones need a sign or a title."""
    if len(letters) >= 4 or (len(letters) == 3 and not all("\u3040" <= c <= "\u30ff" for c in letters)):
        return (_KATAKANA,) if all("\u30a0" <= c <= "\u30ff" for c in letters) else (_ANYWHERE,)
    return (_ANYWHERE,) if letters[0] == "阿" else (_TITLED, _MARKED)


def _match_words(words: Sequence[str], lower: str, start: int) -> int:
    """Where words end that follow one another from a place, with at most three signs between; 0 where they do not.

    Each of a Russian name may have its ending.
    """
    end = start + len(words[0])
    for word in words[1:]:
        between = (_RUSSIAN_BETWEEN if is_russian(word) else _BETWEEN).match(lower, end)
        place = lower.find(word, end, (between.end() if between else end) + len(word))
        if place < 0:
            return 0
        end = place + len(word)
    return end
