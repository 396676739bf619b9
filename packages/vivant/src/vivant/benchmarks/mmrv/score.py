"""Reply → letter → score, by the published chain (`paper`) or its sound part (`strict`).

`paper` reads the first `[[X]]`, else the first `\\boxed{X}`, else the last letter that stands alone as a word
in the upper-cased reply; X is A to L, in capitals, with nothing else inside the brackets. Where a result file
of the original stores the answer that it settled on, that answer stands, as it does in the original's tables.
The original's scripts differ, so the setting `extraction` names the rule of a script, and `fallback=anywhere` adds
what its accuracy script does with the rest: the last letter in brackets, else the last letter A to L anywhere.
`strict` reads the reply alone, without its thinking, takes only letters that the question offers, and has no
bare-letter step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from vivant.benchmarks.base import Protocol, ScoreSettings
from vivant.benchmarks.mmrv.names import LETTERS
from vivant.core.errors import unknown_name_error
from vivant.core.records import Record, Score, make_score
from vivant.core.types import Option, Sample
from vivant.metrics.text import strip_thinking

STORED = "stored"
BRACKETS = "[[X]]"
BOXED = "\\boxed{X}"
LAST = "last letter"
BRACKETED = "last letter in brackets"
ANYWHERE = "last A–L anywhere"
NONE = "none"
EMPTY = "empty reply"
NO_KEY = "the key is no option"
CUT = "truncated"
STEPS = (BRACKETS, BOXED, LAST, BRACKETED, ANYWHERE, STORED, NONE, EMPTY, CUT)
"""The chain in its order; an answer stored against it; and what decides nothing (`strict` reads no reply that
was cut off)."""

FINAL = "final_answer"
"""Where a record's `extra` keeps the answer that the original stored."""

SETTINGS: Mapping[str, str] = {"extraction": "chain", "fallback": "none"}
"""How `paper` reads a reply (`--set extraction=last`). Recipes name the values that a published row used."""
EXTRACTIONS: Mapping[str, tuple[bool, bool, bool]] = {
    "chain": (False, True, True),
    "brackets": (False, False, False),
    "boxed": (False, True, False),
    "last": (True, True, False),
    "last-chain": (True, True, True),
}
"""By name: whether the last match counts, whether `\\boxed{X}` does, whether a lone letter does."""
FALLBACKS = ("none", "anywhere")

_IN_BRACKETS = re.compile(rf"[\[(]([{LETTERS}])[\])]")
_LAST = re.compile(rf"\b([{LETTERS}])\b")


class ExtractedLetter(Struct, frozen=True):
    """A letter and the step that read it."""

    letter: str | None
    rule: str
    several: bool = False
    """The reply holds the deciding form more than once, with different letters."""


@lru_cache(maxsize=1024)
def _compile_forms(letters: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    letter = f"([{re.escape(letters)}])"
    return re.compile(rf"\[\[{letter}\]\]"), re.compile(rf"\\boxed\{{{letter}\}}")


def extract_letter(
    text: str, letters: str = LETTERS, *, bare: bool = True, boxed: bool = True, last: bool = False
) -> ExtractedLetter:
    """The answer in a reply, by the chain.

    Args:
        text: The reply.
        letters: Those that count.
        bare: Whether the last letter that stands alone counts in the end.
        boxed: Whether `\\boxed{X}` counts.
        last: Whether of several matches the last counts, not the first.
    """
    forms = list(zip(_compile_forms(letters), (BRACKETS, BOXED), strict=True))
    for pattern, rule in forms if boxed else forms[:1]:
        letters_found = pattern.findall(text)
        if letters_found:
            return ExtractedLetter(letters_found[-1 if last else 0], rule, len(set(letters_found)) > 1)
    if bare:
        alone = _LAST.findall(text.upper())
        if alone:
            return ExtractedLetter(alone[-1], LAST)
    return ExtractedLetter(None, NONE if text.strip() else EMPTY)


def extract_anywhere(text: str) -> ExtractedLetter:
    """What the original's accuracy script makes of a reply without an answer: nearly always some letter."""
    upper = text.upper()
    bracketed = _IN_BRACKETS.findall(upper)
    if bracketed:
        return ExtractedLetter(bracketed[-1], BRACKETED)
    letter = next((character for character in reversed(upper) if character in LETTERS), None)
    return ExtractedLetter(letter, ANYWHERE if letter else NONE if text.strip() else EMPTY)


def read_answer(
    record: Record, options: Sequence[Option], protocol: Protocol, values: Mapping[str, str] = SETTINGS
) -> ExtractedLetter:
    """The answer of a record under a protocol, by its settings."""
    if protocol == "strict":
        answer = strip_thinking(record.reply.text) or ""
        return extract_letter(answer, "".join(option.name for option in options), bare=False)
    last, boxed, bare = EXTRACTIONS[values["extraction"]]
    extracted = extract_letter(record.reply.text, last=last, boxed=boxed, bare=bare)
    if extracted.letter is None and values["fallback"] == "anywhere":
        extracted = extract_anywhere(record.reply.text)
    stored = str(record.extra.get(FINAL, "")).strip().upper()
    if stored in set(LETTERS) and stored != extracted.letter:
        return ExtractedLetter(stored, STORED)
    return extracted


def score_records(items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
    """One score per record, in order."""
    values = {**SETTINGS, **settings.values}
    for name, known in (("extraction", EXTRACTIONS), ("fallback", FALLBACKS)):
        if values[name] not in known:
            raise unknown_name_error(name, str(values[name]), known)
    return [score_record(sample, record, settings.protocol, values) for sample, record in items]


def score_record(
    sample: Sample, record: Record, protocol: Protocol, values: Mapping[str, str] = SETTINGS
) -> Score:
    """Right is the key's option; a letter that is no option is wrong, and said to be none.

    A question whose key is no option is compared letter by letter in `paper`, as the original does, so that
    nobody gets it right; `strict` leaves it out.
    """
    options = record.options or sample.options
    extracted = read_answer(record, options, protocol, values)
    if protocol == "strict" and sample.key is None:
        return make_score(record, answer=extracted.letter or "", rule=NO_KEY, status="excluded")
    if extracted.letter is None:
        return make_score(record, rule=extracted.rule, status="unparsed")
    order = record.order or tuple(range(len(options)))
    positions = {option.name: position for option, position in zip(options, order, strict=True)}
    if sample.key is None:
        correct = extracted.letter == sample.extra.get("gold")
    else:
        correct = positions.get(extracted.letter) == sample.key
    detail: dict[str, bool] = {}
    if extracted.letter not in positions:
        detail["not_an_option"] = True
    if extracted.several:
        detail["several"] = True
    return make_score(record, float(correct), extracted.letter, extracted.rule, detail=detail)
