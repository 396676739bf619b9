"""Records of TikTok, Instagram, Bilibili and YouTube as scrapers write them, told by their fields.

The forms are data: `crawl_forms.yaml`. Records are looked for at any depth, because every scraper wraps them in
another way: a list, JSON lines, `{data: {videos: […]}}`, `{collector: […]}`, an object keyed by ids. An element of a
list of records that is none is set aside by its place; nothing is passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.benchmarks.mimic.mapping import MappedColumn, get_path, map_fields
from vivant.core.errors import DataError
from vivant.core.yaml_files import read_yaml
from vivant_build.mimic.ingestion import values
from vivant_build.mimic.ingestion.json_pieces import BrokenValue, LargeList, load_whole
from vivant_build.mimic.ingestion.platform_ids import (
    YOUTUBE_CATEGORIES,
    find_id_in_name,
    normalise_id,
    read_post_id,
)
from vivant_build.mimic.ingestion.values import InvalidValueError, parse_row
from vivant_build.mimic.ingestion.writer import RecordWriter
from vivant_build.mimic.ingestion.ytdlp import (
    SourceDefaults,
    add_raw_comments,
    find_video,
    ingest_parsed_info,
)
from vivant_build.privacy import remove_names

_DEEPEST = 12
_MOST_FIELDS = 100
"""Of a record; real ones have up to eighty."""
_PAGES = ("has_more", "hasMore", "cursor")
_RECORDS = ("comments", "videos", "itemList", "item_list", "aweme_list")
UNKNOWN = "no record of a known form"
_NO_VIDEO = "names no video, and stands in none; name its file after its video (ID.json), or write a mapping"
_FILE_END = re.compile(
    r"(\.info)?\.(json|jsonl|jsonlines|ndjson|jl|csv|tsv|tab|parquet)(\.(gz|bz2|xz|zst))?$", re.IGNORECASE
)
_MEDIA_END = re.compile(r"\.(mp4|webm|mkv|mov)$", re.IGNORECASE)


class CrawlForm(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How one kind of record looks, and which of its fields are which."""

    name: str
    platform: str
    when: list[str]
    columns: dict[str, str | MappedColumn | list[str | MappedColumn]]
    skip: dict[str, list[str]] = {}
    skipped: str = "pictures"
    names: list[str] = []
    comments: list[str] = []
    replies: list[str] = []
    ids: str = ""
    spans: list[str] = []
    markup: bool = False

    def fits(self, fields: Collection[str]) -> bool:
        """Whether a record of these fields is of this form."""
        return all(any(name in fields for name in names.split("|")) for names in self.when)

    def list_texts(self) -> set[str]:
        """The fields that hold texts or names, and never objects."""
        paths = list(self.names)
        for field in ("title", "description", "text", "author"):
            for source in _listed(self.columns.get(field)):
                paths += _listed(source.column if isinstance(source, MappedColumn) else source)
        opened = {path.partition(".")[0] for path in paths if "." in path}
        return {path for path in paths if "." not in path} - opened


class CrawlForms(Struct, frozen=True, forbid_unknown_fields=True):
    """All forms, each kind in the order they are tried."""

    videos: list[CrawlForm]
    comments: list[CrawlForm]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


@cache
def load_forms() -> CrawlForms:
    """The forms that are known."""
    return read_yaml(Path(__file__).with_name("crawl_forms.yaml"), CrawlForms)


@cache
def list_comment_fields() -> frozenset[str]:
    """The fields of records that hold lists of comments or of answers to them."""
    forms = load_forms()
    paths = [path for form in (*forms.videos, *forms.comments) for path in (*form.comments, *form.replies)]
    return frozenset(path for path in paths if "." not in path and "[" not in path)


def find_form(record: Any) -> CrawlForm | None:
    """The form of a record that stands by itself; None where it has none."""
    if not isinstance(record, Mapping):
        return None
    # Records of a file mostly have the same fields; an object keyed by ids has its own.
    if len(record) <= _MOST_FIELDS:
        return _find_form(tuple(record))
    return _find_form.__wrapped__(tuple(name for name in record if name in _list_telling_fields()))


@cache
def _list_telling_fields() -> frozenset[str]:
    """The fields by which forms are told apart."""
    forms = load_forms()
    names = (names for form in (*forms.videos, *forms.comments) for names in form.when)
    return frozenset(name for each in names for name in each.split("|"))


@lru_cache(maxsize=512)
def _find_form(fields: tuple[str, ...]) -> CrawlForm | None:
    forms = load_forms()
    return next((form for form in (*forms.comments, *forms.videos) if form.fits(fields)), None)


def is_info(record: Any) -> bool:
    """Whether a record is yt-dlp's, as `--dump-json` prints it."""
    return (
        isinstance(record, Mapping)
        and ("extractor_key" in record or "extractor" in record or "ie_key" in record)
        and ("id" in record or "entries" in record)
    )


