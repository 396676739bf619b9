"""Names that people tell of themselves, in the words of each language: `my name is`, `с вами`, `です`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from vivant.build.mimic.ingestion.contact_patterns import CJK, Span
from vivant.build.mimic.ingestion.surnames import CHINESE, JAPANESE, KOREAN
from vivant.build.mimic.ingestion.word_lists import is_word, load_given_names

_NAMED = (
    r"my (?:real |full |actual |legal |government )?name(?: is|'s|’s| was|:)|(?:real |full |legal )?name(?: is"
    r"|'s|’s|:)|i'?m called|(?:you can |y'all can |just |they )?call(?:s|ed)? me|known as|"
    r"ich hei(?:ß|ss)e|mein (?:echter |richtiger |voller )?name(?: ist|:)|name:|nennt mich|me llamo|me dicen|m"
    r"i nombre(?: real| completo)?(?: es|:)|ll[aá]m[ae]n?me|nombre(?: completo| real)?:|"
    r"меня (?:зовут|звать|кличут)|зовут(?: меня)?|звать меня|мо[её] (?:полное |настоящее )?имя(?: -)?|имя(?: и"
    r" фамилия)?:|ф\.?и\.?о\.?:?|фамилия:?|представлюсь:?"
)
_SIGNED = (
    r"sincerely(?: yours)?|(?:kind |best |warm )?regards|yours truly|signed(?: by)?|posted by me|written by me"
    r"|xoxo|mfg|atentamente|atte|firmado(?: por)?|firma|(?:les|te|os) (?:habla|saluda|escribe)|с уважением|под"
    r"пись|с вами(?: снова)?|"
    r"на связи|у микрофона|hier spricht|viele grüße|liebe grüße"
)
_WEAK = (
    r"i'm|i’m|im|i am|this is|it'?s|it’s|(?:your |ur )?(?:boy|girl|host|friend|man|homie)|yours|cheers|love|by"
    r" me|me|myself|thanks|thank you|credits?:|"
    r"ich bin|hier (?:ist|schreibt)|grüße(?: von)?|gruß|lg|vg|euer|eure|soy|aquí|aqui|att|saludos(?: de)?|habl"
    r"a|saluda|tu amigo|tu amiga|gracias|"
    r"я|это|пишет|ваша?|твоя?|автор|спасибо"
)
_CUE = re.compile(
    rf"(?<!\w)(?:(?P<named>{_NAMED})|(?P<signed>{_SIGNED})|(?P<weak>{_WEAK}))(?!\w)[\s:,\-–—~]*",
    re.IGNORECASE,
)
CUES = (
    "name",
    "i'm",
    "i’m",
    "im ",
    "i am",
    "this is",
    "it's",
    "it’s",
    "its ",
    "call",
    "known as",
    "heiße",
    "heisse",
    "nennt",
    "llamo",
    "dicen",
    "nombre",
    "llám",
    "llam",
    "зовут",
    "звать",
    "имя",
    "фио",
    "ф.и.о",
    "фамилия",
    "представлюсь",
    "sincerely",
    "regards",
    "yours",
    "signed",
    "by me",
    "me, ",
    "myself",
    "xoxo",
    "mfg",
    "atentamente",
    "atte",
    "firma",
    "saluda",
    "habla",
    "escribe",
    "уважением",
    "подпись",
    "с вами",
    "на связи",
    "микрофона",
    "hier ",
    "grüße",
    "gruß",
    "boy ",
    "girl ",
    "host ",
    "friend ",
    "man ",
    "homie",
    "cheers",
    "love",
    "thank",
    "credit",
    "ich bin",
    "lg ",
    "vg ",
    "euer",
    "eure",
    "soy ",
    "aqu",
    "att",
    "saludos",
    "tu amig",
    "gracias",
    "я ",
    "это ",
    "пишет",
    "ваш",
    "твой",
    "твоя",
    "автор",
    "спасибо",
    "here",
    "我是",
    "我叫",
    "本人",
    "真名",
    "本名",
    "姓名",
    "名字",
    "私は",
    "僕は",
    "俺は",
    "名前",
    "氏名",
    "저는",
    "이름",
    "본명",
    "성함",
    "실명",
    "叫我",
    "在下",
    "免贵",
    "大名",
    "です",
    "といい",
    "と言い",
    "と申",
    "っていい",
    "って言",
    "より",
    "입니다",
    "이에요",
    "예요",
    "라고",
    "인사드",
    "올림",
    "드림",
    "参上",
    "来了",
    "报道",
    "저 ",
    "인데",
)
_PAIRED = re.compile(r"[A-ZÀ-ſА-ЯЁ][\w'’\-]+ [A-ZÀ-ſА-ЯЁ]")
_TOLD = re.compile(
    r"name|nombre|llam|hei(?:ß|ss)e|зовут|звать|имя|фамилия|firma|\bsoy\b|me,|it['’]s|i['’]?m\b|i am|ich bin|\bя\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\W\d_][\w'’\-]*")
_FILLERS = 3
_LITTLE = frozenset(
    [
        "de",
        "del",
        "la",
        "las",
        "los",
        "van",
        "von",
        "der",
        "bin",
        "al",
        "el",
        "da",
        "dos",
        "di",
        "y",
        "ben",
        "ibn",
        "zu",
    ]
)
_JOINED = frozenset(
    [
        "and",
        "the",
        "for",
        "from",
        "with",
        "but",
        "not",
        "that",
        "this",
        "just",
        "here",
        "who",
        "what",
        "when",
        "where",
        "why",
        "how",
        "about",
        "your",
        "y",
        "que",
        "con",
        "por",
        "pero",
        "para",
        "como",
        "est",
        "und",
        "aber",
        "mit",
        "der",
        "die",
        "das",
        "ist",
        "nicht",
        "auch",
        "и",
        "а",
        "но",
        "на",
        "по",
        "из",
        "что",
        "как",
        "с",
        "в",
        "у",
        "не",
        "она",
        "он",
        "они",
    ]
)
_SURNAME = re.compile(
    r"(?:ов|ев|ёв|ин|ын|ова|ева|ёва|ина|ына|ский|ская|цкий|цкая|ской|енко|ко|ук|юк|чук|ич|ян|швили|дзе|ец|ак|я"
    r"к|ых|их)$"
)
_PAIR = r"[A-Z\u00c0-\u017f][\w'’\-]+(?: (?:de|del|van|von|der|la|bin|al|da))?(?: [A-Z\u00c0-\u017f][\w'’\-.]+){1,3}"
_ASIAN_PAIR = re.compile(
    rf"(?:我是|我叫|本人|真名|本名|姓名|名字|私は|僕は|俺は|名前は?|氏名|저는|제 이름은?|본명은?|이름은?|성함은"
    rf"?|叫我|在下)[{CJK}\s:,]{{0,6}}(?P<before>{_PAIR})"
    rf"|(?P<after>{_PAIR})(?=\s?(?:です|といい|と言い|と申|っていい|って言|입니다|이에요|예요|라고|이라고|인사"
    rf"드|올림|드림|だよ|参上|来了|报道))"
)
_GREETED = re.compile(
    "안녕|반갑|반가|저는|신입|인사|こんにちは|こんばんは|はじめまして|どうも|改めまして|我是|我叫|名前|이름|성함"
)
_CHINESE = re.compile(
    rf"(?:我叫|我是|本人|真名(?:是|叫)?|我的?名字[是叫]?|本名[是叫:]?|姓名[是:]?|叫我|在下|免贵姓|大名)\s*[:,]?"
    rf"\s*(?:[\u4e00-\u9fff]{{2,3}}(?<=[唱手师员长])(?=[{CHINESE}]))?[{CHINESE}][\u4e00-\u9fff]{{1,2}}(?<![人生"
    rf"座迷粉的族家党者员师民国])"
    r"(?=$|[\s,.，。!！?？、~～:：]|来自|今年|住|是|和|我|不是|[A-Za-z0-9\U0001f300-\U0001faff])"
)
_KANJI = rf"(?:{JAPANESE})[ 　]?(?![県市駅線区町村城菜]|さん|様|君|くん|ちゃん)[\u4e00-\u9fff\u3040-\u30ff]{{1,3}}?"
_LONG_KANJI = (
    rf"(?:{'|'.join(name for name in JAPANESE.split('|') if len(name) > 1)})[ 　]?(?![県市駅線区町村城菜])[\u4e"
    rf"00-\u9fff]{{1,3}}"
)
_JAPANESE = re.compile(
    rf"(?:名前は?:?|本名は?:?|氏名は?:?|私は|僕は|俺は|うちは|わたしは|ぼくは|自分、|(?:こんにちは|こんばんは|"
    rf"はじめまして|初めまして|どうも|おはよう|ども|改めまして)[!、。,〜~\s]*)\s*{_KANJI}(?=です|だよ|だ\.|って"
    rf"いい|って言|と申|とい|と言|、|,|\.|$|で、|!|\s|[\U0001f300-\U0001faff])"
    rf"|{_LONG_KANJI}(?=です|と申|といい|と言い|って言|っていい|より(?:$|\s))"
    r"|(?:名前は|本名は?|氏名は?)\s*:?(?!何|まだ|無|忘|知|秘密)[\u30a0-\u30ff\u4e00-\u9fff]{2,4}[ 　]?[\u30a0-"
    r"\u30ff\u4e00-\u9fff]{0,4}(?=です|だよ|っていい|って言|と申|とい|と言|\.|$|!)"
    r"|(?<![\u3040-\u30ff\u4e00-\u9fff])[\u30a0-\u30ff\u4e00-\u9fff]{2,4}[ 　]?[\u30a0-\u30ff\u4e00-\u9fff]{0,"
    r"4}(?=と申します|といいます|と言います|っていいます|って言います)"
)
_KOREAN_NAME = (
    "(?!하세요|공무원|한국인|유학생|유튜버|선생님|전문가|신입생|구독자|여자친|남자친|남자들|여자들|이사람|기"
    "획자|주인공|이번주|오늘도|이제는|우리집|정말로|진짜로|지금은|지금도|고양이|강아지|이야기|"
    f"고등학|중학생|초등학|하루종|이거는|나이는|우리나|여기가|여기는|오늘은|이상한|전라도|강원도|경상도|주부입"
    f"|성인입|기독교|천주교|이과생|문과생)[{KOREAN}][가-힣]{{2}}(?<![생팬람])"
)
_KOREAN = re.compile(
    rf"(?:제 이름[은이]?|내 이름[은이]?|이름:|이름[은이]|성함[은이]?:?|본명[은이]?:?|실명[은이]?:?|(?:안녕하세"
    rf"요|반가워요|반갑습니다|안녕)[!,.~\s]*(?:저는|전|저)?)\s*{_KOREAN_NAME}(?=이에요|예요|입니다|인데|이라|라"
    rf"고|이고|임|이야|이요|[\s.,!]|$)"
    rf"|(?<![가-힣])(?:저는|저|전|나는|난)\s*{_KOREAN_NAME}(?=이에요|예요|입니다|인데|이라고|라고|이고)"
    rf"|(?:^|(?<=\n)){_KOREAN_NAME}(?=입니다|이에요|예요)"
    rf"|(?<![가-힣]){_KOREAN_NAME}(?=이?라고 (?:합니다|해요|불러|합니당)|입니다[\s!.]*(?:반갑|잘 부탁|안녕|인사))"
    rf"|(?<![가-힣]){_KOREAN_NAME}(?=\s?(?:올림|드림|인사드립니다))"
)


def find_introductions(shadow: str) -> Iterator[Span]:
    """Names that the writer tells as the own one, in a folded text."""
    told = _PAIRED.search(shadow) or _TOLD.search(shadow)
    for cue in _CUE.finditer(shadow) if told else ():
        span = _read_name(shadow, cue.end(), named=cue["weak"] is None, cue=cue.group().lower())
        if span:
            yield span
    for match in re.finditer(rf"(?:^|(?<=[\n.!]))\s*({_PAIR})(?=\s+(?:here|signing off|out)(?!\w))", shadow):
        if _is_pair(match.group(1).split()):
            yield match.span(1)
    for match in re.finditer(r"(?<!\w)меня\s+([А-ЯЁ][а-яё]+)(?=\s+зовут)", shadow):
        yield match.span(1)
    if shadow.isascii():
        return
    for match in _ASIAN_PAIR.finditer(shadow):
        group = "before" if match["before"] else "after"
        if _is_pair(match[group].split()) or _GREETED.search(shadow):
            yield match.span(group)
    for pattern in (_CHINESE, _JAPANESE, _KOREAN):
        for match in pattern.finditer(shadow):
            yield match.span()


def _read_name(shadow: str, start: int, *, named: bool, cue: str) -> Span | None:
    """The name that begins at most some words behind a cue, in the same sentence."""
    end = re.compile(r"[.!?\n;(]|$").search(shadow, start)
    tokens = list(_TOKEN.finditer(shadow, start, end.start() if end else len(shadow)))[:8]
    tokens = [token for token in tokens if token.start() - start < 60]
    shouting = shadow.isupper()
    for index in range(min(len(tokens), _FILLERS + 1)):
        words = [token.group() for token in _take_joined(shadow, tokens[index : index + 4])]
        size = _count_name(words, named=named, near=index == 0, shouting=shouting, cue=cue.strip(" :,-–—~"))
        if size:
            return tokens[index].start(), tokens[index + size - 1].end()
        if words[0][0].isupper() and not shouting:
            break  # another word with a capital: the sentence goes on about something else
    return None


def _take_joined(shadow: str, tokens: list[re.Match[str]]) -> list[re.Match[str]]:
    """The first of some words, as far as spaces alone are between them."""
    joined = tokens[:1]
    for token in tokens[1:]:
        if shadow[joined[-1].end() : token.start()].strip(" "):
            break
        joined.append(token)
    return joined


def _count_name(words: list[str], *, named: bool, near: bool, shouting: bool, cue: str) -> int:
    """How many words are a name; 0 where they are none."""
    capitals = 0
    for word in words:
        if not word[0].isupper() and not (capitals and word.lower() in _LITTLE):
            break
        capitals += 1
    while capitals and words[capitals - 1].lower() in _LITTLE:
        capitals -= 1
    if capitals >= 2 and not shouting and (named or _is_pair(words[:capitals])):
        return capitals
    first = words[0]
    if near and named and (capitals or not _is_ordinary(first)) and first.lower() not in _JOINED:
        if not capitals and is_word(first) and not _is_given(first):
            return 0
        if capitals:
            return capitals
        return 2 if len(words) > 1 and not is_word(words[1]) else 1
    if (
        capitals == 1
        and near
        and not shouting
        and cue in ("i'm", "i’m", "i am", "soy", "ich bin", "я", "с вами", "на связи")
    ):
        return int(
            _is_given(first)
            or (first.isascii() and first[1:].islower() and len(first) > 3 and not is_word(first))
        )
    if capitals and not shouting:
        return 0
    if (
        len(words) > 1
        and (not is_word(words[1]) or _is_given(first))
        and words[1].lower() not in _JOINED | _LITTLE
    ):
        known = _is_given(first) or (first.isascii() and not is_word(first))
        if (
            known
            and len(first) > 2
            and len(words[1]) > 3
            and words[1].isalpha()
            and (near or _is_given(first))
        ):
            return 2
    return 0


def _is_given(word: str) -> bool:
    plain = "".join(c for c in unicodedata.normalize("NFD", word.casefold()) if not unicodedata.combining(c))
    return word.casefold() in load_given_names() or plain in load_given_names()


def _is_ordinary(word: str) -> bool:
    return is_word(word) and not _is_given(word)


def _is_pair(words: list[str]) -> bool:
    """Whether words with capitals are a name: one of them is a first name or no word."""
    lower = [word.strip(".,'’").casefold() for word in words if word.lower() not in _LITTLE]
    if not lower or _is_given(lower[0]):
        return bool(lower)
    if re.search("[а-яё]", lower[0]):
        return not is_word(lower[0]) and (_SURNAME.search(lower[-1]) is not None or not is_word(lower[-1]))
    return not all(map(is_word, lower))
