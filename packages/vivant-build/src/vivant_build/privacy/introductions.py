"""Finders of names that people tell, their own and those of people they know: `my name is`, `с вами`, `mein Bruder`.

A cue says how sure it is that a name follows. Behind a sure one any word counts that may be a name; behind an everyday
one (`love`, `this is`) only two words with capitals of which one is a first name or no word at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from vivant_build.privacy import cjk_introductions
from vivant_build.privacy.contact_patterns import CAPITAL, Finder, Span
from vivant_build.privacy.word_lists import (
    is_common_word,
    is_given_name,
    is_ordinary,
    is_word,
    join_words,
    read_words,
)

_TOKEN = re.compile(r"[^\W\d_](?:[^\W\d_]|['’\-])*(?!\w)")
_SENTENCE_END = re.compile(r"[.!?\n;(]")
_LAST = re.compile(r"\W*$")
_STRENGTHS = {"named": "sure", "signed": "sure", "selves": "self", "weak": "weak", "sign_offs": "sign_off"}
_FILLERS = 3
"""So many words may stand between a cue and the name; one where writers speak of themselves."""
_POSSESSIVES, _QUALITIES, _KIN = (
    frozenset(read_words(name)) for name in ("possessives", "kin_qualities", "kin")
)
_RELATIVE = rf"{join_words('kin')}|(?:{join_words('kin_stems')})[а-яё]{{0,3}}"
_KIN_STEM = re.compile(rf"(?:{join_words('kin_stems')})[а-яё]{{0,3}}")
_FANS, _FAMOUS = frozenset(read_words("fans")), frozenset(read_words("famous"))
_PARTICLES = frozenset(read_words("particles"))
_COMPARING = frozenset(read_words("comparing"))
_MIXED_CASE = re.compile("[a-zà-ÿа-я][A-ZÀ-ÞА-Я][a-zà-ÿа-я][A-ZÀ-ÞА-Я]")
_JOINING = frozenset(read_words("joining"))
_RUSSIAN_SURNAME = re.compile(
    r"(?:ов|ев|ёв|ин|ын|ова|ева|ёва|ина|ына|ский|ская|цкий|цкая|ской|енко|ко|ук|юк|чук|ич|ян|швили|дзе|ец|ак|як|ых|их)$"
)
_WORD = rf"[{CAPITAL}][\w'’\-]+"
_PAIR = rf"{_WORD}(?: (?:{join_words('particles')})){{0,2}}(?: [{CAPITAL}][\w'’\-.]+){{1,3}}"
_NEAR_BY = (
    r"from (?:my|our|(?:class )?\d{1,2}[A-Za-z])|из \d{1,2}[А-Яа-я]|de (?:mi|nuestr[oa])"
    r"|aus (?:meiner?m?|unserer?m?)|из (?:наш|мо)[а-яё]+|с нашего"
)
_REST = (
    r"[Rr]est in peace|[Rr]est easy|[Ff]ly high|descans[ae]|que en paz|ruhe in frieden"
    r"|покойся|земля пухом|светлая память"
)
_GREETING = r"(?i:greetings|hello|hi|saludos|grüße|привет) (?:from|desde|de|aus|из)"
_TITLE = r"(?:Mrs?|Ms|Miss|Dr|Prof|Sir|Coach|Pastor|Señor|Señora|Sr|Sra|Srta|Don|Doña|Herr|Frau)\.?"
_HERE = re.compile(
    rf"(?:^|(?<=[\n.!,]))\s*(?P<own>{_PAIR})(?=\s+(?:here|signing off|out)(?!\w))"
    rf"|(?<!\w)(?P<known>{_PAIR})(?= (?:{_NEAR_BY})(?!\w))"
    rf"|(?<!\w)(?P<mourned>{_PAIR})(?=,? (?:{_REST})(?!\w))"
    r"|^\s*(?P<young>[A-Z][a-z]{2,12})(?= here(?!\w))"
    rf"|{_GREETING} [{CAPITAL}]\w+,? (?P<greeting>{_PAIR})(?=\s*(?:[.!\n]|$))"
)
_LOWER_TITLE = r"(?i:mrs?|ms|dr)\.?"
_TITLED = re.compile(rf"(?<!\w)(?:{_TITLE}|{_LOWER_TITLE}) ({_WORD}(?: [{CAPITAL}][\w'’\-]+)?|[a-z]{{4,}})")
_OWNER = re.compile(rf"(?<!\w)(?:{join_words('possessives')}) (?:\w+ ){{0,2}}$", re.IGNORECASE)
_APPOSED = re.compile(rf", ({_PAIR})(?=\s*[,.!)]|$)")
_RELATED = re.compile(rf"(?<!\w)(?:{_RELATIVE})$", re.IGNORECASE)
_BEFORE_CUE = re.compile(r"(?<!\w)меня\s+([А-ЯЁ][а-яё]+)(?=\s+зовут)")


_NEXT = re.compile(rf"\s*(?:,|&|/|and|und|y|и)\s*({_PAIR})")


@cache
def _load_cues() -> dict[str, list[tuple[tuple[str, ...], bool, str]]]:
    """First word of a cue → its words, whether a colon follows, and how strong it is; the longest first."""
    cues: dict[str, list[tuple[tuple[str, ...], bool, str]]] = {}
    for name, strength in _STRENGTHS.items():
        for phrase in read_words(name):
            words = tuple(_TOKEN.findall(phrase))
            cues.setdefault(words[0], []).append((words, phrase.endswith(":"), strength))
    for group in cues.values():
        group.sort(key=lambda cue: -len(cue[0]))
    return cues


def _find_cues(shadow: str, tokens: list[re.Match[str]]) -> Iterator[tuple[int, str]]:
    """Where a name may begin, as the index of a word, and how strong the cue before it is."""
    cues, lower = _load_cues(), [token.group().lower() for token in tokens]
    for index, word in enumerate(lower):
        for words, colon, strength in cues.get(word, ()):
            end = index + len(words)
            if tuple(lower[index:end]) == words and (not colon or shadow[tokens[end - 1].end() :][:1] == ":"):
                yield end, strength
                break
        if word in _POSSESSIVES:
            following = index + 1
            while following < len(lower) and lower[following] in _QUALITIES and following <= index + 2:
                following += 1
            if following < len(lower):
                if lower[following] not in _KIN and lower[following - 1] in _KIN & _QUALITIES:
                    following -= 1
                known = lower[following] in _KIN or _KIN_STEM.fullmatch(lower[following]) is not None
                if known or lower[following] not in _FANS:
                    yield following + 1, "kin" if known else "role"


def find_introductions(shadow: str) -> Iterator[Span]:
    """Names behind a cue, in a folded text."""
    tokens = list(_TOKEN.finditer(shadow))
    for index, strength in _find_cues(shadow, tokens):
        span = _read_name(shadow, tokens[index - 1 : index + _FILLERS + 4], strength)
        while span:
            yield span
            span = _read_next(shadow, span[1])
    for match in _HERE.finditer(shadow):
        group = match.lastgroup or ""
        if _is_full_name(match[group].split()):
            yield match.span(group)
    for match in _TITLED.finditer(shadow):  # my teacher Mrs Hill
        if not match[1][0].isupper() and is_word(match[1]):
            continue
        if _OWNER.search(shadow[max(0, match.start() - 40) : match.start()]):
            yield match.span(1)
    for match in _APPOSED.finditer(shadow):  # my brother, Tom Hill, …
        if _RELATED.search(shadow[max(0, match.start() - 20) : match.start()]) and _is_full_name(
            match[1].split()
        ):
            yield match.span(1)
    for match in _BEFORE_CUE.finditer(shadow):
        yield match.span(1)


def _read_name(shadow: str, tokens: list[re.Match[str]], strength: str) -> Span | None:
    """The name that begins at most some words behind a cue's last word, in the same sentence."""
    cue, *tokens = tokens
    end = _SENTENCE_END.search(shadow, cue.end())
    tokens = [token for token in tokens if end is None or token.start() < end.start()]
    shouting = shadow.isupper()
    fillers = 1 if strength == "self" else _FILLERS
    for index in range(min(len(tokens), fillers + 1)):
        words = [_unmix(token.group()) for token in _take_joined(shadow, tokens[index : index + 4])]
        size = _count_name_words(words, strength, near=index == 0, shouting=shouting)
        if size:
            start, end_of_name = tokens[index].start(), tokens[index + size - 1].end()
            if strength == "sign_off" and not (
                shadow[:start].rstrip(" ").endswith((",", "\n", "-")) and _LAST.match(shadow, end_of_name)
            ):
                return None
            return start, end_of_name
        if (words[0][0].isupper() and not shouting) or words[0].lower() in _COMPARING:
            break  # the sentence goes on about something else, or somebody
    return None


