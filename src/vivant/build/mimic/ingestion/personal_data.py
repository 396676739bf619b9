"""Where in a text personal data stand: e-mail and web addresses, telephone and other numbers, accounts, mentions.

Three sieves, each finer and dearer: `find_suspects` looks through a column of texts at once, `find_contacts` looks for
the needles of all patterns together, and then only the patterns whose needle is there run, over the folded text (see
`text_forms`), so that each is written for plain characters alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from vivant.build.mimic.ingestion.account_patterns import (
    ACCOUNTS,
    SERVICE_NEEDLES,
    find_service_accounts,
    looks_telling,
)
from vivant.build.mimic.ingestion.address_patterns import ADDRESSES
from vivant.build.mimic.ingestion.contact_patterns import EMOJI, LETTERS, MANY_DIGITS, SOME_DIGITS, Span
from vivant.build.mimic.ingestion.identity_patterns import NUMBERS, PLATES
from vivant.build.mimic.ingestion.introductions import CUES, find_introductions
from vivant.build.mimic.ingestion.phone_numbers import FIGURE_NEEDLES, FIGURES, find_phone_numbers
from vivant.build.mimic.ingestion.self_patterns import SAID, SCHOOL_CUES
from vivant.build.mimic.ingestion.surnames import JAPANESE, KOREAN
from vivant.build.mimic.ingestion.text_forms import (
    CONTROL,
    ENTITY,
    FOLDABLE,
    INVISIBLE,
    SPREAD,
    collapse_spread,
)
from vivant.build.mimic.ingestion.web_patterns import EMAILS, LINKS
from vivant.build.mimic.ingestion.word_lists import is_word

if TYPE_CHECKING:
    import polars as pl

Finder = Callable[[str], Iterator[Span]]
_MENTIONS = re.compile(
    r"(?<![A-Za-z0-9_@])@+[\[(\"'«“]?(?!(?:everyone|here|channel|all|me|you|us|them|todos|alle|все|всех|所有人"
    r"|全体成员|大家|みんな|모두)\b)"
    r"(?=[_.·\-]*[^\W_])[\w.·\-]*\w"
    rf"|(?<![\w@:\-])@[{EMOJI}\s/:]{{1,3}}(?P<apart>(?!\d)[{LETTERS}][{LETTERS}.\-]{{2,30}})"
    rf"|[\[(<]\s*(?:at|@)\s*[\])>]\s*(?P<bracketed>[{LETTERS}][{LETTERS}.\-]{{3,30}})"
    rf"|(?<![\w@.])(?P<reversed>[{LETTERS}][{LETTERS}.\-]{{3,30}})@(?![\w@\-])",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_FINDERS: tuple[tuple[tuple[str, ...], Finder], ...] = (
    *(
        (contact.needles, contact.find)
        for contact in (*EMAILS, *LINKS, *ACCOUNTS, *NUMBERS, *PLATES, *ADDRESSES, *SAID)
    ),
    (SERVICE_NEEDLES, find_service_accounts),
    (FIGURE_NEEDLES, find_phone_numbers),
    (CUES, find_introductions),
)


def _escape_for_arrow(pattern: str) -> str:
    return "".join(
        character if character.isascii() else f"\\x{{{ord(character):x}}}" for character in pattern
    )


ODD = f"[{CONTROL}]|[{INVISIBLE}]|{ENTITY}|<[bB][rR]|\u00a0"
"""What only `clean_text` changes."""
_MENTION = _escape_for_arrow("[@＠﹫]")
_STRUCTURES = tuple(
    _escape_for_arrow(pattern)
    for pattern in (
        f"{ODD}|{FOLDABLE.pattern}|[\u20e3\u2776-\u2793\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0e50"
        f"-\u0e59]",
        r"[.．。｡][a-zA-Z\x{400}-\x{4ff}\x{4e00}-\x{9fff}\x{3040}-\x{30ff}\x{ac00}-\x{d7a3}]{2}|://|%40|_|[@＠﹫]"
        r"[\s/:(\[]|[\pL\pN] ?[@＠﹫]",
        r"[\[(<{*\-/] ?(?i:at|a|dot|punkt|punto|точка|点|[.@＠])\s?[\])>}*\-/]|/(?:user|channel|c|@)/?\w|(?i:www|"
        r"http)[ .:/]|[ \w](?:点|점|ドット) ?(?:com|cn|net|org)| [.,] ?(?:com|net|org|ru|[a-z]{2,4}(?:$|[\s/]))|["
        r"•·,*](?:com|net|org|ru)|LINE[^a-zA-Z ]|(?i:\w\s?(?:dot|d0t|punkt|punto|ponto|точка|тчк|점|どっと|ドット"
        r")\s(?:com|net|org|info|io|tv|gg|eu|ru|рф|ру|ком|de|es|cn|jp|xyz|app|ly|lol|icu|me|co|[a-z]{2,6}/))",
        r"\$[a-zA-Z]{2}|\b[uU]/\w|<@|👻|xX|OF [a-z]|AT[a-z]|AT ",
        r"(?:^|[^a-zA-Z0-9_])(?i:ig|tg|vx|wx|vk|sc|dc|disc|tt|fb|yt|qq|wa|ds|inst|дс|лс|тг|вк|id|v|q)\s?[^\sa-zA-"
        r"Z\pM.,!?'’)\x{a0}-\x{24f}]",
        r"(?:^|[^a-zA-Z0-9_])(?i:ig|tg|vx|wx|vk|sc|dc|disc|tt|fb|yt|qq|wa|ds|inst|дс|тг|вк|insta|snap|q|psn|mail)"
        r" [A-Za-z0-9]+",
        SPREAD,
        r"(?i:i['’]?m|i am|this is|soy|ich bin|it['’]?s|by|me|boy|girl|host|friend|man|thanks|love|yours|я|это|ва"
        r"ша?|пишет|спасибо|gracias|saludos|hier (?:ist|spricht)|lg|gruß|grüße|от|помните|called?|as|aquí|habla|c"
        r"redits?:?|cheers),? (?:[A-Za-zÀ-ɏЀ-ӿ]+[,:]? ){0,2}[A-ZÀ-ÞĀ-ɏЀ-Я][A-Za-zÀ-ɏѐ-ӿЀ-я'’\-]+ [A-ZÀ-ÞĀ-ɏЀ-Я][A-Za-z"
        r"À-ɏЀ-ӿ]+[^A-Za-zÀ-ɏЀ-ӿ]?",
        r"(?i:\b(?:i['’]?m|i am|soy|ich bin)) [A-ZÀ-ÞĀ-ɏЀ-Я][a-zß-ɏа-ӿ]{2}|(?i:\b(?:soy|by me,|me,|it['’]s)) [A-Z"
        r"a-zÀ-ɏЀ-ӿ]{3,} [A-Za-zÀ-ɏЀ-ӿ]{4,}(?"
        r":$|[^A-Za-zÀ-ɏЀ-ӿ])|[A-ZÀ-ÞĀ-ɏЀ-Я][A-Za-zÀ-ɏЀ-ӿ]+ [A-ZÀ-ÞĀ-ɏЀ-Я][A-Za-zÀ-ɏЀ-ӿ]+ here",
        rf"(?i:(?:^|[^A-Za-zÀ-ɏЀ-ӿ])(?:(?:{FIGURES})[\s,.\-]*){{2}}(?:(?:{FIGURES})|\p{{Nd}}))|[〇零○一二三四五六"
        rf"七八九幺"
        rf"공영일이삼사오육칠팔구]{{4}}|(?:(?:ゼロ|レイ|イチ|ニ|サン|ヨン|ゴ|ロク|ナナ|ハチ|キュウ|ぜろ|れい|いち|に|"
        rf"さん|よん|ご|ろく|なな|はち|きゅう)[\s・\-]?){{4}}",
        rf"(?:{JAPANESE})\s?[\x{{3040}}-\x{{30ff}}\x{{4e00}}-\x{{9fff}}]{{1,4}}(?:です|と申し|といい|、)|[a-z]です"
        rf"|[{KOREAN}][가-힣]{{2}}(?:이?라고|인데|입니다)",
    )
)
_BESIDE_DIGITS = tuple(
    _escape_for_arrow(pattern)
    for pattern in (
        r"[\x{4e00}-\x{9fff}][A-Z][·\s]?[A-Z0-9]{5}|(?:[0-9][^0-9a-zA-Z\n]*){6}|[0-9a-fA-F]:[0-9a-fA-F:]{4}|[OolI"
        r"]\p{Nd}|\p{Nd}[OolI]",
        r"[a-zA-Z]{6}\p{Nd}\p{Nd}|#\p{Nd}{4}|[A-Z]\p{Nd}\p{Nd}|[A-Z]-[A-Z]{0,2} ?\p{Nd}|\p{Nd}-[A-Z]|\p{Nd}{4} ?["
        r"A-Z]{3}|[А-Я]\p{Nd}{3}|[1-9A-HJ-NP-Za-km-z]{26}|\p{Nd}°|\p{Nd}\.\p{Nd}{3}|\p{Nd}-\p{Nd}+-\p{Nd}|\p{Nd}["
        r".:]\p{Nd}+[.:]\p{Nd}+[.:]|[A-Za-z]\p{Nd}{5}",
        r"\p{Nd}[a-zA-Z]?,? (?:\S+ ){1,4}(?i:street|st|ave|avenue|boulevard|blvd|road|rd|lane|ln|drive|dr|court|c"
        r"t|place|pl|terrace|crescent|close|square|sq|highway|hwy|parkway|pkwy|circle|way|row|gardens|grove|mews|"
        r"hill)(?:[^\pL]|$)",
        r"(?i:stra(?:ß|ss)e|str|gasse|allee|weg|platz|ring|ufer|damm|chaussee|steig)\.? ?(?:nr)?[. ]*\p{Nd}|(?i:"
        r"\b(?:avenida|av|c/|cra|calle|ул|пр|пер|д|дом|кв))[. ]",
    )
)


@cache
def _list_needles() -> tuple[list[str], list[str], dict[str, list[int]], dict[str, list[int]]]:
    """Cues of a column, cues beside a digit, and which finders a needle or a single sign calls."""
    words: dict[str, list[int]] = {}
    signs: dict[str, list[int]] = {}
    for number, (needles, _) in enumerate(_FINDERS):
        for needle in needles:
            (words if len(needle) > 1 or not needle.isascii() else signs).setdefault(
                needle.lower(), []
            ).append(number)
    generic = {needle.lower() for needle in (*FIGURE_NEEDLES, *_GENERIC)}
    digits = {needle for pattern in (*ADDRESSES, *PLATES, *NUMBERS, *SAID) for needle in pattern.needles}
    used = [word for word in words if word not in generic and (len(word) > 2 or not word.isascii())]
    tight = [word for word in used if len(word) > 1 and (word not in digits or word in SCHOOL_CUES)]
    beside = [word for word in used if word in digits]
    return tight, beside, words, signs


_GENERIC = (
    *(
        "i'm",
        "i’m",
        "im ",
        "i am",
        "this is",
        "it's",
        "it’s",
        "its ",
        "me, ",
        "myself",
        "love",
        "yours",
        "thank",
        "boy ",
        "girl ",
        "host ",
        "friend ",
        "man ",
        "here",
        "call",
        "credit",
        "cheers",
        "att",
        "aqu",
        "habla",
        "escribe",
    ),
    *(
        "hier ",
        "lg ",
        "vg ",
        "euer",
        "eure",
        "grüße",
        "gruß",
        "ich bin",
        "soy ",
        "gracias",
        "saludos",
        "я ",
        "это ",
        "пишет",
        "ваш",
        "твой",
        "твоя",
        "автор",
        "спасибо",
        "llam",
        "です",
        "入",
        "より",
        "来了",
        "라고",
        "인데",
        "저 ",
        "본인",
    ),
    *(
        "http",
        "www",
        "dot",
        "point",
        "period",
        "add",
        "add me",
        "follow",
        "search",
        "busca",
        "list",
        "web",
        "live",
        "of ",
        "of",
        "id",
        "i g",
        "i.g",
        "ät",
        "aet",
        "line",
        "message",
        "signal",
        "epic",
        "league",
        "switch code",
        "rd",
        "st",
    ),
    *(
        "inst",
        "disc",
        "116",
        "163",
        "126",
        "bk",
        "pm",
        "daum",
        "terra",
        "inbox",
        "docomo",
        "mail",
        "folg",
        "adde",
        "dm ",
        "on x:",
        "+",
        "加",
        "点",
        "点 ",
        "dot ",
        "punto ",
        "ponto ",
        "point ",
        "punkt ",
        "точка ",
        "period ",
        "тчк ",
        "점 ",
    ),
    *(
        "ave",
        "road",
        "lane",
        "drive",
        "court",
        "place",
        "close",
        "row",
        "hill",
        "grove",
        "way",
        "str",
        "weg",
        "ring",
        "damm",
        "ufer",
        "nie",
        "pass",
        "pan ",
        "ship",
        "send",
        "bank",
        "alias",
        "circle",
        "box",
        "visa",
        "card",
        "stra",
        "steig",
        "driver",
        "live at",
    ),
    *(f"{word}{end}" for word in ("t", "t ", "@", "@ ", "a") for end in ")]}>*_-/|»\"'"),
)
"""Needles that everyday texts hold: for those, a column's structures are looked for instead."""


