"""Attention checks for a new study: items that say what to answer, so that only who reads them gets them right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from vivant.core.randomness import derive_generator, shuffled_indices
from vivant_study.default_texts import DEFAULTS, format_check
from vivant_study.design import ItemTexts, KeyLine, Kind, StudyCriterion, StudyItem, StudyPart, StudyText


def make_checks(
    kind: Kind, count: int, languages: Sequence[str], criteria: Sequence[StudyCriterion], seed: int
) -> Iterator[tuple[StudyItem, KeyLine]]:
    """So many checks and the answers expected, in each language of the study."""
    for number in range(count):
        name = f"check-{number + 1}"
        options: tuple[str, ...] = ()
        content: tuple[StudyText, ...] = ()
        parts: tuple[StudyPart, ...] = ()
        expected: dict[str, Any]
        option = None
        if kind in ("mcq", "free-then-mcq"):
            options = DEFAULTS.check_options
            option = derive_generator(seed, "study", "check", name).randrange(len(options))
            content = (StudyText(format_check(kind, languages[:1], options[option])[0]),)
            expected = {"choose": option}
            if kind == "free-then-mcq":
                expected["free"] = options[option]
        elif kind == "pairwise":
            sides = format_check(kind, languages[:1])
            order = shuffled_indices(2, seed, "study", "check", name)
            parts = tuple(StudyPart(id=f"{name}-{k}", content=(StudyText(sides[k]),)) for k in order)
            expected = {"pair": "first" if order[0] == 0 else "second"}
        elif kind == "best-worst":
            texts = format_check(kind, languages[:1])
            order = shuffled_indices(len(texts), seed, "study", "check", name)
            parts = tuple(StudyPart(id=f"{name}-{k}", content=(StudyText(texts[k]),)) for k in order)
            expected = {"best-worst": {"best": order.index(0), "worst": order.index(1)}}
        elif kind == "spans":
            content = (StudyText(format_check(kind, languages[:1])[0]),)
            expected = {"spans": []}
        elif kind == "free-follow-up":
            word = DEFAULTS.check_options[number % len(DEFAULTS.check_options)]
            content = (StudyText(format_check(kind, languages[:1], word)[0]),)
            expected = {"free": word}
        else:
            part = StudyPart(id=f"{name}-0", content=(StudyText(format_check(kind, languages[:1])[0]),))
            parts = (part,)
            low = {criterion.name: criterion.low for criterion in criteria}
            expected = {part.id: {"verdict": "ai", **low} if kind == "blind-comments" else low}
        item = StudyItem(
            id=name, content=content, options=options, parts=parts, check=True, expected=expected
        )
        word = str(expected.get("free", "")) or (options[option] if option is not None else "")
        translations = {language: _translate(kind, language, word, item) for language in languages[1:]}
        yield (
            msgspec.structs.replace(item, translations=translations),
            KeyLine(item=name, option=option, expected=expected),
        )


def _translate(kind: Kind, language: str, word: str, item: StudyItem) -> ItemTexts:
    """A check's own words in another language. A part's id ends with the number of its text."""
    texts = format_check(kind, (language,), word)
    if not item.parts:
        return ItemTexts(content=texts)
    return ItemTexts(parts={part.id: (texts[int(part.id.rpartition("-")[2])],) for part in item.parts})
