"""Finders of e-mail and web addresses, in plain form and in the disguises that people use."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

from vivant_build.privacy.contact_patterns import ASCII, CJK, DIGIT, LETTERS, make_finder
from vivant_build.privacy.word_lists import is_word, join_words, read_words

_AT_WORDS = join_words("at_words")
"""All but the English one, which is a word of its own."""
_AT = rf"(?:at|{_AT_WORDS})"
_DOT = f"(?:{join_words('dot_words')})"
_PROVIDERS = join_words("providers")
_ENDINGS = join_words("common_endings")
_SURE_ENDINGS = frozenset(read_words("sure_endings"))
"""Endings that are no words, for addresses with the dot in words."""
_PRODUCTS = frozenset(read_words("products"))
_FILES = frozenset(read_words("file_endings"))
_SHORT_WORDS = frozenset(read_words("word_endings"))
_MAIL_WORDS = read_words("mail_words")
_REST = r"[!-~\u00a1-\u04ff]"
"""What may go on in an address: no letter of scripts without spaces, whose text follows at once."""
_LOCAL = r"(?<![\w.+\-])[\w.+\-]+"
_OPEN, _CLOSE = r"[\[({<*_\-/|«\"']", r"[\])}>*_\-/|»\"']"
_CLOSING = dict(zip("[({<«", "])}>»", strict=True))
_BRACKETED_DOT = rf"\s*(?:\.|,|点|{_OPEN}+\s*(?:{_DOT}|\.)\s*{_CLOSE}+|\s{_DOT}\s)\s*"


_AT_THIS_POINT = re.compile(rf"\s(?:point|period)\s+(?:{join_words('word_endings')})$", re.IGNORECASE)
_VERSION = re.compile(
    r"(?<![^\W\d_])(?:v|ver|version|versión|release|build|firmware|patch|update|верси[яию]|обновлени[ея]|版本|バージョン|버전)"
    r"[\s.:]*$",
    re.IGNORECASE,
)
_PAGE = re.compile(rf"/[{ASCII}+@~]")
_UNSPACED = re.compile(rf"^.*[{CJK}](?=[{ASCII}])")
"""Words of a script without spaces, before an address that follows at once."""


class _WebEndings(Struct, frozen=True, forbid_unknown_fields=True):
    endings: str
    words: str


@cache
def _load_endings() -> tuple[frozenset[str], frozenset[str]]:
    content = (files("vivant_build.privacy") / "web_endings.yaml").read_text(encoding="utf-8")
    data = msgspec.yaml.decode(content, type=_WebEndings)
    return frozenset(data.endings.split()), frozenset(data.words.split())


def _is_address(match: re.Match[str]) -> bool:
    """Whether dotted words are a web address, not the end of a sentence with the next one's first word, nor a file."""
    ending, path = match["ending"], match["path"]
    if not (ending.islower() or ending.isupper() or not ending.isascii()):
        return False  # the first word of a sentence
    sure, words = _load_endings()
    ending, name = ending.lower(), _UNSPACED.sub("", match["name"])
    if f"{name}.{ending}".lower() in _PRODUCTS and not path:
        return False
    labels = name.split(".")
    path = path if path and len(path) > 2 else ""
    if ending.startswith("xn--") or (path and _PAGE.match(path) and len(ending) <= 10 and ending.isascii()):
        return True
    if not match["ending"].islower() and ending.isascii() and not name.isascii():
        return False  # the full stop of a script without spaces, and an abbreviation
    if ending in sure:
        if ending in _FILES | _SHORT_WORDS and not path and len(labels) == 1:
            return all(map(str.isalpha, name.split("-"))) and not all(map(is_word, name.split("-")))
        return len(name) > 1 or bool(path)
    if ending not in words:
        return False
    if path or (len(labels) > 1 and max(map(len, labels)) > 6):
        return True
    return len(labels) == 1 and len(name) >= 6 and name.islower() and name.isascii() and not is_word(name)


def _is_spoken_address(match: re.Match[str]) -> bool:
    """Whether words around a dot in words are an address: the ending is no word, or the name is none."""
    ending, name = match["ending"].lower(), match["name"].lower()
    if ending in _SURE_ENDINGS:
        return name not in ("the", "a", "an", "el", "la", "der", "die", "das")
    if not _is_ending(ending):
        return False
    return match["path"] is not None or (len(name) >= 4 and name.isascii() and not is_word(name))


def _is_ending(ending: str) -> bool:
    """Whether addresses end so."""
    sure, words = _load_endings()
    return ending in sure or ending in words


