"""Numbers of cards, accounts, documents and cars."""

from __future__ import annotations

import re

from vivant.build.mimic.ingestion.contact_patterns import ASCII, CJK, MANY_DIGITS, SOME_DIGITS, make_pattern


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
        r"(?:cards?|karten?|karta|konto(?:nummer)?|tarjeta|cuenta|clabe|карт[аеуыой]+|сч[её]т[а-я]*|卡号?|账号|口"
        r"座(?:番号)?|カード(?:番号)?|account|a/c|visa|mastercard|iban)\W{0,3}(?:[^\W\d]{1,10}\W{1,2}){0,3}"
        r"\d(?:[ \-.]?\d){7,18}(?!\d)",
    ),
    make_pattern(
        MANY_DIGITS,
        rf"(?<![{ASCII}])[A-Za-z]{{2}}\d{{2}}(?:[ \-.]?[A-Za-z0-9]{{4}}){{3,7}}(?:[ \-.]?[A-Za-z0-9]{{1,3}})?(?!["
        rf"{ASCII}])",
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
        r"(?:계좌(?:번호)?|[가-힣]*(?:은행|뱅크)|국민|신한|농협|토스|우리|하나|기업|普通(?:預金)?|当座|口座(?:番"
        r"号)?|預金|振込先?|sort code|routing(?: number| no\.?)?|支付宝|银行卡?|[建工农中招交]行|转账|打款|р/с|ре"
        r"квизит\w*|сбер\w*|тинькофф|"
        r"cbu|clabe|(?:bank )?account(?: number| no\.?)?|cuenta|konto|bank)[\s:#(は는은]{0,4}(?:\w{1,8}[\s:]+){0,"
        r"3}?\d(?:[ \-]?\d){5,21}(?!\d)",
        lambda match: sum(map(str.isdigit, match.group())) >= 6 and not re.search(r"0000", match.group()),
    ),
    make_pattern(
        MANY_DIGITS,
        rf"(?<![{ASCII}.,#])\d(?:[ \-_]?[\dO]){{13,23}}(?![{ASCII}]|[.,]\d)",
        _is_long_number,
    ),
    make_pattern(
        MANY_DIGITS,
        r"(?<!\d)\d{6}-[1-4]\d{6}(?!\d)|(?<![\w.])\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)|(?<![\w-])\d{2}-\d{8}-\d(?![\w-"
        r"])|(?<![\w-])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?!\w)",
    ),
    make_pattern(
        MANY_DIGITS,
        r"(?<![A-Za-z0-9_])(?:\d{8}-?[A-HJ-NP-TV-Z]|[XYZ]-?\d{7}-?[A-Z]|[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d|[A-ZÑ"
        r"&]{3,4}\d{6}[A-Z0-9]{3}|[A-Z]{2} ?\d\d ?\d\d ?\d\d ?[A-D]"
        r"|[A-Z]{5}\d{4}[A-Z]|[A-Z]\d{6}\(\d\)|[A-Z]{1,2}\d{7,9}|[A-Z]{2}\d{9}[A-Z]{2}|[ZREU]\d{12}|[A-Z]\d{3}[A-"
        r"Z]\d{4})(?![A-Za-z0-9_])",
        flags=0,
    ),
    make_pattern(("記号", "番号"), r"記号\s*:?\s*\d{5}[\s、]*番号\s*:?\s*\d{5,8}"),
    make_pattern((".eth", ".sol", ".btc"), r"(?<![\w.])[a-z0-9\-_]{3,}\.(?:eth|sol|btc)(?!\w)"),
    make_pattern(
        MANY_DIGITS,
        r"(?<!\w)[A-HJ-NPR-Z0-9]{17}(?!\w)",
        lambda match: 4 < sum(map(str.isdigit, match.group())) < 17,
        flags=0,
    ),
    make_pattern(
        MANY_DIGITS,
        r"(?<![\w\-])\d{3}-\d{2}-\d{4}(?![\w\-])|(?<![\w\-])\d{3}-\d{3}-\d{3}[ \-]\d\d(?![\w\-])",
    ),
    make_pattern(
        ("ssn", "social security"),
        r"(?:ssn|social security(?: number| no\.?)?)\W{0,4}(?:is\W)?\d{3}[ .\-]?\d{2}[ .\-]?\d{4}",
    ),
    make_pattern(("19", "20"), r"(?<!\d)[1-9]\d{5}(?:19|20)\d{9}[\dXx](?!\d)"),
    make_pattern("0x", rf"(?<![{ASCII}])0x[0-9a-f]{{40}}(?![{ASCII}])"),
    make_pattern(("bc1", "ltc1"), rf"(?<![{ASCII}])(?:bc1|ltc1)[a-z0-9]{{25,60}}"),
    make_pattern(
        SOME_DIGITS,
        rf"(?<![{ASCII}])[1-9A-HJ-NP-Za-km-z]{{26,48}}(?![{ASCII}])",
        _mixes_kinds,
        flags=0,
    ),
    make_pattern(
        ".",
        rf"(?<![{ASCII}.])-?\d{{1,3}}\.\d{{3,}}\s?°?[NSEW]?\s*[,;/ ]\s*-?\d{{1,3}}\.\d{{3,}}\s?°?[NSEW]?(?!["
        rf"{ASCII}])",
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
        r"(?:passport|reisepass(?:nummer)?|pass(?:nummer|-?nr)|(?:personal)?ausweis(?:nummer|-?nr)?|pasaporte|dni"
        r"|nie|curp|cpf|rfc|снилс|инн|паспорт\w*|удостоверени\w+|护照号?码?|身份证号?码?|パスポート(?:番号)?|旅券"
        r"番号|免許証?(?:番号)?|マイナンバー|"
        r"(?:driver'?s? )?licen[sc]e(?: plate)?|führerschein(?:nummer)?|national insurance|aadhaar|pan card|steue"
        r"r-?id|plates?|kennzeichen|matr[ií]cula|госномер|номер машины|车牌号?|ナンバー(?:プレート)?|여권(?:번호)"
        r"?|주민(?:등록)?번호|(?:운전)?면허(?:증|번호)?|차량번호|번호판|(?:외국인)?등록번호|学号|学籍番号|社員番"
        r"号|工号|사번|학번|student (?:id|number|no)|matrikelnummer|employee (?:id|number)|водительск\w+|полис|保"
        r"険証(?:番号)?)"
        rf"[\s:#.\-=是はв№은는「(]{{0,4}}(?:(?:no|nr|number|num|número|numero|номер|серия|号码|番号|is|ist|es|lau"
        rf"tet|von|de|мой)[\s.:#\-=是は]{{1,3}}){{0,3}}"
        rf"(?P<code>[A-Z\u0410-\u042f\u00c4-\u00dc{CJK}]{{0,3}}[\s\-·]{{0,2}}(?=[A-Z0-9\u0410-\u042f\- ·]*\d)[A-Z"
        rf"0-9\u0410-\u042f]{{1,12}}(?:[\s\-·./]?[A-Z0-9\u0410-\u042f]{{1,10}}){{0,4}})(?![{ASCII}])",
        _has_digit,
    ),
)

