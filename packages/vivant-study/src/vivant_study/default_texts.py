"""What a new study says to participants: our own words in English and Chinese, written out to be edited."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from msgspec import Struct

from vivant.core.errors import unknown_name_error
from vivant.core.yaml_files import read_resource
from vivant_study.design import Kind, LocalizedText, StudyCriterion, StudyQuestion
from vivant_study.loading import CONSENT, INSTRUCTIONS, StudyTexts

LANGUAGES = ("en", "zh")
_CONSENT_MARKS = ("**Edit this page", "**请编辑本页")
"""How a consent text begins that was not edited."""


class DefaultTexts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`texts/defaults.yaml`."""

    titles: dict[str, LocalizedText]
    mime_interface: dict[str, dict[str, str]]
    """Texts of the interface that ask after mimed actions, by language and name."""
    questions: tuple[StudyQuestion, ...]
    realism: StudyCriterion
    quality: StudyCriterion
    confidence: StudyCriterion
    score: StudyCriterion
    feeling: StudyCriterion
    mmie_points: dict[str, tuple[str, ...]]
    """The points of each category of MMIE, by name."""
    points: dict[str, LocalizedText]
    categories: dict[str, LocalizedText]
    guide: LocalizedText
    reference: LocalizedText
    """What stands above the reference answer."""
    check_options: tuple[str, ...]
    checks: dict[str, tuple[LocalizedText, ...]]


def _load_defaults() -> DefaultTexts:
    return read_resource("vivant_study", "texts/defaults.yaml", DefaultTexts)


DEFAULTS = _load_defaults()


def choose_mmie_criteria(tasks: Sequence[str]) -> tuple[StudyCriterion, ...]:
    """Point by point where all answers are of one category; one score from 0 to 6 where they are mixed."""
    if len(tasks) != 1 or tasks[0] not in DEFAULTS.mmie_points:
        return (DEFAULTS.score,)
    points = tuple(
        StudyCriterion(name=name, text=DEFAULTS.points[name], low=0, high=1)
        for name in DEFAULTS.mmie_points[tasks[0]]
    )
    return points if tasks[0] == "msr" else (*points, DEFAULTS.feeling)


def format_mmie_guide(tasks: Sequence[str], language: str) -> str:
    """For a score over several categories: what earns a point in each, as Markdown."""
    known = [task for task in DEFAULTS.mmie_points if task in tasks]
    if len(tasks) < 2 or not known:
        return ""
    lines = [DEFAULTS.guide[language], ""]
    for task in known:
        lines.append(f"**{DEFAULTS.categories[task][language]}**\n")
        lines += [f"- {DEFAULTS.points[name][language]}" for name in DEFAULTS.mmie_points[task]]
        lines += ([f"- {DEFAULTS.feeling.text[language]}"] if task != "msr" else []) + [""]
    return "\n".join(lines).strip()


def load_texts(kind: Kind, language: str, criteria: str = "") -> StudyTexts:
    """The bundled instructions and consent of a kind of study."""
    if language not in LANGUAGES:
        raise unknown_name_error(
            "language", language, LANGUAGES, "(others: add their files to the study afterwards)"
        )
    folder = files("vivant_study") / "texts"
    instructions = (folder / f"{INSTRUCTIONS}.{kind}.{language}.md").read_text(encoding="utf-8")
    consent = (folder / f"{CONSENT}.{language}.md").read_text(encoding="utf-8")
    filled = instructions.replace("{criteria}\n\n", f"{criteria}\n\n" if criteria else "")
    return StudyTexts(filled, consent)


def is_placeholder_consent(text: str) -> bool:
    """Whether a consent text still asks to be edited."""
    return any(mark in text for mark in _CONSENT_MARKS)


def format_check(kind: Kind, languages: Sequence[str], word: str = "") -> tuple[str, ...]:
    """What an attention check of a kind says, in all languages of the study at once: one text, or one a part."""
    return tuple(
        "\n\n".join(text[language].format(word) for language in languages) for text in DEFAULTS.checks[kind]
    )
