"""Evaluate a model: plan, run, resume. `vivant.evaluate(...)` and `vivant run` are this."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from vivant.benchmarks import registry
from vivant.benchmarks.registry import Selection
from vivant.core.errors import UsageError
from vivant.core.generated_images import PictureFolder
from vivant.core.paths import cache_root
from vivant.core.types import Control, Decoding, FramePolicy, Job
from vivant.engine.batches import BatchRunner, check_batches, refuse_under_way
from vivant.engine.budget import Budget, Meter
from vivant.engine.executor import Hands, LocalHands
from vivant.engine.plan import Plan, make_plan
from vivant.engine.progress import BarProgress, LineProgress
from vivant.engine.rate_limit import RateLimit
from vivant.engine.reply_cache import ReplyCache
from vivant.engine.retry import RetryPolicy
from vivant.engine.runner import Outcome, Runner
from vivant.models.base import Model, ModelOptions
from vivant.models.registry import create
from vivant.models.request_limits import OnTooLarge
from vivant.runs.directory import RunDir, RunError, command_line, new_manifest
from vivant.runs.log import LogWriter
from vivant.runs.run import Run
from vivant.runs.settings import RunSettings, differences

CacheUse = Literal["auto", "always", "off"]
Executor = Literal["local", "ray"]
Choose = Literal["generate", "loglik"]


class Options(Struct, frozen=True, kw_only=True):
    """Everything `vivant run` can be told. The first block decides what is asked, the second how."""

    selectors: tuple[str, ...]
    model: str
    style: str | None = None
    data: tuple[str, ...] = ()
    frames: FramePolicy = FramePolicy()
    decoding: Decoding = Decoding()
    control: Control = "none"
    seed: int = 0
    limit: int | None = None
    where: tuple[str, ...] = ()
    repeat: int = 1
    permute: int | Literal["all"] = 1
    wording: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    variant: Mapping[str, Any] = field(default_factory=dict)
    audio: bool = False
    model_options: ModelOptions = ModelOptions()
    image_model: str | None = None
    """Draws the pictures that a model without them describes."""
    image_options: ModelOptions = ModelOptions()

    on_too_large: OnTooLarge = "shrink"
    """What becomes of a request over the model's limits."""
    choose: Choose = "generate"
    """How an option is chosen: named in a reply, or the likeliest (`--options`)."""

    out: str | None = None
    concurrency: int = 16
    cache: CacheUse = "auto"
    keep_errors: bool = False
    """Do not ask again, on resuming, what failed before."""
    workers: int = 2
    """Processes that decode video; with Ray, on each node."""
    rpm: int | None = None
    """Requests a minute."""
    tpm: int | None = None
    """Tokens a minute, in and out."""
    max_cost: float | None = None
    max_tokens: int | None = None
    """Budgets of the run as a whole, resumed or not."""
    max_time: float | None = None
    """Seconds that this process may go on asking."""
    prices: str | None = None
    """A file of prices over the bundled ones."""
    retry: RetryPolicy = RetryPolicy()
    batch: bool = False
    """Through the provider's batch endpoint."""
    executor: Executor = "local"
    address: str | None = None
    """Of a Ray cluster."""


class Prepared(Struct, frozen=True):
    """A plan with its model, before anything is sent."""

    plan: Plan
    model: Model
    out: Path


def evaluate(selectors: str | Sequence[str], model: str, **options: Any) -> Run:
    """Run a model on benchmarks and return the run. Keyword arguments are the fields of `Options`.

    >>> run = vivant.evaluate("mime/mcq", "openai/gpt-4o-mini", data=("mini",), limit=20)
    >>> run.scores()[0].rows
    """
    chosen = (selectors,) if isinstance(selectors, str) else tuple(selectors)
    try:
        settled = Options(selectors=chosen, model=model, **options)
    except TypeError as error:
        raise UsageError(f"evaluate: {error}") from error
    prepared = prepare(settled)
    run_plan(prepared, settled)
    return Run(prepared.out)


