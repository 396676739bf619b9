"""Evaluate a model: plan, run, resume. `vivant.evaluate(...)` and `vivant run` are this."""

from __future__ import annotations

import asyncio
import inspect
import io
import logging
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.recipes import find_recipe
from vivant.benchmarks.registry import Selection
from vivant.core.errors import UsageError
from vivant.core.event_loop import on_interrupt, run_coroutine, run_in_thread
from vivant.core.generated_images import PictureFolder
from vivant.core.paths import cache_root
from vivant.core.stored_lines import KeySet
from vivant.core.types import Control, Decoding, FramePolicy, Job, Record
from vivant.engine.budget import Meter, RunBudget
from vivant.engine.executor import Executor, LocalExecutor
from vivant.engine.option_parsing import drop_defaults, make_options
from vivant.engine.options import AnswerBy, CacheUse, ExecutorName, RunOptions
from vivant.engine.plan import Plan, make_plan
from vivant.engine.progress import BarProgress, LineProgress, NotebookProgress, is_notebook
from vivant.engine.rate_limit import RateLimit
from vivant.engine.reply_cache import open_cache
from vivant.engine.retry import RetryPolicy
from vivant.engine.runner import Runner, RunOutcome
from vivant.models.base import Model
from vivant.models.registry import create
from vivant.models.request_limits import OnTooLarge
from vivant.runs.directory import RunDir, RunError, command_line, new_manifest
from vivant.runs.human import NAME as HUMAN
from vivant.runs.log import LogWriter
from vivant.runs.recipe_differences import list_recipe_notes
from vivant.runs.run import Run
from vivant.runs.settings import RunSettings, list_differences

if TYPE_CHECKING:
    from vivant.engine.batches import BatchRunner

logger = logging.getLogger("vivant")
_P = ParamSpec("_P")


class PlannedRun(Struct, frozen=True):
    """A plan with its model, before anything is sent."""

    plan: Plan
    model: Model
    out: Path


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
        selectors: Benchmarks (mime), tasks (mime/mcq), or a file of your own questions (./mine.jsonl).
        model: Backend and name: openai/NAME, random, ./file.py:Class (see `vivant models`).
        base_url: Address of an OpenAI-compatible server.
        model_options: Options of the backend, e.g. detail=low.
        models: YAML file of models in MileBench's form; `model` then names one of them.
        timeout: Seconds that one request may take.
        video_as: Give videos as videos or as frames; auto: as the backend does by itself (docs/video.md).
        trust_remote_code: Run code that a checkpoint brings along (transformers, internvl-chat, vllm).
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
        task_options: Options of the benchmark (see `vivant benchmarks show NAME`).
        limits: The model's window, as a file of models states it.
        control: none, blind, one-frame, shuffled or reversed.
        repeat: Repeat each question N times.
        permute: Ask each multiple-choice question under K orders of its options.
        seed: Seed of option order and `limit`.
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


def plan_run(options: RunOptions, *, needs_key: bool = True) -> PlannedRun:
    """Read data, create the model, decide the run directory. Sends nothing, writes nothing.

    Args:
        options: what the user says about the run.
        needs_key: whether a missing key is an error: not where nothing will be sent.
    """
    if not options.selectors:
        raise UsageError("Name at least one benchmark, e.g. mime, or a file of your own questions")
    if not options.model:
        raise UsageError("Name a model with --model (see `vivant models`), or a --recipe that names one")
    model = create_model(options, needs_key=needs_key)
    if options.audio and not model.capabilities.audio:
        raise UsageError(f"{model.name} takes no sound; leave out --audio")
    task_options = registry.parse_task_options(options.selectors, options.task_options)
    selections = registry.select(options.selectors, options.data, task_options.variant)
    limits = {**options.limits, **task_options.limits}
    style = options.style or selections[0].benchmark.styles[0]
    tokenizer = model.tokenizer() if "max_context_len" in limits else None
    if options.image_model:
        described = _illustrated_style(selections)
        style = options.style or described

    def settings_for(data: Mapping[str, str]) -> RunSettings:
        return RunSettings(
            tasks=tuple(data),
            model={**model.identity, **_request_changes(options, cut=tokenizer is not None)},
            style=style,
            data=data,
            limits=limits,
            variant=task_options.variant,
            **options.recorded(),
        )

    plan = make_plan(selections, settings_for, tokenizer, options.prompts)
    if options.recipe:
        recipe = find_recipe(plan.tasks[0].benchmark.name, options.recipe)
        planned = {task.task: len(task.chosen) for task in plan.tasks}
        notes = list_recipe_notes(recipe, plan.settings, planned)
        plan = msgspec.structs.replace(plan, notes=(*plan.notes, *notes))
    out = (
        Path(options.out) if options.out else _default_folder(default_run_name(plan, model.name, selections))
    )
    return PlannedRun(plan, model, out)


