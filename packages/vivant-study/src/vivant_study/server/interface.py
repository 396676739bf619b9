"""The interface's texts by language. A study's folder may bring others: interface.<language>.yaml, which needs to
hold all texts of a language that is not bundled, and only the changed ones of one that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from vivant.core.errors import DataError
from vivant.core.yaml_files import read_yaml
from vivant_study.default_texts import LANGUAGES

_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"})
"""Languages that are written from right to left."""


class InterfaceTexts:
    """One language's texts."""

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self.direction = "rtl" if language.partition("-")[0].lower() in _RIGHT_TO_LEFT else "ltr"
        self._texts = texts

    def __call__(self, name: str, **values: object) -> str:
        """A text with its values filled in."""
        return self._texts[name].format(**values) if values else self._texts[name]


def load_interfaces(folder: Path, languages: Sequence[str]) -> dict[str, InterfaceTexts]:
    """The texts of these languages. Raises DataError where one has none, or lacks some."""
    names = _load_bundled("en")
    interfaces = {}
    for language in languages:
        file = folder / f"interface.{language}.yaml"
        texts: dict[str, str] = {}
        if language in LANGUAGES:
            texts = _load_bundled(language)
        elif not file.is_file():
            raise DataError(f"{file} is missing: there are no interface texts for the language '{language}'")
        if file.is_file():
            texts |= _read_texts(file)
        missing = [name for name in names if name not in texts]
        if missing:
            raise DataError(f"{file} lacks {len(missing)} texts, among them '{missing[0]}'")
        interfaces[language] = InterfaceTexts(language, texts)
    return interfaces


class AdminTexts:
    """The researcher's pages in other languages, by their English texts; what is not there stays English."""

    def __init__(self, folder: Path) -> None:
        self._texts: dict[str, dict[str, str]] = {"en": {}, "zh": _load_bundled("admin.zh")}
        for file in sorted(folder.glob("admin.*.yaml")):
            language = file.name.split(".")[1]
            self._texts[language] = {**self._texts.get(language, {}), **_read_texts(file)}

    def choose(self, accepted: str) -> str:
        """The language for a browser."""
        return choose_language(accepted, tuple(self._texts))

    def translate(self, language: str, text: str) -> str:
        """A text in a language."""
        return self._texts[language].get(text, text)


def _load_bundled(language: str) -> dict[str, str]:
    with as_file(files("vivant_study") / "texts" / f"{language}.yaml") as file:
        return _read_texts(file)


def _read_texts(file: Path) -> dict[str, str]:
    texts: dict[str, str] = read_yaml(file, dict)
    if not all(isinstance(value, str) for value in texts.values()):
        raise DataError(f"{file} should map names to texts")
    return texts


def choose_language(accepted: str, languages: Sequence[str]) -> str:
    """The first language that a browser asks for and the study has; else the study's first."""
    for entry in accepted.split(","):
        name = entry.partition(";")[0].strip().lower()
        for language in languages:
            if name == language.lower() or name.partition("-")[0] == language.lower():
                return language
    return languages[0]
