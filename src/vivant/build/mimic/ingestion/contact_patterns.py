"""Patterns of e-mail and web addresses, accounts and other numbers, over folded texts in any letter case.

A pattern names needles: one of them is in every text that it matches, near its beginning. To look for those first is
quicker by far.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec
from msgspec import Struct

Check = Callable[[re.Match[str]], bool]
_BEFORE = 70
"""So far before its needle a match may begin."""

AT_WORDS = "ät|arroba|собака|собачка|골뱅이|アット(?:マーク)?"
DOT = r"(?:dot|d o t|punkt|punto|ponto|point|точка|점|点|ドット)"
_AT = rf"(?:at|{AT_WORDS})"
_DOT_WORDS = ("dot", "d o t", "punkt", "punto", "ponto", "point", "точка", "점", "点", "ドット")
_MAIL_WORDS = ("mail", "почта", "邮箱", "メール", "메일", "correo")
_COMMON = (
    "com|net|org|info|io|tv|gg|me|eu|ru|рф|ру|ком|de|fr|es|uk|cn|jp|kr|br|xyz|app|shop|store|online|site"
)
_LITTLE_WORDS = {"de", "es", "be"}
_SPOKEN = "com|net|org|info|io|tv|gg|eu|ru|рф|ру|ком|cn|jp|xyz|app"
"""Endings that are no words, for addresses with the dot in words."""
_ASCII = "A-Za-z0-9_"
_LETTERS = f"{_ASCII}\u00c0-\u04ff"
"""Of scripts that put spaces between words."""
_SIGN = f"[{_LETTERS}]"
_UNDERSCORED = (
    r"(?<![\w#@.\[/\-])(?!(?<=:)[\w\-]+:)"
    r"(?![a-z_]*(?:\b|_)(?:so|the|is|it|of|in|and|my|you|to|what|not|for|case|world)_|[a-z_]+_(?:is|it|the|me|you|true|case|world)\b)"
    r"(?=[a-z0-9._\-]*[a-z0-9]_+[a-z0-9])(?=(?:[0-9._\-]*[a-z]){3})[a-z0-9_][a-z0-9._\-]{3,}[a-z0-9_](?![a-z0-9_\]])"
)
"""A handle with an underscore inside, which no word has; not a hashtag, nor an emoji's name such as `:red_heart:`."""
_NUMBERED = (
    r"(?<![\w#.\-/])(?!(?:iphone|covid|season|part|episode|chapter|windows|minecraft|fortnite|level|android|galaxy|note|"
    r"fifa|version|week|teil|folge|staffel|parte|capitulo|temporada)\d)[a-z]{4,}[a-z0-9]*\d[a-z0-9]*(?!\w)"
)
"""Letters with digits: a handle in a text that names a place where people have accounts."""
_HANDLE = rf"{_SIGN}(?:[{_LETTERS}.\-]{{0,30}}{_SIGN})?"
TELLING = rf"(?=[{_LETTERS}.\-]*[\d_]|[{_LETTERS}\-]*{_SIGN}[.]{_SIGN})(?:{_HANDLE})"
"""A handle that no word looks like: with a digit, an underscore or a dot inside.

Scripts without spaces have none: where one ends there cannot be told."""
_REST = r"[!-~\u00a1-\u04ff]"
"""What may go on in an address: no letter of those scripts, whose text follows without a space."""
PROVIDERS = (
    "gmail|googlemail|hotmail|outlook|yahoo|icloud|aol|gmx|web|yandex|mail|proton|protonmail|naver|qq|163|126"
)
_PLAIN = r"[a-z][a-z0-9._\-]{3,29}[a-z0-9_]"
_PLACES = (
    "instagram|insta|snapchat|snap|discord|telegram|wechat|weixin|twitter|tiktok|steam|psn|gamertag|venmo|cashapp|"
    "cash app|paypal|kik|skype|facebook|whatsapp|line id|lineid|kakao|onlyfans|bsky|bluesky|viber|инста|инстаграм|инст|"
    "телеграм|телега|вк|тг|ватсап|вайбер|微信号?|微信號?|薇信?|威信|v信|抖音号?|快手号?|小红书号?|微博|qq号?|카톡|카카오톡|인스타|"
    "インスタ|ライン|ツイッター|gmail|hotmail|outlook|yahoo|gtag|threads|twitch|라인|инсте|инсту|инстаграме|телеграме|телеге|"
    "телегу|дискорд|дискорде|дс|вотсап|вотсапе|加微|カカオ|ディスコード|ディスコ|인스타그램|텔레그램|디코"
)
_GAMES = (
    "roblox|epic(?: games)?|minecraft|fortnite|reddit|signal|spotify|soundcloud|pinterest|linkedin|xbox|xbl|nintendo|"
    "switch code|tumblr|bereal|twt|youtube|тикток|тик ток|роблокс|роблоксе|стим|стиме|майнкрафт|майнкрафте"
)
_SHORT = "ig|tg|vx|wx|vk"
_TINY = "inst|sc|dc|disc|tt|fb|yt|qq"
SERVICES = f"{_PLACES}|{_GAMES}|{_SHORT}|{_TINY}"
"""Where people have accounts. What stands after a colon is a handle for the first and the third group; for the others
it must look like one, or be long."""
_LONG_WORDS = tuple(re.sub(r"[号號信]\?|\(.*\)\?", "", word) for word in f"{_PLACES}|{_GAMES}".split("|"))
_SHORT_WORDS = re.compile(rf"(?<![a-z0-9_])(?:{_SHORT}|{_TINY})(?![a-z])")
_CALLED = "(?:id|name|tag|user|username|handle|account|me|us|のid|号码?|号|아이디|ник)"
_TO = r"(?:-*[:=@>→⇒➡➜☞👉👇][\U0001f3fb-\U0001f3ff]?\s*)+"
_NO_HANDLE = rf"(?!(?:https?|the|and|link|links|is|in|on|{SERVICES})\b)"
_STATES = (
    "private|public|down|broken|dead|full|hacked|banned|gone|open|closed|empty|better|missing|over|blocked|deleted|locked|"
    "crashing|lagging|loading|slow|working|always|still|really|super|literally|just|only|also|already|being|about|going|"
    "getting|where|what|when|which|there|their|this|that|more|under|below|here|muerto|muerta|privado|privada|lleno|kaputt|"
    "privat|voll|langsam|immer|nicht|auch|leer|keine?|nur"
)
_ADJECTIVE = (
    r"(?:ge[^\W\d_]+(?:t|en)|[^\W\d_]+(?:ing|ed|ful|less|ous|able|ible|lich|isch|[^\W\d_]ig|voll|haft|los|ado|ada|ido|ida|oso|osa|ivo|iva))"
    rf"(?![{_LETTERS}.\-])"
)
"""What may be said of an account."""