def _default_folder(name: str) -> Path:
    """The run's folder in `runs`; one that an earlier version began under another name is found by its digest."""
    folder = Path("runs") / name
    if not folder.exists():
        same = sorted(Path("runs").glob(f"*-{name.rpartition('-')[2]}/manifest.json"))
        folder = next((file.parent for file in same if not file.parent.name.startswith("sweep-")), folder)
    return folder


def _request_changes(options: RunOptions, *, cut: bool) -> dict[str, Any]:
    """What changes the requests to a model besides its own settings; empty as a rule."""
    changes: dict[str, Any] = {"audio": True} if options.audio else {}
    if options.on_too_large != "shrink":
        changes["on_too_large"] = options.on_too_large
    if cut:
        changes["cut_by"] = "its tokenizer"
    return changes


def create_model(options: RunOptions, *, needs_key: bool = True) -> Model:
    """The model that the options name, with all that goes around it. With Ray, every node makes its own."""
    model = create(options.model, msgspec.structs.replace(options.backend_options, needs_key=needs_key))
    if options.answer_by == "loglik":
        from vivant.models.likelihood import LikelihoodModel

        model = LikelihoodModel(model)
    if options.image_model:
        from vivant.models.image_generation.base import create_image_generator
        from vivant.models.image_generation.illustrated import IllustratedModel

        model = IllustratedModel(
            model, create_image_generator(options.image_model, options.image_backend_options)
        )
    return model


def _illustrated_style(selections: Sequence[Selection]) -> str:
    """The style in which a model describes pictures."""
    for selection in selections:
        if not selection.benchmark.illustrated_style:
            raise UsageError(f"--image-model: answers to {selection.benchmark.name} hold no pictures")
    return selections[0].benchmark.illustrated_style


def default_run_name(plan: Plan, model: str, selections: Sequence[Selection]) -> str:
    """`mime-openai-gpt-4o-mini-cot-blind-16frames-1a2b3c4d`: a name per settings, so that the same command resumes.

    What is not as by default is part of it, so that a list of runs says how they differ.
    """
    names = "+".join(
        dict.fromkeys(
            s.benchmark.name if s.benchmark.name != "jsonl" else s.tasks[0].partition("/")[2]
            for s in selections
        )
    )
    words = (re.sub(r"(?<=\d) | (?=\d)", "", word) for word in plan.settings.list_distinctions())
    text = "-".join((f"{names}-{model}-{plan.settings.style}"[:60], *words))
    slug = re.sub(r"[^A-Za-z0-9.+_-]+", "-", text).strip("-")[:100]
    return f"{slug}-{_fingerprint_without_room(plan.settings)[:8]}"


def _fingerprint_without_room(settings: RunSettings) -> str:
    """The same for more room for thoughts, so that the same command with more of it resumes the run."""
    thinking = {key: value for key, value in settings.model.get("thinking", {}).items() if key != "room"}
    model = {key: value for key, value in settings.model.items() if key != "thinking"}
    return msgspec.structs.replace(
        settings, model={**model, **({"thinking": thinking} if thinking else {})}
    ).fingerprint()


