"""Patterns of e-mail and web addresses, in plain form and in the disguises that people use."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

from vivant.build.mimic.ingestion.contact_patterns import ASCII, LETTERS, make_pattern
from vivant.build.mimic.ingestion.word_lists import is_word, join_words, read_word_lists, split_list

_WORDS = read_word_lists()
AT_WORDS = join_words(_WORDS.at_words)
"""All but the English one, which is a word of its own."""
DOT = f"(?:{join_words(_WORDS.dot_words)})"
PROVIDERS = join_words(_WORDS.providers)
_AT = rf"(?:at|{AT_WORDS})"
_DOT_NEEDLES = tuple(split_list(_WORDS.dot_words))
_AT_NEEDLES = tuple(split_list(_WORDS.at_words))
_MAIL_WORDS = ("mail", "почта", "почту", "почте", "邮箱", "郵箱", "メール", "メアド", "메일", "correo")
_COMMON = (
    "com|net|org|info|io|tv|gg|me|eu|ru|рф|ру|ком|de|fr|es|uk|cn|jp|kr|br|xyz|app|shop|store|online|site|ch|a"
    "t|it|pl|nl|mx|ar|cl|"
    "ua|by|kz|in|us|ca|au|co|edu|biz|dev|club|ai|pro|live|to|ly"
)
_SPOKEN = "com|net|org|info|io|tv|gg|eu|ru|рф|ру|ком|нет|орг|cn|jp|xyz|app|ly|ком"
"""Endings that are no words, for addresses with the dot in words."""
_REST = r"[!-~\u00a1-\u04ff]"
"""What may go on in an address: no letter of scripts without spaces, whose text follows at once."""
_LOCAL = r"[\w.+\-]+"
_OPEN, _CLOSE = r"[\[({<*_\-/|«\"']", r"[\])}>*_\-/|»\"']"
_FILES = frozenset(
    [
        "zip",
        "mov",
        "py",
        "md",
        "rs",
        "sh",
        "pl",
        "ps",
        "pm",
        "so",
        "ai",
        "cc",
        "app",
        "js",
        "ts",
        "rb",
        "vi",
        "java",
        "doc",
        "docs",
        "bin",
        "mp",
        "ts",
        "st",
        "ms",
        "ml",
        "sc",
    ]
)
_ONE_WORD_ENDINGS = frozenset(
    [
        "de",
        "es",
        "be",
        "al",
        "su",
        "la",
        "as",
        "at",
        "by",
        "do",
        "am",
        "im",
        "in",
        "is",
        "it",
        "me",
        "my",
        "no",
        "so",
        "to",
        "us",
        "un",
        "se",
        "si",
        "ve",
    ]
)


class _WebEndings(Struct, frozen=True, forbid_unknown_fields=True):
    endings: str
    words: str


@cache
def _load_endings() -> tuple[frozenset[str], frozenset[str]]:
    content = (files("vivant.build.mimic.ingestion") / "web_endings.yaml").read_text(encoding="utf-8")
    data = msgspec.yaml.decode(content, type=_WebEndings)
    return frozenset(data.endings.split()), frozenset(data.words.split())


def _is_address(match: re.Match[str]) -> bool:
    """Whether dotted words are a web address, not the end of a sentence with the next one's first word, nor a file."""
    ending, path = match["ending"], match["path"]
    if not (ending.islower() or ending.isupper() or not ending.isascii()):
        return False  # the first word of a sentence
    sure, words = _load_endings()
    ending, name = ending.lower(), match["name"]
    labels = name.split(".")
    path = path if path and len(path) > 2 else ""
    if ending.startswith("xn--"):
        return True
    if ending in sure:
        if ending in _FILES | _ONE_WORD_ENDINGS and not path and len(labels) == 1:
            return all(map(str.isalpha, name.split("-"))) and not all(map(is_word, name.split("-")))
        return len(name) > 1 or bool(path)
    if ending not in words:
        return False
    if path or (len(labels) > 1 and max(map(len, labels)) > 6):
        return True
    return len(labels) == 1 and len(name) >= 6 and name.islower() and name.isascii() and not is_word(name)


def _is_email(match: re.Match[str]) -> bool:
    """Whether what stands around an @ is an address: `f@ck` and `p@ss` are words with a letter hidden."""
    found = match.group()
    if not any(character.isalpha() for character in found):
        return False
    local, _, domain = found.rpartition("@")
    return "." in domain or (len(local) > 2 and len(domain) > 2 and not is_word(f"{local}a{domain}"))


def _is_spaced_email(match: re.Match[str]) -> bool:
    """Whether an @ with spaces belongs to the word before it: `thanks @bowl.club` is a word and a mention."""
    local, _, domain = match.group().rpartition("@")
    return not local[-1:].isspace() or domain[:1].isspace() or not is_word(local.strip(" @"))


def _names_mailbox(match: re.Match[str]) -> bool:
    """Whether a word before a provider's address is a mailbox: `use gmail.com` names none."""
    return bool(match["sign"].strip()) or not is_word(match["box"])


