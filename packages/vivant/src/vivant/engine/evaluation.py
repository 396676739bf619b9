"""Evaluate a model: plan, run, resume. `vivant.evaluate(...)` and `vivant run` are this."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

from vivant.benchmarks import registry
from vivant.core.event_loop import run_in_thread
from vivant.core.types import Control, Decoding, FramePolicy
from vivant.engine.option_parsing import drop_defaults, make_options
from vivant.engine.options import AnswerBy, CacheUse, ExecutorName, RunOptions
from vivant.engine.retry import RetryPolicy
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import plan_run
from vivant.models.request_limits import OnTooLarge
from vivant.runs.human import NAME as HUMAN
from vivant.runs.run import Run

if TYPE_CHECKING:
    pass

logger = logging.getLogger("vivant")
_P = ParamSpec("_P")


def evaluate(
    selectors: str | Sequence[str],
    model: str = "",
    *,
    base_url: str | None = None,
    model_options: Mapping[str, Any] | None = None,
    models: str | Path | None = None,
    timeout: float = 600.0,
    video_as: Literal["auto", "native", "images"] = "auto",
    trust_remote_code: bool = False,
    on_too_large: OnTooLarge = "shrink",
    image_model: str | None = None,
    image_base_url: str | None = None,
    image_options: Mapping[str, Any] | None = None,
    recipe: str | None = None,
    data: str | Path | Sequence[str | Path] = (),
    limit: int | None = None,
    where: str | Sequence[str] = (),
    style: str | None = None,
    task_options: Mapping[str, Any] | None = None,
    limits: Mapping[str, int] | None = None,
    control: Control = "none",
    repeat: int = 1,
    permute: int | Literal["all"] = 1,
    seed: int = 0,
    subset: str | Path | None = None,
    until: float | None = None,
    until_better_than: str | Path | Sequence[str | Path] = (),
    until_rank: bool = False,
    prompts: str | Path | Mapping[str, str] | None = None,
    frames: int | FramePolicy | None = None,
    fps: float | None = None,
    every: int | None = None,
    every_start: Literal["first", "kth"] | None = None,
    spread: Literal["ends", "middles", "segments"] | None = None,
    max_frames: int | None = None,
    longest_side: int | None = None,
    jpeg_quality: int | None = None,
    audio: bool = False,
    max_tokens: int | Literal["server"] | None = None,
    thinking_tokens: int | None = None,
    effort: Literal["low", "medium", "high"] | None = None,
    no_thinking: bool = False,
    temperature: float | Literal["server"] | None = None,
    answer_by: AnswerBy = "generate",
    decoding: Decoding | None = None,
    out: str | Path | None = None,
    concurrency: int = 16,
    rpm: int | None = None,
    tpm: int | None = None,
    cache: CacheUse = "auto",
    keep_errors: bool = False,
    batch: bool = False,
    retry: RetryPolicy | None = None,
    budget_cost: float | None = None,
    budget_tokens: int | None = None,
    budget_time: float | str | None = None,
    prices: str | Path | None = None,
    confirm_above: float | None = None,
    yes: bool = False,
    workers: int = 2,
    executor: ExecutorName = "local",
    address: str | None = None,
    start_timeout: float | str = 1800.0,
) -> Run:
    """Run a model on benchmarks and return the run. The same call again resumes it.

    In scripts and notebooks alike; Ctrl-C stops it once the samples under way are done, and the log stays whole.

    >>> run = vivant.evaluate("mime/mcq", "openai/gpt-4o-mini", data="mini", limit=20)
    >>> run.table(by="variant")

    Args:
        selectors: Benchmarks (mime), tasks (mime/mcq), or files of your own: ./mine.jsonl, ./mine.yaml.
        model: Backend and name: openai/NAME, random, ./file.py:Class (see `vivant models`).
        base_url: Address of an OpenAI-compatible server.
        model_options: Options of the backend, e.g. detail=low.
        models: YAML file of models in MileBench's form; `model` then names one of them.
        timeout: Seconds that one request may take.
        video_as: Give videos as videos or as frames; auto: as the backend does by itself (docs/video.md).
        trust_remote_code: Run code that a checkpoint (transformers, internvl-chat, vllm) or a bridged task
            brings along.
        on_too_large: Shrink a request over the model's limits (docs/backends.md), or refuse it.
        image_model: Draw what a model without images describes: placeholder, openai/NAME, diffusers/ID.
        image_base_url: Address of the image model's server.
        image_options: Options of the image model, e.g. size=512x512.
        recipe: Ask as a published row was asked, e.g. paper/gpt-4o-mini; other options go over it (see `vivant
            recipes NAME`).
        data: Folder of the data, or 'mini' for the bundled edition; NAME=PATH with several benchmarks. Default:
            $VIVANT_DATA/NAME, else ./data/NAME.
        limit: Samples per task, at most, drawn by `seed`.
        where: Only samples with this facet; a,b for either, != for the others. Repeat to narrow down.
        style: Prompt style: zero-shot, cot, few-shot.
        task_options: Options of the benchmark, e.g. adv=true.
        limits: The model's window, as a file of models states it.
        control: none, blind, one-frame, shuffled or reversed.
        repeat: Repeat each question N times.
        permute: Ask each multiple-choice question under K orders of its options.
        seed: Seed of option order, `limit` and `until`.
        subset: Ask these samples alone (docs/subsets.md).
        until: Stop when half the 95 % interval is ≤ POINTS.
        until_better_than: Stop when it is settled who is better, this run or RUN.
        until_rank: Stop when the rank among the runs in the same folder is settled.
        prompts: Replace bundled prompt texts: a YAML or JSON file of names and texts.
        frames: Frames per video, evenly spread. Default: 8.
        fps: Frames per second of video instead.
        every: Each k-th frame instead.
        every_start: With `every` K: frames 0, K, 2K … (first), or K-1, 2K-1 … (kth). Default: first.
        spread: Spread frames from the first to the last (ends), or take the middles of equal parts, by the rule
            of MiniCPM and Phi (middles) or of InternVL (segments). Default: ends.
        max_frames: At most N frames, with `fps` or `every`.
        longest_side: Scale images and frames down to this many pixels.
        jpeg_quality: Quality of frames and scaled images, 1 to 100. Default: 90.
        audio: Send the sound track to models that take it.
        max_tokens: Reply length, or server. Default: benchmark's.
        thinking_tokens: Room for thoughts besides the answer, for models that think (docs/thinking.md).
            Default: the model's.
        effort: How hard a model thinks: low, medium or high. Default: the model's.
        no_thinking: Answer without thinking, where the model can.
        temperature: Temperature, or server; 0 is greedy. Default: 0.
        answer_by: Choose an option by the reply, or by likelihood where the backend reports it.
        decoding: All decoding settings (top_p, stop, …) at once; `max_tokens` and `temperature` go over it.
        out: Run directory. Default: runs/NAME, by settings.
        concurrency: Requests at once, at most.
        rpm: Requests a minute, at most.
        tpm: Tokens a minute, in and out, at most.
        cache: Reuse replies to identical requests; auto: with greedy decoding only.
        keep_errors: When resuming, do not retry what failed before.
        batch: Use the provider's batch endpoint: cheaper, within a day; run again to collect.
        retry: When to try a failed request again.
        budget_cost: Stop before the run costs more than this.
        budget_tokens: Stop before the run takes more tokens, in and out, resumed or not.
        budget_time: Stop before this command has run so long: 90 (seconds), 30m, 1h30m.
        prices: YAML file of prices that go over the bundled ones. Default: $VIVANT_PRICES.
        confirm_above: Ask before a run that may cost more than this; without a terminal, refuse it.
        yes: Go on, whatever `confirm_above` says.
        workers: Processes that decode video; with Ray, on each node.
        executor: Run on this machine, or on a Ray cluster (docs/clusters.md).
        address: Address of the Ray cluster, e.g. auto, ray-head:6379. Default: $RAY_ADDRESS, else this machine.
        start_timeout: With Ray: wait so long for workers to start and load the model: 90 (seconds), 30m.
    """
    options = make_options(**drop_defaults(locals()))
    if options.model == HUMAN:
        return run_human(options)
    prepared = plan_run(options)
    if options.confirm_above is not None:
        from vivant.engine.cost import announce_cost

        announce_cost([prepared], options)
    for note in prepared.plan.notes:
        logger.info("Note: %s", note)
    outcome = run_plan(prepared, options)
    if outcome.stopped and not outcome.reason:
        raise KeyboardInterrupt(f"Stopped. The same call resumes the run: {prepared.out}")
    if outcome.stopped:
        logger.warning("Stopped: %s. The same call resumes the run: %s", outcome.reason, prepared.out)
    return Run(prepared.out)


def _make_async(function: Callable[_P, Run]) -> Callable[_P, Coroutine[Any, Any, Run]]:
    """The same function as a coroutine function, with the same signature, for type checkers and for `help`."""

    @wraps(function)
    async def call(*args: _P.args, **kwargs: _P.kwargs) -> Run:
        return await run_in_thread(function, *args, **kwargs)

    call.__name__ = call.__qualname__ = f"{function.__name__}_async"
    arguments = inspect.cleandoc(function.__doc__ or "").partition("Args:")[2]
    call.__doc__ = f"{_ASYNC.strip()}\n\nArgs:{arguments}"
    return call


_ASYNC = """
As `vivant.evaluate`, for asynchronous code; several evaluations can run at once. Where the task is cancelled, the log
stays whole, and the same call resumes the run.

>>> run = await vivant.evaluate_async("mime/mcq", "openai/gpt-4o-mini", data="mini")
"""
evaluate_async = _make_async(evaluate)
"""As `vivant.evaluate`, with the same arguments, for asynchronous code; several evaluations can run at once.

Where the task is cancelled, the log stays whole, and the same call resumes the run.
"""


def run_human(options: RunOptions) -> Run:
    """People's answers, where the data hold them, as a run of the model `human`."""
    selections = registry.select(options.selectors, options.data)
    out = Path(options.out or f"runs/{selections[0].benchmark.name}-human")
    from vivant.runs.importing import import_human

    return import_human(selections, out, selections[0].benchmark.styles[0])
