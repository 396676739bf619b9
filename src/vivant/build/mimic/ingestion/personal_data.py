"""Where in a text personal data stand: e-mail and web addresses, telephone and other numbers, accounts, mentions.

The patterns run over the folded text (see `text_forms`), so each is written for plain characters alone. Telephone
numbers are proposed by their shape here and judged by the library `phonenumbers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from vivant.build.mimic.ingestion.contact_patterns import (
    AT_WORDS,
    CONTACTS,
    DOT,
    PROVIDERS,
    SERVICE_ACCOUNTS,
    SERVICES,
    TELLING,
    names_service,
)
from vivant.build.mimic.ingestion.text_forms import CONTROL, ENTITY, INVISIBLE
from vivant.core.errors import UsageError

Span = tuple[int, int]

_ASCII = "A-Za-z0-9_"
_MENTION = "|".join(
    (
        r"(?<![A-Za-z0-9_@])@+(?!(?:everyone|here|channel|all|me|you|us|them)\b)(?=[_.·\-]*[^\W_])[\w.·\-]*\w",
        rf"(?<![\w@:\-])@\s+(?!\d){TELLING}",
    )
)
_FIGURES = (
    "zero|oh|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|cero|uno|"
    "dos|tres|cuatro|cinco|seis|siete|ocho|nueve|ноль|один|два|три|четыре|пять|шесть|семь|восемь|девять"
)
_SPELLED = re.compile(rf"(?<!\w)(?:(?:{_FIGURES})(?!\w)[\s,.\-]*){{7,}}", re.IGNORECASE)
_FIGURE_WORDS = tuple(_FIGURES.split("|"))
_SPELLED_IN_CJK = re.compile(
    r"[공영일이삼사오육칠팔구]{3}[\s\-]?[공영일이삼사오육칠팔구]{3,4}[\s\-]?[공영일이삼사오육칠팔구]{4}"
    r"|[一幺][三四五六七八九][〇零一二三四五六七八九幺]{9}"
)
_MIXED = re.compile(rf"(?<!\w)(?:(?:{_FIGURES}|\d{{1,4}})(?!\w)[\s,.\-]*){{4,}}", re.IGNORECASE)
"""Digits in words and in figures."""
_ASKED_AFTER = re.compile(r"\W{0,3}(?:whats?app|微信同号|同号|wa\b|ватсап|вотсап)", re.IGNORECASE)
_COUNTED = re.compile(
    r"(?:zero|cero|null|ноль)?[\s,.\-]*(?:one\W+two\W+three|eins\W+zwei\W+drei|uno\W+dos\W+tres|один\W+два\W+три)",
    re.IGNORECASE,
)
_DIGITS = re.compile(
    rf"(?<![{_ASCII}$€£¥#%])(?<!\d[.,:/\-])(?:\+ ?|00)?[(\[]?[\dOo]"
    rf"(?:[\s().\-/·*\]\[_~ー•|]{{0,3}}[\dOo]){{6,17}}(?![{_ASCII}%°]|[.,:]\d)"
)
_ASKED = re.compile(
    r"(?:tel[eé]?fono|tel|phone|call|text|whats?app|wasap|wsp|wa|zap|numbers?|nummer|n[uú]mero|num|cell?|mobile?|handy|ruf|anruf|"
    r"ll[aá]ma(?:me)?|m[oó]vil|contact|тел|звоните|звони|номер|ватсап|电话|手机号?|同号|電話|携帯|전화|번호)"
    r"\W{0,4}(?:me\W|us\W|at\W|on\W|:|is\W|ist\W|es\W|an\W|al\W|unter\W)?\W{0,3}$",
    re.IGNORECASE,
)
_REGIONS = ("US", "CN", "BR", "ES", "IN", "PT", "PL", "RU", "MX", "IT", "KR", "JP", "ID")
"""Where people write numbers without a leading zero or plus; numbers with one are taken by their length."""

_MENTIONS = re.compile(_MENTION, re.IGNORECASE)
_ANY_DIGIT = re.compile(r"\d")
_FEWEST_DIGITS = 7
_FEWEST_WORDS = 3
_COUNTING = "012345678910111213"
ODD = f"[{CONTROL}]|[{INVISIBLE}]|{ENTITY}|<[bB][rR]|\u00a0"
"""What only `clean_text` changes."""


def _escape_for_arrow(pattern: str) -> str:
    return "".join(
        character if character.isascii() else f"\\x{{{ord(character):x}}}" for character in pattern
    )


ARROW_MENTION = _escape_for_arrow("[@＠﹫]")
_DIGIT = r"[\p{Nd}\x{2460}-\x{2468}\x{2776}-\x{277e}Oo]"
ARROW_SUSPECT = _escape_for_arrow(
    f"{ODD}|:\\s?/\\s?/|[wW]{{3}}\\.|[.．。｡][a-zA-Z\u0400-\u04ff\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7a3]{{2}}"
    r"| [.,] ?[cnori]"
    rf"|(?:{_DIGIT}\pM*[\s\x{{3000}}().\-/·‐-―*\[\]（）．／－−_~ー•|]{{0,3}}){{7}}|\p{{Nd}}\pM*\x{{20e3}}|#\p{{Nd}}{{4}}"
    r"|\p{Nd}\.\p{Nd}+\.\p{Nd}+\.|[0-9a-fA-F]:[0-9a-fA-F:]{6}|\p{Nd}\s?°\s?\p{Nd}|[13][a-km-zA-HJ-NP-Z1-9]{25}"
    r"|[\pL\pN][@＠﹫]|[\pL\pN] [@＠﹫] |\$[a-zA-Z]|%40|[uU]/\w|/user/|/channel/|<@|👻"
    r"|(?i:me on x|[➕+]v|\bi g\b|www |,com|[•·]com|sw-\d|uid)"
    r"|[a-zA-Z0-9]_[a-zA-Z0-9]|-at-|[\pL\pN][#★☆◎●*■□◆◇▲△][\pL\pN\-]+\."
    r"|[\x{1d400}-\x{1d7ff}\x{24b6}-\x{24e9}]"
    rf"|(?i:\b(?:tel|sms|callto|skype):|[\[({{*_<]\s*(?:{AT_WORDS}|at|a|{DOT}|[.@])\s*[\])}}*_>]|\s{DOT}\s)"
    r"|(?i:[点점ト]\s?(?:com|cn|net|org))"
    rf"|(?i:(?:{AT_WORDS})\s*[\pL\pN_\-]+\.)"
    rf"|(?i:(?:^|[^a-z0-9_])(?:{SERVICES}|e-?mail|mail|почта|邮箱|メール|메일|correo|加\s*v|line|扣扣|企鹅)"
    r"(?:[^a-z\x{c0}-\x{4ff}]|$|id|のid))|(?:^|\s)OF\s|wxid_"
    rf"|加[qQ]|[qQ]群|(?i:(?:(?:{_FIGURES})[\s,.\-]+){{3}})|[공영일이삼사오육칠팔구]{{3}}|[一幺][三四五六七八九][〇零一二三四五六七八九幺]{{4}}"
    r"|(?:微信|v信|V信|抖音|快手|小红书|微博|インスタ|ツイッター|ライン|카톡|인스타|인스타그램|加微|カカオ)[号码idIDのは:：→\s]{0,5}[A-Za-z0-9]"
    rf"|(?i:\s(?:{PROVIDERS})\s)"
    r"|[A-Z]{2}\d\d ?[A-Z0-9]{4}|0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25}|\d\.\d{4,}\s*[,;]"
)
"""What is worth a closer look, in RE2's dialect: everything but plain mentions contains one of these."""


