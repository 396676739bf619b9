"""Attention checks for a new study: items that say what to answer, so that only who reads them gets them right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vivant.core.randomness import derive_generator, shuffled_indices
from vivant.study.default_texts import DEFAULTS, format_check
from vivant.study.design import KeyLine, Kind, StudyCriterion, StudyItem, StudyPart, StudyText


def make_checks(
    kind: Kind, count: int, languages: Sequence[str], criteria: Sequence[StudyCriterion], seed: int
) -> Iterator[tuple[StudyItem, KeyLine]]:
    """So many checks and the answers expected, in all languages of the study."""
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
            content = (StudyText(format_check(kind, languages, options[option])[0]),)
            expected = {"choose": option}
            if kind == "free-then-mcq":
                expected["free"] = options[option]
        elif kind == "pairwise":
            sides = format_check(kind, languages)
            order = shuffled_indices(2, seed, "study", "check", name)
            parts = tuple(StudyPart(id=f"{name}-{k}", content=(StudyText(sides[k]),)) for k in order)
            expected = {"pair": "first" if order[0] == 0 else "second"}
        else:
            part = StudyPart(id=f"{name}-0", content=(StudyText(format_check(kind, languages)[0]),))
            parts = (part,)
            low = {criterion.name: criterion.low for criterion in criteria}
            expected = {part.id: {"verdict": "ai", **low} if kind == "blind-comments" else low}
        yield (
            StudyItem(id=name, content=content, options=options, parts=parts, check=True),
            KeyLine(item=name, option=option, expected=expected),
        )
