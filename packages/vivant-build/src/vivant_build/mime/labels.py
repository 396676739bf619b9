"""Free labels that annotators gave to takes: read from a table or a study, near-equal ones proposed as merges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from vivant.benchmarks.data_files import iter_csv_rows, iter_json_objects
from vivant.core.errors import DataError, unknown_name_error
from vivant.metrics.text import normalise_text
from vivant_build.mime.semantic_choice import PhraseEncoder

NEAR = 0.6
"""Cosine from which two labels of one take are proposed as one."""
SAME = 0.9
"""Cosine from which any two labels are."""
_ITEMS = ("item", "take", "action", "sample_id", "file_name")
_ARTICLES = frozenset({"a", "an", "the"})
_LABELS = ("label", "answer")


class JudgedLabel(Struct, frozen=True):
    """What one annotator called one take."""

    item: str
    annotator: str
    label: str

    @property
    def key(self) -> str:
        """What the label says without case, punctuation and articles: equal keys are one label."""
        return label_key(self.label)


def label_key(label: str) -> str:
    """A label without case, punctuation and articles."""
    words = [word for word in normalise_text(label).split() if word not in _ARTICLES]
    return " ".join(words) or normalise_text(label)


class Merge(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Labels that may be one; a person decides."""

    into: str
    labels: tuple[str, ...]
    similarity: float = 0.0
    """The lowest cosine of a label with `into`."""
    items: tuple[str, ...] = ()
    """Takes that got at least two of them."""
    confirm: bool | None = None
    """true: they are one label; false: they are not; null: nobody has decided."""


class LabelFile(Struct, frozen=True, kw_only=True):
    """The labels of a file, and what was passed over in it."""

    judged: tuple[JudgedLabel, ...]
    notes: tuple[str, ...]


def read_labels(file: Path, page: str = "") -> LabelFile:
    """Labels from CSV or JSON lines with columns item (or take, action), annotator and label; or from a study.

    A study's export has a page in each line: `page` names the one that asked for the label, where several
    pages have answers in words. Of two labels by one annotator for one take the first counts.
    """
    rows = iter_csv_rows(file) if file.suffix.lower() == ".csv" else iter_json_objects(file)
    lines: list[tuple[int, dict[str, Any]]] = [(number, dict(row)) for number, row in rows]
    if not lines:
        raise DataError(f"{file} holds no labels")
    word = "row" if file.suffix.lower() == ".csv" else "line"
    study = any("page" in row for _, row in lines)
    item, label = _column(file, lines, _ITEMS), _column(file, lines, _LABELS)
    notes: list[str] = []
    if study:
        lines, notes = _select_page(file, lines, page, label)
    elif page:
        raise DataError(f"{file} has no column 'page', so --page {page} chooses nothing; leave it out")
    first: dict[tuple[str, str], JudgedLabel] = {}
    again = empty = 0
    for number, row in lines:
        texts = {name: str(row.get(name) or "").strip() for name in (item, "annotator", label)}
        if not texts[item] or not texts["annotator"]:
            absent = item if not texts[item] else "annotator"
            raise DataError(f"{file}, {word} {number}: there is no '{absent}'; every label needs one")
        if not normalise_text(texts[label]):
            empty += 1
            continue
        judgement = JudgedLabel(texts[item], texts["annotator"], texts[label])
        again += (judgement.item, judgement.annotator) in first
        first.setdefault((judgement.item, judgement.annotator), judgement)
    if again:
        notes.append(f"{again} further labels by the same annotator for the same take do not count")
    if empty:
        notes.append(f"{empty} empty labels do not count")
    if not first:
        raise DataError(f"{file} holds no labels that count")
    return LabelFile(judged=tuple(first.values()), notes=tuple(notes))


def _column(file: Path, lines: Sequence[tuple[int, dict[str, Any]]], names: Iterable[str]) -> str:
    """The first of the names that is a column; the annotator's column is checked along the way."""
    columns = {name for _, row in lines for name in row}
    if "annotator" not in columns:
        raise DataError(f"{file} has no column 'annotator'; it has {', '.join(sorted(columns))}")
    for name in names:
        if name in columns:
            return name
    raise DataError(f"{file} has no column '{' or '.join(names)}'; it has {', '.join(sorted(columns))}")