def prepare(options: Options) -> Prepared:
    """Read data, create the model, decide the run directory. Sends nothing, writes nothing."""
    if not options.selectors:
        raise UsageError("Name at least one benchmark, e.g. mime, or a file of your own questions")
    model = create_model(options)
    if options.audio and not model.takes.audio:
        raise UsageError(f"{model.name} takes no sound; leave out --audio")
    selections = registry.select(options.selectors, options.data, options.variant)
    style = options.style or selections[0].benchmark.styles[0]
    tokenizer = model.tokenizer() if "max_context_len" in options.limits else None
    if options.image_model:
        described = _illustrated_style(selections)
        style = options.style or described

    def settings_for(data: Mapping[str, str]) -> RunSettings:
        return RunSettings(
            tasks=tuple(data),
            model={**model.identity, **_asked_otherwise(options, cut=tokenizer is not None)},
            style=style,
            data=data,
            frames=options.frames,
            decoding=options.decoding,
            control=options.control,
            seed=options.seed,
            limit=options.limit,
            where=options.where,
            repeat=options.repeat,
            permute=options.permute,
            wording=options.wording,
            limits=options.limits,
            variant=options.variant,
        )

    plan = make_plan(selections, settings_for, tokenizer)
    out = Path(options.out) if options.out else Path("runs") / default_name(plan, model.name, selections)
    return Prepared(plan, model, out)


def _asked_otherwise(options: Options, *, cut: bool) -> dict[str, Any]:
    """What changes the requests to a model besides its own settings; empty as a rule."""
    said: dict[str, Any] = {"audio": True} if options.audio else {}
    if options.on_too_large != "shrink":
        said["on_too_large"] = options.on_too_large
    if cut:
        said["cut_by"] = "its tokenizer"
    return said


def create_model(options: Options) -> Model:
    """The model that the options name, with all that goes around it. With Ray, every node makes its own."""
    model = create(options.model, options.model_options)
    if options.choose == "loglik":
        from vivant.models.likelihood import ByLikelihood

        model = ByLikelihood(model)
    if options.image_model:
        from vivant.models.draw.base import create_drawer
        from vivant.models.draw.illustrated import Illustrated

        model = Illustrated(model, create_drawer(options.image_model, options.image_options))
    return model


def _illustrated_style(selections: Sequence[Selection]) -> str:
    """The style in which a model describes pictures."""
    for selection in selections:
        if not selection.benchmark.illustrated_style:
            raise UsageError(f"--image-model: answers to {selection.benchmark.name} hold no pictures")
    return selections[0].benchmark.illustrated_style


def default_name(plan: Plan, model: str, selections: Sequence[Selection]) -> str:
    """`mime-openai-gpt-4o-mini-cot-1a2b3c4d`: a name per settings, so that the same command resumes."""
    names = "+".join(
        dict.fromkeys(
            s.benchmark.name if s.benchmark.name != "jsonl" else s.tasks[0].partition("/")[2]
            for s in selections
        )
    )
    text = f"{names}-{model}-{plan.settings.style}"
    slug = re.sub(r"[^A-Za-z0-9.+_-]+", "-", text).strip("-")[:80]
    return f"{slug}-{plan.settings.fingerprint()[:8]}"


def run_plan(prepared: Prepared, options: Options, say: Callable[[str], None] | None = None) -> Outcome:
    """Start or resume a run. `say` is told what happens, in whole sentences."""
    say = say or (lambda _: None)
    plan = prepared.plan
    meter = meter_for(prepared.model, options)
    directory = RunDir(prepared.out)
    _refuse_other(directory, prepared)
    if options.batch:
        budgets = options.max_cost, options.max_tokens, options.max_time
        rated = any((options.rpm, options.tpm, *budgets))
        check_batches(prepared.model, ray=options.executor == "ray", rated=rated)
    else:
        refuse_under_way(directory.path)
    directory.make()
    with LogWriter(directory.log_file) as log:
        _open_directory(directory, prepared)
        done = log.drop(
            lambda record: record.reply.status == "error" and not options.keep_errors,
            meter.recall if meter is not None else None,
        )
        if done:
            say(f"Resuming {prepared.out}: {len(done)} of {plan.size} samples are there already.")
        pending: Iterator[Job] = (job for job in plan.jobs() if job.key not in done)
        if len(done) >= plan.size:
            return Outcome()
        with progress_for(plan.size, len(done)) as progress:
            return asyncio.run(_run(pending, prepared.model, log, done, options, meter, progress, say))


