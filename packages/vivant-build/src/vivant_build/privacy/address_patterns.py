"""Finders of the places where people live."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vivant_build.privacy.contact_patterns import (
    ASCII,
    CAPITAL,
    CJK,
    DIGIT,
    OTHER_LETTER,
    Finder,
    Span,
    make_finder,
)
from vivant_build.privacy.word_lists import join_words

_STREET = join_words("streets")
_BEFORE = join_words("streets_before")
_OF = r"(?:(?:de|des|du|dei|della|delle|dello|del|di|da|do|dos|das|la|le|van)\s+|d['’]|l['’]){0,2}"
_RUSSIAN = rf"(?:{join_words('streets_ru')})"
_SPANISH = rf"(?:{join_words('streets_es')})"
_RUSSIAN_HOUSE = (
    r",?\s*(?:д\.?|дом[еа]?)?\s*\d{1,4}\s?(?:[а-я]|[кс/]\s?\d{1,3})?(?!\w)"
    r"(?:[,\s]*(?:кв|корп|к|стр|под[ъь]езд|этаж|эт)[а-я]*\.?\s*\d+)*"
)
_STATES = (
    "AK|AL|AR|AZ|CA|CO|CT|DC|DE|FL|GA|HI|IA|ID|IL|IN|KS|KY|LA|MA|MD|ME|MI|MN|MO|MS|MT|NC|ND|NE|NH|NJ|NM|NV|NY|OH|OK|OR|PA|RI"
    "|SC|SD|TN|TX|UT|VA|VT|WA|WI|WV|WY"
)
_FAMOUS = re.compile(
    r"(?:21|22) jump|221b? baker|10 downing|1600 pennsylvania|42 wallaby|4 privet|12[34] conch|10 cloverfield|"
    r"742 evergreen|12 grimmauld|1 infinite|11 wall\b|13 elm|123 sesame|23 jump|1313 mockingbird|1 main",
    re.IGNORECASE,
)
_COUNTED = re.compile(rf"\d+\s*(?:{join_words('counted_places')})\b", re.IGNORECASE)
_NO_STREETS_DE = (
    r"(?!(?:tabellen|listen|start|stell|park|sitz|spiel|sport|camping|treff|kampf|um|hin|rück|weit|box|ehe|schlüssel|arbeits"
    r"|ausbildungs|fenster|steh|tennis|fußball|fussball|innen)(?:platz|weg|ring))"
)
_HOME_JA = re.compile("住|実家|場所|送り先|うち|家|届|宛|引っ越|来て|待って")
_DELIVERY_JA = re.compile("住所|受け渡し|送り先|届け先|宛先|実家|待ち合わせ場所|引っ越し先|住んで")
_HOME_KO = re.compile(
    "자랐|태어|동네|주소|보내|택배|곳|있어요|위치|이사|집|가게|샵|매장|살아|사는|살고|오세요|놀러|배송|우편|서울|부산|대구|인천|광주|대전|울산|세종|수원"
)
_PLACE_SIGNS = "台町丘原野川田山本島崎浜橋通条南北東西宮木松森谷沢池塚園"
_KANJI, _KANA = r"\u4e00-\u9fff", r"\u3040-\u30ff"

_NAME = rf"(?-i:[{CAPITAL}])[\w'’\-]+"
_TOWN = rf"{_NAME}(?: (?:(?:de|del|la|los|am|an der|upon|sur|im) )?{_NAME}){{0,2}}"
_POSTCODE = r"(?:\d{4,6}(?:-\d{3,4})?|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]{2} \d{5})"
_BEHIND_STREET = re.compile(
    rf"(?:\s?/\s?\d{{1,4}}[a-z]?(?!\w))?(?:,?\s+(?:(?:{join_words('dwellings')})\.?\s*[\w\-]{{1,5}}|\d{{1,2}}\s?[oa°](?:\s?[a-z])?)(?!\w)"
    rf"|,\s*(?:{_POSTCODE}\s+)?{_TOWN}(?:,?\s+{_POSTCODE})?(?=\s*(?:[,.;!?)\n{CJK}]|$)|\s(?-i:[a-zа-я]))"
    rf"|,?\s+(?:{join_words('quarters')})\.?\s+(?:{_TOWN}|\d{{1,6}})(?!\w)"
    rf"|,?\s+{_POSTCODE}(?:\s+{_TOWN})?(?!\w))*",
    re.IGNORECASE,
)
_BEFORE_STREET = re.compile(
    rf"(?<!\w)(?:\d{{5,6}},?\s+(?:(?:г\.\s*)?{_TOWN},?\s*)?|(?:г|гор|город|пос|дер)\.?\s+{_TOWN},?\s*)$",
    re.IGNORECASE,
)


def _take_town(finder: Finder) -> Finder:
    """The same with the flat, the postcode and the town that stand beside a street."""

    def find(shadow: str) -> Iterator[Span]:
        for start, end in finder.find(shadow):
            before = _BEFORE_STREET.search(shadow, max(0, start - 60), start)
            behind = _BEHIND_STREET.match(shadow, end)
            yield before.start() if before else start, behind.end() if behind else end

    return finder._replace(find=find)


def _is_street(match: re.Match[str]) -> bool:
    return not _FAMOUS.match(match.group()) and not _COUNTED.match(match.group())


def _is_japanese_home(match: re.Match[str]) -> bool:
    """Whether a name with three small numbers is a home and not a score or a date."""
    place = re.sub(r"[\d\- ].*", "", match.group(), flags=re.DOTALL)
    return (
        match["house"] is not None
        or (match["two"] is None and place[-1] in _PLACE_SIGNS)
        or (_HOME_JA if match["two"] is None else _DELIVERY_JA).search(match.string) is not None
    )


_ROAD = "(?:street|avenue|road|lane|drive|way|crescent)"
_STREETS = (
    make_finder(
        rf"(?:(?<=at )|(?<=to )|(?<=near )|(?<=: )){_NAME} {_ROAD}\s\d{{1,4}}(?![\w.:])"
        rf"|(?<!\w){_NAME}(?:[ \-][^\W\d]+){{0,2}}\s\d{{1,4}}\s?[a-z]?(?=,\s*\d{{5}}\s+{_NAME})",
        gate=rf"\s\d+\s?[a-z]?,\s*\d{{5}}\s+\pL|(?i:{_ROAD})\s\d",
        precondition=DIGIT,
    ),
    make_finder(
        r"(?<!\w)(?<!\d[.,:])\d{1,5}[a-z]?,?\s+(?:(?-i:[NSEW])\.?\s+|north\s+|south\s+|east\s+|west\s+)?"
        rf"(?:(?-i:(?:[{CAPITAL}0-9][\w'.\-]+\s+){{1,3}})(?:{_STREET})\.?"
        r"|(?:[a-z][\w'\-]+\s+){1,2}(?:street|avenue|boulevard|blvd|ave|crescent|terrace)"
        r"|(?:[a-z][\w'\-]+\s+){1,2}(?:road|rd|lane|ln|drive|court|st)(?=\s*(?:,|$|\.|apt|unit|!)))(?!\w)"
        r"(?:,?\s*(?:apt|apartment|unit|suite|ste|flat|#)\.?\s*\w{1,5})?"
        rf"(?:,?\s+(?-i:[{CAPITAL}][\w\-]+)(?:\s(?-i:[{CAPITAL}][\w\-]+))?,?\s+(?:(?-i:[A-Z]{{2}})\s+)?\d{{5}}(?:-\d{{4}})?)?",
        _is_street,
        gate=rf"\d[a-zA-Z]?,?\s+(?:\S+\s+){{1,4}}(?i:{_STREET})(?:\W|$)",
        precondition=DIGIT,
    ),
    make_finder(
        rf"(?<!\w){_NO_STREETS_DE}(?:(?:[^\W\d]{{2,}}[ \-]){{0,2}}[^\W\d]*"
        r"(?:stra(?:ß|ss)e|(?<=[^\W\d][^\W\d])str\.?|gasse|allee|chaussee|damm|ufer)"
        rf"|(?-i:[{CAPITAL}])[^\W\d]{{2,}}(?:weg|platz|ring|steig))"
        r"\s*(?:nr\.?\s*)?\d{1,4}\s?[a-z]?(?![\w.:])(?:,?\s*(?:in\s+)?\d{5}\s+[^\W\d]+)?",
        gate=r"(?i:stra(?:ß|ss)e|str|gasse|allee|chaussee|damm|ufer|weg|platz|ring|steig)\.?\s*(?:(?i:nr)\.?\s*)?\d",
        precondition=DIGIT,
    ),
    make_finder(
        rf"(?<![\w\-]){_SPANISH}\s*(?:de\s+)?(?:la\s+|los\s+|las\s+|el\s+|del\s+)?"
        rf"(?:(?-i:[{CAPITAL}])[\w.]+\s*(?:de\s+|la\s+|del\s+|los\s+|y\s+)*){{1,4}}"
        r",?\s*(?:n[ºo°.]{1,2}\s*|#\s*|núm(?:ero|\.)?\s*)?\d{1,5}"
        r"(?:[,\s]*(?:piso\s*)?\d{1,2}\s?[ºª°](?:\s?[a-z](?!\w))?)?(?:,?\s*\d{5}\s+[^\W\d]+)?"
        r"|(?<!\w)(?:calle|c/|av(?:d|da)?\.?|avenida|plaza|paseo)\s+(?:[^\W\d]+\s+){1,4}"
        r"(?:n[ºo°.]{1,2}\s*|#\s*|número\s*)?\d{1,4}(?=\s*(?:,|$|\.|piso))"
        r"|(?<!\w)(?:calle|carrera|cra|cr|cll|kr|diagonal|transversal)\.?\s*\d{1,3}\s?[a-z]?\s*"
        r"(?:#|no\.?|n°|nº)\s*\d{1,3}\s?[a-z]?\s?-\s?\d{1,3}"
        r"|(?<!\w)\d{1,3}\s?(?:a|ª|º|da|ra|ta)?\.?\s*(?:avenida|av\.?|calle)\s+(?:[a-z]\s)?\d{1,3}\s?-\s?\d{1,3}"
        r"(?:,?\s*zona\s*\d{1,2})?",
        gate=rf"(?:^|\W)(?i:{_SPANISH}|carrera|cra|cr|cll|kr|diagonal|transversal)[\s.\d{CAPITAL}]",
        precondition=DIGIT,
    ),
    make_finder(
        rf"(?<!\w)(?:\d{{1,4}}(?:\s?(?:bis|ter))?,?\s+)?(?:{_BEFORE})\s+{_OF}(?-i:[{CAPITAL}])[\w.'’\-]+"
        rf"(?:\s+{_OF}(?-i:[{CAPITAL}])[\w.'’\-]+){{0,3}}(?:,?\s*(?:n[ºo°.]{{1,2}}\s*)?\d{{1,4}}\s?[a-z]?(?!\w))?"
        rf"|(?<!\w)(?-i:[{CAPITAL}])[\w\-]+\s?(?:{join_words('streets_joined')})\s+\d{{1,4}}\s?[a-z]?(?!\w)",
        lambda match: any(map(str.isdigit, match.group())),
        gate=rf"(?:^|\W)(?i:{_BEFORE})\s+\pL|\pL(?i:{join_words('streets_joined')})\s+\d",
        precondition=DIGIT,
    ),
    make_finder(
        rf"(?<!\w){_RUSSIAN}\.?\s*(?:\d+\s?-?\s?(?:й|я|го|лет\s)?\s*)?(?:[а-яё\-.]+(?:-\d+)?\s*){{1,3}}?{_RUSSIAN_HOUSE}"
        rf"|(?<!\w)(?-i:[А-ЯЁ])[а-яё\-]+(?:ая|ой|ый|ий|ом|ем)\s+{_RUSSIAN}\.?{_RUSSIAN_HOUSE}"
        r"|(?<!\w)[а-яё\-]+(?:-\d+)?(?:\s+(?:ул\.?|улица|проспект|пер\.))?,?\s*(?:д\.|дом)\s*\d{1,4}\s?[а-я]?[,\s]*(?:кв|корп)[а-я]*\.?\s*\d+"
        r"|(?<!\w)(?-i:[А-ЯЁ])[а-яё\-]+\s+\d{1,4}\s?[а-я]?,?\s*кв\.?\s*\d+",
        gate=rf"(?:^|\W)(?i:{_RUSSIAN}|д\.|дом|кв)",
        precondition=DIGIT,
    ),
)
_PLACES = (
    make_finder(
        rf"(?:[{_KANJI}]{{2,8}}?(?:省|市|区|區|县|镇|乡|村)){{0,4}}[{_KANJI}]{{2,6}}?(?:路|街|道|巷|弄|胡同)\s*"
        r"(?:[一二三四五六七八九十\d]段)?(?:\d{1,4}[巷弄]){0,2}[\d一二三四五六七八九十百零〇]{1,6}(?:之\d+)?\s*(?:号|號|弄)(?:[\d一-十\-\s]*(?:楼|樓|号楼|栋|幢|单元|座|室|层|户))*"
        r"(?:\s*\d{1,4}[\-\d]*(?:室|号|栋|单元|楼)?)*"
        rf"|[{_KANJI}]{{2,8}}(?:小区|花园|公寓|苑|家园|新村|大厦)\s*[\da-z一-十]{{1,4}}\s*(?:栋|号楼|幢|座|期)"
        r"(?:\s*[\d一-十]{1,4}\s*(?:单元|室|楼|层|号))*(?:\d{3,4}(?!\d))?",
        gate=r"[路街道巷弄同段]\s*[\d一二三四五六七八九十百零〇]+\s*[号號弄]"
        r"|(?:小区|花园|公寓|苑|家园|新村|大厦)\s*[\da-zA-Z一-十]+\s*(?:栋|号楼|幢|座|期)",
        precondition=OTHER_LETTER,
    ),
    make_finder(
        r"(?<!\w)(?:(?:i |we )?live at|(?:my |our )?(?:home )?address(?: is)?:?|located at"
        r"|(?:ship|send|mail) (?:it |them |stuff )?to|come to)\s+\d{1,5}[a-z]?\s+\w+(?:\s\w+){0,2}"
        rf"|(?<!\w)(?:vivo en|dirección(?: es)?:?)\s+(?:la |el )?(?:calle )?(?-i:[{CAPITAL}])\w+(?:\s\w+){{0,3}}?,?\s+"
        r"(?:n[ºo°.]+\s*|#\s*)?\d{1,5}(?!\w)"
        rf"|(?<!\w)(?:wohne|adresse(?: ist)?:?|anschrift:?)\s+(?:in der|im|am|in|an der)?\s*(?-i:[{CAPITAL}])[\w\-]+"
        r"(?:\s[\w\-]+)?\s+\d{1,4}\s?[a-z]?(?!\w)"
        r"|(?<!\w)(?:живу|живём|живем|адрес[уе]?:?|приезжай\w*|приход\w+|находимся|офис)\s+(?:по адресу:?\s+"
        r"|на\s+|по\s+|:\s*)?"
        r"(?-i:[А-ЯЁ])[а-яё\-]+(?:\s(?-i:[А-ЯЁ])[а-яё]+)?,?\s+(?:д\.?\s?)?\d{1,4}\s?[а-я]?(?!\w)",
        gate=r"(?i:live at|address|located at|(?:ship|send|mail) (?:it |them |stuff )?to|come to|vivo en"
        r"|dirección|wohne"
        r"|adresse|anschrift|жив[уёе]|адрес|приезжай|приход|находимся|офис)",
        precondition=DIGIT,
    ),
    make_finder(
        r"(?<!\w)(?:p\.?\s?o\.?\s?box|postfach|apartado(?: postal)?|а/я|индекс|邮(?:政)?编(?:码|号)?|plz|c\.?p\.?)"
        r"[\s:]{0,3}\d{1,6}(?!\d)",
        precondition=DIGIT,
    ),
    make_finder(
        r"(?<!\w)[23456789cfghjmpqrvwx]{4,8}\+[23456789cfghjmpqrvwx]{2,3}(?!\w)",
        lambda match: any(map(str.isdigit, match.group())),
        precondition=DIGIT,
    ),
    make_finder(r"///\w+\.\w+\.\w+", needles="///"),
    make_finder(
        r"(?<!\w)[A-Z]\d[A-Z] \d[A-Z]\d(?!\w)"
        rf"|(?<!\w)[A-Z][a-z]+(?: [A-Z][a-z]+)?,? (?:{_STATES}) \d{{5}}(?:-\d{{4}})?(?!\d)"
        rf"|(?<![{ASCII}])[A-Z]{{1,2}}\d[A-Z\d]? \d[A-BD-HJLNP-UW-Z]{{2}}(?![{ASCII}])",
        exact=True,
        precondition=DIGIT,
    ),
    make_finder(
        rf"〒\s?\d{{3}}-?\d{{4}}(?:[\s、,]*[{_KANA}{_KANJI}]{{2,20}}[\d\-丁目番地号の]{{0,16}})?",
        needles="〒",
    ),
    make_finder(
        rf"(?:(?:東京都|北海道|(?:京都|大阪)府|[{_KANJI}]{{2,3}}県)\s*)?(?:[{_KANA}{_KANJI}]{{1,6}}[市区町村郡]){{0,3}}"
        rf"[{_KANA}{_KANJI}]{{0,10}}?[市区町村目{_KANJI}]\s*(?:\d{{1,3}}|[一二三四五六七八九十]{{1,2}})"
        r"(?:丁目\s*\d{1,4}(?:\s*(?:番地?|-|の)\s*\d{0,4})*号?|-\d{1,3}-\d{1,4}(?:-\d{1,4})?(?!\d)|番地?の?\d{1,4}号?)"
        r"(?:\s*\d{2,4}号室)?",
        lambda match: re.search(r"[市区町村県都府]|丁目|番地?\d", match.group()) is not None,
        gate=rf"[{_KANJI}]\s*[\d一二三四五六七八九十]+(?:丁目\s*\d|-\d+-\d|番地?の?\d)",
        precondition=DIGIT,
    ),
    make_finder(
        rf"[{_KANJI}]{{1,3}}[都道府県][{_KANJI}{_KANA}]{{1,6}}[市区町村郡][{_KANJI}{_KANA}]{{1,12}}\s?\d{{1,4}}(?:-\d{{1,4}}){{0,3}}(?!\d)",
        precondition=DIGIT,
    ),
    make_finder(
        rf"[{_KANJI}ヶケノぁ-ん]{{2,8}}\s?(?:\d{{1,2}}-\d{{1,2}}-\d{{1,4}}|(?P<two>\d{{1,4}}-\d{{1,4}}))(?![\d\-])"
        rf"(?P<house>[\s　]*[{_KANA}{_KANJI}]{{2,10}}\s?\d{{1,4}}(?:号室|号)?)?",
        _is_japanese_home,
        gate=rf"[{_KANJI}ヶケノぁ-ん]\s?\d+-\d+",
        precondition=DIGIT,
    ),
    make_finder(
        r"(?:[가-힣]+(?:시|도|구|군|읍|면|동)\s)*[가-힣]{1,8}(?:대로|로|길)(?:\d{1,3}번?길)?\s?\d{1,4}(?:-\d{1,4})?(?:번지)?"
        r"(?:,?\s?\d{1,4}\s?(?:동|호|층))+"
        r"|(?:[가-힣]+(?:시|도|구|군|읍|면)\s){1,3}[가-힣]{1,8}(?:대로|로|길)(?:\d{1,3}번?길)?\s?\d{1,4}(?:-\d{1,4})?"
        r"|[가-힣]{1,8}(?:대로|로|길)\d{1,3}번?길\s?\d{1,4}(?:-\d{1,4})?"
        r"|(?P<bare>[가-힣]{2,6}(?:대로|로|길)\s?\d{1,4}(?:-\d{1,4})?)"
        r"(?!\d|\s?(?:명|개|번|시|분|원|회|년|월|일|초|살|위|만|천|퍼|%|대))"
        r"|(?:[가-힣]+(?:시|도|구|군|읍|면)\s){1,3}[가-힣]{1,6}동\s?\d{1,4}(?:-\d{1,4})?|(?:[가-힣]{2,10}\s)?[가-힣]{0,8}\s?\d{1,4}동\s?\d{1,4}호",
        lambda match: match["bare"] is None or _HOME_KO.search(match.string) is not None,
        gate=r"[로길동]\s?\d",
        precondition=DIGIT,
    ),
)
FINDERS = (*map(_take_town, _STREETS), *_PLACES)
