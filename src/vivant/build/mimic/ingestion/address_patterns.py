"""Patterns of the places where people live."""

from __future__ import annotations

import re

from vivant.build.mimic.ingestion.contact_patterns import ASCII, SOME_DIGITS, make_pattern

_CAPITAL = "A-ZÄÖÜÁÉÍÓÚÑÅØÇ"
_STREET = (
    r"(?:street|st\.?|avenue|ave\.?|boulevard|blvd\.?|road|rd\.?|lane|ln\.?|drive|dr\.?|court|ct\.?|place|pl\."
    r"?|terrace|crescent|close|square|sq\.?|highway|hwy|parkway|pkwy|circle|way|row|gardens|grove|mews|hill)"
)
_FAMOUS = re.compile(
    r"(?:21|22) jump|221b? baker|10 downing|1600 pennsylvania|42 wallaby|4 privet|12[34] conch|10 cloverfield|"
    r"742 evergreen|12 grimmauld|1 infinite|11 wall\b|13 elm|123 sesame|23 jump|1313 mockingbird|1 main",
    re.IGNORECASE,
)
_NO_STREET = re.compile(
    r"\d+\s*(?:hours?|hrs?|minutes?|mins?|days?|miles?|km|way|lanes?|point|star|stars?|percent|years?|k|the|of"
    r"|in|on|at|a|my|weeks?|months?|other|different|more|times|people|guys|cars|and|or|to|stages?|st|nd|rd|th)"
    r"\b",
    re.IGNORECASE,
)


def _is_street(match: re.Match[str]) -> bool:
    found = match.group()
    return not _FAMOUS.match(found) and not _NO_STREET.match(found)