def _select_page(
    file: Path, lines: list[tuple[int, dict[str, Any]]], page: str, label: str
) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    worded = Counter(str(row.get("page")) for _, row in lines if isinstance(row.get(label), str))
    if page and page not in worded:
        raise unknown_name_error("page", page, worded, f"in {file}")
    if not page and len(worded) != 1:
        names = ", ".join(sorted(worded)) or "none"
        raise DataError(
            f"{file}: pages with answers in words: {names}; choose the one of the labels with --page"
        )
    wanted = page or next(iter(worded))
    chosen, open_, checks = [], 0, 0
    for number, row in lines:
        if row.get("page") != wanted:
            continue
        if row.get("complete") is False:
            open_ += 1
        elif row.get("check"):
            checks += 1
        else:
            chosen.append((number, row))
    notes = [f"{open_} labels of items that were not finished do not count"] if open_ else []
    return chosen, notes + ([f"{checks} answers to attention checks do not count"] if checks else [])


def propose_merges(
    judged: Sequence[JudgedLabel], encoder: PhraseEncoder, *, near: float = NEAR, same: float = SAME
) -> list[Merge]:
    """Labels that are near in meaning, in groups around the most frequent, for a person to decide on.

    Two labels of one take are proposed from the cosine `near` up, labels of different takes from `same` up.
    Labels with equal keys need no merge and are taken as one.
    """
    spellings = choose_spellings(judged)
    counts = Counter(label.key for label in judged)
    keys = sorted(counts, key=lambda key: (-counts[key], key))
    vectors = np.asarray(encoder.encode(keys), dtype=float)
    cosines = np.round(vectors @ vectors.T, 4)
    takes: dict[str, set[str]] = {}
    for label in judged:
        takes.setdefault(label.key, set()).add(label.item)
    taken: set[str] = set()
    merges: list[Merge] = []
    for index, key in enumerate(keys):
        if key in taken:
            continue
        group = [
            (other, float(cosines[index, n]))
            for n, other in enumerate(keys)
            if other not in taken
            and other != key
            and cosines[index, n] >= (near if takes[key] & takes[other] else same)
        ]
        if not group:
            continue
        taken.update([key, *(other for other, _ in group)])
        every = [takes[key], *(takes[other] for other, _ in group)]
        both = Counter(item for items in every for item in items)
        merges.append(
            Merge(
                into=spellings[key],
                labels=tuple(spellings[other] for other, _ in group),
                similarity=min(cosine for _, cosine in group),
                items=tuple(sorted(item for item, count in both.items() if count > 1)),
            )
        )
    return merges


def choose_spellings(judged: Sequence[JudgedLabel]) -> dict[str, str]:
    """How each label is written, by its key: as most annotators wrote it, in lower case without a full stop."""
    forms: dict[str, Counter[str]] = {}
    for label in judged:
        # Metadata separate labels by |.
        form = " ".join(label.label.lower().replace("|", " or ").rstrip(".!").split())
        forms.setdefault(label.key, Counter())[form] += 1
    return {key: min(counts, key=lambda form: (-counts[form], form)) for key, counts in forms.items()}


def merge_keys(judged: Sequence[JudgedLabel], merges: Sequence[Merge], source: str) -> dict[str, str]:
    """Each label's key → the key it counts as, after the confirmed merges."""
    keys = {entry.key for entry in judged}
    into = {key: key for key in keys}
    for merge in merges:
        for label in (merge.into, *merge.labels):
            if label_key(label) not in keys:
                raise DataError(
                    f"{source}: {unknown_name_error('label', label, choose_spellings(judged).values())}"
                )
        if merge.confirm is not True:
            continue
        target = label_key(merge.into)
        for label in merge.labels:
            key = label_key(label)
            if into[key] not in (key, target):
                raise DataError(f"{source}: '{label}' is merged into two labels; keep one")
            into[key] = target
    for merge in merges:
        if merge.confirm is True and into[label_key(merge.into)] != label_key(merge.into):
            raise DataError(
                f"{source}: '{merge.into}' takes labels and is itself merged into another; keep one"
            )
    return into
