"""One line of a user's own questions: which fields it may have, and the sample that it becomes."""

from __future__ import annotations

import difflib
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks.multiple_choice import make_options
from vivant.benchmarks.subtitles import FIELD
from vivant.core.errors import DataError
from vivant.core.types import Audio, Image, Option, Part, Sample, Text, Video
from vivant.media.subtitles import parse_time

_MEDIA: dict[str, type[Image | Audio]] = {"image": Image, "audio": Audio}
_NEAR = 0.8
"""How like a field's name an unknown one must be to count as misspelt."""
_OTHER_NAMES = {"options": ["choices"], "candidates": ["choices"]}
"""What other formats call a field: a question would be asked without its choices."""


class QuestionLine(Struct, forbid_unknown_fields=True):
    """One line as it may be written, without the fields that are only kept."""

    question: str | list[str | dict[str, str | int | float]] = ""
    id: str | int | None = None
    image: str | None = None
    images: list[str] = []
    video: str | None = None
    audio: str | None = None
    start: float | str | None = None
    end: float | str | None = None
    subtitles: str | None = None
    choices: list[str] = []
    answer: str | int | None = None
    answers: list[str] = []
    facets: dict[str, str | int | float | bool] = {}
    cluster: str | int | None = None


def name_line(line: QuestionLine, number: int) -> str:
    """The id of a line: its own, or its number."""
    return str(line.id) if line.id is not None else str(number)


def decode_line(
    raw: bytes, decoder: msgspec.json.Decoder[QuestionLine]
) -> tuple[QuestionLine, dict[str, Any]]:
    """A line and the fields of it that have no meaning here. One whose name is nearly that of a field is refused."""
    try:
        return decoder.decode(raw), {}
    except msgspec.ValidationError as error:
        if "unknown field" not in str(error):
            raise
    known = QuestionLine.__struct_fields__
    values = msgspec.json.decode(raw, type=dict[str, Any])
    others = {name: value for name, value in values.items() if name not in known}
    for name in others:
        near = _OTHER_NAMES.get(name.lower()) or difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
        if near:
            raise DataError(
                f"the field `{name}` is unknown; did you mean `{near[0]}`? A facet of that name goes into `facets`"
            )
    line = msgspec.convert({name: value for name, value in values.items() if name in known}, QuestionLine)
    return line, others


def make_sample(line: QuestionLine, others: dict[str, Any], number: int, task: str) -> Sample:
    """A line as a sample. Raises DataError for what contradicts itself."""
    question = _media(line) + _question(line.question)
    if not question:
        raise DataError("there is no `question`, and no picture or video either")
    options = make_options(line.choices)
    if len(set(line.choices)) != len(line.choices):
        raise DataError("two `choices` are the same")
    if len(options) == 1:
        raise DataError("`choices` holds only one choice")
    answers = tuple(line.answers)
    key = None
    if options:
        key = _key(line, options)
    else:
        if line.answer is not None:
            answers = (str(line.answer), *answers)
        if not answers:
            raise DataError("there are neither `choices` nor an `answer`")
    name = name_line(line, number)
    return Sample(
        id=name,
        task=task,
        question=question,
        options=options,
        key=key,
        answers=answers,
        facets={
            facet: _facet(value) for facet, value in {**others, **line.facets}.items() if _is_scalar(value)
        },
        cluster=str(line.cluster) if line.cluster is not None else (line.video or name),
        extra={
            **({FIELD: line.subtitles} if line.subtitles else {}),
            **{
                field: value for field, value in others.items() if value is not None and not _is_scalar(value)
            },
        },
    )


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _facet(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _key(line: QuestionLine, options: tuple[Option, ...]) -> int:
    answer = line.answer
    if answer is None and len(line.answers) == 1:
        answer = line.answers[0]
    if answer is None:
        raise DataError("there are `choices` but no `answer`")
    if isinstance(answer, int):
        if 0 <= answer < len(options):
            return answer
        raise DataError(f"`answer` {answer} is no place in `choices` (0 to {len(options) - 1})")
    texts = [option.text for option in options]
    if answer in texts:
        return texts.index(answer)
    for index, option in enumerate(options):
        if answer.strip().upper() == option.name:
            return index
    raise DataError(
        f"`answer` '{answer}' is none of the {len(options)} `choices`; write one of them, A to {options[-1].name}, "
        f"or its index, 0 to {len(options) - 1}"
    )


def _media(line: QuestionLine) -> tuple[Part, ...]:
    parts: list[Part] = [Image(path) for path in ([line.image] if line.image else []) + line.images]
    start, end = _clip(line.start, line.end)
    if line.video:
        parts.append(Video(line.video, start, end))
    elif start is not None or end is not None:
        raise DataError("`start` and `end` go with `video`")
    if line.audio:
        parts.append(Audio(line.audio))
    return tuple(parts)


def _clip(start: Any, end: Any) -> tuple[float | None, float | None]:
    try:
        times = parse_time(start), parse_time(end)
    except ValueError:
        raise DataError(f"`start` and `end` are seconds or h:m:s, not '{start}' and '{end}'") from None
    if None not in times and times[0] >= times[1]:  # type: ignore[operator]
        raise DataError(f"the clip ends at {times[1]:g} s, before it begins at {times[0]:g} s")
    return times


def _question(question: str | list[str | dict[str, str | int | float]]) -> tuple[Part, ...]:
    if isinstance(question, str):
        return (Text(question),) if question else ()
    parts: list[Part] = []
    for index, piece in enumerate(question):
        if isinstance(piece, str):
            parts.append(Text(piece))
        elif len([name for name in piece if name not in ("start", "end")]) != 1:
            raise DataError(f"part {index} of `question` must have one field: text, image, video or audio")
        else:
            (kind, value), *_ = ((k, v) for k, v in piece.items() if k not in ("start", "end"))
            if kind == "text":
                parts.append(Text(str(value)))
            elif kind == "video":
                parts.append(Video(str(value), *_clip(piece.get("start"), piece.get("end"))))
            elif kind in _MEDIA:
                parts.append(_MEDIA[kind](str(value)))
            else:
                raise DataError(
                    f"part {index} of `question` is '{kind}'; it may be text, image, video or audio"
                )
    return tuple(parts)