def find_mentions(shadow: str) -> Iterator[Span]:
    """Mentions by @, in a folded text."""
    first = shadow.find("@")
    if first >= 0:
        for match in _MENTIONS.finditer(shadow, first):
            yield match.span()


def find_contacts(shadow: str) -> Iterator[Span]:
    """E-mail and web addresses, accounts, telephone numbers and other numbers of a person, in a folded text."""
    lower = shadow.lower()
    same = len(lower) == len(shadow)
    for contact in CONTACTS:
        start = contact.find_start(lower)
        if start < 0:
            continue
        for match in contact.pattern.finditer(shadow, start if same else 0):
            if contact.check is None or contact.check(match):
                yield match.span()
    if names_service(lower):
        for contact in SERVICE_ACCOUNTS:
            for match in contact.pattern.finditer(shadow):
                yield match.span()
    if len(_ANY_DIGIT.findall(shadow)) >= _FEWEST_DIGITS:
        for match in _DIGITS.finditer(shadow):
            asked = _ASKED.search(shadow[: match.start()][-24:]) or _ASKED_AFTER.match(shadow, match.end())
            if is_phone_number(match.group(), asked=asked is not None):
                yield match.span()
            elif is_phone_number(first := match.group().split()[0]):  # a date or a count stands after it
                yield match.start(), match.start() + len(first)
    words = sum(map(lower.count, _FIGURE_WORDS))
    if words >= _FEWEST_DIGITS:
        for match in _SPELLED.finditer(shadow):
            if not _COUNTED.match(match.group()):
                yield match.span()
    elif words >= _FEWEST_WORDS:
        for match in _MIXED.finditer(shadow):
            if _counts_as_mixed(match.group()):
                yield match.span()
    if not shadow.isascii():
        for match in _SPELLED_IN_CJK.finditer(shadow):
            yield match.span()


