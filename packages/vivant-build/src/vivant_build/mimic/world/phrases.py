"""Sentences by the million: templates with slots, filled for whole columns at a time.

A template is cut into literals and slots once; a column of texts is then a handful of look-ups in string tables
and one join, all in Arrow, so that fifteen million comments take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.yaml_files import read_yaml

Ints = NDArray[np.int64]
_SLOT = re.compile(r"\{(\w+)\}")
_SLOTS = 3
_FOLDER = Path(__file__).parent
FAMILIES = ("titles", "sentences", "moments", "abouts", "generic", "tails")
_LISTS = ("openers", "signatures", "adj", "place", "who", "time")
KINDS = ("about", "detail", "tag", "common_tag", "emoji", "n", *_LISTS)


class WorldTopic(Struct, frozen=True, kw_only=True):
    """What some videos show: a drawn clip and the way it is played."""

    clip: str
    motion: str
    category: str
    topics: tuple[str, ...]
    words: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Language → about, details, tags."""

    @property
    def name(self) -> str:
        """The clip, and `/reverse` where it is played backwards."""
        return self.clip if self.motion == "forward" else f"{self.clip}/{self.motion}"


def load_topics() -> tuple[WorldTopic, ...]:
    """All topics, in the order of the file."""
    others = read_yaml(_FOLDER / "topics_other.yaml", dict[str, dict[str, str]])
    english = read_yaml(_FOLDER / "topics_en.yaml", list[dict[str, Any]])
    return tuple(_make_topic(entry, others) for entry in english)


def _make_topic(entry: Mapping[str, Any], others: Mapping[str, Mapping[str, str]]) -> WorldTopic:
    motion = entry.get("motion", "forward")
    name = entry["clip"] if motion == "forward" else f"{entry['clip']}/{motion}"
    words = {"en": {"about": entry["about"], "detail": entry["details"], "tag": entry["tags"]}}
    for language, line in others[name].items():
        about, *details = line.split(" | ")
        tags = [piece.replace(" ", "").lower() for piece in (about, *details)]
        words[language] = {"about": [about], "detail": details, "tag": tags}
    return WorldTopic(
        clip=entry["clip"],
        motion=motion,
        category=entry["category"],
        topics=tuple(entry["topics"]),
        words={lang: {kind: tuple(v) for kind, v in kinds.items()} for lang, kinds in words.items()},
    )


class Phrases:
    """All words of the world in one table of strings, and where each language and topic finds its own."""

    def __init__(self) -> None:
        words = read_yaml(_FOLDER / "words.yaml", dict[str, Any])
        self.topics = load_topics()
        self.languages = tuple(name for name, value in words.items() if isinstance(value, dict))
        self.shares = np.array([words[name]["share"] for name in self.languages])
        self.spam_comments: list[str] = words["spam_comments"]
        self.spam_titles: list[str] = words["spam_titles"]
        self._strings: list[str] = [""]
        shape = (len(self.languages), len(self.topics), len(KINDS))
        self._start, self._size = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self._fill_pool(words)
        self.pool = pa.array(self._strings, pa.string())
        self._fill_templates(words)

    def _fill_pool(self, words: Mapping[str, Any]) -> None:
        self._put("emoji", slice(None), slice(None), words["emoji"])
        self._put("n", slice(None), slice(None), [str(n) for n in range(2, 61)])
        for number, language in enumerate(self.languages):
            entry = words[language]
            for kind in _LISTS:
                self._put(kind, number, slice(None), entry[kind])
            self._put("common_tag", number, slice(None), entry["tags"])
            for index, topic in enumerate(self.topics):
                for kind in ("about", "detail", "tag"):
                    self._put(kind, number, index, topic.words[language][kind])

    def _put(self, kind: str, language: Any, topic: Any, strings: Any) -> None:
        index = KINDS.index(kind)
        self._start[language, topic, index] = len(self._strings)
        self._size[language, topic, index] = len(strings)
        self._strings.extend(strings)

    def _fill_templates(self, words: Mapping[str, Any]) -> None:
        self._families: dict[str, tuple[Ints, Ints]] = {}
        literals: list[list[str]] = []
        kinds: list[list[int]] = []
        for family in FAMILIES:
            starts, sizes = [], []
            for language in self.languages:
                starts.append(len(literals))
                sizes.append(len(words[language][family]))
                for template in words[language][family]:
                    pieces = _SLOT.split(template)
                    missing = _SLOTS - len(pieces) // 2
                    literals.append(pieces[::2] + [""] * missing)
                    kinds.append([KINDS.index(kind) for kind in pieces[1::2]] + [-1] * missing)
            self._families[family] = np.array(starts), np.array(sizes)
        self._literals = [pa.array(column, pa.string()) for column in zip(*literals, strict=True)]
        self._kinds = np.array(kinds)

    def choose(self, kind: str, language: Ints, topic: Ints, rng: np.random.Generator) -> Ints:
        """For each row, the place in `pool` of a word of its language and topic."""
        return self.nth(kind, language, topic, rng.integers(0, 1 << 40, len(language)))

    def nth(self, kind: str, language: Ints, topic: Ints, number: Ints) -> Ints:
        """For each row, the place in `pool` of its word of that number, counted round."""
        index = KINDS.index(kind)
        result: Ints = self._start[language, topic, index] + number % self._size[language, topic, index]
        return result

    def fill(
        self,
        family: str,
        language: Ints,
        topic: Ints,
        rng: np.random.Generator,
        fixed: Mapping[str, Ints] | None = None,
        number: Ints | None = None,
    ) -> pa.Array:
        """A text for each row; `fixed` says which word stands in the slots of a kind, as places in `pool`.

        `number` chooses the templates, counted round; by default chance does.
        """
        starts, sizes = self._families[family]
        if number is None:
            number = rng.integers(0, 1 << 40, len(language))
        template = starts[language] + number % sizes[language]
        pieces = [self._literals[0].take(pa.array(template))]
        for slot in range(_SLOTS):
            kind = self._kinds[template, slot]
            used = kind >= 0
            if not used.any():
                break
            safe = np.where(used, kind, 0)
            numbers = rng.integers(0, 1 << 40, len(language))
            size = self._size[language, topic, safe]
            indices = np.where(used, self._start[language, topic, safe] + numbers % np.maximum(size, 1), 0)
            for name, values in (fixed or {}).items():
                indices = np.where(kind == KINDS.index(name), values, indices)
            pieces.append(self.pool.take(pa.array(indices)))
            pieces.append(self._literals[slot + 1].take(pa.array(template)))
        return join_strings(*pieces)


def join_strings(*pieces: Any) -> pa.Array:
    """Strings put together row by row."""
    return pc.binary_join_element_wise(*pieces, "")