def meter_for(model: Model, options: Options) -> Meter | None:
    """What keeps the rates and budgets that the user set; None where there are none."""
    rates = RateLimit(options.rpm, options.tpm) if options.rpm or options.tpm else None
    budget = None
    if options.max_cost is not None or options.max_tokens is not None:
        from vivant.engine.prices import price_of

        price = price_of(model, options.prices) if options.max_cost is not None else None
        if options.max_cost is not None and price is None:
            raise UsageError(f"--max-cost: no price is known for {model.name}; give one with --prices FILE")
        budget = Budget(tokens=options.max_tokens, cost=options.max_cost, price=price)
    return Meter(budget, rates) if budget is not None or rates is not None else None


def _refuse_other(directory: RunDir, prepared: Prepared) -> None:
    """Raise where the directory holds something else, before anything in it is touched."""
    settings = prepared.plan.settings
    if directory.exists():
        manifest = directory.manifest()
        if manifest.fingerprint == settings.fingerprint():
            return
        changed = "; ".join(differences(manifest.settings, settings)) or "it was made by another version"
        raise RunError(
            f"{directory.path} holds a run with other settings ({changed}). "
            "Choose another --out, or give the same settings to resume it"
        )
    if not directory.unfinished():
        raise RunError(f"{directory.path} is not empty and not a run; choose another --out")


def _open_directory(directory: RunDir, prepared: Prepared) -> None:
    """Write what a run is, unless it is there. Only with the log locked, so that two starts cannot mix."""
    _refuse_other(directory, prepared)
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
    )
    directory.create(manifest, prepared.plan.samples)


async def _run(
    jobs: Iterator[Job],
    model: Model,
    log: LogWriter,
    logged: Container[str],
    options: Options,
    meter: Meter | None,
    progress: Any,
    say: Callable[[str], None],
) -> Outcome:
    cache = None
    if uses_cache(model, options):
        cache = ReplyCache(cache_root() / "replies.sqlite")
    try:
        with _hands(model, options, say) as hands:
            shared: dict[str, Any] = {
                "hands": hands,
                "log": log,
                "cache": cache,
                "retry": options.retry,
                "progress": progress,
                "pictures": PictureFolder(log.path.parent),
                "say": say,
            }
            runner: Runner | BatchRunner
            if options.batch:
                runner = BatchRunner(model=model, logged=logged, **shared)
            else:
                runner = Runner(
                    concurrency=options.concurrency, meter=meter, max_time=options.max_time, **shared
                )
            with stop_on_interrupt(runner, say):
                return await runner.run(jobs)
    finally:
        if cache is not None:
            cache.close()


@contextmanager
def _hands(model: Model, options: Options, say: Callable[[str], None]) -> Iterator[Hands]:
    """Who does the work: this process, or a Ray cluster."""
    if options.executor == "ray":
        from vivant.engine.ray_executor import RayHands

        # Ray prints news of its nodes; standard output is for results.
        with redirect_stdout(sys.stderr):
            yield RayHands(model, options, say)
        return
    from vivant.media import MediaLoader

    with MediaLoader(cache_root(), workers=options.workers) as loader:
        yield LocalHands(model, loader, audio=options.audio, on_too_large=options.on_too_large)


def uses_cache(model: Model, options: Options) -> bool:
    """Replies are reused where the same request would give the same reply, or where the user asks for it."""
    if options.cache == "auto":
        return model.cacheable and options.decoding.temperature == 0
    return options.cache == "always"


@contextmanager
def stop_on_interrupt(runner: Runner | BatchRunner, say: Callable[[str], None]) -> Iterator[None]:
    """First Ctrl-C: finish what is under way. Second: stop at once. The log is whole either way."""
    loop = asyncio.get_running_loop()
    pressed = 0

    def interrupted() -> None:
        nonlocal pressed
        pressed += 1
        if pressed == 1:
            say("Stopping: waiting for the samples under way (Ctrl-C again to drop them).")
            runner.stop()
        else:
            runner.abandon()

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


def progress_for(total: int, done: int) -> AbstractContextManager[Any]:
    """A bar on a terminal, lines elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console

        return BarProgress(total, done, Console(stderr=True))
    return LineProgress(total, done, sys.stderr)


def load_wording(file: str | None) -> dict[str, str]:
    """A user's prompt texts: a YAML or JSON file of names and texts."""
    if file is None:
        return {}
    import yaml

    path = Path(file).expanduser()
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return msgspec.convert(content, dict[str, str])
    except OSError as error:
        raise UsageError(f"Cannot read the prompts {path}: {error.strerror}") from error
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        line = " ".join(str(error).split())
        raise UsageError(f"{path} should map prompt names to texts: {line}") from error