def _counts_as_mixed(written: str) -> bool:
    """Whether some digits are in words and, with the others, there are enough for a number."""
    parts = re.findall(r"\w+", written)
    words = [part for part in parts if not part.isdecimal()]
    digits = sum(len(part) for part in parts if part.isdecimal())
    return len(words) >= _FEWEST_WORDS and digits >= _FEWEST_WORDS and len(words) + digits >= _FEWEST_DIGITS


def is_phone_number(written: str, *, asked: bool = False) -> bool:
    """Whether digits as written are a telephone or card number and not a count, a date or a list of years.

    `asked`: the words before them speak of a number to call, so that short ones count as well.
    """
    if sum(character.isdigit() for character in written) < _FEWEST_DIGITS:
        return False
    plain = re.sub(r"[Oo]", "0", written).strip()
    groups = re.findall(r"\d+", plain)
    digits = "".join(groups)
    if plain.startswith("+"):
        return 7 <= len(digits) <= 16
    if len(digits) >= 13 and _has_check_digit(digits) and not _are_years(groups):
        return True
    if _is_count_or_date(plain, groups, digits, asked):
        return False
    if asked:
        return len(digits) <= 16
    if digits.startswith("0") and 9 <= len(digits) <= (17 if digits.startswith("00") else 14):
        return True
    return 9 <= len(digits) <= 13 and any(test(digits) for test in _get_judges())


def _is_count_or_date(plain: str, groups: list[str], digits: str, asked: bool) -> bool:
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+|\d+\.\d+", plain) or digits.endswith("00000"):
        return True
    if _are_years(groups):
        return True
    grouped = (asked and len(groups) > 1) or [len(group) for group in groups] == [5, 5]  # in fives: India
    if (digits in _COUNTING or digits in _COUNTING[::-1]) and not grouped:
        return True
    if re.match(r"(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:[0-2]?\d|3[01])(?!\d)", plain):
        return True
    if re.match(r"(?:[0-2]?\d|3[01])[-/.](?:[0-2]?\d|3[01])[-/.](?:19|20)\d\d(?!\d)", plain):
        return True
    if len(set(digits)) <= 2 and len(groups) == 1:
        return True
    if {len(group) for group in groups} == {1, 2} and re.fullmatch(r"[\d\s,]+", plain):
        return True  # a list of small numbers
    steps = {int(after) - int(before) for before, after in pairwise(groups)}
    return len(groups) > 3 and len(steps) == 1


def _are_years(groups: list[str]) -> bool:
    return len(groups) > 1 and all(re.fullmatch(r"(?:1[5-9]|20|21)\d\d", group) for group in groups)


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