class ContactPattern(NamedTuple):
    """What to look for first, the pattern, and what a match must pass besides."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Check | None = None
    before: int = _BEFORE

    def find_start(self, lower: str) -> int:
        """Where a match may begin at the earliest; -1 where there is none."""
        places = [place for needle in self.needles if (place := lower.find(needle)) >= 0]
        return max(0, min(places) - self.before) if places else -1


def names_service(lower: str) -> bool:
    """Whether a text in lower case names a place where people have accounts."""
    return any(word in lower for word in _LONG_WORDS) or _SHORT_WORDS.search(lower) is not None


class _WebEndings(Struct, frozen=True, forbid_unknown_fields=True):
    endings: str
    words: str


@cache
def _load_endings() -> tuple[frozenset[str], frozenset[str]]:
    content = (files("vivant.build.mimic.ingestion") / "web_endings.yaml").read_text(encoding="utf-8")
    data = msgspec.yaml.decode(content, type=_WebEndings)
    return frozenset(data.endings.split()), frozenset(data.words.split())


def _is_address(match: re.Match[str]) -> bool:
    """Whether dotted words are a web address and not the end of a sentence with the next one's first word."""
    ending, path = match["ending"], match["path"]
    if not (ending.islower() or ending.isupper() or not ending.isascii()):
        return False  # the first word of a sentence
    sure, words = _load_endings()
    ending, name = ending.lower(), match["name"]
    if ending in _LITTLE_WORDS and len(name) < 7 and not path:
        return False
    if ending in sure or ending.startswith("xn--"):
        return True
    labels = name.split(".")
    return ending in words and (len(path or "") > 2 or (len(labels) > 1 and max(map(len, labels)) > 6))


def _is_email(match: re.Match[str]) -> bool:
    """Whether what stands around an @ is an address: `f@ck` and `p@ss` are words with a letter hidden."""
    found = match.group()
    if not any(character.isalpha() for character in found):
        return False
    local, _, domain = found.rpartition("@")
    return "." in domain or (len(local) > 2 and len(domain) > 2)


