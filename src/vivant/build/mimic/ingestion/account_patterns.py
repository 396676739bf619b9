"""Finders of accounts: handles beside the name of a service, and forms that no word has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vivant.build.mimic.ingestion.contact_patterns import (
    ASCII,
    ASIAN_LETTER,
    CJK,
    EMOJI,
    LETTERS,
    SIX_DIGITS,
    TWO_DIGITS,
    Finder,
    Span,
    make_finder,
)
from vivant.build.mimic.ingestion.word_lists import is_word, join_words, read_words

_SERVICES = join_words("services", "games", "short", "tiny")
_LOOSE = frozenset(read_words("games") + read_words("tiny"))
"""Services whose names are words as well, or two letters."""
_SHORT = frozenset(read_words("short") + read_words("tiny"))
_NAMES_OF_SERVICES = frozenset(word.lower() for word in read_words("services", "games")).union(_SHORT)
_MISSPELLED = (
    r"in[s$5]t[a@4](?:gram)?|sn[a@4]pch[a@4]t|te[l1]egr[a@4]m"
    r"|d[i1]sc[o0]rd|wh[a@4]ts[a@4]pp|tw[i1]tter|f[a@4]ceb[o0]{2}k"
)
_ENDED = rf"(?:(?<=[{CJK}])|(?![a-z\u00c0-\u04ff]))"
_SERVICE = re.compile(rf"(?:{_SERVICES.lower()}|i\.?\s?g\.?(?=\s*[:=])|{_MISSPELLED}){_ENDED}")
_OWN = re.compile(r"(?<!\w)(?:my|mi|meine?|мой|моя) $", re.IGNORECASE)
_WORD_SIGN = re.compile(rf"[{LETTERS}]")
_GLUE_WORDS = join_words("glue")
_GLUE = re.compile(
    rf"(?:\s+|live:|[:=@>»~|/\\(\[{{\"'“”«「『【+\-*•·,]|[{EMOJI}]|[是叫号號搜加为のはがでも은는]"
    rf"|(?:{_GLUE_WORDS})(?![A-Za-z\u00c0-\u04ff]))*",
    re.IGNORECASE,
)
_POINTERS = "👉👇→⇒➡➜➤▶☞🔗⬇"
_STRONG = re.compile(rf"[:=@>»{_POINTERS}]|[是叫号號は]")
_ASIDE = re.compile(rf"(?:[{CJK}]{{1,8}}|\s*\([^)]{{1,20}}\))(?=\s*[:=→⇒➡👉👇@])")
_NAMING = r"(?:id|user(?:name)?|handle|tag|nick(?:name)?|usuario|ник|юзер|айди|アカウント|아이디)"
_NAMED = re.compile(rf"(?<![a-z]){_NAMING}(?![a-z])", re.IGNORECASE)
_SIGN = rf"[{LETTERS}]"
_HANDLE = re.compile(rf"{_SIGN}(?:[{LETTERS}.\-]{{0,40}}{_SIGN})?")
_SPACED = re.compile(rf"(?:[a-z0-9_.] ){{3,}}[a-z0-9_](?![{LETTERS}])", re.IGNORECASE)
_FIGURES = re.compile(r"\d{5,12}(?!\d)")
_MORE = re.compile(r"\s*(?:,|/|&|\+|\||or|and|oder|und|y|o|или|и|和|や|or else)\s*", re.IGNORECASE)
_ENDS = re.compile(
    rf"\s*(?:$|[\n\r.,;!?)\]}}\"'…|/&+<{EMOJI}{CJK}]"
    rf"|(?:{_SERVICES}|follow|add|dm|pm|for|if|hmu|pls|plz|please|lol|haha|xx|und|and|y|и|or)(?!\w))",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    rf"(?P<handle>{_SIGN}[{LETTERS}.\-]{{2,40}})(?P<link>\s*(?:\(|\[|@|-|/|\||~)\s*"
    r"|\s+(?:on|auf|en|in|at|bei|в|на|via|is my|ist mein|es mi|это мой|это моя)\s+(?:my\s+|the\s+|mi\s+|meinem\s+)?"
    r"|\s*(?:是我的?|は私の|は)\s*|\s+)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    rf"(?:{join_words('numbered')}|[a-z]{{1,2}})\d{{1,4}}[a-z]?|\d+(?:{join_words('units')})", re.IGNORECASE
)
_NOT_HANDLES = frozenset(
    [
        "https",
        "http",
        "www",
        "link",
        "links",
        "bio",
        "story",
        "stories",
        "live",
        "here",
        "there",
        "this",
        "that",
        "group",
        "server",
        "channel",
        "video",
        "videos",
        "reels",
        "shorts",
    ]
)
_PHRASE_WORDS = frozenset(
    [
        "so",
        "the",
        "is",
        "it",
        "of",
        "in",
        "and",
        "my",
        "you",
        "to",
        "what",
        "not",
        "for",
        "case",
        "world",
        "me",
        "true",
        "be",
    ]
)
_FILE = re.compile(rf"\.(?:{join_words('files')})(?![a-z0-9_])", re.IGNORECASE)


def looks_telling(handle: str) -> bool:
    """Whether a handle looks like none of a language's words: with a digit, an underscore or a dot inside."""
    handle = handle.rstrip(".-")
    if not any(map(str.isalpha, handle)) or _NUMBERED.fullmatch(handle):
        return False
    if "_" in handle.strip("_"):
        return True
    if any(map(str.isdigit, handle)):
        return len(handle) >= 4 or handle[0].isalpha()
    parts = re.split(r"[.\-]", handle)
    if len(parts) >= 4 and all(len(part) == 1 for part in parts):
        return True
    return "." in handle and handle.islower() and not all(map(is_word, handle.split(".")))


