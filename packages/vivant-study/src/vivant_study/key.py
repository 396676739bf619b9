"""The sealed key of a study. Exports and reports read it; nothing that serves pages may import this module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from vivant.core.errors import DataError
from vivant_study.attention import get_expected_answers
from vivant_study.design import KEY_FILE, PAGES, KeyLine, Study, StudyItem
from vivant_study.loading import LoadedStudy, StudyError, read_numbered_lines

Key = Mapping[str, KeyLine]
"""By item. An item without a line has no right answer."""


def load_key(folder: str | Path) -> Key:
    """The key of a study; empty where the study has none (ratings, a pack whose key is elsewhere)."""
    file = Path(folder) / KEY_FILE
    if not file.exists():
        return {}
    key: dict[str, KeyLine] = {}
    faults: list[str] = []
    for number, line in read_numbered_lines(file, KeyLine):
        if isinstance(line, DataError):
            faults.append(f"{file}, line {number}: {line}")
        elif line.item in key:
            faults.append(f"{file}, line {number}: the item '{line.item}' is repeated")
        else:
            key[line.item] = line
    if faults:
        raise StudyError(Path(folder), faults)
    return key


def load_fitting_key(loaded: LoadedStudy) -> Key:
    """The key of a loaded study. Raises StudyError with every way in which it does not fit."""
    key = load_key(loaded.path)
    faults = find_key_faults(loaded, key)
    if faults:
        raise StudyError(loaded.path, faults)
    return key


def find_key_faults(loaded: LoadedStudy, key: Key) -> list[str]:
    """What in the key contradicts the items."""
    file = loaded.path / KEY_FILE
    items = loaded.by_id
    faults: list[str] = []
    for name, line in key.items():
        if name not in items:
            if loaded.study.kind == "blind-comments" and line.sources:
                continue  # comments of the pack that nobody is asked about: a correction of judges needs their authors
            faults.append(f"{file}: the item '{name}' is not in the study; remove its line")
            continue
        faults += [
            f"{file}, item '{name}': {fault}" for fault in _find_misfits(loaded.study, items[name], line)
        ]
    for item in loaded.items:
        if item.check and not get_expected_answers(item, key.get(item.id)):
            faults.append(f"{file}: the check '{item.id}' has no expected answer; add `expected` or `option`")
    return faults


def _find_misfits(study: Study, item: StudyItem, line: KeyLine) -> Iterator[str]:
    if line.option is not None and not 0 <= line.option < len(item.options):
        yield f"option {line.option} is no place among its {len(item.options)} options (the first is 0)"
    parts = {part.id for part in item.parts}
    for part in line.sources:
        if part not in parts:
            yield f"it names the source of a part '{part}' that the item does not have"
    missing = [part for part in parts if part not in line.sources]
    if line.sources and missing:
        yield f"{len(missing)} of its {len(parts)} parts have no source, among them '{min(missing)}'"
    if line.expected and not item.check:
        yield "it has an expected answer but is no check; mark the item with `check`, or remove `expected`"
    for name, answer in line.expected.items():
        if name not in PAGES[study.kind] and name not in parts:
            yield f"expected '{name}' is neither a page of this kind of study nor a part of the item"
        elif name == "choose" and (
            isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < len(item.options)
        ):
            yield f"expected {answer!r} is no place among its {len(item.options)} options (the first is 0)"
        elif name == "pair" and answer not in ("first", "second", "tie"):
            yield f"expected {answer!r} should be 'first', 'second' or 'tie'"
        elif (name in parts or name in ("rate", "comments")) and not isinstance(answer, dict):
            yield f"expected {answer!r} should be a mapping such as {{verdict: human}}"
