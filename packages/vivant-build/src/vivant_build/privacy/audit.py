"""Measure how well personal data are masked: rates per kind on a planted set in six languages, and in published texts.

The planted set is `planted.yaml`. A planted value counts as masked if no telling part of it (four letters or digits in
a row) remains. A clean text counts as touched if it changes at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.resources import files

import msgspec
from msgspec import Struct

from vivant_build.privacy.masking import Anonymizer, Links, Mentions
from vivant_build.privacy.text_forms import clean_text, fold_text, squeeze_spaces

_COMMON = "every language"
_MENTIONS = "mention"
_CHUNK = re.compile(r"[^\W_]{4,}")
_EXAMPLES = 8
_HARMLESS = {
    *(
        "instagram",
        "discord",
        "telegram",
        "insta",
        "snap",
        "line",
        "gmail",
        "user",
        "mailto",
        "arroba",
        "собака",
    ),
    *("https", "http", "href", "example", "hier"),
    *("name", "llamo", "меня", "зовут", "passport", "number", "date", "birth", "heisse", "coach"),
}
"""Words in planted values that identify nobody."""


class PlantedSet(Struct, frozen=True, forbid_unknown_fields=True):
    """Sentences with a gap per language, values to plant per kind, and clean texts per language."""

    sentences: dict[str, list[str]]
    planted: dict[str, list[str]]
    clean: dict[str, list[str]]


class PrivacyReport(Struct, kw_only=True):
    """How many planted values were masked and clean texts changed, and what published texts still hold."""

    planted: dict[str, int]
    """Kind → number of planted values."""
    masked: dict[str, float]
    """Kind → share of them that was masked."""
    languages: dict[str, float]
    """Language → share of its planted values that was masked."""
    missed: float
    """Share of all planted values that remain."""
    touched: float
    """Share of clean texts that were changed."""
    clean_texts: int
    kept: list[str] = []
    """Kinds that the options keep."""
    texts: int = 0
    """Number of published texts that were searched."""
    held: float = 0.0
    """Share of them that still hold personal data."""
    examples: list[str] = []
    """Planted values that remain, and clean texts that changed."""


def read_planted_set() -> PlantedSet:
    """Return the bundled planted set."""
    content = (files("vivant_build.privacy") / "planted.yaml").read_text(encoding="utf-8")
    return msgspec.yaml.decode(content, type=PlantedSet)


def audit_privacy(
    published: Iterable[str] = (), *, mentions: Mentions = "remove", links: Links = "remove"
) -> PrivacyReport:
    """Mask the planted set, and search published texts for what should have been masked.

    Args:
        published: Texts that were masked before. Any that masking would still change counts as holding personal data.
        mentions: As the texts were masked with, see `Anonymizer`.
        links: As the texts were masked with. Kinds that are kept are not planted.
    """
    planted = read_planted_set()
    anonymizer = Anonymizer(b"audit" * 8, mentions, links)
    counts, gone, spoken, gone_in = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    examples: list[str] = []
    kept = [kind for kind in planted.planted if (mentions if kind == _MENTIONS else links) == "keep"]
    rows = [row for row in _iter_planted(planted) if row[0] not in kept]
    for (kind, language, value, text), after in zip(
        rows, anonymizer.mask_texts([row[3] for row in rows]).to_pylist(), strict=True
    ):
        masked = is_masked(value, after, text)
        counts[kind] += 1
        spoken[language] += 1
        gone[kind] += masked
        gone_in[language] += masked
        if not masked:
            examples.append(f"{kind} ({language}): {value}")
    clean = list(_iter_clean(planted))
    after_clean = anonymizer.mask_texts(clean).to_pylist()
    changed = [text for text, after in zip(clean, after_clean, strict=True) if squeeze_spaces(text) != after]
    texts = list(published)
    # A hashed mention looks like a mention.
    remaining = Anonymizer(b"audit" * 8, "keep" if mentions == "hash" else mentions, links)
    holding = _count_holding(texts, remaining)
    total = sum(counts.values())
    return PrivacyReport(
        planted=dict(counts),
        masked={kind: gone[kind] / number for kind, number in counts.items()},
        languages={language: gone_in[language] / number for language, number in spoken.items()},
        missed=1 - sum(gone.values()) / total if total else 0.0,
        touched=len(changed) / len(clean),
        clean_texts=len(clean),
        kept=kept,
        texts=len(texts),
        held=holding / len(texts) if texts else 0.0,
        examples=examples[:_EXAMPLES] + [f"clean: {text}" for text in changed[:_EXAMPLES]],
    )


def _iter_planted(planted: PlantedSet) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, language, value and the text around it."""
    for kind, values in planted.planted.items():
        for value in values:
            for language, sentences in planted.sentences.items():
                for sentence in sentences:
                    yield kind, language, value, sentence.replace("{}", value)


def _iter_clean(planted: PlantedSet) -> Iterator[str]:
    for text in planted.clean[_COMMON]:
        for sentences in planted.sentences.values():
            for sentence in sentences:
                yield sentence.replace("{}", text)
    for language, texts in planted.clean.items():
        if language != _COMMON:
            yield from texts


def is_masked(value: str, after: str, text: str = "") -> bool:
    """Return whether everything that makes a value personal is gone; words such as `Discord` may stay.

    Args:
        value: The planted value.
        after: The text after masking.
        text: The text before masking. Words that it holds beside the value may stay, too.
    """
    rest, outside = (_simplify(part) for part in (after, text.replace(value, " ", 1)))
    chunks = _CHUNK.findall(_simplify(value))
    telling = [chunk for chunk in chunks if chunk not in _HARMLESS]
    if not telling:  # digits in small groups
        digits = re.sub(r"\D", "", fold_text(value)[0])
        return not digits or digits not in re.sub(r"\D", "", rest)
    return not any(rest.count(chunk) > outside.count(chunk) for chunk in telling)


def _simplify(text: str) -> str:
    return fold_text(clean_text(text))[0].casefold()


def _count_holding(texts: list[str], anonymizer: Anonymizer) -> int:
    after = anonymizer.mask_texts(texts).to_pylist()
    return sum(
        squeeze_spaces(text).split() != cleaned.split() for text, cleaned in zip(texts, after, strict=True)
    )
