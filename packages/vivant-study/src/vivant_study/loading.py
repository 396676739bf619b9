"""A study's folder, read and checked. The key is not read here: see key.py, which what serves pages never imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, MediaError, unknown_name_error
from vivant.core.yaml_files import read_yaml
from vivant.media.paths import resolve_media, stat_file
from vivant_study.balance import find_balance_faults
from vivant_study.design import (
    FORMAT,
    ITEMS_FILE,
    PAGES,
    STUDY_FILE,
    LocalizedText,
    Study,
    StudyItem,
    StudyMedia,
    StudyText,
)
from vivant_study.platforms import find_platform_faults

INSTRUCTIONS, CONSENT = "instructions", "consent"
_T = TypeVar("_T")


class StudyError(DataError):
    """A study that cannot be served; `faults` has them all, a line each."""

    def __init__(self, folder: Path, faults: list[str]) -> None:
        more = f" (and {len(faults) - 1} more: vivant study check {folder})" if len(faults) > 1 else ""
        super().__init__(f"{faults[0]}{more}")
        self.faults = tuple(faults)


class StudyTexts(Struct, frozen=True):
    """What a participant reads first, as Markdown."""

    instructions: str
    consent: str


class LoadedStudy(Struct, frozen=True, kw_only=True):
    """A study without faults."""

    path: Path
    study: Study
    items: tuple[StudyItem, ...]
    texts: Mapping[str, StudyTexts]
    """By language, in the order in which the study names them."""
    media_root: Path

    def media_file(self, file: str) -> Path:
        """The real path of a media file. Raises MediaError where it leaves the root or is gone."""
        return Path(resolve_media(self.media_root, file))

    @property
    def by_id(self) -> dict[str, StudyItem]:
        """The items by id."""
        return {item.id: item for item in self.items}


def load_study(folder: str | Path) -> LoadedStudy:
    """Read a study. Raises StudyError with every fault there is, not with the first alone."""
    path = Path(folder)
    faults: list[str] = []
    study = _read_study(path, faults)
    items = tuple(_read_items(path, faults))
    if study is None:
        raise StudyError(path, faults)
    root = path / study.media_root
    texts = {language: _read_texts(path, language, faults) for language in study.languages}
    faults += _find_text_faults(path / STUDY_FILE, study)
    faults += _find_item_faults(path / ITEMS_FILE, study, items)
    faults += _find_media_faults(path / ITEMS_FILE, root, items)
    faults += find_balance_faults(path, study, items)
    if faults:
        raise StudyError(path, faults)
    return LoadedStudy(path=path, study=study, items=items, texts=texts, media_root=root)


def _read_study(folder: Path, faults: list[str]) -> Study | None:
    file = folder / STUDY_FILE
    if not folder.is_dir():
        raise DataError(f"No study at {folder}: no such folder; make one with `vivant study new {folder} …`")
    if not file.exists():
        raise DataError(f"{folder} is no study: it has no {STUDY_FILE}; make one with `vivant study new`")
    content = read_yaml(file, object)
    if not isinstance(content, dict):
        raise DataError(f"{file} should be a mapping with `kind`, `title` and the like")
    fields = Study.__struct_fields__
    faults.extend(
        f"{file}: {unknown_name_error('field', str(name), fields)}" for name in content if name not in fields
    )
    values = {name: value for name, value in content.items() if name in fields}
    if values.get("format", FORMAT) != FORMAT:
        raise DataError(f"{file}: format {values['format']}; this version reads format {FORMAT}")
    try:
        return msgspec.convert(values, Study)
    except msgspec.ValidationError as error:
        faults.append(f"{file}: {error}")
        return None


def _read_items(folder: Path, faults: list[str]) -> Iterator[StudyItem]:
    for number, item in read_numbered_lines(folder / ITEMS_FILE, StudyItem):
        if isinstance(item, DataError):
            faults.append(f"{folder / ITEMS_FILE}, line {number}: {item}")
        else:
            yield item


def read_numbered_lines(file: Path, kind: type[_T]) -> Iterator[tuple[int, _T | DataError]]:
    """Each line's value, or what is wrong with it."""
    decoder = msgspec.json.Decoder(kind)
    try:
        lines = file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield number, decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            yield number, DataError(str(error))


def _read_texts(folder: Path, language: str, faults: list[str]) -> StudyTexts:
    texts: dict[str, str] = {}
    for name in (INSTRUCTIONS, CONSENT):
        file = folder / f"{name}.{language}.md"
        try:
            texts[name] = file.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            faults.append(f"{file} is missing; write it, or take '{language}' out of `languages`")
        except (OSError, UnicodeDecodeError) as error:
            faults.append(f"{file} cannot be read: {error}")
        else:
            if not texts[name].strip():
                faults.append(f"{file} is empty; write it, or take '{language}' out of `languages`")
    return StudyTexts(texts.get(INSTRUCTIONS, ""), texts.get(CONSENT, ""))