def run_plan(
    prepared: PlannedRun, options: RunOptions, progress: AbstractContextManager[Any] | None = None
) -> RunOutcome:
    """Start or resume a run. Messages go to the logger `vivant`; `progress` replaces the run's own bar."""
    plan = prepared.plan
    meter = create_meter(prepared.model, options)
    directory = RunDir(prepared.out)
    _check_same_run(directory, prepared)
    if options.batch:
        from vivant.engine.batches import check_batches

        budgets = options.budget_cost, options.budget_tokens, options.budget_time
        rated = any((options.rpm, options.tpm, *budgets))
        check_batches(prepared.model, ray=options.executor == "ray", rated=rated)
    elif (directory.path / "batches").exists():
        from vivant.engine.batches import check_none_under_way

        check_none_under_way(directory.path)
    directory.make()
    with LogWriter(directory.log_file) as log:
        more_room = find_raised_room(directory, plan.settings)
        if not more_room:
            _write_manifest(directory, prepared, options.recipe or "")
        done = log.drop(
            lambda record: _is_asked_again(record, options, more_room=bool(more_room)),
            meter.recall if meter is not None else None,
        )
        if more_room:  # after the log: a kill in between leaves replies to be asked again, never the reverse
            logger.info("%s: %s; replies without an answer are asked again.", prepared.out, more_room)
            directory.replace_settings(plan.settings, more_room)
        if done:
            logger.info("Resuming %s: %d of %d samples are done.", prepared.out, len(done), plan.size)
        pending: Iterator[Job] = (job for job in plan.jobs() if job.key not in done)
        if len(done) >= plan.size:
            return RunOutcome()
        with progress or open_progress(plan.size, len(done)) as shown:
            return run_coroutine(_run(pending, prepared.model, log, done, options, meter, shown))


def create_meter(model: Model, options: RunOptions) -> Meter | None:
    """What keeps the rates and budgets that the user set; None where there are none."""
    rates = RateLimit(options.rpm, options.tpm) if options.rpm or options.tpm else None
    budget = None
    if options.budget_cost is not None or options.budget_tokens is not None:
        from vivant.engine.prices import find_price

        price = find_price(model, options.prices) if options.budget_cost is not None else None
        if options.budget_cost is not None and price is None:
            raise UsageError(
                f"--budget-cost: no price is known for {model.name}; give one with --prices FILE"
            )
        budget = RunBudget(tokens=options.budget_tokens, cost=options.budget_cost, price=price)
    return Meter(budget, rates) if budget is not None or rates is not None else None


def _check_same_run(directory: RunDir, prepared: PlannedRun) -> None:
    """Raise where the directory holds something else, before anything in it is touched."""
    settings = prepared.plan.settings
    if directory.exists():
        manifest = directory.manifest()
        if manifest.fingerprint == settings.fingerprint() or find_raised_room(directory, settings):
            return
        changed = "; ".join(list_differences(manifest.settings, settings)) or "it was made by another version"
        raise RunError(
            f"{directory.path} holds a run with other settings ({changed}). "
            "Choose another --out, or give the same settings to resume it"
        )
    if not directory.unfinished():
        raise RunError(f"{directory.path} is not empty and not a run; choose another --out")


def find_raised_room(directory: RunDir, settings: RunSettings) -> str:
    """What a run is resumed with, where that is only more room for thoughts; empty where it is anything else.

    The room is a limit: replies that came to their end within less are what they would be within more.
    """
    if not directory.exists():
        return ""
    manifest = directory.manifest()
    old, new = (msgspec.to_builtins(value) for value in (manifest.settings, settings))
    before, after = (value["model"].pop("thinking", {}) for value in (old, new))
    room, more = before.pop("room", 0), after.pop("room", 0)
    if old != new or before != after:
        return ""
    return f"room for thoughts raised from {room:,} to {more:,} tokens" if more > room else ""


def _is_asked_again(record: Record, options: RunOptions, *, more_room: bool) -> bool:
    """Whether a record of an earlier process is dropped from the log."""
    if record.reply.status == "error":
        return not options.keep_errors
    return more_room and record.reply.status == "truncated" and not record.reply.has_answer


