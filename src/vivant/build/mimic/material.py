"""What a set of videos can be asked about: a text per task and video, and what is true of each video.

Two videos are related where they share an uploader, a near-duplicate group, a category, or any tag or topic (in
plain form, without spaces and a final s, so that `Street Food` and `#streetfoods` are one). Only unrelated ones
lend each other wrong options. Shared facts are found by 1,024-bit signatures: two that share a fact always
meet there, so nothing related slips through; now and then two unrelated ones meet too, which costs nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from zlib import crc32

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from vivant.benchmarks.mimic.format import Comment, ItemOption, VideoLine
from vivant.benchmarks.mimic.textmetrics import words
from vivant.build.mimic.grouping import Gathered
from vivant.build.mimic.task_settings import Tasks
from vivant.build.mimic.vectors import Vectors, VectorStore
from vivant.core.randomness import derive_generator
from vivant.metrics.text import plain

_WORDS64 = 16
_SHORTEST, _LONGEST = 3, 200
"""Words and characters of a comment that can be asked for."""
_WEIGHED = 12
"""Most-liked comments among which the fitting ones are looked for."""

_OTHER = re.compile(r"\W+|_+")

Codes = NDArray[np.int64]


class Texts(Struct, frozen=True):
    """The texts of one task: `owner[k]` is the video whose `options[k]` is."""

    task: str
    owner: Codes
    options: tuple[ItemOption, ...]
    without: dict[str, int]
    """Why the other videos have none."""


class Material:
    """Videos as arrays, so that many pairs of them can be compared at once."""

    def __init__(
        self, videos: Sequence[Gathered], settings: Tasks, seed: int, store: VectorStore | None
    ) -> None:
        self.videos = videos
        self.lines: list[VideoLine] = [video.line for video in videos]
        self.settings = settings
        self.seed = seed
        self.store = store
        self.language = codes(line.language for line in self.lines)
        self.platform = codes(line.platform for line in self.lines)
        self.category = codes((line.category for line in self.lines), unknown="")
        self.uploader = codes((line.uploader for line in self.lines), unknown="")
        self.group = np.array([-1 if v.group is None else v.group for v in videos], np.int64)
        self._common = self._common_tags()
        self.signature = np.zeros((len(videos), _WORDS64), np.uint64)
        for row, line in zip(self.signature, self.lines, strict=True):
            for fact in self._facts(line):
                place = crc32(fact.encode()) % (64 * _WORDS64)
                row[place // 64] |= np.uint64(1) << np.uint64(place % 64)

    def related(self, rows: Codes, columns: Codes) -> NDArray[np.bool_]:
        """Which of some videos may not lend wrong options to which: [to a row, from a column]."""
        found = _same(self.uploader, rows, columns) | _same(self.group, rows, columns)
        found |= rows[:, None] == columns[None, :]
        if self.settings.other_category:
            found |= _same(self.category, rows, columns)
        for word in self.signature.T:
            found |= (word[rows][:, None] & word[columns][None, :]) != 0
        return found

    @cached_property
    def said(self) -> list[frozenset[str]]:
        """The rough forms of all that is said under each video."""
        return [frozenset(rough_form(c.text) for c in line.comments) for line in self.lines]

    @cached_property
    def gists(self) -> Vectors | None:
        """A vector a video for what it is about: of its title, its tags and topics; None without a store."""
        if self.store is None:
            return None
        mixed = self.store.get([line.title for line in self.lines], "titles")
        for name, text in (("tags", self._tag_text), ("topics", self._topic)):
            known = np.array([number for number, line in enumerate(self.lines) if text(line)], np.int64)
            if len(known):
                mixed[known] += self.store.get([text(self.lines[number]) for number in known], name)
        return np.asarray(mixed / np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-6), np.float32)

    def texts(self, task: str) -> Texts:
        """What one task asks for, video by video; not for comment popularity."""
        without: Counter[str] = Counter()
        owner: list[int] = []
        options: list[ItemOption] = []
        comments = self._fitting_comments() if task == "comment-match" else {}
        for number, line in enumerate(self.lines):
            option = self._option(task, number, line, comments)
            if option is None:
                without[_LACKS[task]] += 1
            else:
                owner.append(number)
                options.append(option)
        return Texts(task, np.array(owner, np.int64), tuple(options), dict(without))

    def _option(
        self, task: str, number: int, line: VideoLine, comments: dict[int, Comment]
    ) -> ItemOption | None:
        if task == "comment-match":
            chosen = comments.get(number)
            if chosen is None:
                return None
            return ItemOption(text=chosen.text, video=line.ref, comment=chosen.id, likes=chosen.likes)
        text = {
            "title": lambda: line.title,
            "description": lambda: line.description,
            "tag": lambda: self._tag_text(line),
            "topic": lambda: self._topic(line),
            "category": lambda: line.category,
        }[task]()
        return ItemOption(text=text, video=line.ref) if plain(text) else None

    def _topic(self, line: VideoLine) -> str:
        topics = [topic for topic in line.topics if plain(topic)]
        return derive_generator(self.seed, "topic", line.ref).choice(topics) if topics else ""

    def _tag_text(self, line: VideoLine) -> str:
        return " ".join(f"#{tag}" for tag in self._asked_tags(line))

    def _asked_tags(self, line: VideoLine) -> list[str]:
        """The first few that say something, without their hash signs."""
        named = {name_form(tag): tag.lstrip("#").strip() for tag in line.tags}
        kept = [tag for form, tag in named.items() if form and form not in self._common and "#" not in tag]
        return [tag for tag in kept if "," not in tag][: self.settings.tags]

    def _common_tags(self) -> set[str]:
        seen = Counter(form for line in self.lines for form in {name_form(tag) for tag in line.tags})
        limit = max(self.settings.common_tag * len(self.lines), 3)
        # A tag that half of a category has still says something of it; one that crosses categories does not.
        categories: dict[str, set[str]] = {form: set() for form, count in seen.items() if count > limit}
        for line in self.lines:
            for tag in line.tags:
                form = name_form(tag)
                if form in categories:
                    categories[form].add(line.category)
        crossed = min(2, len({line.category for line in self.lines}) - 1)
        return {form for form, found in categories.items() if len(found) > crossed}

    def _facts(self, line: VideoLine) -> set[str]:
        facts = {name_form(text) for text in (*line.tags, *line.topics)} - self._common
        if self.settings.other_category:
            facts.add(name_form(line.category))
        return facts - {""}

    def _fitting_comments(self) -> dict[int, Comment]:
        """For each video the comment among its most-liked that fits it best: by words, then by meaning."""
        weighed = {number: self._candidates(number) for number in range(len(self.lines))}
        if self.store is None:
            return {number: found[0] for number, found in weighed.items() if found}
        flat = [(number, comment) for number, found in weighed.items() for comment in found]
        vectors = self.store.get([comment.text for _, comment in flat], "comments")
        gists = self.gists
        assert gists is not None
        owners = np.array([number for number, _ in flat], np.int64)
        nearness = np.round(np.einsum("ij,ij->i", vectors, gists[owners]), 4) if flat else []
        best: dict[int, tuple[float, Comment]] = {}
        for (number, comment), near in zip(flat, nearness, strict=True):
            if number not in best or near > best[number][0]:
                best[number] = (float(near), comment)
        return {number: comment for number, (_, comment) in best.items()}

    def _candidates(self, number: int) -> list[Comment]:
        line, spoken = self.lines[number], self.videos[number].spoken
        about = set(words(" ".join((line.title, line.description, *line.topics, *line.tags))))
        found: list[tuple[int, int, Comment]] = []
        for comment, language in zip(line.comments, spoken, strict=True):
            said = words(comment.text)
            if language == line.language and len(said) >= _SHORTEST and len(comment.text) <= _LONGEST:
                overlap = sum(len(word) > 3 and word in about for word in set(said))
                found.append((-overlap, len(found), comment))
            if len(found) == _WEIGHED:
                break
        return [comment for *_, comment in sorted(found)[: self.settings.candidates]]


_LACKS = {
    "title": "no title",
    "description": "no description",
    "tag": "no tags that say something",
    "topic": "no topics",
    "category": "no category",
    "comment-match": "no comment in the video's language of a fitting length",
}


def name_form(text: str) -> str:
    """A tag's or topic's name such that spellings of one name are equal."""
    form = plain(text.lstrip("#")).replace(" ", "")
    return form[:-1] if len(form) > 3 and form.endswith("s") else form


def rough_form(text: str) -> str:
    """Letters and digits alone: equal for all texts with the same plain form, and quick to find."""
    return _OTHER.sub("", text).casefold()


def codes(values: Iterable[str], unknown: str | None = None) -> Codes:
    """Numbers for names; -1 for the one that stands for nothing."""
    known: dict[str, int] = {}
    return np.array([-1 if v == unknown else known.setdefault(v, len(known)) for v in values], np.int64)


def _same(values: Codes, rows: Codes, columns: Codes) -> NDArray[np.bool_]:
    equal: NDArray[np.bool_] = (values[rows][:, None] == values[columns][None, :]) & (values[rows] >= 0)[
        :, None
    ]
    return equal
