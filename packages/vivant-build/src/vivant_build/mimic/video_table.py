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

from vivant.benchmarks.mimic.format import Comment, MimicOption, MimicVideo
from vivant.benchmarks.mimic.text_metrics import split_words
from vivant.core.randomness import derive_generator
from vivant.metrics.text import normalise_text
from vivant_build.mimic.settings import TaskSettings
from vivant_build.mimic.vectors import Vectors, VectorStore
from vivant_build.mimic.video_records import VideoRecord

_WORDS64 = 16
_SHORTEST, _LONGEST = 3, 200
"""Words and characters of a comment that can be asked for."""
_WEIGHED = 12
"""Most-liked comments among which the fitting ones are looked for."""

_OTHER = re.compile(r"\W+|_+")

Codes = NDArray[np.int64]


class TaskTexts(Struct, frozen=True):
    """The texts of one task: `owner[k]` is the video whose `options[k]` is."""

    task: str
    owner: Codes
    options: tuple[MimicOption, ...]
    without: dict[str, int]
    """Why the other videos have none."""


class VideoTable:
    """Videos as arrays, so that many pairs of them can be compared at once."""

    def __init__(
        self, videos: Sequence[VideoRecord], settings: TaskSettings, seed: int, store: VectorStore | None
    ) -> None:
        self.videos = videos
        self.lines: list[MimicVideo] = [video.line for video in videos]
        self.settings = settings
        self.seed = seed
        self.store = store
        self.language = encode_names(line.language for line in self.lines)
        self.topic_language = np.where([video.made_topic != "" for video in videos], self.language, -1)
        """-1 where the topic came with the video: its name may be that of videos in other languages too."""
        self.platform = encode_names(line.platform for line in self.lines)
        self.category = encode_names((line.category for line in self.lines), unknown="")
        self.uploader = encode_names((line.uploader for line in self.lines), unknown="")
        self.group = np.array([-1 if v.group is None else v.group for v in videos], np.int64)
        self._common = self._find_common_tags()
        self.signature = np.zeros((len(videos), _WORDS64), np.uint64)
        for row, line in zip(self.signature, self.lines, strict=True):
            for fact in self._list_facts(line):
                bit = crc32(fact.encode()) % (64 * _WORDS64)
                row[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)

    def related(self, rows: Codes, columns: Codes) -> NDArray[np.bool_]:
        """Which of some videos may not lend wrong options to which: [to a row, from a column]."""
        result = _compare_equal(self.uploader, rows, columns) | _compare_equal(self.group, rows, columns)
        result |= rows[:, None] == columns[None, :]
        if self.settings.other_category:
            result |= _compare_equal(self.category, rows, columns)
        for word in self.signature.T:
            result |= (word[rows][:, None] & word[columns][None, :]) != 0
        return result

    @cached_property
    def comment_forms(self) -> list[frozenset[str]]:
        """The rough forms of all that is said under each video."""
        return [frozenset(normalise_roughly(c.text) for c in line.comments) for line in self.lines]

    @cached_property
    def gists(self) -> Vectors | None:
        """A vector a video for what it is about: of its title, its tags and topics; None without a store."""
        if self.store is None:
            return None
        mixed = self.store.get([line.title for line in self.lines], "titles")
        for name, text in (("tags", self._format_tags), ("topics", self._choose_topic)):
            indices = np.array([number for number, line in enumerate(self.lines) if text(line)], np.int64)
            if len(indices):
                mixed[indices] += self.store.get([text(self.lines[number]) for number in indices], name)
        return np.asarray(mixed / np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-6), np.float32)

    def texts(self, task: str) -> TaskTexts:
        """What one task asks for, video by video; not for comment popularity."""
        without: Counter[str] = Counter()
        owner: list[int] = []
        options: list[MimicOption] = []
        comments = self._choose_comments() if task == "comment-match" else {}
        for number, line in enumerate(self.lines):
            option = self._make_option(task, number, line, comments)
            if option is None:
                without[LACKS[task]] += 1
            else:
                owner.append(number)
                options.append(option)
        return TaskTexts(task, np.array(owner, np.int64), tuple(options), dict(without))

    def _make_option(
        self, task: str, number: int, line: MimicVideo, comments: dict[int, Comment]
    ) -> MimicOption | None:
        if task == "comment-match":
            chosen = comments.get(number)
            if chosen is None:
                return None
            return MimicOption(text=chosen.text, video=line.ref, comment=chosen.id, likes=chosen.likes)
        text = {
            "title": lambda: line.title,
            "description": lambda: line.description,
            "tag": lambda: self._format_tags(line),
            "topic": lambda: self._choose_topic(line),
            "category": lambda: line.category,
        }[task]()
        return MimicOption(text=text, video=line.ref) if normalise_text(text) else None

    def _choose_topic(self, line: MimicVideo) -> str:
        topics = [topic for topic in line.topics if normalise_text(topic)]
        return derive_generator(self.seed, "topic", line.ref).choice(topics) if topics else ""

    def _format_tags(self, line: MimicVideo) -> str:
        return " ".join(f"#{tag}" for tag in self._choose_tags(line))

    def _choose_tags(self, line: MimicVideo) -> list[str]:
        """The first few that say something, without their hash signs."""
        named = {normalise_name(tag): tag.lstrip("#").strip() for tag in line.tags}
        tags = [tag for form, tag in named.items() if form and form not in self._common and "#" not in tag]
        return [tag for tag in tags if "," not in tag][: self.settings.tags]

    def _find_common_tags(self) -> set[str]:
        counts = Counter(form for line in self.lines for form in {normalise_name(tag) for tag in line.tags})
        limit = max(self.settings.common_tag * len(self.lines), 3)
        # A tag that half of a category has still says something of it; one that crosses categories does not.
        categories: dict[str, set[str]] = {form: set() for form, count in counts.items() if count > limit}
        for line in self.lines:
            for tag in line.tags:
                form = normalise_name(tag)
                if form in categories:
                    categories[form].add(line.category)
        crossed = min(2, len({line.category for line in self.lines}) - 1)
        return {form for form, names in categories.items() if len(names) > crossed}

    def _list_facts(self, line: MimicVideo) -> set[str]:
        facts = {normalise_name(text) for text in (*line.tags, *line.topics)} - self._common
        if self.settings.other_category:
            facts.add(normalise_name(line.category))
        return facts - {""}

    def _choose_comments(self) -> dict[int, Comment]:
        """For each video the comment among its most-liked that fits it best: by words, then by meaning."""
        weighed = {number: self._list_candidates(number) for number in range(len(self.lines))}
        if self.store is None:
            return {number: comments[0] for number, comments in weighed.items() if comments}
        flat = [(number, comment) for number, comments in weighed.items() for comment in comments]
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

    def _list_candidates(self, number: int) -> list[Comment]:
        line, spoken = self.lines[number], self.videos[number].spoken
        about = set(split_words(" ".join((line.title, line.description, *line.topics, *line.tags))))
        candidates: list[tuple[int, int, Comment]] = []
        for comment, language in zip(line.comments, spoken, strict=True):
            tokens = split_words(comment.text)
            if language == line.language and len(tokens) >= _SHORTEST and len(comment.text) <= _LONGEST:
                overlap = sum(len(word) > 3 and word in about for word in set(tokens))
                candidates.append((-overlap, len(candidates), comment))
            if len(candidates) == _WEIGHED:
                break
        return [comment for *_, comment in sorted(candidates)[: self.settings.candidates]]


LACKS = {
    "title": "no title",
    "description": "no description",
    "tag": "no tags that say something",
    "topic": "no topics",
    "category": "no category",
    "comment-match": "no comment in the video's language of a fitting length",
}
"""Task → why a video cannot be asked for it."""


def normalise_name(text: str) -> str:
    """A tag's or topic's name such that spellings of one name are equal."""
    form = normalise_text(text.lstrip("#")).replace(" ", "")
    return form[:-1] if len(form) > 3 and form.endswith("s") else form


def normalise_roughly(text: str) -> str:
    """Letters and digits alone: equal for all texts with the same plain form, and quick to find."""
    return _OTHER.sub("", text).casefold()


def encode_names(values: Iterable[str], unknown: str | None = None) -> Codes:
    """Numbers for names; -1 for the one that stands for nothing."""
    numbers: dict[str, int] = {}
    return np.array([-1 if v == unknown else numbers.setdefault(v, len(numbers)) for v in values], np.int64)


def _compare_equal(values: Codes, rows: Codes, columns: Codes) -> NDArray[np.bool_]:
    equal: NDArray[np.bool_] = (values[rows][:, None] == values[columns][None, :]) & (values[rows] >= 0)[
        :, None
    ]
    return equal
