"""How well personal data are found: rates per kind on a planted set in six languages, and what published texts hold.

The planted set is `planted.yaml`. A planted value counts as masked when no part of it that says something (four letters
or digits in a row) remains; a clean text counts as touched when it is changed at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.resources import files

import msgspec
from msgspec import Struct

from vivant.build.mimic.ingestion.privacy import Anonymiser
from vivant.build.mimic.ingestion.text_forms import clean_text, fold_text, squeeze_spaces
from vivant.build.mimic.settings import IngestSettings

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
"""Words of the forms that say nothing of a person."""


class PlantedSet(Struct, frozen=True, forbid_unknown_fields=True):
    """Sentences with a gap per language, forms of personal data per kind, and clean texts per language."""

    sentences: dict[str, list[str]]
    planted: dict[str, list[str]]
    clean: dict[str, list[str]]


class PrivacyReport(Struct, kw_only=True):
    """What was found, in shares."""

    planted: dict[str, int]
    """Kind → how many were planted."""
    masked: dict[str, float]
    """Kind → share of them that is gone."""
    languages: dict[str, float]
    """Language → share of the planted that is gone."""
    missed: float
    """Share of all planted values that remain."""
    touched: float
    """Share of clean texts that were changed."""
    clean_texts: int
    kept: list[str] = []
    """Kinds that the settings leave in."""
    texts: int = 0
    """Published texts that were looked through."""
    held: float = 0.0
    """Share of them that still hold something."""
    examples: list[str] = []
    """Planted values that remain, and clean texts that were changed."""


def read_planted_set() -> PlantedSet:
    """The bundled set."""
    content = (files("vivant.build.mimic.ingestion") / "planted.yaml").read_text(encoding="utf-8")
    return msgspec.yaml.decode(content, type=PlantedSet)


def audit_privacy(settings: IngestSettings, published: Iterable[str] = ()) -> PrivacyReport:
    """Rates on the planted set with these settings, and the share of `published` texts that hold personal data."""
    planted = read_planted_set()
    anonymiser = Anonymiser(b"audit" * 8, settings.mentions, settings.links)
    counts, gone, spoken, gone_in = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    examples: list[str] = []
    kept = [kind for kind in planted.planted if _is_kept(kind, settings)]
    rows = [row for row in _iter_planted(planted) if row[0] not in kept]
    for (kind, language, value, text), after in zip(
        rows, anonymiser.texts([row[3] for row in rows]).to_pylist(), strict=True
    ):
        masked = is_masked(value, after, text)
        counts[kind] += 1
        spoken[language] += 1
        gone[kind] += masked
        gone_in[language] += masked
        if not masked:
            examples.append(f"{kind} ({language}): {value}")
    clean = list(_iter_clean(planted))
    after_clean = anonymiser.texts(clean).to_pylist()
    changed = [text for text, after in zip(clean, after_clean, strict=True) if squeeze_spaces(text) != after]
    texts = list(published)
    # What stands in a mention's place looks like one.
    mentions = "keep" if settings.mentions == "hash" else settings.mentions
    holding = _count_holding(texts, Anonymiser(b"audit" * 8, mentions, settings.links))
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


def _is_kept(kind: str, settings: IngestSettings) -> bool:
    return (settings.mentions if kind == _MENTIONS else settings.links) == "keep"


def _iter_planted(planted: PlantedSet) -> Iterator[tuple[str, str, str, str]]:
    """Kind, language, value and the text around it."""
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
    """Whether what makes a value personal is gone; words such as `example` and `Discord` may stay.

    Args:
        value: What was planted.
        after: The text with what was found taken out.
        text: The text before. What it holds beside the value may stay as well.
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


def _count_holding(texts: list[str], anonymiser: Anonymiser) -> int:
    after = anonymiser.texts(texts).to_pylist()
    return sum(
        squeeze_spaces(text).split() != cleaned.split() for text, cleaned in zip(texts, after, strict=True)
    )