def find_suspects(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Which texts of a column are worth a closer look, and which hold mentions and nothing else."""
    import polars as pl

    tight, beside, _, _ = _list_needles()
    suspect = pc.match_substring_regex(column, _STRUCTURES[0])
    for pattern in _STRUCTURES[1:]:
        suspect = pc.or_(suspect, pc.match_substring_regex(column, pattern))
    lower = pl.Series(pl.from_arrow(pc.utf8_lower(column)))
    suspect = pc.or_(suspect, _to_arrow(lower.str.contains_any(tight)))
    rows = pc.indices_nonzero(pc.and_not(pc.match_substring_regex(column, r"\p{Nd}"), suspect))
    figured = column.take(rows)
    telling = _to_arrow(lower.gather(rows.to_numpy()).str.contains_any(beside))
    for pattern in _BESIDE_DIGITS:
        telling = pc.or_(telling, pc.match_substring_regex(figured, pattern))
    more = pc.is_in(pa.array(range(len(column)), pa.uint64()), value_set=rows.filter(telling))
    suspect = pc.or_(suspect, more)
    return suspect, pc.and_not(pc.match_substring_regex(column, _MENTION), suspect)


def _to_arrow(series: pl.Series) -> pa.Array:
    return series.to_arrow().cast(pa.bool_())


def find_mentions(shadow: str) -> Iterator[Span]:
    """Mentions by @, in a folded text."""
    if "@" not in shadow and "at" not in shadow.lower():
        return
    for match in _MENTIONS.finditer(shadow):
        apart = match["apart"] or match["bracketed"] or match["reversed"]
        if apart is None or looks_telling(apart) or (apart.isascii() and not is_word(apart)):
            yield match.span()


def find_contacts(shadows: Sequence[str]) -> Iterator[list[Span]]:
    """E-mail and web addresses, accounts, telephone numbers and other data of a person, for each folded text."""
    import polars as pl

    _, _, words, signs = _list_needles()
    spread = [collapse_spread(shadow) for shadow in shadows]
    both = [*shadows, *(found[0] for found in spread if found)]
    lower = pl.Series(both, dtype=pl.String).str.to_lowercase()
    spans = [
        _run_finders(shadow, needles, words, signs)
        for shadow, needles in zip(
            both, lower.str.extract_many(list(words), overlapping=True).to_list(), strict=True
        )
    ]
    more = iter(spans[len(shadows) :])
    for found, collapsed in zip(spans, spread, strict=False):
        if collapsed is None:
            yield found
        else:
            places = collapsed[1]
            yield found + [(places[start], places[end - 1] + 1) for start, end in next(more)]


def _run_finders(
    shadow: str, needles: list[str], words: dict[str, list[int]], signs: dict[str, list[int]]
) -> list[Span]:
    finders = {number for needle in set(needles) for number in words[needle]}
    present = {sign for sign in set(shadow) if not sign.isdecimal()}
    digits = len(_DIGIT.findall(shadow))
    present.update(sign for sign in (SOME_DIGITS, MANY_DIGITS) if digits >= int(sign))
    for sign in signs.keys() & present:
        finders.update(signs[sign])
    return [span for number in sorted(finders) for span in _FINDERS[number][1](shadow)]
