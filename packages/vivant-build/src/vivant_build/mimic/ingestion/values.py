"""Values as crawlers leave them → ours: counts in words, times in three shapes, texts that are numbers."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

_TIMES = {
    "": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000,
    "tsd": 1_000, "mio": 1_000_000, "mln": 1_000_000, "mrd": 1_000_000_000, "md": 1_000_000_000, "mil": 1_000,
    "тыс": 1_000, "млн": 1_000_000, "млрд": 1_000_000_000, "l": 100_000, "lakh": 100_000, "crore": 10_000_000,
    "千": 1_000, "w": 10_000, "万": 10_000, "萬": 10_000, "만": 10_000,
    "亿": 100_000_000, "億": 100_000_000, "억": 100_000_000,
}  # fmt: skip
_COUNT = re.compile(rf"([\d.,'’\s]*\d)\s*({'|'.join(map(re.escape, _TIMES))})\.?\+?", re.IGNORECASE)
_GROUPED = re.compile(r"\d+|\d{1,3}(?:[.,]\d{2,3})*[.,]\d{3}")
_BROWSER_TIME = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2} \d{2} \d{4} \d{2}:\d{2}:\d{2}) GMT([+-]\d{4})(?: \(.*\))?"
)
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?: (\d{1,2})(:\d\d(?::\d\d)?))?")
_UNSAFE = re.compile(r"[\s/\\\x00-\x1f]")
_ROUNDED = re.compile(r"\d([.,]\d+)?e\+?\d+", re.IGNORECASE)
_HASHTAG = re.compile(r"[#＃]([^\s#＃@.,!?;:…()\[\]{}<>\"'“”、。！？，：；|/\\]{2,})")
_ANY_HASHTAG = re.compile(r"[#＃][^\s#＃]+")
_LONGEST_TITLE = 100
_LENGTH = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2})")
_MARKUP = re.compile(r"<[^>]{1,300}>")
_LARGEST = 1 << 60
_SECONDS = (0, 4_102_444_800)
"""From 1970 to 2100."""
_DATES = range(19_900_101, 21_001_232)
"""Days that were written as numbers; as seconds they would be of 1970."""
_MILLISECONDS = (1_000_000_000_000, 4_102_444_800_000)
"""From 2001 to 2100."""


class InvalidValueError(Exception):
    """Says of a value what is wrong with it."""


class VideoRow(Struct, gc=False):
    """A video in the order of the columns after `ref`."""

    platform: str
    id: str
    uploader: str = ""
    title: str = ""
    description: str = ""
    tags: list[str] = []
    topics: list[str] = []
    category: str = ""
    language: str = ""
    uploaded: int | None = None
    """Seconds since 1970."""
    duration: float | None = None
    width: int | None = None
    height: int | None = None
    views: int | None = None
    likes: int | None = None
    comment_count: int | None = None
    licence: str = ""
    source: str = ""
    file: str = ""


def parse_count(value: Any) -> int | None:
    """A count: 1200, "1,200", "1.2K", "3.4万", "10万+", "1,2 Mio.", 1200.0, "1e+05" as R writes it."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise InvalidValueError(f"{value} is no count")
    if isinstance(value, str) and _ROUNDED.fullmatch(value.strip()):
        value = float(value.replace(",", "."))
    if isinstance(value, str):
        match = _COUNT.fullmatch(value.strip())
        if not match:
            raise InvalidValueError(f"'{value[:40]}' is no count")
        value = _read_figures(re.sub(r"[\s'’]", "", match.group(1)), match.group(2).lower(), value)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidValueError(f"{str(value)[:40]} is no count")
    if value < 0:
        raise InvalidValueError(f"{value} is negative")
    if value > _LARGEST:
        raise InvalidValueError(f"{value} is too large to be a count")
    return int(value)


def _read_figures(figures: str, unit: str, written: str) -> float:
    """The number that figures and a unit stand for; "9007.0" is as pandas writes a count of a column with gaps."""
    if _GROUPED.fullmatch(figures) and not unit:
        return float(re.sub(r"[.,]", "", figures))
    if "," in figures and "." in figures:  # the first of both groups thousands: 1,234.5K
        figures = figures.replace(min(",.", key=figures.index), "")
    try:
        number = float(figures.replace(",", ".")) * _TIMES[unit]
    except ValueError as error:
        raise InvalidValueError(f"'{written[:40]}' is no count") from error
    if not unit and not number.is_integer():
        raise InvalidValueError(f"'{written[:40]}' is no count")
    return round(number)


