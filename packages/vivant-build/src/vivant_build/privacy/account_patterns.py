"""Finders of accounts without the name of a service: forms that no word has, numbers, and codes of some services."""

from __future__ import annotations

import re

from vivant_build.privacy import service_accounts
from vivant_build.privacy.contact_patterns import (
    ASCII,
    CJK,
    DIGIT,
    EMOJI,
    LETTERS,
    OTHER_LETTER,
    SIX_DIGITS,
    make_finder,
)
from vivant_build.privacy.service_accounts import (
    HANDLE,
    OTHER_SCRIPT,
    SERVICES,
    SIGN,
    TELLING_GATE,
    Shape,
    is_coined,
    is_numbered,
    judge_shape,
    looks_like_handle,
)
from vivant_build.privacy.word_lists import is_ordinary, is_word, join_words, read_words

_PHRASE_WORDS = frozenset(read_words("phrase_words"))
_FILE = re.compile(rf"(?:\s?\(\d+\))?\.(?:{join_words('files')})(?![a-z0-9_])", re.IGNORECASE)


def _is_numbered_handle(match: re.Match[str]) -> bool:
    """Whether letters with digits are a handle: no word, no year behind them."""
    letters, figures = match["letters"], match["figures"]
    year = len(figures) == 4 and figures[:2] in ("19", "20")
    return not year and not is_word(letters) and not is_numbered(match.group())


def _is_hyphened(match: re.Match[str]) -> bool:
    """Whether words with a hyphen and a number are a handle: one is a first name, or no word."""
    parts = [part for part in re.split(r"[\d\-]+", match.group()) if part]
    return not all(map(is_ordinary, parts)) and not is_numbered(match.group())


def _is_underscored(match: re.Match[str]) -> bool:
    """Whether a word with underscores is a handle and not a phrase or a file."""
    parts = [part for part in re.split(r"[_.\-]+", match.group().lower()) if part]
    if _FILE.search(match.group()) or _FILE.match(match.string, match.end()):
        return False
    if "." in match.group() and re.search(
        r"\bfiles?\b|archivo|datei|файл|文件|ファイル|파일", match.string, re.I
    ):
        return False
    return max(map(len, parts)) > 2 and not (set(parts) & _PHRASE_WORDS)


def _is_dotted_handle(match: re.Match[str]) -> bool:
    """Whether words with dots are a handle: letters apart, or no words, among letters of another script."""
    parts = match.group().split(".")
    if len(parts) > 5 and all(len(part) == 1 for part in parts):
        return True
    if not OTHER_SCRIPT.search(match.string):
        return False
    known = (
        all(map(is_word, parts))
        or all(map(str.isdigit, parts[1:]))
        or _FILE.search(match.group()) is not None
    )
    return max(map(len, parts)) > 2 and parts[0].isalnum() and not parts[0].isdigit() and not known


