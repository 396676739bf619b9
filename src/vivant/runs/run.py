"""A run, finished or not, as an object: samples, records, scores. `vivant.load_run(path)` gives one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun, ScoreSettings
from vivant.benchmarks.validation import score_records
from vivant.core.errors import UsageError, VivantError, unknown_name_error
from vivant.core.files import read_jsonl
from vivant.core.types import Record, Sample, Score, job_key
from vivant.metrics.text import strip_thinking
from vivant.runs.directory import Manifest, RunDir, RunError
from vivant.runs.judge_scores import score_verdicts
from vivant.runs.judgements import Judgements, measure_panel, read_panel

Rows = tuple[tuple[Sample, Record | None, Score], ...]


class NoJudgeError(VivantError):
    """A task that only a judge can score, and none was asked."""


class Run:
    """Everything is read from disk when it is asked for, and scores are derived from the log."""

    def __init__(self, path: str | Path) -> None:
        self.dir = RunDir(Path(path))
        self.manifest: Manifest = self.dir.manifest()

    @property
    def name(self) -> str:
        """The directory's name."""
        return self.dir.path.resolve().name

    @property
    def model(self) -> str:
        """As tables show it."""
        return self.manifest.model

    def samples(self) -> list[Sample]:
        """All samples planned."""
        return self.dir.samples()

    def records(self) -> dict[str, Record]:
        """All records by key."""
        return self.dir.records()

    def scores(
        self, protocol: Protocol | None = None, values: Mapping[str, Any] | None = None, *, anew: bool = False
    ) -> list[ScoredRun]:
        """Scores per task. Stored ones are used where they are fresh and were made with these settings.

        Args:
            protocol: `paper` or `strict`. None takes the first that the run's benchmarks have.
            values: Scoring settings other than the defaults.
            anew: Score again even where stored scores are fresh.
        """
        protocol = common_protocol([self], protocol)
        samples, records = self.samples(), self.records()
        settings = {
            task: merge_scoring_values(registry.of_task(task), values) for task in self.manifest.tasks
        }
        judges = self._judges(protocol)
        state = measure_panel(judges)
        header = self.dir.score_header(protocol)
        fresh = header is not None and not anew and header.judges == state
        if header is not None and fresh and header.values == (settings if values else header.values):
            stored = {
                score.key: score for score in read_jsonl(self.dir.score_file(protocol), Score, RunError)
            }
            return self._gather(samples, records, stored, protocol, header.values, judges)
        scores: dict[str, Score] = {}
        for task in self.manifest.tasks:
            scores.update(self._score_task(task, samples, records, protocol, settings[task], judges))
        self.dir.write_scores(protocol, settings, scores.values(), state)
        return self._gather(samples, records, scores, protocol, settings, judges)

    def _judges(self, protocol: Protocol) -> list[Judgements]:
        """The judges that count, where any task needs one. To have none is an error, not another metric."""
        judged = [task for task in self.manifest.tasks if registry.of_task(task).task(task).judged]
        if not judged:
            return []
        judges = read_panel(self.dir.path, protocol)
        if not judges:
            raise NoJudgeError(
                f"{judged[0]} is scored by a judge, and none has judged {self.dir.path} under the protocol "
                f"{protocol}: vivant score {self.dir.path} --protocol {protocol} --judge openai/NAME"
            )
        return judges

    def _score_task(
        self,
        task: str,
        samples: list[Sample],
        records: Mapping[str, Record],
        protocol: Protocol,
        values: Mapping[str, Any],
        judges: list[Judgements],
    ) -> dict[str, Score]:
        benchmark = registry.of_task(task)
        judged = benchmark.task(task).judged
        scores: dict[str, Score] = {}
        readable: list[tuple[Sample, Record]] = []
        for sample, record, key in _join_records(task, samples, records):
            verdict = _score_unreadable(key, sample, record, protocol, judged)
            if verdict is not None:
                scores[key] = verdict
            elif record is not None:
                readable.append((sample, record))
                scores[key] = Score(key=key, task=task, id=sample.id)
        if judged:
            root = Path(self.manifest.roots.get(task, ""))
            task_scores = score_verdicts(benchmark, readable, judges, protocol, root, self.dir.path)
        else:
            settings = ScoreSettings(protocol=protocol, style=self.manifest.style, values=values)
            task_scores = score_records(benchmark, readable, settings)
        for score in task_scores:
            scores[score.key] = score
        return scores

    def _gather(
        self,
        samples: list[Sample],
        records: Mapping[str, Record],
        scores: Mapping[str, Score],
        protocol: Protocol,
        values: Mapping[str, Any],
        judges: list[Judgements],
    ) -> list[ScoredRun]:
        gathered: list[ScoredRun] = []
        infos = tuple(judgements.info for judgements in judges)
        for task in self.manifest.tasks:
            rows = tuple((s, r, scores[key]) for s, r, key in _join_records(task, samples, records))
            gathered.append(
                ScoredRun(
                    run=self.name,
                    model=self.model,
                    style=self.manifest.style,
                    task=task,
                    protocol=protocol,
                    rows=rows,
                    settings=values.get(task, {}),
                    judges=infos if registry.of_task(task).task(task).judged else (),
                    root=self.manifest.roots.get(task, ""),
                    path=str(self.dir.path),
                )
            )
        return gathered


