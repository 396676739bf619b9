"""MMR-V as a benchmark: which tasks there are, and where each stage is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from vivant.benchmarks.base import (
    Benchmark,
    DataReport,
    Figure,
    Imported,
    Prompt,
    PromptContext,
    Protocol,
    Published,
    ScoredRun,
    ScoreSettings,
    TaskInfo,
)
from vivant.benchmarks.label_scheme import Scheme
from vivant.benchmarks.mmrv import data, native, prompts, published, score, tables
from vivant.benchmarks.mmrv.kinds import KINDS
from vivant.benchmarks.parts import DataFolder, NativeFormats, OwnTables, PublishedResults
from vivant.core.progress import ProgressCallback
from vivant.core.table import Table
from vivant.core.types import Record, Sample, Score


class MmrvData(DataFolder):
    """One file of questions with videos/ beside it."""

    def check(
        self,
        benchmark: Benchmark,  # noqa: ARG002
        root: Path,
        progress: ProgressCallback | None = None,
    ) -> DataReport:
        from vivant.benchmarks.mmrv.check import check  # late: it opens videos

        return check(root, progress)


class MmrvFormats(NativeFormats):
    """The original's results file."""

    exports = ("mmrv-raw",)

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> Imported | None:
        return native.read_results(file, samples, task)

    def export(self, parts: Sequence[ScoredRun], kind: str, out: Path) -> list[Path]:
        if kind not in self.exports:
            return super().export(parts, kind, out)
        return [path for part in parts for path in native.write_results(part, out)]


class MmrvPublished(PublishedResults):
    """The paper's tables."""

    def rows(self) -> Sequence[Published]:
        return list(published.rows())

    def frame_curves(self) -> Mapping[str, Sequence[tuple[float, float]]]:
        return tables.published_curve()


class MmrvTables(OwnTables):
    """The paper's tables, filled with runs."""

    layouts: ClassVar[Mapping[str, str]] = tables.LAYOUTS
    figures = (
        Figure(name="abilities", title="Abilities", facets=("ability",)),
        Figure(name="types", title="Types of video", facets=("type",)),
    )

    def build(self, benchmark: Benchmark, name: str, runs: Sequence[ScoredRun], protocol: Protocol) -> Table:
        return tables.layout(name, runs, protocol, benchmark)


class MMRV(Benchmark):
    """Questions about long videos whose answer lies far from the frame that the question names."""

    name = "mmrv"
    title = "MMR-V"
    summary = "Deep reasoning over long videos: implicit and explicit, seven to twelve options a question."
    tasks = (TaskInfo(name="mcq", title="Multiple choice"),)
    styles = prompts.STYLES
    facets = ("type", "l1", "l2", "ability", "l3", "video", "n_options")
    protocols = ("paper", "strict")
    answer_kinds: ClassVar[Mapping[str, Scheme]] = {"mcq": KINDS}
    data = MmrvData(
        help="MMR-V is read from its JSON, JSON Lines or Parquet file with videos/ beside it: download "
        "JokerJan/MMR-VBench from Hugging Face, then `vivant data check mmrv` unpacks videos.tar.part.* "
        "(docs/mmrv.md)."
    )
    native = MmrvFormats()
    published = MmrvPublished()
    tables = MmrvTables()

    def load(self, root: Path, task: str) -> list[Sample]:
        self.task(task)
        return data.load(root)

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        return prompts.phrase(sample, context)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        return score.score(items, settings)