def _is_unknown(handle: str) -> bool:
    return len(handle) >= 4 and handle.isascii() and not is_word(handle)


def find_service_accounts(shadow: str) -> Iterator[Span]:
    """Handles before and after the names of services, with those names."""
    lower = shadow.lower() if len(shadow.lower()) == len(shadow) else shadow
    for match in _SERVICE.finditer(lower):
        service = match.group()
        if _WORD_SIGN.match(shadow[match.start() - 1 : match.start()]) and match.start():
            continue
        if service == "line":
            if shadow[match.start() : match.end()] == "line" and not _OTHER_SCRIPT.search(shadow):
                continue
            service = "LINE"
        yield from _find_before(shadow, match, service)
        aside = _ASIDE.match(shadow, match.end())
        glue = _GLUE.match(shadow, aside.end() if aside else match.end())
        assert glue is not None
        strong = aside is not None or _STRONG.search(glue.group()) is not None
        strong = strong or (service in ("dc", "disc") and glue.group() == " - ")
        if _NAMED.search(glue.group()):
            service = "named"
        place, found = glue.end(), -1
        while True:
            end = _read_handle(shadow, place, service, strong)
            if end < 0:
                break
            found = end
            more = _MORE.match(shadow, end)
            if more is None or more.end() == end:
                break
            place, strong = more.end(), False
        if found > 0:
            own = _OWN.search(shadow, max(0, match.start() - 8), match.start())
            yield own.start() if own else match.start(), found


def _read_handle(shadow: str, place: int, service: str, strong: bool) -> int:
    """Where the handle that begins here ends; -1 where there is none."""
    if spaced := _SPACED.match(shadow, place):
        return spaced.end() if strong else -1
    figures = _FIGURES.match(shadow, place)
    if figures and (service not in _LOOSE or strong or service == "qq") and len(figures.group()) != 4:
        return figures.end()
    match = _HANDLE.match(shadow, place)
    if match is None:
        return -1
    handle, end = match.group(), match.end()
    if handle.lower() in _NOT_HANDLES or handle.lower() in _NAMES_OF_SERVICES:
        return -1
    if looks_telling(handle):
        return end
    if len(handle) < 3 or any(map(str.isdigit, handle)):
        return -1
    if _is_unknown(handle):
        loose = service in _LOOSE or (service in _SHORT and len(handle) < 6)
        plain = handle.islower() or not handle.istitle()
        foreign = not service.isascii() and handle.islower() and len(handle) > 4
        if strong or foreign or (not loose and (plain or _ENDS.match(shadow, end) is not None)):
            return end
        return -1
    if strong and _ENDS.match(shadow, end) and not (service in _LOOSE and is_word(handle)):
        return end
    second = re.compile(rf" {_SIGN}+").match(shadow, end)
    if (
        strong
        and second
        and service in ("gamertag", "gtag", "psn", "xbox")
        and _ENDS.match(shadow, second.end())
    ):
        return second.end()
    return -1