def _is_email(match: re.Match[str]) -> bool:
    """Whether what stands around an @ is an address: `f@ck` and `p@ss` are words with a letter hidden."""
    if not any(map(str.isalpha, match.group())):
        return False
    local, _, domain = match.group().rpartition("@")
    if "." in domain:
        return True
    written = local[-1:].isascii() and len(local) > 2 and len(domain) > 2
    return written and not is_word(f"{local}a{domain}")


def _is_spaced_email(match: re.Match[str]) -> bool:
    """Whether an @ with spaces belongs to the word before it: `thanks @bowl.club` is a word and a mention."""
    local, _, domain = match.group().rpartition("@")
    return not local[-1:].isspace() or domain[:1].isspace() or not is_word(local.strip(" @"))


def _has_brackets(match: re.Match[str]) -> bool:
    """Whether signs around an `at` belong together; a bare `a` needs brackets: `mar-a-lago` is a word."""
    opening = match["open"]
    if opening is None:
        return True
    paired = _CLOSING.get(opening, opening) == match["close"]
    return paired and (opening in _CLOSING or match["at"].lower() != "a")


def _names_mailbox(match: re.Match[str]) -> bool:
    """Whether a word before a provider's address is a mailbox: `use gmail.com` names none."""
    return bool(match["sign"].strip()) or not is_word(match["box"])


def _has_path(match: re.Match[str]) -> bool:
    return _is_ending(match["ending"].lower())


