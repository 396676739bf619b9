"""Controls on pictures: what is left without them, with one of them, without their order."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.core.types import Control, Image, Message, Part, Text
from vivant.media.frame_selection import order_frames


def apply_control(messages: tuple[Message, ...], control: Control, seed: int) -> tuple[Message, ...]:
    """The messages as a control leaves them; frames within a video are the policy's affair.

    `blind` keeps text alone. The others treat the pictures of one message as a sequence, like a video's
    frames: `one-frame` keeps the middle one, `shuffled` and `reversed` exchange them among their places.
    """
    if control == "none":
        return messages
    if control == "blind":
        return tuple(
            Message(message.role, tuple(part for part in message.parts if isinstance(part, Text)))
            for message in messages
        )
    return tuple(
        Message(message.role, tuple(_pictures(message.parts, control, seed, str(number))))
        for number, message in enumerate(messages)
    )


def _pictures(parts: Sequence[Part], control: Control, seed: int, name: str) -> list[Part]:
    places = [place for place, part in enumerate(parts) if isinstance(part, Image)]
    if len(places) < 2:
        return list(parts)
    if control == "one-frame":
        middle = places[(len(places) - 1) // 2]
        return [part for place, part in enumerate(parts) if place == middle or place not in places]
    changed = list(parts)
    for place, source in zip(places, order_frames(len(places), control, seed, name), strict=True):
        changed[place] = parts[places[source]]
    return changed
