"""Numbers of cards, accounts, documents and cars, and places where people live."""

from __future__ import annotations

import re

from vivant.build.mimic.ingestion.contact_patterns import ASCII, CJK, make_pattern


def _mixes_kinds(match: re.Match[str]) -> bool:
    found = match.group()
    return (
        any(c.islower() for c in found)
        and any(c.isupper() for c in found)
        and any(c.isdigit() for c in found)
    )


def _has_digit(match: re.Match[str]) -> bool:
    return sum(map(str.isdigit, match["code"])) >= 3


def _is_long_number(match: re.Match[str]) -> bool:
    """Whether so many digits are an account: no count, no list of years or of small numbers."""
    groups = re.findall(r"\d+", match.group())
    digits = "".join(groups)
    if (
        len(set(digits)) < 4
        or "00000" in digits
        or digits.startswith(("12345678", "01234567", "98765432", "3141592", "2718281"))
    ):
        return False
    return max(map(len, groups)) >= 4 and not all(
        re.fullmatch(r"(?:1[5-9]|20|21)\d\d", group) for group in groups
    )


NUMBERS = (
    make_pattern(
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
            "account",
            "a/c",
            "visa",
            "mastercard",
            "iban",
            "账号",
            "clabe",
            "sparkasse",
        ),
        r"(?:cards?|karten?|karta|konto(?:nummer)?|tarjeta|cuenta|clabe|карт[аеуыой]+|сч[её]т[а-я]*|卡号?|账号|口座(?:番号)?|カード(?:番号)?|account|a/c|visa|mastercard|iban)\W{0,3}(?:[^\W\d]{1,10}\W{1,2}){0,3}"
        r"\d(?:[ \-.]?\d){7,18}(?!\d)",
    ),
    make_pattern(
        tuple("0123456789"),
        rf"(?<![{ASCII}])[A-Za-z]{{2}}\d{{2}}(?:[ \-.]?[A-Za-z0-9]{{4}}){{3,7}}(?:[ \-.]?[A-Za-z0-9]{{1,3}})?(?![{ASCII}])",
        lambda match: sum(map(str.isdigit, match.group())) >= 10,
        flags=0,
    ),
    make_pattern(
        (
            "계좌",
            "은행",
            "뱅크",
            "국민",
            "신한",
            "농협",
            "토스",
            "입금",
            "예금주",
            "普通",
            "当座",
            "預金",
            "口座",
            "振込",
            "sort code",
            "routing",
            "支付宝",
            "银行",
            "行",
            "转账",
            "打款",
            "р/с",
            "реквизит",
            "сбер",
            "тинькофф",
            "cbu",
            "clabe",
            "account",
            "cuenta",
            "konto",
            "bank",
            "alias",
            "bizum",
        ),
        r"(?:계좌(?:번호)?|[가-힣]*(?:은행|뱅크)|국민|신한|농협|토스|우리|하나|기업|普通(?:預金)?|当座|口座(?:番号)?|預金|振込先?|sort code|routing(?: number| no\.?)?|支付宝|银行卡?|[建工农中招交]行|转账|打款|р/с|реквизит\w*|сбер\w*|тинькофф|"
        r"cbu|clabe|(?:bank )?account(?: number| no\.?)?|cuenta|konto|bank)[\s:#(は는은]{0,4}(?:\w{1,8}[\s:]+){0,3}?\d(?:[ \-]?\d){5,21}(?!\d)",
        lambda match: sum(map(str.isdigit, match.group())) >= 6 and not re.search(r"0000", match.group()),
    ),
    make_pattern(
        tuple("0123456789"),
        r"(?<![\w.,#])\d(?:[ \-]?\d){14,23}(?![\w]|[.,]\d)",
        _is_long_number,
    ),
    make_pattern(
        "-",
        r"(?<!\d)\d{6}-[1-4]\d{6}(?!\d)|(?<![\w.])\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)|(?<![\w-])\d{2}-\d{8}-\d(?![\w-])|(?<![\w-])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?!\w)",
    ),
    make_pattern(
        tuple("0123456789"),
        r"(?<![A-Za-z0-9_])(?:\d{8}-?[A-HJ-NP-TV-Z]|[XYZ]-?\d{7}-?[A-Z]|[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d|[A-ZÑ&]{3,4}\d{6}[A-Z0-9]{3}|[A-Z]{2} ?\d\d ?\d\d ?\d\d ?[A-D]"
        r"|[A-Z]{5}\d{4}[A-Z]|[A-Z]\d{6}\(\d\)|[A-Z]{1,2}\d{7,9}|[A-Z]{2}\d{9}[A-Z]{2}|[ZREU]\d{12}|[A-Z]\d{3}[A-Z]\d{4})(?![A-Za-z0-9_])",
        flags=0,
    ),
    make_pattern(("記号", "番号"), r"記号\s*:?\s*\d{5}[\s、]*番号\s*:?\s*\d{5,8}"),
    make_pattern((".eth", ".sol", ".btc"), r"(?<![\w.])[a-z0-9\-_]{3,}\.(?:eth|sol|btc)(?!\w)"),
    make_pattern(
        tuple("23456789"),
        r"(?<!\w)[A-HJ-NPR-Z0-9]{17}(?!\w)",
        lambda match: 4 < sum(map(str.isdigit, match.group())) < 17,
        flags=0,
    ),
    make_pattern(
        "-", r"(?<![\w\-])\d{3}-\d{2}-\d{4}(?![\w\-])|(?<![\w\-])\d{3}-\d{3}-\d{3}[ \-]\d\d(?![\w\-])"
    ),
    make_pattern(
        ("ssn", "social security"),
        r"(?:ssn|social security(?: number| no\.?)?)\W{0,4}(?:is\W)?\d{3}[ .\-]?\d{2}[ .\-]?\d{4}",
    ),
    make_pattern(("19", "20"), r"(?<!\d)[1-9]\d{5}(?:19|20)\d{9}[\dXx](?!\d)"),
    make_pattern("0x", rf"(?<![{ASCII}])0x[0-9a-f]{{40}}(?![{ASCII}])"),
    make_pattern(("bc1", "ltc1"), rf"(?<![{ASCII}])(?:bc1|ltc1)[a-z0-9]{{25,60}}"),
    make_pattern(
        tuple("123456789"),
        rf"(?<![{ASCII}])[1-9A-HJ-NP-Za-km-z]{{26,48}}(?![{ASCII}])",
        _mixes_kinds,
        flags=0,
    ),
    make_pattern(
        ".",
        rf"(?<![{ASCII}.])-?\d{{1,3}}\.\d{{3,}}\s?°?[NSEW]?\s*[,;/ ]\s*-?\d{{1,3}}\.\d{{3,}}\s?°?[NSEW]?(?![{ASCII}])",
        lambda match: any(sign in match.group() for sign in ",;/NSEW°"),
    ),
    make_pattern(
        "°", r"\d{1,3}\s?°\s?\d{1,2}(?:[.,]\d+)?\s?['′’]\s?(?:[\d.,]+\s?[\"″”']{1,2}\s?)?[NSEWСЮВЗ]?"
    ),
    make_pattern(":", r"(?<![\w:])(?:[0-9a-f]{2}[:\-]){5}[0-9a-f]{2}(?![\w:])"),
    make_pattern(
        (
            "passport",
            "reisepass",
            "pass",
            "ausweis",
            "pasaporte",
            "dni",
            "nie",
            "curp",
            "cpf",
            "снилс",
            "инн",
            "паспорт",
            "护照",
            "身份证",
            "パスポート",
            "旅券",
            "免許",
            "マイナンバー",
            "licen",
            "führerschein",
            "insurance",
            "aadhaar",
            "pan ",
            "steuer",
            "personalnummer",
            "driver",
            "plate",
            "kennzeichen",
            "matrícula",
            "matricula",
            "госномер",
            "номер машины",
            "车牌",
            "ナンバー",
            "удостовер",
            "여권",
            "주민",
            "면허",
            "차량번호",
            "번호판",
            "등록번호",
            "学号",
            "学籍",
            "社員番号",
            "工号",
            "사번",
            "학번",
            "student",
            "matrikel",
            "employee",
            "права",
            "полис",
            "保険証",
            "社保",
            "медкарт",
            "ss#",
            "tracking",
        ),
        r"(?:passport|reisepass(?:nummer)?|pass(?:nummer|-?nr)|(?:personal)?ausweis(?:nummer|-?nr)?|pasaporte|dni|nie|curp|cpf|rfc|снилс|инн|паспорт\w*|удостоверени\w+|护照号?码?|身份证号?码?|パスポート(?:番号)?|旅券番号|免許証?(?:番号)?|マイナンバー|"
        r"(?:driver'?s? )?licen[sc]e(?: plate)?|führerschein(?:nummer)?|national insurance|aadhaar|pan card|steuer-?id|plates?|kennzeichen|matr[ií]cula|госномер|номер машины|车牌号?|ナンバー(?:プレート)?|여권(?:번호)?|주민(?:등록)?번호|(?:운전)?면허(?:증|번호)?|차량번호|번호판|(?:외국인)?등록번호|学号|学籍番号|社員番号|工号|사번|학번|student (?:id|number|no)|matrikelnummer|employee (?:id|number)|водительск\w+|полис|保険証(?:番号)?)"
        rf"[\s:#.\-=是はв№은는「(]{{0,4}}(?:(?:no|nr|number|num|número|numero|номер|серия|号码|番号|is|ist|es|lautet|von|de|мой)[\s.:#\-=是は]{{1,3}}){{0,3}}"
        rf"(?P<code>[A-Z\u0410-\u042f\u00c4-\u00dc{CJK}]{{0,3}}[\s\-·]{{0,2}}(?=[A-Z0-9\u0410-\u042f\- ·]*\d)[A-Z0-9\u0410-\u042f]{{1,12}}(?:[\s\-·./]?[A-Z0-9\u0410-\u042f]{{1,10}}){{0,4}})(?![{ASCII}])",
        _has_digit,
    ),
)

