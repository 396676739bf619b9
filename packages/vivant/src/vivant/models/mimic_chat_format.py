"""How MIMIC-Chat reads a request and writes a reply, without torch: ids and marks, frames as bytes.

The trainer, `mimic-chat/FOLDER` and the exported model all use this module.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from vivant.core.errors import UsageError
from vivant.core.types import Decoding, Picture, Reply, Request, Sound, iter_pictures
from vivant.models.baselines import split_words

MARKS = ("[VID]", "[SEP]", "[ANS]")
VID, SEP, ANS, PATCH = range(4)
"""Marks have ids after the vocabulary's and vectors of their own: no text can pass for one, and a frozen language
model's table stays as it is. A patch is replaced by a token of the video."""

ChatTemplate = tuple[Sequence[int], Sequence[int]]


def build_prompt_ids(
    task: Sequence[int], vocabulary: int, patches: int | None, template: ChatTemplate | None
) -> list[int]:
    """`[VID] video [SEP] task`, and the mark after which the answer begins; `patches` is None without a video.

    `template` is what a chat template writes before and after, where there is one.
    """
    first = [] if patches is None else [VID, *[PATCH] * patches]
    head = [vocabulary + mark for mark in (*first, SEP)]
    if template is not None:
        before, after = template
        return [*before, *head, *task, *after]
    return [*head, *task, vocabulary + ANS]


def refuse_long_prompt(length: int, context: int) -> Reply | None:
    """The reply to a prompt that leaves no room for an answer; None where there is room."""
    if length < context:
        return None
    return Reply(
        status="too_long", error=f"the prompt has {length} tokens; this model reads {context - 1} at most"
    )


_UNKNOWN_SHARE = 0.15
"""Of a question's words, so many may be new to a model that knows its world's words."""


def refuse_strange_question(text: str, has_pictures: bool, known: Collection[str]) -> Reply | None:
    """The reply of a model with a small world to a question outside it; None where it can answer."""
    if not has_pictures:
        return _refuse("it answers questions about a video or pictures, and this one has none")
    words = list(dict.fromkeys(split_words(text)))
    strange = [word for word in words if word not in known and not word.isdigit()]
    if len(strange) <= _UNKNOWN_SHARE * len(words):
        return None
    named = ", ".join(strange[:4]) + (" …" if len(strange) > 4 else "")
    return _refuse(
        f"{len(strange)} of the {len(words)} words were in no question that it learnt from: {named}"
    )


def _refuse(reason: str) -> Reply:
    return Reply(status="refused", error=f"This question is outside the model's world: {reason}")


def split_request(request: Request) -> tuple[list[Picture], str]:
    """All frames and pictures in order, and all text as one."""
    if any(isinstance(part, Sound) for turn in request.turns for part in turn.parts):
        raise UsageError("this model is given no sound")
    return list(iter_pictures(request.turns)), request.text


def resize_picture(picture: Picture, side: int) -> Any:
    """A picture as a square of bytes."""
    from PIL import Image

    with Image.open(io.BytesIO(picture.data)) as file:
        if file.format == "JPEG":
            file.draft("RGB", (side, side))
        return np.asarray(file.convert("RGB").resize((side, side), Image.Resampling.BILINEAR))


def spatial_frame_indices(length: int, count: int) -> list[int]:
    """The frames of a video that the spatial branch encodes: spread evenly, some twice where there are few."""
    if count == 1:
        return [(length - 1) // 2]
    return [round(index * (length - 1) / (count - 1)) for index in range(count)]


def make_reply(
    row: Sequence[int],
    end: int,
    detokenize: Callable[[Sequence[int]], str],
    prompt_tokens: int,
    decoding: Decoding,
    max_tokens: int,
) -> Reply:
    """Generated ids as a reply: up to the end token `end`, or to the first stop text."""
    ended = end in row
    ids = list(row[: row.index(end)] if ended else row)
    text = detokenize(ids)
    stopped = [text.partition(stop)[0] for stop in decoding.stop if stop in text]
    cut = not ended and not stopped and len(row) >= max_tokens
    return Reply(
        status="truncated" if cut else "ok",
        text=min(stopped, key=len, default=text).strip(),
        error="stopped at the token limit" if cut else "",
        tokens_in=prompt_tokens,
        tokens_out=len(ids) + ended,
    )
