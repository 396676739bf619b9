"""Telephone numbers: digits in many groupings, in words, and in both; told from counts, dates and scores.

Numbers are proposed by their shape. Those without a plus or a leading zero, and without a word before them that speaks
of a call, are judged by the library `phonenumbers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from vivant.core.errors import UsageError
from vivant_build.privacy.contact_patterns import (
    EMOJI,
    LETTERS,
    OTHER_LETTER,
    SIX_DIGITS,
    Finder,
    Span,
    remove_lookaround,
)
from vivant_build.privacy.word_lists import join_words, read_words

_FIGURES = dict(entry.split(":") for entry in read_words("figures"))
_FIGURE_NAMES = "|".join(sorted(_FIGURES, key=lambda word: (-len(word), word)))
_BETWEEN = (
    r"(?:[\s,.\-–/()+]|\b(?:dash|minus|hyphen|guion|guión|strich|тире|дефис|plus|plús|más|плюс|und|y|и|double|"
    r"triple|doble|doppel|space|dot|punkt|punto|точка)\b)*"
)
_SPELLED = re.compile(
    rf"(?<!\w)(?:(?:{_FIGURE_NAMES}|o(?=[\s\-])|\d{{1,4}}){_BETWEEN}){{4,}}(?!\w)", re.IGNORECASE
)
_FIGURE = re.compile(rf"{_FIGURE_NAMES}|\d+|(?<!\w)o(?!\w)|double|triple|doble|doppel", re.IGNORECASE)
_HANZI_FIGURES = "〇零○一二三四五六七八九幺"
_HANGUL_FIGURES = "공영일이삼사오육칠팔구"
_KANA_FIGURES = (
    "ゼロ|レイ|マル|イチ|ニ|サン|ヨン|ゴ|ロク|ナナ|ハチ|キュウ"
    "|ぜろ|れい|まる|いち|に|さん|よん|ご|ろく|なな|はち|きゅう"
)
_SPELLED_IN_CJK = (
    rf"(?:[{_HANGUL_FIGURES}][\s\-]?){{9,12}}|[공0](?:[\s\-]?[{_HANGUL_FIGURES}\d]){{8,11}}"
    rf"|(?<![{_HANZI_FIGURES}ゼ十百千万第])(?:[{_HANZI_FIGURES}ゼ\d][\s\-の、・]?){{8,12}}(?![{_HANZI_FIGURES}ゼ\d十百千万])"
    rf"|(?:(?:{_KANA_FIGURES})[\s、・\-]?){{9,12}}"
)
_CJK_PATTERN = re.compile(_SPELLED_IN_CJK)
_COUNTED_OUT = ("0123456", "1234567", "9876543", "10987")
_SEPARATORS = rf"[\s().\-/·*\]\[_~ー•|,…'’=→{EMOJI}]"
_DIGITS = re.compile(
    rf"(?<![{LETTERS}$€£¥#%])(?<!\d[.,:/\-])(?:\(?\+ ?|00)?[(\[]?[\dOo](?:{_SEPARATORS}{{0,4}}[\dOoIl]){{6,17}}"
    rf"(?![{LETTERS}%°]|[.,:]\d)"
)
_CODE = re.compile(rf"(?<!\w)(?:{join_words('codes')})[\s.:№#\-]{{0,3}}$", re.IGNORECASE)
_MODEL = re.compile(r"(?<![A-Za-z])[A-Z]{1,4}-$")
"""`XC-` before digits: a product."""
_GLUED = re.compile(
    r"(?<=[a-z])\+?\d{9,13}(?!\d)|(?<![A-Za-z0-9.])\+\d{1,3}[ \-]?\d{8,12}(?=,)|(?<!\w)\+?\d{10,13}(?=[A-Za-z])",
    re.IGNORECASE,
)
_CUE_WORDS = read_words("phone_words")
_SIGNS = "".join(word for word in _CUE_WORDS if len(word) == 1 and not word.isalpha())
_UNSPACED = "|".join(word for word in _CUE_WORDS if "\u3000" < word[0] < "\uffff")
_CUE = re.compile(
    rf"(?<![^\W\d_])(?:{join_words('phone_words')})(?![^\W\d_])|[{_SIGNS}]|{_UNSPACED}", re.IGNORECASE
)
_COUNTED = re.compile(rf"\+?\s*(?:{join_words('counted')})(?![A-Za-z\u00c0-\u04ff])", re.IGNORECASE)
_KNOWN = frozenset(read_words("known_numbers"))
_REGIONS, _GROUPED_REGIONS = read_words("regions"), read_words("grouped_regions")
"""Where people write numbers without a leading zero or plus; of the second, only those in groups count."""
_FEWEST_DIGITS, _FEWEST_REAL = 7, 5
"""Real ones, and with letters that stand for digits."""


def _find_spelled(shadow: str) -> Iterator[Span]:
    """Numbers in words, or partly so."""
    for match in _SPELLED.finditer(shadow):
        if _is_spelled_number(match.group()):
            yield match.span()


def _find_spelled_in_cjk(shadow: str) -> Iterator[Span]:
    for match in _CJK_PATTERN.finditer(shadow):
        figures = re.sub(r"[\s\-の、・]", "", match.group()).translate(_TO_DIGITS)
        words = sum(not character.isdecimal() for character in match.group() if character.isalnum())
        if words >= 3 and not figures.startswith(_COUNTED_OUT) and len(set(figures)) > 2:
            yield match.span()


_TO_DIGITS = str.maketrans("〇零○一二三四五六七八九幺", "0001234567891")


def _find_digits(shadow: str) -> Iterator[Span]:
    for match in _DIGITS.finditer(shadow):
        written = match.group()
        asked = _is_asked(shadow, match.start(), match.end())
        before = shadow[max(0, match.start() - 16) : match.start()]
        if _CODE.search(before) or (not asked and _MODEL.search(before)):
            continue
        if _COUNTED.match(shadow, match.end()) and not (asked and _is_known(re.sub(r"\D", "", written))):
            continue
        if is_phone_number(written, asked=asked):
            yield match.span()
            continue
        for part in re.finditer(r"\S+", written):  # a date, a time or a count stands beside it
            if part.group() != written and is_phone_number(part.group()):
                yield match.start() + part.start(), match.start() + part.end()
    for match in _GLUED.finditer(shadow):
        digits = match.group() if "," in shadow[match.end() :][:1] else match.group().lstrip("+")
        if not _COUNTED.match(shadow, match.end()) and is_phone_number(digits):
            yield match.span()
    for match in re.finditer(
        r"(?<![\w.,:/\-])\d{3}[ .\-]\d{3,4}(?![\w.,:/%\-]\d|\w|%)|(?<![\w.,:/\-$€])\d{6,8}(?!\w|[.,:]\d)|(?<![\w."
        r",:/\-])\d{2,4}(?:[ .\-]\d{2,4}){1,3}(?![\w.,:/%\-]\d|\w|%)",
        shadow,
    ):
        digits = re.sub(r"\D", "", match.group())
        if (
            6 <= len(digits) <= 8
            and _is_asked(shadow, match.start(), match.end(), near=14)
            and not _COUNTED.match(shadow, match.end())
        ):
            groups = re.findall(r"\d+", match.group())
            if max(map(len, groups)) > 2 and not _is_count_or_date(match.group(), groups, digits, True):
                yield match.span()


def _is_asked(shadow: str, start: int, end: int, near: int = 28) -> bool:
    """Whether words around digits speak of a call."""
    before = shadow[max(0, start - near) : start]
    return _CUE.search(before) is not None or _CUE.match(shadow[end : end + 16].lstrip(" ()-–,")) is not None


def _is_spelled_number(written: str) -> bool:
    """Whether figures in words, and in digits between them, are a number and not counting."""
    parts = [part.lower() for part in _FIGURE.findall(written)]
    words = [part for part in parts if not part.isdecimal()]
    digits, times = "", 1
    for part in parts:
        if part in ("double", "triple", "doble", "doppel"):
            times = 3 if part == "triple" else 2
            continue
        digits += (_FIGURES.get(part, "0") if not part.isdecimal() else part) * times
        times = 1
    if len(words) < 2 or len(digits) < _FEWEST_DIGITS or len(parts) < 4:
        return False
    if len(words) == 2 and len(digits) < 9:
        return False
    steps = {int(after) - int(before) for before, after in pairwise(digits)}
    return not digits.startswith(_COUNTED_OUT) and len(steps) > 1


def is_phone_number(written: str, *, asked: bool = False) -> bool:
    """Whether digits as written are a telephone or card number and not a count, a date or a list of years.

    `asked`: the words around them speak of a number to call, so that short ones count as well.
    """
    real = sum(map(str.isdigit, written))
    if real + sum(map(written.count, "OoIl")) < _FEWEST_DIGITS or real < _FEWEST_REAL:
        return False
    plain = re.sub(r"[Il]", "1", re.sub(r"[Oo]", "0", written)).strip(" ([")
    groups = re.findall(r"\d+", plain)
    digits = "".join(groups)
    if plain.startswith("+"):
        return 7 <= len(digits) <= 16
    if (
        digits in _KNOWN
        or digits.startswith("123456789")
        or (digits.startswith(("978", "979")) and len(digits) in (12, 13))
    ):
        return False
    if len(digits) >= 13 and _has_check_digit(digits) and not _are_years(groups):
        return True
    if _is_count_or_date(plain, groups, digits, asked):
        return False
    if asked:
        return len(digits) <= 16
    if digits.startswith("0") and 9 <= len(digits) <= (17 if digits.startswith("00") else 14):
        return True
    if not 9 <= len(digits) <= 13:
        return False
    if _is_known(digits):
        return True
    if len(groups) == len(digits) and _judge(f"+{digits}", "US"):  # digits apart, with the code of a country
        return True
    grouped = len(groups) >= 3 and all(2 <= len(group) <= 5 for group in groups[1:])
    return grouped and any(_judge(digits, region) for region in _GROUPED_REGIONS)


def _is_count_or_date(plain: str, groups: list[str], digits: str, asked: bool) -> bool:
    if re.fullmatch(r"[1-9]\d{0,2}(?:[.,' ’]\d{3})+", plain) and not (
        asked and len(groups[0]) == 3 and "," not in plain
    ):
        return not re.fullmatch(
            r"[69]\d\d[ .]\d{3}[ .]\d{3}", plain
        )  # as mobiles are written in Spain and Poland
    if re.fullmatch(r"\d+\.\d+", plain) or digits.endswith("00000"):
        return True
    if _are_years(groups):
        return True
    grouped = (asked and len(groups) > 1) or [len(group) for group in groups] == [5, 5]  # in fives: India
    if (digits in _COUNTING or digits in _COUNTING[::-1]) and not grouped:
        return True
    if re.match(r"(?:19|20)\d\d[-/. ](?:0?[1-9]|1[0-2])[-/. ](?:[0-2]?\d|3[01])(?!\d)", plain):
        return True
    if re.match(r"(?:[0-2]?\d|3[01])[-/. ](?:[0-2]?\d|3[01])[-/. ](?:19|20)\d\d(?!\d)", plain):
        return True
    if re.match(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?:[\s_\-]?\d{4,6})?$", plain):
        return True
    if len(set(digits)) <= 2 and len(groups) == 1:
        return True
    sizes = [len(group) for group in groups]
    if len(groups) > 2 and max(sizes) <= 2 and not (set(sizes) == {2} and (groups[0][0] == "0" or asked)):
        if min(sizes) == 1 and max(sizes) == 1 and len(digits) >= 9 and not re.search(r"[,:]", plain):
            return len({int(b) - int(a) for a, b in pairwise(digits)}) <= 2
        return True  # a list of small numbers, scores
    steps = {int(after) - int(before) for before, after in pairwise(groups)}
    if len(groups) > 2 and len(steps) == 1:
        return True
    return len(groups) > 2 and "," in plain and all(size <= 3 for size in sizes) and len(groups) > 3


_COUNTING = "012345678910111213"


def _are_years(groups: list[str]) -> bool:
    return len(groups) > 1 and all(re.fullmatch(r"(?:1[5-9]|20|21)\d\d", group) for group in groups)


def _has_check_digit(digits: str) -> bool:
    """Luhn's test, which card numbers pass."""
    if len(digits) > 19 or len(set(digits)) < 2:
        return False
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _is_known(digits: str) -> bool:
    """Whether digits are a number where people write no leading zero or plus."""
    return any(_judge(digits, region) for region in _REGIONS)


