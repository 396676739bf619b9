"""The published protocol: what the judge is shown, and how its score is read.

Showing: the question's parts, then the answer's. A text adds itself and a line break; a picture whose file
exists adds `Image-<n>: <image>` and a line break, n counting from 0 through both. In the answer, once three
pictures have been shown in all, nothing more is, save the text of the first part where the question alone
held three. An answer with more than four pictures to show is left out. A reference is its first part's text.
Reading: the first number after the first `### Score`, rounded half to even; kept from 0 to 6.
Averaging, in `tables.py`: over all scores kept, so that categories weigh as many as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from vivant.benchmarks.mmie.items import RawPart
from vivant.core.types import Image, Part, Text

LOW, HIGH = 0, 6
_ANSWER_STOPS_AT = 3
_MOST_IMAGES = 4
_HEADING = "### Score"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

Exists = Callable[[str], bool]


class JudgeView(Struct, frozen=True, kw_only=True):
    """What a judge is shown of one answer."""

    question: tuple[Part, ...]
    answer: tuple[Part, ...]
    images: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Pictures that are named but not there."""
    cut: int = 0
    """Parts of the answer that are not shown, or not wholly."""

    @property
    def question_text(self) -> str:
        """With `<image>` where a picture stands."""
        return join_parts(self.question)

    @property
    def answer_text(self) -> str:
        """With `<image>` where a picture stands."""
        return join_parts(self.answer)

    @property
    def left_out(self) -> bool:
        """Whether the protocol leaves the item out."""
        return len(self.images) > _MOST_IMAGES


def join_parts(parts: Iterable[Part]) -> str:
    """Parts as the original has them: one text with a mark for each picture."""
    return "".join(part.text if isinstance(part, Text) else "<image>" for part in parts)


def build_judge_view(question: Sequence[RawPart], answer: Sequence[RawPart], exists: Exists) -> JudgeView:
    """Put a judge's input together, cuts included."""
    builder = _ViewBuilder(exists)
    question_parts: list[Part] = []
    for part in question:
        builder.add_text(part, question_parts)
        builder.add_image(part, question_parts)
    answer_parts: list[Part] = []
    complete = 0
    for part in answer:
        builder.add_text(part, answer_parts)
        if len(builder.images) >= _ANSWER_STOPS_AT:
            complete += part.image is None
            break
        builder.add_image(part, answer_parts)
        complete += 1
        if len(builder.images) >= _ANSWER_STOPS_AT:
            break
    return JudgeView(
        question=tuple(question_parts),
        answer=tuple(answer_parts),
        images=tuple(builder.images),
        missing=tuple(builder.missing),
        cut=len(answer) - complete,
    )


class _ViewBuilder:
    """Counts pictures through question and answer."""

    def __init__(self, exists: Exists) -> None:
        self._exists = exists
        self.images: list[str] = []
        self.missing: list[str] = []

    def add_text(self, part: RawPart, out: list[Part]) -> None:
        if part.text is not None:
            out.append(Text(part.text + "\n"))

    def add_image(self, part: RawPart, out: list[Part]) -> None:
        if part.image is None:
            return
        if not self._exists(part.image):
            self.missing.append(part.image)
            return
        out += (Text(f"Image-{len(self.images)}: "), Image(part.image), Text("\n"))
        self.images.append(part.image)


def find_score(feedback: str) -> int | None:
    """The score that a judge's text names, on the scale or off it; None where it names none."""
    _, heading, rest = feedback.partition(_HEADING)
    match = _NUMBER.search(rest) if heading else None
    if match is None:
        return None
    try:
        return round(float(match[0]))
    except OverflowError:  # hundreds of digits
        return None


def is_on_scale(score: int | None) -> bool:
    """Whether a score counts: unreadable ones and those off the scale are left out of means."""
    return score is not None and LOW <= score <= HIGH
