"""What a request is to MIMIC-Chat, without torch: ids and marks, frames as bytes, written ids as a reply.

The trainer, `mimic-chat/FOLDER` and the exported model all go through this file.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vivant.core.errors import UsageError
from vivant.core.types import Clip, Decoding, Picture, Reply, Request, Sound

MARKS = ("[VID]", "[SEP]", "[ANS]")
VID, SEP, ANS, PATCH = range(4)
"""Marks have ids after the vocabulary's and vectors of their own: no text can pass for one, and a frozen language
model's table stays as it is. Where a patch stands, what was seen is put in."""

ChatTemplate = tuple[Sequence[int], Sequence[int]]


def build_prompt_ids(
    task: Sequence[int], vocabulary: int, patches: int | None, around: ChatTemplate | None
) -> list[int]:
    """`[VID] video [SEP] task`, and the mark after which the answer begins; `patches` is None without a video.

    `around` is what a chat template writes before and after, where there is one.
    """
    first = [] if patches is None else [VID, *[PATCH] * patches]
    head = [vocabulary + mark for mark in (*first, SEP)]
    if around is not None:
        before, after = around
        return [*before, *head, *task, *after]
    return [*head, *task, vocabulary + ANS]


def split_request(request: Request) -> tuple[list[Picture], str]:
    """All frames and pictures in order, and all text as one."""
    pictures: list[Picture] = []
    for turn in request.turns:
        for part in turn.parts:
            if isinstance(part, Sound):
                raise UsageError("this model is given no sound")
            if isinstance(part, Picture | Clip):
                pictures += part.frames if isinstance(part, Clip) else (part,)
    return pictures, request.text


def resize_picture(picture: Picture, side: int) -> Any:
    """A picture as a square of bytes."""
    from PIL import Image

    with Image.open(io.BytesIO(picture.data)) as file:
        if file.format == "JPEG":
            file.draft("RGB", (side, side))
        return np.asarray(file.convert("RGB").resize((side, side), Image.Resampling.BILINEAR))


def spatial_frame_indices(length: int, count: int) -> list[int]:
    """Which of a video's frames the spatial branch looks at: spread evenly, some twice where there are few."""
    if count == 1:
        return [(length - 1) // 2]
    return [round(place * (length - 1) / (count - 1)) for place in range(count)]


def make_reply(
    row: Sequence[int],
    end: int,
    read: Callable[[Sequence[int]], str],
    asked: int,
    decoding: Decoding,
    most: int,
) -> Reply:
    """Written ids as a reply: up to the mark of the end, or the first text to stop at. `asked` ids were read."""
    ended = end in row
    kept = list(row[: row.index(end)] if ended else row)
    text = read(kept)
    stopped = [text.partition(stop)[0] for stop in decoding.stop if stop in text]
    cut = not ended and not stopped and len(row) >= most
    return Reply(
        status="truncated" if cut else "ok",
        text=min(stopped, key=len, default=text).strip(),
        error="stopped at the token limit" if cut else "",
        tokens_in=asked,
        tokens_out=len(kept) + ended,
    )
