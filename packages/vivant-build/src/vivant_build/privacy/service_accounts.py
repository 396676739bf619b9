"""Accounts beside the name of a service: `ig: name`, `name on insta`, `카톡아디 name`.

A small grammar: service, what may stand behind it, connector, handle; or handle, link, service. How much a handle must
look like one depends on how sure the service and the connector are, see `_is_handle`. The words are in
`word_lists.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

from vivant_build.privacy.contact_patterns import (
    CJK,
    EMOJI,
    LETTERS,
    OTHER_LETTER,
    Finder,
    Span,
)
from vivant_build.privacy.word_lists import (
    is_common_word,
    is_given_name,
    is_word,
    join_alternatives,
    join_words,
    read_words,
)

SIGN = rf"[{LETTERS}]"
HANDLE = rf"{SIGN}(?:[{LETTERS}.\-]{{0,40}}{SIGN})?"
_ARABIC = r"\u0600-\u06ff"
OTHER_SCRIPT = re.compile(rf"{OTHER_LETTER}|[\u0590-\u05ff{_ARABIC}\u0900-\u097f\u0e00-\u0e7f]")
"""Of scripts in which names of accounts stand out: all that are not Latin."""
POINTERS = "👉👇→⇒➡➜➤▶☞🔗⬇"
_NUMBERED = re.compile(
    rf"(?:{join_words('numbered')}|[a-z]{{1,2}})\d{{1,4}}[a-z]?|\d+(?:{join_words('units')})|\d{{1,2}}[kк]\d{{2,3}}",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[.\-]+|(?<=[a-z])(?=[A-Z])")


class Shape(IntEnum):
    """How much a word looks like a handle."""

    NONE = -1
    WORD = 0
    NAME = 1
    """No word, with a capital as names have it."""
    UNKNOWN = 2
    COINED = 3
    """Put together of words and what is none: `bloomjuno`, `GamingXimo`, `basile.cook`."""
    TELLING = 4
    """With a digit, an underscore or a dot inside."""


def judge_shape(handle: str) -> Shape:
    """What a word looks like by itself."""
    if looks_like_handle(handle):
        return Shape.TELLING
    if len(handle) < 3 or any(map(str.isdigit, handle)):
        return Shape.NONE
    if len(handle) < 4 or not handle.isascii() or is_word(handle):
        return Shape.WORD
    if is_coined(handle):
        return Shape.COINED
    return Shape.NAME if handle.istitle() else Shape.UNKNOWN


def looks_like_handle(handle: str) -> bool:
    """Whether a handle looks like none of a language's words: with a digit, an underscore or a dot inside."""
    handle = handle.rstrip(".-")
    if not any(map(str.isalpha, handle)) or is_numbered(handle):
        return False
    if "_" in handle.strip("_"):
        return True
    if any(map(str.isdigit, handle)):
        return len(handle) >= 4 or handle[0].isalpha()
    parts = re.split(r"[.\-]", handle)
    if len(parts) >= 4 and all(len(part) == 1 for part in parts):
        return True
    return "." in handle and handle.islower() and not all(map(is_word, handle.split(".")))


def is_numbered(handle: str) -> bool:
    """Whether a number belongs to a word: a model, a season, a measure."""
    return _NUMBERED.fullmatch(handle) is not None


def is_coined(handle: str) -> bool:
    """Whether somebody put a name together: of parts that signs or capitals show, or of a word and what is none."""
    parts = [part for part in _PARTS.split(handle) if part]
    if len(parts) > 1:
        return max(map(len, parts)) > 3 and not all(map(is_word, parts))
    lower = handle.lower()
    return any(
        is_common_word(word) and (is_given_name(rest) or not is_word(rest))
        for size in range(4, len(lower) - 2)
        for word, rest in ((lower[:size], lower[size:]), (lower[-size:], lower[:-size]))
    )


