"""A run, finished or not, as an object: samples, records, scores. `vivant.load_run(path)` gives one."""

from __future__ import annotations

import html
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Protocol, ScoredRun, ScoreSettings
from vivant.benchmarks.recipes import find_recipe
from vivant.benchmarks.validation import score_records, scores_apart
from vivant.core.arguments import as_strings
from vivant.core.data_frames import require_library
from vivant.core.errors import DataError, UsageError, VivantError, unknown_name_error
from vivant.core.files import read_jsonl, write_jsonl
from vivant.core.table import Table
from vivant.core.types import Record, Sample, Score, job_key
from vivant.metrics.text import strip_thinking
from vivant.runs.directory import Manifest, RunDir, RunError
from vivant.runs.judge_scores import score_verdicts
from vivant.runs.judgements import Judgements, measure_panel, read_panel
from vivant.runs.run_frame import list_columns
from vivant.runs.run_samples import RunSamples
from vivant.runs.settings import digest

if TYPE_CHECKING:
    import pandas
    import polars

    from vivant.runs.stored_rows import Joined, ScoredRow, StoredRows

logger = logging.getLogger("vivant")
_REPORTED: set[tuple[Path, str]] = set()
"""Tasks that this process said it cannot score, so that it says so once."""
_PORTION = 5_000
"""So many records of a large run are scored at a time."""


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

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.dir.path

    @cached_property
    def samples(self) -> RunSamples:
        """The samples with their replies and scores, by number or by id; read when the first is asked for."""
        return RunSamples(self)

    def records(self) -> dict[str, Record]:
        """All records by key."""
        return self.dir.records()

    def scores(
        self, protocol: Protocol | None = None, values: Mapping[str, Any] | None = None, *, anew: bool = False
    ) -> list[ScoredRun]:
        """Scores per task. Stored ones are used where they are fresh and were made with these settings.

        Args:
            protocol: `paper` or `strict`. None takes the first that the run's benchmarks have.
            values: Scoring settings other than the defaults. Their scores are kept beside the default ones.
            anew: Score again even where stored scores are fresh.
        """
        protocol = common_protocol([self], protocol)
        settings, variant = self._scoring_settings(protocol, values)
        judges = self._judges(protocol)
        state = measure_panel(judges)
        header = self.dir.score_header(protocol, variant)
        fresh = header is not None and not anew and header.judges == state
        if not judges and self.dir.is_large():
            usable = fresh and header is not None and header.values == msgspec.to_builtins(settings)
            rows = self._score_large(protocol, settings, variant, stored=usable)
            return [self._scored_run(task, protocol, part, settings, judges) for task, part in rows.items()]
        samples, records = self.dir.samples(), self.records()
        if header is not None and fresh and header.values == msgspec.to_builtins(settings):
            file = self.dir.score_file(protocol, variant)
            stored = {score.key: score for score in read_jsonl(file, Score, RunError)}
            return self._gather(samples, records, stored, protocol, header.values, judges)
        scorable = self._check_scorable()
        scores: dict[str, Score] = {}
        for task in scorable:
            scores.update(self._score_task(task, samples, records, protocol, settings[task], judges))
        if len(scorable) == len(self.manifest.tasks):
            self.dir.write_scores(protocol, settings, scores.values(), state, variant)
        return self._gather(samples, records, scores, protocol, settings, judges, scorable)

    def _check_scorable(self) -> tuple[str, ...]:
        """The tasks that can be scored on this machine; the others cost a warning, or an error where none is left."""
        lacking = {task: registry.of_task(task).explain_unscorable(task) for task in self.manifest.tasks}
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

    def table(
        self,
        by: str | Sequence[str] = (),
        where: str | Sequence[str] = (),
        *,
        protocol: Protocol | None = None,
        values: Mapping[str, Any] | None = None,
        published: bool | Literal["exact"] = False,
        chance_corrected: bool = False,
    ) -> Table:
        """Scores with intervals, n, errors and unparsed replies: one line per task and group.

        Args:
            by: Facets to group by, such as `variant`.
            where: Conditions on samples, as `facet=value`.
            protocol: `paper` or `strict`. None takes the first that the run's benchmarks have.
            values: Scoring settings other than the defaults, such as `{"threshold": 0.75}`.
            published: Add the papers' own figures; `exact` adds rows whose recipe the run was asked by.
            chance_corrected: Add the score with chance as 0.
        """
        from vivant.runs.overview import build_overview

        return build_overview(
            [self],
            protocol,
            as_strings(by),
            as_strings(where),
            published,
            chance_corrected=chance_corrected,
            values=values,
        )

    def to_pandas(
        self, protocol: Protocol | None = None, values: Mapping[str, Any] | None = None
    ) -> pandas.DataFrame:
        """One row per reply, with its score, tokens, seconds and the facets of its sample."""
        library = require_library("pandas")
        frame: pandas.DataFrame = library.DataFrame(list_columns(self.scores(protocol, values)))
        return frame

    def to_polars(
        self, protocol: Protocol | None = None, values: Mapping[str, Any] | None = None
    ) -> polars.DataFrame:
        """One row per reply, with its score, tokens, seconds and the facets of its sample."""
        library = require_library("polars")
        frame: polars.DataFrame = library.DataFrame(
            list_columns(self.scores(protocol, values)), strict=False, infer_schema_length=None
        )
        return frame

    def __repr__(self) -> str:
        return f"<Run {self.dir.path}: {self._describe()}>"

    def _describe(self) -> str:
        settings = self.manifest.settings
        words = (
            self.model,
            ", ".join(self.manifest.tasks),
            self.manifest.style,
            *settings.list_distinctions(),
        )
        done, planned = self.dir.count_records(), sum(self.manifest.planned.values()) * settings.repeat
        samples = f"{done} replies" if settings.permute != 1 else f"{done} of {planned} replies"
        return " · ".join((*words, samples))

    def _repr_html_(self) -> str:
        from vivant.core.table_html import to_html

        head = f"<div><b>{html.escape(self.name)}</b> {html.escape(self._describe())}</div>"
        try:
            return head + to_html(self.table())
        except VivantError as error:
            return f"{head}<div>{html.escape(str(error))}</div>"

    def score_file(self, protocol: Protocol | None = None, values: Mapping[str, Any] | None = None) -> Path:
        """Where the scores of a protocol are stored; those with other settings have a file of their own."""
        name = common_protocol([self], protocol)
        return self.dir.score_file(name, self._scoring_settings(name, values)[1])

    def _scoring_settings(
        self, protocol: Protocol, values: Mapping[str, Any] | None
    ) -> tuple[dict[str, dict[str, Any]], str]:
        """The scoring settings of each task, and a short name for them where they are not the default."""
        benchmarks = {task: registry.of_task(task) for task in self.manifest.tasks}
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
            except KeyError:  # scores of another log: as good as none
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
        benchmark = registry.of_task(task)
        settings = ScoreSettings(protocol=protocol, style=self.manifest.style, values=values)
        source = iter(rows)
        size = _PORTION if scores_apart(benchmark) else None
        while portion := list(islice(source, size)):
            scores = {key: _score_unreadable(key, s, r, protocol, judged=False) for s, r, key in portion}
            readable = [(s, r) for s, r, key in portion if r is not None and scores[key] is None]
            for score in score_records(benchmark, readable, settings):
                scores[score.key] = score
            yield from (score for score in scores.values() if score is not None)

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


