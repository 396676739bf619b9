"""What people tell of themselves besides their name: birthday and school."""

from __future__ import annotations

import re

from vivant.build.mimic.ingestion.contact_patterns import make_pattern

_CAPITAL = "A-ZÄÖÜÁÉÍÓÚÑÅØÇŁŚŻČŠŽА-ЯЁ"
_MONTH = (
    r"(?:jan|feb|mar|m[äa]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]|enero|febrero|marzo|abril|mayo|junio|"
    r"julio|agosto|septiembre|octubre|"
    r"noviembre|diciembre|январ|феврал|март|апрел|ма[яй]|июн|июл|август|сентябр|октябр|ноябр|декабр)[a-zäа-я]*\.?"
)
_DATE = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.|-го|º)?\s*(?:of|de|del)?\s*{_MONTH}(?:,?\s*(?:of|de|del)?\s*'?\d{{2,4}})?("
    rf"?:\s*(?:г|года?)\.?)?"
    rf"|{_MONTH}\s*\d{{1,2}}(?:st|nd|rd|th)?(?:\s*,?\s*'?\d{{2,4}})?"
    r"|\d{1,4}\s*[./\-年년]\s*\d{1,2}\s*(?:[./\-月월]\s*\d{1,4}\s*[日일]?号?生?)?"
    r"|\d{1,2}[月월]\s*\d{1,2}[日号일]?|(?:19|20)\d{6}|\d{6}(?!\d))"
)
_BIRTH = (
    r"(?:born(?: on| in)?|(?<!\w)d\.?\s?o\.?\s?b\.?|date of birth|birth ?date|birthday(?: is|'s)?(?: on)?|b-?d"
    r"ay(?: is)?(?: on)?|geboren(?: am)?|(?<!\w)geb\.?|"
    r"geburts(?:tag|datum)(?: ist)?(?: am)?|nac[ií](?:do|da)?(?: el)?|fecha de nacimiento(?: es)?|cumplea[ñn]o"
    r"s(?: es)?(?: el)?|cumple(?: es)?(?: el)|cumplo(?: a[ñn]os)?(?: el)?|"
    r"родил(?:ся|ась)|дата рождения|день рождения|днюха|(?<!\w)д\.?р\.?(?!\w)|生日是?|出生(?:日期|于|於)?是?|"
    r"生于|誕生日は?|生年月日は?|생년월일은?|생일은?)"
)


def _is_recent(match: re.Match[str]) -> bool:
    """Whether a birthday can be that of somebody who writes comments."""
    years = [int(year) for year in re.findall(r"(?<!\d)1[0-9]\d\d(?!\d)", match.group())]
    return not years or min(years) >= 1920


_CUES = (
    "born",
    "dob",
    "d.o.b",
    "birth",
    "bday",
    "b-day",
    "gebo",
    "geb.",
    "gebu",
    "naci",
    "nací",
    "nac.",
    "nac ",
    "cumple",
    "cumplo",
    "родил",
    "рожд",
    "днюха",
    "д.р",
    "г.р",
    "生日",
    "出生",
    "生于",
    "誕生日",
    "生年月日",
    "生まれ",
    "생년월일",
    "생일",
    "출생",
    "년생",
    "일생",
    "日生",
    "号生",
    "태어",
    "др ",
)
_FULL_DATE = (
    rf"(?<![\d.,])(?:\d{{1,2}}(?:st|nd|rd|th|\.|-го|º)?\s*(?:of|de|del)?\s*{_MONTH},?\s*(?:of|de|del)?\s*(?:19|"
    rf"20)\d\d|{_MONTH}\s*\d{{1,2}}(?:st|nd|rd|th)?\s*,?\s*(?:19|20)\d\d"
    r"|\d{1,2}\s?[./\-]\s?\d{1,2}\s?[./\-]\s?(?:(?:19|20)\d\d|\d\d)|(?:19|20)\d\d\s?[./\-年년]\s?\d{1,2}\s?[./"
    r"\-月월]\s?\d{1,2}\s?[日일]?(?:생|출생|生まれ|生)?|\d{1,2}月\d{1,2}日生まれ|(?:19|20)\d\d年(?:\d{1,2}月)?"
    r"生まれ)(?!\d)"
)
_BORN = re.compile(
    r"born|\bd\.?o\.?b\b|birth|b-?day|gebor|geb\.|geburt|nac[ií]|nacid|f\. ?nac|cumple|cumplo|родил|рожд|днюха"
    r"|д\.р|\bдр\b|г\. ?р|生日|出生|生于|誕生日|生年月日|生まれ|생년월일|생일|출생|생(?!각|겼)|[日号]生|태어",
    re.IGNORECASE,
)


