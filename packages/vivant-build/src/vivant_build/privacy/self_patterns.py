"""Finders of what people tell of themselves besides their name: birthday and school."""

from __future__ import annotations

import re

from vivant_build.privacy.contact_patterns import (
    CAPITAL,
    DIGIT,
    OTHER_LETTER,
    make_finder,
)
from vivant_build.privacy.word_lists import is_word, join_words

_MONTH = rf"(?:{join_words('months')})[a-zäа-я]*\.?"
_OF = r"(?:of|de|del)?\s*"
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.|-го|º)?\s*"
_DATE = (
    rf"(?:{_DAY}{_OF}{_MONTH}(?:,?\s*{_OF}'?\d{{2,4}})?(?:\s*(?:г|года?)\.?)?"
    rf"|{_MONTH}\s*\d{{1,2}}(?:st|nd|rd|th)?(?:\s*,?\s*'?\d{{2,4}})?"
    r"|\d{1,4}\s*[./\-年년]\s*\d{1,2}\s*(?:[./\-月월]\s*\d{1,4}\s*[日일]?号?生?)?"
    r"|\d{1,2}[月월]\s*\d{1,2}[日号일]?|(?:19|20)\d{6}|\d{6}(?!\d))"
)
_FULL_DATE = (
    rf"(?<![\d.,])(?:{_DAY}{_OF}{_MONTH},?\s*{_OF}(?:19|20)\d\d|{_MONTH}\s*\d{{1,2}}(?:st|nd|rd|th)?\s*,?\s*(?:19|20)\d\d"
    r"|\d{1,2}\s?[./\-]\s?\d{1,2}\s?[./\-]\s?(?:(?:19|20)\d\d|\d\d)"
    r"|(?:19|20)?\d\d\s?[./\-年년]\s?\d{1,2}\s?[./\-月월]\s?\d{1,2}\s?[日일]?(?:생|출생|生まれ|生)?"
    r"|\d{1,2}月\d{1,2}日生まれ|(?:19|20)\d\d年(?:\d{1,2}月)?生まれ)(?!\d)"
)
_BIRTH = (
    r"(?:born(?: on| in)?|(?<!\w)d\.?\s?o\.?\s?b\.?|date of birth|birth ?date|birthday(?: is|'s)?(?: on)?"
    r"|b-?day(?: is)?(?: on)?|geboren(?: am)?|(?<!\w)geb\.?|geburts(?:tag|datum)(?: ist)?(?: am)?|nac[ií](?:do"
    r"|da)?(?: el)?"
    r"|fecha de nacimiento(?: es)?|cumplea[ñn]os(?: es)?(?: el)?|cumple(?: es)?(?: el)|cumplo(?: a[ñn]os)?(?: el)?"
    r"|родил(?:ся|ась)|дата рождения|день рождения|днюха|(?<!\w)д\.?р\.?(?!\w)|生日是?|出生(?:日期|于|於)?是?|生于"
    r"|誕生日は?|生年月日は?|생년월일은?|생일은?)"
)
_NEAR_BIRTH = (
    r"born|d\.?o\.?b|birth|b-?day|gebor|geb[. ]|geburt|nac[ií]|nacid|f\. ?nac|cumple|cumplo"
    r"|родил|рожд|днюха|д\.р|др[ :.]|г\. ?р"
    r"|生日|出生|生于|誕生日|生年月日|生まれ|생년월일|생일|출생|생[^각겼]|생$|[日号]生|\d\s?生|生的|태어"
)
_BORN = re.compile(_NEAR_BIRTH, re.IGNORECASE)


def _is_recent(match: re.Match[str]) -> bool:
    """Whether a birthday can be that of somebody who writes comments."""
    years = [int(year) for year in re.findall(r"(?<!\d)1[0-9]\d\d(?!\d)", match.group())]
    return not years or min(years) >= 1920


def _is_birthday(match: re.Match[str]) -> bool:
    """Whether words near a date speak of birth."""
    near = match.string[max(0, match.start() - 40) : match.end() + 16]
    return _BORN.search(near) is not None and _is_recent(match)


