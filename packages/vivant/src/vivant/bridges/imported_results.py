"""Results that another harness scored: tasks whose scores come with the records, and the runs that hold them.

`inspect/TASK` and `vlmevalkit/TASK` cannot be run here. Their records carry what the other harness gave each sample,
so that tables, comparisons and the viewer show its scores, not ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import Benchmark, Prompt, PromptContext, ScoreSettings, TaskInfo
from vivant.benchmarks.parts import DataFolder
from vivant.benchmarks.vlmevalkit import is_circular
from vivant.bridges.metric_scales import is_share
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.files import atomic_path, iter_jsonl, write_atomic
from vivant.core.records import Record, Score, make_score
from vivant.core.types import Sample
from vivant.runs.directory import RunDir, RunError, command_line, new_manifest
from vivant.runs.run import Run
from vivant.runs.settings import ListDigest, RunSettings

RESULTS = "results"
"""The key in `Record.extra` under which the other harness's scores are."""


class SampleResult(Struct, frozen=True, omit_defaults=True):
    """What one scorer of another harness gave one reply."""

    value: float | None = None
    """None where its scorer gave no number."""
    raw: Any = None
    """What it wrote, where that is no number: "C", a mapping."""
    answer: str = ""
    note: str = ""
    unparsed: bool = False
    """Its scorer read no answer."""
    absent: bool = False
    """Its scorer was not asked: the metric is one of other samples of the log."""


class ImportedResults(Benchmark):
    """Base of the tasks that can be imported, not run."""

    harness: ClassVar[str]
    tasks: ClassVar[tuple[TaskInfo, ...]] = ()
    settings: ClassVar[Mapping[str, Any]] = {"scorer": ""}
    styles: ClassVar[tuple[str, ...]] = ("imported",)
    scores_apart: ClassVar[bool] = True

    def task(self, name: str) -> TaskInfo:
        """Any task: what was evaluated is the other harness's affair."""
        short = name.partition("/")[2] or name
        return TaskInfo(name=short, title=f"{short} ({self.harness})", metric="score")

    def expand(self, selector: str) -> tuple[str, ...]:
        """Nothing can be asked here."""
        raise UsageError(
            f"{self.name}/{selector or 'TASK'} holds results of {self.harness} and cannot be run; "
            f"bring them in with `vivant import --as {self.name} FILE`"
        )

    def load(self, root: Path, task: str) -> list[Sample]:  # noqa: ARG002
        """Nothing can be asked here."""
        raise UsageError(f"{task} holds results of {self.harness} and cannot be run")

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:  # noqa: ARG002
        """Nothing can be asked here."""
        raise UsageError(f"{sample.task} holds results of {self.harness} and cannot be run")

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        """The scores that the records carry: of the scorer that is set, else of the first, which is the run's."""
        wanted = str(settings.values.get("scorer") or "")
        return [score_imported(record, wanted) for _, record in items]


class InspectResultsTasks(ImportedResults):
    """Results of Inspect's tasks."""

    name: ClassVar[str] = "inspect"
    title: ClassVar[str] = "Inspect logs"
    summary: ClassVar[str] = "results brought in with `vivant import --as inspect`"
    harness: ClassVar[str] = "Inspect"
    data: ClassVar[DataFolder] = DataFolder()


class VlmEvalKitResults(ImportedResults):
    """Results of VLMEvalKit's datasets."""

    name: ClassVar[str] = "vlmevalkit"
    title: ClassVar[str] = "VLMEvalKit results"
    summary: ClassVar[str] = "results brought in with `vivant import --as vlmevalkit`"
    harness: ClassVar[str] = "VLMEvalKit"
    data: ClassVar[DataFolder] = DataFolder()

    def chance(self, sample: Sample) -> float | None:
        """That all copies are guessed right, where they count as one."""
        single = super().chance(sample)
        return None if single is None else single ** (len(sample.options) if is_circular(sample.task) else 1)


