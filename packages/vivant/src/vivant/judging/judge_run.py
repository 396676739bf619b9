"""Asking a judge, with the engine's own runner, log and cache: it resumes and costs as generating does.

1. Every answer becomes a job per verdict. The first verdict is greedy and may come from the reply cache.
2. What cannot be read is asked again, with another seed and a reminder of the form, up to `attempts` times.
3. A verdict whose question has changed since (another answer, a picture found) is dropped and asked anew.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.rubric import JudgeContext, JudgeQuestion, Rubric
from vivant.benchmarks.verdict import Verdict
from vivant.benchmarks.wording import check_judge_prompts
from vivant.core.errors import UsageError
from vivant.core.event_loop import run_coroutine
from vivant.core.paths import cache_root
from vivant.core.randomness import derive_seed
from vivant.core.records import Record
from vivant.core.types import Decoding, Job
from vivant.engine.executor import LocalExecutor
from vivant.engine.recording import RunOutcome
from vivant.engine.reply_cache import ReplyCache, open_cache
from vivant.engine.run_execution import open_progress, stop_on_interrupt
from vivant.engine.runner import Runner
from vivant.judging.options import TEMPERATURE, JudgeOptions
from vivant.models.base import Model, ModelError, WrappedModel, identify_model
from vivant.models.registry import create
from vivant.runs.judgements import (
    JudgeManifest,
    Judgements,
    JudgeSettings,
    VerdictReader,
    find_judgements_folder,
    read_verdict,
    rubric_note,
    split_key,
    verdict_key,
    write_panel,
)
from vivant.runs.log import LogWriter
from vivant.runs.run import Run, choose_common_protocol
from vivant.runs.run_scoring import iter_answers
from vivant.runs.settings import digest

logger = logging.getLogger("vivant")


class JudgeRequest(Struct, frozen=True, kw_only=True, gc=False):
    """One answer that is to be judged."""

    key: str
    task: str
    id: str
    question: JudgeQuestion
    root: str
    run: str = ""


_State = dict[tuple[str, int], int]
"""By answer and number of the verdict: how many attempts could not be read, or `_SETTLED`."""
_SETTLED = -1


class _PersistentModel(WrappedModel):
    """A model that stays open from one pass of the runner to the next: local weights are loaded once."""

    def __init__(self, inner: Model) -> None:
        super().__init__(inner)
        self.generate = inner.generate  # type: ignore[method-assign]  # one layer less for every request
        self._open = False

    async def open(self) -> None:
        if not self._open:
            await super().open()
            self._open = True

    async def close(self) -> None:
        """It stays open; see `close_at_last`."""

    async def close_at_last(self) -> None:
        """What `close` is to others."""
        if self._open:
            self._open = False
            await super().close()


def _name_judge_options(remedy: str) -> str:
    """A remedy with the options of a judge in place of a run's."""
    named = re.sub(r"--thinking-tokens (\d+)", r"--judge-option thinking_tokens=\1", remedy)
    named = named.replace("--effort low", "--judge-option effort=low")
    return named.replace("--no-thinking", "--judge-option thinking=false")


class _RecordRelay:
    """Tells of every record as it is logged: to the state of the judging, and to the user."""

    def __init__(self, note: Callable[[Record], None], progress: Any) -> None:
        self._note = note
        self._progress = progress

    def update(self, record: Record) -> None:
        self._note(record)
        if self._progress is not None:
            self._progress.update(record)