def _read_next(shadow: str, end: int) -> Span | None:
    """The full name that follows another in a list."""
    match = _NEXT.match(shadow, end)
    return match.span(1) if match and _is_full_name(match.group(1).split()) else None


def _unmix(word: str) -> str:
    """A word as it is usually written: `bRiAn` as `Brian`."""
    return word.title() if _MIXED_CASE.search(word) else word


def _take_joined(shadow: str, tokens: list[re.Match[str]]) -> list[re.Match[str]]:
    """The first of some words, as far as spaces alone are between them."""
    joined = tokens[:1]
    for token in tokens[1:]:
        if shadow[joined[-1].end() : token.start()].strip(" "):
            break
        joined.append(token)
    return joined


def _count_name_words(words: list[str], strength: str, *, near: bool, shouting: bool) -> int:
    """How many words are a name; 0 where they are none."""
    capitals = 0 if shouting else _count_capitals(words)
    sure = strength == "sure"
    first = words[0]
    if " ".join(words[: max(1, capitals)]).lower() in _FAMOUS:
        return 0
    if strength == "role":  # somebody's landlord: nothing between, and a first name that is one
        return capitals if near and capitals >= 2 and is_given_name(first) else 0
    if capitals >= 2 and (sure or _is_full_name(words[:capitals], strict=strength == "weak")):
        return capitals
    if not near or first.lower() in _JOINING:
        return 0
    if sure:
        if capitals:
            return capitals if len(first) > 1 or capitals > 1 else 0
        if is_ordinary(first) and (is_common_word(first.lower()) or not is_given_name(first)):
            return 0
        return 2 if len(words) > 1 and not _is_frequent(words[1]) else 1
    if capitals == 1 and strength in ("self", "kin"):
        unknown = first.isascii() and first[1:].islower() and len(first) > 3 and not is_word(first)
        ordinary = is_ordinary(first) and (strength == "kin" or is_common_word(first.lower()))
        return int(unknown or (is_given_name(first) and not ordinary))
    if capitals:
        return 0
    return 2 if _is_lower_name(words) else 0


