"""MMR-V as a benchmark: the four stages, wired."""

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
from vivant.core.errors import unknown_name_error
from vivant.core.progress import ProgressCallback
from vivant.core.table import Table
from vivant.core.types import Record, Sample, Score


class MMRV(Benchmark):
    """Questions about long videos whose answer lies far from the frame that the question names."""

    name = "mmrv"
    title = "MMR-V"
    summary = "Deep reasoning over long videos: implicit and explicit, seven to twelve options a question."
    tasks = (TaskInfo(name="mcq", title="Multiple choice"),)
    styles = prompts.STYLES
    figures = (
        Figure(name="abilities", title="Abilities", facets=("ability",)),
        Figure(name="types", title="Types of video", facets=("type",)),
    )
    facets = ("type", "l1", "l2", "ability", "l3", "video", "n_options")
    layouts: ClassVar[Mapping[str, str]] = tables.LAYOUTS
    exports = ("mmrv-raw",)
    data_help = (
        "MMR-V is read from its JSON, JSON Lines or Parquet file with videos/ beside it: download "
        "JokerJan/MMR-VBench from Hugging Face, then `vivant data check mmrv` unpacks videos.tar.part.* "
        "(docs/mmrv.md)."
    )

    def load(self, root: Path, task: str) -> list[Sample]:
        self.task(task)
        return data.load(root)

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        return prompts.phrase(sample, context)

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:
        return score.score(items, settings)

    def check(self, root: Path, progress: ProgressCallback | None = None) -> DataReport:
        from vivant.benchmarks.mmrv.check import check  # late: it opens videos

        return check(root, progress)

    def frame_curves(self) -> Mapping[str, Sequence[tuple[float, float]]]:
        return tables.published_curve()

    def published(self) -> Sequence[Published]:
        return list(published.rows())

    def answer_kinds(self, task: str) -> Scheme | None:
        return KINDS if self.task(task).name == "mcq" else None

    def layout(self, name: str, runs: Sequence[ScoredRun], protocol: Protocol) -> Table:
        return tables.layout(name, runs, protocol, self)

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> Imported | None:
        return native.read_results(file, samples, f"mmrv/{self.task(task).name}")

    def export(self, run: ScoredRun, kind: str, out: Path) -> list[Path]:
        if kind not in self.exports:
            raise unknown_name_error("export format of mmrv", kind, self.exports)
        return native.write_results(run, out)