def _write_manifest(directory: RunDir, prepared: PlannedRun, recipe: str) -> None:
    """Write what a run is, unless it is there. Only with the log locked, so that two starts cannot mix."""
    _check_same_run(directory, prepared)
    if directory.exists():
        return
    settings = prepared.plan.settings
    tasks = prepared.plan.tasks
    manifest = new_manifest(
        directory.path.resolve(),
        prepared.model.name,
        settings,
        planned={task.task: len(task.chosen) for task in tasks},
        roots={task.task: str(task.benchmark.data.media_root(task.root).resolve()) for task in tasks},
        command=command_line(),
        server=prepared.model.server,
        notes=prepared.plan.notes,
        recipe=recipe,
    )
    directory.create(manifest, prepared.plan.samples)


async def _run(
    jobs: Iterator[Job],
    model: Model,
    log: LogWriter,
    logged: KeySet,
    options: RunOptions,
    meter: Meter | None,
    progress: Any,
) -> RunOutcome:
    cache = None
    if should_cache(model, options):
        cache = open_cache(cache_root() / "replies.sqlite")
    try:
        with _open_executor(model, options) as executor:
            shared: dict[str, Any] = {
                "executor": executor,
                "log": log,
                "cache": cache,
                "retry": options.retry,
                "progress": progress,
                "pictures": PictureFolder(log.path.parent),
            }
            runner: Runner | BatchRunner
            if options.batch:
                from vivant.engine.batches import BatchRunner

                runner = BatchRunner(model=model, logged=logged, **shared)
            else:
                runner = Runner(
                    concurrency=options.concurrency,
                    meter=meter,
                    max_time=options.budget_time,
                    has_answers=bool(logged),
                    thinking=model.thinking,
                    **shared,
                )
            with stop_on_interrupt(runner):
                return await runner.run(jobs)
    finally:
        if cache is not None:
            cache.close()


@contextmanager
def _open_executor(model: Model, options: RunOptions) -> Iterator[Executor]:
    """Who does the work: this process, or a Ray cluster."""
    if options.executor == "ray":
        from vivant.engine.ray_executor import RayExecutor

        # Ray prints news of its nodes; standard output is for results.
        with redirect_stdout(sys.stderr):
            yield RayExecutor(model, options)
        return
    from vivant.media import MediaLoader

    with MediaLoader(cache_root(), workers=options.workers) as preparer:
        yield LocalExecutor(model, preparer, audio=options.audio, on_too_large=options.on_too_large)


def should_cache(model: Model, options: RunOptions) -> bool:
    """Replies are reused where the same request would give the same reply, or where the user asks for it."""
    if options.cache == "auto":
        return model.cacheable and options.decoding_settings.temperature == 0
    return options.cache == "always"


@contextmanager
def stop_on_interrupt(runner: Runner | BatchRunner) -> Iterator[None]:
    """First Ctrl-C: finish what is under way. Second: stop at once. The log is whole either way."""
    loop = asyncio.get_running_loop()
    pressed = 0

    def interrupted() -> None:
        nonlocal pressed
        pressed += 1
        if pressed == 1:
            logger.info("Stopping: waiting for the samples under way (Ctrl-C again to drop them).")
            runner.stop()
        else:
            runner.abandon()

    with on_interrupt(interrupted) as relayed:
        if relayed:
            yield
            return
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, interrupted)
        except (RuntimeError, ValueError):  # not the main thread: the host program owns the signals
            yield
            return
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def open_progress(total: int, done: int) -> AbstractContextManager[Any]:
    """A bar on a terminal, one line that changes in a notebook, lines elsewhere.

    Nothing where only warnings are logged: `--quiet`, or `logging.getLogger("vivant").setLevel("WARNING")`.
    """
    if logger.level > logging.INFO:
        return LineProgress(total, done, io.StringIO())
    if is_notebook():
        return NotebookProgress(total, done)
    if sys.stderr.isatty():
        from rich.console import Console

        return BarProgress(total, done, Console(stderr=True))
    return LineProgress(total, done, sys.stderr)