def score_imported(record: Record, scorer: str = "") -> Score:
    """The score that a record carries.

    Args:
        record: A record with results of another harness.
        scorer: Whose score; empty for the first.
    """
    results = read_results(record)
    if not results:
        return make_score(record, status="missing", rule="the log holds no score")
    name = scorer or next(iter(results))
    if name not in results:
        raise unknown_name_error("scorer", name, results)
    result = results[name]
    detail: dict[str, Any] = {"scorer": name}
    detail |= {"raw": result.raw} if result.raw is not None else {}
    detail |= {"note": result.note} if result.note else {}
    others = {other: each.value for other, each in results.items() if other != name}
    detail |= {"others": others} if others else {}
    if result.absent:
        return make_score(
            record, None, rule=f"the log holds no score of {name}", status="excluded", detail=detail
        )
    if result.unparsed or result.value is None:
        return make_score(record, None, result.answer, name, status="unparsed", detail=detail)
    return make_score(record, result.value, result.answer, name, detail=detail)


def read_results(record: Record) -> dict[str, SampleResult]:
    """What another harness gave a record, by scorer; empty where it brings nothing."""
    return msgspec.convert(record.extra.get(RESULTS, {}), dict[str, SampleResult])


class ImportedEntry(NamedTuple):
    """One reply of another harness's log, with its question."""

    sample: Sample
    record: Record
    results: Mapping[str, SampleResult]


class ImportedSource(Struct, frozen=True, kw_only=True):
    """What a log is about."""

    task: str
    """`inspect/mmmu`."""
    model: str
    name: str
    """What tells this log from another of the same task and model."""
    file: Path
    repeat: int = 1
    notes: tuple[str, ...] = ()
    shares: frozenset[str] = frozenset()
    """Scorers whose values are shares of 1, where their names do not say so."""
    ratings: frozenset[str] = frozenset()
    """Scorers on a scale of their own, such as 0 to 3."""


