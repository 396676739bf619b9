"""Subtitles in the forms in which people publish them: SRT, WebVTT, and lists of cues in JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import DataError
from vivant.core.types import Cue

_TIMES = re.compile(r"([\d:.,]+)\s*-->\s*([\d:.,]+)")
_TAG = re.compile(r"<[^>]*>|\{\\[^}]*\}")


def parse_time(value: Any) -> float | None:
    """Seconds: a number, a number as text, or `h:m:s`, with a comma or a full stop before the fraction."""
    if value is None or value == "":
        return None
    if isinstance(value, int | float):
        return None if value != value else float(value)
    seconds = 0.0
    for part in str(value).strip().replace(",", ".").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def read_subtitles(file: Path, offset: float = 0.0) -> list[Cue]:
    """The cues of a file in order, with `offset` seconds taken off their times."""
    try:
        content = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
        text = content.decode("utf-8", "replace")
        cues = _read_json(content) if file.suffix.lower() == ".json" else _read_timed_text(text)
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error.strerror or error}") from error
    except (msgspec.DecodeError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file} holds no subtitles that can be read ({error})") from error
    return [Cue(cue.start - offset, cue.end - offset, cue.text) for cue in cues if cue.text]


def _read_timed_text(text: str) -> list[Cue]:
    """SRT and WebVTT: a line of times, then lines of text up to an empty one."""
    cues: list[Cue] = []
    for block in re.split(r"\r?\n[ \t]*\r?\n", text):
        match = _TIMES.search(block)
        if match is None:
            continue
        start, end = parse_time(match[1]) or 0.0, parse_time(match[2]) or 0.0
        lines = block[match.end() :].splitlines()[1:]
        cues.append(Cue(start, end, _plain(" ".join(lines))))
    return cues


def _read_json(content: bytes) -> list[Cue]:
    """A list of `{timestamp: [start, end], text}` or `{start, end, line}`. An end that is missing is the start."""
    cues: list[Cue] = []
    for entry in msgspec.json.decode(content):
        if "timestamp" in entry:
            start, end = entry["timestamp"]
        else:
            start, end = entry["start"], entry.get("end")
        begin = parse_time(start) or 0.0
        cues.append(
            Cue(begin, parse_time(end) or begin, _plain(entry.get("text") or entry.get("line") or ""))
        )
    return cues


def _plain(text: str) -> str:
    return " ".join(_TAG.sub("", text).split())


def select_cues(cues: Sequence[Cue], start: float | None = None, end: float | None = None) -> list[Cue]:
    """The cues within a part of the video."""
    return [
        cue
        for cue in cues
        if (end is None or cue.start < end) and (cue.end > start if start is not None else cue.end >= 0)
    ]


def format_cues(cues: Sequence[Cue], start: float | None = None, end: float | None = None) -> str:
    """The texts of the cues within a part of the video, one a line; a text that goes on is written once."""
    return "\n".join(text for text, _ in groupby(cue.text for cue in select_cues(cues, start, end)))