_EVERYDAY, _SHORT = frozenset(read_words("everyday")), frozenset(read_words("short", "tiny"))
_LOOSE = frozenset(read_words("games", "tiny")) | _EVERYDAY | {"pointed"}
_LISTS = ("services", "games", "everyday", "short", "tiny")
_NAMES = frozenset(read_words(*_LISTS))
SERVICES = join_words(*_LISTS)
_MISSPELLED = (
    r"in[s$5]t[a@4](?:gram)?|sn[a@4]pch[a@4]t|te[l1]egr[a@4]m"
    r"|d[i1]sc[o0]rd|wh[a@4]ts[a@4]pp|tw[i1]tter|f[a@4]ceb[o0]{2}k"
)
_HANGUL, _KATAKANA = r"\u1100-\u11ff\u3131-\u3163\uac00-\ud7a3", r"\u30a0-\u30ff"
_SERVICE = re.compile(
    rf"(?:(?<![{_HANGUL}])(?=[{_HANGUL}])|(?<![{_KATAKANA}])(?=[{_KATAKANA}])|(?<!{SIGN})(?![{_HANGUL}{_KATAKANA}]))"
    rf"(?:{SERVICES}|i\.?\s?g\.?(?=\s*[:=])|{_MISSPELLED})(?:(?<=[{CJK}])|(?![a-z\u00c0-\u04ff]))"
)
_OWN_WORDS = "my|mi|meine?|мой|моя"
_OWN = re.compile(rf"(?<!\w)(?:{_OWN_WORDS}) $", re.IGNORECASE)
_GLUE_WORDS = join_words("glue")
_GLUE = re.compile(
    rf"(?:\s+|live:|\)(?=\s*[:=])|[:=@>»~|/\\(\[{{\"'“”«「『【+\-*•·,]|[{EMOJI}]|[是叫号號搜找加为のはがでも은는]"
    rf"|(?:{_GLUE_WORDS})(?![A-Za-z\u00c0-\u04ff]|[._]\w))*",
    re.IGNORECASE,
)
_STRONG = re.compile(rf"[:=@>»{POINTERS}]|[是叫号號搜找は]")
_DASH = re.compile(" -+ ")
_BRACKETS = re.compile(rf"\s*\([^)]{{1,20}}\)(?=\s*[:=@{POINTERS}])")
_PURPOSE = re.compile(rf"(?:[ \-][^\W\d_]{{2,16}}){{1,3}}(?=\s*[:={POINTERS}])")
"""What an account is for: `Telegram for orders: name`."""
_ASIDE = re.compile(rf"[{CJK}{_HANGUL}]{{1,8}}")
_NAMING = r"(?:id|user(?:name)?|handle|tag|nick(?:name)?|usuario|ник|юзер|айди|アカウント|아이디)"
_NAMED = re.compile(rf"(?<![a-z]){_NAMING}(?![a-z])", re.IGNORECASE)
_POINTING = r"(?:as|como|soy|als|unter|under|called|как|под)"
_POINTED = re.compile(rf"(?<![a-z]){_POINTING}(?![a-z])", re.IGNORECASE)
_GAME_TAG = re.compile(r"\s?#\s?\w{3,5}(?!\w)")
_HANDLE = re.compile(HANDLE)
_SPACED = re.compile(rf"(?:[a-z0-9_.] ){{3,}}[a-z0-9_](?!{SIGN})", re.IGNORECASE)
_POINTED_AT = re.compile(rf"[^.!?:\n]{{0,40}}?(?<!\w){_POINTING}\s+(?P<handle>{HANDLE})", re.IGNORECASE)
_FIGURES = re.compile(r"\d{5,12}(?!\d)")
_MORE = re.compile(rf"\s*(?:{join_words('joining_handles')})\s*", re.IGNORECASE)
_ENDS = re.compile(
    rf"\s*(?:$|[\n\r.,;!?)\]}}\"'…|/&+<{EMOJI}{CJK}]|(?:{SERVICES}|{join_words('behind_handles')})(?!\w))",
    re.IGNORECASE,
)
_SECOND = re.compile(rf" {SIGN}+")
_BEFORE = re.compile(
    rf"(?P<handle>{SIGN}[{LETTERS}.\-]{{2,40}})"
    rf"(?P<link>\s*(?:\(|\[|@|-|/|\||~|=|:)\s*(?:(?:{join_words('own_words')})\s+)?|\s+(?:{join_words('handle_links')})\s+"
    r"|\s*(?:是我的?|は私の|は|が|라는|이|가)\s*|\s+)$",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?<!\w)(?:follow|add|find|dm|sigan a|sigue a|folgt|подпишись на|подписывайтесь на)\s+$", re.IGNORECASE
)
_NOT_HANDLES = frozenset(read_words("not_handles"))