class JudgeRunner:
    """One judge at work in one folder."""

    def __init__(
        self,
        model: Model,
        settings: JudgeSettings,
        folder: Path,
        reader: VerdictReader,
        options: JudgeOptions,
    ) -> None:
        self._model = model
        self._settings = settings
        self._store = Judgements(folder)
        self._reader = reader
        self._options = options
        self._rubrics = {rubric.name: rubric for rubric in settings.rubrics}
        self._state: _State = {}

    def judge(self, asks: Sequence[JudgeRequest]) -> RunOutcome:
        """Ask whatever is not answered yet."""
        self._store.create(
            JudgeManifest(
                name=self._model.name,
                fingerprint=self._settings.fingerprint(),
                settings=self._settings,
                server=self._model.server,
                caveat=self._model.caveat,
            )
        )
        with LogWriter(self._store.log_file) as log:
            done = self._resume(log, asks)
            for *_, record in self._store.records():
                self._note(record)
            total = len(asks) * self._settings.samples
            if done:
                logger.info("Resuming %s: %d of %d verdicts are done.", self._store.path, done, total)
            try:
                return run_coroutine(self._passes(log, asks, total, done))
            except ModelError as error:
                message = str(error).replace("--base-url", "--judge-base-url")
                raise ModelError(f"The judge {self._model.name} cannot judge: {message}") from error

    def _resume(self, log: LogWriter, asks: Sequence[JudgeRequest]) -> int:
        """Drop failures and what answers another question; count the verdicts that stay."""
        if not log.drop(lambda record: record.reply.status == "error" and not self._options.keep_errors):
            return 0
        digests = {
            ask.key: tuple(digest(ask.question.messages(again=a)) for a in (False, True)) for ask in asks
        }

        def stale(key: str, messages: Any) -> bool:
            answer, sample, attempt = split_key(key)
            return (
                answer not in digests
                or sample >= self._settings.samples
                or digest(messages) != digests[answer][attempt > 0]
            )

        verdicts: set[tuple[Any, ...]] = set()
        log.drop(
            lambda record: stale(record.key, record.messages),
            lambda record: verdicts.add(split_key(record.key)[:2]),
        )
        return len(verdicts)

    async def _passes(
        self, log: LogWriter, asks: Sequence[JudgeRequest], total: int, done: int
    ) -> RunOutcome:
        from vivant.media import MediaLoader

        model = _PersistentModel(self._model)
        cache = self._open_cache()
        summed = RunOutcome()
        try:
            with open_progress(total, done) as progress, MediaLoader(cache_root(), workers=1) as preparer:
                for attempt in range(self._settings.attempts):
                    watch = _RecordRelay(self._note, progress if attempt == 0 else None)
                    for greedy in (True, False):
                        jobs = self._jobs(asks, attempt, greedy)
                        first = next(jobs, None)
                        if first is None:
                            continue
                        runner = Runner(
                            executor=LocalExecutor(model, preparer),
                            log=log,
                            cache=cache if greedy or self._options.cache == "always" else None,
                            concurrency=self._options.concurrency,
                            progress=watch,
                            has_answers=bool(done or summed.done),
                            thinking=self._model.thinking,
                        )
                        with stop_on_interrupt(runner):
                            outcome = await runner.run(chain([first], jobs))
                        if outcome.cut_off:
                            raise ModelError(_name_judge_options(outcome.reason))
                        _add_outcome(summed, outcome)
                        if summed.stopped:
                            return summed
        finally:
            await model.close_at_last()
            if cache is not None:
                cache.close()
        return summed

    def _open_cache(self) -> ReplyCache | None:
        use_cache = (
            self._model.cacheable if self._options.cache == "auto" else self._options.cache == "always"
        )
        return open_cache(cache_root() / "replies.sqlite") if use_cache else None

    def _jobs(self, asks: Sequence[JudgeRequest], attempt: int, greedy: bool) -> Iterator[Job]:
        """The jobs of one pass: verdicts whose earlier attempts could all not be read."""
        for ask in asks:
            for sample in range(self._settings.samples):
                begun = self._state.get((ask.key, sample), 0)
                if (attempt == 0 and sample == 0) == greedy and begun == attempt:
                    yield self._job(ask, sample, attempt)

    def _note(self, record: Record) -> None:
        """Keep count of what is settled, as the log has it and as records arrive: the log is read once."""
        key, sample, attempt = split_key(record.key)
        verdict = read_verdict(record, attempt, self._rubrics, self._reader)
        if verdict.verdict.read or verdict.error:
            self._state[key, sample] = _SETTLED
        elif (before := self._state.get((key, sample), 0)) != _SETTLED:
            self._state[key, sample] = max(before, attempt + 1)

    def _job(self, ask: JudgeRequest, sample: int, attempt: int) -> Job:
        question = ask.question
        sampled = bool(sample or attempt)
        seed = derive_seed(sample, "judge", ask.key, str(attempt))
        return Job(
            key=verdict_key(ask.key, sample, attempt),
            task=ask.task,
            id=ask.id,
            repeat=sample * self._settings.attempts + attempt,
            messages=question.messages(again=attempt > 0),
            candidates=question.rubric.contract.candidates,
            root=ask.root,
            run=ask.run,
            decoding=Decoding(
                max_tokens=question.max_tokens,
                temperature=self._settings.temperature if sampled else 0.0,
                seed=seed & 0x7FFFFFFF if sampled else None,
            ),
            seed=seed,
            lost_images=question.lost_images,
            notes=(rubric_note(question.rubric), *question.notes),
        )