def _mixes_kinds(match: re.Match[str]) -> bool:
    found = match.group()
    return (
        any(c.islower() for c in found)
        and any(c.isupper() for c in found)
        and any(c.isdigit() for c in found)
    )


def _make(
    needles: str | tuple[str, ...],
    pattern: str,
    check: Check | None = None,
    flags: int = re.I,
    before: int = _BEFORE,
) -> ContactPattern:
    listed = (needles,) if isinstance(needles, str) else needles
    return ContactPattern(listed, re.compile(pattern, flags), check, before)


_BRACKET_AT = (
    *(f"{word}{end}" for word in ("t", "t ", "@", "@ ", "a") for end in ")]}"),
    *("t>", "t*", "t_"),
)
_EMAIL = (
    _make("@", r"(?:mailto:)?[\w.+%\-]+(?::[^\s@]+)?@[\w\-]+(?:\.[\w\-]+)*", _is_email),
    _make("@", rf"[\w.+\-]+ ?@ ?[\w\-]+ ?\. ?(?:{_COMMON})(?!\w)"),
    _make("%40", r"[\w.+\-]+%40[\w.\-]+"),
    _make("at", rf"[\w.+\-]+\s+(?-i:AT)\s+[\w\-]+(?:\.[\w\-]+)*\.(?-i:{_COMMON})(?![{_ASCII}])"),
    _make(
        (*_BRACKET_AT, "arroba", "собака", "골뱅이", "アット"),
        rf"[\w.+\-]+\s*[\[({{<*_]\s*(?:{_AT}|@|a)\s*[\])}}>*_]\s*[\w\-]+?(?:\s*(?:\.|点|[\[({{<*_]\s*{DOT}\s*[\])}}>*_])\s*[\w\-]+)+",
    ),
    _make(
        tuple(f" {word} " for word in _DOT_WORDS),
        rf"(?:[\w+\-]+\s+{DOT}\s+)?[\w.+\-]+\s+{_AT}\s+[\w\-]+(?:\s+{DOT}\s+[\w\-]+)*\s+{DOT}\s+(?:{_COMMON})(?![{_ASCII}])",
    ),
    _make(
        ("ät", "arroba", "собака", "собачка", "골뱅이", "アット", "-at-", *"#★☆◎●*■□◆◇▲△"),
        rf"[\w.+\-]{{3,}}\s*(?:{AT_WORDS}|-at-|[#★☆◎●*■□◆◇▲△])\s*[\w\-]+(?:\.[\w\-]+)*\.(?:{_COMMON})(?![{_ASCII}])",
    ),
    _make(
        tuple(f" {name}" for name in PROVIDERS.split("|")),
        rf"[\w.+\-]+\s+(?:{_AT}|@)\s+(?:{PROVIDERS})\s*(?:[.,]|{DOT})?\s*(?:com|net|ru|de|es|fr|me)(?!\w)",
    ),
    _make(
        ("ät", "arroba", "собака", "골뱅이", "アット"), rf"[\w.+\-]+\s*(?:{AT_WORDS})\s*[\w\-]+(?:\.[\w\-]+)+"
    ),
    _make(_MAIL_WORDS, rf"(?:e-?mail|{'|'.join(_MAIL_WORDS)})(?:\s+me)?\s*[:=]\s*" + TELLING),
)
_LINK = (
    _make(
        ":",
        r"(?:h\s?(?:t\s?t|x\s?x)\s?p\s?s?|ftp|ipfs|ipns|tg|magnet|wss?|steam|discord)\s?(?::|\[:\])\s?/\s?/\s?"
        rf"(?:{_REST}+|\S+)"
        r"|(?:tel|sms|skype|callto):\+?[\w\-]+",
        before=20,
    ),
    _make("www.", rf"(?<![A-Za-z0-9])www\.(?=[{_LETTERS}\-]){_REST}+"),
    _make(
        ".",
        r"(?<![A-Za-z0-9_.@\-])(?P<name>[\w\-]{2,}(?:\.[\w\-]+)*|[a-z])\."
        rf"(?P<ending>xn--[a-z0-9]+|[a-z]{{2,18}}(?![{_LETTERS}\-])|[^\W\d_]{{2,18}})(?![A-Za-z0-9_\-])"
        rf"(?P<path>[:/?]{_REST}*)?",
        _is_address,
    ),
    _make("/", rf"(?<![A-Za-z0-9_.@\-])[\w\-]+(?:\.[\w\-]+)*\.[a-z]{{2,10}}/[{_ASCII}+@~]{_REST}+"),
    _make(
        (*_DOT_WORDS, "(.", "[.", "( .", "[ ."),
        rf"[\w\-]+\s*[\[(]\s*(?:{DOT}|\.)\s*[\])]\s*[a-z]{{2,}}(?:/\S*)?",
    ),
    _make(
        tuple(f" {word} " for word in _DOT_WORDS),
        r"[\w\-]{4,}\s+punkt\s+de(?!\w)|"
        rf"(?<![\w\-])(?!(?:the|a|an|el|la|der|die|das)\s)[\w\-]+\s+{DOT}\s+(?:{_SPOKEN})(?!\w)(?:\s*/\s*\S+)?",
    ),
    _make(("点", "점", "ドット"), rf"[a-z0-9\-]{{3,}}\s?(?:点|점|ドット)\s?(?:{_SPOKEN})(?![a-z])"),
    _make(("•com", "·com", ",com"), r"[\w\-]{4,}(?:[•·]com(?!\w)|,com(?=$|[/)!]))(?:/\S*)?"),
    _make("www ", r"(?<!\w)www [\w\-]{3,}[ .](?:com|net|org|de|ru)(?!\w)"),
    _make((" .", " ,"), r"[\w\-]{4,}(?: \.| [.,] )(?:com|net|org|ru|info)(?![\w.])(?:/\S*)?"),
    _make(
        ".",
        r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]\w|\w)(?::\d+)?(?:/\S*)?",
    ),
    _make(
        ":",
        r"(?<![\w:])(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}(?![\w:])|(?<![\w:])(?:[0-9a-f]{1,4}:){2,6}(?::[0-9a-f]{1,4}){1,5}(?![\w:])"
        r"|(?<![\w:])[0-9a-f]{1,4}:(?::[0-9a-f]{1,4}){3,6}(?![\w:])",
        before=5,
    ),
)
SERVICE_ACCOUNTS = (
    _make(
        (),
        rf"(?<![{_ASCII}])(?:(?:{_PLACES}|{_SHORT})(?:\s*{_CALLED})?\s*{_TO}{_NO_HANDLE}(?:live:)?(?={_SIGN}[{_LETTERS}.\-]{{2}})(?:{_HANDLE})"
        rf"|(?:{_GAMES}|{_TINY})(?:\s*{_CALLED})?\s*{_TO}{_NO_HANDLE}(?:{TELLING}|{_PLAIN}(?<=\w{{8}})))",
    ),
    _make(
        (),
        rf"(?<![{_LETTERS}])(?:{SERVICES})(?:(?<=[\u3000-\uffff])|(?![{_LETTERS}]))"
        rf"(?:\s*{_CALLED}(?!\w))?\s*(?:-|//?|\(|\bis\b|\bist\b|\bes\b|\bas\b|\bals\b|\bunter\b|\bcomo\b|\bкак\b|\bпод\b|是|叫|は|\||\bid\b)?"
        rf"\s*:?\s*(?!\d){_NO_HANDLE}{TELLING}",
    ),
    _make(
        (),
        rf"(?<!\w)(?:my|mi|mein|meine|mon|meu|мой|моя|我的|私の)\s*(?:{SERVICES})(?:\s*{_CALLED})?\s*"
        rf"(?:\bis\b|\bist\b|\bes\b|\best\b|\bé\b|是|は)\s*:?\s*(?!(?:{_STATES})\b|{_ADJECTIVE}){_NO_HANDLE}{_PLAIN}(?![\w.]\w)",
    ),
    _make((), _NUMBERED),
    _make((), rf"(?<![{_LETTERS}])(?:{SERVICES})\s*{_TO}(?:[a-z0-9_.] ){{4,}}[a-z0-9_](?![{_LETTERS}])"),
)
"""For texts that name a service."""
_ACCOUNT = (
    _make(
        (
            "微信",
            "v信",
            "加v",
            "➕v",
            "+v",
            "加微",
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
        ),
        rf"(?:微信|v信|[加➕+]\s*v|加微|カカオ|抖音|快手|小红书|微博|扣扣|インスタ|ツイッター|ライン|카톡|인스타)(?:号码?|id|のid|は)?\s*[:→]?\s*{_NO_HANDLE}{_PLAIN}",
    ),
    _make("line", rf"(?-i:LINE)\s*(?:の)?\s*(?:id)?\s*(?:[:→]|(?<=id)\s)\s*{_NO_HANDLE}{_PLAIN}"),
    _make("of ", rf"(?<![{_ASCII}])(?-i:OF)\s+{TELLING}"),
    _make("👻", rf"👻\s*:?\s*{TELLING}"),
    _make(("qq", "加q", "扣扣", "q群", "企鹅"), r"(?:qq|加q|扣扣|q群|企鹅)\D{0,3}\d{5,11}"),
    _make("sw-", r"(?<!\w)sw(?:-\d{4}){3}(?!\d)"),
    _make("uid", r"(?<![a-z])uid\W{0,3}\d{6,}"),
    _make("_", _UNDERSCORED),
    _make("steam", r"steam\s*id\W{0,3}\d{15,18}"),
    _make(
        "/",
        rf"(?<![{_ASCII}])(?:ig|sc|tt|yt|fb)//?(?!(?:{SERVICES}|shorts|reels?|videos?|music|stories|story)\b)(?=[\w.]*\w)[\w.]{{5,}}",
    ),
    _make("me on x", rf"me on x\b\s*:?\s*{_NO_HANDLE}{TELLING}"),
    _make("i g", rf"(?<!\w)i g\s*{_TO}(?:[a-z0-9_.] ?){{4,}}(?!\w)"),
    _make("wxid_", rf"(?<![{_ASCII}])wxid_\w+"),
    _make("#", r"(?<![\w#])[\w.\-]{2,32}#\d{4}(?!\d)"),
    _make("<@", r"<@!?\d{15,20}>"),
    _make("/", rf"(?<![{_ASCII}/])/?u/[\w\-]{{3,}}|/user/[\w\-]+|/channel/[\w\-]+"),
    _make("$", r"(?<![\w$])\$(?=[a-z0-9_]*[a-z])(?!(?-i:[A-Z]{1,5})(?![A-Za-z0-9_]))[A-Za-z][a-z0-9_]{3,}"),
)
_NUMBER = (
    _make(
        (
            "card",
            "karte",
            "karta",
            "konto",
            "tarjeta",
            "cuenta",
            "карт",
            "счет",
            "счёт",
            "卡",
            "口座",
            "カード",
        ),
        r"(?:cards?|karte|karta|konto|tarjeta|cuenta|карт[аеуы]|сч[её]т|卡号?|口座(?:番号)?|カード(?:番号)?)\W{0,3}(?:\w{1,4}\W{1,2}){0,2}"
        r"\d(?:[ \-]?\d){11,18}(?!\d)",
    ),
    _make(
        tuple("0123456789"),
        rf"(?<![{_ASCII}])[A-Z]{{2}}\d{{2}}(?: ?[A-Z0-9]{{4}}){{3,7}}(?: ?[A-Z0-9]{{1,3}})?(?![{_ASCII}])",
        flags=0,
    ),
    _make("-", r"(?<![\w\-])\d{3}-\d{2}-\d{4}(?![\w\-])|(?<![\w\-])\d{3}-\d{3}-\d{3}[ \-]\d\d(?![\w\-])"),
    _make(("19", "20"), r"(?<!\d)[1-9]\d{5}(?:19|20)\d{9}[\dXx](?!\d)"),
    _make("0x", rf"(?<![{_ASCII}])0x[0-9a-f]{{40}}(?![{_ASCII}])"),
    _make("bc1", rf"(?<![{_ASCII}])bc1[a-z0-9]{{25,60}}"),
    _make(
        ("1", "3"),
        rf"(?<![{_ASCII}])[13][a-km-zA-HJ-NP-Z1-9]{{25,34}}(?![{_ASCII}])",
        _mixes_kinds,
        flags=0,
    ),
    _make(".", rf"(?<![{_ASCII}.])-?\d{{1,3}}\.\d{{4,}}\s*[,;]\s*-?\d{{1,3}}\.\d{{4,}}(?![{_ASCII}])"),
    _make("°", r"\d{1,3}\s?°\s?\d{1,2}\s?['′’]\s?(?:[\d.]+\s?[\"″”]\s?)?[NSEW]?"),
)
CONTACTS = (*_EMAIL, *_LINK, *_ACCOUNT, *_NUMBER)
