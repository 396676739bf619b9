"""A set in another shape, written in ours: videos with their comments, and items, as a mapping file says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, Comment, MimicItem, MimicOption, MimicVideo
from vivant.benchmarks.mimic.mapping import (
    ColumnMapping,
    MappedColumn,
    MappedFile,
    format_id,
    iter_rows,
    map_fields,
    read_mapping,
)
from vivant.core.errors import DataError, UsageError
from vivant.core.files import write_jsonl

_T = TypeVar("_T")


def convert_dataset(mapping: Path, out: Path) -> tuple[int, int]:
    """Write `videos.jsonl` and `items.jsonl` into a folder; returns how many of each."""
    mapped = read_mapping(mapping)
    if any((out / name).exists() for name in (VIDEOS, ITEMS)):
        raise UsageError(f"{out} holds {VIDEOS} or {ITEMS} already; choose another --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
        videos = write_jsonl(out / VIDEOS, map_videos(mapped, mapping.parent))
        items = write_jsonl(out / ITEMS, map_items(mapped.items, mapping.parent)) if mapped.items else 0
    except OSError as error:
        raise UsageError(f"Cannot write to {out}: {error.strerror}") from error
    return videos, items


def map_videos(mapped: ColumnMapping, folder: Path) -> Iterator[MimicVideo]:
    """Videos one by one; comments of a file of their own are gathered first."""
    apart = _read_comments(mapped.comments, folder) if mapped.comments else {}
    for where, row in iter_rows(mapped.videos, folder):
        fields = map_fields(mapped.videos.columns, row, where)
        fields["comments"] = [
            _number_comment(comment, number) for number, comment in enumerate(fields.get("comments") or [], 1)
        ]
        ref = f"{fields.get('platform')}/{format_id(fields.get('id'))}"
        fields["comments"] += apart.pop(ref, None) or apart.pop(format_id(fields.get("id")), [])
        yield _convert_fields(fields, MimicVideo, where)
    if apart:
        assert mapped.comments is not None
        raise DataError(
            f"{folder / mapped.comments.file}: comments on {len(apart)} videos that are not in "
            f"{mapped.videos.file}, the first is {next(iter(apart))}"
        )


def _read_comments(block: MappedFile, folder: Path) -> dict[str, list[dict[str, Any]]]:
    by_video: dict[str, list[dict[str, Any]]] = {}
    for where, row in iter_rows(block, folder):
        fields = map_fields(block.columns, row, where)
        video = format_id(fields.pop("video", None))
        if not video:
            raise DataError(f"{where}: the comment names no video; map the field `video`")
        comments = by_video.setdefault(video, [])
        comments.append(_number_comment(fields, len(comments) + 1))
    return by_video


def _number_comment(comment: Any, number: int) -> dict[str, Any]:
    """A comment with an id: its place where the data give none. A bare text is a comment, too."""
    fields = {"text": comment} if isinstance(comment, str) else dict(comment)
    fields.pop("author", None)  # who wrote it is asked for only to take the name out of texts
    return {"id": f"c{number}", **{name: value for name, value in fields.items() if value is not None}}


def map_items(block: MappedFile, folder: Path) -> Iterator[MimicItem]:
    """Items one by one; an id is made of the row's place where the data give none."""
    for number, (where, row) in enumerate(iter_rows(block, folder), 1):
        fields = map_fields(block.columns, row, where)
        options = [_build_option(option, where) for option in _list_options(fields.get("options"))]
        fields["options"] = options
        source = block.columns.get("key")
        base = source.base if isinstance(source, MappedColumn) else 0
        if fields.get("key") is not None:
            fields["key"] = _parse_key(fields["key"], base, options, where)
            correct = options[fields["key"]]
            correct.setdefault("video", fields.get("video"))
        fields.setdefault("id", str(number))
        yield _convert_fields(fields, MimicItem, where)


def _list_options(options: Any) -> list[Any]:
    """Options as a list; `{"A": …, "B": …}` in the order of its letters."""
    if isinstance(options, Mapping):
        return [options[name] for name in sorted(options)]
    return list(options or [])


def _build_option(option: Any, where: str) -> dict[str, Any]:
    if isinstance(option, Mapping):
        return {name: value for name, value in option.items() if value is not None}
    if option is None:
        raise DataError(f"{where}: an option is missing")
    return {"text": format_id(option)}


def _parse_key(value: Any, base: int, options: list[dict[str, Any]], where: str) -> int:
    texts = [option.get("text") for option in options]
    text = format_id(value).strip()
    letter = text.strip("().").upper()
    if text in texts:
        index = texts.index(text)
    elif text.lstrip("-").isdecimal():
        index = int(text) - base
    elif len(letter) == 1 and letter.isalpha():
        index = ord(letter) - ord("A")
    else:
        raise DataError(f"{where}: the key '{text}' is no letter, no place and no option's text")
    if not 0 <= index < len(options):
        raise DataError(f"{where}: the key '{text}' is none of {len(options)} options")
    return index


_TEXTS = {
    name
    for kind in (MimicVideo, MimicItem, Comment, MimicOption)
    for name in kind.__struct_fields__
    if name not in ("likes", "views", "width", "height", "comment_count", "duration", "key", "rank")
}


def _convert_fields(fields: dict[str, Any], kind: type[_T], where: str) -> _T:
    try:
        return msgspec.convert(_format_fields(fields), kind, strict=False)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}: {error}") from error


def _format_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as texts where texts are wanted, in objects inside as well."""
    result: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, list | tuple):
            result[name] = [_format_fields(v) if isinstance(v, Mapping) else format_id(v) for v in value]
        elif name in _TEXTS and isinstance(value, int | float):
            result[name] = format_id(value)
        elif isinstance(value, float) and value.is_integer() and name != "duration":
            result[name] = int(value)
        else:
            result[name] = value
    return result
