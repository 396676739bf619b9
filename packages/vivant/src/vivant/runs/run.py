"""A run, finished or not, as an object: samples, records, scores. `vivant.load_run(path)` gives one."""

from __future__ import annotations

import html
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol, ScoredRun
from vivant.core.arguments import as_strings
from vivant.core.data_frames import require_library
from vivant.core.errors import VivantError
from vivant.core.records import Record
from vivant.core.table import Table
from vivant.runs.directory import Manifest, RunDir, RunError
from vivant.runs.run_frame import list_columns
from vivant.runs.run_samples import RunSamples
from vivant.runs.run_scoring import RunScoring

if TYPE_CHECKING:
    import pandas
    import polars


logger = logging.getLogger("vivant")


class Run:
    """Everything is read from disk when it is asked for, and scores are derived from the log."""

    def __init__(self, path: str | Path, name: str = "") -> None:
        self.dir = RunDir(Path(path))
        self.manifest: Manifest = self.dir.manifest()
        self.name = name or self.dir.path.resolve().name
        """The directory's name; among runs that were loaded together, with folders above where others have it too."""

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

    @cached_property
    def _scoring(self) -> RunScoring:
        return RunScoring(self.dir, self.manifest, self.name)

    def scores(
        self, protocol: Protocol | None = None, values: Mapping[str, Any] | None = None, *, anew: bool = False
    ) -> list[ScoredRun]:
        """Scores per task. Stored ones are used where they are fresh and were made with these settings.

        Args:
            protocol: `paper` or `strict`. None takes the first that the run's benchmarks have.
            values: Scoring settings other than the defaults. Their scores are kept beside the default ones.
            anew: Score again even where stored scores are fresh.
        """
        return self._scoring.scores(choose_common_protocol([self], protocol), values, anew=anew)

    def ensure_stored(self, protocol: Protocol) -> Path | None:
        """The file of the default scores, made anew where it is stale; None where the directory is only for reading."""
        return self._scoring.ensure_stored(protocol)

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
        name = choose_common_protocol([self], protocol)
        return self.dir.score_file(name, self._scoring.scoring_settings(name, values)[1])

    def default_scoring(self, protocol: Protocol) -> dict[str, dict[str, Any]]:
        """The scoring settings of each task where the user names none: the benchmark's, and its recipe's."""
        return self._scoring.scoring_settings(protocol, None)[0]


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
    names = _tell_apart(list(loaded))
    return [
        run if run.name == names[path] else Run(run.dir.path, names[path]) for path, run in loaded.items()
    ]


def _tell_apart(paths: Sequence[Path]) -> dict[Path, str]:
    """Names of directories; those that have the same one, with as many of the folders above as tell them apart."""
    names = {path: path.name for path in paths}
    length = 1
    while len(counts := Counter(names.values())) < len(names):
        length += 1
        names |= {path: "/".join(path.parts[-length:]) for path in paths if counts[names[path]] > 1}
    return names


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


def choose_common_protocol(runs: Iterable[Run], requested: Protocol | None = None) -> Protocol:
    """The protocol to score these runs by: the one asked for, else the first that all their benchmarks have."""
    return registry.choose_protocol([task for run in runs for task in run.manifest.tasks], requested)


__all__ = ["Run", "RunError", "load_run", "load_runs"]
