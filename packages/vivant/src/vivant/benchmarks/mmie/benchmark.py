"""MMIE as a benchmark: which tasks there are, and where each stage is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vivant.benchmarks import base, parts
from vivant.benchmarks.mmie import data, prompts, published, rubrics
from vivant.benchmarks.rubric import JudgeAgreement, JudgeContext, JudgeQuestion, Rubric
from vivant.benchmarks.task_options import TaskOption
from vivant.benchmarks.verdict import Verdict
from vivant.core.errors import UsageError
from vivant.core.progress import ProgressCallback
from vivant.core.randomness import sample_ids
from vivant.core.records import Record, Score
from vivant.core.types import Sample, Text

_MOST_CANDIDATES = 64
_TITLES = {
    "sa": "Situational analysis: go on with a story",
    "pbl": "Project-based learning: how to do a thing",
    "msr": "Multi-step reasoning: solve a problem",
    "other": "Items whose category is none of the three: asked, but not judged",
}


class MmieData(parts.DataFolder):
    """The released conversations, or the input of the original's judge."""

    def available(self, benchmark: base.Benchmark, root: Path, tasks: Sequence[str]) -> tuple[str, ...]:
        """The categories in the data, and `other` where items have none of them: nothing is lost."""
        categories = {
            data.classify_item(item).lower() for item in data.list_items(root, benchmark.options["file"])
        }
        return tuple(task for task in (*tasks, "other") if task in categories)

    def check(
        self,
        benchmark: base.Benchmark,
        root: Path,
        progress: ProgressCallback | None = None,  # noqa: ARG002
    ) -> base.DataReport:
        """Unpack the pictures, read all items, open all pictures."""
        from vivant.benchmarks.mmie.check import check

        return check(root, benchmark.options["file"])


class MmieJudged(parts.JudgedTasks):
    """Scores from 0 to 6 by six criteria."""

    def rubrics(self, protocol: base.Protocol) -> tuple[Rubric, ...]:  # noqa: ARG002
        """One per category."""
        return tuple(rubrics.BY_TASK.values())

    def ask(self, sample: Sample, record: Record, context: JudgeContext) -> JudgeQuestion | Score:
        """As published, cuts included; or in full."""
        from vivant.benchmarks.mmie.judge_input import build_judge_question

        return build_judge_question(sample, record, context)

    def read(self, text: str, rubric: Rubric, protocol: base.Protocol) -> Verdict:
        """As published, or by the contract."""
        from vivant.benchmarks.mmie.judge_input import read_verdict

        return read_verdict(text, rubric, protocol)

    def agreement(self) -> Sequence[JudgeAgreement]:
        """The paper's judge and two others against people."""
        return published.list_judge_agreement()


class MmieFormats(parts.NativeFormats):
    """`eval_input`: what the original's judge reads. `eval_result`: what it writes."""

    exports = ("eval_input", "eval_result")

    def read_answers(self, benchmark: base.Benchmark, root: Path) -> dict[str, list[base.Imported]]:
        """`data.json` with answers."""
        return data.read_answers(root, benchmark.options["file"])

    def export(self, parts: Sequence[base.ScoredRun], kind: str, out: Path) -> list[Path]:
        from vivant.benchmarks.mmie.export import export

        return export(parts, kind, out)


class MmieTables(parts.OwnTables):
    """The leaderboard's table, fields and judges."""

    module = "vivant.benchmarks.mmie.tables"
    layouts: ClassVar[Mapping[str, str]] = {
        "main": "SA, PBL, MSR and all, in percent and from 0 to 6, beside the leaderboard",
        "fields": "Per field",
        "judges": "Each judge: means, spread, what could not be read; published agreement with people",
    }


class MMIE(base.Benchmark):
    """Interleaved comprehension and generation in twelve fields."""

    name = "mmie"
    title = "MMIE"
    summary = "answers in text and pictures to interleaved questions, scored 0–6 by a judge"
    tasks = tuple(
        base.TaskInfo(name=name, title=title, metric="judge", judged=True) for name, title in _TITLES.items()
    )
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {"": ("sa", "pbl", "msr")}
    styles = prompts.STYLES
    illustrated_style = "described"
    facets = ("category", "field", "form", "pictures")
    protocols = ("paper", "strict")
    unparsed_value = None
    """A verdict that cannot be read is the judge's failure, so it stays out of the mean, as published."""
    prompt_texts = prompts.PROMPT_TEXTS
    task_options = (
        TaskOption(name="file", default="", help="The file to read, where a folder holds several."),
    )
    data = MmieData(
        help="MMIE/MMIE from the Hugging Face hub (gated): JSON, JSON lines or Parquet, and images.tar.gz in one "
        "folder (overview.json alone is only an example); or the input of the original's judge: data.json and images/."
    )
    judged = MmieJudged()
    native = MmieFormats()
    published = parts.PublishedResults("vivant.benchmarks.mmie.published")
    tables = MmieTables()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._candidates: tuple[Sequence[Sample], tuple[str, ...]] = ((), ())

    def load(self, root: Path, task: str) -> list[Sample]:
        """From the released conversations, or from the input of the original's judge."""
        return data.load(root, task, self.options["file"])

    def prompt(self, sample: Sample, context: base.PromptContext) -> base.Prompt:
        """The interleaved question, and what the answer may hold."""
        return prompts.build_prompt(sample, context, self._references(context))

    def _references(self, context: base.PromptContext) -> tuple[str, ...]:
        """Texts that a guesser may answer with: references of the same task, at most 64 of them."""
        if self._candidates[0] is not context.pool:
            texts = {
                " ".join(p.text for p in s.reference if isinstance(p, Text)).strip() for s in context.pool
            }
            chosen = sample_ids(sorted(texts - {""}), _MOST_CANDIDATES, context.seed, "mmie candidates")
            self._candidates = (context.pool, tuple(chosen))
        return self._candidates[1]

    def score(self, items: Sequence[tuple[Sample, Record]], settings: base.ScoreSettings) -> list[Score]:  # noqa: ARG002
        """There is no scoring without a judge."""
        raise UsageError("mmie is scored by a judge: vivant score RUN --judge openai/NAME")