def parse_duration(value: Any) -> float | None:
    """Seconds: 63, "63.5", "1:03", "PT1M3S"."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        clock = _CLOCK.fullmatch(value.strip())
        named = _LENGTH.fullmatch(value.strip())
        if clock:
            value = int(clock.group(1) or 0) * 3600 + int(clock.group(2)) * 60 + int(clock.group(3))
        elif named and value.strip() != "P":
            days, hours, minutes, seconds = (float(part or 0) for part in named.groups())
            value = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        else:
            try:
                value = float(value)
            except ValueError as error:
                raise InvalidValueError(f"'{value[:40]}' is no length of time") from error
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidValueError(f"{str(value)[:40]} is no length of time")
    if value < 0:
        raise InvalidValueError(f"{value} is negative")
    return float(value)


def parse_time(value: Any) -> int | None:
    """Seconds since 1970: a number of them, or of milliseconds; "20250131"; ISO 8601 (UTC where it names no zone), with
    slashes too; or as JavaScript prints a date. 0 is none."""
    if value in (None, "", "0") or (value == 0 and not isinstance(value, bool)):
        return None
    if isinstance(value, datetime):
        value = int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    if isinstance(value, str) or (isinstance(value, int | float) and value in _DATES):
        text = str(int(value)) if not isinstance(value, str) else value.strip()
        try:
            if len(text) == 8 and text.isdecimal():
                when = datetime.strptime(text, "%Y%m%d").replace(tzinfo=UTC)
            elif re.fullmatch(r"\d{9,10}(\.\d+)?|\d{13}(\.0+)?", text):
                digits = len(text.partition(".")[0])
                when = datetime.fromtimestamp(float(text) / (1000 if digits == 13 else 1), UTC)
            elif browser := _BROWSER_TIME.fullmatch(text):
                when = datetime.strptime(" ".join(browser.groups()), "%b %d %Y %H:%M:%S %z")
            else:
                when = datetime.fromisoformat(_pad_date(text).replace("Z", "+00:00"))
                when = when if when.tzinfo else when.replace(tzinfo=UTC)
        except ValueError as error:
            raise InvalidValueError(f"'{text[:40]}' is no time") from error
        value = int(when.timestamp())
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidValueError(f"{str(value)[:40]} is no time")
    if _MILLISECONDS[0] <= value <= _MILLISECONDS[1]:
        value /= 1000
    if not _SECONDS[0] <= value <= _SECONDS[1]:
        raise InvalidValueError(f"{value} is no time between 1970 and 2100")
    return int(value)


def _pad_date(text: str) -> str:
    """A date with slashes, as spreadsheets write it in East Asia (2025/1/31 9:05), as ISO 8601 has it."""
    slashed = _SLASHED.fullmatch(text)
    if not slashed:
        return text
    year, month, day, hour, rest = slashed.groups()
    return f"{year}-{month:0>2}-{day:0>2}" + (f"T{hour:0>2}{rest}" if hour else "")


def parse_text(value: Any) -> str:
    """A text; numbers as they are written; halves of surrogate pairs, which no file can hold, as U+FFFD."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidValueError(f"a text is wanted, not {type(value).__name__}")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def parse_texts(value: Any) -> list[str]:
    """A list of texts, without empty ones."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value] if value.strip() else []
    if not isinstance(value, list | tuple):
        raise InvalidValueError("a list of texts is wanted")
    return [item for item in (parse_text(part).strip() for part in value) if item]


def strip_markup(markup: str) -> str:
    """A text that was written as HTML."""
    return (
        html.unescape(_MARKUP.sub("", markup.replace("<br>", "\n")))
        if "<" in markup or "&" in markup
        else markup
    )


def find_hashtags(text: str) -> list[str]:
    """The hashtags of a text, each once: on platforms without tags people write them into it."""
    return list(dict.fromkeys(_HASHTAG.findall(text))) if "#" in text or "＃" in text else []


def make_title(caption: str) -> str:
    """A title for a video that has only a caption: its first line with words, without hashtags."""
    for line in caption.splitlines():
        title = " ".join(_ANY_HASHTAG.sub(" ", line).split())
        if any(letter.isalnum() for letter in title):
            if len(title) > _LONGEST_TITLE:
                cut = title[:_LONGEST_TITLE]
                title = f"{cut.rpartition(' ')[0] or cut}…"
            return title
    return ""


def parse_language(value: Any) -> str:
    """The language of a tag such as `en-US`; nothing where it is none."""
    code = parse_text(value).replace("_", "-").partition("-")[0].strip().lower()
    return code if code.isalpha() and len(code) in (2, 3) and code not in ("und", "zxx", "mis") else ""


_PARSERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("uploader", "title", "description", "category", "licence", "source", "file"), parse_text
    ),
    **dict.fromkeys(("tags", "topics"), parse_texts),
    **dict.fromkeys(("width", "height", "views", "likes", "comment_count"), parse_count),
    "language": parse_language,
    "uploaded": parse_time,
    "duration": parse_duration,
}


def is_rounded(name: Any) -> bool:
    """Whether an id is a number of which a spreadsheet, or a column with gaps, has kept only the first digits."""
    if isinstance(name, float):
        return name > 1 << 53
    return isinstance(name, str) and _ROUNDED.fullmatch(name.strip()) is not None


def make_safe_id(name: str) -> str:
    """An id without what would lead to another folder, or break a line: files are named after it."""
    return _UNSAFE.sub("_", name) if _UNSAFE.search(name) else name


def parse_row(fields: Mapping[str, Any]) -> tuple[VideoRow, list[str]]:
    """A video from values of any kind, and what had to be taken as unknown. Without platform and id: Wrong."""
    names = {}
    for name in ("platform", "id"):
        names[name] = parse_text(fields.get(name)).strip()
        if not names[name]:
            hint = "; name it with `platform` in the settings" if name == "platform" else ""
            raise InvalidValueError(f"no {name}{hint}")
    if is_rounded(fields["id"]):
        raise InvalidValueError(
            f"its id was rounded ({fields['id']}), by a spreadsheet or the like; export ids as text"
        )
    row = VideoRow(platform=names["platform"].lower(), id=make_safe_id(names["id"]))
    problems = []
    for name, read in ((name, _PARSERS[name]) for name in VideoRow.__struct_fields__[2:]):
        try:
            value: Any = read(fields.get(name))
        except InvalidValueError as wrong:
            problems.append(f"{name}: {wrong}")
        else:
            setattr(row, name, value)
    return row, problems
