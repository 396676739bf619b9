"""Where in a text personal data stand: e-mail and web addresses, telephone and other numbers, accounts, mentions.

The patterns run over the folded text (see `text_forms`), so each is written for plain characters alone. Telephone
numbers are proposed by their shape here and judged by the library `phonenumbers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from vivant.build.mimic.ingestion.text_forms import CONTROL, ENTITY, INVISIBLE
from vivant.core.errors import UsageError

Span = tuple[int, int]

# Endings that are no words stand alone; those that are words in some language need a path or a sub-domain, for people
# leave out the space after a full stop.
_ENDINGS = (
    "com|net|org|info|biz|edu|gov|mobi|eu|be|ly|gg|tv|io|ai|fm|cc|ws|ee|app|shop|xyz|link|site|online|store|dev|bio|"
    "wtf|top|icu|lol|zip|mov|vip|blog|cloud|website|onion|de|fr|es|uk|ru|cn|br|jp|kr|pl|nl|ch|cz|gr|pt|tr|ua|au|ca|nz|"
    "mx|cl|hk|tw|sg|vn|dk|fi|hu|ro|рф|中国|中文网|みんな|한국|укр|xn--[a-z0-9]+"
)
_WORDS = (
    "me|it|in|is|so|no|to|do|am|as|at|us|my|an|la|se|co|id|th|sh|st|ph|li|si|ar|pm|art|fun|live|space|world|name|int|pro|"
    "page|games|club|tech"
)
# A word after a full stop begins with a capital and goes on in small letters; an ending does not.
_ENDING = f"(?-i:{_ENDINGS}|{_ENDINGS.upper()})"
_AT = r"(?:at|ät|arroba|собака|골뱅이|アット|アットマーク)"
_DOT = r"(?:dot|punkt|punto|ponto|point|точка|점|点|ドット)"
_ASCII = "A-Za-z0-9_"
_LETTERS = f"{_ASCII}\u00c0-\u04ff"
"""Of scripts that put spaces between words."""
_HANDLE = r"[^\W_](?:[\w.\-]{0,30}\w)?|_[\w.\-]{1,30}\w"
_TELLING = rf"(?=[\w.\-]*[\d_]|[\w\-]*\w[.]\w)(?:{_HANDLE})"
"""A handle that no word looks like: with a digit, an underscore or a dot inside."""
_SERVICES = (
    "instagram|insta|snapchat|snap|discord|telegram|wechat|weixin|twitter|tiktok|steam|psn|xbox|gamertag|venmo|cashapp|"
    "cash app|paypal|kik|skype|facebook|whatsapp|line id|lineid|kakao|onlyfans|инста|инстаграм|телеграм|телега|вк|тг|"
    "微信号?|微信號?|薇信?|威信|qq号?|카톡|카카오톡|인스타|インスタ|ライン|gmail|hotmail|outlook|yahoo|gtag|threads"
)
_SHORT = "ig|sc|dc|disc|tg|tt|fb|vx|wx|vk|yt|qq"
_EMAIL = "|".join(
    (
        r"(?:mailto:)?[\w.+%\-]+(?::[^\s@]+)?@[\w\-]+(?:\.[\w\-]+)*",
        rf"[\w.+\-]+ ?@ ?[\w\-]+ ?\. ?(?:{_ENDINGS})(?!\w)",
        r"[\w.+\-]+%40[\w.\-]+",
        rf"[\w.+\-]+\s+(?-i:AT)\s+[\w\-]+(?:\.[\w\-]+)*\.{_ENDING}(?![{_ASCII}])",
        rf"[\w.+\-]+\s*[\[({{<*_]\s*(?:{_AT}|@)\s*[\])}}>*_]\s*[\w\-]+(?:\s*(?:\.|[\[({{<*_]\s*{_DOT}\s*[\])}}>*_])\s*[\w\-]+)*",
        rf"[\w.+\-]+\s+{_AT}\s+[\w\-]+(?:\s+{_DOT}\s+[\w\-]+)*\s+{_DOT}\s+(?:{_ENDINGS})(?![{_ASCII}])",
        r"[\w.+\-]+\s*(?:ät|arroba|собака|골뱅이|アット(?:マーク)?)\s*[\w\-]+(?:\.[\w\-]+)+",
        r"(?:e-?mail|mail|почта|邮箱|メール|메일|correo)\s*[:=]\s*" + _TELLING,
    )
)
_LINK = "|".join(
    (
        r"(?:h(?:tt|xx)ps?|ftp|ipfs|ipns|tg|magnet|wss?|steam|discord)(?::|\[:\])//\S+|(?:tel|sms|skype|callto):\+?[\w\-]+",
        r"(?<![A-Za-z0-9])www\.\S+",
        rf"(?<![A-Za-z0-9_.@\-])[\w\-]+(?:\.[\w\-]+)*\.{_ENDING}(?![A-Za-z0-9_\-])(?:[:/?]\S*)?",
        r"(?<![A-Za-z0-9_.@\-])[\w\-]+(?:\.[\w\-]+)*\.[a-z]{2,10}/[\w+@~]\S+",
        rf"(?<![A-Za-z0-9_.@\-])[\w\-]{{3,}}\.[\w\-]{{2,}}\.(?:{_WORDS})(?![A-Za-z0-9_\-])",
        rf"[\w\-]+\s*[\[(]\s*(?:{_DOT}|\.)\s*[\])]\s*[a-z]{{2,}}(?:/\S*)?",
        rf"[\w\-]+\s+{_DOT}\s+(?:com|net|org|info|io|tv|gg|eu|ru|cn|jp|xyz|app)(?!\w)(?:\s*/\s*\S+)?",
        r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]\w|\w)(?::\d+)?(?:/\S*)?",
        r"(?<![\w:])(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}(?![\w:])|(?<![\w:])(?:[0-9a-f]{1,4}:){2,6}:[0-9a-f]{1,4}(?![\w:])",
    )
)
_ACCOUNT = "|".join(
    (
        rf"(?<![{_ASCII}])(?:{_SERVICES}|{_SHORT})(?:\s*(?:id|name|tag|user))?\s*(?:[:=@>→⇒➡👉👇]+\s*)+(?!(?:https?|the|and|link|is)\b)(?:{_HANDLE})",
        rf"(?<![{_LETTERS}])(?:{_SERVICES}|{_SHORT})(?:(?<=[\u3000-\uffff])|(?![{_LETTERS}]))"
        rf"\s*(?:-|/|\bis\b|\bist\b|\bes\b|是|は|\||\bid\b)?\s*(?!\d){_TELLING}",
        rf"👻\s*:?\s*{_TELLING}",
        r"(?:qq|加q|扣扣|q群)\D{0,3}\d{5,11}",
        rf"(?<![{_ASCII}])wxid_\w+",
        r"(?<![\w#])[\w.\-]{2,32}#\d{4}(?!\d)",
        r"<@!?\d{15,20}>",
        rf"(?<![{_ASCII}/])/?u/[\w\-]{{3,}}|/user/[\w\-]+|/channel/[\w\-]+",
        r"(?<![\w$])\$(?=[a-z0-9_]*[a-z])[A-Za-z][a-z0-9_]{3,}",
    )
)
_NUMBER = "|".join(
    (
        rf"(?<![{_ASCII}])[A-Z]{{2}}\d{{2}}(?: ?[A-Z0-9]{{4}}){{3,7}}(?: ?[A-Z0-9]{{1,3}})?(?![{_ASCII}])",
        r"(?<![\w\-])\d{3}-\d{2}-\d{4}(?![\w\-])",
        rf"(?<![{_ASCII}])0x[0-9a-fA-F]{{40}}(?![{_ASCII}])|(?<![{_ASCII}])bc1[a-z0-9]{{25,60}}",
        rf"(?<![{_ASCII}.])-?\d{{1,3}}\.\d{{4,}}\s*[,;]\s*-?\d{{1,3}}\.\d{{4,}}(?![{_ASCII}])",
    )
)
_MENTION = "|".join(
    (
        r"(?<![A-Za-z0-9_@])@+(?!(?:everyone|here|channel|all)\b)[\w.·\-]*\w",
        rf"(?<![\w@:\-])@\s+(?!\d){_TELLING}",
    )
)
_FIGURES = (
    "zero|oh|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|cero|uno|"
    "dos|tres|cuatro|cinco|seis|siete|ocho|nueve|ноль|один|два|три|четыре|пять|шесть|семь|восемь|девять"
)
_SPELLED = re.compile(
    rf"(?<!\w)(?:(?:{_FIGURES})(?!\w)[\s,.\-]*){{7,}}"
    r"|[공영일이삼사오육칠팔구]{3}[\s\-]?[공영일이삼사오육칠팔구]{3,4}[\s\-]?[공영일이삼사오육칠팔구]{4}",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?:zero|cero|null|ноль)?[\s,.\-]*(?:one\W+two\W+three|eins\W+zwei\W+drei|uno\W+dos\W+tres|один\W+два\W+три)",
    re.IGNORECASE,
)
_DIGITS = re.compile(
    rf"(?<![{_ASCII}$€£¥#%])(?<!\d[.,:/\-])(?:\+ ?|00)?[(\[]?[\dOo]"
    rf"(?:[\s().\-/·*\]\[]{{0,3}}[\dOo]){{6,17}}(?![{_ASCII}%°]|[.,:]\d)"
)
_ASKED = re.compile(
    r"(?:tel|phone|call|text|whats?app|wa|number|num|cell|mobile|handy|ruf|anruf|llama|móvil|тел|звони|номер|电话|手机号?|同号|電話|携帯|전화|번호)\W{0,4}(?:me\W|us\W|at\W|:|is\W|an\W|unter\W)?\W{0,3}$",
    re.IGNORECASE,
)
_REGIONS = ("US", "CN", "BR", "ES", "IN", "PT", "PL", "RU", "MX", "IT", "KR", "JP", "ID")
"""Where people write numbers without a leading zero or plus; numbers with one are taken by their length."""

_MENTIONS = re.compile(_MENTION, re.IGNORECASE)
_REST = [re.compile(pattern, re.IGNORECASE) for pattern in (_EMAIL, _LINK, _ACCOUNT)] + [re.compile(_NUMBER)]
# What each of them contains in any case: to look for that first is quicker.
_SIGNS = [
    re.compile(rf"@|%40|{_AT}|mail|почта|邮箱|メール|메일|correo", re.IGNORECASE),
    re.compile(rf"[.:]|{_DOT}", re.IGNORECASE),
    re.compile(r"[\d_.:=@>→⇒➡👉👇$/]"),
    re.compile(r"\d"),
]

ODD = f"[{CONTROL}]|[{INVISIBLE}]|{ENTITY}|<[bB][rR]|\u00a0"
"""What only `clean_text` changes."""


def _escape_for_arrow(pattern: str) -> str:
    return "".join(
        character if character.isascii() else f"\\x{{{ord(character):x}}}" for character in pattern
    )


_KEYS = "|".join(
    word for word in f"{_SERVICES}|{_SHORT}|e-?mail|mail|почта|邮箱|メール|메일|correo".split("|")
)
ARROW_MENTION = _escape_for_arrow("[@＠﹫]")
ARROW_SUSPECT = _escape_for_arrow(
    f"{ODD}|://|[wW]{{3}}\\.|[.．。｡][a-zA-Z\u0400-\u04ff\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7a3]{{2}}"
    r"|(?:[\p{Nd}Oo]\pM*[\s\x{3000}().\-/·‐-―*\[\]（）．／－−]{0,3}){7}|\p{Nd}\pM*\x{20e3}|#\p{Nd}{4}|\p{Nd}\.\p{Nd}+\.\p{Nd}+\.|[0-9a-fA-F]:[0-9a-fA-F:]{6}"
    r"|[\pL\pN][@＠﹫]|[\pL\pN] [@＠﹫] |\$[a-zA-Z]|%40|[uU]/\w|/user/|/channel/|<@|wxid_|👻"
    r"|[\x{1d400}-\x{1d7ff}\x{24b6}-\x{24e9}]"
    rf"|(?i:\b(?:tel|sms|callto|skype):|[\[({{*_<]\s*(?:{_AT}|{_DOT}|[.@])\s*[\])}}*_>]|\s{_DOT}\s|ät|arroba|собака|골뱅이|アット)"
    rf"|(?i:(?:^|[^a-z0-9_])(?:{_KEYS})\s*(?:id|name|tag|user)?\s*"
    rf"(?:[:：=@>→⇒➡👉👇\-/|]|is |ist |es |是|は|[a-z0-9_]+[._0-9]))"
    rf"|加[qQ]|扣扣|[qQ]群|(?i:(?:(?:{_FIGURES})[\s,.\-]+){{4}})|[공영일이삼사오육칠팔구]{{3}}"
    r"|[A-Z]{2}\d\d ?[A-Z0-9]{4}|0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25}|\d\.\d{4,}\s*[,;]"
)
"""What is worth a closer look, in RE2's dialect: everything but plain mentions contains one of these."""


