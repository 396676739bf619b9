"""What flows from a benchmark's files to a model and back: content, samples, jobs, requests, replies.

All are frozen. Everything that reaches a disk or a wire is one of these or of `core/records.py`, encoded with
msgspec; pixels and sound never do: they travel as `Picture`, `Clip` and `Sound`, in memory only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

from msgspec import Struct, field

# ── Content ──────────────────────────────────────────────────────────────────────────────────────


class Text(Struct, frozen=True, tag="text", tag_field="kind", gc=False):
    """A run of text inside a question or an answer."""

    text: str


class Image(Struct, frozen=True, tag="image", tag_field="kind", omit_defaults=True, gc=False):
    """A picture file; `path` is relative to the data root that the run names."""

    path: str
    tiles: tuple[str, ...] = ()
    """Where there are any: no file, but a grid of these pictures, made when needed; `path` describes it."""
    first: int = 1
    """The number that the first tile bears."""


class Cue(Struct, frozen=True):
    """A line of subtitles and when it is shown, in seconds."""

    start: float
    end: float
    text: str


class Video(Struct, frozen=True, tag="video", tag_field="kind", omit_defaults=True):
    """A video file, or the part of it between two times in seconds."""

    path: str
    start: float | None = None
    end: float | None = None
    cues: tuple[Cue, ...] = ()
    """Subtitles of which those at the shown frames are shown too."""
    cues_between: bool = False
    """Each cue stands between the frames, at its time, where the model takes frames as pictures; else all follow."""


class Audio(Struct, frozen=True, tag="audio", tag_field="kind"):
    """A sound file, or the sound track of a video file."""

    path: str


Part = Text | Image | Video | Audio


_Piece = TypeVar("_Piece")


def join_texts(parts: Sequence[_Piece | Text]) -> tuple[_Piece | Text, ...]:
    """Texts that stand side by side as one; empty ones gone."""
    joined: list[_Piece | Text] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + part.text)
        elif not (isinstance(part, Text) and not part.text):
            joined.append(part)
    return tuple(joined)


Role = Literal["system", "user", "assistant"]


class Message(Struct, frozen=True, gc=False):
    """One turn: interleaved parts in the order in which the model should meet them."""

    role: Role
    parts: tuple[Part, ...]


# ── Questions ────────────────────────────────────────────────────────────────────────────────────


class Option(Struct, frozen=True):
    """One choice: the name that stands before it ("A", "K", "AB") and its text."""

    name: str
    text: str


class Sample(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question of one task, as the data state it: options unshuffled, nothing phrased yet."""

    id: str
    task: str
    """`benchmark/task`, e.g. `mime/mcq`."""
    question: tuple[Part, ...] = ()
    options: tuple[Option, ...] = ()
    key: int | None = None
    """Index of the right option in `options`."""
    answers: tuple[str, ...] = ()
    """Accepted texts, where the answer is free."""
    reference: tuple[Part, ...] = ()
    """An interleaved reference answer, for judges."""
    facets: dict[str, str] = field(default_factory=dict)
    """What a table may filter and group by."""
    cluster: str = ""
    """Samples with the same cluster are not independent (one action, one video)."""
    extra: dict[str, Any] = field(default_factory=dict)
    """What only this benchmark's own code reads."""


# ── Requests ─────────────────────────────────────────────────────────────────────────────────────

Control = Literal["none", "blind", "one-frame", "shuffled", "reversed"]


EveryStart = Literal["first", "kth"]
FrameSpread = Literal["ends", "middles", "segments"]


