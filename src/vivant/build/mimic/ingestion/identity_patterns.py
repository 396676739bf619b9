"""Numbers of cards, accounts and documents; places; and what people tell of themselves: birthday, home, name, school."""

from __future__ import annotations

import re

from vivant.build.mimic.ingestion.contact_patterns import ASCII, CJK, make_pattern
from vivant.build.mimic.ingestion.word_lists import is_word, load_given_names


def _mixes_kinds(match: re.Match[str]) -> bool:
    found = match.group()
    return (
        any(c.islower() for c in found)
        and any(c.isupper() for c in found)
        and any(c.isdigit() for c in found)
    )


def _has_digit(match: re.Match[str]) -> bool:
    return sum(map(str.isdigit, match["code"])) >= 3


NUMBERS = (
    make_pattern(
        ("card", "karte", "karta", "konto", "tarjeta", "cuenta", "карт", "счет", "счёт", "卡", "口座", "カード", "account", "a/c", "visa", "mastercard", "iban", "账号", "clabe", "sparkasse"),
        r"(?:cards?|karten?|karta|konto(?:nummer)?|tarjeta|cuenta|clabe|карт[аеуыой]+|сч[её]т[а-я]*|卡号?|账号|口座(?:番号)?|カード(?:番号)?|account|a/c|visa|mastercard|iban)\W{0,3}(?:[^\W\d]{1,10}\W{1,2}){0,3}"
        r"\d(?:[ \-.]?\d){7,18}(?!\d)",
    ),
    make_pattern(
        tuple("0123456789"),
        rf"(?<![{ASCII}])[A-Za-z]{{2}}\d{{2}}(?:[ \-.]?[A-Za-z0-9]{{4}}){{3,7}}(?:[ \-.]?[A-Za-z0-9]{{1,3}})?(?![{ASCII}])",
        lambda match: sum(map(str.isdigit, match.group())) >= 10,
        flags=0,
    ),
    make_pattern("-", r"(?<![\w\-])\d{3}-\d{2}-\d{4}(?![\w\-])|(?<![\w\-])\d{3}-\d{3}-\d{3}[ \-]\d\d(?![\w\-])"),
    make_pattern(("ssn", "social security"), r"(?:ssn|social security(?: number| no\.?)?)\W{0,4}(?:is\W)?\d{3}[ .\-]?\d{2}[ .\-]?\d{4}"),
    make_pattern(("19", "20"), r"(?<!\d)[1-9]\d{5}(?:19|20)\d{9}[\dXx](?!\d)"),
    make_pattern("0x", rf"(?<![{ASCII}])0x[0-9a-f]{{40}}(?![{ASCII}])"),
    make_pattern(("bc1", "ltc1"), rf"(?<![{ASCII}])(?:bc1|ltc1)[a-z0-9]{{25,60}}"),
    make_pattern(
        tuple("123456789"),
        rf"(?<![{ASCII}])[1-9A-HJ-NP-Za-km-z]{{26,48}}(?![{ASCII}])",
        _mixes_kinds,
        flags=0,
    ),
    make_pattern(".", rf"(?<![{ASCII}.])-?\d{{1,3}}\.\d{{3,}}\s?°?[NSEW]?\s*[,;/ ]\s*-?\d{{1,3}}\.\d{{3,}}\s?°?[NSEW]?(?![{ASCII}])",
        lambda match: any(sign in match.group() for sign in ",;/NSEW°")),
    make_pattern("°", r"\d{1,3}\s?°\s?\d{1,2}(?:[.,]\d+)?\s?['′’]\s?(?:[\d.,]+\s?[\"″”']{1,2}\s?)?[NSEWСЮВЗ]?"),
    make_pattern(":", r"(?<![\w:])(?:[0-9a-f]{2}[:\-]){5}[0-9a-f]{2}(?![\w:])"),
    make_pattern(
        ("passport", "reisepass", "pass", "ausweis", "pasaporte", "dni", "nie", "curp", "cpf", "снилс", "инн", "паспорт", "护照", "身份证", "パスポート", "旅券", "免許", "マイナンバー",
         "licen", "führerschein", "insurance", "aadhaar", "pan ", "steuer", "personalnummer", "driver", "plate", "kennzeichen", "matrícula", "matricula", "госномер", "номер машины", "车牌", "ナンバー", "удостовер"),
        r"(?:passport|reisepass(?:nummer)?|pass(?:nummer|-?nr)|(?:personal)?ausweis(?:nummer|-?nr)?|pasaporte|dni|nie|curp|cpf|rfc|снилс|инн|паспорт\w*|удостоверени\w+|护照号?码?|身份证号?码?|パスポート(?:番号)?|旅券番号|免許証?(?:番号)?|マイナンバー|"
        r"(?:driver'?s? )?licen[sc]e(?: plate)?|führerschein(?:nummer)?|national insurance|aadhaar|pan card|steuer-?id|plates?|kennzeichen|matr[ií]cula|госномер|номер машины|车牌号?|ナンバー(?:プレート)?)"
        rf"[\s:#.\-=是はв№]{{0,4}}(?:(?:no|nr|number|num|número|numero|номер|серия|号码|番号|is|ist|es|lautet|von|de|мой)[\s.:#\-=是は]{{1,3}}){{0,3}}"
        rf"(?P<code>[A-Z\u0410-\u042f\u00c4-\u00dc{CJK}]{{0,3}}[\s\-·]{{0,2}}(?=[A-Z0-9\u0410-\u042f\- ·]*\d)[A-Z0-9\u0410-\u042f]{{1,12}}(?:[\s\-·./]?[A-Z0-9\u0410-\u042f]{{1,10}}){{0,4}})(?![{ASCII}])",
        _has_digit,
    ),
)