def name_task(text: str) -> str:
    """A task's name without the characters that divide names here: `inspect_evals/mmmu` as `inspect_evals-mmmu`."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("-.") or "unnamed"


def default_folder(source: ImportedSource) -> Path:
    """Where a log goes unless the user says otherwise; the same log to the same folder."""
    words = (source.task.replace("/", "-"), source.model, source.name)
    return Path("runs") / "-".join(name_task(word)[:60] for word in words if word)


def write_imported_run(
    source: ImportedSource, entries: Iterable[ImportedEntry], out: Path, media: Path
) -> Run:
    """Write another harness's replies and scores as a run. The folder appears whole or not at all.

    Args:
        source: What the log is about.
        entries: Its replies, read as they come.
        out: The run directory to write.
        media: The folder that media paths are relative to; `entries` may still write to it.
    """
    if RunDir(out).exists() or (out.is_dir() and any(out.iterdir())):
        raise RunError(f"{out} exists already; choose another --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(out, keep_suffix=False) as folder:
        folder.mkdir()
        directory = RunDir(folder)
        count, digest, seen = _write_entries(directory, entries)
        if not count:
            raise DataError(f"{source.file} holds no samples")
        notes = [*source.notes, *_finish_results(directory, seen, source)]
        if media.is_dir():
            media.rename(folder / "media")
        settings = RunSettings(
            tasks=(source.task,),
            model={"model": source.model},
            style="imported",
            data={source.task: digest.hexdigest()[:16]},
            repeat=source.repeat,
        )
        manifest = new_manifest(
            out.resolve(),
            source.model,
            settings,
            planned={source.task: count},
            roots={source.task: str(out.resolve() / "media")},
            origin="import",
            notes=tuple(notes),
            command=command_line(),
        )
        write_atomic(directory.manifest_file, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    return Run(out)


_ABSENT = SampleResult(absent=True)


class _SeenScorers:
    """What the scorers of a log gave, over all its records."""

    def __init__(self) -> None:
        self.lists: Counter[tuple[str, ...]] = Counter()
        """How many records bear which scorers, in which order."""
        self.numbers: Counter[str] = Counter()
        self.large: set[str] = set()
        """Those with a value that is no share of 1."""
        self.graded: set[str] = set()
        """Those that gave a grade or a truth value, which counts as a share of 1."""

    def add(self, results: Mapping[str, SampleResult]) -> None:
        """One more record."""
        if results:
            self.lists[tuple(results)] += 1
        for name, result in results.items():
            if result.value is not None:
                self.numbers[name] += 1
                if not 0 <= result.value <= 1:
                    self.large.add(name)
                if isinstance(result.raw, bool) or (isinstance(result.raw, str) and result.raw[:1].isalpha()):
                    self.graded.add(name)

    def order(self) -> tuple[str, ...]:
        """All scorers as the fullest record orders them; those that gave a number stand first."""
        lists = sorted(self.lists, key=len, reverse=True)
        names = dict.fromkeys(name for names in lists for name in names)
        return tuple(sorted(names, key=lambda name: name not in self.numbers))


def _write_entries(
    directory: RunDir, entries: Iterable[ImportedEntry]
) -> tuple[int, ListDigest, _SeenScorers]:
    """Write samples and log; how many samples there are, their digest, and what the scorers gave."""
    encode = msgspec.json.Encoder().encode
    digest = ListDigest()
    seen: set[str] = set()
    keys: set[str] = set()
    scorers = _SeenScorers()
    with directory.samples_file.open("wb") as samples, directory.log_file.open("wb") as log:
        for entry in entries:
            if entry.sample.id not in seen:
                seen.add(entry.sample.id)
                digest.add(entry.sample)
                samples.write(encode(entry.sample) + b"\n")
            record = entry.record
            if record.key in keys:
                raise DataError(f"Two replies have the key '{record.key}'; the log holds a sample twice")
            keys.add(record.key)
            scorers.add(entry.results)
            if entry.results:
                extra = {**record.extra, RESULTS: dict(entry.results)}
                record = msgspec.structs.replace(record, extra=extra)
            log.write(encode(record) + b"\n")
    return len(seen), digest, scorers


def _finish_results(directory: RunDir, seen: _SeenScorers, source: ImportedSource) -> list[str]:
    """Give all records the same scorers in one order, for the first is the one that counts, and each its scale.

    Tables print values times 100, so what is not known as a share of 1 is divided by 100: a mean of 7.5 is printed as
    7.5. A name that says share is wrong where a value is beyond 1.

    Returns:
        Notes on what a reader of the table should know.
    """
    order, own_scale = seen.order(), seen.large | source.ratings
    known = {name for name in seen.numbers if is_share(name)} | source.shares | seen.graded
    raw = {name for name in seen.numbers if name in own_scale or name not in known}
    notes = []
    if order and order[0] in raw:
        unknown = "" if order[0] in own_scale else ", for its scale is not known"
        notes.append(f"the values of '{order[0]}' are shown as they are, not in percent{unknown}")
    if len(order) > 1:
        bearing = sum(count for names, count in seen.lists.items() if order[0] in names)
        absent, unread = seen.lists.total() - bearing, bearing - seen.numbers[order[0]]
        if unread:
            notes.append(f"'{order[0]}' gave {unread} replies no number; they count as unparsed")
        if absent:
            others = ", ".join(order[1:])
            notes.append(
                f"{absent} replies bear no '{order[0]}' but {others}; they are left out of the score"
            )
    if not raw and set(seen.lists) <= {order}:
        return notes
    encode = msgspec.json.Encoder().encode

    def finished() -> Iterator[bytes]:
        for record in iter_jsonl(directory.log_file, Record):
            given = read_results(record)
            if given:
                results = {name: given.get(name, _ABSENT) for name in order}
                for name in raw:
                    results[name] = _scale_result(results[name])
                record = msgspec.structs.replace(record, extra={**record.extra, RESULTS: results})
            yield encode(record) + b"\n"

    with atomic_path(directory.log_file) as temporary, temporary.open("wb") as file:
        file.writelines(finished())
    return notes


def _scale_result(result: SampleResult) -> SampleResult:
    if result.value is None:
        return result
    raw = result.value if result.raw is None else result.raw
    return msgspec.structs.replace(result, value=result.value / 100, raw=raw)