def find_service_accounts(shadow: str) -> Iterator[Span]:
    """Handles before and after the names of services, with those names."""
    lower = shadow.lower() if len(shadow.lower()) == len(shadow) else shadow
    for match in _SERVICE.finditer(lower):
        service = match.group()
        if service == "line":
            if shadow[match.start() : match.end()] == "line" and not OTHER_SCRIPT.search(shadow):
                continue
            service = "LINE"
        yield from _find_before(shadow, match, service)
        yield from _find_behind(shadow, match, service)


def _find_behind(shadow: str, match: re.Match[str], service: str) -> Iterator[Span]:
    """`insta: name, name2`."""
    brackets = _BRACKETS.match(shadow, match.end())
    glue = _GLUE.match(shadow, brackets.end() if brackets else match.end())
    assert glue is not None
    aside = None if _HANDLE.match(shadow, glue.end()) else _ASIDE.match(shadow, match.end())
    purpose = None
    if service not in _LOOSE and not _STRONG.search(glue.group()):
        purpose = _PURPOSE.match(shadow, match.end())
        aside = aside or purpose
    if aside:  # other words, before the connector
        glue = _GLUE.match(shadow, aside.end())
        assert glue is not None
    own = _OWN.search(shadow, max(0, match.start() - 8), match.start())
    strong = purpose is None and _STRONG.search(glue.group()) is not None
    if service not in _LOOSE or service in ("dc", "disc"):
        strong = strong or _DASH.search(glue.group()) is not None
    if _NAMED.search(shadow, match.end(), glue.end()):
        service = "named"
    elif service in _EVERYDAY and (own or _POINTED.search(glue.group())):
        service = "pointed"
    pointed = _POINTED_AT.match(shadow, match.end())
    if pointed and judge_shape(pointed["handle"]) >= (Shape.COINED if service in _LOOSE else Shape.UNKNOWN):
        yield match.start(), pointed.end()  # on facebook you find me as name
        return
    place, found = glue.end(), -1
    while True:
        end = _read_handle(shadow, place, service, strong, aside is not None)
        if end < 0:
            break
        found = end
        more = _MORE.match(shadow, end)
        if more is None or more.end() == end:
            break
        place, strong = more.end(), False
    if found > 0:
        yield own.start() if own else match.start(), found


def _read_handle(shadow: str, place: int, service: str, strong: bool, aside: bool) -> int:
    """Where the handle that begins here ends; -1 where there is none."""
    if spaced := _SPACED.match(shadow, place):
        return spaced.end() if strong or service == "named" else -1
    figures = _FIGURES.match(shadow, place)
    if figures and (service not in _LOOSE or strong or service == "qq"):
        return figures.end()
    match = _HANDLE.match(shadow, place)
    if match is None or match.group().lower() in _NOT_HANDLES | _NAMES:
        return -1
    handle, end = match.group(), match.end()
    if tag := _GAME_TAG.match(shadow, end):
        return tag.end()
    ends = _ENDS.match(shadow, end) is not None
    loose = service in _LOOSE or (service in _SHORT and len(handle) < 6)
    if judge_shape(handle) >= _ask_shape(
        everyday=service in _EVERYDAY,
        loose=loose,
        strong=strong,
        aside=aside,
        ends=ends,
        foreign=len(handle) > 4 and handle.isascii() and OTHER_SCRIPT.search(shadow) is not None,
    ):
        return end
    second = _SECOND.match(shadow, end)
    spaced_names = service in ("gamertag", "gtag", "psn", "xbox")
    if strong and second and spaced_names and _ENDS.match(shadow, second.end()):
        return second.end()
    return -1


