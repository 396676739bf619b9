"""The optional parts of a benchmark. Each is an object with defaults that mean "there is none".

A benchmark sets the parts that it has as class attributes, e.g. `native = MimeFormats()`. Methods that depend on the
benchmark's options or tasks receive the benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from vivant.benchmarks.rubric import JudgeAgreement, JudgeContext, JudgeQuestion, Rubric
from vivant.benchmarks.verdict import Verdict
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.progress import ProgressCallback
from vivant.core.records import Record, Score
from vivant.core.types import Sample

if TYPE_CHECKING:
    from vivant.benchmarks.base import Benchmark, DataReport, Figure, Imported, Protocol, Published, ScoredRun
    from vivant.core.table import Table


class DataFolder:
    """Where a benchmark's data lie and whether they are complete."""

    def __init__(self, help: str = "") -> None:  # noqa: A002
        self.help = help
        """Which files are read and where they come from. Shown where they are not found."""

    @property
    def default_root(self) -> Path | None:
        """The folder that is read where the user names none and the usual one does not exist."""
        return None

    def media_root(self, root: Path) -> Path:
        """The folder that media paths in samples are relative to."""
        return root if root.is_dir() else root.parent

    def available(self, benchmark: Benchmark, root: Path, tasks: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Those of `tasks` whose data are in `root`, for benchmarks that people hold in part."""
        return tuple(tasks)

    def check(
        self,
        benchmark: Benchmark,  # noqa: ARG002
        root: Path,  # noqa: ARG002
        progress: ProgressCallback | None = None,  # noqa: ARG002
    ) -> DataReport | None:
        """Read everything in `root` and say what is there and what is wrong; None where there is no check."""
        return None


class CheckedFolder(DataFolder):
    """A folder whose check needs nothing but its path."""

    checker: ClassVar[str]
    """The module whose `check(root)` reads everything."""

    def check(
        self,
        benchmark: Benchmark,  # noqa: ARG002
        root: Path,
        progress: ProgressCallback | None = None,  # noqa: ARG002
    ) -> DataReport:
        report: DataReport = import_module(self.checker).check(root)
        return report


class JudgedTasks:
    """What a judge is asked about the answers to tasks with `TaskInfo.judged`, and how its reply is read."""

    def rubrics(self, protocol: Protocol) -> tuple[Rubric, ...]:  # noqa: ARG002
        """All rubrics that `ask` may use. They are part of the judge's fingerprint."""
        return ()

    def ask(self, sample: Sample, record: Record, context: JudgeContext) -> JudgeQuestion | Score:  # noqa: ARG002
        """What a judge is asked about one answer; a Score where there is nothing to ask."""
        raise UsageError(f"{sample.task} is not scored by judges")

    def read(self, text: str, rubric: Rubric, protocol: Protocol) -> Verdict:  # noqa: ARG002
        """Read a judge's reply. The rubric's contract decides unless a protocol reads otherwise."""
        return rubric.contract.read(text)

    def value(self, verdict: Verdict, rubric: Rubric) -> float:
        """A verdict as `Score.value`: its first figure, from 0 at the bottom of its scale to 1 at the top."""
        first = rubric.contract.fields[0]
        value = verdict.values[first.name]
        if isinstance(value, str):
            return first.choices.index(value) / max(1, len(first.choices) - 1)
        return (value - first.low) / (first.high - first.low)

    def agreement(self) -> Sequence[JudgeAgreement]:
        """Published figures of judges against people."""
        return ()


class NativeFormats:
    """Files in the forms that the benchmark's own project reads and writes."""

    exports: ClassVar[tuple[str, ...]] = ()
    """Formats that `export` writes."""

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> Imported | None:  # noqa: ARG002
        """Read a prediction file in one of the native formats; None where it is not one."""
        return None

    def find_predictions(self, benchmark: Benchmark, folder: Path) -> dict[str, dict[str, Path]]:
        """The prediction files in a folder as the original's scripts leave it: by model, then by task."""
        raise UsageError(f"{benchmark.name}: name one prediction file and its task; {folder} is a folder")

    def read_human(self, benchmark: Benchmark, root: Path, task: str) -> Imported | None:  # noqa: ARG002
        """Read people's answers, where the data hold them."""
        return None

    def read_answers(self, benchmark: Benchmark, root: Path) -> dict[str, list[Imported]]:  # noqa: ARG002
        """Read prepared answers (`--answers`), by model: one part per task."""
        raise UsageError(f"{benchmark.name} reads no prepared answers; see `vivant import`")

    def export(self, parts: Sequence[ScoredRun], kind: str, out: Path) -> list[Path]:  # noqa: ARG002
        """Write all tasks of a run in one of `exports` and return the files written."""
        raise UsageError(f"There is no export format '{kind}'; known: {', '.join(self.exports) or 'none'}")


class PublishedResults:
    """Figures from the paper or a leaderboard, shown beside measured ones."""

    _keep: Callable[[str, str], bool] | None = None

    def __init__(self, module: str = "") -> None:
        self._module = module
        """The module whose `list_published()` returns them."""

    def rows(self) -> Sequence[Published]:
        """All published figures that are to be shown."""
        figures = import_module(self._module).list_published() if self._module else ()
        return tuple(figure for figure in figures if self.shows(figure.model, figure.style))

    def shows(self, model: str, style: str = "") -> bool:
        """Whether a table is to show a row; without a style, any row of the model."""
        return self._keep is None or self._keep(model, style)

    def select(self, keep: Callable[[str, str], bool]) -> PublishedResults:
        """The same figures, with those rows alone that `keep` wants, by model and style."""
        selected = copy(self)
        selected._keep = keep
        return selected

    def frame_curves(self) -> Mapping[str, Sequence[tuple[float, float]]]:
        """Published scores against the number of frames, by model, for sweeps."""
        return {}


class OwnTables:
    """Tables and figures that the benchmark's readers expect."""

    layouts: ClassVar[Mapping[str, str]] = {}
    """Tables by short name (`1`, `failures`), with a title each."""
    module: ClassVar[str] = ""
    """The module with a function `build_NAME_table(runs, protocol, benchmark)` for each layout."""
    figures: ClassVar[tuple[Figure, ...]] = ()
    scatters: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Layouts that are also drawn with a point per line: the columns across and up."""

    def build(self, benchmark: Benchmark, name: str, runs: Sequence[ScoredRun], protocol: Protocol) -> Table:
        """Build one of `layouts`."""
        if name not in self.layouts or not self.module:
            raise unknown_name_error(f"table of {benchmark.name}", name, self.layouts)
        table: Table = getattr(import_module(self.module), f"build_{name}_table")(runs, protocol, benchmark)
        return table