_MONTH = (
    r"(?:jan|feb|mar|m[äa]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|"
    r"январ|феврал|март|апрел|ма[яй]|июн|июл|август|сентябр|октябр|ноябр|декабр)[a-zäа-я]*\.?"
)
_DATE = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.|-го|º)?\s*(?:of|de|del)?\s*{_MONTH}(?:,?\s*(?:of|de|del)?\s*'?\d{{2,4}})?(?:\s*(?:г|года?)\.?)?"
    rf"|{_MONTH}\s*\d{{1,2}}(?:st|nd|rd|th)?(?:\s*,?\s*'?\d{{2,4}})?"
    r"|\d{1,4}\s*[./\-年]\s*\d{1,2}\s*(?:[./\-月]\s*\d{1,4}\s*日?号?生?)?"
    r"|\d{1,2}月\d{1,2}日?"
    r"|(?:19|20)\d{6})"
)


def _is_recent(match: re.Match[str]) -> bool:
    """Whether a birthday can be that of somebody who writes comments."""
    years = [int(year) for year in re.findall(r"(?<!\d)1[0-9]\d\d(?!\d)", match.group())]
    return not years or min(years) >= 1920


_BIRTH = (
    r"(?:born(?: on| in)?|(?<!\w)d\.?\s?o\.?\s?b\.?|date of birth|birth ?date|birthday(?: is|'s)?(?: on)?|b-?day(?: is)?(?: on)?|geboren(?: am)?|(?<!\w)geb\.?|geburts(?:tag|datum)(?: ist)?(?: am)?|nac[ií](?:do|da)?(?: el)?|"
    r"fecha de nacimiento(?: es)?|cumplea[ñn]os(?: es)?(?: el)?|cumplo(?: a[ñn]os)?(?: el)?|родил(?:ся|ась)|дата рождения|день рождения|днюха|(?<!\w)д\.?р\.?(?!\w)|生日是?|出生(?:日期|于|於)?是?|生于|誕生日は?|生年月日は?)"
)
_CAPITAL = "A-ZÄÖÜÁÉÍÓÚÑÅØÇ"
_STREET = (
    r"(?:street|st\.?|avenue|ave\.?|boulevard|blvd\.?|road|rd\.?|lane|ln\.?|drive|dr\.?|court|ct\.?|place|pl\.?|terrace|crescent|close|square|sq\.?|highway|hwy|parkway|pkwy|circle|way|row|gardens|grove|mews|hill)"
)
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
ADDRESSES = (
    make_pattern(
        ("street", "st", "ave", "boulevard", "blvd", "road", "rd", "lane", "ln", "drive", "dr", "court", "ct", "place", "pl", "terrace", "crescent", "close", "sq", "highway", "hwy", "parkway", "circle", "way",
         "pkwy", "row", "gardens", "grove", "mews", "hill"),
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
    make_pattern(tuple("0123456789"), rf"(?<![\w.,])\d{{5}}\s+(?-i:[{_CAPITAL}][a-zäöüß]+),?\s+(?-i:[{_CAPITAL}])[^\W\d]*(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse)\s*\d{{1,4}}"),
    make_pattern(
        ("calle", "c/", "av", "plaza", "paseo", "carrera", "cra", "camino", "carretera", "ronda", "rua ", "jirón", "colonia"),
        rf"(?<!\w)(?:calle|c/|avda?\.?|avenida|plaza|paseo|camino|carretera|ronda|rua|jirón|jr\.)\s*(?:de\s+)?(?:la\s+|los\s+|las\s+|el\s+|del\s+)?(?:(?-i:[{_CAPITAL}])[\w.]+\s*(?:de\s+|la\s+|del\s+|los\s+|y\s+)*){{1,4}}"
        r",?\s*(?:n[ºo°.]{1,2}\s*|#\s*|núm(?:ero|\.)?\s*)?\d{1,5}(?:[,\s]*(?:piso\s*)?\d{1,2}\s?[ºª°](?:\s?[a-z](?!\w))?)?(?:,?\s*\d{5}\s+[^\W\d]+)?"
        r"|(?<!\w)(?:calle|c/|avda?\.?|avenida|plaza|paseo)\s+(?:[^\W\d]+\s+){1,4}(?:n[ºo°.]{1,2}\s*|#\s*|número\s*)?\d{1,4}(?=\s*(?:,|$|\.|piso))"
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
    make_pattern(("〒",), r"〒\s?\d{3}-?\d{4}(?:[\s、,]*[\u3040-\u30ff\u4e00-\u9fff]{2,20}[\d\-丁目番地号の]{0,16})?"),
    make_pattern(
        ("市", "区", "町", "村", "郡", "都", "県", "丁目"),
        r"(?:(?:東京都|北海道|(?:京都|大阪)府|[\u4e00-\u9fff]{2,3}県)\s*)?(?:[\u3040-\u30ff\u4e00-\u9fff]{1,6}[市区町村郡]){0,3}[\u3040-\u30ff\u4e00-\u9fff]{0,10}?[市区町村目\u4e00-\u9fff]\s*"
        r"(?:\d{1,3}|[一二三四五六七八九十]{1,2})(?:丁目\s*\d{1,4}(?:\s*(?:番地?|-|の)\s*\d{0,4})*号?|-\d{1,3}-\d{1,4}(?:-\d{1,4})?(?!\d)|番地?の?\d{1,4}号?)(?:\s*\d{2,4}号室)?",
        lambda match: re.search(r"[市区町村県都府]|丁目|番地?\d", match.group()) is not None,
    ),
    make_pattern(
        tuple("0123456789"),
        rf"(?<![{ASCII}])(?-i:[A-Z]{{1,2}}\d[A-Z\d]? \d[A-BD-HJLNP-UW-Z]{{2}})(?![{ASCII}])",
    ),
)


def _is_name(match: re.Match[str]) -> bool:
    """Whether the words after `my name is` are a name: written with capitals, or a known first name, or no word."""
    name = match["name"]
    words = name.split()
    if match.group().isupper():  # the whole text shouts
        return not is_word(words[0]) or words[0].casefold() in load_given_names()
    return all(word[0].isupper() for word in words) or words[0].casefold() in load_given_names() or not is_word(words[0])


_SURNAMES = "王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧程曹袁邓鄧许許傅沈曾彭吕呂苏蘇卢盧蒋蔣蔡贾丁魏薛叶葉阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
_LATIN_NAME = rf"(?P<name>(?!not\b|what\b|who\b|the\b|a\b|an\b|nicht\b|no\b|не\b|как\b|und\b|jetzt\b)[^\W\d_][\w'’\-]+(?:\s(?-i:[{_CAPITAL}\u0410-\u042f])[\w'’\-.]+){{0,2}})"
SAID = (
    make_pattern(
        ("name is", "name's", "i'm called", "ich heiße", "ich heisse", "name ist", "me llamo", "nombre es", "nombre real", "зовут", "мое имя", "моё имя", "name:"),
        rf"(?<!\w)(?:my (?:real |full |actual )?name(?: is|'s|’s|:)|real name(?: is|:)|i'?m called|ich hei(?:ß|ss)e|mein (?:echter |richtiger |voller )?name ist|me llamo|mi nombre(?: real| completo)? es|меня зовут|мо[её] имя(?: -)?)\s*:?\s+{_LATIN_NAME}",
        _is_name,
    ),
    make_pattern(
        ("我叫", "我的名字", "本名", "名前は", "申します", "といいます", "と言います", "氏名"),
        rf"(?:我叫|我的?名字[是叫]|本名[是叫は:])\s*[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}(?=$|[\s,.，。!！?？、~～]|来自|今年|住|是|和|我|[{ASCII}])"
        r"|(?:名前は|本名は|氏名は?:?)\s*(?!何|まだ|無|忘|知|秘密)[\u30a0-\u30ff\u4e00-\u9fff]{2,4}[ 　]?[\u30a0-\u30ff\u4e00-\u9fff]{0,4}(?=です|だよ|だ。|と|。|$|で、|!|！|、)"
        r"|[\u30a0-\u30ff\u4e00-\u9fff]{2,4}[ 　]?[\u30a0-\u30ff\u4e00-\u9fff]{0,4}(?=と申します|といいます|と言います)",
    ),
    make_pattern(
        ("born", "dob", "d.o.b", "birth", "bday", "b-day", "geb", "nac", "cumple", "cumplo", "родил", "рождения", "днюха", "д.р", "др", "生日", "出生", "生于", "誕生日", "生年月日"),
        rf"{_BIRTH}[\s:=\-,]{{0,4}}(?:(?:am|on|the|el|is|ist|es|den|в|это|:)\s+)?{_DATE}",
        _is_recent,
    ),
    make_pattern(("年生まれ", "日生まれ"), r"(?:19|20)\d\d年(?:\d{1,2}月(?:\d{1,2}日)?)?生まれ|\d{1,2}月\d{1,2}日生まれ"),
    make_pattern(
        ("go to", "attend", "student at", "gehe auf", "gehe in", "estudio en", "voy a", "voy al", "учусь в", "хожу в", "школ", "上学", "通って", "读书", "就读"),
        rf"(?:(?:i |and |we )(?:go to|attend|study at)|student at)\s+(?:the\s+)?(?-i:(?:[{_CAPITAL}][\w.'\-]+\s+){{1,4}})(?:high school|middle school|elementary(?: school)?|primary(?: school)?|school|academy|college|university)"
        rf"|gehe (?:auf|in) (?:das|die|den)\s+(?:(?-i:[{_CAPITAL}])[\w\-]+[\s\-]*){{1,3}}(?:gymnasium|schule|realschule|grundschule|gesamtschule|[\w\-]*schule|[\w\-]*gymnasium)"
        rf"|(?:estudio en|voy al?)\s+(?:el |la |l )?(?:colegio|instituto|escuela|ies|cole)\s+(?:(?-i:[{_CAPITAL}])[\w.]+\s*(?:de\s|la\s|del\s)*){{1,4}}"
        r"|(?:учусь|хожу) в\s+(?:гимназии|школе|лицее|школу|гимназию|лицей)\s*(?:№|номер|n)?\s*\d+"
        r"|(?:在|读|就读于?)[\u4e00-\u9fff]{2,10}(?:小学|中学|高中|大学|学校)(?=上学|读书|读|念书|$|[，。,.])|[\u4e00-\u9fff]{2,8}(?:小学校|中学校|高校|大学)(?=に通)",
    ),
)

