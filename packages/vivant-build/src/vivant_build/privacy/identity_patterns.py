"""Finders of numbers of cards, accounts, documents and cars."""

from __future__ import annotations

import re

from vivant_build.privacy.contact_patterns import (
    ASCII,
    CJK,
    DIGIT,
    SIX_DIGITS,
    make_finder,
)
from vivant_build.privacy.word_lists import join_words

_PAYMENTS = rf"(?:{join_words('payments')})"
_DOCUMENTS = rf"(?:{join_words('documents', 'plates')})"
_PLATE = re.compile(join_words("plates"), re.IGNORECASE)
_NUMBER_WORDS = join_words("number_words")
_CYRILLIC = r"\u0410-\u042f"
_PLATE_LETTERS = "АВЕКМНОРСТУХABEKMHOPCTYX"
_CHINESE_PROVINCES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_KOREAN_PLATES = "가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주하허호바사아자배"
_DEGREES = r"-?\d{1,3}\.\d{3,}\s?°?(?:\s?[NSEW](?!\w))?"
_LATITUDE = "lat(?:itude|itud)?|широта|緯度|纬度|위도"
_CRASH = re.compile(join_words("crashes"), re.IGNORECASE)
_COUNTING = ("12345678", "01234567", "98765432", "3141592", "2718281")


def _mixes_kinds(match: re.Match[str]) -> bool:
    text = match.group()
    return any(map(str.islower, text)) and any(map(str.isupper, text)) and any(map(str.isdigit, text))


def _is_code(match: re.Match[str]) -> bool:
    """Whether what stands behind the name of a document is its number and no year."""
    code = match["code"]
    digits = sum(map(str.isdigit, code))
    if _PLATE.match(match.group()) and digits >= 2 and code.isupper():
        return sum(map(str.isalnum, code)) >= 5
    return (
        digits >= 5 or (digits >= 3 and any(map(str.isalpha, code))) or (digits == 4 and not code.isdigit())
    )


def _is_long_number(match: re.Match[str]) -> bool:
    """Whether so many digits are an account: no count, no list of years or of small numbers."""
    groups = re.findall(r"\d+", match.group())
    digits = "".join(groups)
    if len(set(digits)) < 4 or "00000" in digits or digits.startswith(_COUNTING):
        return False
    return max(map(len, groups)) >= 4 and not all(
        re.fullmatch(r"(?:1[5-9]|20|21)\d\d", group) for group in groups
    )


def _is_near_crash(match: re.Match[str]) -> bool:
    """Whether letters and digits are a plate: enough of them, near words about a car."""
    near = match.string[max(0, match.start() - 60) : match.end() + 60]
    return sum(map(str.isalnum, match.group())) >= 5 and _CRASH.search(near) is not None


