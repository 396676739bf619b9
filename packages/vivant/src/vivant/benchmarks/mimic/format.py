"""MIMIC-Bench on disk: `videos.jsonl`, `items.jsonl` and the video files. docs/mimic.md describes each field.

Both files are read a line at a time, so that a video with a million comments costs its own line and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from vivant.benchmarks.data_files import iter_json_lines

VIDEOS, ITEMS = "videos.jsonl", "items.jsonl"
Count = Annotated[int, Meta(ge=0)]


class Comment(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What somebody wrote under a video."""

    id: str
    text: str
    likes: Count | None = None
    """None where the platform did not say; such a comment has no rank."""
    time: str = ""
    """ISO 8601, UTC."""
    reply_to: str = ""
    """The comment that this one answers; empty for one that stands by itself."""


class MimicVideoInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A video without its comments."""

    platform: Annotated[str, Meta(min_length=1)]
    id: Annotated[str, Meta(min_length=1)]
    file: str = ""
    """Relative to the folder; default `videos/<id>.mp4`."""
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    category: str = ""
    language: str = ""
    """ISO 639 code: `en`, `es`, `ar`."""
    duration: Annotated[float, Meta(ge=0)] | None = None
    """Seconds."""
    uploader: str = ""
    """Never a name: a hash."""
    uploaded: str = ""
    """ISO 8601, UTC."""
    width: Count | None = None
    height: Count | None = None
    views: Count | None = None
    likes: Count | None = None
    comment_count: Count | None = None
    licence: str = ""
    source: str = ""
    """Where it was taken from."""

    @property
    def ref(self) -> str:
        """How items name the video: `platform/id`."""
        return f"{self.platform}/{self.id}"

    @property
    def path(self) -> str:
        """The video file, relative to the folder."""
        return self.file or f"videos/{self.id}.mp4"


class MimicVideo(MimicVideoInfo, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of `videos.jsonl`. Unknown fields are refused, so that a misspelt one is not ignored."""

    comments: tuple[Comment, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    """Anything else that somebody wants to keep."""


class MimicOption(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One of the four options, and where it comes from."""

    text: str
    video: str = ""
    """The video whose title, tag, comment … this is, as `platform/id`; empty where unknown."""
    comment: str = ""
    """For a comment: its id."""
    rank: Annotated[int, Meta(ge=1)] | None = None
    """For the popularity task: its place by likes under the video."""
    likes: Count | None = None


class MimicItem(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of `items.jsonl`: a question about one video."""

    id: Annotated[str, Meta(min_length=1)]
    task: str
    video: str
    """`platform/id`."""
    options: tuple[MimicOption, ...] = ()
    """In any order: a run shuffles them. None for the task `comment`."""
    key: int | None = None
    """Place of the right option, from 0."""
    extra: dict[str, Any] = field(default_factory=dict)


def iter_videos(root: Path) -> Iterator[tuple[int, MimicVideo]]:
    """Lines of `videos.jsonl` with their numbers, whole."""
    return iter_json_lines(root / VIDEOS, MimicVideo)


def iter_infos(root: Path) -> Iterator[tuple[int, MimicVideoInfo]]:
    """The same without comments, which are passed over unread."""
    return iter_json_lines(root / VIDEOS, MimicVideoInfo)


def iter_items(root: Path) -> Iterator[tuple[int, MimicItem]]:
    """Lines of `items.jsonl` with their numbers."""
    return iter_json_lines(root / ITEMS, MimicItem)


def has_items(root: Path) -> bool:
    """Whether the folder asks anything besides comments to be written."""
    return (root / ITEMS).is_file()


def select_most_liked(comments: Sequence[Comment], count: int) -> list[Comment]:
    """The `count` comments with most likes that stand by themselves, each text once.

    Those whose likes are unknown come last, in the order of the file; `likes` tells them apart.
    """
    ranked = sorted(
        (c for c in comments if c.text.strip() and not c.reply_to),
        key=lambda c: -1 if c.likes is None else c.likes,
        reverse=True,
    )
    selected: dict[str, Comment] = {}
    for comment in ranked:
        if len(selected) >= count:
            break
        selected.setdefault(comment.text.strip(), comment)
    return list(selected.values())
