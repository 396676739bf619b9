"""What `--from` names: a benchmark, runs, or a pack of comments; and its samples, filtered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.conditions import matches, parse_where
from vivant.benchmarks.mimic.packs import Pack, is_pack
from vivant.core.errors import DataError, UsageError
from vivant.core.randomness import sample_ids
from vivant.core.records import Record
from vivant.core.types import Sample
from vivant.runs.directory import RunDir
from vivant.runs.run import Run, load_run, load_runs


class LocatedSample(Struct, frozen=True):
    """A sample and the folder that its media are relative to."""

    sample: Sample
    root: Path


class AnsweredSample(Struct, frozen=True):
    """A sample with a run's answer to it."""

    sample: Sample
    record: Record
    root: Path


class SampleSelection(Struct, frozen=True, kw_only=True):
    """Which samples are wanted."""

    where: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    only: frozenset[str] | None = None
    """Keys of the samples to choose from; None: all."""

    def ids(self, samples: Sequence[Sample], name: str) -> set[str]:
        """Keys (task and id) of the samples that stay."""
        conditions = parse_where(self.where, samples)
        keys = [sample_key(sample) for sample in samples if matches(sample, conditions)]
        if self.only is not None:
            keys = [key for key in keys if key in self.only]
            if not keys:
                raise UsageError("None of the chosen samples is there")
        if not keys:
            raise UsageError(f"No sample is left after --where {' '.join(self.where) or '(none)'}")
        return set(keys if self.limit is None else sample_ids(keys, self.limit, self.seed, name))


def sample_key(sample: Sample) -> str:
    """A sample's name among several tasks."""
    return f"{sample.task}/{sample.id}"


def is_run(name: str) -> bool:
    """Whether a folder is a run."""
    return RunDir(Path(name)).exists()


def open_pack(names: Sequence[str]) -> Pack:
    """The one pack named."""
    if len(names) != 1 or not is_pack(Path(names[0])):
        raise UsageError(
            f"--from {' '.join(names)}: a study of blind comments is made from one pack; "
            "make it with `vivant mimic pack`"
        )
    return Pack(Path(names[0]))


def open_runs(names: Sequence[str], kind: str, count: int | None = None) -> list[Run]:
    """The runs named; so many of them where a number is given."""
    for name in names:
        if not is_run(name):
            raise UsageError(f"--from {name} is no run; a study of the kind '{kind}' is made from runs")
    if count is not None and len(names) != count:
        raise UsageError(f"A study of the kind '{kind}' is made from {count} runs, not {len(names)}")
    if len({Path(name).resolve() for name in names}) < len(names):
        raise UsageError("--from names the same run twice")
    return load_runs(names)


def select_samples(
    names: Sequence[str], data: Sequence[str], selection: SampleSelection
) -> list[LocatedSample]:
    """Samples with options of the benchmarks named (or those of one run), once each."""
    located: list[LocatedSample] = []
    if len(names) == 1 and is_run(names[0]):
        run = load_run(names[0])
        located = [
            LocatedSample(sample, Path(run.manifest.roots[sample.task])) for sample in run.dir.samples()
        ]
    else:
        if any(is_pack(Path(name)) or is_run(name) for name in names):
            raise UsageError("--from: name benchmarks, or one run whose questions people get too")
        for chosen in registry.select(names, data):
            root = chosen.benchmark.data.media_root(chosen.root)
            for task in chosen.tasks:
                located += [LocatedSample(s, root) for s in chosen.benchmark.load(chosen.root, task)]
    located = [entry for entry in located if entry.sample.options]
    if not located:
        raise DataError(f"--from {' '.join(names)}: no question there has options to choose from")
    keys = selection.ids([entry.sample for entry in located], "study")
    return [entry for entry in located if sample_key(entry.sample) in keys]


def select_answers(run: Run, selection: SampleSelection, notes: list[str]) -> list[AnsweredSample]:
    """A run's first good answers to the samples wanted."""
    samples = run.dir.samples()
    keys = selection.ids(samples, "study")
    good: dict[str, Record] = {}
    for record in sorted(run.records().values(), key=lambda record: (record.permutation, record.repeat)):
        name = f"{record.task}/{record.id}"
        if name in keys and record.reply.status == "ok" and (record.reply.text.strip() or record.reply.parts):
            good.setdefault(name, record)
    lost = len(keys) - len(good)
    if lost:
        notes.append(f"{run.name}: {lost} of {len(keys)} samples have no answer to show and are left out")
    if not good:
        raise DataError(f"{run.dir.path} holds no answers to show; finish the run first")
    return [
        AnsweredSample(sample, good[sample_key(sample)], Path(run.manifest.roots[sample.task]))
        for sample in samples
        if sample_key(sample) in good
    ]
