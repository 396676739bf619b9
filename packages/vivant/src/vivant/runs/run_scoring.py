"""The scores of a run, derived from its log: stored ones where they are fresh, else made anew and stored."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun, ScoreSettings
from vivant.benchmarks.recipes import find_recipe
from vivant.benchmarks.sample_units import StoppedOrder
from vivant.benchmarks.validation import scores_apart
from vivant.core.errors import DataError, UsageError, VivantError, unknown_name_error
from vivant.core.files import read_jsonl, write_jsonl
from vivant.core.records import Record, Score
from vivant.core.types import Sample, job_key
from vivant.runs.directory import Manifest, RunDir, RunError
from vivant.runs.judge_scores import score_verdicts
from vivant.runs.judgements import Judgements, measure_panel, read_panel
from vivant.runs.log import read_log
from vivant.runs.reply_scoring import score_rows, score_unreadable
from vivant.runs.settings import digest
from vivant.runs.stopping import find_stopped_order, read_stopping

if TYPE_CHECKING:
    from vivant.runs.stored_rows import Joined, ScoredRow, StoredRows

logger = logging.getLogger("vivant")
_REPORTED: set[tuple[Path, str]] = set()
"""Tasks that this process said it cannot score, so that it says so once."""
_PORTION = 5_000
"""So many records of a large run are scored at a time."""


class NoJudgeError(VivantError):
    """A task that only a judge can score, and none was asked."""


class RunScoring:
    """Scores of one run directory."""

    def __init__(self, directory: RunDir, manifest: Manifest, name: str) -> None:
        self.dir = directory
        self.manifest = manifest
        self.name = name

    def scores(
        self, protocol: Protocol, values: Mapping[str, Any] | None = None, *, anew: bool = False
    ) -> list[ScoredRun]:
        """Scores per task: stored ones where they are fresh and were made with these settings."""
        settings, variant = self.scoring_settings(protocol, values)
        judges = self._judges(protocol)
        state = measure_panel(judges)
        header = self.dir.score_header(protocol, variant)
        fresh = header is not None and not anew and header.judges == state
        if not judges and self.dir.is_large():
            usable = fresh and header is not None and header.values == msgspec.to_builtins(settings)
            rows = self._score_large(protocol, settings, variant, stored=usable)
            stopped = self._find_stopped(read_log(self.dir.log_file))
            for task, order in stopped.items():
                if task in rows:
                    rows[task] = rows[task].select(partial(_is_among, order.ids))
            parts = [self._scored_run(task, protocol, part, settings, judges) for task, part in rows.items()]
            return _mark_stopped(parts, stopped)
        records = self.dir.records()
        stopped = self._find_stopped(records.values())
        counted = {task: order.ids for task, order in stopped.items()}
        samples = [s for s in self.dir.samples() if s.task not in counted or s.id in counted[s.task]]
        if header is not None and fresh and header.values == msgspec.to_builtins(settings):
            file = self.dir.score_file(protocol, variant)
            try:
                stored = {score.key: score for score in read_jsonl(file, Score, RunError)}
                return _mark_stopped(
                    self._gather(samples, records, stored, protocol, header.values, judges), stopped
                )
            except (RunError, KeyError):  # cut or damaged: the log has all that it takes
                logger.warning("%s is damaged; the log is scored again", file)
        scorable = self._check_scorable()
        scores: dict[str, Score] = {}
        for task in scorable:
            scores.update(self._score_task(task, samples, records, protocol, settings[task], judges))
        if len(scorable) == len(self.manifest.tasks):
            self.dir.write_scores(protocol, settings, scores.values(), state, variant)
        return _mark_stopped(
            self._gather(samples, records, scores, protocol, settings, judges, scorable), stopped
        )

    def ensure_stored(self, protocol: Protocol) -> Path | None:
        """The file of the default scores, made anew where it is stale; None where the directory is only for reading."""
        settings, variant = self.scoring_settings(protocol, None)
        state = measure_panel(self._judges(protocol))
        for attempt in range(2):
            header = self.dir.score_header(protocol, variant)
            if header is not None and (header.judges, header.values) == (
                state,
                msgspec.to_builtins(settings),
            ):
                return self.dir.score_file(protocol, variant)
            if not attempt:
                self.scores(protocol)
        return None

    def _find_stopped(self, records: Iterable[Record]) -> dict[str, StoppedOrder]:
        """By task, what was asked and whose turn had come, where a run stopped early."""
        stopping = read_stopping(self.dir)
        if stopping is None:
            return {}
        answered: dict[str, list[str]] = {task: [] for task in self.manifest.tasks}
        for record in records:
            answered.setdefault(record.task, []).append(record.id)
        orders = {task: find_stopped_order(stopping, task, ids) for task, ids in answered.items()}
        facets: dict[str, dict[str, Mapping[str, str]]] = {task: {} for task in orders}
        for sample in self.dir.samples() if any(orders.values()) else ():
            facets[sample.task][sample.id] = sample.facets
        return {
            task: msgspec.structs.replace(order, facets=facets[task])
            for task, order in orders.items()
            if order is not None
        }

    def _check_scorable(self) -> tuple[str, ...]:
        """The tasks that can be scored on this machine; the others cost a warning, or an error where none is left."""
        lacking = {task: registry.get_by_task(task).explain_unscorable(task) for task in self.manifest.tasks}
        reasons = {task: reason for task, reason in lacking.items() if reason}
        for task, reason in reasons.items():
            if len(reasons) == len(lacking):
                raise DataError(f"{task} cannot be scored here. {reason}")
            if (self.dir.path, task) not in _REPORTED:
                _REPORTED.add((self.dir.path, task))
                logger.warning("%s is answered but not scored, so it is not shown. %s", task, reason)
        return tuple(task for task in lacking if task not in reasons)

    def _recipe_scoring(self, task: str, protocol: Protocol) -> Mapping[str, Any]:
        """The scoring rule of the row whose recipe the run was made by; `strict` has one rule for all."""
        name = self.manifest.recipe
        if not name or protocol != "paper":
            return {}
        return find_recipe(task.partition("/")[0], name).scoring

    def scoring_settings(
        self, protocol: Protocol, values: Mapping[str, Any] | None
    ) -> tuple[dict[str, dict[str, Any]], str]:
        """The scoring settings of each task, and a short name for them where they are not the default."""
        benchmarks = {task: registry.get_by_task(task) for task in self.manifest.tasks}
        known = {name for benchmark in benchmarks.values() for name in benchmark.settings}
        unknown = [name for name in values or () if name not in known]
        if unknown:
            owners = ", ".join(dict.fromkeys(benchmark.name for benchmark in benchmarks.values()))
            raise unknown_name_error(f"scoring setting of {owners}", unknown[0], known)
        default = {
            task: merge_scoring_values(benchmark, self._recipe_scoring(task, protocol))
            for task, benchmark in benchmarks.items()
        }
        settings = {
            task: merge_scoring_values(
                benchmark,
                {**default[task], **{n: v for n, v in (values or {}).items() if n in benchmark.settings}},
            )
            for task, benchmark in benchmarks.items()
        }
        return settings, "" if settings == default else digest(settings)[:8]

    def _judges(self, protocol: Protocol) -> list[Judgements]:
        """The judges that count, where any task needs one. To have none is an error, not another metric."""
        judged = [task for task in self.manifest.tasks if registry.get_by_task(task).task(task).judged]
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
        benchmark = registry.get_by_task(task)
        rows = _join_records(task, samples, records)
        if not benchmark.task(task).judged:
            settings = ScoreSettings(protocol=protocol, style=self.manifest.style, values=values)
            return {score.key: score for score in score_rows(benchmark, rows, settings)}
        scores: dict[str, Score] = {}
        readable: list[tuple[Sample, Record]] = []
        for sample, record, key in rows:
            verdict = score_unreadable(key, sample, record, protocol, judged=True)
            if verdict is not None:
                scores[key] = verdict
            elif record is not None:
                readable.append((sample, record))
                scores[key] = Score(key=key, task=task, id=sample.id)
        root = Path(self.manifest.roots.get(task, ""))
        for score in score_verdicts(benchmark, readable, judges, protocol, root, self.dir.path):
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
        tasks: Sequence[str] | None = None,
    ) -> list[ScoredRun]:
        parts = {
            task: tuple((s, r, scores[key]) for s, r, key in _join_records(task, samples, records))
            for task in (self.manifest.tasks if tasks is None else tasks)
        }
        return [self._scored_run(task, protocol, rows, values, judges) for task, rows in parts.items()]

    def _score_large(
        self, protocol: Protocol, settings: Mapping[str, Any], variant: str, *, stored: bool
    ) -> dict[str, StoredRows]:
        """The rows of each task that can be scored, with stored scores or new ones."""
        from vivant.runs.stored_rows import RowIndex

        tasks = self.manifest.tasks if stored else self._check_scorable()
        index = RowIndex(self.dir)
        joined = {task: index.join(task) for task in tasks}
        path = self.dir.score_file(protocol, variant)
        if stored:
            try:
                return {task: rows.with_scores(path) for task, rows in joined.items()}
            except (KeyError, RunError):  # scores of another log, or damaged: as good as none
                return self._score_large(protocol, settings, variant, stored=False)
        scores = (
            score
            for task, rows in joined.items()
            for score in self._score_portions(task, rows, protocol, settings[task])
        )
        with TemporaryDirectory() as folder:
            whole = len(tasks) == len(self.manifest.tasks)
            if not whole or not self.dir.write_scores(protocol, settings, scores, variant=variant):
                path = Path(folder) / "scores.jsonl"
                write_jsonl(path, scores)
            return {task: rows.with_scores(path) for task, rows in joined.items()}

    def _score_portions(
        self, task: str, rows: Iterable[Joined], protocol: Protocol, values: Mapping[str, Any]
    ) -> Iterator[Score]:
        """Scores in the order of the rows, so many at a time; all at once where the benchmark needs it."""
        benchmark = registry.get_by_task(task)
        settings = ScoreSettings(protocol=protocol, style=self.manifest.style, values=values)
        source = iter(rows)
        size = _PORTION if scores_apart(benchmark) else None
        while portion := list(islice(source, size)):
            yield from score_rows(benchmark, portion, settings)

    def _scored_run(
        self,
        task: str,
        protocol: Protocol,
        rows: Sequence[ScoredRow],
        values: Mapping[str, Any],
        judges: list[Judgements],
    ) -> ScoredRun:
        infos = tuple(judgements.info for judgements in judges)
        return ScoredRun(
            run=self.name,
            model=self.manifest.model,
            style=self.manifest.style,
            task=task,
            protocol=protocol,
            rows=rows,
            settings=values.get(task, {}),
            judges=infos if registry.get_by_task(task).task(task).judged else (),
            root=self.manifest.roots.get(task, ""),
            path=str(self.dir.path),
            identity=(self.manifest.run, self.manifest.fingerprint),
        )


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
        if record is not None and score_unreadable(key, sample, record, protocol, judged=True) is None:
            yield sample, record


def _mark_stopped(parts: Iterable[ScoredRun], stopped: Mapping[str, StoppedOrder]) -> list[ScoredRun]:
    return [msgspec.structs.replace(part, stopped=stopped.get(part.task)) for part in parts]


def _is_among(ids: frozenset[str], row: ScoredRow) -> bool:
    return row[0].id in ids


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
