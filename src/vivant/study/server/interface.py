"""The interface's texts by language. A study's folder may bring others: interface.<language>.yaml, which needs to
hold all texts of a language that is not bundled, and only the changed ones of one that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from vivant.core.errors import DataError
from vivant.study.default_texts import LANGUAGES


class Interface:
    """One language's texts."""

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self._texts = texts

    def __call__(self, name: str, **given: object) -> str:
        """A text with its places filled."""
        return self._texts[name].format(**given) if given else self._texts[name]


def interfaces(folder: Path, languages: Sequence[str]) -> dict[str, Interface]:
    """The texts of these languages. Raises DataError where one has none, or lacks some."""
    known = _read((files("vivant.study") / "texts" / "en.yaml").read_text("utf-8"), "en.yaml")
    found = {}
    for language in languages:
        own = folder / f"interface.{language}.yaml"
        texts: dict[str, str] = {}
        if language in LANGUAGES:
            texts = _read((files("vivant.study") / "texts" / f"{language}.yaml").read_text("utf-8"), language)
        elif not own.is_file():
            raise DataError(f"{own} is missing: there are no interface texts for the language '{language}'")
        if own.is_file():
            texts |= _read(own.read_text("utf-8-sig"), str(own))
        lacking = [name for name in known if name not in texts]
        if lacking:
            raise DataError(f"{own} lacks {len(lacking)} texts, among them '{lacking[0]}'")
        found[language] = Interface(language, texts)
    return found


def _read(text: str, name: str) -> dict[str, str]:
    import yaml

    try:
        texts = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DataError(f"{name} is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(texts, dict) or not all(isinstance(value, str) for value in texts.values()):
        raise DataError(f"{name} should map names to texts")
    return texts


def preferred(accepted: str, languages: Sequence[str]) -> str:
    """The first language that a browser asks for and the study has; else the study's first."""
    for wish in accepted.split(","):
        name = wish.partition(";")[0].strip().lower()
        for language in languages:
            if name == language.lower() or name.partition("-")[0] == language.lower():
                return language
    return languages[0]
