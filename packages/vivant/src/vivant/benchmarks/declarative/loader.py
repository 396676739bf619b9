"""From rows to samples, as a description says. Every mistake is one line with file, row and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from vivant.benchmarks.declarative.cells import (
    MissingColumnError,
    fill_cell,
    find_inside,
    find_key,
    format_text,
    is_empty,
    lacks_optional,
    list_options,
    list_texts,
    read_letter,
    strip_prefixes,
)
from vivant.benchmarks.declarative.media_files import MediaFiles
from vivant.benchmarks.declarative.rows import Row, iter_rows
from vivant.benchmarks.declarative.spec import BenchmarkSpec, KeyForm, SpecFile
from vivant.benchmarks.declarative.splicing import NUMBER, name_images, number_marks, splice_images
from vivant.benchmarks.multiple_choice import make_options
from vivant.benchmarks.subtitles import FIELD, OFFSET, is_subtitle_file
from vivant.core.errors import DataError
from vivant.core.types import Audio, Image, Part, Sample, Text, Video
from vivant.media.archives import is_unpacked
from vivant.media.subtitles import parse_time

_COPY = 1_000_000
"""Copies of a question for circular evaluation have its index plus a multiple of this."""
MissingMedia = Literal["refuse", "skip", "keep"]


class Loader:
    """Reads the samples of one task."""

    def __init__(self, file: SpecFile, root: Path, task: str, missing: MissingMedia = "refuse") -> None:
        self._file = file
        self._short = task.rpartition("/")[2]
        self._task = task
        self.spec: BenchmarkSpec = file.tasks[self._short]
        self._root = root
        self._missing = missing
        self._media = MediaFiles(root, self.spec.media)
        self.skipped = 0
        """Samples left out because a media file is missing."""

    def iterate(self) -> Iterator[Sample]:
        """The samples one by one."""
        number = -1
        for number, (where, row) in enumerate(iter_rows(self.spec, self._root, self._short)):
            try:
                sample = self._read(row, number)
                if self._has_media(sample):
                    yield sample
            except MissingColumnError as error:
                raise DataError(f"{self._find_line(row)}: {error} ({where})") from None
            except DataError as error:
                raise DataError(f"{where}: {error}") from None
        if number < 0:
            raise DataError(f"{self._root} holds no rows of {self._task}; see `source` in {self._file.path}")

    def _find_line(self, row: Row) -> str:
        """The line of the first field that names a column which is not there."""
        columns = self.spec.columns
        for field in columns.__struct_fields__:
            for column in _list_columns(getattr(columns, field)):
                try:
                    fill_cell(row, column, self._short)
                except MissingColumnError:
                    path = f"columns.{field}"
                    return self._file.at(f"tasks.{self._short}.{path}", path)
        return str(self._file.path)

    def _cell(self, row: Row, column: str) -> Any:
        return fill_cell(row, column, self._short) if column else None

    def _read(self, row: Row, number: int) -> Sample:
        spec, columns = self.spec, self.spec.columns
        name = format_text(self._cell(row, columns.id)) if columns.id else str(number)
        if not name:
            raise DataError("the id is empty; name another column, or leave `id` out to count the rows")
        text = format_text(self._cell(row, columns.question))
        if columns.question and not text and not columns.question.endswith(("?", "?}")):
            raise DataError(f"id {name}: the question is empty; a question mark after the column allows that")
        options, form, places = self._options(row, text)
        text, options, leading, named = self._place_images(row, text, options)
        key, answers = None, tuple(list_texts(self._cell(row, columns.answers)))
        if options:
            try:
                if columns.key:
                    key = find_key(self._cell(row, columns.key), options, columns.key_form, places)
            except MissingColumnError:
                raise
            except DataError as error:
                raise DataError(f"id {name}: {error}") from None
        elif spec.scoring.name == "choice":
            raise DataError(
                f"id {name} has no options; name a `scorer` for questions without, e.g. normalised"
            )
        if not options and not answers and spec.scoring.name != "judge":
            raise DataError(
                f"id {name} has neither options nor an answer; name the column as `columns.answers`"
            )
        question = (*leading, *splice_images(text, named))
        media = self._timed_media(row)
        extra: dict[str, Any] = {column: self._cell(row, column) for column in columns.keep}
        if form:
            extra["option_prefix"] = form
        if any(mark in option for mark in named for option in options):
            extra["marks"] = named
        if columns.subtitles:
            extra[FIELD] = self._subtitles(row)
            extra[OFFSET] = parse_time(self._cell(row, columns.subtitles_from)) or 0.0
        if columns.group:
            extra["group"] = find_group(format_text(self._cell(row, columns.group)))
        facets = {facet: format_text(self._cell(row, column)) for facet, column in spec.facet_columns.items()}
        if not (question or media):
            raise DataError(f"id {name} has no question and no media")
        return Sample(
            id=name,
            task=self._task,
            question=(*media, *question),
            options=make_options(options),
            key=key,
            answers=answers,
            facets={facet: value for facet, value in facets.items() if value},
            cluster=self._cluster(row, media, name),
            extra={name: value for name, value in extra.items() if not is_empty(value)},
        )

    def _options(self, row: Row, question: str) -> tuple[list[str], str, list[int]]:
        """The texts of the options, the form of the letters that the data put before them, and their places.

        Empty options are left out, but have a place; optional columns that a row lacks have none. Letters that the
        texts bear themselves count in its stead.
        """
        columns, absent = self.spec.columns, self.spec.absent
        if columns.options:
            names = [name for name in _list_columns(columns.options) if not lacks_optional(row, name)]
            cells = [self._cell(row, name) for name in names]
            texts: list[str | None] = []
            for cell in cells:
                if len(cells) == 1 or isinstance(cell, list):
                    texts += list_options(cell)
                else:
                    texts.append(None if format_text(cell) in absent else format_text(cell))
            placed = {place: text for place, text in enumerate(texts) if text is not None}
            if len(placed) < 2:
                return [], "", []
            options, form = strip_prefixes(list(placed.values()))
            return options, form, [] if form else list(placed)
        if self.spec.options_in_question:
            letter = read_letter(self._cell(row, columns.key))
            return find_inside(question, letter) if letter else [], "", []
        return [], "", []

    def _paths(self, row: Row, column: str, kind: str) -> list[str]:
        return list(self._media.resolve(self._cell(row, column), kind))

    def _place_images(
        self, row: Row, text: str, options: list[str]
    ) -> tuple[str, list[str], tuple[Part, ...], dict[str, str]]:
        """Question and options with numbered marks, pictures that come first, and the others by their marks.

        With one column per picture, an empty column keeps its number.
        """
        columns, marks = _list_columns(self.spec.columns.image), self.spec.marks
        cells = [self._paths(row, column, "image") for column in columns]
        images = [path for cell in cells for path in cell]
        slots: list[str | None] = list(images)
        if len(columns) > 1:
            slots = [cell[0] if cell else None for cell in cells]
        if not marks or not images:
            return text, options, tuple(map(Image, images)), {}
        form = marks
        if NUMBER not in marks:
            (text, *options), form = number_marks([text, *options], marks)
        named = name_images([text, *options], slots, form)
        ahead = images if not named else images[len(named) :] if NUMBER not in marks else []
        return text, options, tuple(map(Image, ahead)), named

    def _timed_media(self, row: Row) -> tuple[Part, ...]:
        columns = self.spec.columns
        try:
            start, end = (parse_time(self._cell(row, column)) for column in (columns.start, columns.end))
        except ValueError as error:
            raise DataError(f"a clip time is no number of seconds ({error})") from None
        if start is not None and end is not None and start >= end:
            raise DataError(f"the clip ends at {end:g} s, before it begins at {start:g} s")
        parts: list[Part] = []
        if columns.video:
            paths = self._paths(row, columns.video, "video")
            parts += [
                Video(self._media.join_frames(path, self.spec.frame_rate), start, end) for path in paths
            ]
        if columns.audio:
            parts += [Audio(path) for path in self._paths(row, columns.audio, "audio")]
        return tuple(parts)

    def _subtitles(self, row: Row) -> str:
        """The path of the subtitle file, or the text itself; empty where the video has none."""
        value = format_text(self._cell(row, self.spec.columns.subtitles))
        if not is_subtitle_file(value):
            return value
        path = self._media.find(value)
        return path if self._media.exists(path) else ""

    def _cluster(self, row: Row, media: tuple[Part, ...], name: str) -> str:
        columns = self.spec.columns
        if columns.cluster or columns.group:
            cluster = format_text(self._cell(row, columns.cluster or columns.group))
            return cluster if columns.cluster else find_group(cluster)
        return next((part.path for part in media if isinstance(part, Video)), name)

    def _has_media(self, sample: Sample) -> bool:
        if self._missing == "keep":
            return True
        paths = [part.path for part in sample.question if not isinstance(part, Text)]
        paths += sample.extra.get("marks", {}).values()
        absent = next((path for path in paths if not self._media.exists(path)), None)
        if absent is None:
            return True
        if self._missing == "skip":
            self.skipped += 1
            return False
        raise DataError(
            f"id {sample.id}: the media file {absent} is missing below {self._root.resolve()}. {self._remedy()}"
        )

    def _remedy(self) -> str:
        archives = (
            path for pattern in self.spec.source.archives for path in sorted(self._root.glob(pattern))
        )
        source = self._file.whole.name
        packed = next((path for path in archives if not is_unpacked(path)), None)
        if packed is not None:
            return f"Unpack {packed.name} first: vivant data check {source}"
        where = (
            "Correct `media` or the column, or"
            if not self.spec.source.hub
            else f"vivant data get {source}, or"
        )
        return f"{where} leave such questions out: --task-option missing=skip"


def find_group(value: str) -> str:
    """What copies of a question share: their index, up to multiples of a million."""
    return str(int(value) % _COPY) if value.isdecimal() else value


def _list_columns(value: Any) -> list[str]:
    """The columns that a field of `ColumnSpec` names."""
    if isinstance(value, str):
        return [value] if value and value not in get_args(KeyForm) else []
    return list(value.values()) if isinstance(value, dict) else list(value)
