"""From a user's selection to the jobs of a run: filtered, limited, phrased, and still without pixels."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.base import Benchmark, PromptContext
from vivant.benchmarks.conditions import Condition, matches, parse_where
from vivant.benchmarks.editions import compare_size, find_edition
from vivant.benchmarks.missing_media import find_missing_media
from vivant.benchmarks.registry import Selection
from vivant.benchmarks.task_options import MISSING_MEDIA
from vivant.benchmarks.validation import check_stages, load_samples
from vivant.benchmarks.wording import check_prompts
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.randomness import derive_seed, sample_ids
from vivant.core.records import Record
from vivant.core.stored_lines import select_values
from vivant.core.structs import copy_shared_fields
from vivant.core.types import Job, Sample, Tokenizer, job_key
from vivant.engine.permutations import check_permutable, count_orders, describe_unpermuted
from vivant.media.controls import apply_control
from vivant.runs.settings import ListDigest, RunSettings

if TYPE_CHECKING:
    from vivant.runs.subset import Subset, TaskSubset

logger = logging.getLogger("vivant")


class TaskPlan(Struct, frozen=True, kw_only=True):
    """One task: all of its samples, and those that will be asked."""

    benchmark: Benchmark
    task: str
    root: Path
    pool: Sequence[Sample]
    chosen: Sequence[Sample]
    left_out: int = 0
    """Samples that the style leaves out."""
    tokenizer: Tokenizer | None = None
    """The model's own, for benchmarks that cut to its window."""


class Plan(Struct, frozen=True, kw_only=True):
    """Everything a run will ask, before it is asked."""

    tasks: tuple[TaskPlan, ...]
    settings: RunSettings
    notes: tuple[str, ...] = field(default_factory=tuple)
    subset: Subset | None = None
    """The samples that are asked, where they are chosen to predict the rest."""

    @property
    def samples(self) -> Iterator[Sample]:
        """All samples that will be asked."""
        return (sample for task in self.tasks for sample in task.chosen)

    @property
    def size(self) -> int:
        """Number of requests."""
        permute = self.settings.permute
        if permute == 1:
            return sum(len(task.chosen) for task in self.tasks) * self.settings.repeat
        prompts = sum(count_orders(sample, permute) for sample in self.samples)
        return prompts * self.settings.repeat

    def jobs(self) -> Iterator[Job]:
        """One job per sample, order of options and repeat, made as it is asked for."""
        for task in self.tasks:
            yield from _jobs(task, self.settings)

    def find_job(self, record: Record) -> Job | None:
        """The job that a record of an earlier process answers; None where it is not asked here."""
        for task in self.tasks:
            if task.task != record.task:
                continue
            index = next((n for n, sample in enumerate(task.chosen) if sample.id == record.id), None)
            if index is not None:
                alone = msgspec.structs.replace(task, chosen=select_values(task.chosen, [index]))
                return next((job for job in _jobs(alone, self.settings) if job.key == record.key), None)
        return None


def make_plan(
    selections: Sequence[Selection],
    settings_for: Callable[[Mapping[str, str]], RunSettings],
    tokenizer: Tokenizer | None = None,
    prompts: Mapping[str, str] | None = None,
    subset: Subset | None = None,
) -> Plan:
    """Read the data of every selected task; `settings_for` completes the settings with their fingerprints."""
    check_prompts([chosen.benchmark for chosen in selections], prompts or {})
    wanted = [(selection, task) for selection in selections for task in selection.tasks]
    if len({task for _, task in wanted}) != len(wanted):
        raise UsageError("A task is named twice")
    digests = {task: ListDigest() for _, task in wanted}
    pools = [
        (selection, task, load_samples(selection.benchmark, selection.root, task, digests[task].add))
        for selection, task in wanted
    ]
    settings = settings_for({task: data.hexdigest()[:16] for task, data in digests.items()})
    # A value that one task's samples do not have may be another's: `category=SA` of mmie.
    conditions = {
        name: parse_where(
            settings.where, (s for other, _, pool in pools if other.benchmark.name == name for s in pool)
        )
        for name in {selection.benchmark.name for selection in selections}
    }
    tasks = [
        _plan_task(selection, task, pool, settings, conditions[selection.benchmark.name], tokenizer)
        for selection, task, pool in pools
    ]
    if subset is not None:
        tasks = [_restrict(task, subset.tasks[task.task]) for task in tasks]
    notes = [
        f"{chosen.benchmark.name}: {len(chosen.absent)} tasks have no data here: {', '.join(chosen.absent)}"
        for chosen in selections
        if chosen.absent
    ]
    notes += _size_notes(selections, pools)
    notes += [note for task in tasks for note in _plan_notes(task, settings)]
    notes += _check_scorable(tasks)
    if not any(task.chosen for task in tasks):
        raise UsageError(f"No sample is left after --where {' '.join(settings.where) or '(none)'}")
    for plan in tasks:
        check_stages(plan.benchmark, plan.chosen, _context(plan, settings))
    if settings.permute != 1:
        _check_permutable(tasks, settings)
    return Plan(tasks=tuple(tasks), settings=settings, notes=tuple(notes), subset=subset)


def _size_notes(
    selections: Sequence[Selection], pools: Sequence[tuple[Selection, str, Sequence[Sample]]]
) -> Iterator[str]:
    """One line per benchmark: how much of its edition is there."""
    for chosen in selections:
        benchmark = chosen.benchmark
        edition = find_edition(benchmark, chosen.root)
        own = {task: pool for selection, task, pool in pools if selection is chosen}
        size = compare_size(benchmark.name, edition, own) if edition is not None else None
        if size is not None:
            yield size.line


