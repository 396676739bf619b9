"""Carry out a planned run: open its directory, ask what is not yet answered, stop when told to."""

from __future__ import annotations

import asyncio
import io
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError
from vivant.core.event_loop import on_interrupt, run_coroutine
from vivant.core.garbage import collect_garbage_rarely
from vivant.core.generated_images import PictureFolder
from vivant.core.paths import cache_root
from vivant.core.records import Record
from vivant.core.stored_lines import KeySet
from vivant.core.types import Job
from vivant.engine.budget import Meter, RunBudget
from vivant.engine.executor import Executor, LocalExecutor
from vivant.engine.option_checks import stops_early
from vivant.engine.options import RunOptions
from vivant.engine.plan import Plan
from vivant.engine.progress import BarProgress, LineProgress, NotebookProgress, is_notebook
from vivant.engine.rate_limit import RateLimit
from vivant.engine.recording import RunOutcome
from vivant.engine.reply_cache import open_cache
from vivant.engine.run_planning import PlannedRun
from vivant.engine.runner import Pacer, Runner
from vivant.models.base import Model
from vivant.runs.directory import RunDir, RunError, command_line, new_manifest
from vivant.runs.log import LogWriter
from vivant.runs.settings import RunSettings, list_differences

if TYPE_CHECKING:
    from vivant.engine.batches import BatchRunner

logger = logging.getLogger("vivant")


@collect_garbage_rarely()
def run_plan(
    prepared: PlannedRun,
    options: RunOptions,
    progress: AbstractContextManager[Any] | None = None,
    *,
    protocol: Protocol | None = None,
    judge: Callable[[], object] | None = None,
) -> RunOutcome:
    """Start or resume a run. Messages go to the logger `vivant`.

    Args:
        prepared: The plan and its model.
        options: What the user said.
        progress: Replaces the run's own bar.
        protocol: How a run that may stop early is scored; None takes the first that all benchmarks have.
        judge: Judges what is answered so far, for a run that may stop early and is scored by a judge.
    """
    plan = prepared.plan
    meter = create_meter(prepared.model, options)
    directory = RunDir(prepared.out)
    _check_same_run(directory, prepared)
    early = None
    if stops_early(options):
        from vivant.engine.stopping import prepare_early_stop

        early = prepare_early_stop(plan, directory, options, protocol, has_judge=judge is not None)
    _check_batches(prepared.model, directory, options)
    directory.make()
    with LogWriter(directory.log_file) as log:
        more_room = find_raised_room(directory, plan.settings)
        if not more_room:
            _write_manifest(directory, prepared, options.recipe or "")
        if plan.subset is not None:
            from vivant.runs.subset import write_subset

            write_subset(directory.path / "subset.json", plan.subset)

        checked: set[str] = set()

        def recall(record: Record) -> None:
            if record.task not in checked:
                checked.add(record.task)
                _check_same_question(plan, record, prepared.out)
            if meter is not None:
                meter.recall(record)
            if early is not None:
                early.update(record)

        done = log.drop(
            lambda record: _is_asked_again(record, options, more_room=bool(more_room)),
            recall,
        )
        if more_room:  # after the log: a kill in between leaves replies to be asked again, never the reverse
            logger.info("%s: %s; replies without an answer are asked again.", prepared.out, more_room)
            directory.replace_settings(plan.settings, more_room)
        if done:
            logger.info("Resuming %s: %d of %d samples are done.", prepared.out, len(done), plan.size)
        if early is not None:

            def ask(jobs: Iterator[Job]) -> RunOutcome:
                with progress or open_progress(plan.size, len(done)) as bar:
                    follower = early.follow(bar, done)
                    return run_coroutine(
                        _run(jobs, prepared.model, log, done, options, meter, follower, early)
                    )

            return early.run(ask, done, judge)
        pending: Iterator[Job] = (job for job in plan.jobs() if job.key not in done)
        if len(done) >= plan.size:
            return RunOutcome()
        with progress or open_progress(plan.size, len(done)) as bar:
            return run_coroutine(_run(pending, prepared.model, log, done, options, meter, bar))


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


def _check_batches(model: Model, directory: RunDir, options: RunOptions) -> None:
    """Raise where the model or the options cannot be batched, or where an earlier start's batches are under way."""
    if options.batch:
        from vivant.engine.batches import check_batches

        budgets = options.budget_cost, options.budget_tokens, options.budget_time
        rated = any((options.rpm, options.tpm, *budgets))
        check_batches(model, ray=options.executor == "ray", rated=rated)
    elif (directory.path / "batches").exists():
        from vivant.engine.batch_folder import check_none_under_way

        check_none_under_way(directory.path)


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
    if not directory.is_unfinished():
        raise RunError(f"{directory.path} is not empty and not a run; choose another --out")


def _check_same_question(plan: Plan, record: Record, out: Path) -> None:
    """Raise where a question is asked otherwise than it was: answers to both would be one figure."""
    job = plan.find_job(record)
    if job is not None and job.messages != record.messages:
        raise RunError(
            f"{out} asked '{record.key}' in other words than its benchmark does now, so it cannot be resumed; choose "
            "another --out"
        )


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
    pacer: Pacer | None = None,
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
            direct = Runner(
                concurrency=options.concurrency,
                meter=meter,
                max_time=options.budget_time,
                has_answers=bool(logged),
                thinking=model.thinking,
                pacer=pacer,
                **shared,
            )
            runner: Runner | BatchRunner = direct
            if options.batch:
                from vivant.engine.batches import BatchRunner

                # A run that has answers needs no trial.
                pilot = None if logged else direct
                runner = BatchRunner(model=model, logged=logged, pilot=pilot, **shared)
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