class CrawlReader:
    """Takes the records of one file into the writer."""

    def __init__(self, path: str, media: str, writer: RecordWriter, defaults: SourceDefaults) -> None:
        self._path = path
        self._folder, _, name = path.rpartition(os.sep)
        self._stem = _FILE_END.sub("", name)
        self._media = media
        self._writer = writer
        self._defaults = defaults
        self._comment_forms = load_forms().comments

    def read(self, document: Any, source: str) -> None:
        """Take in all records of a document; one without any is set aside, if it is no empty page of an answer."""
        if not self._walk(document, source, "", 0) and not _is_empty_page(document):
            self._writer.leave(source, "", f"{UNKNOWN}{_describe(document)}", kind=UNKNOWN)

    def _walk(self, node: Any, source: str, location: str, depth: int) -> int:
        """How many records are in a node, those set aside included."""
        children: Iterator[tuple[str, Any]]
        if isinstance(node, BrokenValue):
            self._writer.leave(source, location, node.reason, kind="broken JSON")
            return 1
        if isinstance(node, Mapping):
            if self._take(node, source, location):
                return 1
            children = (
                (f"{location}.{name}".strip("."), value)
                for name, value in node.items()
                if isinstance(value, Mapping | list | LargeList | BrokenValue)
            )
        elif isinstance(node, list | LargeList):
            children = ((f"{location}[{number}]", value) for number, value in enumerate(node, 1))
        else:
            return 0
        if depth >= _DEEPEST:
            return 0
        number = 0
        others: list[tuple[str, str]] = []
        for label, value in children:
            count = self._walk(value, source, label, depth + 1)
            number += count
            if not count and not _is_empty_page(value) and (value or not isinstance(value, Mapping)):
                others.append((label, f"{UNKNOWN}{_describe(value)}"))
        # Beside records, in a list or under ids, stands what should be one.
        if number and others and (not isinstance(node, Mapping) or _is_keyed(node)):
            number += len(others)
            for label, reason in others:
                self._writer.leave(source, label, reason, kind=UNKNOWN)
        return number

    def _take(self, record: Mapping[str, Any], source: str, location: str) -> bool:
        try:
            if is_info(record) and not record.get("entries"):
                record = load_whole(record)
                ingest_parsed_info(record, source, self._path, self._media, self._writer, self._defaults)
                return True
            form = find_form(record)
            if form is None:
                return False
            record = load_whole(record)
            if form in self._comment_forms:
                self._add_comments("", [record], source, location)
            else:
                self._add_video(form, record, source, location)
        except InvalidValueError as wrong:
            self._writer.leave(source, location, str(wrong), kind=str(wrong).partition(" (")[0])
        except DataError as wrong:
            self._writer.leave(source, location, str(wrong), kind="broken row")
        return True

    def _add_video(self, form: CrawlForm, record: Mapping[str, Any], source: str, location: str) -> None:
        for path, unwanted in form.skip.items():
            value = get_path(record, path)
            if value is not None and (not unwanted or str(value).lower() in unwanted):
                raise InvalidValueError(f"{form.skipped}, not a video")
        fields = map_fields(form.columns, record, "")
        fields["platform"] = form.platform
        fields.setdefault("licence", self._defaults.licence)
        if isinstance(fields.get("description"), str):
            fields["description"] = _join_mentions(fields["description"], form, record)
        row, problems = parse_row(fields)
        row.id = normalise_id(form.platform, row.id)
        row.category = YOUTUBE_CATEGORIES.get(row.category, row.category)
        row.topics = [topic.replace("_", " ") for topic in row.topics]  # pages of Wikipedia
        if form.ids and not re.fullmatch(form.ids, row.id):
            raise InvalidValueError(
                f"an id that is none of {form.platform} ({row.id}); write a mapping for such records"
            )
        names = _list_names(form, record)
        self._writer.maker(row, names)
        row.title = row.title or values.make_title(row.description)
        row.title, row.description = remove_names([row.title, row.description], names)
        row.tags = row.tags or values.find_hashtags(row.description)
        row.file = self._find_video(row.id, alone="[" not in location)
        ref = self._writer.video(row)
        for problem in problems:
            self._writer.mend(source, f"{location} {ref}".strip(), problem)
        for path in form.comments:
            comments = get_path(record, path)
            if isinstance(comments, list) and comments:
                self._add_comments(ref, comments, source, location, names)

    def _add_comments(
        self, ref: str, comments: Sequence[Any], source: str, location: str, names: Sequence[str] = ()
    ) -> None:
        """Comments with the answers that stand inside them; `ref` is their video where they do not name it."""
        by_video: dict[str, list[dict[str, Any]]] = {}
        for comment in _iter_threads(comments, ""):
            if isinstance(comment, str):
                self._writer.leave_comments(f"{source} {location}".strip(), comment, 1, new=True)
                continue
            form, record, parent = comment
            try:
                fields = map_fields(form.columns, record, "")
                video = values.parse_text(fields.get("video"))
                answered = values.parse_text(fields.get("reply_to")) or parent
                text = values.parse_text(fields.get("text"))
                text = values.strip_markup(text) if form.markup else text
            except (InvalidValueError, DataError) as wrong:
                self._writer.leave_comments(
                    f"{source} {location}".strip(), f"broken comment: {wrong}", 1, new=True
                )
                continue
            self._writer.people(_list_names(form, record))
            video = normalise_id(form.platform, video)
            own = ref or self._name_video(form.platform, video)
            if not own:
                self._writer.leave_comments(f"{source} {location}".strip(), _NO_VIDEO, 1, new=True)
                continue
            by_video.setdefault(own, []).append(
                {
                    "id": fields.get("id"),
                    "text": _join_mentions(text, form, record),
                    "like_count": fields.get("likes"),
                    "timestamp": fields.get("time"),
                    "parent": "" if answered == video else answered,
                    "author": fields.get("author"),
                }
            )
        for own, raw in by_video.items():
            add_raw_comments(own, raw, names, self._writer)

    def _name_video(self, platform: str, video: str) -> str:
        """The ref of a comment's video: the one it names, else the one its file is named after."""
        video = video or find_id_in_name(platform, self._stem) or self._post
        return f"{platform}/{video}" if video else ""

    @cached_property
    def _post(self) -> str:
        """The Instagram post whose comments the file holds."""
        return read_post_id(self._folder, self._stem)

    def _find_video(self, name: str, *, alone: bool) -> str:
        """The video file of a record: named by its id, or, of a record that is `alone` in its file, like that file."""
        file = find_video(f"{self._folder}{os.sep}{name}.info.json", None, self._media)
        if file or not alone:
            return file
        stem = _MEDIA_END.sub("", self._stem)  # gallery-dl writes clip.mp4.json
        return find_video(f"{self._folder}{os.sep}{stem}.info.json", None, self._media)


