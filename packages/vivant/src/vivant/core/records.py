"""What a run keeps: one record per sample in the log, and the score of each under a protocol. All are frozen."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from vivant.core.types import JobIdentity, Message, Option, Reply


class MediaUse(Struct, frozen=True, omit_defaults=True):
    """One media file as a request used it."""

    kind: Literal["image", "video", "audio"]
    path: str
    sha256: str = ""
    times: tuple[float, ...] = ()
    """Times of the frames shown, in the order shown."""
    note: str = ""
    """What was done to it, or could not be: "rotated", "resized", "3 of 32 frames undecodable"."""
    shown_as: Literal["", "images", "video", "file"] = ""
    """How a model was given a video: its frames as pictures, its frames as one video, or the file."""
    fps: float | None = None
    """Frames shown per second of video, or asked for where the server chooses them."""
    size: tuple[int, int] | None = None
    """Width and height of the frames handed over; the model's own processor may scale them further."""


class Record(JobIdentity, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log: what was asked, and what came back."""

    fingerprint: str = ""
    """Of the request: model, decoding, messages, media hashes, frame policy, control."""
    messages: tuple[Message, ...] = ()
    media: tuple[MediaUse, ...] = ()
    options: tuple[Option, ...] = ()
    order: tuple[int, ...] = ()
    reply: Reply
    server: str = ""
    """The address that answered, without secrets."""
    source: str = ""
    """Who answered, where one run holds several (a person's hashed id)."""
    attempts: int = 1
    cached: bool = False
    started: float = 0.0
    """Unix time of the first attempt."""
    seconds: float = 0.0
    """Time of the last attempt alone."""
    lost_images: int = 0
    """Pictures of the question that the model was not shown, because its window is too small."""
    notes: tuple[str, ...] = ()
    """What was done to the question to ask it."""
    extra: dict[str, Any] = field(default_factory=dict)


SHRUNK = "shrunk to the model's limits"
"""Begins the note on a record whose request was over a model's limits: see `models/fitting.py`."""


ScoreStatus = Literal["scored", "unparsed", "truncated", "missing", "excluded"]


class Score(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a record is worth under one protocol.

    `scored` has a value; `unparsed` means that the model answered but no answer could be read;
    `truncated` means that the reply was cut off before an answer began, so that there is none to be wrong;
    `missing` means that there is nothing to read (an error, a refusal, no record); `excluded` means that
    the protocol leaves the sample out, and `rule` says why.
    """

    key: str
    task: str
    id: str
    status: ScoreStatus = "scored"
    value: float | None = None
    answer: str = ""
    """What was read in the reply: an option's name, a text."""
    rule: str = ""
    """Which step of the extraction decided."""
    guessed: bool = False
    """The protocol supplied the answer, not the model."""
    detail: dict[str, Any] = field(default_factory=dict)


def make_score(
    record: Record,
    value: float | None = None,
    answer: str = "",
    rule: str = "",
    *,
    status: ScoreStatus = "scored",
    guessed: bool = False,
    detail: dict[str, Any] | None = None,
) -> Score:
    """The score of a record: the two share key, task and id."""
    return Score(
        key=record.key,
        task=record.task,
        id=record.id,
        status=status,
        value=value,
        answer=answer,
        rule=rule,
        guessed=guessed,
        detail=detail or {},
    )
