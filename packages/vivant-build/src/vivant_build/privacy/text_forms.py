"""Texts in one form: entities of HTML resolved, invisible characters gone, and look-alike characters folded.

`clean_text` gives what is kept. `fold_text` gives a shadow for searching, with the place of each of its characters in
the text, so that `＠ｎａｍｅ` is found as `@name` while the rest of the text keeps its full-width letters.
"""

from __future__ import annotations

import html
import re
import unicodedata

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f"
)
"""Characters that show nothing, as the inside of a character class."""
CONTROL = "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"
ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});"
_ENTITY = re.compile(ENTITY)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_CONTROL = re.compile(f"[{CONTROL}]")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_JOINERS = "\u200c\u200d"
# Scripts that need joiners to be written: Arabic, Syriac, those of India and its neighbours, Mongolian.
_JOINED = re.compile("[\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\ufb50-\ufeff]")
_EMOJI = re.compile("[\u2190-\u2bff\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff]")
_SPACES = re.compile(r"[ \t]{2,}")


FOLDABLE = re.compile(
    "[\u00aa\u00b2\u00b3\u00b9\u00ba\u0132-\u0149\u01c4-\u01f3\u02b0-\u036f\u1d2c-\u1dbf\u2000-\u200c\u2060-\u218b"
    "\u2460-\u24ea\uff10-\uff3a\uff41-\uff5a\uff66-\uffdc\U0001d400-\U0001d7ff\U0001f100-\U0001f16f]"
)
"""Characters of names that have a simpler form. Texts without any need no folding to be searched for names."""
_DASHES = "‐‑‒–—―−"
FOLDED_SIGNS = {
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if not chr(code).isalnum()},
    **{chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0xFE54, 0xFE67)},
    **dict.fromkeys("。｡․﹒", "."),
    **dict.fromkeys(_DASHES, "-"),
    **dict.fromkeys("\ufe0e\ufe0f", ""),
    "\u3000": " ",
    "﹫": "@",
}
"""What folding makes of signs that everyday texts hold."""
ODD_LETTERS = (
    rf"[{CONTROL}{INVISIBLE}\u00a0]|{ENTITY}|<[bB][rR]|{FOLDABLE.pattern}|\u20e3|[\u2776-\u2793]|[\p{{Nd}}&&[^0-9]]"
    r"|[A-Za-z][\w&&[^\p{Cyrillic}]]*[а-яА-Яі]|[а-яА-Яі][\w&&[^A-Za-z]]*[A-Za-z]"
)
"""What `clean_text` and `fold_text` change besides those signs, without look-around."""


def clean_text(text: str) -> str:
    """A text without entities, control characters and invisible characters.

    Joiners stay where they belong: inside an emoji, and between letters of scripts that are written with them.
    """
    for _ in range(3):  # texts that went through two programs are escaped twice
        if "&" not in text or not _ENTITY.search(text):
            break
        text = _ENTITY.sub(lambda match: html.unescape(match.group()), text)
    if "<" in text:
        text = _BREAK.sub("\n", text)
    if not text.isascii():
        text = _INVISIBLE.sub(_keep_joiner, text).replace("\u00a0", " ")
        text = text.replace("\u2028", "\n").replace("\u2029", "\n")
    return _CONTROL.sub("", text)


def _keep_joiner(match: re.Match[str]) -> str:
    character, text = match.group(), match.string
    if character not in _JOINERS:
        return ""
    before, after = text[: match.start()][-1:], text[match.end() : match.end() + 1]
    for pattern in (_JOINED, _EMOJI):
        if pattern.match(before) and pattern.match(after):
            return character
    return ""


def squeeze_spaces(text: str) -> str:
    """A text with single spaces and none at its ends."""
    return (_SPACES.sub(" ", text) if "  " in text or "\t" in text else text).strip()


def normalize_text(text: str) -> str:
    """Return a text without HTML entities, control and invisible characters, and repeated spaces; masks nothing."""
    return squeeze_spaces(clean_text(text))


class _Folded(dict[int, str]):
    """Each character's simplest form: one character, or none for what only decorates."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character == "\u20e3" or _INVISIBLE.match(character):
            simple = ""
        elif character in FOLDED_SIGNS:
            simple = FOLDED_SIGNS[character]
        elif 0x1F150 <= code <= 0x1F169 or 0x1F170 <= code <= 0x1F189:  # white letters on black
            simple = chr((code - 0x1F150) % 32 + ord("A"))
        else:
            simple = unicodedata.normalize("NFKC", character)
            if len(simple) != 1:
                simple = character
            if (digit := unicodedata.digit(simple, None)) is not None:
                simple = str(digit)
        self[code] = simple
        return simple


_FOLDED = _Folded()
_MIXED = re.compile(r"[A-Za-z]\w*[а-яА-Яі]\w*|[а-яА-Яі]\w*[a-zA-Z]\w*")
_LOOKALIKES = str.maketrans("аеорсухіАЕОРСУХВНКМТ", "aeopcyxiAEOPCYXBHKMT")
_SEPARATORS = " ·~.-_/•*|"
SPREAD = (
    r"(?:^|[^\pL\pN])(?:[\pL\pN][ ·~.\-_/•*|]{1,2}){3}[\pL\pN](?:[^\pL\pN]|$)"
    r"|[\x{4e00}-\x{9fff}\x{3040}-\x{30ff}\x{ac00}-\x{d7a3}][·~][\x{4e00}-\x{9fff}\x{3040}-\x{30ff}\x{ac00}-\x{d7a3}]"
    r"|[\x{4e00}-\x{9fff}\x{ac00}-\x{d7a3}] [\x{4e00}-\x{9fff}\x{ac00}-\x{d7a3}] [\x{4e00}-\x{9fff}\x{ac00}-\x"
    r"{d7a3}]|\pN \pN \pN|\pN \pN号"
)
"""Characters of a word that stand apart, in RE2's dialect."""
_CJK = "\u3005\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7a3"
_SPREAD = re.compile(
    rf"(?<![^\W_{_CJK}])[^\W_](?:[ ·~.\-_/•*|]{{1,2}}[^\W_]){{3,}}(?![^\W_{_CJK}])|[{_CJK}](?:[·~ ][{_CJK}]){{1"
    rf",6}}|[{_CJK}]?\d(?:[ \-]{{1,3}}\d){{1,}}(?=[ \-]?[{_CJK}])"
)


def fold_text(text: str) -> tuple[str, list[int] | None]:
    """The text's shadow and the place of each of its characters; None where the places are the same."""
    if text.isascii():
        return text, None
    shadow = text.translate(_FOLDED)
    if _MIXED.search(shadow):  # letters that only look Latin
        shadow = _MIXED.sub(lambda match: match.group().translate(_LOOKALIKES), shadow)
    if len(shadow) == len(text):
        return shadow, None
    places = [index for index, character in enumerate(text) if _FOLDED[ord(character)]]
    return shadow, places


def collapse_spread(shadow: str) -> tuple[str, list[int]] | None:
    """A folded text with words like `n a m e` put together and the place of each character; None without any."""
    pieces: list[int] = []
    end = 0
    for match in _SPREAD.finditer(shadow):
        pieces += range(end, match.start())
        pieces += [place for place in range(*match.span()) if shadow[place] not in _SEPARATORS]
        end = match.end()
    if not end:
        return None
    pieces += range(end, len(shadow))
    return "".join(shadow[place] for place in pieces), pieces
