"""Finders of names that people tell in Chinese, Japanese and Korean, where no capitals show them.

A cue before the name or what is said behind it, and a family name at its beginning, take their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vivant_build.privacy.contact_patterns import CAPITAL, CJK, OTHER_LETTER, Finder, Span
from vivant_build.privacy.word_lists import (
    is_given_name,
    is_word,
    join_words,
    load_surnames,
    read_words,
)

_HANZI, _KANA = r"\u4e00-\u9fff", r"\u3040-\u30ff"
_EMOJI_START = r"\U0001f300-\U0001faff"
_STOP = rf"$|[\s,.!?、~:;()「」…A-Za-z0-9{_EMOJI_START}]"

# Chinese: a family name of one character, or a known one of two, and one or two more characters.
_ZH_SURNAMES = "".join(read_words("surnames_zh"))
_ZH_DOUBLE = "欧阳|司马|上官|诸葛|东方|皇甫|尉迟|公孙|慕容|令狐|宇文|长孙|司徒|轩辕|夏侯"
_FAMOUS = frozenset(read_words("famous"))
_NO_NAMES_ZH = tuple(read_words("no_names_zh"))
_ZH_NAME = rf"(?:{_ZH_DOUBLE}|[{_ZH_SURNAMES}])[{_HANZI}]{{1,2}}"
_CHINESE = re.compile(
    rf"(?:{join_words('named_zh')})\s*[:,]?\s*(?:[{_HANZI}]{{2,3}}(?<=[唱手师员长])(?=[{_ZH_SURNAMES}]))?"
    rf"(?P<told>{_ZH_NAME})(?<![人生座迷粉的族家党者员师民国])(?={_STOP}|来自|今年|住|是|和|我|不是|也|在)"
    rf"|我叫(?P<young>[{_HANZI}]{{2,4}}?)(?=[,\s]*(?:今年|来自|[\d一二三四五六七八九十]{{1,3}}岁))"
    rf"|祝(?P<wished>{_ZH_NAME})(?=生日|新婚|早日)"
    rf"|(?:{join_words('kin_zh')})(?:叫|是|,|:|\s)?\s*"
    rf"(?P<kin>(?:{_ZH_DOUBLE})[{_HANZI}]{{1,2}}|[{_ZH_SURNAMES}][{_HANZI}]{{2}}(?<![的了吗呢吧啊说是我你他她也都在])"
    rf"|[{_ZH_SURNAMES}][{_HANZI}](?={_STOP}))"
)

# Japanese: a family name of the list, or some kanji between a cue and the end of a sentence that tells a name.
_JA_ENDS = r"(?:です|だよ|だ\.|っていい|って言|と申|といい|と言い)"
_JA_CUES = join_words("named_ja")
_JA_NAME = rf"[{_HANZI}々]{{2,4}}[ 　]?(?!{_JA_ENDS})[{_HANZI}々{_KANA}]{{1,4}}?"
_NO_NAMES_JA = re.compile(
    "日本|東京|大阪|何|誰|人$|者$|員$|生$|派$|民$|好き|勢$|県$|市$|区$|駅|線|町$|村$|大学|高校|学校|会社|部$|店$|さん|様|君|くん|ちゃん|先生"
    "|最高|面白|素敵|綺麗|可愛|歳$|年$|主婦|学生|専業|無職|初心|秘密|まだ|忘|知|犬|猫|失礼|本当|大丈夫|元気|毎日|今日|昨日|明日|今回|初めて|久"
)
_JAPANESE = re.compile(
    rf"(?:{_JA_CUES})[!。、,.〜~\s:]*(?P<cued>{_JA_NAME}|[{_KANA}]{{2,6}}[ 　・][{_KANA}]{{2,6}})"
    rf"(?={_JA_ENDS}|、|,|\.|$|で、|!|\s|[{_EMOJI_START}])"
    rf"|(?<![{_HANZI}{_KANA}])(?P<ended>{_JA_NAME}|[{_KANA}]{{2,6}}[ 　・]?[{_KANA}]{{0,6}})(?=と申します"
    rf"|といいます|と言います|っていいます|って言います)"
    rf"|(?P<told>[{_HANZI}々]{{2,3}}[ 　]?[{_HANZI}{_KANA}]{{1,3}}?)(?={_JA_ENDS}|より(?:$|\s))"
    rf"|(?:{join_words('kin_ja')})(?:の|は|、"
    rf"|:)\s?(?P<kin>[{_HANZI}々]{{2,6}}[ 　]?[{_HANZI}々]{{0,3}})(?=[にはがをとのもで、!さちくっ(]|{_STOP})"
)

# Korean: a family name of one syllable, or a known one of two, and one or two more syllables.
_KO_SURNAMES = "".join(read_words("surnames_ko"))
_KO_DOUBLE = "남궁|독고|동방|사공|서문|선우|제갈|황보"
_KO_NAME = (
    rf"(?!{join_words('no_names_ko')})"
    rf"(?:(?:{_KO_DOUBLE})[가-힣]{{1,2}}|[{_KO_SURNAMES}][가-힣]{{2}}(?<![생팬])(?<!사람))"
)
_KO_ENDS = r"이에요|예요|입니다|인데|이라|라고|이고|임|이야|이요|이라고"
_KOREAN = re.compile(
    rf"(?<![가-힣])(?:제 |내 )?(?:{join_words('named_ko')})[!,.~\s]*(?:저는|전"
    rf"|저)?\s*(?P<cued>{_KO_NAME})(?=\s?(?:{_KO_ENDS}))"
    rf"|(?<![가-힣])(?:제|내)?\s?(?:이름[은이:]|이름은|성함은|본명[은이]?|실명[은이]?)\s?:?\s*(?P<named>{_KO_NAME})(?=[\s.,!]|$)"
    rf"|(?:^|(?<=\n))(?P<first>{_KO_NAME})(?=\s?(?:입니다|이에요|예요))"
    rf"|(?<![가-힣])(?P<called>{_KO_NAME})(?=\s?(?:이?라고 (?:합니다|해요|불러|합니당)|입니다[\s!.]*(?:반갑"
    rf"|잘 부탁|안녕|인사)))"
    rf"|(?<![가-힣])(?P<young>[가-힣]{{2,3}})(?=\s?(?:이에요|예요|입니다)[\s,.!]*\d+살)"
    rf"|\d살\s?(?:인\s)?(?P<aged>(?![여남]자)[가-힣]{{2,3}}?)(?=\s?(?:이고|이에요|예요|입니다|인데|라고|이라고))"
    rf"|(?<![가-힣])(?:다니는|사는|온)\s(?P<from>{_KO_NAME})(?=\s?(?:{_KO_ENDS}))"
    rf"|(?<![가-힣])(?P<signed>{_KO_NAME})(?=\s?(?:올림|드림|인사드립니다))"
    rf"|(?:{join_words('kin_ko')})\s(?P<kin>{_KO_NAME})(?<![요다죠네])"
    rf"(?=\s?(?:{_KO_ENDS}|이가|이는|이 |이랑|이도|씨|님|쌤|,|、|{_STOP}))"
)

_PAIR = rf"[{CAPITAL}][\w'’\-]+(?: [{CAPITAL}][\w'’\-.]+){{1,3}}"
_FOREIGN = re.compile(
    rf"(?:{join_words('named_zh', 'named_ja')}|저는|이름은?|본명은?|성함은?)[{CJK}\s:,]{{0,6}}(?P<before>{_PAIR})"
    rf"|(?P<after>{_PAIR})(?=\s?(?:{_JA_ENDS}|だよ|参上|来了|报道|{_KO_ENDS}|인사드|올림|드림))"
)
_GREETING = re.compile(
    "안녕|반갑|반가|저는|신입|인사|こんにちは|こんばんは|はじめまして|どうも|改めまして|我是|我叫|名前|이름|성함"
)


def _find_groups(pattern: re.Pattern[str], shadow: str) -> Iterator[tuple[str, str, Span]]:
    """The group of each match that holds something: its name, its text, its place."""
    for match in pattern.finditer(shadow):
        group = match.lastgroup or ""
        yield group, match[group], match.span(group)


def _find_listed(shadow: str, end: int, name: str) -> Iterator[Span]:
    """More names of a list."""
    following = re.compile(rf"\s*[、,&和と]\s*({name})(?={_STOP})")
    while match := following.match(shadow, end):
        yield match.span(1)
        end = match.end()


def _find_chinese(shadow: str) -> Iterator[Span]:
    for _, name, span in _find_groups(_CHINESE, shadow):
        if not name.startswith(_NO_NAMES_ZH) and name not in _FAMOUS:
            yield span
            yield from _find_listed(shadow, span[1], _ZH_NAME)


def _is_told(name: str, shadow: str, span: Span) -> bool:
    """Whether an unknown name is said to be one; a word with an ending (`大事じゃない`) needs `と申します` behind."""
    if re.match("と申|といい|と言い|って", shadow[span[1] :]):
        return True
    plain = re.fullmatch(rf"[{_HANZI}々 　]+|[{_KANA} 　・]+", name) is not None
    return plain and re.search("(?:名前|本名|氏名|フルネーム)[は:]?[ 　]*$", shadow[: span[0]]) is not None


def _find_japanese(shadow: str) -> Iterator[Span]:
    surnames = load_surnames("ja")
    for group, name, span in _find_groups(_JAPANESE, shadow):
        known = any(name[:size] in surnames and len(name) > size for size in (2, 3))
        if _NO_NAMES_JA.search(name) and not (known and group in ("ended", "told", "kin")):
            continue
        if known or group == "ended" or (group == "kin" and 4 <= len(name) <= 6):
            yield span
            yield from _find_listed(shadow, span[1], rf"[{_HANZI}々]{{3,6}}")
        elif group == "cued" and _is_told(name, shadow, span):
            yield span


def _find_korean(shadow: str) -> Iterator[Span]:
    for _, name, span in _find_groups(_KOREAN, shadow):
        if name not in _FAMOUS:
            yield span
            yield from _find_listed(shadow, span[1], _KO_NAME)


def _find_foreign(shadow: str) -> Iterator[Span]:
    """Names in Latin letters beside Asian cues."""
    for _, name, span in _find_groups(_FOREIGN, shadow):
        words = name.split()
        if is_given_name(words[0]) or not all(map(is_word, words)) or _GREETING.search(shadow):
            yield span


FINDERS = (
    Finder(
        _find_chinese,
        gate=rf"祝[{_ZH_SURNAMES}]|(?:{join_words('named_zh')})\s*[:,]?\s*[{_HANZI}]{{2}}|(?:{join_words('kin_zh')})(?:叫|是|,|:|\s)?\s*[{_ZH_SURNAMES}欧司上诸东皇][{_HANZI}]",
        precondition=OTHER_LETTER,
    ),
    Finder(
        _find_japanese,
        gate=rf"[{_HANZI}{_KANA}]{{2}}(?:と申|といい|と言い|っていい|って言)|(?:{_JA_CUES})[!。、,.〜~\s:]*[{_HANZI}]{{2}}"
        rf"|[{_HANZI}]{{2}}[{_HANZI}{_KANA}]{{1,3}}(?:です|だよ|より)|(?:{join_words('kin_ja')})[のは、:]\s?[{_HANZI}]{{3}}",
        precondition=OTHER_LETTER,
    ),
    Finder(
        _find_korean,
        gate=rf"[가-힣]{{2}}\s?(?:{_KO_ENDS}|올림|드림|인사드)|(?:이름|성함|본명|실명)[은이:]?\s?:?\s*[가-힣]{{3}}"
        rf"|(?:{join_words('kin_ko')})\s[{_KO_SURNAMES}][가-힣]{{2}}",
        precondition=OTHER_LETTER,
    ),
    Finder(_find_foreign, gate=rf"[{CJK}]\P{{Latin}}*{_PAIR}|{_PAIR}\s?[{CJK}]", precondition=OTHER_LETTER),
)