def _iter_threads(
    comments: Sequence[Any], parent: str
) -> Iterator[tuple[CrawlForm, Mapping[str, Any], str] | str]:
    """Each comment with its form and the one it answers, in the order of a thread; or why it is none."""
    for comment in comments:
        if isinstance(comment, str) and comment.strip():
            yield _BARE, {"text": comment}, parent
            continue
        form = find_form(comment)
        if form is None or form not in load_forms().comments:
            yield "no comment of a known form"
            continue
        yield form, comment, parent
        name = str(get_path(comment, str(form.columns["id"])) or "")
        for path in form.replies:
            replies = get_path(comment, path)
            if isinstance(replies, list):
                yield from _iter_threads(replies, name)


_BARE = CrawlForm(name="a text", platform="", when=[], columns={"id": "id", "text": "text"})


def _list_names(form: CrawlForm, record: Mapping[str, Any]) -> list[str]:
    return [name for name in (get_path(record, path) for path in form.names) if isinstance(name, str)]


def _join_mentions(text: str, form: CrawlForm, record: Mapping[str, Any]) -> str:
    """A text with the mentions whose places its record tells as one word each, so that they are found whole."""
    for path in form.spans:
        for entry in get_path(record, path) or ():
            start, end = (
                entry.get(name) if isinstance(entry, Mapping) else None for name in ("start", "end")
            )
            if isinstance(start, int) and isinstance(end, int) and text[start : start + 1] in ("@", "＠"):
                name = re.sub(r"[^\w.\-]", "_", text[start + 1 : end])  # as long as before
                text = f"{text[: start + 1]}{name}{text[end:]}"
    return text


def _is_keyed(node: Mapping[str, Any]) -> bool:
    """Whether records of an object stand under their ids."""
    return any(_is_under_its_id(name, value) for name, value in node.items())


def _is_under_its_id(name: str, value: Any) -> bool:
    return find_form(value) is not None and any(
        name == str(each) for each in value.values() if isinstance(each, str | int)
    )


def _is_empty_page(document: Any) -> bool:
    """Whether it is a scraper's answer that says that there is no more: {comments: null, has_more: 0}, or []."""
    if not isinstance(document, Mapping):
        return isinstance(document, list | LargeList) and not document
    if isinstance(document.get("data"), Mapping) and document["data"]:
        return _is_empty_page(document["data"])
    return any(name in document for name in _PAGES) and any(
        not document[name] for name in _RECORDS if name in document
    )


def _describe(node: Any) -> str:
    if isinstance(node, Mapping):
        return f" (fields {', '.join(map(str, list(node)[:8]))})" if node else " (an empty object)"
    return f" (a {'list' if isinstance(node, LargeList) else type(node).__name__})"