_CAPITAL = "A-ZÄÖÜÁÉÍÓÚÑÅØÇ"
_STREET = r"(?:street|st\.?|avenue|ave\.?|boulevard|blvd\.?|road|rd\.?|lane|ln\.?|drive|dr\.?|court|ct\.?|place|pl\.?|terrace|crescent|close|square|sq\.?|highway|hwy|parkway|pkwy|circle|way|row|gardens|grove|mews|hill)"
_FAMOUS = re.compile(
    r"(?:21|22) jump|221b? baker|10 downing|1600 pennsylvania|42 wallaby|4 privet|12[34] conch|10 cloverfield|742 evergreen|12 grimmauld|1 infinite|11 wall\b|13 elm|123 sesame|23 jump|1313 mockingbird|1 main",
    re.IGNORECASE,
)
_NO_STREET = re.compile(
    r"\d+\s*(?:hours?|hrs?|minutes?|mins?|days?|miles?|km|way|lanes?|point|star|stars?|percent|years?|k|the|of|in|on|at|a|my|weeks?|months?|other|different|more|times|people|guys|cars|and|or|to|stages?|st|nd|rd|th)\b",
    re.IGNORECASE,
)


def _is_street(match: re.Match[str]) -> bool:
    found = match.group()
    return not _FAMOUS.match(found) and not _NO_STREET.match(found)