_library: list[Callable[[str, str], bool]] = []


def _judge(digits: str, region: str) -> bool:
    """Whether digits are a number of a region; the library is loaded when the first number is met."""
    if not _library:
        try:
            import phonenumbers
        except ImportError as error:
            raise UsageError(
                "Telephone numbers are found with the package phonenumbers: pip install 'vivant[build]'"
            ) from error

        def judge(digits: str, region: str) -> bool:
            try:
                return bool(phonenumbers.is_valid_number(phonenumbers.parse(digits, region)))
            except phonenumbers.NumberParseException:
                return False

        _library.append(judge)
    return _library[0](digits, region)


_PART = rf"(?i:{_FIGURE_NAMES}|\d{{1,4}})"
_APART = r"[^\pL\d]{1,4}"
FINDERS = (
    Finder(_find_digits, gate=rf"[\dOo](?:{_SEPARATORS}{{0,4}}[\dOoIl]){{5}}", precondition=SIX_DIGITS),
    Finder(
        _find_spelled,
        gate=rf"(?:^|[^\pL])(?:(?i:{_FIGURE_NAMES}){_APART}{_PART}{_APART}{_PART}|{_PART}{_APART}{_PART}{_APART}(?i:{_FIGURE_NAMES}))",
    ),
    Finder(_find_spelled_in_cjk, gate=remove_lookaround(_SPELLED_IN_CJK), precondition=OTHER_LETTER),
)