class FramePolicy(Struct, frozen=True, omit_defaults=True):
    """Which frames of a video are shown, and how pictures are encoded. Recorded with every request."""

    select: Literal["count", "fps", "every", "all"] = "count"
    count: int = 8
    """For `count`: how many, as `spread` says."""
    fps: float = 1.0
    """For `fps`: frames per second of video."""
    every: int = 30
    """For `every`: each k-th frame."""
    every_start: EveryStart = "first"
    """For `every`: `first` takes the frames 0, k, 2k …; `kth` takes k − 1, 2k − 1, …"""
    spread: FrameSpread = "ends"
    """For `count` and `cap`: `ends` runs from the first frame to the last; `middles` and `segments` take one from
    the middle of each of so many equal parts, by MiniCPM's rule and by InternVL's."""
    cap: int | None = None
    """For `fps`, `every`, `all`: above this number, that many of the same frames, as `spread` says."""
    start: float | None = None
    end: float | None = None
    longest_side: int | None = None
    """Pictures and frames whose longer side exceeds this are scaled down to it."""
    format: Literal["jpeg", "png"] = "jpeg"
    quality: int = 90


class Decoding(Struct, frozen=True, omit_defaults=True):
    """How the model is to write. None leaves a setting to the server."""

    max_tokens: int | None = None
    """In a run's settings, None is the benchmark's own limit and 0 is no limit: the server decides."""
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


