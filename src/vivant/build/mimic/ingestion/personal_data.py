"""Where in a text personal data stand: e-mail and web addresses, telephone and other numbers, accounts, mentions, homes.

The patterns run over the folded text (see `text_forms`), so each is written for plain characters alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vivant.build.mimic.ingestion.account_patterns import (
    ACCOUNTS,
    SERVICES,
    find_service_accounts,
    looks_telling,
    names_service,
)
from vivant.build.mimic.ingestion.contact_patterns import EMOJI, LETTERS
from vivant.build.mimic.ingestion.identity_patterns import ADDRESSES, NUMBERS, PLATES
from vivant.build.mimic.ingestion.introductions import find_introductions
from vivant.build.mimic.ingestion.phone_numbers import FIGURES, find_phone_numbers
from vivant.build.mimic.ingestion.self_patterns import SAID
from vivant.build.mimic.ingestion.text_forms import CONTROL, ENTITY, INVISIBLE
from vivant.build.mimic.ingestion.web_patterns import AT_WORDS, DOT, EMAILS, LINKS, PROVIDERS
from vivant.build.mimic.ingestion.word_lists import is_word

Span = tuple[int, int]

_CONTACTS = (*EMAILS, *LINKS, *ACCOUNTS, *NUMBERS, *PLATES, *ADDRESSES, *SAID)
_MENTIONS = re.compile(
    rf"(?<![A-Za-z0-9_@])@+[\[(\"'«“]?(?!(?:everyone|here|channel|all|me|you|us|them|todos|alle|все|всех|所有人|全体成员|大家|みんな|모두)\b)(?=[_.·\-]*[^\W_])[\w.·\-]*\w"
    rf"|(?<![\w@:\-])@[{EMOJI}\s/:]{{1,3}}(?P<apart>(?!\d)[{LETTERS}][{LETTERS}.\-]{{2,30}})"
    rf"|[\[(<]\s*(?:at|@)\s*[\])>]\s*(?P<bracketed>[{LETTERS}][{LETTERS}.\-]{{3,30}})",
    re.IGNORECASE,
)
ODD = f"[{CONTROL}]|[{INVISIBLE}]|{ENTITY}|<[bB][rR]|\u00a0"
"""What only `clean_text` changes."""


def _escape_for_arrow(pattern: str) -> str:
    return "".join(
        character if character.isascii() else f"\\x{{{ord(character):x}}}" for character in pattern
    )


def _list_cues() -> str:
    """Words without which nobody tells a birthday, a home or a document's number."""
    needles = {needle for pattern in (*NUMBERS, *SAID, *ADDRESSES[3:]) for needle in pattern.needles}
    words = sorted(needle for needle in needles if len(needle) > 2 or not needle.isascii())
    return "|".join(map(re.escape, words))


