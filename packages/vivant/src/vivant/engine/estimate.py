"""What a plan will take: requests, pictures, tokens, money. Nothing is sent, and only a few files are opened.

Sizes of pictures and videos are taken from some files of each task, spread evenly over it, and stand for the
rest. Tokens are counted as `tokens.py` does before a reply has corrected it; replies are counted at their limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs

from vivant.core.errors import MediaError
from vivant.core.file_types import parse_image_header
from vivant.core.types import Audio, FramePolicy, Image, Job, Text, Video
from vivant.engine.budget import Price
from vivant.engine.plan import Plan, TaskPlan
from vivant.engine.tokens import DEFAULT_PICTURE_TOKENS, DEFAULT_REPLY_TOKENS, TokenUsage, count_text_tokens
from vivant.media.inspection import probe
from vivant.media.paths import resolve_media
from vivant.models.base import Model
from vivant.models.model_table import PictureTokens

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_MAX_FILES = 24
"""Files of a kind and task that are opened."""
_HEAD = 1 << 20
_UNSEEN = 1_000
"""Tokens of a picture that cannot be read."""
_PER_SECOND = 258
"""Tokens of a second of video that is sent as a file."""
_SOUND_PER_SECOND = 32
_SOUND_SECONDS = 60


class TaskEstimate(Struct, kw_only=True):
    """One task's requests that are still to be made."""

    task: str
    requests: int = 0
    pictures: int = 0
    videos: int = 0
    frames: int = 0
    sounds: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    """At most, thoughts included."""
    tokens_thinking: int = 0
    """Those of `tokens_out` that are room for thoughts."""

    def cost(self, price: Price | None, *, batch: bool = False) -> float | None:
        """At most; None where no price is known."""
        return None if price is None else price.cost(TokenUsage(self.tokens_in, self.tokens_out), batch=batch)


class _MediaSizes:
    """Mean sizes of a task's pictures and videos, from some of them."""

    def __init__(self, jobs: Iterable[Job], model: Model, price: Price | None) -> None:
        window = model.limits.picture if model.limits is not None else None
        rule = (price.picture if price is not None else None) or window or DEFAULT_PICTURE_TOKENS
        if rule.rule == "tiles" and model.identity.get("detail") == "low":
            rule = structs.replace(rule, unit=0)  # a picture of low detail costs the base alone
        self._rule = rule
        self._whole_file = model.capabilities.video and not model.capabilities.sampling
        pictures: dict[tuple[str, str], Job] = {}
        videos: dict[tuple[str, str], tuple[Job, Video]] = {}
        for job in jobs:
            for message in job.messages:
                for part in message.parts:
                    if isinstance(part, Image):
                        for path in part.tiles or (part.path,):
                            pictures.setdefault((job.root, path), job)
                    elif isinstance(part, Video):
                        videos.setdefault((job.root, part.path), (job, part))
        picture_tokens = [
            self._picture(root, path, job.frames) for (root, path), job in _pick_evenly(pictures)
        ]
        self.picture = _mean([tokens for tokens in picture_tokens if tokens is not None], _UNSEEN)
        clips = [self._video(job, part) for _, (job, part) in _pick_evenly(videos)]
        readable = [clip for clip in clips if clip is not None]
        self.frames = _mean([frames for frames, _ in readable], 0)
        self.video = _mean([tokens for _, tokens in readable], _UNSEEN)

    def _picture(self, root: str, path: str, policy: FramePolicy) -> float | None:
        try:
            with Path(resolve_media(root, path)).open("rb") as file:
                header = parse_image_header(file.read(_HEAD))
        except (MediaError, OSError):
            return None
        return None if header is None else _tokens(header.width, header.height, policy, self._rule)

    def _video(self, job: Job, part: Video) -> tuple[float, float] | None:
        try:
            info = probe(resolve_media(job.root, part.path))
        except MediaError:
            return None
        start, end = part.start or 0.0, part.end if part.end is not None else info.duration
        seconds = max(0.0, min(end, info.duration) - start)
        if self._whole_file and job.control == "none":
            return 0.0, seconds * _PER_SECOND
        frames = float(1 if job.control == "one-frame" else _count_frames(job.frames, seconds, info.fps))
        return frames, frames * _tokens(info.width, info.height, job.frames, self._rule)


def estimate_plan(
    plan: Plan, model: Model, price: Price | None = None, done: frozenset[str] = frozenset()
) -> list[TaskEstimate]:
    """What is left to ask, task by task."""
    estimates: list[TaskEstimate] = []
    for task in plan.tasks:

        def jobs(task: TaskPlan = task) -> Iterable[Job]:
            task_plan = Plan(tasks=(task,), settings=plan.settings)
            return (job for job in task_plan.jobs() if job.key not in done)

        files = _MediaSizes(jobs(), model, price) if model.capabilities.images else None
        room = model.thinking.room if model.thinking is not None else 0
        estimates.append(_sum_jobs(task.task, jobs(), files, room))
    return estimates


def _sum_jobs(task: str, jobs: Iterable[Job], files: _MediaSizes | None, room: int) -> TaskEstimate:
    total = TaskEstimate(task=task)
    tokens = frames = 0.0
    for job in jobs:
        total.requests += 1
        limit = job.decoding.max_tokens
        total.tokens_out += (DEFAULT_REPLY_TOKENS if limit is None else limit) + room
        total.tokens_thinking += room
        for message in job.messages:
            for part in message.parts:
                if isinstance(part, Text):
                    tokens += count_text_tokens(part.text)
                elif isinstance(part, Video) and part.cues:  # at most: those at no frame are left out
                    tokens += count_text_tokens("\n".join(cue.text for cue in part.cues))
                if isinstance(part, Text) or files is None:
                    continue
                if isinstance(part, Image):
                    total.pictures += 1
                    tokens += files.picture
                elif isinstance(part, Video):
                    total.videos += 1
                    frames += files.frames
                    tokens += files.video
                elif isinstance(part, Audio):
                    total.sounds += 1
                    tokens += _SOUND_SECONDS * _SOUND_PER_SECOND
    total.frames, total.tokens_in = round(frames), math.ceil(tokens)
    return total


def _count_frames(policy: FramePolicy, seconds: float, fps: float) -> int:
    """Frames that a policy takes from so many seconds."""
    available = max(1, round(seconds * fps))
    if policy.select == "count":
        return min(policy.count, available)
    if policy.select == "fps":
        count = math.ceil(seconds * policy.fps)
    else:
        count = math.ceil(available / policy.every) if policy.select == "every" else available
    return max(1, min(count, available, policy.cap or count))


def _tokens(width: int, height: int, policy: FramePolicy, rule: PictureTokens) -> int:
    longest = policy.longest_side
    scale = min(1.0, longest / max(width, height)) if longest is not None else 1.0
    return rule.count(max(1, round(width * scale)), max(1, round(height * scale)))


def _pick_evenly(files: dict[_Key, _Value]) -> list[tuple[_Key, _Value]]:
    entries = list(files.items())
    step = max(1, len(entries) // _MAX_FILES)
    return entries[::step][:_MAX_FILES]


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