def find_mentions(shadow: str) -> Iterator[Span]:
    """Mentions by @, in a folded text."""
    for match in _MENTIONS.finditer(shadow):
        yield match.span()


def find_contacts(shadow: str) -> Iterator[Span]:
    """E-mail and web addresses, accounts, telephone numbers and other numbers of a person, in a folded text."""
    for pattern, sign in zip(_REST, _SIGNS, strict=True):
        for match in pattern.finditer(shadow) if sign.search(shadow) else ():
            yield match.span()
    for match in _DIGITS.finditer(shadow):
        if is_phone_number(match.group(), asked=bool(_ASKED.search(shadow[: match.start()][-24:]))):
            yield match.span()
    for match in _SPELLED.finditer(shadow):
        if not _COUNTED.match(match.group()):
            yield match.span()


def is_phone_number(written: str, *, asked: bool = False) -> bool:
    """Whether digits as written are a telephone or card number and not a count, a date or a list of years.

    `asked`: the words before them speak of a number to call, so that short ones count as well.
    """
    if sum(character.isdigit() for character in written) < 7:
        return False
    plain = re.sub(r"[Oo]", "0", written).strip()
    groups = re.findall(r"\d+", plain)
    digits = "".join(groups)
    if plain.startswith("+"):
        return 7 <= len(digits) <= 16
    if len(digits) >= 13 and _has_check_digit(digits):
        return True
    if _is_count_or_date(plain, groups, digits):
        return False
    if asked:
        return len(digits) <= 16
    if digits.startswith("0") and 9 <= len(digits) <= 14:
        return True
    return 9 <= len(digits) <= 13 and any(test(digits) for test in _get_judges())