ARROW_MENTION = _escape_for_arrow("[@＠﹫]")
_DIGIT = r"[\p{Nd}\x{2460}-\x{2468}\x{2776}-\x{277e}\x{2780}-\x{2793}\x{24ea}\x{24ff}\x{b2}\x{b3}\x{b9}\x{2070}-\x{2089}OoIl]"
ARROW_SUSPECT = _escape_for_arrow(
    f"{ODD}|:\\s?/\\s?/|[wW] ?[wW] ?[wW][. ]|(?i:https?)|[.．。｡][a-zA-Z\u0400-\u04ff\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7a3]{{2}}"
    r"| [.,] ?[cnor]|[.] (?i:com|net|org|ru)"
    rf"|(?:{_DIGIT}[\pM\x{{fe0f}}]*[^\pL\pN\n]{{0,4}}){{6}}|\p{{Nd}}[\pM]*\x{{20e3}}|#\p{{Nd}}{{4}}"
    r"|\p{Nd}\.\p{Nd}+\.\p{Nd}+\.|[0-9a-fA-F]:[0-9a-fA-F:]{6}|\p{Nd}\s?°|[1-9A-HJ-NP-Za-km-z]{26}"
    r"|[\pL\pN]\s?[@＠﹫]|[@＠﹫]\s|[\[(<]\s?(?:[aA][tT]|[@＠﹫])|\$[a-zA-Z]|%40|[uU]/\w|/user/|/channel/|/c/|<@|👻"
    r"|(?i:on x\b|[➕+加] ?[vq薇]|\bi\.? ?g\b|[,•·*](?:com|net|org|ru)|sw-\d|\bid\b|айди|friend code|xX)"
    r"|[a-zA-Z0-9]_|-at-|[a-zA-Z]{6}\d\d|(?i:\b[vw]x? ?[:：])"
    r"|[\x{1d400}-\x{1d7ff}\x{24b6}-\x{24e9}\x{1f130}-\x{1f189}]"
    rf"|(?i:\b(?:tel|sms|callto|skype):|[\[({{*_<\-/|]\s*(?:{AT_WORDS}|at|a|{DOT}|[.@])\s*[\])}}*_>\-/|]|\s{DOT}\s|[\w]{DOT}\s)"
    r"|(?i:[点點점トと]\s?(?:com|cn|net|org|コム))|AT|[^\s\w] ?gmail|/\s?[+@a-zA-Z0-9]"
    rf"|(?i:(?:{AT_WORDS})\s*[\pL\pN_\-])"
    rf"|(?i:(?:^|[^a-z0-9_])(?:{SERVICES}|in[s$5]t[a@4]|sn[a@4]p|te[l1]egr|d[i1]sc[o0]rd|e-?mail|mail|почт|邮箱|メール|メアド|메일|correo|line|扣扣|企鹅|q群|add|follow|hmu|dm|folg|adde|подпи|добав|フォロー|加我|关注|s[ií]gueme|agr[eé]ga|b[uú]sca|search|find me)"
    r"(?:[^a-z\x{c0}-\x{4ff}]|$|id|のid))|(?:^|\s)OF\s|wxid_"
    rf"|(?i:(?:(?:{FIGURES}|\p{{Nd}}+)[\s,.\-]*){{4}})|[공영일이삼사오육칠팔구][\s\-]?[공영일이삼사오육칠팔구]{{2}}|[〇零○一二三四五六七八九幺]\s?[〇零○一二三四五六七八九幺\p{{Nd}}]{{2}}|(?:ゼロ|れい|ぜろ|いち|に|さん|よん|ご|ろく|なな|はち|きゅう|まる){{3}}"
    rf"|(?i:(?:^|[^a-z])(?:{PROVIDERS})(?:[\s.,点]|$))"
    rf"|(?i:{_list_cues()})|[A-ZÀ-ſА-ЯЁ][\pL'’\-]+ [A-ZÀ-ſА-ЯЁ]\pL|(?i:\bname|\bnombre|llamo|llam|heiße|heisse|зовут|звать|имя|\bfirma)"
    r"|(?i:\b(?:i['’]?m|i am|it['’]?s|this is|soy|ich bin|by me|me,|call me)[\s,]+\pL)|(?:^|\s)[яЯ] [А-ЯЁ]|我叫|我是|本人|真名|本名|免贵|大名|名字|姓名|叫我|在下|です|申|いいます|言います|名前|氏名|입니다|이에요|예요|라고|이름|성함|본명|실명|저는?\s|인사드|올림|드림"
    r"|\p{Nd}[a-zA-Z]?,? [^,.!?\n]{2,40}(?i:street|st|ave|avenue|boulevard|blvd|road|rd|lane|ln|drive|dr|court|ct|place|pl|terrace|crescent|close|square|sq|highway|hwy|parkway|pkwy|circle|way|row|gardens|grove|mews|hill)\b"
    r"|(?i:stra(?:ß|ss)e|str\.?|gasse|allee|weg|platz|ring|ufer|damm|chaussee|steig) ?(?:nr)?[. ]*\p{Nd}"
    r"|[A-Za-z]{2}\d\d[ \-.]?[A-Za-z0-9]{4}|[A-Z]\d[A-Z\d]? \d[A-Z]{2}|[A-Z]\d\d [A-Z]{3}|[A-ZÄÖÜ]-[A-Z]{0,2} ?\d\d|\d\d-[A-Z]|[A-Z]\d{5}|\d{6}-?[A-Z]|\d[A-Z] \d[A-Z]|[A-Z]{2} \d{5}|[a-z]{4}-[0-9a-f]{12}|\.(?:eth|sol|btc)|\d{4} ?[A-Z]{3}|[А-ЯA-Z]\d{3}[А-ЯA-Z]{2}|[\x{4e00}-\x{9fff}][A-Z][·\s]?[A-Z0-9]{5}|\d\s?[あ-ん]\s?\d|\d\d[가-힣]\s?\d{4}|\d-\d{1,2}-\d|[로길동호]\s?\d|\d[동호층]|0x[0-9a-fA-F]{40}|\d\.\d{3,}[^\w]"
)
"""What is worth a closer look, in RE2's dialect: everything but plain mentions contains one of these."""


def find_mentions(shadow: str) -> Iterator[Span]:
    """Mentions by @, in a folded text."""
    if "@" not in shadow and "at" not in shadow.lower():
        return
    for match in _MENTIONS.finditer(shadow):
        apart = match["apart"] or match["bracketed"]
        if apart is None or looks_telling(apart) or (apart.isascii() and not is_word(apart)):
            yield match.span()


def find_contacts(shadow: str) -> Iterator[Span]:
    """E-mail and web addresses, accounts, telephone numbers and other data of a person, in a folded text."""
    lower = shadow.lower()
    same = len(lower) == len(shadow)
    for contact in _CONTACTS:
        start = contact.find_start(lower)
        if start < 0:
            continue
        for match in contact.pattern.finditer(shadow, start if same else 0):
            if contact.check is None or contact.check(match):
                yield match.span()
    if names_service(lower):
        yield from find_service_accounts(shadow)
    yield from find_phone_numbers(shadow, lower)
    yield from find_introductions(shadow)