def _add_outcome(total: RunOutcome, outcome: RunOutcome) -> None:
    total.done += outcome.done
    total.errors += outcome.errors
    total.cached += outcome.cached
    total.highest_in_flight = max(total.highest_in_flight, outcome.highest_in_flight)
    total.stopped = total.stopped or outcome.stopped


def make_settings(
    options: JudgeOptions, model: Model, protocol: Protocol, rubrics: Sequence[Rubric]
) -> JudgeSettings:
    """What a judge's fingerprint is made of."""
    if options.samples < 1 or options.attempts < 1:
        raise UsageError("A judge must be asked at least once: --judge-samples and --judge-attempts")
    if "temperature" in model.untold and options.temperature != TEMPERATURE:
        raise UsageError(f"The judge {model.name} takes no temperature; leave it out")
    return JudgeSettings(
        model=identify_model(model),
        protocol=protocol,
        rubrics=tuple(rubric.reword(options.prompts) for rubric in rubrics),
        samples=options.samples,
        attempts=options.attempts,
        temperature=options.temperature,
        max_images=options.max_images,
    )


def judge_run(run: Run, judges: Sequence[JudgeOptions], protocol: Protocol | None = None) -> RunOutcome:
    """Have all answers of a run judged, and let these judges count for its scores from now on."""
    tasks = [task for task in run.manifest.tasks if registry.get_by_task(task).task(task).judged]
    if not tasks:
        raise UsageError(f"{run.name}: nothing in {', '.join(run.manifest.tasks)} is scored by a judge")
    common = choose_common_protocol([run], protocol)
    owners = {r.name: (r, b) for b in map(registry.get_by_task, tasks) for r in b.judged.rubrics(common)}

    def read(text: str, rubric: Rubric) -> Verdict:
        return owners[rubric.name][1].judged.read(text, rubric, common)

    for options in judges:
        check_judge_prompts([registry.get_by_task(task) for task in tasks], options.prompts)
    summed = RunOutcome()
    fingerprints: list[str] = []
    for options in judges:
        model = create(options.model, options.backend_options)
        settings = make_settings(options, model, common, tuple(rubric for rubric, _ in owners.values()))
        fingerprint = settings.fingerprint()
        if fingerprint in fingerprints:
            raise UsageError(
                f"The judge {options.model} is named twice; for more verdicts: --judge-samples N"
            )
        folder = find_judgements_folder(run.dir.path, fingerprint)
        asks = build_judge_requests(run, tasks, common, options)
        logger.info("Judge %s: %d answers → %s", model.name, len(asks), folder)
        partial = [(ask.key, ask.question.notes[0]) for ask in asks if ask.question.notes]
        if partial:
            key, note = partial[0]
            logger.warning(
                "%d answers are not shown to the judge in full; the first: %s: %s", len(partial), key, note
            )
        if model.caveat:
            logger.warning("%s is %s.", model.name, model.caveat)
        _add_outcome(summed, JudgeRunner(model, settings, folder, read, options).judge(asks))
        if summed.stopped:
            return summed
        fingerprints.append(fingerprint)
    write_panel(run.dir.path, common, fingerprints)
    return summed


def build_judge_requests(
    run: Run, tasks: Sequence[str], protocol: Protocol, options: JudgeOptions
) -> list[JudgeRequest]:
    """The answers of a run that are to be judged: those that can be read at all."""
    samples, records = run.dir.samples(), run.records()
    home = str(run.dir.path.resolve())
    asks: list[JudgeRequest] = []
    for task in tasks:
        benchmark = registry.get_by_task(task)
        root = run.manifest.roots.get(task, "")
        context = JudgeContext(
            protocol=protocol, root=Path(root), run=run.dir.path, max_images=options.max_images
        )
        for sample, record in iter_answers(task, samples, records, protocol):
            question = benchmark.judged.ask(sample, record, context)
            if isinstance(question, JudgeQuestion):
                if options.prompts:
                    rubric = question.rubric.reword(options.prompts)
                    question = msgspec.structs.replace(question, rubric=rubric)
                asks.append(
                    JudgeRequest(
                        key=record.key, task=task, id=record.id, question=question, root=root, run=home
                    )
                )
    return asks