def load_run(path: str | Path) -> Run:
    """A run by its directory.

    Args:
        path: The run directory.
    """
    return Run(path)


RunLike = Run | str | Path
"""A run, its directory, or a folder of runs."""


def load_runs(runs: RunLike | Sequence[RunLike]) -> list[Run]:
    """Runs by their directories. Folders of runs are searched; what holds no run is named and left out.

    Args:
        runs: Runs, run directories or folders of them, one or several.

    Raises:
        RunError: where a path does not exist, or no run is found at all.
    """
    items = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    loaded: dict[Path, Run] = {}
    strangers: list[str] = []
    for item in items:
        if isinstance(item, Run):
            loaded.setdefault(item.dir.path.resolve(), item)
            continue
        folders = find_run_folders(Path(item))
        if not folders:
            strangers.append(str(item))
        for folder in folders:
            loaded.setdefault(folder.resolve(), Run(folder))
    if not loaded:
        if len(strangers) == 1:
            Run(strangers[0])  # says why it is none
        raise RunError(f"None of these is a run, or holds one: {', '.join(strangers) or 'nothing was named'}")
    if strangers:
        logger.info("Skipped, no run: %s", ", ".join(strangers))
    return list(loaded.values())


def find_run_folders(path: Path) -> list[Path]:
    """The folder itself where it is a run, else the runs in it, up to three folders down."""
    if (path / "manifest.json").exists() or (path / "log.jsonl").exists():
        return [path]
    if not path.exists():
        raise RunError(f"No run at {path}: no such directory")
    return _find_below(path, 3) if path.is_dir() else []


def _find_below(path: Path, depth: int) -> list[Path]:
    folders: list[Path] = []
    for folder in sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith(".")):
        if (folder / "manifest.json").exists() and (folder / "samples.jsonl").exists():
            folders.append(folder)
        elif depth > 1:
            folders += _find_below(folder, depth - 1)
    return folders


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
        return Score(key=key, task=sample.task, id=sample.id, status="truncated", rule="ended in thoughts")
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


__all__ = ["Run", "RunError", "load_run", "load_runs", "merge_scoring_values"]