_HOUSE_DE = r"(?!(?:tabellen|listen|start|stell|park|sitz|spiel|sport|camping|treff|kampf|um|hin|rück|weit|box|ehe|schlüssel|arbeits|ausbildungs|fenster|steh|tennis|fußball|fussball|innen)(?:platz|weg|ring))"
_HOME_JA = re.compile("住|実家|場所|送り先|うち|家|届|宛|引っ越|来て|待って")
_HOME_KO = re.compile(
    "주소|보내|택배|곳|있어요|위치|이사|집|가게|샵|매장|살아|사는|살고|오세요|놀러|배송|우편|서울|부산|대구|인천|광주|대전|울산|세종|수원"
)
PLATES = (
    make_pattern(
        tuple("0123456789"),
        r"(?<!\w)[АВЕКМНОРСТУХABEKMHOPCTYX]\d{3}[АВЕКМНОРСТУХABEKMHOPCTYX]{2}\s?\d{2,3}(?!\w)"
        r"|(?<!\w)[A-Z]{2}\d{2} [A-HJ-PR-Y]{3}(?!\w)|(?<!\w)[A-Z]{2}-\d{3}-[A-Z]{2}(?!\w)|(?<!\w)[A-Z]{3}-\d{2,3}-[A-Z0-9]{1,2}(?!\w)"
        r"|(?<![\w.,])(?!(?:19|20)\d\d)\d{4} ?[BCDFGHJKLMNPRSTVWXYZ]{3}(?!\w)|(?<!\w)[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} ?\d{2,4}[EH]?(?!\w)"
        r"|[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-Z][·\s]?[A-Z0-9]{5,6}(?![A-Z0-9])"
        r"|[\u4e00-\u9fff]{2,4}\s?\d{2,3}\s?[あ-ん]\s?\d{1,2}-\d{2}(?!\d)"
        r"|(?<!\d)\d{2,3}[가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주하허호바사아자배]\s?\d{4}(?![\d가-힣])",
        flags=0,
    ),
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
        rf"(?<![\w.,:])\d{{1,5}}[a-z]?,?\s+(?:(?-i:[NSEW])\.?\s+|north\s+|south\s+|east\s+|west\s+)?(?:"
        rf"(?-i:(?:[{_CAPITAL}0-9][\w'.\-]+\s+){{1,3}}){_STREET}"
        rf"|(?:[a-z][\w'\-]+\s+){{1,2}}(?:street|avenue|boulevard|blvd|ave|crescent|terrace)"
        rf"|(?:[a-z][\w'\-]+\s+){{1,2}}(?:road|rd|lane|ln|drive|court|st)(?=\s*(?:,|$|\.|apt|unit|!)))(?!\w)"
        rf"(?:,?\s*(?:apt|apartment|unit|suite|ste|flat|#)\.?\s*\w{{1,5}})?"
        rf"(?:,?\s+(?-i:[{_CAPITAL}][\w\-]+)(?:\s(?-i:[{_CAPITAL}][\w\-]+))?,?\s+(?:(?-i:[A-Z]{{2}})\s+)?\d{{5}}(?:-\d{{4}})?)?",
        _is_street,
    ),
    make_pattern(
        ("stra", "str", "gasse", "allee", "weg", "platz", "ring", "ufer", "damm", "chaussee", "steig"),
        rf"(?<![\w]){_HOUSE_DE}(?:(?:[^\W\d]{{2,}}[ \-]){{0,2}}[^\W\d]*(?:stra(?:ß|ss)e|str\.?|gasse|allee|chaussee|damm|ufer)|(?-i:[{_CAPITAL}])[^\W\d]{{2,}}(?:weg|platz|ring|steig))"
        r"\s*(?:nr\.?\s*)?\d{1,4}\s?[a-z]?(?![\w.:])(?:,?\s*(?:in\s+)?\d{5}\s+[^\W\d]+)?",
    ),
    make_pattern(
        tuple("0123456789"),
        rf"(?<![\w.,])\d{{5}}\s+(?-i:[{_CAPITAL}][a-zäöüß]+),?\s+(?-i:[{_CAPITAL}])[^\W\d]*(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse)\s*\d{{1,4}}",
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
        rf"(?<!\w)(?:calle|c/|av(?:d|da)?\.?|avenida|plaza|paseo|camino|carretera|ronda|rua|jirón|jr\.)\s*(?:de\s+)?(?:la\s+|los\s+|las\s+|el\s+|del\s+)?(?:(?-i:[{_CAPITAL}])[\w.]+\s*(?:de\s+|la\s+|del\s+|los\s+|y\s+)*){{1,4}}"
        r",?\s*(?:n[ºo°.]{1,2}\s*|#\s*|núm(?:ero|\.)?\s*)?\d{1,5}(?:[,\s]*(?:piso\s*)?\d{1,2}\s?[ºª°](?:\s?[a-z](?!\w))?)?(?:,?\s*\d{5}\s+[^\W\d]+)?"
        r"|(?<!\w)(?:calle|c/|av(?:d|da)?\.?|avenida|plaza|paseo)\s+(?:[^\W\d]+\s+){1,4}(?:n[ºo°.]{1,2}\s*|#\s*|número\s*)?\d{1,4}(?=\s*(?:,|$|\.|piso))"
        r"|(?<!\w)(?:calle|carrera|cra|cr|cll|kr|diagonal|transversal)\.?\s*\d{1,3}\s?[a-z]?\s*(?:#|no\.?|n°|nº)\s*\d{1,3}\s?[a-z]?\s?-\s?\d{1,3}",
    ),
    make_pattern(
        ("ул", "пр", "пер", "бульвар", "шоссе", "наб", "пл", "кв", "дом"),
        r"(?<!\w)(?:ул\.?|улиц[аеуы]|пр-т|пр\.|просп\.?|проспект[ае]?|пер\.|переул[а-я]+|бульвар[ае]?|б-р|шоссе|наб\.|набережн[а-я]+|площад[ьи])\s*(?:\d+\s?-?\s?(?:й|я|го|лет\s)?\s*)?(?:[а-яё\-.]+\s*){1,3}?,?\s*(?:д\.?|дом[еа]?)?\s*\d{1,4}\s?[а-я]?(?!\w)(?:[,\s]*(?:кв|корп|к|стр|под[ъь]езд|этаж|эт)[а-я]*\.?\s*\d+)*"
        r"|(?<!\w)[а-яё\-]+(?:\s+(?:ул\.?|улица|проспект|пер\.))?,?\s*(?:д\.|дом)\s*\d{1,4}\s?[а-я]?[,\s]*(?:кв|корп)[а-я]*\.?\s*\d+"
        r"|(?<!\w)(?-i:[А-ЯЁ])[а-яё\-]+\s+\d{1,4}\s?[а-я]?,?\s*кв\.?\s*\d+",
    ),
    make_pattern(
        ("路", "街", "道", "巷", "弄", "胡同", "村", "小区", "栋", "室", "幢"),
        r"(?:[\u4e00-\u9fff]{2,8}?(?:省|市|区|區|县|镇|乡|村)){0,4}[\u4e00-\u9fff]{2,6}?(?:路|街|道|巷|弄|胡同)\s*[\d一二三四五六七八九十百零〇]{1,6}\s*(?:号|號|弄)(?:[\d一-十\-\s]*(?:楼|号楼|栋|幢|单元|座|室|层|户))*"
        r"(?:\s*\d{1,4}[\-\d]*(?:室|号|栋|单元|楼)?)*"
        r"|[\u4e00-\u9fff]{2,8}(?:小区|花园|公寓|苑|家园|新村|大厦)\s*[\da-z一-十]{1,4}\s*(?:栋|号楼|幢|座|期)(?:\s*[\d一-十]{1,4}\s*(?:单元|室|楼|层|号))*",
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
        rf"(?<!\w)(?:(?:i |we )?live at|(?:my |our )?(?:home )?address(?: is)?:?|located at|(?:ship|send|mail) (?:it |them |stuff )?to|come to)\s+\d{{1,5}}[a-z]?\s+\w+(?:\s\w+){{0,2}}"
        rf"|(?<!\w)(?:vivo en|dirección(?: es)?:?)\s+(?:la |el )?(?:calle )?(?-i:[{_CAPITAL}])\w+(?:\s\w+){{0,3}}?,?\s+(?:n[ºo°.]+\s*|#\s*)?\d{{1,5}}(?!\w)"
        rf"|(?<!\w)(?:wohne|adresse(?: ist)?:?|anschrift:?)\s+(?:in der|im|am|in|an der)?\s*(?-i:[{_CAPITAL}])[\w\-]+(?:\s[\w\-]+)?\s+\d{{1,4}}\s?[a-z]?(?!\w)"
        r"|(?<!\w)(?:живу|живём|живем|адрес:?|приезжай\w*|приход\w+|находимся|офис)\s+(?:по адресу:?\s+|на\s+|по\s+|:\s*)?(?-i:[А-ЯЁ])[а-яё\-]+(?:\s(?-i:[А-ЯЁ])[а-яё]+)?,?\s+(?:д\.?\s?)?\d{1,4}\s?[а-я]?(?!\w)",
    ),
    make_pattern(
        ("box", "postfach", "apartado", "а/я", "индекс", "邮编", "plz", "c.p", "cp "),
        r"(?<!\w)(?:p\.?\s?o\.?\s?box|postfach|apartado(?: postal)?|а/я|индекс|邮(?:政)?编(?:码|号)?|plz|c\.?p\.?)[\s:]{0,3}\d{1,6}(?!\d)",
    ),
    make_pattern(
        ("+", "///"),
        r"(?<!\w)[23456789cfghjmpqrvwx]{4,8}\+[23456789cfghjmpqrvwx]{2,3}(?!\w)|///\w+\.\w+\.\w+",
        lambda match: any(map(str.isdigit, match.group())) or "///" in match.group(),
    ),
    make_pattern(
        tuple("0123456789"),
        r"(?<!\w)[A-Z]\d[A-Z] \d[A-Z]\d(?!\w)|(?<!\w)[A-Z][a-z]+(?: [A-Z][a-z]+)?,? (?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]) \d{5}(?:-\d{4})?(?!\d)",
        flags=0,
    ),
    make_pattern(
        ("〒",), r"〒\s?\d{3}-?\d{4}(?:[\s、,]*[\u3040-\u30ff\u4e00-\u9fff]{2,20}[\d\-丁目番地号の]{0,16})?"
    ),
    make_pattern(
        ("市", "区", "町", "村", "郡", "都", "県", "丁目"),
        r"(?:(?:東京都|北海道|(?:京都|大阪)府|[\u4e00-\u9fff]{2,3}県)\s*)?(?:[\u3040-\u30ff\u4e00-\u9fff]{1,6}[市区町村郡]){0,3}[\u3040-\u30ff\u4e00-\u9fff]{0,10}?[市区町村目\u4e00-\u9fff]\s*"
        r"(?:\d{1,3}|[一二三四五六七八九十]{1,2})(?:丁目\s*\d{1,4}(?:\s*(?:番地?|-|の)\s*\d{0,4})*号?|-\d{1,3}-\d{1,4}(?:-\d{1,4})?(?!\d)|番地?の?\d{1,4}号?)(?:\s*\d{2,4}号室)?",
        lambda match: re.search(r"[市区町村県都府]|丁目|番地?\d", match.group()) is not None,
    ),
    make_pattern(
        "-",
        r"[\u4e00-\u9fffヶケノ]{2,8}\s?\d{1,2}-\d{1,2}-\d{1,4}(?!\d)(?P<house>[\s　]*[\u3040-\u30ff\u4e00-\u9fff]{2,10}\s?\d{1,4}(?:号室|号)?)?",
        lambda match: (
            match["house"] is not None
            or _HOME_JA.search(match.string) is not None
            or match.group()[0:9].rstrip("0123456789- ")[-1:]
            in "台町丘原野川田山本島崎浜橋通条南北東西宮木松森谷沢池塚園"
        ),
    ),
    make_pattern(
        ("로", "길", "동", "아파트"),
        r"(?:[가-힣]+(?:시|도|구|군|읍|면|동)\s)*[가-힣]{1,8}(?:대로|로|길)(?:\d{1,3}번?길)?\s?\d{1,4}(?:-\d{1,4})?(?:번지)?(?:,?\s?\d{1,4}\s?(?:동|호|층))+"
        r"|(?:[가-힣]+(?:시|도|구|군|읍|면)\s){1,3}[가-힣]{1,8}(?:대로|로|길)(?:\d{1,3}번?길)?\s?\d{1,4}(?:-\d{1,4})?"
        r"|(?P<bare>[가-힣]{2,6}(?:대로|로|길)\s?\d{1,4}(?:-\d{1,4})?)(?!\d|\s?(?:명|개|번|시|분|원|회|년|월|일|초|살|위|만|천|퍼|%|대))"
        r"|(?:[가-힣]+(?:시|도|구|군|읍|면)\s){1,3}[가-힣]{1,6}동\s?\d{1,4}(?:-\d{1,4})?|[가-힣]{2,8}아파트\s?\d{1,4}동\s?\d{1,4}호",
        lambda match: match["bare"] is None or _HOME_KO.search(match.string) is not None,
    ),
    make_pattern(
        tuple("0123456789"),
        rf"(?<![{ASCII}])(?-i:[A-Z]{{1,2}}\d[A-Z\d]? \d[A-BD-HJLNP-UW-Z]{{2}})(?![{ASCII}])",
    ),
)