_ACCOUNTS = (
    make_finder(
        rf"(?<![a-z]){_PAYMENTS}\W{{0,4}}(?:[^\W\d]{{1,10}}\W{{1,2}}){{0,3}}?\d(?:[ \-.]?\d){{5,21}}(?!\d)",
        lambda match: re.search("0000", match.group()) is None or "visa" in match.group().lower(),
        gate=rf"(?i:{_PAYMENTS})",
        precondition=SIX_DIGITS,
    ),
    make_finder(
        rf"(?<![{ASCII}])[A-Za-z]{{2}}\d{{2}}(?:[ \-.]?[A-Za-z0-9]{{4}}){{3,7}}"
        rf"(?:[ \-.]?[A-Za-z0-9]{{1,3}})?(?![{ASCII}])",
        lambda match: sum(map(str.isdigit, match.group())) >= 10,
        exact=True,
        gate=r"[A-Za-z]{2}\d{2}[ \-.]?[A-Za-z0-9]{4}[ \-.]?[A-Za-z0-9]{4}",
        precondition=SIX_DIGITS,
    ),
    make_finder(
        rf"(?<![{ASCII}.,#])\d(?:[ \-_]?[\dO]){{13,23}}(?![{ASCII}]|[.,]\d)",
        _is_long_number,
        gate=r"\d(?:[ \-_]?[\dO]){13}",
        precondition=SIX_DIGITS,
    ),
    make_finder(r"記号\s*:?\s*\d{5}[\s、]*番号\s*:?\s*\d{5,8}", precondition=SIX_DIGITS),
    make_finder(r"(?<![\w.])[a-z0-9\-_]{3,}\.(?:eth|sol|btc)(?!\w)", needles=(".eth", ".sol", ".btc")),
    make_finder(
        rf"(?<![{ASCII}])(?:0x[0-9a-f]{{40}}|(?:bc1|ltc1)[a-z0-9]{{25,60}})(?![{ASCII}])",
        needles=("0x", "bc1", "ltc1"),
    ),
    make_finder(
        rf"(?<![{ASCII}])(?:[1-9A-HJ-NP-Za-km-z]{{26,48}}|[UE]Q[{ASCII}\-]{{46}})(?![{ASCII}])",
        _mixes_kinds,
        exact=True,
        gate=r"[1-9A-HJ-NP-Za-km-z]{26}|[UE]Q[\w\-]{46}",
        precondition=DIGIT,
    ),
)
_NUMBERS = (
    make_finder(
        r"(?<!\d)\d{6}-[1-4]\d{6}(?!\d)|(?<![\w.])\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)|(?<![\w-])\d{2}-\d{8}-\d(?![\w-])"
        r"|(?<![\w-])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?!\w)|(?<!\d)[1-9]\d{5}(?:19|20)\d{9}[\dXx](?!\d)"
        r"|(?<![\w\-])\d{3}-\d{2}-\d{4}(?![\w\-])|(?<![\w\-])\d{3}-\d{3}-\d{3}[ \-]\d\d(?![\w\-])",
        gate=r"\d{6}-\d{6}|\d{3}\.\d{3}-\d|\d{2}-\d{8}|[0-9a-f]{8}-[0-9a-f]{4}|\d{17}|\d{3}-\d{2}-\d{4}|\d{3}-\d{3}-\d{3}",
        precondition=SIX_DIGITS,
    ),
    make_finder(
        rf"(?<![{ASCII}])(?:\d{{8}}-?[A-HJ-NP-TV-Z]|[XYZ]-?\d{{7}}-?[A-Z]|[A-Z]{{4}}\d{{6}}[HM][A-Z]{{5}}[A-Z0-9]\d"
        r"|[A-ZÑ&]{3,4}\d{6}[A-Z0-9]{3}|[A-Z]{2} ?\d\d ?\d\d ?\d\d ?[A-D]|[A-Z]{5}\d{4}[A-Z]|[A-Z]\d{6}\(\d\)"
        rf"|[A-Z]{{1,2}}\d{{7,9}}|[A-Z]{{2}}\d{{9}}[A-Z]{{2}}|[ZREU]\d{{12}}|[A-Z]\d{{3}}[A-Z]\d{{4}})(?![{ASCII}])",
        exact=True,
        gate=r"\d{7}-?[A-Z]|[A-Z]-?\d{6}|[A-Z]{5}\d{4}[A-Z]|[A-Z]\d{3}[A-Z]\d{4}|[A-Z]{2} ?\d\d ?\d\d ?\d\d",
        precondition=DIGIT,
    ),
    make_finder(
        r"(?<!\w)[A-HJ-NPR-Z0-9]{17}(?!\w)",
        lambda match: 4 < sum(map(str.isdigit, match.group())) < 17,
        exact=True,
        precondition=DIGIT,
    ),
    make_finder(
        rf"(?<![{ASCII}.]){_DEGREES}\s*[,;/ ]\s*{_DEGREES}(?![{ASCII}])",
        lambda match: (
            any(sign in match.group() for sign in ",;/NSEW°")
            or re.search(r"\.\d{4}\d*\s+-?\d+\.\d{4}", match.group()) is not None
        ),
        gate=r"\d\.\d{3,}\s?°?\s?[NSEWnsew]?\s*[,;/ ]\s*-?\d{1,3}\.\d{3}",
        precondition=SIX_DIGITS,
    ),
    make_finder(
        rf"(?:{_LATITUDE})\W{{0,3}}-?\d{{1,2}}\.\d{{3,}}\W{{0,4}}(?:lon|lng|долгота|経度|经度|경도)[a-z]*\W{{0,3}}-?\d{{1,3}}\.\d{{3,}}"
        r"|\d{1,2}\.\d{3,}\s?°?\s?с\.?\s?ш\.?,?\s*\d{1,3}\.\d{3,}\s?°?\s?[вз]\.?\s?д\.?",
        gate=rf"(?i:{_LATITUDE})|с\.? ?ш\.?",
        precondition=SIX_DIGITS,
    ),
    make_finder(
        r"\d{1,3}\s?°\s?\d{1,2}(?:[.,]\d+)?\s?['′’]\s?(?:[\d.,]+\s?[\"″”']{1,2}\s?)?[NSEWСЮВЗ]?", needles="°"
    ),
    make_finder(r"(?<![\w:])(?:[0-9a-f]{2}[:\-]){5}[0-9a-f]{2}(?![\w:])", precondition=DIGIT),
    make_finder(
        rf"(?<![^\W{CJK}]){_DOCUMENTS}[\s:#.\-=是はв№은는「(,]{{0,4}}(?:(?:{_NUMBER_WORDS})[\s.:#\-=是は№,]{{0,3}}){{0,4}}"
        rf"(?P<code>[A-Z{_CYRILLIC}\u00c4-\u00dc{CJK}]{{0,3}}[\s\-·]{{0,2}}"
        rf"(?=[A-Z0-9{_CYRILLIC}\- ·]*\d)[A-Z0-9{_CYRILLIC}]{{1,12}}"
        rf"(?:[\s\-·./]?(?-i:[A-Z0-9{_CYRILLIC}]{{1,10}})(?![a-zа-я])){{0,4}})(?![{ASCII}])",
        _is_code,
        gate=rf"(?i:{_DOCUMENTS})",
        precondition=DIGIT,
    ),
)
_PLATES = (
    make_finder(
        rf"(?<!\w)[{_PLATE_LETTERS}]\d{{3}}[{_PLATE_LETTERS}]{{2}}\s?\d{{2,3}}(?!\w)"
        r"|(?<!\w)[A-Z]{2}\d{2} [A-HJ-PR-Z]{3}(?!\w)|(?<!\w)[A-Z]{2}-\d{3}-[A-Z]{2}(?!\w)"
        r"|(?<!\w)\d[A-Z]{3}\d{3}(?!\w)|(?<!\w)[A-Z]{3}-\d{2,3}-[A-Z0-9]{1,2}(?!\w)|(?<![\w.,])(?!(?:19"
        r"|20)\d\d)\d{4} ?[BCDFGHJKLMNPRSTVWXYZ]{3}(?!\w)"
        r"|(?<!\w)[A-Z]{2}[ \-]\d{1,2}[ \-][A-Z]{1,3}[ \-]\d{4}(?!\w)"
        r"|(?<!\w)[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} ?\d{2,4}[EH]?(?!\w)"
        r"|[\u4e00-\u9fff]{2,4}\s?\d{2,3}\s?[あ-ん]\s?(?:[・·]{1,3}\d{1,3}|[・·]{0,2}\d{1,2}-\d{2})(?!\d)"
        r"|(?<!\w)[A-Z]{2} \d{3} [A-Z]{2}(?!\w)"
        rf"|(?<!\d)\d{{2,3}}[{_KOREAN_PLATES}]\s?\d{{4}}(?![\d가-힣])",
        exact=True,
        precondition=DIGIT,
    ),
    make_finder(
        rf"(?<![{ASCII}])(?:[A-Z{_CYRILLIC}]{{1,4}}[ \-]?\d{{2,6}}(?:[ \-]?[A-Z{_CYRILLIC}]{{1,3}}){{0,2}}"
        rf"|\d{{2,4}}[ \-]?[A-Z{_CYRILLIC}]{{1,3}}(?:[ \-]?\d{{1,4}})?)(?![{ASCII}])",
        _is_near_crash,
        exact=True,
        gate=f"(?i:{join_words('crashes')})",
        precondition=DIGIT,
    ),
    make_finder(
        rf"[{_CHINESE_PROVINCES}][A-Z][·\s]?(?=[A-Z0-9]*\d)[A-Z0-9]{{5,6}}(?![A-Z0-9])",
        exact=True,
        precondition=DIGIT,
    ),
)
FINDERS = (*_ACCOUNTS, *_NUMBERS, *_PLATES)