def _plan_task(
    selection: Selection,
    task: str,
    pool: Sequence[Sample],
    settings: RunSettings,
    where: Sequence[Condition],
    tokenizer: Tokenizer | None,
) -> TaskPlan:
    benchmark = selection.benchmark
    if settings.style not in benchmark.styles:
        raise unknown_name_error(f"style of {benchmark.name}", settings.style, benchmark.styles)
    kept = array("I")
    left_out = 0
    for index, sample in enumerate(pool):
        if not benchmark.keep(sample, settings.style):
            left_out += 1
        elif matches(sample, where):
            kept.append(index)
    if settings.limit is not None and settings.limit < len(kept):
        ids = set(sample_ids([pool[index].id for index in kept], settings.limit, settings.seed, task))
        kept = array("I", (index for index in kept if pool[index].id in ids))
    return TaskPlan(
        benchmark=benchmark,
        task=task,
        root=selection.root,
        pool=pool,
        chosen=pool if len(kept) == len(pool) else select_values(pool, kept),
        left_out=left_out,
        tokenizer=tokenizer,
    )


def _restrict(plan: TaskPlan, subset: TaskSubset) -> TaskPlan:
    """The plan with the samples of a subset alone."""
    from vivant.runs.subset import select_subset

    ids, changed = select_subset(plan.task, plan.chosen, subset)
    if changed:
        logger.warning(
            "%s: %d of %d samples have other options, keys or answers than in the runs that the subset was made from; "
            "the estimate is less sure.",
            plan.task,
            changed,
            len(ids),
        )
    indices = [index for index, sample in enumerate(plan.chosen) if sample.id in ids]
    return msgspec.structs.replace(plan, chosen=select_values(plan.chosen, indices))


def _context(plan: TaskPlan, settings: RunSettings) -> PromptContext:
    return PromptContext(
        style=settings.style,
        seed=settings.seed,
        wording=settings.wording,
        limits={**settings.limits, "tokenizer": plan.tokenizer} if plan.tokenizer else settings.limits,
        pool=plan.pool,
        root=plan.root,
    )


def _check_scorable(tasks: Sequence[TaskPlan]) -> list[str]:
    """Tasks whose replies cannot be scored here yet, as notes. Where that is all of them, nothing should be sent."""
    lacking = {task.task: task.benchmark.explain_unscorable(task.task) for task in tasks}
    reasons = {task: reason for task, reason in lacking.items() if reason}
    if reasons and len(reasons) == len(tasks):
        task, reason = next(iter(reasons.items()))
        raise DataError(f"{task} cannot be scored here, so nothing was sent. {reason}")
    return [
        f"{task} will be answered and kept, but not scored yet. {reason}" for task, reason in reasons.items()
    ]


def _check_permutable(tasks: Sequence[TaskPlan], settings: RunSettings) -> None:
    checked = False
    for task in tasks:
        sample = next((s for s in task.chosen if count_orders(s, settings.permute) > 1), None)
        if sample is not None:
            check_permutable(task.benchmark, sample, _context(task, settings))
            checked = True
    if not checked:
        raise UsageError("--permute: none of the questions has options that may change places")


def _jobs(plan: TaskPlan, settings: RunSettings) -> Iterator[Job]:
    usual = _context(plan, settings)
    root = str(plan.benchmark.data.media_root(plan.root).resolve())
    pairs = ((s, number) for s in plan.chosen for number in range(count_orders(s, settings.permute)))
    for sample, permutation in pairs:
        context = msgspec.structs.replace(usual, permutation=permutation) if permutation else usual
        prompt = plan.benchmark.prompt(sample, context)
        decoding = settings.decoding
        if decoding.max_tokens is None and prompt.max_tokens is not None:
            decoding = msgspec.structs.replace(decoding, max_tokens=prompt.max_tokens)
        elif decoding.max_tokens == 0:  # the user leaves the limit to the server
            decoding = msgspec.structs.replace(decoding, max_tokens=None)
        if settings.control == "blind":
            prompt = msgspec.structs.replace(prompt, messages=apply_control(prompt.messages, "blind", 0))
        for repeat in range(settings.repeat):
            key = job_key(plan.task, sample.id, repeat, permutation)
            variation = [f"~{permutation}"] * bool(permutation) + [str(repeat)] * bool(repeat)
            yield Job(
                key=key,
                task=plan.task,
                id=sample.id,
                repeat=repeat,
                permutation=permutation,
                **copy_shared_fields(prompt, Job),
                root=root,
                frames=settings.frames,
                decoding=decoding,
                control=settings.control,
                seed=derive_seed(settings.seed, plan.task, sample.id, *variation),
            )


def _plan_notes(plan: TaskPlan, settings: RunSettings) -> Iterator[str]:
    """What the user should know before anything is sent."""
    if plan.left_out:
        yield f"{plan.task}: {plan.left_out} samples are left out in the style {settings.style}"
    note = describe_unpermuted(plan.task, plan.chosen, settings.permute)
    if note:
        yield note
    if settings.control == "blind":
        return
    media = find_missing_media(plan.benchmark, plan.root, plan.chosen)
    if media.missing and media.missing == media.total:
        raise DataError(
            f"None of the {media.missing} media files of {plan.task} is there; {media.first}. "
            "Give the folder that holds them with --data"
        )
    if media.missing and plan.benchmark.options.get(MISSING_MEDIA.key) == MISSING_MEDIA.default:
        raise DataError(
            f"{plan.task}: {media}. Put them there, or ask the other questions: --task-option missing=keep"
        )
    if media.missing:
        yield f"{plan.task}: {media}; their samples will count as errors"
