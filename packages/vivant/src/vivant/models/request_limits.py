"""Requests over a model's limits: shrunk by one stated rule, and recorded, or refused.

The rule, in this order:
1. Pictures in a format that the server does not take become PNG.
2. Too many pictures, or more tokens than the window holds by estimate: frames of videos are thinned, evenly,
   each video keeping its share and at least one frame. Pictures of a question are never left out.
3. A picture over a limit on side, pixels or bytes is scaled down until it fits.
4. A request over its limit in bytes: all pictures are scaled down together, in steps of a tenth.
What still does not fit is refused, as everything is under `refuse`: no request is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from vivant.core.records import SHRUNK, MediaUse
from vivant.core.types import Clip, Content, Picture, Sound, Text, Turn, iter_pictures
from vivant.media.clips import describe_clip
from vivant.media.frame_selection import spread_evenly
from vivant.media.images import scale_picture
from vivant.models.model_table import RequestLimits

OnTooLarge = Literal["shrink", "refuse"]
_LEAST_SIDE = 64
_STEP = 0.9
_PART_BYTES = 120
"""What a part costs in a request besides its content: names, quotes, brackets."""


class FittedRequest(Struct, frozen=True):
    """A request that the model takes, and what was done to make it so; or why it cannot be made."""

    turns: tuple[Turn, ...]
    media: tuple[MediaUse, ...]
    done: tuple[str, ...] = ()
    refused: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """For the record."""
        return (f"{SHRUNK}: {'; '.join(self.done)}",) if self.done else ()


class _CannotFit(Exception):  # noqa: N818
    """The request cannot be made to fit."""


def fit_request(
    turns: tuple[Turn, ...], media: tuple[MediaUse, ...], budget: RequestLimits, rule: OnTooLarge = "shrink"
) -> FittedRequest:
    """The request within the budget. `media` are the uses of all parts that are not text, in order."""
    if not (reasons := list(find_problems(turns, budget))):
        return FittedRequest(turns, media)
    if rule == "refuse":
        return FittedRequest(turns, media, refused=f"over the model's limits: {'; '.join(reasons)}")
    work = _RequestShrinker(turns, media, budget)
    try:
        work.convert()
        work.thin()
        work.scale_each()
        work.scale_all()
    except _CannotFit as refused:
        return FittedRequest(turns, media, refused=f"over the model's limits: {refused}")
    return FittedRequest(*work.result(), tuple(work.done))


def find_problems(turns: tuple[Turn, ...], budget: RequestLimits) -> Iterator[str]:
    """What is over the limits, a phrase each. Reads sizes only, so that it costs next to nothing."""
    pictures = list(iter_pictures(turns))
    if budget.formats:
        wrong = {picture.media_type for picture in pictures} - set(budget.formats)
        if wrong:
            yield f"pictures in {', '.join(sorted(wrong))}"
    if budget.images is not None and len(pictures) > budget.images:
        yield f"{len(pictures)} pictures of at most {budget.images}"
    if budget.tokens is not None and (tokens := estimate_tokens(turns, budget)) > budget.tokens:
        yield f"about {tokens} tokens of at most {budget.tokens}"
    for picture in pictures:
        if _max_side(picture, budget, len(pictures)) < max(picture.width, picture.height):
            yield f"a picture of {picture.width}×{picture.height} pixels"
            break
    if budget.image_bytes is not None:
        largest = max((base64_size(picture) for picture in pictures), default=0)
        if largest > budget.image_bytes:
            yield f"a picture of {_format_mb(largest)} of at most {_format_mb(budget.image_bytes)}"
    if budget.request_bytes is not None and (total := measure_request_bytes(turns)) > budget.request_bytes:
        yield f"{_format_mb(total)} of at most {_format_mb(budget.request_bytes)}"


def estimate_tokens(turns: tuple[Turn, ...], budget: RequestLimits) -> int:
    """Tokens, by the budget's own rules."""
    characters = sum(len(part.text) for turn in turns for part in turn.parts if isinstance(part, Text))
    rule = budget.picture
    picture_tokens = (
        sum(rule.count(picture.width, picture.height) for picture in iter_pictures(turns)) if rule else 0
    )
    return picture_tokens + math.ceil(characters / 4)