def _has_path(match: re.Match[str]) -> bool:
    return match["ending"].lower() in _load_endings()[0] | _load_endings()[1]


_BRACKETED_AT = (
    *(f"{word}{end}" for word in ("t", "t ", "@", "@ ", "a") for end in ")]}>*_-/|»\"'"),
    *(f"{word}{end}" for word in _AT_NEEDLES for end in ("", " ")),
)
_BRACKETED_DOT = rf"\s*(?:\.|,|点|{_OPEN}+\s*(?:{DOT}|\.)\s*{_CLOSE}+|\s{DOT}\s)\s*"
EMAILS = (
    make_pattern("@", r"(?:mailto:)?[\w.+%\-]+(?::[^\s@]+)?@[\w\-]+(?:\.[\w\-]+)*", _is_email),
    make_pattern((" @", "@ "), rf"{_LOCAL}\s?@+\s?[\w\-]+\s?[.,]\s?(?:{_COMMON})(?!\w)", _is_spaced_email),
    make_pattern((" @", "@ "), rf"{_LOCAL} ?@ ?(?:{PROVIDERS})(?!\w)(?:[ .,]+(?:{_COMMON})(?!\w))?"),
    make_pattern(" @ ", r"(?<!\w)(?:[\w.] ){3,}@ (?:[\w] ){2,}\. ?(?:\w ?){2,3}(?!\w)"),
    make_pattern("%40", r"[\w.+\-]+%40[\w.\-]+"),
    make_pattern(
        "at",
        rf"{_LOCAL}\s+(?-i:AT)\s+[\w\-]+(?:\.[\w\-]+)*\.(?-i:{_COMMON})(?![{ASCII}])"
        rf"|[a-z0-9.+]{{3,}}(?-i:AT)(?:{PROVIDERS})(?:\.|(?-i:DOT|dot))(?:{_COMMON})(?![{ASCII}])",
    ),
    make_pattern(
        _BRACKETED_AT,
        rf"{_LOCAL}\s*{_OPEN}+\s*(?:{_AT}|@|a|ⓐ)\s*{_CLOSE}+\s*[\w\-]+?(?:{_BRACKETED_DOT}[\w\-]+)+",
    ),
    make_pattern(_BRACKETED_AT, rf"{_LOCAL}\s*[\[({{<]\s*(?:{_AT}|@|a)\s*[\])}}>]\s*(?:{PROVIDERS})(?!\w)"),
    make_pattern(
        tuple(f"{word} " for word in _DOT_NEEDLES),
        rf"(?:[\w+\-]+\s+(?:{DOT}|underscore|dash|guion bajo|unterstrich|минус|подчеркивание)\s+)*{_LOCAL}\s+"
        rf"{_AT}\s+[\w\-]+"
        rf"(?:\s*{DOT}\s*[\w\-]+)*\s+{DOT}\s+(?:{_COMMON})(?![{ASCII}])",
    ),
    make_pattern(
        (*_AT_NEEDLES, "-at-", *"#★☆◎●*■□◆◇▲△"),
        rf"[\w.+\-]{{3,}}\s*(?:{AT_WORDS}|-at-|[#★☆◎●*■□◆◇▲△])\s*[\w\-]+?\s*(?:\.[\w\-]+)*?(?:\.|\s*{DOT})\s*(?:"
        rf"{_COMMON})(?![{ASCII}])",
    ),
    make_pattern(
        tuple(split_list(_WORDS.providers)),
        rf"(?P<box>[\w.+\-]{{3,}})(?P<sign>\s+(?:{_AT}|@)\s+|\s*(?:{AT_WORDS})\s*|\s*[^\w\s.,;:!?/]{{1,4}}\s*|\s+)"
        rf"(?:{PROVIDERS})\s*(?:[.,]|{DOT}|\s)\s*(?:{_COMMON})(?!\w)",
        _names_mailbox,
    ),
    make_pattern(
        tuple(split_list(_WORDS.providers)),
        rf"(?P<box>[\w.+\-]{{3,}})(?P<sign>)(?:\s+(?:at|arroba|ät)\s+|\s*(?:собака|골뱅이|艾特|アット(?:マーク)?)"
        rf"\s*)(?:{PROVIDERS})(?!\w)",
        _names_mailbox,
    ),
    make_pattern(_AT_NEEDLES, rf"{_LOCAL}\s*(?:{AT_WORDS})\s*[\w\-]+(?:\.[\w\-]+)+"),
    make_pattern(
        _MAIL_WORDS,
        rf"(?:e-?mail|{'|'.join(_MAIL_WORDS)})(?:\s+(?:me|is|ist|es|address|adresse))*\s*[:=是は]?\s*"
        rf"(?=[{LETTERS}.\-]*\d|[{LETTERS}\-]*[a-z][._][a-z])[a-z0-9][{LETTERS}.\-]{{3,}}[a-z0-9]",
    ),
)
_NAME = r"(?<![A-Za-z0-9_.@\-])(?P<name>[\w\-]{2,}(?:\.[\w\-]+)*|[a-z])"
LINKS = (
    make_pattern(
        (":/", ": /", "[:]", "tel:", "sms:", "skype:", "callto:"),
        r"(?:h\s?(?:t\s?t|x\s?x|\*\*)\s?p\s?s?|ftp|ipfs|ipns|tg|magnet|wss?|steam|discord)\s?(?::|\[:\])\s?/\s?/\s?"
        rf"(?:{_REST}+|\S+)"
        r"|(?:tel|sms|skype|callto):\+?[\w\-]+",
    ),
    make_pattern(
        "http",
        rf"https?(?:\s?[:;]?\s?/{{1,2}}|\s*:\s?|\s+)\s?(?:www\s?\.?\s?)?[{LETTERS}\-]+(?:\s?\.\s?[{LETTERS}\-]+)+"
        rf"(?:/{_REST}*)?",
    ),
    make_pattern("www.", rf"(?<![A-Za-z0-9])www\.(?=[{LETTERS}\-]){_REST}+"),
    make_pattern(
        ".",
        rf"{_NAME}\."
        rf"(?P<ending>xn--[a-z0-9]+|[a-z]{{2,18}}(?![{LETTERS}\-])|[^\W\d_]{{2,18}})(?![A-Za-z0-9_\-])"
        rf"(?P<path>[:/?]{_REST}*)?",
        _is_address,
    ),
    make_pattern("/", rf"(?<![A-Za-z0-9_.@\-])[\w\-]+(?:\.[\w\-]+)*\.[a-z]{{2,10}}/[{ASCII}+@~]{_REST}+"),
    make_pattern(
        tuple(
            f"{end}{slash}"
            for end in [
                "gg",
                "me",
                "ly",
                "com",
                "be",
                "to",
                "tv",
                "ee",
                "co",
                "io",
                "app",
                "gl",
                "cc",
                "link",
                "page",
            ]
            for slash in ("/", " /")
        ),
        r"(?<![\w.@\-])[\w\-]{1,20}(?: ?[.,·] ?| )(?P<ending>gg|me|ly|com|be|to|tv|ee|co|io|app|gl|cc|link|page)\s?/\s?"
        rf"(?=[+@]?[{ASCII}])(?:{_REST}+)",
        _has_path,
    ),
    make_pattern(
        (*_DOT_NEEDLES, "(.", "[.", "( .", "[ .", "{."),
        rf"[\w\-]+\s*[\[({{<]\s*(?:{DOT}|\.)\s*[\])}}>]\s*[a-z]{{2,}}(?:/\S*)?",
    ),
    make_pattern(
        tuple(f"{word} " for word in _DOT_NEEDLES),
        r"[\w\-]{4,}\s+punkt\s+de(?!\w)|"
        rf"(?<![\w\-])(?!(?:the|a|an|el|la|der|die|das)\s)[\w\-]+\s+{DOT}\s+(?:{_SPOKEN})(?!\w)(?:\s*(?:/|slash)"
        rf"\s*\S+)?",
    ),
    make_pattern(
        ("点", "點", "점", "ドット", "どっと"),
        rf"[a-z0-9\-]{{3,}}\s?(?:点|點|점|ドット|どっと)\s?(?:{_SPOKEN}|コム)(?![a-z])",
    ),
    make_pattern(
        tuple(f"{sign}{end}" for sign in "•·,*。" for end in ("com", "net", "org", "ru")),
        r"[\w\-]{4,}(?:[•·*](?:com|net|org|ru)(?!\w)|,(?:com|net|org|ru)(?=$|[/)!\s]))(?:/\S*)?",
    ),
    make_pattern(
        "www", r"(?<!\w)w ?w ?w[ .,]+[\w\-]{3,}(?:[ .,]+|\s?dot\s)(?:com|net|org|de|ru|es|info|io)(?!\w)"
    ),
    make_pattern(
        (" .", " ,", ". "),
        r"(?<!\w)[\w\-]{4,}(?: ?\. ?| , )(?:com|net|org|ru)(?!\w|\.\w)(?:/\S*)?",
    ),
    make_pattern(
        ".",
        rf"(?<![{ASCII}.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){{3}}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![{ASCII}.]\w|["
        rf"{ASCII}])(?::\d+)?(?:/{_REST}*)?",
    ),
    make_pattern(
        ":",
        rf"(?<![{ASCII}:])(?:(?:[0-9a-f]{{1,4}}:){{5,7}}[0-9a-f]{{1,4}}|(?:[0-9a-f]{{1,4}}:){{2,6}}(?::[0-9a-f]{{"
        rf"1,4}}){{1,5}}"
        rf"|[0-9a-f]{{1,4}}:(?::[0-9a-f]{{1,4}}){{3,6}})(?![{ASCII}:])",
    ),
)
