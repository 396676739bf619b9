"""The arguments of `vivant.evaluate` as types. Written by `make reference` from `engine/options.py`; do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from vivant.core.types import Control, Decoding, FramePolicy
from vivant.engine.options import AnswerBy, CacheUse, ExecutorName
from vivant.engine.retry import RetryPolicy
from vivant.models.request_limits import OnTooLarge


class SweepArguments(TypedDict, total=False):
    """What `vivant.sweep` takes besides benchmarks, model and numbers of frames."""

    base_url: str | None
    model_options: Mapping[str, Any] | None
    models: str | Path | None
    timeout: float
    video_as: Literal["auto", "native", "images"]
    trust_remote_code: bool
    on_too_large: OnTooLarge
    image_model: str | None
    image_base_url: str | None
    image_options: Mapping[str, Any] | None
    recipe: str | None
    data: str | Path | Sequence[str | Path]
    limit: int | None
    where: str | Sequence[str]
    style: str | None
    task_options: Mapping[str, Any] | None
    limits: Mapping[str, int] | None
    control: Control
    repeat: int
    permute: int | Literal["all"]
    seed: int
    subset: str | Path | None
    until: float | None
    until_better_than: str | Path | Sequence[str | Path]
    until_rank: bool
    prompts: str | Path | Mapping[str, str] | None
    every_start: Literal["first", "kth"] | None
    spread: Literal["ends", "middles", "segments"] | None
    longest_side: int | None
    jpeg_quality: int | None
    audio: bool
    max_tokens: int | Literal["server"] | None
    thinking_tokens: int | None
    effort: Literal["low", "medium", "high"] | None
    no_thinking: bool
    temperature: float | Literal["server"] | None
    answer_by: AnswerBy
    decoding: Decoding | None
    out: str | Path | None
    concurrency: int
    rpm: int | None
    tpm: int | None
    cache: CacheUse
    keep_errors: bool
    batch: bool
    retry: RetryPolicy | None
    budget_cost: float | None
    budget_tokens: int | None
    budget_time: float | str | None
    prices: str | Path | None
    confirm_above: float | None
    yes: bool
    workers: int
    executor: ExecutorName
    address: str | None
    start_timeout: float | str


class RunArguments(SweepArguments, total=False):
    """What `vivant.evaluate` takes besides benchmarks and model."""

    frames: int | FramePolicy | None
    fps: float | None
    every: int | None
    max_frames: int | None