def _find_text_faults(file: Path, study: Study) -> Iterator[str]:
    """Texts without a language, names that stand twice, scales without a width."""

    def find_missing(what: str, words: LocalizedText) -> Iterator[str]:
        for language in study.languages:
            if not words.get(language, "").strip():
                yield f"{file}: {what} has no text for the language '{language}'"

    for language, count in Counter(study.languages).items():
        if count > 1:
            yield f"{file}: the language '{language}' stands {count} times"
    yield from find_missing("the title", study.title)
    for question in study.questions:
        yield from find_missing(f"the question '{question.name}'", question.text)
        for number, choice in enumerate(question.choices, 1):
            yield from find_missing(f"choice {number} of the question '{question.name}'", choice)
        if len(question.choices) == 1:
            yield f"{file}: the question '{question.name}' has one choice; give two or none"
    for criterion in study.criteria:
        yield from find_missing(f"the criterion '{criterion.name}'", criterion.text)
        for end, words in (("low", criterion.low_text), ("high", criterion.high_text)):
            if words:
                yield from find_missing(f"the {end} end of the criterion '{criterion.name}'", words)
        if criterion.low >= criterion.high:
            yield f"{file}: the criterion '{criterion.name}' goes from {criterion.low} to {criterion.high}"
    for what, names in (
        ("question", [q.name for q in study.questions]),
        ("criterion", [c.name for c in study.criteria]),
    ):
        for name, count in Counter(names).items():
            if count > 1:
                yield f"{file}: the {what} '{name}' stands {count} times"
    if study.kind in ("rating", "sliders") and not study.criteria:
        yield f"{file}: a study of the kind '{study.kind}' needs `criteria`"
    if study.kind not in ("rating", "sliders", "blind-comments", "free-follow-up") and study.criteria:
        yield f"{file}: a study of the kind '{study.kind}' has no use for `criteria`; take them out"
    for question in study.questions:
        for index in question.screen_out:
            if not 0 <= index < len(question.choices):
                yield f"{file}: the question '{question.name}' has no choice {index} to screen out (the first is 0)"
    for fault in find_platform_faults(study.platform):
        yield f"{file}: platform: {fault}"
    if study.completion_url and not study.completion_url.startswith(("https://", "http://")):
        yield f"{file}: completion_url is no address: {study.completion_url}"


def _find_item_faults(file: Path, study: Study, items: tuple[StudyItem, ...]) -> Iterator[str]:
    if not items:
        yield f"{file} holds no items"
    elif all(item.check or item.training for item in items):
        yield f"{file} holds attention checks alone; add items to be judged"
    for name, count in Counter(item.id for item in items).items():
        if count > 1:
            yield f"{file}: the item '{name}' stands {count} times; give each an id of its own"
    for item in items:
        for reason in _find_misfits(study, item):
            yield f"{file}, item '{item.id}': {reason}"


def _find_misfits(study: Study, item: StudyItem) -> Iterator[str]:
    """What a kind's pages need and an item lacks, or has to no use."""
    pages = PAGES[study.kind]
    parts = len(item.parts)
    if not item.content and not item.parts:
        yield "there is nothing to look at"
    if "choose" in pages:
        if len(item.options) < 2:
            yield f"it has {len(item.options)} options; a study of the kind '{study.kind}' needs two or more"
        if not study.odd_options:
            yield from _find_odd_options(item)
    elif item.options:
        yield f"it has options, which a study of the kind '{study.kind}' does not show"
    needed = {
        "comments": "one or more", "rate": "one or more", "pair": "two", "best-worst": "three or more",
    }.get(pages[0], "no")  # fmt: skip
    if (
        (needed == "two" and parts != 2)
        or (needed == "three or more" and parts < 3)
        or (needed == "one or more" and not parts)
        or (needed == "no" and parts)
    ):
        yield f"it has {parts} parts; a study of the kind '{study.kind}' needs {needed}"
    for name, count in Counter(part.id for part in item.parts).items():
        if not name:
            yield "a part has no id"
        elif count > 1:
            yield f"the part '{name}' stands {count} times"
    for number, part in enumerate(item.parts, 1):
        if not part.content:
            yield f"part {number} is empty"
    if item.expected and not item.check and not item.training:
        yield "it has an expected answer but is no check; mark it with `check`, or remove `expected`"
    if item.training and (item.check or not item.expected):
        yield "it is for training: it needs `expected`, the right answer, and cannot be a check"
    if (
        study.kind == "spans"
        and not item.check
        and not any(media.kind == "video" for media in list_media(item))
    ):
        yield "it has no video to mark"
    for language, words in item.translations.items():
        if language not in study.languages:
            yield f"it has texts in '{language}', which is none of the study's `languages`"
        lengths = [("options", len(item.options), len(words.options))]
        lengths.append(("content", _count_texts(item.content), len(words.content)))
        for part in item.parts:
            texts = len(words.parts.get(part.id, ()))
            lengths.append((f"texts of the part '{part.id}'", _count_texts(part.content), texts))
        for what, own, there in lengths:
            if there and there != own:
                yield f"its {what} in '{language}' are {there}, but it has {own}"
    for facet in (*study.balance, *([study.queue] if study.queue else ())):
        if not item.check and not item.training and facet not in item.facets:
            yield f"it has no facet '{facet}', which `balance` or `queue` names; add it or change study.yaml"


def _count_texts(content: Iterable[StudyText | StudyMedia]) -> int:
    return sum(isinstance(piece, StudyText) for piece in content)


def _find_odd_options(item: StudyItem) -> Iterator[str]:
    remedy = "to keep it all the same, set odd_options: true in study.yaml"
    if any(not option.strip() for option in item.options):
        yield f"one of its options is empty; {remedy}"
    for option, count in Counter(item.options).items():
        if count > 1 and option.strip():
            yield f"the option '{option}' stands {count} times; {remedy}"


def list_media(item: StudyItem) -> Iterator[StudyMedia]:
    """All files of an item."""
    for content in (item.content, *(part.content for part in item.parts)):
        yield from (piece for piece in content if isinstance(piece, StudyMedia))


def _find_media_faults(file: Path, root: Path, items: tuple[StudyItem, ...]) -> Iterator[str]:
    for item in items:
        for media in list_media(item):
            try:
                # `resolve` remembers what it found once; the file may have gone since.
                stat_file(resolve_media(root, media.file), media.file, f" from {root}")
            except MediaError as error:
                yield f"{file}, item '{item.id}': {error}"
