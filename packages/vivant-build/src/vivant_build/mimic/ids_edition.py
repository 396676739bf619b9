"""An edition that may be passed on: ids and annotations, and of other people's words only their hashes.

`ids.jsonl` begins with a header; then come videos and items, a line each. An option names its video and comment; its
text is looked up again when the videos are fetched (`vivant build mimic restore ids.jsonl`), and used only if
its hash is still the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.data_files import iter_lines
from vivant.benchmarks.mimic.format import MimicItem, MimicVideo
from vivant.core.errors import DataError
from vivant.core.structs import copy_shared_fields
from vivant.metrics.text import normalise_text

FILE = "ids.jsonl"
FORMAT = "vivant-mimic-ids"


class IdsHeader(Struct, frozen=True, kw_only=True, tag="header"):
    """The first line."""

    format: str = FORMAT
    version: Literal[1] = 1
    name: str = ""
    licence: str = ""
    description_characters: int
    """Where descriptions were cut."""
    mentions: str
    links: str
    """How texts were rid of names and addresses."""


class IdVideo(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="video"):
    """A video to be fetched, and what the makers of the edition say of it."""

    platform: str
    id: str
    url: str
    file: str
    category: str = ""
    topics: tuple[str, ...] = ()
    language: str = ""
    duration: float | None = None
    licence: str = ""
    ranked: tuple[tuple[str, int | None], ...] = ()
    """Ids and likes of its comments, as they were."""


class IdOption(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where an option's text stands, and its hash."""

    video: str
    check: str
    comment: str = ""
    tags: tuple[int, ...] = ()
    """For tags: which of the video's they are."""
    rank: int | None = None
    likes: int | None = None


class IdItem(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="item"):
    """A question without its words."""

    id: str
    task: str
    video: str
    key: int | None = None
    options: tuple[IdOption, ...] = field(default_factory=tuple)


Line = IdsHeader | IdVideo | IdItem

_URLS = {
    "youtube": "https://www.youtube.com/watch?v={}",
    "tiktok": "https://www.tiktok.com/@_/video/{}",
    "vimeo": "https://vimeo.com/{}",
}


def video_url(platform: str, name: str, source: str) -> str:
    """Where a video can be had, without its maker's name; empty where that is not known."""
    pattern = _URLS.get(platform.lower())
    if pattern is not None:
        return pattern.format(name)
    return source if source.startswith(("http://", "https://")) and "@" not in source else ""


def hash_text(text: str) -> str:
    """A short hash of a text's plain form: tells whether it is still the same, and gives nothing of it away."""
    return hashlib.sha256(normalise_text(text).encode()).hexdigest()[:16]


def write_ids(
    path: Path, header: IdsHeader, videos: Iterable[MimicVideo], items: Iterable[MimicItem]
) -> None:
    """The whole edition as ids."""
    encoder = msgspec.json.Encoder()
    with path.open("wb") as file:
        file.write(encoder.encode(header) + b"\n")
        tags: dict[str, tuple[str, ...]] = {}
        for line in videos:
            tags[line.ref] = line.tags
            file.write(encoder.encode(_make_video(line)) + b"\n")
        for item in items:
            file.write(encoder.encode(_make_item(item, tags)) + b"\n")


def _make_video(line: MimicVideo) -> IdVideo:
    return IdVideo(
        **copy_shared_fields(line, IdVideo) | {"file": line.path},
        url=video_url(line.platform, line.id, line.source),
        ranked=tuple((comment.id, comment.likes) for comment in line.comments),
    )


def _make_item(item: MimicItem, tags: Mapping[str, tuple[str, ...]]) -> IdItem:
    options = tuple(
        IdOption(
            video=o.video,
            check=hash_text(o.text),
            comment=o.comment,
            tags=_tag_indices(o.text, tags[o.video]) if item.task == "tag" else (),
            rank=o.rank,
            likes=o.likes,
        )
        for o in item.options
    )
    return IdItem(id=item.id, task=item.task, video=item.video, key=item.key, options=options)


def strip_hash_signs(tags: Sequence[str]) -> list[str]:
    """Tags without their hash signs."""
    return [tag.lstrip("#").strip() for tag in tags]


def _tag_indices(text: str, tags: Sequence[str]) -> tuple[int, ...]:
    named = strip_hash_signs(tags)
    return tuple(named.index(piece.strip()) for piece in text.split("#") if piece.strip())


def read_ids(path: Path) -> tuple[IdsHeader, list[IdVideo], list[IdItem]]:
    """An edition of ids, whole."""
    header: IdsHeader | None = None
    videos: list[IdVideo] = []
    items: list[IdItem] = []
    for number, line in _iter_lines(path):
        if number == 1 and isinstance(line, IdsHeader) and line.format == FORMAT:
            header = line
        elif header is None or isinstance(line, IdsHeader):
            break
        elif isinstance(line, IdVideo):
            videos.append(line)
        else:
            items.append(line)
    if header is None or not videos:
        raise DataError(f"{path} is no list of ids that `vivant build mimic publish` wrote ({FILE})")
    return header, videos, items


def _iter_lines(path: Path) -> Iterator[tuple[int, Line]]:
    decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
    for number, line in iter_lines(path):
        try:
            yield number, decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DataError(
                f"{path}, line {number}: {error}; is this an {FILE} that `vivant build mimic publish` wrote?"
            ) from error