def _ask_shape(*, everyday: bool, loose: bool, strong: bool, aside: bool, ends: bool, foreign: bool) -> Shape:
    """What a handle must look like, at least: the surer the words before it are, the less."""
    if strong:
        if loose:
            return Shape.UNKNOWN if everyday else Shape.NAME
        return Shape.WORD if ends else Shape.NAME
    if everyday:
        return Shape.UNKNOWN if foreign and not aside else Shape.TELLING
    if aside:
        return Shape.COINED
    if loose:
        return Shape.UNKNOWN if foreign else Shape.COINED
    return Shape.NAME if ends else Shape.UNKNOWN


def _find_before(shadow: str, match: re.Match[str], service: str) -> Iterator[Span]:
    """`name on insta`."""
    offset = max(0, match.start() - 70)
    found = _BEFORE.search(shadow[offset : match.start()])
    if found is None or found["handle"].lower() in _NAMES | _NOT_HANDLES:
        return
    start, end = (offset + place for place in found.span("handle"))
    linked = bool(found["link"].strip()) and service not in _LOOSE and end - start > 4
    foreign = found["handle"].isascii() and OTHER_SCRIPT.search(shadow) is not None
    asked = _ASKING.search(shadow, max(0, start - 16), start) is not None
    needed = (
        Shape.UNKNOWN
        if linked and (foreign or asked)
        else Shape.COINED
        if linked or foreign
        else Shape.TELLING
    )
    if judge_shape(found["handle"]) >= needed and shadow[start - 1 : start] != "#":
        yield start, end


def _select(*names: str, script: str) -> str:
    """The words of some lists that hold letters of a script, as alternatives."""
    return join_alternatives(word for word in read_words(*names) if re.search(script, word))


_ASIAN = _select("services", "games", script=f"[{CJK}{_HANGUL}]")
_RUSSIAN = _select("services", "games", script="[а-яё]")
_ALONE = rf"(?:^|[^{LETTERS}])"
_APART = rf"(?:$|[^{LETTERS}])"
_USUAL = join_words("everyday")
TELLING_GATE = r"(?:[A-Za-z][\w.\-]*[\d_]|[\d_][\w.\-]*[A-Za-z]|\d{5}|[a-z]+\.[a-z])"
FINDERS = (
    Finder(
        find_service_accounts,
        needles=(
            *(word for word in read_words("services", "games") if re.match(rf"[\x00-\x7f{_ARABIC}]+$", word)),
            *read_words("misspelled"),
        ),
    ),
    Finder(
        find_service_accounts,
        precondition=rf"{_ALONE}(?i:{join_words('short', 'tiny', 'everyday')}|i g){_APART}",
        gate=rf"{_ALONE}(?i:{join_words('short', 'tiny')}|i g|line|(?:{_OWN_WORDS}) (?:{_USUAL})){_APART}"
        rf"|{_ALONE}(?i:{_USUAL})\s*(?:[^\w\n].{{0,16}})?(?:[:=@>»\-是叫号號搜找は{POINTERS}]|[^\w\n]{TELLING_GATE})"
        rf"|{_ALONE}(?i:{_USUAL})[^\w\n].{{0,12}}(?i:{_NAMING}|{_POINTING})\W+\w{{4}}"
        rf"|[\d_]\S*\s(?:\S+\s){{0,2}}(?i:{_USUAL}){_APART}",
    ),
    Finder(
        find_service_accounts,
        gate=rf"(?i:{_ASIAN}|ins)[^A-Za-z0-9\n]{{0,10}}[A-Za-z0-9:=@{POINTERS}]"
        rf"|[A-Za-z0-9][^A-Za-z0-9\n]{{0,4}}(?i:{_ASIAN})",
        precondition=OTHER_LETTER,
    ),
    Finder(
        find_service_accounts,
        gate=rf"{_ALONE}(?i:{_RUSSIAN})(?:[^A-Za-z\n]{{0,14}}[A-Za-z0-9]|\s*[:=@{POINTERS}]|\W+\w*_)"
        rf"|[A-Za-z0-9]\W{{1,4}}(?:\pL+ ){{0,2}}(?i:{_RUSSIAN})",
        precondition=OTHER_LETTER,
    ),
)
