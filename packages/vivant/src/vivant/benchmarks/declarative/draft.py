"""A first description of a data set, drafted by looking at its columns. A person reads it over and corrects it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct, field

from vivant.benchmarks.declarative.cells import (
    is_empty,
    list_options,
    list_texts,
    read_letter,
    strip_prefixes,
)
from vivant.benchmarks.declarative.draft_files import find_inner_rows
from vivant.benchmarks.declarative.rows import MEDIA, Row, flatten_columns, read_table
from vivant.core.errors import DataError

_LOOKED_AT = 200
_IDS = ("id", "question_id", "index", "idx", "qid", "pid", "uid", "sample_id", "questionId", "question_idx")
_QUESTIONS = ("question", "query", "prompt", "problem", "instruction", "text", "input", "q")
_OPTIONS = ("options", "choices", "candidates", "option", "answer_choices")
_KEYS = (
    *("answer", "correct_choice", "correct_answer", "answer_idx", "answer_index", "label", "gt", "gold"),
    *("target", "ground_truth", "correct_option", "answers", "output", "solution"),
)
_STARTS = ("start", "start_time", "clip_start", "start_sec")
_ENDS = ("end", "end_time", "clip_end", "end_sec")
_SUBTITLES = ("subtitle_path", "subtitles", "subtitle", "srt")
_OPTION_COLUMNS = re.compile(r"(?:option|choice)?[_ ]?(?:[A-Ea-e]|[0-5])")
_MOST_VALUES = 40
_BASE64 = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "data:image/")
"""How PNG, JPEG, GIF and WebP begin in base64."""


class ColumnDraft(Struct, kw_only=True):
    """What was recognised."""

    columns: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    """Fields beside `columns`: marks, scorer …"""
    doubts: list[str] = field(default_factory=list)
    """What a person must look at, a line each."""


def draft_columns(rows: Sequence[Row], media: Sequence[str] = ()) -> ColumnDraft:
    """Recognise the columns of some rows.

    Args:
        rows: The first rows of a table.
        media: Names of media files and archives beside it, which names without an ending may refer to.
    """
    draft = ColumnDraft()
    names = flatten_columns(rows[0])
    columns = draft.columns
    _take(columns, "id", next((n for n in _find(names, _IDS) if _are_unique(rows, n)), ""))
    _take(columns, "question", next(iter(_find(names, _QUESTIONS)), ""))
    _draft_options(draft, rows, names)
    _draft_media(draft, rows, names, media)
    for key, known in (("start", _STARTS), ("end", _ENDS), ("subtitles", _SUBTITLES)):
        if "video" in columns:
            _take(columns, key, next(iter(_find(names, known)), ""))
    used = {name for value in columns.values() for name in ([value] if isinstance(value, str) else value)}
    facets = [name for name in names if name not in used and _is_facet(rows, name)]
    if facets:
        columns["facets"] = facets
    if "question" not in columns:
        draft.doubts.append("No column looks like the question; name it as `columns.question`.")
    text = " ".join(str(_cell(row, columns.get("question", ""))) for row in rows[:20])
    if "image" in columns and re.search(r"<image \d+>", text):
        draft.more["marks"] = "<image {n}>"
    elif "image" in columns and "<image>" in text:
        draft.more["marks"] = "<image>"
    return draft


def _cell(row: Row, name: str) -> Any:
    value: Any = row.get(name)
    if name not in row and "." in name:
        value = row
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _find(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The columns that have one of these names, by the order of these."""
    lower = {name.lower(): name for name in reversed(names)}
    return [lower[name.lower()] for name in known if name.lower() in lower]


def _take(columns: dict[str, Any], key: str, name: str) -> None:
    if name:
        columns[key] = name


def _are_unique(rows: Sequence[Row], name: str) -> bool:
    values = [str(_cell(row, name)) for row in rows]
    return len(set(values)) == len(values)


def _list_filled(row: Row, name: str) -> list[str]:
    return [text for text in list_options(_cell(row, name)) if text is not None]


