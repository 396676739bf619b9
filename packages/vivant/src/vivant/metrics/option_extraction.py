"""Which option a reply names. Rules in order, each with a name of its own; two readings are none.

For benchmarks without a paper's quirks and for `strict` protocols. Nothing is guessed: the article "A" and
the pronoun "I" are not options, nor is a letter that happens to stand in a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct

from vivant.core.types import Option
from vivant.metrics.text import normalise_text, strip_thinking


class Extraction(Struct, frozen=True):
    """What was read, and how.

    Rules that decide: `name`, `statement`, `leading`, `last-line`, `text`, `text-last-line`, `text-in-reply`.
    Without a name, `rule` says why: `empty`, `thinking` (it never ends), `ambiguous`, `denied`, `none`.
    """

    name: str | None
    rule: str


# Repetition is bounded or possessive throughout: a reply of a million asterisks must not take quadratic time.
_OPEN = r"[\s*_`\"'“‘$(\[{<#]"
_CLOSE = r"[*_`\"'”’$)\]}>]"
_WORD_END = r"(?![0-9A-Za-zÀ-ɏ%°]|['’-][A-Za-z]|\.[0-9A-Za-z]|[,:/]\d)"
_KIND = r"(?:(?:the\s+)?(?:option|choice|letter)\s+)"
_ADVERBS = r"(?:\s*\b(?:most|likely|probably|clearly|definitely|therefore|thus|hence|then|indeed)\b,?){0,2}"

_STATEMENT = re.compile(
    r"\\boxed\s{0,2}(?=\{)"
    r"|(?=\[\[)"
    r"|(?:(?<![A-Za-z])(?P<before>[A-Za-z]++)[\s*_]{1,4})?(?<![A-Za-z])(?P<noun>answer|option|choice)[*_]{0,3}"
    r"(?:\s(?:to|for|of)\s[^.:\n]{1,80}?)?[\s*_]{0,4}"
    r"(?:\b(?:is|would\s+be|should\s+be|must\s+be)(?P<negated>n['’]t)?\b|[:=→])(?:\s{0,2}:)?" + _ADVERBS +
    r"|\bI(?:['’](?:d|ll)|\s+would|\s+will)?\s+(?:choose|pick|select|go\s+with)\b:?"
    r"|答案(?:是|为|為|应为|應為|选|選)?:?",
    re.IGNORECASE,
)  # fmt: skip
# "A wrong answer is B" states no answer; "option" and "choice" state one only after such a word as "correct".
_NOT_FINAL = re.compile(
    r"wrong|incorrect|other|another|possible|each|every|per|one|alternative|first|next", re.I
)
_FINAL = re.compile(r"correct|right|best|final|my|the|chosen|selected|likely|appropriate|accurate", re.I)
_IS_THE_ANSWER = (
    r"\s+is\s+the\s+(?:(?:correct|right|best|final|most\s+\w+|only\s+\w+)\s+)?(?:answer|option|choice)\b"
)
_NO_SUBJECT = re.compile(r"or|and|nor|neither|not|if|whether|than", re.I)

_DENIAL = re.compile(
    r"[\s*_:]*(?:not|neither|none|no|nothing|unknown|unclear|undetermined|cannot|n/a)\b", re.I
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|cannot|without|rather than|instead of|unlike|except)\b|n t\b"
)
_BARE_END = re.compile(
    r"\s*(?:$|[.,;:!?)\n。、]|[-–—=→(])|\s+(?:because|since|as|for|due|based|given|which|where)\b", re.I
)
_AND = re.compile(r"\s*(?:[,/&+]|and\b|or\b)\s*(?:(?:and|or|maybe|perhaps|possibly|also)\s+){0,2}", re.I)
_SEPARATOR = re.compile(r"\s*(?:[.):](?=\s|$|[*_])|(?P<weak>,(?=\s)|(?<=\s)[-–—](?=\s)))")
_ABOUT = re.compile(
    r"\s+(?:is|isn|was|are|can|cannot|could|seems?|appears?|would|does|doesn|may|might)\b", re.I
)
_TAIL = re.compile(r"[\s*_`\"'”’$)\]}>.,:;!]*")
_BULLET = re.compile(r"\s*(?:[-•*+]\s+)?")
_CLAUSE = re.compile(r"[.;!?](?=\s|$)|\n")
_REACH = 4096
"""How many characters after "the answer is" are looked at."""
_STATEMENTS = 1000
"""How many such statements are looked at, from the last: a reply that repeats itself makes a hundred thousand."""
_LATEX = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit)\s{0,2}\{([^{}]*)\}")


def extract_option(reply: str, options: Sequence[Option]) -> Extraction:
    """The one option that the reply names by its name or, failing that, by its text."""
    answer = strip_thinking(reply)
    if answer is None:
        return Extraction(None, "thinking")
    answer = _LATEX.sub(r"\1", unicodedata.normalize("NFKC", answer)).strip()
    if not answer:
        return Extraction(None, "empty")
    return _reader(tuple(options)).read(answer)


@lru_cache(maxsize=4096)
def _reader(options: tuple[Option, ...]) -> _Reader:
    return _Reader(options)


@lru_cache(maxsize=256)
def _name_patterns(names: frozenset[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A name at the head of a text, and a name that is said to be the answer."""
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    name = f"(?P<name>{'|'.join(map(re.escape, longest_first)) or '(?!)'}){_WORD_END}"
    head = rf"(?P<open>{_OPEN}*+)(?P<kind>{_KIND})?(?P<inner>{_OPEN}*+){name}(?P<close>{_CLOSE}*+)"
    subject = (
        rf"(?:(?<![A-Za-z])(?P<before>[A-Za-z]++)\s)?(?P<kind>{_KIND})?{_OPEN}{{0,4}}(?<![0-9A-Za-z])"
        rf"{name}{_CLOSE}{{0,4}}{_IS_THE_ANSWER}"
    )
    return re.compile(head, re.I), re.compile(subject, re.I)