def _find_before(shadow: str, match: re.Match[str], service: str) -> Iterator[Span]:
    """`name on insta`."""
    found = _BEFORE.search(shadow[max(0, match.start() - 70) : match.start()])
    if found is None:
        return
    handle, offset = found["handle"], max(0, match.start() - 70)
    if (
        handle.lower() in _NAMES_OF_SERVICES
        or shadow[offset + found.start() - 1 : offset + found.start()] == "#"
    ):
        return
    linked = bool(found["link"].strip())
    if looks_telling(handle) or (
        linked and service not in _LOOSE and handle.islower() and len(handle) > 4 and _is_unknown(handle)
    ):
        yield offset + found.start("handle"), offset + found.end("handle")


def _is_numbered_handle(match: re.Match[str]) -> bool:
    """Whether letters with digits are a handle: no word, no year behind them."""
    letters, figures = match["letters"], match["figures"]
    year = len(figures) == 4 and figures[:2] in ("19", "20")
    return not year and not is_word(letters) and not _NUMBERED.fullmatch(match.group())


def _is_underscored(match: re.Match[str]) -> bool:
    """Whether a word with underscores is a handle and not a phrase or a file."""
    parts = [part for part in re.split(r"[_.\-]+", match.group().lower()) if part]
    if _FILE.search(match.group()) or _FILE.match(match.string, match.end()):
        return False
    if "." in match.group() and re.search(
        r"\bfiles?\b|archivo|datei|файл|文件|ファイル|파일", match.string, re.I
    ):
        return False
    return not (set(parts) & _PHRASE_WORDS)


_OTHER_SCRIPT = re.compile(f"[{CJK}\u1100-\u11ff\u3130-\u318f\u0400-\u04ff]")


def _is_dotted_handle(match: re.Match[str]) -> bool:
    """Whether words with dots are a handle: letters apart, or no words, among letters of another script."""
    parts = match.group().split(".")
    if len(parts) > 5 and all(len(part) == 1 for part in parts):
        return True
    if not _OTHER_SCRIPT.search(match.string):
        return False
    known = all(map(is_word, parts)) or _FILE.search(match.group()) is not None
    return max(map(len, parts)) > 2 and parts[0].isalnum() and not parts[0].isdigit() and not known