def load_run(path: str | Path) -> Run:
    """A run by its directory."""
    return Run(path)


def common_protocol(runs: Iterable[Run], wanted: Protocol | None = None) -> Protocol:
    """The protocol to score these runs by: the one asked for, else the first that all their benchmarks have."""
    return registry.choose_protocol([task for run in runs for task in run.manifest.tasks], wanted)


def _join_records(
    task: str, samples: list[Sample], records: Mapping[str, Record]
) -> list[tuple[Sample, Record | None, str]]:
    """Each sample with each of its records, or with none. Joined by id, never by position."""
    by_id: dict[str, list[Record]] = {}
    for record in records.values():
        if record.task == task:
            by_id.setdefault(record.id, []).append(record)
    pairs: list[tuple[Sample, Record | None, str]] = []
    for sample in samples:
        if sample.task != task:
            continue
        matches = sorted(by_id.get(sample.id, ()), key=lambda record: (record.permutation, record.repeat))
        pairs += [(sample, record, record.key) for record in matches]
        if not matches:
            pairs.append((sample, None, job_key(task, sample.id)))
    return pairs


def iter_answers(
    task: str, samples: list[Sample], records: Mapping[str, Record], protocol: Protocol
) -> Iterator[tuple[Sample, Record]]:
    """The answers of a judged task that there is something to judge in."""
    for sample, record, key in _join_records(task, samples, records):
        if record is not None and _score_unreadable(key, sample, record, protocol, judged=True) is None:
            yield sample, record


def _score_unreadable(
    key: str, sample: Sample, record: Record | None, protocol: Protocol, judged: bool
) -> Score | None:
    """The score of what cannot be read: no record, an error, a refusal, a reply cut off before an answer began; in
    `strict`, a reply cut short.

    A judge takes a text as it is: one cut short loses what it lacks, and the record says so.
    """
    if record is None:
        return Score(key=key, task=sample.task, id=sample.id, status="missing", rule="no record")
    status = record.reply.status
    if status in ("error", "refused", "too_long"):
        return Score(key=key, task=sample.task, id=sample.id, status="missing", rule=status)
    if status == "truncated" and not _has_answer(record):
        return Score(key=key, task=sample.task, id=sample.id, status="truncated", rule="cut off in thoughts")
    if status == "truncated" and protocol == "strict" and not judged:
        return Score(key=key, task=sample.task, id=sample.id, status="unparsed", rule="truncated")
    return None


def _has_answer(record: Record) -> bool:
    """Whether an answer began before the reply was cut off; thoughts, marked or apart, are none."""
    reply = record.reply
    return reply.has_answer and (bool(reply.parts) or strip_thinking(reply.text) is not None)


def merge_scoring_values(benchmark: Benchmark, overrides: Mapping[str, Any] | None) -> dict[str, Any]:
    """A benchmark's scoring settings with the user's over the defaults, of the same type."""
    values = dict(benchmark.settings)
    for name, value in (overrides or {}).items():
        if name not in values:
            raise unknown_name_error(f"scoring setting of {benchmark.name}", name, values)
        values[name] = _convert_like(values[name], value, name)
    return values


def _convert_like(default: Any, value: Any, name: str) -> Any:
    if isinstance(value, str) and not isinstance(default, str) and default is not None:
        try:
            return (
                value.lower() in ("true", "yes", "1") if isinstance(default, bool) else type(default)(value)
            )
        except ValueError as error:
            raise UsageError(f"{name}={value}: should be a {type(default).__name__}") from error
    return value


__all__ = ["Run", "RunError", "load_run", "merge_scoring_values"]