def _is_count_or_date(plain: str, groups: list[str], digits: str) -> bool:
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+|\d+\.\d+", plain) or digits.endswith("00000"):
        return True
    if len(groups) > 1 and all(re.fullmatch(r"(?:1[5-9]|20|21)\d\d", group) for group in groups):
        return True
    if re.match(r"(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:[0-2]?\d|3[01])(?!\d)", plain):
        return True
    if re.match(r"(?:[0-2]?\d|3[01])[-/.](?:[0-2]?\d|3[01])[-/.](?:19|20)\d\d(?!\d)", plain):
        return True
    if len(set(digits)) <= 2 and len(groups) == 1:
        return True
    steps = {int(after) - int(before) for before, after in pairwise(groups)}
    return len(groups) > 3 and len(steps) == 1


def _has_check_digit(digits: str) -> bool:
    """Luhn's test, which card numbers pass."""
    if len(digits) > 19 or len(set(digits)) < 2:
        return False
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


_judges: list[Callable[[str], bool]] = []


def _get_judges() -> list[Callable[[str], bool]]:
    """One function per region that knows its numbers; loaded when the first number is met."""
    if not _judges:
        try:
            import phonenumbers
        except ImportError as error:
            raise UsageError(
                "Telephone numbers are found with the package phonenumbers: pip install 'vivant[pipeline]'"
            ) from error

        def make_judge(region: str) -> Callable[[str], bool]:
            def judge(digits: str) -> bool:
                try:
                    return bool(phonenumbers.is_valid_number(phonenumbers.parse(digits, region)))
                except phonenumbers.NumberParseException:
                    return False

            return judge

        _judges.extend(make_judge(region) for region in _REGIONS)
    return _judges