_TELLING = rf"(?=[{LETTERS}.\-]*[\d_]|[{LETTERS}\-]*{_SIGN}[.]{_SIGN}){_HANDLE.pattern}"
_PLAIN = r"[a-z][a-z0-9._\-]{3,29}[a-z0-9_]"
_ASIAN = read_words("asian_services")
_ADD = (
    r"add(?: me)?|follow(?: me)?|dm(?: me)?|hmu|sígueme|sigueme|agr[eé]ga(?:me)?|folgt?(?: mir)?|adde?(?: mich)?"
    r"|подпи\w+|добав\w+|加我|关注|フォロー|search(?: up)?|find me|b[uú]sca(?:me)?"
)
_GAMES = join_words("games")
_FOREIGN_GAMES = "|".join(word for word in read_words("games") if not word.isascii())
_TELLING_GATE = r"(?:\S*[\d_]|[a-z]+\.[a-z])"
FINDERS = (
    Finder(
        find_service_accounts,
        needles=(
            *(word.lower() for word in read_words("services")),
            *[
                "i.g",
                "in$ta",
                "inst@",
                "1nsta",
                "1n$ta",
                "sn@p",
                "sn4p",
                "te1egr",
                "d1sc",
                "disc0",
                "wh@ts",
                "f@ceb",
                "f4ceb",
                "tw1tt",
            ],
        ),
        gate=rf"(?:^|[^{LETTERS}])(?i:{join_words('short', 'tiny')}|i g)(?:$|[^{LETTERS}])"
        rf"|(?i:{_GAMES})(?:\W{{0,3}}(?i:{_GLUE_WORDS})){{0,3}}"
        rf"(?:\s*[:=@>»~|/\\(\[{{\"“«+*•·,{_POINTERS}是叫号號は\-]|\s+{_TELLING_GATE}|\s*[A-Za-z]*\d{{4}})"
        rf"|(?i:{_FOREIGN_GAMES})\s*[a-z]{{5}}"
        rf"|(?i:{_GAMES}).{{0,12}}(?i:{_NAMING})\W+\w{{3}}|[\w.]*[\d_]\S*\s(?:\S+\s)?(?i:{_GAMES})",
    ),
    make_finder(
        rf"(?:{join_words('asian_services')}|[加➕+]\s*[vq])(?:号码?|id|のid|は|:|→|\s|[{EMOJI}])*"
        rf"(?!(?:https?|the|and|link|live|story|app|{_SERVICES})(?![a-z])){_PLAIN}",
        lambda match: match.group()[0] != "+" or not is_word(match.group().lstrip("+ ")),
        needles=(*_ASIAN, "加v", "加 v", "加q", "加 q", "➕", "+v", "+ v", "+q"),
    ),
    make_finder(
        rf"(?<![{LETTERS}])(?:v|vx|wx|wechat)\s*[:=]\s*{_PLAIN}",
        gate=rf"(?:^|[^{LETTERS}])(?i:v|vx|wx)\s*[:=]",
    ),
    make_finder(
        rf"(?<=[{CJK}])(?:vx|wx){_PLAIN}",
        lambda match: not is_word(match.group()),
        gate=rf"[{CJK}](?i:vx|wx)[a-zA-Z]",
    ),
    make_finder(
        rf"(?<![{LETTERS}])id[\s:=は是が→「『\"'(\[]+(?P<handle>(?:[a-z0-9] ){{4,}}[a-z0-9](?![a-z0-9])|{_PLAIN})",
        lambda match: " " in match["handle"] or not is_word(match["handle"]),
        gate=rf"(?:^|[^{LETTERS}])(?i:id)[\s:=は是が→「『\"'(\[]+[a-zA-Z0-9]",
        precondition=ASIAN_LETTER,
    ),
    make_finder(rf"(?<![{ASCII}])(?-i:OF)\s+{_TELLING}", gate=rf"OF\s+{_TELLING_GATE}"),
    make_finder(rf"👻\s*:?\s*(?:{_TELLING}|{_PLAIN}(?=$|\s*[^\s\w]))", needles="👻"),
    make_finder(
        r"(?:qq|加q|扣扣|[qv扣]群|[群裙]号?|企鹅号?|q号|球球|扣号)\D{0,6}?\d{5,11}",
        needles=read_words("group_numbers"),
    ),
    make_finder(r"(?<!\w)sw(?:-\d{4}){3}(?!\d)", needles="sw-"),
    make_finder(
        r"(?<![a-z])(?:(?:u|player|user|friend|game|steam|line|telegram|tg|garena|pubg|ff)?\s?id|friend code"
        r"|freundescode"
        r"|код друга|フレンドコード|айди)\s*(?:is|ist|es|no\.?|number|番号|は|是)?\W{0,3}\d[\d\s\-]{4,18}\d",
        precondition=SIX_DIGITS,
    ),
    make_finder(
        rf"(?<![{LETTERS}])id\s*(?:[:=は是→]|\bis\b)+\s*(?:{_TELLING}|{_PLAIN})",
        lambda match: not is_word(re.split(r"[\s:=は是→]", match.group())[-1]),
        gate=rf"(?:^|[^{LETTERS}])(?i:id)\s*(?:[:=は是→]|is\s)",
    ),
    make_finder(
        rf"(?<![{LETTERS}#@.\[/\-])(?!(?<=:)[\w\-]+:)"
        r"(?=[a-z0-9._\-]*[a-z0-9]_+[a-z0-9])(?=(?:[0-9._\-]*[a-z]){3})"
        r"[a-z0-9_][a-z0-9._\-]{3,}[a-z0-9_](?![a-z0-9_\]])",
        _is_underscored,
        needles="_",
    ),
    make_finder(
        rf"(?<![{LETTERS}*#@.])(?P<letters>[a-z][a-z0-9.]{{3,}})_+(?![{LETTERS}*])",
        lambda match: not is_word(match["letters"]),
        needles="_",
    ),
    make_finder(
        rf"(?<![{LETTERS}#.\-/$@])(?P<letters>[a-z]{{6,20}})(?P<figures>\d{{2,4}})(?![{LETTERS}\-]|\.\d)",
        _is_numbered_handle,
        precondition=TWO_DIGITS,
    ),
    make_finder(
        rf"(?<![{LETTERS}#@./\-])(?-i:[a-z0-9]+(?:\.[a-z0-9]+)+)(?![{LETTERS}/@\-]|\.\w)",
        _is_dotted_handle,
        gate=r"[a-z]\.[a-z0-9]",
    ),
    make_finder(rf"(?<![{ASCII}])(?-i:xX)_?\w{{3,}}?_?(?-i:Xx)(?![{ASCII}])", gate=r"xX\w+Xx"),
    make_finder(
        rf"(?<![a-z])(?:{_ADD})\s*(?:at|on|here|as|en|como|unter|auf|как|в|:|👉|->|→|は|して|@)*\s*(?P<handle>{_TELLING})",
        lambda match: looks_telling(match["handle"]),
        gate=rf"(?i:{_ADD})\W*(?:\pL+\W+){{0,2}}\W*{_TELLING_GATE}",
    ),
    make_finder(r"steam\s*(?:id)?\W{0,3}\d{15,18}|steam_\d:\d:\d+", needles="steam"),
    make_finder(
        rf"(?<![{ASCII}])(?:ig|sc|tt|yt|fb)//?(?!(?:{_SERVICES}|shorts|reels?|videos?|music|stories|story)\b)(?=["
        rf"\w.]*\w)[\w.]{{5,}}",
        lambda match: not is_word(re.split("/+", match.group())[-1]),
        needles=("ig/", "sc/", "tt/", "yt/", "fb/"),
    ),
    make_finder(rf"(?:me )?on x\b\s*:?\s*{_TELLING}", gate=r"(?i:on x)\s*:?\s"),
    make_finder(r"(?<!\w)i g\s*[:=>\-]+\s*(?:[a-z0-9_.] ?){4,}(?!\w)", needles=("i g:", "i g ", "i g=")),
    make_finder(rf"(?<![{ASCII}])wxid_\w+", needles="wxid_"),
    make_finder(r"(?<![\w#])[\w.\-]{2,32}#\d{4}(?!\d)", precondition=TWO_DIGITS, gate=r"[\w.\-]#\d{4}"),
    make_finder(
        r"(?<![\w#])[a-z0-9._]{3,32} #\d{4}(?!\d)",
        lambda match: not is_word(match.group().split()[0]),
        precondition=TWO_DIGITS,
        gate=r"\w #\d{4}",
    ),
    make_finder(r"<@!?\d{15,20}>", needles="<@"),
    make_finder(
        rf"(?<![{ASCII}/])/?u/[\w\-]{{3,}}|/user/[\w\-]+|/channel/[\w\-]+|(?<![\w/])/(?:c|@)/?[\w\-]{{4,}}",
        gate=rf"(?:^|[^{ASCII}])/?[uU]/\w|/(?i:user|channel)/|/[cC@]/?\w",
    ),
    make_finder(
        r"(?<![\w$])\$(?=[a-z0-9_]*[a-z])(?!(?-i:[A-Z]{1,5})(?![A-Za-z0-9_]))[A-Za-z][a-z0-9_]{3,}",
        lambda match: not is_word(match.group()[1:]),
        gate=r"\$[a-zA-Z]\w{3}",
    ),
)
