"""Videos: language, length, rules, copies. What they lose for want of comments is said in comments.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from vivant_build.mimic.cleaning.languages import load_detector
from vivant_build.mimic.cleaning.minhash import FEWEST_WORDS, compute_signatures, group_near_duplicates
from vivant_build.mimic.cleaning.rules import ContentRule, match_rules
from vivant_build.mimic.cleaning.tokens import (
    I64,
    SCRIPTS,
    TokenizedColumn,
    count_scripts,
    hash_texts,
    tokenize,
)
from vivant_build.mimic.schema import VIDEOS
from vivant_build.mimic.settings import CleanSettings

_BATCH = 20_000
LATIN = ("", "en", "es", "de", "fr", "pt", "it", "nl", "tr", "id", "pl", "vi", "sv")
_COPY = "copy of another video"


class ExaminedVideos(Struct, frozen=True, kw_only=True):
    """All videos taken in, and what has been found out about them."""

    table: pa.Table
    """Sorted by ref."""
    language: list[str]
    reason: NDArray[Any]
    """Why a video is left out; empty for those that stay so far."""
    group: I64
    """Place of the first video of each one's group of near-duplicates."""

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which stay so far."""
        return np.asarray(self.reason == "", bool)


def read_videos(folder: Path) -> pa.Table:
    """All videos of a step, sorted by ref."""
    return pq.read_table(folder, schema=VIDEOS).sort_by("ref").combine_chunks()


def examine_videos(
    table: pa.Table,
    settings: CleanSettings,
    rules: tuple[ContentRule, ...],
    unreadable: Mapping[str, str],
    pairs: I64,
) -> ExaminedVideos:
    """Say of each video what language it is in, whether it can stay, and what it is a copy of.

    `unreadable` says why files cannot be used; `pairs` are rows whose pictures are the same.
    """
    size = len(table)
    reason = np.full(size, "", dtype=object)
    detected, counts, same, signatures, latin = _tokenize_videos(table)
    language = _decide_languages(table, detected, latin)
    _mark_unfit(reason, table, settings, language)
    for number, name in enumerate((rule.name for rule in rules), 1):
        for field in ("title", "description"):
            broken = match_rules(table.column(field), rules, field)
            _mark(reason, broken == number, name)
    _mark_tags(reason, table, rules)
    for row, ref in enumerate(table.column("ref").to_pylist() if unreadable else []):
        if ref in unreadable and not reason[row]:
            reason[row] = unreadable[ref]
    comparable = (counts >= FEWEST_WORDS) & (reason == "")
    group = group_near_duplicates(signatures, comparable, settings.near_duplicate)
    group = _unite_pairs(group, pairs)
    _mark_copies(reason, table, np.where(comparable, same, 0), comparable)
    return ExaminedVideos(table=table, language=language, reason=reason, group=group)


def _tokenize_videos(
    table: pa.Table,
) -> tuple[NDArray[Any], I64, NDArray[np.uint64], NDArray[np.uint32], NDArray[np.bool_]]:
    """Language, number of words, key of the text, signature, and whether most letters are Latin."""
    codes = np.array(load_detector().languages, dtype=object)
    parts: list[tuple[Any, ...]] = []
    for start in range(0, max(len(table), 1), _BATCH):
        batch = table.slice(start, _BATCH)
        text = pc.binary_join_element_wise(
            batch.column("title"),
            batch.column("description"),
            " ",
            null_handling="replace",
            null_replacement="",
        ).combine_chunks()
        tokens = tokenize(text)
        tagged = pc.binary_join_element_wise(
            text, pc.binary_join(batch.column("tags"), " "), " ", null_handling="replace"
        )
        detected = codes[load_detector().detect(tokens, guess=False)]
        unsure = detected == ""
        if unsure.any():
            again = codes[
                load_detector().detect(
                    tokenize(tagged.combine_chunks() if hasattr(tagged, "combine_chunks") else tagged)
                )
            ]
            detected = np.where(unsure, again, detected)
        parts.append(
            (
                detected,
                tokens.counts,
                hash_texts(tokens),
                compute_signatures(tokens),
                _is_mostly_latin(tokens),
            )
        )
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return joined[0], joined[1], joined[2], joined[3], joined[4]


def _is_mostly_latin(tokens: TokenizedColumn) -> NDArray[np.bool_]:
    counts = count_scripts(tokens)
    latin = counts[:, SCRIPTS.index("Latin")]
    letters = counts[:, SCRIPTS.index("Latin") : SCRIPTS.index("other")].sum(1)
    return np.asarray(latin * 2 > letters, bool)


def _decide_languages(table: pa.Table, detected: NDArray[Any], latin: NDArray[np.bool_]) -> list[str]:
    """What the platform says, unless the script of the text contradicts it; else what was detected."""
    declared = np.array(table.column("language").to_pylist(), dtype=object)
    declared_latin = np.isin(declared, LATIN)
    believed = (declared != "") & ((detected == "") | (declared_latin == latin))
    return list(np.where(believed, declared, detected))


def _mark(reason: NDArray[Any], which: Any, why: str) -> None:
    """Give a reason to those that have none yet."""
    reason[np.asarray(which, bool) & (reason == "")] = why


def _mark_unfit(reason: NDArray[Any], table: pa.Table, settings: CleanSettings, language: list[str]) -> None:
    title = pc.utf8_trim_whitespace(pc.fill_null(table.column("title"), ""))
    characters = pc.utf8_length(title).to_numpy()
    _mark(reason, characters == 0, "no title")
    _mark(reason, characters < settings.title_characters[0], "title too short")
    _mark(reason, characters > settings.title_characters[1], "title too long")
    seconds = pc.fill_null(table.column("duration"), float("nan")).to_numpy()
    _mark(reason, seconds < settings.shortest, f"shorter than {settings.shortest:g} s")
    _mark(reason, seconds > settings.longest, f"longer than {settings.longest:g} s")
    if settings.languages:
        _mark(reason, ~np.isin(np.array(language, dtype=object), settings.languages), "another language")


def _mark_tags(reason: NDArray[Any], table: pa.Table, rules: tuple[ContentRule, ...]) -> None:
    tags = pc.binary_join(pc.fill_null(table.column("tags"), []), " ")
    broken = match_rules(tags, rules, "tag")
    for number in np.unique(broken[broken > 0]):
        _mark(reason, broken == number, rules[number - 1].name)


def _mark_copies(reason: NDArray[Any], table: pa.Table, same: Any, comparable: NDArray[np.bool_]) -> None:
    """Of videos with the same words the most viewed stays."""
    rows = np.flatnonzero(comparable)
    views = pc.fill_null(table.column("views"), -1).to_numpy()[rows]
    order = rows[np.lexsort((rows, -views, same[rows]))]
    again = np.flatnonzero(same[order][1:] == same[order][:-1]) + 1
    reason[order[again]] = _COPY


def _unite_pairs(group: I64, pairs: I64) -> I64:
    """Groups of texts united where pictures are the same."""
    parent = group.copy()

    def root(index: int) -> int:
        while parent[index] != index:
            index = int(parent[index])
        return index

    for first, second in pairs.tolist():
        a, b = root(first), root(second)
        parent[max(a, b)] = min(a, b)
    if not len(pairs):
        return group
    return np.array([root(index) for index in range(len(parent))], np.int64)