_MAILS = (
    make_finder(
        r"(?:mailto:)?(?<![\w.+%\-])[\w.+%\-]+(?::[^\s@]+)?@[\w\-]+(?:\.[\w\-]+)*",
        _is_email,
        gate=r"[\w+%\-.]@[\w\-]|:\S+@\w",
        common=True,
        precondition="@",
    ),
    make_finder(
        rf"{_LOCAL}\s?@+\s?[\w\-]+\s?[.,]\s?(?:{_ENDINGS})(?!\w)",
        _is_spaced_email,
        gate=r"\w(?:\s@+\s?|@+\s)[\w\-]+\s?[.,]\s?\pL|\w@+[\w\-]+(?:\s[.,]|[.,]\s)\s?\pL",
        precondition="@",
    ),
    make_finder(
        rf"{_LOCAL} ?@ ?(?:{_PROVIDERS})(?!\w)(?:[ .,]+(?:{_ENDINGS})(?!\w))?"
        r"|(?<!\w)(?:[\w.] ){3,}@ (?:[\w] ){2,}\. ?(?:\w ?){2,3}(?!\w)",
        gate=rf"\w ?@ ?(?i:{_PROVIDERS})(?:\W|$)|\w @ \w ",
        precondition="@",
    ),
    make_finder(r"[\w.+\-]+%40[\w.\-]+", needles="%40"),
    make_finder(
        rf"{_LOCAL}\s*(?P<open>{_OPEN})+\s*(?P<at>{_AT}|@|a|ⓐ)\s*(?P<close>{_CLOSE})+\s*[\w\-]+?(?:{_BRACKETED_DOT}[\w\-]+)+"
        rf"|{_LOCAL}\s*[\[({{<]\s*(?:{_AT}|@|a)\s*[\])}}>]\s*(?:{_PROVIDERS})(?!\w)",
        _has_brackets,
        gate=rf"{_OPEN}\s*(?i:{_AT}|@|a)\s*{_CLOSE}",
    ),
    make_finder(
        rf"(?:[\w+\-]+\s+(?:{_DOT}|underscore|dash|guion bajo|unterstrich|минус|подчеркивание)\s+)*{_LOCAL}\s+{_AT}\s+"
        rf"[\w\-]+(?:\s*{_DOT}\s*[\w\-]+)*\s+{_DOT}\s+(?:{_ENDINGS})(?![{ASCII}])",
        lambda match: not _AT_THIS_POINT.search(match.group()),
        gate=rf"\s(?i:{_DOT}\s+(?:{_ENDINGS}))(?:$|[^{ASCII}])",
    ),
    make_finder(
        rf"(?<![\w.])[\w\-]+[._][\w.\-]+\s+{_AT}\s+[\w\-]+(?:\s+{_DOT}\s+[\w\-]+)+",
        gate=rf"\w[._]\w\S*\s+(?i:{_AT})\s+[\w\-]+\s+(?i:{_DOT})\s",
    ),
    make_finder(
        rf"[\w.+\-]{{3,}}?\s*(?:{_AT_WORDS}|-at-|[★☆◎●■□◆◇▲△]|(?-i:\sAT\s|AT(?=[a-z])))\s*[\w\-]+?\s*(?:\.[\w\-]+)*?(?:\.|\s*{_DOT})\s*"
        rf"(?:{_ENDINGS})(?![{ASCII}])|{_LOCAL}\s*(?:{_AT_WORDS})\s*[\w\-]+(?:\.[\w\-]+)+",
        gate=rf"(?:(?i:{_AT_WORDS}|-at-)|[★☆◎●■□◆◇▲△]|\sAT\s|AT)\s*[\w\-]+(?:\.\pL|\s*(?i:{_DOT}))",
    ),
    make_finder(
        rf"[\w.+\-]{{3,}}[#*][\w\-]+(?:\.[\w\-]+)*?\.(?:{_ENDINGS})(?![{ASCII}])",
        gate=r"\w[#*]\w[\w.\-]*\.\pL",
    ),
    make_finder(
        rf"(?P<box>[\w.+\-]{{3,}})(?P<sign>\s+(?:{_AT}|@)\s+|\s*(?:{_AT_WORDS})\s*|\s*[^\w\s.,;:!?/]{{1,4}}\s*|\s+)"
        rf"(?:{_PROVIDERS})\s*(?:[.,]|{_DOT}|\s)\s*(?:{_ENDINGS})(?!\w)",
        _names_mailbox,
        gate=rf"(?i:{_PROVIDERS})\s*(?:[.,]|(?i:{_DOT})|\s)\s*(?i:{_ENDINGS})(?:$|[^\w])",
    ),
    make_finder(
        rf"(?P<box>[\w.+\-]{{3,}})(?P<sign>)(?:\s+(?:at|arroba|ät)\s+|\s*(?:собака|골뱅이|艾特|アット(?:マーク)?)\s*)"
        rf"(?:{_PROVIDERS})(?!\w)",
        _names_mailbox,
        gate=rf"\w\s*(?i:{_AT})\s*(?i:{_PROVIDERS})",
    ),
    make_finder(
        rf"(?:{'|'.join(_MAIL_WORDS)})(?:\s+(?:me|is|ist|es|address|adresse))*\s*[:=]?\s*"
        rf"(?P<box>[{LETTERS}.\-]{{3,}})(?P<sign>)(?: ?\d+)?\s+{_AT}\s+[{LETTERS}\-]{{3,}}(?:\.[{LETTERS}]+)*",
        _names_mailbox,
        gate=rf"(?i:{'|'.join(_MAIL_WORDS)}).*\s(?i:{_AT})\s",
    ),
    make_finder(
        rf"(?:e-?mail|{'|'.join(_MAIL_WORDS)})(?:\s+(?:me|is|ist|es|address|adresse))*\s*[:=是は]?\s*"
        rf"(?=[{LETTERS}.\-]*\d|[{LETTERS}\-]*[a-z][._][a-z])[a-z0-9][{LETTERS}.\-]{{3,}}[a-z0-9]",
        needles=_MAIL_WORDS,
    ),
)
_WITH_PATH = "gg|me|ly|com|be|to|tv|ee|co|io|app|gl|cc|link|page"
_LINKS = (
    make_finder(
        r"(?-i:(?=[hfitmwsdcHFITMWSDC]))(?:h\s?(?:t\s?t|x\s?x|\*\*)\s?p\s?s?|ftp|ipfs|ipns|tg|magnet|wss?|steam|discord)\s?(?::|\[:\])\s?/\s?/\s?"
        rf"(?:{_REST}+|\S+)"
        r"|(?:tel|sms|skype|callto):\+?[\w\-]+",
        needles=(":/", ": /", "[:]", "tel:", "sms:", "skype:", "callto:"),
    ),
    make_finder(rf"(?<![A-Za-z0-9])www\.(?=[{LETTERS}\-]+\.[{LETTERS}]|[a-z]{{4}}){_REST}+", needles="www."),
    make_finder(
        r"(?<![A-Za-z0-9_.@\-])(?P<name>[\w\-]{2,}(?:\.[\w\-]+)*|[a-z]\.[\w\-]{2,}(?=\.[a-z]{2,10}/)|[a-z])\."
        rf"(?P<ending>xn--[a-z0-9]+|[a-z]{{2,18}}(?![{LETTERS}\-])|[^\W\d_]{{2,18}})(?![A-Za-z0-9_\-])"
        rf"(?P<path>[:/?]{_REST}*)?(?:\s(?:slash|barra|слэш|слеш)\s\S+)?",
        _is_address,
        gate=r"\w\.\pL\pL",
        common=True,
    ),
    make_finder(
        rf"(?<![\w.@\-])[\w\-]{{1,20}}(?: ?[.,·] ?| )(?P<ending>{_WITH_PATH})\s?/\s?(?=[+@]?[{ASCII}])(?:{_REST}+)",
        _has_path,
        gate=rf"\w(?: [.,·] ?|[,·] ?|[.] | )(?i:{_WITH_PATH})\s?/|\w\.(?i:{_WITH_PATH})\s/",
    ),
    make_finder(
        rf"[\w\-]+\s*[\[({{<]\s*(?:{_DOT}|\.)\s*[\])}}>]\s*[a-z]{{2,}}(?:/\S*)?",
        gate=rf"[\[({{<]\s*(?i:{_DOT}|\.)\s*[\])}}>]",
    ),
    make_finder(
        rf"(?<![{LETTERS}\-])(?:www\s*(?:{_DOT}|\s)\s*)?(?P<name>[{LETTERS}\-]+?)(?:\s+{_DOT}\s+|\s?(?:点|點|점|쩜|닷|ドット|どっと)\s?)"
        r"(?P<ending>[^\W\d_]{2,10}?|컴|넷)(?![A-Za-z0-9_\u00c0-\u04ff])(?P<path>\s*(?:/|slash)\s*\S+)?",
        _is_spoken_address,
        gate=rf"\w(?i:\s{_DOT}\s|\s?(?:点|點|점|쩜|닷|ドット|どっと)\s?)(?:\pL\pL|컴|넷)",
    ),
    make_finder(
        r"[\w\-]{4,}(?:[•·*](?:com|net|org|ru)(?!\w)|,(?:com|net|org|ru)(?=$|[/)!\s]))(?:/\S*)?",
        gate=r"\w[•·*,](?i:com|net|org|ru)(?:$|\W)",
    ),
    make_finder(
        r"(?<!\w)w ?w ?w[ .,]+[\w\-]{3,}(?:[ .,]+|\s?dot\s)(?P<ending>[a-z]{2,6})(?!\w)",
        _has_path,
        gate=r"(?i:w ?w ?w)[ .,]",
    ),
    make_finder(
        rf"(?<!\w)(?P<name>[\w\-]{{4,}})(?: \. ?|\. | , )(?P<ending>com|net|org|ru)(?![{ASCII}]|\.\w)(?:/{_REST}*)?"
        r"|(?<![\w.])(?P<unknown>[a-z0-9\-]{4,}) \. ?(?:com? \. ?)?(?P<other>[a-z]{2,5})"
        r"(?:\s?/\s?[\w\-]+(?:\s?\.\s?(?:html?|php))?|(?=$|\s*[^\w\s.]|\s+[^\x00-\x7f]))",
        lambda match: match["name"] is not None or _is_unknown_address(match["unknown"], match["other"]),
        gate=r"\w(?: \. ?|\. | , )(?i:com|net|org|ru)(?:$|\W)|\w \. ?[a-zA-Z]{2,5}(?:$|\s*[^\w\s.]|\s+[^\x00-\x7f])",
    ),
    make_finder(
        rf"(?<![{ASCII}.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){{3}}(?:25[0-5]|2[0-4]\d|1?\d?\d)"
        rf"(?![{ASCII}.]\w|[{ASCII}])(?::\d+)?(?:/{_REST}*)?",
        lambda match: _VERSION.search(match.string, max(0, match.start() - 16), match.start()) is None,
        precondition=DIGIT,
        gate=r"(?:\d\.\d+){2}|(?:\d\.){3}",
    ),
    make_finder(
        rf"(?<![{ASCII}:])(?:(?:[0-9a-f]{{1,4}}:){{5,7}}[0-9a-f]{{1,4}}|(?:[0-9a-f]{{1,4}}:){{2,6}}"
        rf"(?::[0-9a-f]{{1,4}}){{1,5}}|[0-9a-f]{{1,4}}:(?::[0-9a-f]{{1,4}}){{3,6}})(?![{ASCII}:])",
        precondition=DIGIT,
        gate=r"(?i:[0-9a-f]:[0-9a-f:]{4})",
    ),
)


def _is_unknown_address(name: str, ending: str) -> bool:
    """Whether `name . lol` is an address: the name is no word and the ending is one of addresses."""
    return _is_ending(ending) and not is_word(name) and not name.isdigit()


FINDERS = (*_LINKS, *_MAILS)