_HOUSE_DE = (
    r"(?!(?:tabellen|listen|start|stell|park|sitz|spiel|sport|camping|treff|kampf|um|hin|rück|weit|box|ehe|sch"
    r"lüssel|arbeits|ausbildungs|fenster|steh|tennis|fußball|fussball|innen)(?:platz|weg|ring))"
)
_HOME_JA = re.compile("住|実家|場所|送り先|うち|家|届|宛|引っ越|来て|待って")
_HOME_KO = re.compile(
    "주소|보내|택배|곳|있어요|위치|이사|집|가게|샵|매장|살아|사는|살고|오세요|놀러|배송|우편|서울|부산|대구|"
    "인천|광주|대전|울산|세종|수원"
)
ADDRESSES = (
    make_pattern(
        (
            "street",
            "st",
            "ave",
            "boulevard",
            "blvd",
            "road",
            "rd",
            "lane",
            "ln",
            "drive",
            "dr",
            "court",
            "ct",
            "place",
            "pl",
            "terrace",
            "crescent",
            "close",
            "sq",
            "highway",
            "hwy",
            "parkway",
            "circle",
            "way",
            "pkwy",
            "row",
            "gardens",
            "grove",
            "mews",
            "hill",
        ),
        rf"(?<!\w)(?<!\d[.,:])\d{{1,5}}[a-z]?,?\s+(?:(?-i:[NSEW])\.?\s+|north\s+|south\s+|east\s+|west\s+)?(?:"
        rf"(?-i:(?:[{_CAPITAL}0-9][\w'.\-]+\s+){{1,3}}){_STREET}"
        rf"|(?:[a-z][\w'\-]+\s+){{1,2}}(?:street|avenue|boulevard|blvd|ave|crescent|terrace)"
        rf"|(?:[a-z][\w'\-]+\s+){{1,2}}(?:road|rd|lane|ln|drive|court|st)(?=\s*(?:,|$|\.|apt|unit|!)))(?!\w)"
        rf"(?:,?\s*(?:apt|apartment|unit|suite|ste|flat|#)\.?\s*\w{{1,5}})?"
        rf"(?:,?\s+(?-i:[{_CAPITAL}][\w\-]+)(?:\s(?-i:[{_CAPITAL}][\w\-]+))?,?\s+(?:(?-i:[A-Z]{{2}})\s+)?\d{{5}}("
        rf"?:-\d{{4}})?)?",
        _is_street,
    ),
    make_pattern(
        ("stra", "str", "gasse", "allee", "weg", "platz", "ring", "ufer", "damm", "chaussee", "steig"),
        rf"(?<![\w]){_HOUSE_DE}(?:(?:[^\W\d]{{2,}}[ \-]){{0,2}}[^\W\d]*(?:stra(?:ß|ss)e|str\.?|gasse|allee|chauss"
        rf"ee|damm|ufer)|(?-i:[{_CAPITAL}])[^\W\d]{{2,}}(?:weg|platz|ring|steig))"
        r"\s*(?:nr\.?\s*)?\d{1,4}\s?[a-z]?(?![\w.:])(?:,?\s*(?:in\s+)?\d{5}\s+[^\W\d]+)?",
    ),
    make_pattern(
        SOME_DIGITS,
        rf"(?<![\w.,])\d{{5}}\s+(?-i:[{_CAPITAL}][a-zäöüß]+),?\s+(?-i:[{_CAPITAL}])[^\W\d]*(?:stra(?:ß|ss)e|str\."
        rf"|weg|platz|allee|gasse)\s*\d{{1,4}}",
    ),
    make_pattern(
        (
            "calle",
            "c/",
            "av",
            "plaza",
            "paseo",
            "carrera",
            "cra",
            "camino",
            "carretera",
            "ronda",
            "rua ",
            "jirón",
            "colonia",
        ),
        rf"(?<!\w)(?:calle|c/|av(?:d|da)?\.?|avenida|plaza|paseo|camino|carretera|ronda|rua|jirón|jr\.)\s*(?:de\s"
        rf"+)?(?:la\s+|los\s+|las\s+|el\s+|del\s+)?(?:(?-i:[{_CAPITAL}])[\w.]+\s*(?:de\s+|la\s+|del\s+|los\s+|y\s"
        rf"+)*){{1,4}}"
        r",?\s*(?:n[ºo°.]{1,2}\s*|#\s*|núm(?:ero|\.)?\s*)?\d{1,5}(?:[,\s]*(?:piso\s*)?\d{1,2}\s?[ºª°](?:\s?[a-z]("
        r"?!\w))?)?(?:,?\s*\d{5}\s+[^\W\d]+)?"
        r"|(?<!\w)(?:calle|c/|av(?:d|da)?\.?|avenida|plaza|paseo)\s+(?:[^\W\d]+\s+){1,4}(?:n[ºo°.]{1,2}\s*|#\s*|n"
        r"úmero\s*)?\d{1,4}(?=\s*(?:,|$|\.|piso))"
        r"|(?<!\w)(?:calle|carrera|cra|cr|cll|kr|diagonal|transversal)\.?\s*\d{1,3}\s?[a-z]?\s*(?:#|no\.?|n°|nº)"
        r"\s*\d{1,3}\s?[a-z]?\s?-\s?\d{1,3}",
    ),
    make_pattern(
        ("ул", "пр", "пер", "бульвар", "шоссе", "наб", "пл", "кв", "дом"),
        r"(?<!\w)(?:ул\.?|улиц[аеуы]|пр-т|пр\.|просп\.?|проспект[ае]?|пер\.|переул[а-я]+|бульвар[ае]?|б-р|шоссе|н"
        r"аб\.|набережн[а-я]+|площад[ьи])\s*(?:\d+\s?-?\s?(?:й|я|го|лет\s)?\s*)?(?:[а-яё\-.]+\s*){1,3}?,?\s*(?:д"
        r"\.?|дом[еа]?)?\s*\d{1,4}\s?[а-я]?(?!\w)(?:[,\s]*(?:кв|корп|к|стр|под[ъь]езд|этаж|эт)[а-я]*\.?\s*\d+)*"
        r"|(?<!\w)[а-яё\-]+(?:\s+(?:ул\.?|улица|проспект|пер\.))?,?\s*(?:д\.|дом)\s*\d{1,4}\s?[а-я]?[,\s]*(?:кв|к"
        r"орп)[а-я]*\.?\s*\d+"
        r"|(?<!\w)(?-i:[А-ЯЁ])[а-яё\-]+\s+\d{1,4}\s?[а-я]?,?\s*кв\.?\s*\d+",
    ),
    make_pattern(
        ("路", "街", "道", "巷", "弄", "胡同", "村", "小区", "栋", "室", "幢"),
        r"(?:[\u4e00-\u9fff]{2,8}?(?:省|市|区|區|县|镇|乡|村)){0,4}[\u4e00-\u9fff]{2,6}?(?:路|街|道|巷|弄|胡同)\s"
        r"*[\d一二三四五六七八九十百零〇]{1,6}\s*(?:号|號|弄)(?:[\d一-十\-\s]*(?:楼|号楼|栋|幢|单元|座|室|层|户))"
        r"*"
        r"(?:\s*\d{1,4}[\-\d]*(?:室|号|栋|单元|楼)?)*"
        r"|[\u4e00-\u9fff]{2,8}(?:小区|花园|公寓|苑|家园|新村|大厦)\s*[\da-z一-十]{1,4}\s*(?:栋|号楼|幢|座|期)(?:"
        r"\s*[\d一-十]{1,4}\s*(?:单元|室|楼|层|号))*",
    ),
    make_pattern(
        (
            "live at",
            "address",
            "located",
            "ship",
            "send",
            "come to",
            "vivo en",
            "dirección",
            "wohne",
            "adresse",
            "anschrift",
            "живу",
            "живём",
            "живем",
            "адрес",
            "приезжай",
            "приход",
            "офис",
            "находимся",
        ),
        rf"(?<!\w)(?:(?:i |we )?live at|(?:my |our )?(?:home )?address(?: is)?:?|located at|(?:ship|send|mail) (?"
        rf":it |them |stuff )?to|come to)\s+\d{{1,5}}[a-z]?\s+\w+(?:\s\w+){{0,2}}"
        rf"|(?<!\w)(?:vivo en|dirección(?: es)?:?)\s+(?:la |el )?(?:calle )?(?-i:[{_CAPITAL}])\w+(?:\s\w+){{0,3}}"
        rf"?,?\s+(?:n[ºo°.]+\s*|#\s*)?\d{{1,5}}(?!\w)"
        rf"|(?<!\w)(?:wohne|adresse(?: ist)?:?|anschrift:?)\s+(?:in der|im|am|in|an der)?\s*(?-i:[{_CAPITAL}])[\w"
        rf"\-]+(?:\s[\w\-]+)?\s+\d{{1,4}}\s?[a-z]?(?!\w)"
        r"|(?<!\w)(?:живу|живём|живем|адрес:?|приезжай\w*|приход\w+|находимся|офис)\s+(?:по адресу:?\s+|на\s+|по"
        r"\s+|:\s*)?(?-i:[А-ЯЁ])[а-яё\-]+(?:\s(?-i:[А-ЯЁ])[а-яё]+)?,?\s+(?:д\.?\s?)?\d{1,4}\s?[а-я]?(?!\w)",
    ),
    make_pattern(
        ("box", "postfach", "apartado", "а/я", "индекс", "邮编", "plz", "c.p", "cp "),
        r"(?<!\w)(?:p\.?\s?o\.?\s?box|postfach|apartado(?: postal)?|а/я|индекс|邮(?:政)?编(?:码|号)?|plz|c\.?p\.?"
        r")[\s:]{0,3}\d{1,6}(?!\d)",
    ),
    make_pattern(
        ("+", "///"),
        r"(?<!\w)[23456789cfghjmpqrvwx]{4,8}\+[23456789cfghjmpqrvwx]{2,3}(?!\w)|///\w+\.\w+\.\w+",
        lambda match: any(map(str.isdigit, match.group())) or "///" in match.group(),
    ),
    make_pattern(
        SOME_DIGITS,
        r"(?<!\w)[A-Z]\d[A-Z] \d[A-Z]\d(?!\w)|(?<!\w)[A-Z][a-z]+(?: [A-Z][a-z]+)?,? (?:A[KLRZ]|C[AOT]|D[CE]|FL|GA"
        r"|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]) \d{5}(?:-\d{4})"
        r"?(?!\d)",
        flags=0,
    ),
    make_pattern(
        ("〒",), r"〒\s?\d{3}-?\d{4}(?:[\s、,]*[\u3040-\u30ff\u4e00-\u9fff]{2,20}[\d\-丁目番地号の]{0,16})?"
    ),
    make_pattern(
        ("市", "区", "町", "村", "郡", "都", "県", "丁目"),
        r"(?:(?:東京都|北海道|(?:京都|大阪)府|[\u4e00-\u9fff]{2,3}県)\s*)?(?:[\u3040-\u30ff\u4e00-\u9fff]{1,6}[市"
        r"区町村郡]){0,3}[\u3040-\u30ff\u4e00-\u9fff]{0,10}?[市区町村目\u4e00-\u9fff]\s*"
        r"(?:\d{1,3}|[一二三四五六七八九十]{1,2})(?:丁目\s*\d{1,4}(?:\s*(?:番地?|-|の)\s*\d{0,4})*号?|-\d{1,3}-\d"
        r"{1,4}(?:-\d{1,4})?(?!\d)|番地?の?\d{1,4}号?)(?:\s*\d{2,4}号室)?",
        lambda match: re.search(r"[市区町村県都府]|丁目|番地?\d", match.group()) is not None,
    ),
    make_pattern(
        SOME_DIGITS,
        r"[\u4e00-\u9fffヶケノ]{2,8}\s?\d{1,2}-\d{1,2}-\d{1,4}(?!\d)(?P<house>[\s　]*[\u3040-\u30ff\u4e00-\u9fff]"
        r"{2,10}\s?\d{1,4}(?:号室|号)?)?",
        lambda match: (
            match["house"] is not None
            or _HOME_JA.search(match.string) is not None
            or match.group()[0:9].rstrip("0123456789- ")[-1:]
            in "台町丘原野川田山本島崎浜橋通条南北東西宮木松森谷沢池塚園"
        ),
    ),
    make_pattern(
        ("로", "길", "동", "아파트"),
        r"(?:[가-힣]+(?:시|도|구|군|읍|면|동)\s)*[가-힣]{1,8}(?:대로|로|길)(?:\d{1,3}번?길)?\s?\d{1,4}(?:-\d{1,4}"
        r")?(?:번지)?(?:,?\s?\d{1,4}\s?(?:동|호|층))+"
        r"|(?:[가-힣]+(?:시|도|구|군|읍|면)\s){1,3}[가-힣]{1,8}(?:대로|로|길)(?:\d{1,3}번?길)?\s?\d{1,4}(?:-\d{1,4})?"
        r"|(?P<bare>[가-힣]{2,6}(?:대로|로|길)\s?\d{1,4}(?:-\d{1,4})?)(?!\d|\s?(?:명|개|번|시|분|원|회|년|월|일|"
        r"초|살|위|만|천|퍼|%|대))"
        r"|(?:[가-힣]+(?:시|도|구|군|읍|면)\s){1,3}[가-힣]{1,6}동\s?\d{1,4}(?:-\d{1,4})?|[가-힣]{2,8}아파트\s?\d{"
        r"1,4}동\s?\d{1,4}호",
        lambda match: match["bare"] is None or _HOME_KO.search(match.string) is not None,
    ),
    make_pattern(
        SOME_DIGITS,
        rf"(?<![{ASCII}])(?-i:[A-Z]{{1,2}}\d[A-Z\d]? \d[A-BD-HJLNP-UW-Z]{{2}})(?![{ASCII}])",
    ),
)