def _is_birthday(match: re.Match[str]) -> bool:
    """Whether words near a date speak of birth."""
    near = match.string[max(0, match.start() - 40) : match.end() + 16]
    return _BORN.search(near) is not None and _is_recent(match)


SCHOOL_CUES = (
    "go to",
    "attend",
    "student at",
    "gehe auf",
    "gehe in",
    "estudio en",
    "voy a",
    "учусь в",
    "хожу в",
    "上学",
    "通",
    "读",
    "학교",
    "中学校",
    "小学校",
    "高校",
)
SAID = (
    make_pattern("№", r"(?<!\w)(?:школ|гимнази|лице)[а-я]*\s*№\s*\d+"),
    make_pattern(
        _CUES,
        rf"{_BIRTH}[\s:=\-,]{{0,4}}(?:(?:am|on|the|el|is|ist|es|den|в|это|:)\s+)?{_DATE}",
        _is_recent,
    ),
    make_pattern(
        _CUES,
        _FULL_DATE,
        _is_birthday,
    ),
    make_pattern(
        SCHOOL_CUES,
        rf"(?:(?:i |and |we )(?:go to|attend|study at)|student at)\s+(?:the\s+)?(?-i:(?:[{_CAPITAL}][\w.'\-]+\s+)"
        rf"{{1,4}})(?:junior high|high school|middle school|high|prep|grammar school|secondary(?: school)?|sixth "
        rf"form|elementary(?: school)?|primary(?: school)?|school|academy|college|university)"
        rf"|gehe (?:auf|in) (?:das|die|den)\s+(?:(?-i:[{_CAPITAL}])[\w\-]+[\s\-]*){{0,3}}(?:[\w\-]*gymnasium|[\w"
        rf"\-]*schule)"
        rf"|(?:estudio en|voy al?)\s+(?:el |la |l )?(?:colegio|instituto|escuela|ies|cole)\s+(?:(?-i:[{_CAPITAL}]"
        rf")[\w.]+\s*(?:de\s|la\s|del\s)*){{1,4}}"
        r"|(?:учусь|хожу) в\s+(?:\d+\s*(?:-?м)?\s*классе\s+)?(?:гимназии|школе|лицее|школу|гимназию|лицей)\s*(?:№"
        r"|номер|n)?\s*\d+"
        r"|(?:在|读|就读于?)[\u4e00-\u9fff]{2,10}(?:小学|中学|高中|大学|学校|附中|一中|二中)(?=上学|读书|读|念书|"
        r"上|$|[，。,.])"
        r"|(?<![\u4e00-\u9fff])(?!全国|公立|私立|女子|男子|日本|地元|母校)[\u4e00-\u9fffヶ]{2,6}(?:小学校|中学校|"
        r"高校|高等学校|大学)(?=に通|の?\d年|の生徒|在学|の?[\u30a0-\u30ff\u4e00-\u9fff]{1,4}部|出身|卒)"
        r"|[가-힣]{2,8}(?:초등학교|중학교|고등학교|대학교)(?=에?\s*(?:다녀|다니|재학|학생|\d학년|출신|졸업|[가-힣"
        r"]{1,3}부|입니다|이에요))",
    ),
)
