"""Controls on pictures: what is left without them, with one of them, without their order."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.core.types import Control, Image, Message, Part, Text, Video, join_texts
from vivant.media.frame_selection import order_frames
from vivant.media.shown_cues import list_cues


def apply_control(messages: tuple[Message, ...], control: Control, seed: int) -> tuple[Message, ...]:
    """The messages as a control leaves them; frames within a video are the policy's affair.

    `blind` keeps text alone, a video's subtitles among it. The others treat the pictures of one message as a
    sequence, like a video's frames: `one-frame` keeps the middle one, `shuffled` and `reversed` exchange them among
    their places.
    """
    if control == "none":
        return messages
    if control == "blind":
        return tuple(Message(message.role, _texts(message.parts)) for message in messages)
    return tuple(
        Message(message.role, tuple(_pictures(message.parts, control, seed, str(number))))
        for number, message in enumerate(messages)
    )


def _texts(parts: Sequence[Part]) -> tuple[Part, ...]:
    if not any(isinstance(part, Video) and part.cues for part in parts):
        return tuple(part for part in parts if isinstance(part, Text))
    texts = (list_cues(part, None) if isinstance(part, Video) and part.cues else part for part in parts)
    return join_texts([text for text in texts if isinstance(text, Text)])


def _pictures(parts: Sequence[Part], control: Control, seed: int, name: str) -> list[Part]:
    indices = [index for index, part in enumerate(parts) if isinstance(part, Image)]
    if len(indices) < 2:
        return list(parts)
    if control == "one-frame":
        middle = indices[(len(indices) - 1) // 2]
        return [part for index, part in enumerate(parts) if index == middle or index not in indices]
    changed = list(parts)
    for index, source in zip(indices, order_frames(len(indices), control, seed, name), strict=True):
        changed[index] = parts[indices[source]]
    return changed