_TELLING = rf"(?=[{LETTERS}.\-]*[\d_]|[{LETTERS}\-]*{SIGN}[.]{SIGN}){HANDLE}"
_PLAIN = r"[a-z][a-z0-9._\-]{3,29}[a-z0-9_]"
_ADD = (
    r"add(?: me)?|follow(?: me)?|dm(?: me)?|hmu|sígueme|sigueme|agr[eé]ga(?:me)?|folgt?(?: mir)?|adde?(?: mich)?"
    r"|подпи\w+|добав\w+|加我|关注|フォロー|search(?: up)?|find me|b[uú]sca(?:me)?"
)
_CONTACT = join_words("contact_words")
_CONTACT_WORDS = re.compile(_CONTACT)
_TAG = "0289CGJLPQRUVY"
_REGIONS = "EUW1?|EUNE|NA1?|KR1?|BR1?|LAN|LAS|OCE|TR1|JP1|RU1"
FINDERS = (
    *service_accounts.FINDERS,
    make_finder(
        rf"[加➕+]\s*[vq](?:号码?|id|:|→|\s|[{EMOJI}])*(?!(?:https?|the|and|link|live|story|app|{SERVICES})(?![a-z])){_PLAIN}",
        lambda match: match.group()[0] != "+" or not is_word(match.group().lstrip("+ ")),
        needles=("加v", "加 v", "加q", "加 q", "➕", "+v", "+ v", "+q"),
    ),
    make_finder(
        rf"(?<![{LETTERS}])(?:v|vx|wx|[威薇徽维微绿]|卫星)\s*[:=❤♥]+\s*{_PLAIN}",
        gate=rf"(?:^|[^{LETTERS}])(?:(?i:v|vx|wx)|[威薇徽维微绿]|卫星)\s*[:=❤♥]",
    ),
    make_finder(
        rf"(?<=[{CJK}])(?:vx|wx){_PLAIN}",
        lambda match: not is_word(match.group()),
        gate=rf"[{CJK}](?i:vx|wx)[a-zA-Z]",
    ),
    make_finder(
        rf"(?P<sign>[👻📸📷🐦🎮🕹])\s*:?\s*(?P<handle>{HANDLE})",
        lambda match: (
            judge_shape(match["handle"]) >= (Shape.UNKNOWN if match["sign"] == "👻" else Shape.COINED)
        ),
        gate=r"[👻📸📷🐦🎮🕹]\s*:?\s*\w{4}",
    ),
    make_finder(
        f"(?<![A-Za-z0-9])#(?=[{_TAG}]*[0289])(?=[0289]*[C-Y])[{_TAG}]{{7,10}}(?![A-Za-z0-9])", exact=True
    ),
    make_finder(
        rf"(?<![\w#])(?P<handle>[\w.]{{3,16}})\s?#(?:{_REGIONS})(?!\w)",
        lambda match: not is_word(match["handle"]),
        gate=f"\\w\\s?#(?i:{_REGIONS})(?:$|\\W)",
    ),
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
        rf"(?<![{LETTERS}#@.\[/\-])(?!(?<=:)[\w\-]+:)"
        r"(?=[a-z0-9._\-]*[a-z0-9.]_+[a-z0-9])(?=(?:[0-9._\-]*[a-z]){3})"
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
        common=True,
        precondition=DIGIT,
    ),
    make_finder(
        rf"(?<![{LETTERS}#@./\-])[a-z]{{3,20}}-[a-z]{{3,20}}\d{{1,4}}(?![{LETTERS}\-]|\.\d)",
        _is_hyphened,
        exact=True,
        precondition=DIGIT,
    ),
    make_finder(
        rf"(?<![{LETTERS}])(?P<first>[{LETTERS}.]{{2,}}) (?:{join_words('underscores')}) (?P<last>[{LETTERS}.]{{2,}})",
        lambda match: not (is_word(match["first"]) and is_word(match["last"])),
        needles=read_words("underscores"),
    ),
    make_finder(
        rf"(?<![{LETTERS}#@./\-])(?-i:[a-z0-9]+(?:\.[a-z0-9]+)+)(?![{LETTERS}/@\-]|\.\w)",
        _is_dotted_handle,
        common=True,
        gate=r"[a-z]\.[a-z0-9]",
    ),
    make_finder(
        rf"(?<![{LETTERS}#@./\-])[a-z]{{4,20}}[A-Z][a-z]{{2,20}}(?![{LETTERS}/@\-]|\.\w)",
        lambda match: is_coined(match.group()),
        exact=True,
        gate="[a-z]{4}[A-Z][a-z]{2}",
        common=True,
    ),
    make_finder(
        rf"(?<![{LETTERS}#@./\-])[a-z]{{8,24}}(?![{LETTERS}/@\-]|\.\w)",
        lambda match: (
            _CONTACT_WORDS.search(match.string) is not None
            and not is_word(match.group())
            and is_coined(match.group())
        ),
        exact=True,
        gate=rf"[a-z]{{8}}.*(?:{_CONTACT})|(?:{_CONTACT}).*[a-z]{{8}}",
        precondition=OTHER_LETTER,
    ),
    make_finder(rf"(?<![{ASCII}])(?-i:xX)_?\w{{3,}}?_?(?-i:Xx)(?![{ASCII}])", gate=r"xX\w+Xx"),
    make_finder(
        rf"(?<![a-z])(?:{_ADD})\s*(?:at|on|here|as|en|como|unter|auf|как|в|:|👉|->|→|は|して|@)*\s*(?P<handle>{_TELLING})",
        lambda match: looks_like_handle(match["handle"]),
        gate=rf"(?i:{_ADD})\W*(?:\pL+\W+){{0,2}}\W*{TELLING_GATE}",
        common=True,
    ),
    make_finder(r"steam_\d:\d:\d+", needles="steam_"),
    make_finder(rf"(?:me )?on x\b\s*:?\s*{_TELLING}", gate=r"(?i:on x)\s*:?\s"),
    make_finder(r"(?<!\w)i g\s*[:=>\-]+\s*(?:[a-z0-9_.] ?){4,}(?!\w)", needles=("i g:", "i g ", "i g=")),
    make_finder(
        r"(?<![\w#])(?P<handle>[\w.\-]{2,32})(?P<space> ?)#\d{4,7}(?!\d)",
        lambda match: not (match["space"] and is_word(match["handle"])),
        precondition=DIGIT,
        gate=r"[\w.\-] ?#\d{4}",
    ),
    make_finder(
        r"<@!?\d{15,20}>|\[(?:id|club|public)\d+(?::[\w\-]+)?\|[^\]\n]{1,60}\]",
        needles=("<@", "[id", "[club", "[public"),
    ),
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