def _draft_options(draft: ColumnDraft, rows: Sequence[Row], names: Sequence[str]) -> None:
    columns = draft.columns
    listed = next((n for n in _find(names, _OPTIONS) if any(len(_list_filled(r, n)) > 1 for r in rows)), "")
    lettered = [name for name in names if _OPTION_COLUMNS.fullmatch(name)]
    key = next(iter(_find(names, _KEYS)), "")
    options: list[list[str]] = []
    if listed:
        columns["options"] = listed
        options = [_list_filled(row, listed) for row in rows]
    elif len(lettered) > 1:
        columns["options"] = lettered
        options = [[str(_cell(row, n)) for n in lettered if not is_empty(_cell(row, n))] for row in rows]
    if not key:
        draft.doubts.append("No column looks like the answer; name it as `columns.key` or `columns.answers`.")
        return
    values = [_cell(row, key) for row in rows]
    if not options:
        letters = [bool(read_letter(value)) and len(str(value).strip("().")) == 1 for value in values]
        if all(letters):
            columns["key"], draft.more["options_in_question"] = key, True
            draft.doubts.append("The answers are letters; the options are taken from the question's text.")
            return
        columns["answers"] = key
        texts = [text for value in values for text in list_texts(value)]
        numbers = [re.fullmatch(r"-?[\d.,]+%?", text) is not None for text in texts]
        draft.more["scorer"] = "number" if numbers and all(numbers) else "normalised"
        return
    columns["key"] = key
    form = _guess_form(values, options)
    if form:
        columns["key_form"] = form
    else:
        draft.doubts.append(
            f"The values of {key} are no letters, numbers or texts of the options; see `key_form`."
        )
    if any(len(texts) < 2 for texts in options):
        columns["answers"], draft.more["scorer"] = key, "normalised"


def _guess_form(values: Sequence[Any], options: Sequence[Sequence[str]]) -> str:
    pairs = [
        (v, strip_prefixes(texts)[0]) for v, texts in zip(values, options, strict=True) if len(texts) > 1
    ]
    tests: dict[str, Callable[[Any, list[str]], bool]] = {
        "text": lambda value, texts: str(value).strip() in [text.strip() for text in texts],
        "letter": lambda value, texts: bool(read_letter(value)) and ord(read_letter(value)) - 65 < len(texts),
        "index": lambda value, texts: str(value).isdecimal() and int(value) < len(texts),
        "number": lambda value, texts: str(value).isdecimal() and 0 < int(value) <= len(texts),
    }
    return next((form for form, test in tests.items() if pairs and all(test(*pair) for pair in pairs)), "")


def _draft_media(draft: ColumnDraft, rows: Sequence[Row], names: Sequence[str], media: Sequence[str]) -> None:
    kinds: dict[str, list[str]] = {}
    for name in names:
        kind = next(filter(None, (_media_kind(_cell(row, name)) for row in rows)), "")
        if kind:
            kinds.setdefault(kind, []).append(name)
    images = kinds.get("image", [])
    # Bytes come before paths, whose files may not be there; columns that differ by a number belong together.
    images = [name for name in images if any(_holds_bytes(_cell(row, name)) for row in rows)] or images
    series = re.sub(r"\d+$", "", images[0]) if images and images[0][-1].isdigit() else ""
    if series:
        images = [name for name in names if re.fullmatch(re.escape(series) + r"\d+", name)]
    if images:
        draft.columns["image"] = images[0] if len(images) == 1 else images
    for kind in ("video", "audio"):
        if kind in kinds:
            draft.columns[kind] = kinds[kind][0]
    if kinds:
        return
    stems = {PurePosixPath(path).stem: path for path in media if PurePosixPath(path).suffix.lower() in MEDIA}
    for name in names:
        path = stems.get(str(_cell(rows[0], name)))
        if path:
            kind = MEDIA[PurePosixPath(path).suffix.lower()]
            parent = "" if str(PurePosixPath(path).parent) == "." else f"{PurePosixPath(path).parent}/"
            draft.columns[kind] = f"{parent}{{{name}}}{PurePosixPath(path).suffix}"
            return
    named = next((name for name in names if re.search(r"video|image|audio", name, re.IGNORECASE)), "")
    if named:
        kind = next(kind for kind in ("video", "image", "audio") if kind in named.lower())
        ending = {"video": ".mp4", "image": ".jpg", "audio": ".wav"}[kind]
        draft.columns[kind] = f"{{{named}}}{ending}"
        draft.doubts.append(f"The {kind} files were not seen; `columns.{kind}` and `media` are guesses.")


