"""Accounts: handles beside the name of a service, and forms that no word has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vivant.build.mimic.ingestion.contact_patterns import (
    ASCII,
    CJK,
    EMOJI,
    LETTERS,
    SOME_DIGITS,
    Span,
    make_pattern,
)
from vivant.build.mimic.ingestion.word_lists import is_word, join_words, read_word_lists, split_list

_WORDS = read_word_lists()
SERVICES = join_words(_WORDS.services, _WORDS.games, _WORDS.short, _WORDS.tiny)
_LOOSE = frozenset(split_list(_WORDS.games) + split_list(_WORDS.tiny))
"""Services whose names are words as well, or two letters."""
_SHORT = frozenset(split_list(_WORDS.short) + split_list(_WORDS.tiny))
_LONG_WORDS = tuple({word.lower() for word in split_list(_WORDS.services) + split_list(_WORDS.games)})
SERVICE_NEEDLES = (
    *_LONG_WORDS,
    *_SHORT,
    "i.g",
    "i g",
    "in$ta",
    "inst@",
    "1nsta",
    "sn@p",
    "te1egr",
    "d1sc",
    "disc0",
    "wh@ts",
    "f@ceb",
)
_SERVICE = re.compile(
    rf"(?:{SERVICES.lower()}|i\.?\s?g\.?(?=\s*[:=])|in[s$5]t[a@4](?:gram)?|sn[a@4]pch[a@4]t|te[l1]egr[a@4]m"
    rf"|d[i1]sc[o0]rd|wh[a@4]ts[a@4]pp|tw[i1]tter|f[a@4]ceb[o0]{{2}}k)(?:(?<=[{CJK}])|(?![a-z\u00c0-\u04ff]))"
)
_OWN = re.compile(r"(?<!\w)(?:my|mi|meine?|мой|моя) $", re.IGNORECASE)
_WORD_SIGN = re.compile(rf"[{LETTERS}]")
_GLUE_WORDS = join_words(_WORDS.glue)
_GLUE = re.compile(
    rf"(?:\s+|live:|[:=@>»~|/\\(\[{{\"'“”«+\-*•·,]|[{EMOJI}]|[是叫号號搜加为のはがでも은는]|(?:{_GLUE_WORDS})(?"
    rf"![A-Za-z\u00c0-\u04ff]))*",
    re.IGNORECASE,
)
_STRONG = re.compile(r"[:=@>»👉👇→⇒➡➜➤▶☞🔗⬇]|[是叫号號は]")
_ASIDE = re.compile(rf"[{CJK}]{{1,8}}(?=\s*[:=→⇒➡👉👇@])")
_NAMED = re.compile(
    r"(?<![a-z])(?:id|user(?:name)?|handle|tag|nick(?:name)?|usuario|ник|юзер|айди|アカウント|아이디)(?![a-z])",
    re.IGNORECASE,
)
_SIGN = rf"[{LETTERS}]"
_HANDLE = re.compile(rf"{_SIGN}(?:[{LETTERS}.\-]{{0,40}}{_SIGN})?")
_SPACED = re.compile(rf"(?:[a-z0-9_.] ){{3,}}[a-z0-9_](?![{LETTERS}])", re.IGNORECASE)
_FIGURES = re.compile(r"\d{5,12}(?!\d)")
_MORE = re.compile(r"\s*(?:,|/|&|\+|\||or|and|oder|und|y|o|или|и|和|や|or else)\s*", re.IGNORECASE)
_ENDS = re.compile(
    rf"\s*(?:$|[\n\r.,;!?)\]}}\"'…|/&+<{EMOJI}{CJK}]|(?:{SERVICES}|follow|add|dm|pm|for|if|hmu|pls|plz|please|l"
    rf"ol|haha|xx|und|and|y|и|or)(?!\w))",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    rf"(?P<handle>{_SIGN}[{LETTERS}.\-]{{2,40}})(?P<link>\s*(?:\(|\[|@|-|/|\||~)\s*|\s+(?:on|auf|en|in|at|bei|в"
    rf"|на|via|is my|ist mein|es mi|это мой|это моя)"
    r"\s+(?:my\s+|the\s+|mi\s+|meinem\s+)?|\s*(?:是我的?|は私の|は)\s*|\s+)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    rf"(?:{join_words(_WORDS.numbered)}|[a-z]{{1,2}})\d{{1,4}}[a-z]?|\d+(?:st|nd|rd|th|k|m|b|h|s|x|p|d|fps|hz|g"
    rf"b|mb|tb|cm|mm|km|kg|min|mins|sec|secs|hrs?|am|pm|er|te|ten|ste|yo|px|mph|kmh|w|v|л|лет|ч|мин|сек|й|я|е|г"
    rf"о)",
    re.IGNORECASE,
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
_NAMES_OF_SERVICES = frozenset(_LONG_WORDS) | _SHORT


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
            if shadow[match.start() : match.end()] == "line":
                continue
            service = "LINE"
        yield from _find_before(shadow, match, service)
        aside = _ASIDE.match(shadow, match.end())
        glue = _GLUE.match(shadow, aside.end() if aside else match.end())
        assert glue is not None
        strong = aside is not None or _STRONG.search(glue.group()) is not None
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
        if strong or (not loose and (plain or _ENDS.match(shadow, end) is not None)):
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


_FILE = re.compile(
    r"\.(?:mp[34]|mov|avi|mkv|webm|jpe?g|png|gif|heic|webp|svg|psd|pdf|zip|rar|7z|py|js|txt|exe|wav|flac|docx?"
    r"|xlsx?|pptx?|cpp|html?|json|csv|xml|ya?ml|blend|cube|fbx|obj|stl|lua|jar|apk|iso|srt|prproj|aep|log|bak|"
    r"cfg|ini|dll|bin|sav|dat|pak|mod|ttf|otf)(?![a-z0-9_])",
    re.IGNORECASE,
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
_TELLING = rf"(?=[{LETTERS}.\-]*[\d_]|[{LETTERS}\-]*{_SIGN}[.]{_SIGN}){_HANDLE.pattern}"
_PLAIN = r"[a-z][a-z0-9._\-]{3,29}[a-z0-9_]"
_ASIAN = (
    "微信号?|v信|[加➕+]\\s*[vVqQ薇微]|加微信?|薇信?|抖音号?|快手号?|小红书号?|微博|扣扣|カカオ|インスタ|ツイ"
    "ッター|ライン|카톡|인스타|텔레"
)
ACCOUNTS = (
    make_pattern(
        (
            "微信",
            "v信",
            "加",
            "➕",
            "+",
            "薇",
            "カカオ",
            "抖音",
            "快手",
            "小红书",
            "微博",
            "扣扣",
            "インスタ",
            "ツイッター",
            "ライン",
            "카톡",
            "인스타",
            "텔레",
        ),
        rf"(?:{_ASIAN})(?:号码?|id|のid|は|:|→|\s|[{EMOJI}])*(?!(?:https?|the|and|link|live|story|app|{SERVICES})"
        rf"(?![a-z])){_PLAIN}",
        lambda match: match.group()[0] != "+" or not is_word(match.group().lstrip("+ ")),
    ),
    make_pattern(("v", "vx", "wx"), rf"(?<![{LETTERS}])(?:v|vx|wx|wechat)\s*[:=]\s*{_PLAIN}"),
    make_pattern("of ", rf"(?<![{ASCII}])(?-i:OF)\s+{_TELLING}"),
    make_pattern("👻", rf"👻\s*:?\s*(?:{_TELLING}|{_PLAIN}(?=$|\s*[^\s\w]))"),
    make_pattern(
        ("qq", "加q", "扣扣", "q群", "企鹅", "扣群", "q号"),
        r"(?:qq群?|加q|扣扣群?|q群|扣群|企鹅号?|q号)\D{0,6}\d{5,11}",
    ),
    make_pattern("sw-", r"(?<!\w)sw(?:-\d{4}){3}(?!\d)"),
    make_pattern(
        ("id", "friend code", "freundescode", "код друга", "フレンドコード", "айди"),
        r"(?<![a-z])(?:(?:u|player|user|friend|game|steam|line|telegram|tg|garena|pubg|ff)?\s?id|friend code|freu"
        r"ndescode|код друга|フレンドコード|айди)"
        r"\s*(?:is|ist|es|no\.?|number|番号|は|是)?\W{0,3}\d[\d\s\-]{4,18}\d",
    ),
    make_pattern(
        "id",
        rf"(?<![{LETTERS}])id\s*(?:[:=は是→]|\bis\b)+\s*(?:{_TELLING}|{_PLAIN})",
        lambda match: not is_word(re.split(r"[\s:=は是→]", match.group())[-1]),
    ),
    make_pattern(
        "_",
        r"(?<![\w#@.\[/\-])(?!(?<=:)[\w\-]+:)(?=[a-z0-9._\-]*[a-z0-9]_+[a-z0-9])(?=(?:[0-9._\-]*[a-z]){3})[a-z0-9"
        r"_][a-z0-9._\-]{3,}[a-z0-9_](?![a-z0-9_\]])",
        _is_underscored,
    ),
    make_pattern(
        SOME_DIGITS,
        rf"(?<![{LETTERS}#.\-/$@])(?P<letters>[a-z]{{6,20}})(?P<figures>\d{{2,4}})(?![{LETTERS}\-]|\.\d)",
        _is_numbered_handle,
    ),
    make_pattern(
        "_",
        r"(?<![\w*#@.])(?P<letters>[a-z][a-z0-9.]{3,})_+(?![\w*])",
        lambda match: not is_word(match["letters"]),
    ),
    make_pattern("xx", rf"(?<![{ASCII}])(?-i:xX)_?\w{{3,}}?_?(?-i:Xx)(?![{ASCII}])"),
    make_pattern(
        (
            "add me",
            "add",
            "follow",
            "dm ",
            "hmu",
            "sígueme",
            "sigueme",
            "agrega",
            "folg",
            "adde",
            "подпи",
            "добав",
            "加我",
            "关注",
            "フォロー",
            "search",
            "find me",
            "busca",
        ),
        rf"(?:add(?: me)?|follow(?: me)?|dm(?: me)?|hmu|sígueme|sigueme|agr[eé]ga(?:me)?|folgt?(?: mir)?|adde?(?:"
        rf" mich)?|подпи\w+|добав\w+|加我|关注|フォロー|search(?: up)?|find me|b[uú]sca(?:me)?)"
        rf"\s*(?:at|on|here|as|en|como|unter|auf|как|в|:|👉|->|→|は|して|@)*\s*(?P<handle>{_TELLING})",
        lambda match: looks_telling(match["handle"]),
    ),
    make_pattern("steam", r"steam\s*(?:id)?\W{0,3}\d{15,18}|steam_\d:\d:\d+"),
    make_pattern(
        ("ig/", "sc/", "tt/", "yt/", "fb/"),
        rf"(?<![{ASCII}])(?:ig|sc|tt|yt|fb)//?(?!(?:{SERVICES}|shorts|reels?|videos?|music|stories|story)\b)(?=["
        rf"\w.]*\w)[\w.]{{5,}}",
        lambda match: not is_word(re.split("/+", match.group())[-1]),
    ),
    make_pattern(("me on x", "on x:", "x: @", "x/twitter"), rf"(?:me )?on x\b\s*:?\s*{_TELLING}"),
    make_pattern("i g", r"(?<!\w)i g\s*[:=>\-]+\s*(?:[a-z0-9_.] ?){4,}(?!\w)"),
    make_pattern("wxid_", rf"(?<![{ASCII}])wxid_\w+"),
    make_pattern("#", r"(?<![\w#])[\w.\-]{2,32}#\d{4}(?!\d)"),
    make_pattern(
        " #", r"(?<![\w#])[a-z0-9._]{3,32} #\d{4}(?!\d)", lambda match: not is_word(match.group().split()[0])
    ),
    make_pattern("<@", r"<@!?\d{15,20}>"),
    make_pattern(
        ("u/", "/user/", "/channel/", "/c/", "/@"),
        rf"(?<![{ASCII}/])/?u/[\w\-]{{3,}}|/user/[\w\-]+|/channel/[\w\-]+|(?<![\w/])/(?:c|@)/?[\w\-]{{4,}}",
    ),
    make_pattern(
        "$",
        r"(?<![\w$])\$(?=[a-z0-9_]*[a-z])(?!(?-i:[A-Z]{1,5})(?![A-Za-z0-9_]))[A-Za-z][a-z0-9_]{3,}",
        lambda match: not is_word(match.group()[1:]),
    ),
)