def base64_size(media: Picture | Sound) -> int:
    """Bytes in base64."""
    return (len(media.data) + 2) // 3 * 4


def measure_request_bytes(turns: tuple[Turn, ...]) -> int:
    """Bytes of a request as sent. Videos sent as files are not counted: the server decides on those."""
    total = 0
    for turn in turns:
        for part in turn.parts:
            if isinstance(part, Text):
                total += _PART_BYTES + len(part.text.encode())
            elif isinstance(part, Clip):
                total += sum(_PART_BYTES + base64_size(frame) for frame in part.frames)
            else:
                total += _PART_BYTES + base64_size(part)
    return total


def _max_side(picture: Picture, budget: RequestLimits, count: int) -> int:
    """The longest that the picture's longer side may be."""
    longer = max(picture.width, picture.height)
    many = budget.many is not None and budget.many_side is not None and count > budget.many
    limit = budget.many_side if many else budget.side
    side = longer if limit is None else min(longer, limit)
    if budget.pixels is not None and picture.width * picture.height > budget.pixels:
        side = min(side, int(longer * math.sqrt(budget.pixels / (picture.width * picture.height))))
    return max(1, side)


def _format_mb(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


class _RequestShrinker:
    """A request in the making: one list of contents for all turns, beside the uses of its media."""

    def __init__(self, turns: tuple[Turn, ...], media: tuple[MediaUse, ...], budget: RequestLimits) -> None:
        self._turns = turns
        self._budget = budget
        self._parts: list[Content] = [part for turn in turns for part in turn.parts]
        self._media = list(media)
        self._uses = [i for i, part in enumerate(self._parts) if not isinstance(part, Text)]
        self.done: list[str] = []

    def result(self) -> tuple[tuple[Turn, ...], tuple[MediaUse, ...]]:
        for position, index in enumerate(self._uses):
            part, use = self._parts[index], self._media[position]
            if isinstance(part, Clip) and part.frames and use.shown_as in ("images", "video"):
                self._media[position] = describe_clip(use, part, use.shown_as)
        parts = iter(self._parts)
        turns = tuple(Turn(turn.role, tuple(next(parts) for _ in turn.parts)) for turn in self._turns)
        return turns, tuple(self._media)

    def _now(self) -> tuple[Turn, ...]:
        return (Turn("user", tuple(self._parts)),)

    def convert(self) -> None:
        formats = self._budget.formats
        if not formats:
            return
        changed = 0
        for position, picture in self._each():
            if picture.media_type not in formats:
                longer = max(picture.width, picture.height)
                self._put(
                    position,
                    scale_picture(picture, longer, self._name(position), png=True),
                    "converted to PNG",
                )
                changed += 1
        if changed:
            self.done.append(f"{changed} pictures converted to PNG")

    def thin(self) -> None:
        clips = [i for i, part in enumerate(self._parts) if isinstance(part, Clip) and part.frames]
        before = {i: self._frames(i) for i in clips}
        total = sum(map(len, before.values()))
        fixed = sum(isinstance(part, Picture) for part in self._parts)
        if self._fits():
            return
        if not clips:
            raise _CannotFit("; ".join(self._counts()))
        low, high = 0, total  # so many frames: none is too few, all are too many
        while high - low > 1:
            middle = (low + high) // 2
            self._keep(before, middle)
            low, high = (middle, high) if self._fits() else (low, middle)
        self._keep(before, low)
        if not self._fits():
            raise _CannotFit(f"{'; '.join(self._counts())}, {fixed} of them pictures of the question")
        remaining = sum(len(self._frames(i)) for i in clips)
        for i in clips:
            frames = self._frames(i)
            if len(frames) < len(before[i]):
                times = tuple(frame.time for frame in frames if frame.time is not None)
                self._note(i, f"{len(frames)} of {len(before[i])} frames shown", times)
        self.done.append(f"{remaining} of {total} frames shown")

    def _frames(self, index: int) -> tuple[Picture, ...]:
        part = self._parts[index]
        return part.frames if isinstance(part, Clip) else ()

    def _keep(self, before: dict[int, tuple[Picture, ...]], count: int) -> None:
        """Spread `count` frames over the videos by their shares: largest remainders, at least one each."""
        total = sum(map(len, before.values()))
        quotas = {i: len(frames) * count / total for i, frames in before.items()}
        shares = {i: max(1, int(quota)) for i, quota in quotas.items()}
        spare = count - sum(shares.values())
        for i in sorted(quotas, key=lambda i: int(quotas[i]) - quotas[i])[: max(0, spare)]:
            shares[i] += 1
        for i, frames in before.items():
            clip = self._parts[i]
            assert isinstance(clip, Clip)
            chosen = tuple(frames[k] for k in spread_evenly(len(frames), shares[i]))
            self._parts[i] = msgspec.structs.replace(clip, frames=chosen)

    def _counts(self) -> list[str]:
        limits = RequestLimits(
            images=self._budget.images, tokens=self._budget.tokens, picture=self._budget.picture
        )
        return list(find_problems(self._now(), limits))

    def _fits(self) -> bool:
        return not self._counts()

    def scale_each(self) -> None:
        budget = self._budget
        count = sum(1 for _ in self._each())
        changed = 0
        for position, picture in self._each():
            resized = picture
            side = _max_side(picture, budget, count)
            if side < max(picture.width, picture.height):
                resized = scale_picture(picture, side, self._name(position))
            while budget.image_bytes is not None and base64_size(resized) > budget.image_bytes:
                resized = self._smaller(
                    resized, math.sqrt(budget.image_bytes / base64_size(resized)), position
                )
            if resized is not picture:
                self._put(position, resized, f"resized to {resized.width}×{resized.height}")
                changed += 1
        if changed:
            self.done.append(f"{changed} pictures resized")

    def scale_all(self) -> None:
        limit = self._budget.request_bytes
        changed = False
        while limit is not None and measure_request_bytes(self._now()) > limit:
            positions = list(self._each())
            if not positions:
                raise _CannotFit(
                    f"{_format_mb(measure_request_bytes(self._now()))} of at most {_format_mb(limit)} without pictures"
                )
            factor = math.sqrt(limit / measure_request_bytes(self._now()))
            for position, picture in positions:
                resized = self._smaller(picture, factor, position)
                self._put(position, resized, f"resized to {resized.width}×{resized.height}")
            changed = True
        if changed:
            self.done.append(f"all pictures resized to fit {_format_mb(limit or 0)}")

    def _smaller(self, picture: Picture, factor: float, position: tuple[int, int]) -> Picture:
        side = int(max(picture.width, picture.height) * min(_STEP, factor))
        if side < _LEAST_SIDE:
            raise _CannotFit(f"pictures would have to be smaller than {_LEAST_SIDE} pixels")
        return scale_picture(picture, side, self._name(position))

    def _each(self) -> Iterator[tuple[tuple[int, int], Picture]]:
        """Every picture with its place: the part's, and the frame's inside it (-1 for a picture)."""
        for i, part in enumerate(list(self._parts)):
            if isinstance(part, Picture):
                yield (i, -1), part
            elif isinstance(part, Clip):
                yield from (((i, k), frame) for k, frame in enumerate(part.frames))

    def _put(self, position: tuple[int, int], picture: Picture, note: str) -> None:
        i, k = position
        part = self._parts[i]
        if isinstance(part, Clip):
            frames = (*part.frames[:k], picture, *part.frames[k + 1 :])
            self._parts[i] = msgspec.structs.replace(part, frames=frames)
        else:
            self._parts[i] = picture
        if k <= 0:
            self._note(i, note if k < 0 else f"frames {note}")

    def _note(self, index: int, note: str, times: tuple[float, ...] | None = None) -> None:
        position = self._uses.index(index)
        use = self._media[position]
        old = [word for word in use.note.split("; ") if word and not _replaces(word, note)]
        changed = msgspec.structs.replace(use, note="; ".join([*old, note]))
        if times is not None:
            changed = msgspec.structs.replace(changed, times=times)
        self._media[position] = changed

    def _name(self, position: tuple[int, int]) -> str:
        return self._media[self._uses.index(position[0])].path


def _replaces(old: str, new: str) -> bool:
    """Whether a note says again what an earlier one said: a picture may be resized in several steps."""
    return "resized to" in new and "resized to" in old