def _holds_bytes(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_bytes, value))
    return isinstance(value, bytes) or (isinstance(value, dict) and isinstance(value.get("bytes"), bytes))


def _media_kind(value: Any) -> str:
    if isinstance(value, list | tuple):
        return next(filter(None, map(_media_kind, value)), "")
    if isinstance(value, dict):
        return "image" if isinstance(value.get("bytes"), bytes) else _media_kind(value.get("path"))
    if isinstance(value, bytes):
        return "image"
    if isinstance(value, str):
        if value.startswith(_BASE64) and re.fullmatch(r"[\w+/:;,-]{60}", value[:60]):
            return "image"
        return MEDIA.get(PurePosixPath(value[-200:]).suffix.lower(), "") if "\n" not in value else ""
    return ""


def _is_facet(rows: Sequence[Row], name: str) -> bool:
    values = [_cell(row, name) for row in rows]
    if any(not isinstance(value, str | int | bool | None) for value in values):
        return False
    distinct = {str(value) for value in values if not is_empty(value)}
    return 1 < len(distinct) <= min(_MOST_VALUES, len(rows) // 2) and max(map(len, distinct)) <= 60


def draft_description(
    name: str, files: Sequence[Path], pattern: str, media: Sequence[str] = (), hub: str = ""
) -> tuple[str, list[str]]:
    """The text of a description, and what a person must look at.

    Args:
        name: The benchmark's name.
        files: Data files with the same columns; the first is looked at.
        pattern: How the description names the files, below the data folder.
        media: Names of media files and archives beside them.
        hub: The dataset on the hub that the files come from.
    """
    if files[0].suffix.lower() in MEDIA:
        return _draft_media_folder(name, pattern, files), [_FOLDER_DOUBT]
    inner = find_inner_rows(files[0])
    rows = [row for _, row in islice(read_table(files[0], inner), _LOOKED_AT)]
    if not rows:
        raise DataError(f"{files[0]} holds no rows")
    draft = draft_columns(rows, media)
    archives = sorted({re.sub(r"\d+", "*", path) for path in media if re.search(r"\.(zip|tar|tgz)\b", path)})
    source: dict[str, Any] = {"hub": hub} if hub else {}
    source["files"] = pattern
    if inner:
        source["rows"] = inner
    if archives:
        source["archives"] = archives
    lines = [
        f"name: {name}",
        f"title: {name}",
        "source:",
        *_format(source),
        "columns:",
        *_format(draft.columns),
    ]
    lines += [f"{key}: {_value(value)}" for key, value in draft.more.items()]
    if "options" in draft.columns and "scorer" not in draft.more:
        lines.append("scorer: choice")
    head = [
        f"# Drafted from {files[0].name}: {len(flatten_columns(rows[0]))} columns. Read it over, then check it."
    ]
    unused = [
        n
        for n in flatten_columns(rows[0])
        if not any(n in str(value) or n.startswith(f"{value}.") for value in draft.columns.values())
    ]
    if unused:
        head.append(f"# Columns that are not used: {', '.join(unused)}")
    return "\n".join([*head, *lines]) + "\n", draft.doubts


def _format(fields: dict[str, Any]) -> list[str]:
    return [f"  {key}: {_value(value)}" for key, value in fields.items()]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    text = str(value)
    return text if re.fullmatch(r"[A-Za-z_][\w./-]*", text) and text.lower() not in _RESERVED else f'"{text}"'


_RESERVED = ("yes", "no", "true", "false", "null", "on", "off", "y", "n")


_FOLDER_DOUBT = (
    "Each file is a question, and the name of its folder the answer; write the question into `styles`."
)


def _draft_media_folder(name: str, pattern: str, files: Sequence[Path]) -> str:
    """Files sorted into folders by what they show."""
    kind = MEDIA[files[0].suffix.lower()]
    lines = [
        f"# Drafted from {len(files)} files. Read it over, then check it.",
        f"name: {name}",
        f"title: {name}",
        "source:",
        *_format({"files": pattern}),
        "columns:",
        *_format({"id": "path", kind: "path", "answers": "folder"}),
        "scorer: normalised",
        "styles:",
        f'  zero-shot: "What does the {kind} show? Reply with one word."',
    ]
    return "\n".join(lines) + "\n"