class JobIdentity(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What tells a request of a run from another."""

    key: str
    """Unique in a run: `task/sample`, with `~n` for other orders of the options and `#n` for repeats."""
    task: str
    id: str
    repeat: int = 0
    permutation: int = 0
    """Which arrangement of the options is shown; 0 is the usual one. `order` says how."""


def job_key(task: str, sample: str, repeat: int = 0, permutation: int = 0) -> str:
    """The name of a record in a run."""
    order = f"~{permutation}" if permutation else ""
    return f"{task}/{sample}{order}#{repeat}" if repeat else f"{task}/{sample}{order}"


class Job(JobIdentity, frozen=True, kw_only=True, omit_defaults=True):
    """One request still to be made: everything a worker on any machine needs, and no pixels."""

    messages: tuple[Message, ...]
    options: tuple[Option, ...] = ()
    """The options as shown, in the order shown."""
    order: tuple[int, ...] = ()
    """order[i] is the index in `Sample.options` of the option shown at place i."""
    answer_form: str = "{}"
    """How a well-behaved reply names an option, for baselines: `{}` or `[[{}]]`."""
    candidates: tuple[str, ...] = ()
    """Texts that a guesser may answer with, where there are no options."""
    root: str = ""
    """The folder that media paths are relative to."""
    run: str = ""
    """The run's own folder: paths that begin with `run:` (pictures that a model wrote) are relative to it."""
    frames: FramePolicy = FramePolicy()
    decoding: Decoding = Decoding()
    control: Control = "none"
    seed: int = 0
    """Derived from (run seed, task, sample id): for shuffled frames and for guessers."""
    lost_images: int = 0
    """Pictures that had to be left out to fit the model's window."""
    notes: tuple[str, ...] = ()
    """What was done to the sample to phrase it."""


# ── Media in memory: never logged, never cached with pickle ──────────────────────────────────────


class Picture(Struct, frozen=True, eq=False, tag="picture", tag_field="kind"):
    """An encoded picture, ready to be sent."""

    data: bytes
    media_type: str
    width: int
    height: int
    time: float | None = None
    """Seconds into the video, for a frame."""

    def __repr__(self) -> str:
        # Megabytes of bytes have no place in a traceback or a debug log.
        return f"Picture({self.media_type}, {self.width}×{self.height}, {len(self.data)} bytes)"


class ClipTiming(Struct, frozen=True):
    """The part of a video that frames are chosen from."""

    rate: float
    """Frames per second of the file; of a variable rate, the mean."""
    total: int
    """Frames in the part."""
    duration: float
    """Seconds of the part."""
    start: float | None = None
    end: float | None = None
    """Where the part begins and ends, if it is not the whole file."""


class Clip(Struct, frozen=True, eq=False, tag="clip", tag_field="kind"):
    """A video as its chosen frames; or, without frames, as the file at `path`."""

    frames: tuple[Picture, ...]
    path: str
    media_type: str = "video/mp4"
    timing: ClipTiming | None = None
    policy: FramePolicy | None = None
    """For a file: the frames that its server is asked to show."""

    @property
    def fps(self) -> float | None:
        """Frames shown per second of video; None where that is not known."""
        if self.timing is None or self.timing.duration <= 0:
            return None
        if self.frames:
            return len(self.frames) / self.timing.duration
        return None if self.policy is None else sampling_rate(self.policy, self.timing)


def sampling_rate(policy: FramePolicy, timing: ClipTiming) -> float:
    """The frames per second that come nearest to a policy, for a server that takes only a rate."""
    rate = {
        "count": policy.count / timing.duration,
        "fps": policy.fps,
        "every": timing.rate / policy.every,
        "all": timing.rate,
    }[policy.select]
    if policy.cap is not None and policy.select != "count":
        rate = min(rate, policy.cap / timing.duration)
    return min(rate, timing.rate)


class Sound(Struct, frozen=True, eq=False, tag="sound", tag_field="kind"):
    """Encoded sound."""

    data: bytes
    media_type: str


Content = Text | Picture | Clip | Sound


class VideoInput(Struct, frozen=True):
    """How a model takes videos."""

    form: Literal["images", "video", "file"] = "images"
    """Frames as pictures, frames as one video with their times, or the file itself."""
    sampling: bool = False
    """With a file, the frame policy is sent along."""
    windows: bool = False
    """With a file, a start and an end are sent along."""


class Turn(Struct, frozen=True, eq=False):
    """A message whose media have been read."""

    role: Role
    parts: tuple[Content, ...]


def iter_pictures(turns: tuple[Turn, ...]) -> Iterator[Picture]:
    """All pictures of a request, frames included, in order."""
    for turn in turns:
        for part in turn.parts:
            if isinstance(part, Picture):
                yield part
            elif isinstance(part, Clip):
                yield from part.frames


Tokenizer = Callable[[str], Sequence[str]]
"""A model's: a text's tokens as texts; joined, they are the text again."""


class Request(Struct, frozen=True, eq=False, kw_only=True):
    """What a model receives."""

    turns: tuple[Turn, ...]
    decoding: Decoding = Decoding()
    options: tuple[Option, ...] = ()
    answer_form: str = "{}"
    candidates: tuple[str, ...] = ()
    seed: int = 0
    key: str = ""
    """The job's key, for models that look answers up (replay, human)."""

    @property
    def text(self) -> str:
        """All text of all turns, for models that see nothing else."""
        return "\n".join(part.text for turn in self.turns for part in turn.parts if isinstance(part, Text))


# ── Replies ──────────────────────────────────────────────────────────────────────────────────────

ReplyStatus = Literal["ok", "refused", "truncated", "too_long", "error"]


class Reply(Struct, frozen=True, omit_defaults=True):
    """What came back. A failure is a status, never an answer."""

    status: ReplyStatus = "ok"
    text: str = ""
    parts: tuple[Part, ...] = ()
    """The whole interleaved answer, where it holds more than text."""
    thinking: str = ""
    """Reasoning that the server reports apart from the answer."""
    error: str = ""
    """One line, where status is not `ok`."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    """All that was written, thoughts included."""
    tokens_thinking: int | None = None
    """Those of `tokens_out` that are thoughts, where the server says so."""
    model: str = ""
    """The name that the server gives itself."""
    provider: str = ""
    """Who answered behind a gateway, where it says so."""
    likelihoods: tuple[float | None, ...] = ()
    """Natural logarithm of each shown option's likelihood, where options are weighed (`--answer-by loglik`);
    None where the server does not report it because it is too small."""
    traceback: str = ""
    """Where the code of a user's own model failed, as Python prints it."""

    @property
    def has_answer(self) -> bool:
        """Whether an answer began: thoughts alone are none."""
        return bool(self.text.strip() or self.parts or self.likelihoods)