class _Named(Struct, frozen=True):
    """A name at the head of a text."""

    name: str
    enclosed: bool
    """Brackets, emphasis or quotes on both sides."""
    introduced: bool
    """It follows the word "option"."""
    rest: str


class _Reader:
    """The rules for one set of options."""

    def __init__(self, options: tuple[Option, ...]) -> None:
        self._names = {option.name for option in options}
        folded: dict[str, list[str]] = {}
        for name in self._names:
            folded.setdefault(name.casefold(), []).append(name)
        self._folded = {key: names[0] for key, names in folded.items() if len(names) == 1}
        self._head, self._subject = _name_patterns(frozenset(self._names - {""}))
        self._texts = _telling_texts(options)
        self._reach = 64 + 4 * max(map(len, self._texts), default=0)

    @cached_property
    def _phrases(self) -> list[tuple[re.Pattern[str], str]]:
        """Made when a reply is not read by name alone: most are, and each pattern takes a while to make."""
        return [(_phrase(text), name) for text, name in self._texts.items()]

    def read(self, answer: str) -> Extraction:
        lines = [line.strip() for line in answer.splitlines() if line.strip()]
        by_text, last = self._texts.get(normalise_text(answer)), self._alone(lines[-1])
        alone = self._alone(answer)
        if alone:
            return _decide({alone, by_text or alone}, "name")
        stated = self._stated(answer)
        if stated is not None:
            # A lone name at the end speaks as plainly as the statement does.
            return _decide(stated | ({last} if last else set()), "statement") if stated else _DENIED
        listed = {name for line in set(lines) for name in self._listed(line)}
        if last and len(listed - {last}) > 1:
            return _decide({last}, "last-line")  # the options one by one, then the choice
        if self._led(lines[0]):
            return _decide(listed | ({by_text} if by_text else set()), "leading")
        if last:
            return _decide(listed, "last-line")
        if self._led(lines[-1]):
            return _decide(listed, "last-line")
        if by_text:
            return _decide({by_text}, "text")
        if len(listed) > 1 and self._listed(lines[-1]):
            return _AMBIGUOUS
        for text, rule in ((lines[-1], "text-last-line"), (answer, "text-in-reply")):
            mentioned = self._mentioned(text)
            if mentioned is not None:
                return _decide(mentioned, rule) if mentioned else _DENIED
        return Extraction(None, "none")

    # ── by name ──

    def _name_at_head(self, text: str) -> _Named | None:
        match = self._head.match(text)
        if not match:
            return None
        before = (match["inner"] or match["open"])[-1:].strip()
        enclosed = bool(before and match["close"])
        name = self._cased(match["name"], loose=enclosed or bool(match["kind"]))
        return _Named(name, enclosed, bool(match["kind"]), text[match.end() :]) if name else None

    def _cased(self, written: str, *, loose: bool) -> str | None:
        """The option so called. In running text "a" and "i" are words, and so are "in" and "be"."""
        if written in self._names:
            return written
        if loose or (len(written) == 1 and written not in "ai"):
            return self._folded.get(written.casefold())
        return None

    def _alone(self, text: str) -> str | None:
        """The name that is all of a text but for brackets, emphasis and stops."""
        match = self._head.match(text)
        if match and _TAIL.fullmatch(text, match.end()):
            return self._cased(match["name"], loose=True)
        return None

    def _stated(self, answer: str) -> set[str] | None:
        """What the last explicit statement names (nothing, if it denies); None where nothing is stated."""
        matches = [*_STATEMENT.finditer(answer), *self._subject.finditer(answer)]
        for match in sorted(matches, key=lambda match: match.end(), reverse=True)[:_STATEMENTS]:
            before = match["before"] or ""
            if match.re is self._subject:
                name = self._cased(match["name"], loose=bool(match["kind"]))
                if name and not _NO_SUBJECT.fullmatch(before):
                    return {name}
                continue
            noun = (match["noun"] or "").lower()
            if _NOT_FINAL.fullmatch(before) or (
                noun in ("option", "choice") and not _FINAL.fullmatch(before)
            ):
                continue
            content = answer[match.end() : match.end() + _REACH]
            named = set() if match["negated"] else self._stated_at_head(content)
            if named or match["negated"] or (noun and _DENIAL.match(content)):
                return named
        return None

    def _stated_at_head(self, content: str) -> set[str]:
        """The options that a statement's content begins with, by name or by text."""
        by_text = self._text_at_head(content)
        names = {by_text} if by_text else set()
        head = self._name_at_head(content)
        if head is None or not self._ends(head):
            return names
        skipped = content[: len(content) - len(head.rest)]
        if "\n" in skipped.rstrip():
            # "Let us go through each answer:", and then a list: its first item is not the answer.
            names |= {name for line in content.splitlines() for name in self._led(line)}
        return names | {head.name} | set(self._joined(head))

    def _ends(self, head: _Named) -> bool:
        """Whether a name in running text is a name, and not the article of the noun after it."""
        if head.enclosed or head.introduced or _BARE_END.match(head.rest):
            return True
        return self._text_at_head(head.rest) == head.name

    def _joined(self, head: _Named) -> Iterator[str]:
        """Other options that stand beside a name: "B and C", or "B. bowling" where bowling is C."""
        following = self._text_at_head(head.rest)
        if following:
            yield following
        link = _AND.match(head.rest) or _SEPARATOR.match(head.rest)
        if link:
            second = self._name_at_head(head.rest[link.end() :])
            if second and self._ends(second):
                yield second.name

    def _led(self, line: str) -> set[str]:
        """The options that a line begins with, as in "B. …", "(B) …", "B) …"."""
        head = self._name_at_head(line[_BULLET.match(line).end() :])  # type: ignore[union-attr]
        if head is None or _ABOUT.match(head.rest):
            return set()
        mark = _SEPARATOR.match(head.rest)
        separated = bool(mark) and not (mark["weak"] and head.name in ("A", "I"))  # type: ignore[index]
        if separated or head.enclosed or not head.rest.strip() or self._text_at_head(head.rest) == head.name:
            return {head.name, *self._joined(head)}
        return set()

    # ── by text ──

    def _listed(self, line: str) -> set[str]:
        """The options that a line begins with by name, or is by text."""
        text = self._texts.get(normalise_text(line))
        return self._led(line) | ({text} if text else set())

    def _text_at_head(self, content: str) -> str | None:
        """The option whose text comes first, the longest where several do."""
        head = normalise_text(content[: self._reach])
        for phrase, name in self._phrases:
            if phrase.match(head):
                return name
        return None

    def _mentioned(self, content: str) -> set[str] | None:
        """Options whose texts occur; nothing where the only one is denied; None where none occurs."""
        rest = "\n".join(normalise_text(clause) for clause in _CLAUSE.split(content))
        mentioned: set[str] = set()
        for phrase, name in self._phrases:
            # Longest first, each blotted out: "playing" is not found again in "playing chess".
            rest, count = phrase.subn("\x00", rest)
            if count:
                mentioned.add(name)
        if not mentioned:
            return None
        denied = any("\x00" in clause and _NEGATION.search(clause) for clause in rest.split("\n"))
        return set() if denied and len(mentioned) == 1 else mentioned


_AMBIGUOUS = Extraction(None, "ambiguous")
_DENIED = Extraction(None, "denied")


def _decide(names: set[str], rule: str) -> Extraction:
    return Extraction(next(iter(names)), rule) if len(names) == 1 else _AMBIGUOUS


def _telling_texts(options: Sequence[Option]) -> dict[str, str]:
    """Names by plain text, the longest first, without texts that two options share and lone letters."""
    names: dict[str, list[str]] = {}
    for option in options:
        names.setdefault(normalise_text(option.text), []).append(option.name)
    return {
        text: names[text][0]
        for text in sorted(names, key=len, reverse=True)
        if len(names[text]) == 1 and (len(text) > 1 or text.isdigit())
    }


def _phrase(text: str) -> re.Pattern[str]:
    """A pattern for a plain text as whole words; scripts that write no spaces have no such bounds."""
    words = r"\s+".join(re.escape(word) for word in text.split())
    before = "" if _spaceless(text[0]) else r"(?<![^\s\x00])"
    after = "" if _spaceless(text[-1]) else r"(?![^\s\x00])"
    return re.compile(before + words + after)


def _spaceless(character: str) -> bool:
    return "\u2e80" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff"