def _count_capitals(words: list[str]) -> int:
    """How many of the first words have a capital, or stand between such words."""
    capitals = 0
    for word in words:
        if word == "I" or (word.isupper() and len(word) > 1):
            break
        if not word[0].isupper() and not (capitals and word.lower() in _PARTICLES):
            break
        capitals += 1
    while capitals and words[capitals - 1].lower() in _PARTICLES:
        capitals -= 1
    return capitals


def _is_lower_name(words: list[str]) -> bool:
    """Whether two words without capitals are a first name and a family name."""
    if len(words) < 2:
        return False
    first, last = words[:2]
    if len(first) < 3 or len(last) < 4 or not last.isalpha() or last.lower() in _JOINING | _PARTICLES:
        return False
    if not is_given_name(first) or is_ordinary(first):
        return False
    return not _is_frequent(last)


def _is_frequent(word: str) -> bool:
    """Whether a word in lower case is rather part of the sentence than of a name."""
    lower = word.lower()
    return is_common_word(lower) or lower in _JOINING or lower in _PARTICLES


def _is_full_name(words: list[str], *, strict: bool = False) -> bool:
    """Whether words with capitals are a name: the first is a first name, or one of them, `strict`: each, is no word."""
    lower = [word.strip(".,'’").casefold() for word in words if word.lower() not in _PARTICLES]
    if not lower or is_given_name(lower[0]):
        return bool(lower)
    if re.search("[а-яё]", lower[0]):
        known = _RUSSIAN_SURNAME.search(lower[-1]) is not None or is_given_name(lower[-1])
        return not is_word(lower[0]) and (known or not is_word(lower[-1]))
    if lower[0] in _JOINING:
        return False
    if is_given_name(lower[-1]) and not is_word(lower[0]):
        return True  # the family name first
    return not (any if strict else all)(map(is_word, lower))


_SURE_GATE = rf"(?:^|\W)(?i:{join_words('named', 'signed')})(?:\W|$)"
_SELF_GATE = (
    rf"(?:^|\W)(?i:{join_words('selves')}) (?:[{CAPITAL}]\pL{{2}}|\pL{{3,}} \pL{{4,}}(?:$|[^\pL\s])"
    rf"|(?i:{join_words('given_names')}) \pL{{4}})"
)
_TITLED_GATE = rf"(?:^|\W)(?i:{join_words('possessives')}) (?:\pL+ ){{0,2}}{_LOWER_TITLE} \pL{{4}}"
_CAPITALISED = rf"[{CAPITAL}](?:[\p{{Ll}}'’.\-][\w'’.\-]*)?"
_PAIR_GATE = rf"{_CAPITALISED} (?:(?i:{join_words('particles')}) )*{_CAPITALISED}"
_EVERYDAY_GATE = (
    rf"(?:^|\W)(?i:{join_words('weak', 'sign_offs', 'selves', 'named', 'signed', 'possessives')})"
    rf"\W+(?:\S+\s+){{0,3}}\W*{_PAIR_GATE}"
    rf"|{_PAIR_GATE},? (?:{_NEAR_BY}|{_REST})(?:\W|$)|{_PAIR_GATE}\s+(?:here|signing off|out)(?:\W|$)"
    rf"|(?i:{_RELATIVE}), {_PAIR_GATE}|{_GREETING} [{CAPITAL}]\w+,? {_PAIR_GATE}"
)
FINDERS = (
    Finder(
        find_introductions,
        gate=rf"{_SURE_GATE}|{_SELF_GATE}|{_TITLED_GATE}|меня\s+[А-ЯЁ][а-яё]+ зовут"
        r"|^\s*[A-Z][a-z]{2,12} here(?:\W|$)",
    ),
    Finder(
        find_introductions,
        precondition=_PAIR_GATE,
        gate=_EVERYDAY_GATE,
    ),
    Finder(
        find_introductions,
        precondition=rf" [{CAPITAL}]\pL\pL",
        gate=rf"(?:^|\W)(?i:{join_words('possessives')}) (?:\w+ ){{0,2}}"
        rf"(?:{_TITLE} [{CAPITAL}]|(?i:{_RELATIVE}) [{CAPITAL}]\pL\pL)",
    ),
    *cjk_introductions.FINDERS,
)