_NAMES = rf"(?-i:(?:[{CAPITAL}][\w.'’\-]+\s+){{1,4}})"
_SCHOOL_EN = (
    r"(?:junior high|senior high|high school|middle school|high|prep|grammar(?: school)?|secondary(?: school)?"
    r"|sixth form"
    r"|elementary(?: school)?|primary(?: school)?|school|academy|college|university)"
)
_AT_SCHOOL_EN = (
    r"(?:go to|goes to|going to|attend|attending|study at|studying at|student at"
    r"|grader? at|my school is|my school:|school is called"
    r"|freshman at|sophomore at|junior at|senior at|kid at|enrolled at|am at|i'm at|class at)"
)
_CHILD_SCHOOL_EN = (
    r"(?:junior high|high school|middle school|elementary|primary|grammar|secondary|prep|academy|high)"
)
_CHILD_EN = re.compile(
    r"\baged? \d|\d ?(?:yo|y/o|yrs?|years? old)\b|\bgrade|\byear \d"
    r"|\bmy (?:son|daughter|kids?|child)\b|\bi(?:'m| am|m) \d\d?\b",
    re.IGNORECASE,
)
_SCHOOL_ES = r"(?:colegio|ceip|instituto|escuela|ies|cole|secundaria|prepa(?:ratoria)?|liceo|primaria)"
_CHILD_ES = re.compile(
    r"\d años|\bhij[oa]s?\b|\bgrado|primero|segundo|tercero|cuarto|quinto|sexto|estudi|curso|\bsoy\b",
    re.IGNORECASE,
)
_HANZI = r"[\u4e00-\u9fff]"
FINDERS = (
    make_finder(
        rf"{_BIRTH}[\s:=\-,]{{0,4}}(?:(?:am|on|the|el|is|ist|es|den|в|это|:)\s+)?{_DATE}",
        _is_recent,
        gate=f"(?i:{_NEAR_BIRTH})",
        precondition=DIGIT,
    ),
    make_finder(_FULL_DATE, _is_birthday, gate=f"(?i:{_NEAR_BIRTH})", precondition=DIGIT),
    make_finder(
        rf"{_AT_SCHOOL_EN}\s+(?:the\s+)?{_NAMES}{_SCHOOL_EN}(?!\w)"
        rf"|{_AT_SCHOOL_EN}\s+(?:the\s+)?(?:[a-z][\w'’\-]+\s+){{1,3}}(?:junior high|high school|middle school"
        rf"|elementary)(?!\w)"
        rf"|{_AT_SCHOOL_EN}\s+(?P<unknown>[a-z]{{4,}}) (?:high|prep|academy|middle)(?!\w)",
        lambda match: (
            not (match["unknown"] and is_word(match["unknown"]))
            and not re.search(
                r"\s(?:a|an|my|this|that|the same|your|any|public|private|our|his|her|local)\s"
                r"|\sthe\s+(?:junior|senior|high|middle|elementary|primary|secondary)",
                match.group(),
                re.I,
            )
        ),
        gate=rf"(?:[{CAPITAL}]\S*|(?i:{_AT_SCHOOL_EN}) \pL+)\s+(?i:{_SCHOOL_EN})(?:\W|$)"
        r"|(?i:junior high|high school|middle school|elementary)",
    ),
    make_finder(
        rf"{_NAMES}{_CHILD_SCHOOL_EN}(?: school)?(?!\w)"
        rf"|(?:grade|year|yr|class|form|kindergarten)\s?(?:\w+\s)?at\s+(?-i:(?:[{CAPITAL}][\w.'’\-]+\s?){{2,4}})",
        lambda match: _CHILD_EN.search(match.string) is not None,
        gate=rf"[{CAPITAL}][\w.'’\-]+\s+(?i:{_CHILD_SCHOOL_EN})(?:\W|$)|(?i:grade|year|yr|class|form|kindergarten)\s?(?:\w+\s)?at\s+[{CAPITAL}]",
    ),
    make_finder(
        rf"(?:gehe (?:aufs?|in|zur?)|bin (?:schüler(?:in)?|in der \w+(?: klasse)?) (?:am?|an der|auf|der|des|vom))\s+"
        rf"(?:das\s|die\s|den\s|dem\s)?\s*(?:(?-i:[{CAPITAL}])[\w\-]+[\s\-]*){{0,3}}[\w\-]*(?:gymnasium|schule)\b[\w\-]*(?:\s(?-i:[{CAPITAL}])[\w\-]+)?",
        gate=r"(?i:gymnasium|schule)",
    ),
    make_finder(
        rf"(?:estudio|curso|voy|alumn[oa]|estoy|clase|grado|año|de)\s+(?:en|al?|del?)\s+(?:el |la |l )?"
        rf"{_SCHOOL_ES}\s+"
        rf"(?:(?:nº?\.?\s*|num\.?\s*)?\d+|(?:(?-i:[{CAPITAL}])[\w.]+\s*(?:de\s|la\s|del\s|los\s)*){{1,4}})"
        rf"|(?<!\w){_SCHOOL_ES}\s+(?P<child>(?:(?-i:[{CAPITAL}])[\w.]+\s*(?:de\s|la\s|del\s|los\s)*){{1,4}})",
        lambda match: match["child"] is None or _CHILD_ES.search(match.string) is not None,
        gate=rf"(?:^|\W)(?i:{_SCHOOL_ES})\s+(?:[nN\d]|[{CAPITAL}])",
    ),
    make_finder(
        r"(?<!\w)(?-i:СОШ|СШ|ООШ)\s*(?:№|N)?\s*\d+|(?<!\w)(?:школ|гимнази|лице)[а-я]*(?:-[а-я]+)?\s*(?:(?:№|номер|n)?\s*\d+|(?:им\.|имени)\s+(?-i:[А-ЯЁ][\w.]+\s?){1,3})",
        needles=("школ", "гимнази", "лице", "сош", "сш", "оош"),
    ),
    make_finder(
        rf"(?:(?<=在)|(?<=读)|(?<=就读于)|(?<=本人)|(?<=我是)|(?<=我)|(?<=来自)|(?<={_HANZI}))(?!在|读|就读|本人|我)"
        rf"{_HANZI}{{2,10}}?(?:小学|中学|高中|大学|学校|附中|附小|华小|实小|外国语|[一二三四五六七八九十][中小])"
        r"(?=上学|读书|读|念书|上|的?学生|[初高大][一二三四]|[一二三四五六]年级|\d+年级|\d+班|$|[，。,.!])",
        lambda match: (
            re.search(r"岁|我|本人|在读|就读|女儿|儿子|孩子|弟弟|妹妹", match.string) is not None
            and not re.match(r"[这那哪某每所个的]", match.group())
        ),
        gate=r"(?:小学|中学|高中|大学|学校|附中|附小|华小|实小|外国语|[一二三四五六七八九十][中小])(?:上|读|念|的?学生|[初高大一二三四五六\d]|$|[，。,.!])",
        precondition=OTHER_LETTER,
    ),
    make_finder(
        rf"(?<!{_HANZI})(?!全国|公立|私立|女子|男子|日本|地元|母校)[\u4e00-\u9fffヶ]{{2,7}}?"
        r"(?:小学校?|中学校?|高校|高等学校|大学|中等部|高等部|高専|[小中高](?=[にの\d]))"
        r"(?=に通|へ通|に行って|の?\d年|の[一二三四五六]年|の生徒|の学生|在学|の?[\u30a0-\u30ff\u4e00-\u9fff]{1,4}部|出身|卒|です|だよ)"
        r"|(?:(?<=[がはもの、。\s])|^)[ぁ-ん\u4e00-\u9fffヶ]{2,8}?(?:小学校|中学校|高校|高等学校)(?=の?[\d一二三四五六]年|に通)",
        gate=r"(?:[小中高]学?校?|大学|等学校|等部|高専)(?:[にへ]通|に行|の?\d年|の[一二三四五六]年|の生徒|の学生|在学|の?\S{1,4}部|出身|卒|です|だよ)",
        precondition=OTHER_LETTER,
    ),
    make_finder(
        r"[가-힣]{2,6}[초중고](?=\s?\d학년)|[가-힣]{2,6}[초중](?=에?\s*다[녀니])|[가-힣]{1,8}(?:초등학교|중학교|고등학교|대학교|여중|여고|남중|남고|외고|예고|과학고|체고|공고)"
        r"(?=에?\s*(?:다녀|다니|다님|다닙|재학|학생|\d학년|출신|졸업)|\s?[가-힣]{1,3}부\s|(?<=학교)(?:입니다|이에요))",
        gate=r"[초중고]\s?\d학년|[초중]에?\s*다[녀니]|(?:학교|여중|여고|남중|남고|외고|예고|학고|체고|공고)에?\s*(?:다녀|다니|다님|다닙|재학|학생|\d학년|출신|졸업|[가-힣]{1,3}부|입니다|이에요)",
        precondition=OTHER_LETTER,
    ),
)