PLATES = (
    make_pattern(
        SOME_DIGITS,
        r"(?<!\w)[АВЕКМНОРСТУХABEKMHOPCTYX]\d{3}[АВЕКМНОРСТУХABEKMHOPCTYX]{2}\s?\d{2,3}(?!\w)"
        r"|(?<!\w)[A-Z]{2}\d{2} [A-HJ-PR-Y]{3}(?!\w)|(?<!\w)[A-Z]{2}-\d{3}-[A-Z]{2}(?!\w)|(?<!\w)[A-Z]{3}-\d{2,3}"
        r"-[A-Z0-9]{1,2}(?!\w)"
        r"|(?<![\w.,])(?!(?:19|20)\d\d)\d{4} ?[BCDFGHJKLMNPRSTVWXYZ]{3}(?!\w)|(?<!\w)[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} ?\d"
        r"{2,4}[EH]?(?!\w)"
        r"|[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-Z][·\s]?[A-Z0-9]{5,6}(?![A-Z0-9])"
        r"|[\u4e00-\u9fff]{2,4}\s?\d{2,3}\s?[あ-ん]\s?\d{1,2}-\d{2}(?!\d)"
        r"|(?<!\d)\d{2,3}[가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주하허호바사아자배]\s?\d{"
        r"4}(?![\d가-힣])",
        flags=0,
    ),
)
