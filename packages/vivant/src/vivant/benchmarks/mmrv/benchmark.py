"""MMR-V as a benchmark: which tasks there are, and where each stage is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks import base, parts
from vivant.benchmarks.label_scheme import Scheme
from vivant.benchmarks.mmrv import data, native, prompts, score, tables
from vivant.benchmarks.mmrv.kinds import KINDS
from vivant.benchmarks.task_options import TaskOption
from vivant.core.progress import ProgressCallback
from vivant.core.records import Record, Score
from vivant.core.types import Sample


class MmrvData(parts.DataFolder):
    """One file of questions with videos/ beside it."""

    def check(
        self,
        benchmark: base.Benchmark,  # noqa: ARG002
        root: Path,
        progress: ProgressCallback | None = None,
    ) -> base.DataReport:
        from vivant.benchmarks.mmrv.check import check  # late: it opens videos

        return check(root, progress)


class MmrvFormats(parts.NativeFormats):
    """The original's results file."""

    exports = ("mmrv-raw",)

    def read_predictions(self, file: Path, samples: Sequence[Sample], task: str) -> base.Imported | None:
        return native.read_results(file, samples, task)

    def export(self, parts: Sequence[base.ScoredRun], kind: str, out: Path) -> list[Path]:
        if kind not in self.exports:
            return super().export(parts, kind, out)
        return [path for part in parts for path in native.write_results(part, out)]


class MmrvPublished(parts.PublishedResults):
    """The paper's tables."""

    def frame_curves(self) -> Mapping[str, Sequence[tuple[float, float]]]:
        return tables.list_frame_curves()


class MmrvTables(parts.OwnTables):
    """The paper's tables, filled with runs."""

    module = "vivant.benchmarks.mmrv.tables"
    layouts: ClassVar[Mapping[str, str]] = tables.LAYOUTS
    figures = (
        base.Figure(name="abilities", title="Abilities", facets=("ability",)),
        base.Figure(name="types", title="Types of video", facets=("type",)),
    )


class MMRV(base.Benchmark):
    """Questions about long videos whose answer lies far from the frame that the question names."""

    name = "mmrv"
    title = "MMR-V"
    summary = "Deep reasoning over long videos: implicit and explicit, seven to twelve options a question."
    tasks = (base.TaskInfo(name="mcq", title="Multiple choice"),)
    styles = prompts.STYLES
    facets = ("type", "l1", "l2", "ability", "l3", "video", "n_options")
    protocols = ("paper", "strict")
    scores_apart = True
    settings: ClassVar[Mapping[str, Any]] = score.SETTINGS
    prompt_texts = prompts.PROMPT_TEXTS
    task_options = (
        TaskOption(
            name="order",
            default="text-first",
            choices=("text-first", "media-first"),
            help="What the model meets first: the text or the video.",
        ),
    )
    answer_kinds: ClassVar[Mapping[str, Scheme]] = {"mcq": KINDS}
    data = MmrvData(
        help="MMR-V is read from its JSON, JSON Lines or Parquet file with videos/ beside it: download "
        "JokerJan/MMR-VBench from Hugging Face, then `vivant data check mmrv` unpacks videos.tar.part.* "
        "(docs/mmrv.md)."
    )
    native = MmrvFormats()
    published = MmrvPublished("vivant.benchmarks.mmrv.published")
    tables = MmrvTables()

    def load(self, root: Path, task: str) -> list[Sample]:
        self.task(task)
        return data.load(root)

    def prompt(self, sample: Sample, context: base.PromptContext) -> base.Prompt:
        return prompts.build_prompt(sample, context, media_first=self.options["order"] == "media-first")

    def score(self, items: Sequence[tuple[Sample, Record]], settings: base.ScoreSettings) -> list[Score]:
        return score.score_records(items, settings)
