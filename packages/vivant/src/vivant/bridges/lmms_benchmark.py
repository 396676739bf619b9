"""Tasks of an installed lmms-eval as a benchmark: `vivant run lmms:mmmu_val`.

The task's own code makes the prompts and the scores; the engine, the log and the statistics are ours. A sample's id is
its row, as in lmms-eval's logs, so that runs of both can be compared. Media are files in the cache folder.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from vivant.benchmarks.base import Benchmark, Prompt, PromptContext, ScoreSettings, TaskInfo
from vivant.benchmarks.parts import DataFolder, OwnTables
from vivant.benchmarks.task_options import MISSING_MEDIA, TaskOption
from vivant.bridges.imported_results import RESULTS, score_imported
from vivant.bridges.lmms_index import expand_entry, find_entry, list_entries
from vivant.bridges.lmms_media import MediaFolder, open_pictures
from vivant.bridges.lmms_task import LmmsTask, TaskSource, read_target, recall_source, remember_source
from vivant.core.errors import UsageError
from vivant.core.paths import cache_root
from vivant.core.records import Record, Score
from vivant.core.types import Audio, Image, Message, Part, Sample, Text, Video

logger = logging.getLogger("vivant")
_LONGEST_FACET = 60
_MOST_FACET_VALUES = 60
_tasks: dict[tuple[Any, ...], LmmsTask] = {}
"""Tasks that this process has built: loading one takes seconds, and scoring follows asking."""


class LmmsData(DataFolder):
    """Media lie where the task's videos are, or in the cache folder."""

    def __init__(self) -> None:
        super().__init__("The dataset is read from the hub's cache; --data names a local copy of it.")
        self.media = cache_root() / "lmms"

    @property
    def default_root(self) -> Path | None:
        """No folder need be named."""
        return cache_root() / "lmms"

    def media_root(self, root: Path) -> Path:  # noqa: ARG002
        """Known when the task is loaded."""
        return self.media


class LmmsTables(OwnTables):
    """What lmms-eval itself would print."""

    layouts: ClassVar[Mapping[str, str]] = {"metrics": "All metrics by lmms-eval's own aggregation"}
    module: ClassVar[str] = "vivant.bridges.lmms_tables"


class LmmsEval(Benchmark):
    """Every task of the installed lmms-eval. Nothing of it is imported until a task is run or scored."""

    name: ClassVar[str] = "lmms"
    title: ClassVar[str] = "lmms-eval tasks"
    summary: ClassVar[str] = "any task of an installed lmms-eval: vivant run lmms:TASK"
    tasks: ClassVar[tuple[TaskInfo, ...]] = ()
    styles: ClassVar[tuple[str, ...]] = ("chat", "simple", "imported")
    task_options: ClassVar[tuple[TaskOption, ...]] = (
        TaskOption(
            name="download", default=False, kind="bool", help="Let lmms-eval download what is missing."
        ),
        TaskOption(
            name="include", default="", help="A folder with tasks of your own, as lmms-eval's --include_path."
        ),
        TaskOption(
            name="trust-remote-code",
            default=False,
            kind="bool",
            help="Run code of a dataset or of your own tasks; --trust-remote-code sets it.",
        ),
        MISSING_MEDIA,
    )
    tables: ClassVar[OwnTables] = LmmsTables()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.data = LmmsData()  # type: ignore[misc]  # each task has its own media

    @property
    def _include(self) -> Path | None:
        folder = self.options.get("include")
        return Path(folder).expanduser() if folder else None

    def expand(self, selector: str) -> tuple[str, ...]:
        """A task, or the tasks of a group or a tag."""
        if not selector:
            raise UsageError("Name a task of lmms-eval, e.g. lmms:mmmu_val")
        names = expand_entry(selector, self._include)
        for name in names:  # before torch is imported
            self._source(name, None).check()
        return names

    def task(self, name: str) -> TaskInfo:
        """A task with its first metric; without lmms-eval, what can be said of it."""
        short = name.partition("/")[2] or name
        entry = list_entries(self._include).get(short)
        return TaskInfo(
            name=short, title=f"{short} (lmms-eval)", metric=(entry.metric if entry else "") or "score"
        )

    def load(self, root: Path, task: str) -> list[Sample]:
        """All questions of a task."""
        return list(self.iterate(root, task))

    def iterate(self, root: Path, task: str) -> Iterator[Sample]:
        """The questions of a task with their media written to files."""
        short = task.partition("/")[2]
        data = None if root == self.data.default_root else root
        built = self.build(short, data)
        remember_source(built.source)
        reader = _SampleReader(built, task, MediaFolder(cache_root() / "lmms" / short))
        samples = built.call(lambda: list(reader.read_all()))
        self.data.media, samples = _relate(samples, reader.media)  # type: ignore[attr-defined]
        return iter(samples)

    def build(self, short: str, data: Path | None) -> LmmsTask:
        """The task, built once in a process."""
        source = self._source(short, data)
        key = (short, str(data), str(self._include), source.download, source.trust)
        if key not in _tasks:
            logger.info("lmms:%s: building the task with lmms-eval …", short)
            _tasks[key] = LmmsTask(source)
        return _tasks[key]

    def find_built(self, short: str) -> LmmsTask:
        """A task for scoring: the one that was asked in this process, else built again as it was asked last."""
        for key, built in reversed(_tasks.items()):
            if key[0] == short:
                return built
        source = recall_source(short)
        if source is None:
            return self.build(short, None)
        logger.info("lmms:%s: building the task with lmms-eval …", short)
        _tasks[short, "recalled"] = LmmsTask(source)
        return _tasks[short, "recalled"]

    def _source(self, short: str, data: Path | None) -> TaskSource:
        return TaskSource(
            entry=find_entry(short, self._include),
            data=data,
            download=bool(self.options.get("download")),
            trust=bool(self.options.get("trust_remote_code")),
        )

    def prompt(self, sample: Sample, context: PromptContext) -> Prompt:
        """The conversation that lmms-eval gives chat models; `simple` is media first, then the text."""
        messages = sample.extra.get("messages")
        if context.style == "simple" and "simple" in sample.extra:
            parts = msgspec.convert(sample.extra["simple"], tuple[Part, ...])
            conversation: tuple[Message, ...] = (Message("user", parts),)
        elif messages is not None:
            conversation = msgspec.convert(messages, tuple[Message, ...])
        else:
            conversation = (Message("user", sample.question),)
        return Prompt(messages=conversation, max_tokens=sample.extra.get("max_tokens"))

    def score(self, items: Sequence[tuple[Sample, Record]], settings: ScoreSettings) -> list[Score]:  # noqa: ARG002
        """The task's own scores; those of an imported log are the log's."""
        from vivant.bridges.lmms_scoring import score_task

        unscored = [(sample, record) for sample, record in items if RESULTS not in record.extra]
        scores = {record.key: score_imported(record) for _, record in items if RESULTS in record.extra}
        if unscored:
            built = self.find_built(unscored[0][0].task.partition("/")[2])
            scores |= {score.key: score for score in score_task(built, unscored)}
        return [scores[record.key] for _, record in items]


class _SampleReader:
    """Rows of a task's dataset as samples."""

    def __init__(self, built: LmmsTask, task: str, media: MediaFolder) -> None:
        self.built = built
        self.task = task
        self.media = media
        self.docs = built.docs
        self.pictures = _find_pictures(self.docs)
        self.facets = _find_facets(built.scoring_docs)
        settings = built.config.generation_kwargs or {}
        self.max_tokens = settings.get("max_new_tokens")
        self.has_messages = callable(getattr(built.config, "doc_to_messages", None))

    def read_all(self) -> Iterator[Sample]:
        """One sample after another, by row."""
        docs = _without_decoding(self.docs, self.pictures)
        for index in range(len(docs)):
            with self.built.guard_row(index, docs.column_names):
                sample = self.read(index, open_pictures(docs[index], self.pictures))
            yield sample

    def read(self, index: int, doc: dict[str, Any]) -> Sample:
        """One row. A video that is missing costs its sample, not the run."""
        task = self.built.task
        extra: dict[str, Any] = {"doc_id": index}
        if self.max_tokens is not None:
            extra["max_tokens"] = int(self.max_tokens)
        try:
            messages = self.media.read_messages(task.doc_to_messages(doc))
            if self.has_messages:
                simple = self._read_simple(doc)
                if (Message("user", simple),) != messages:
                    extra["simple"] = msgspec.to_builtins(simple)
        except SystemExit as error:
            name = str(error).partition("path:")[2].partition(" ")[0] or f"row-{index}"
            messages = (Message("user", (self.media.read_visual(name), Text(str(task.doc_to_text(doc))))),)
        question = tuple(part for message in messages for part in message.parts)
        if len(messages) != 1 or messages[0].role != "user":
            extra["messages"] = msgspec.to_builtins(messages)
        return Sample(
            id=str(index),
            task=self.task,
            question=question,
            answers=read_target(task, doc),
            facets={name: str(doc[name]) for name in self.facets if doc.get(name) is not None},
            cluster=self._find_cluster(doc, question),
            extra=extra,
        )

    def _read_simple(self, doc: dict[str, Any]) -> tuple[Part, ...]:
        visuals = self.built.task.doc_to_visual(doc) or ()
        return (*map(self.media.read_visual, visuals), Text(str(self.built.task.doc_to_text(doc))))

    def _find_cluster(self, doc: dict[str, Any], question: Sequence[Part]) -> str:
        key = getattr(self.built.config, "cluster_key", None)
        if key and doc.get(key) is not None:
            return str(doc[key])
        videos = [part.path for part in question if isinstance(part, Video)]
        return Path(videos[0]).name if len(videos) == 1 else ""


def _find_pictures(docs: Any) -> tuple[str, ...]:
    """The columns that hold pictures, or lists of them."""
    import datasets

    def holds(feature: Any) -> bool:
        if isinstance(feature, datasets.Image):
            return bool(feature.decode)
        inner = getattr(feature, "feature", feature[0] if isinstance(feature, list) and feature else None)
        return inner is not None and holds(inner)

    features = getattr(docs, "features", None) or {}
    return tuple(name for name, feature in features.items() if holds(feature))


def _without_decoding(docs: Any, columns: Sequence[str]) -> Any:
    """The dataset with its pictures as bytes."""
    import datasets

    def undecoded(feature: Any) -> Any:
        if isinstance(feature, datasets.Image):
            return datasets.Image(decode=False)
        if isinstance(feature, list):
            return [undecoded(feature[0])]
        return type(feature)(undecoded(feature.feature))

    for name in columns:
        docs = docs.cast_column(name, undecoded(docs.features[name]))
    return docs


def _find_facets(docs: Any) -> tuple[str, ...]:
    """Columns of short values that repeat: what a table may group by."""
    names: list[str] = []
    for name, feature in (getattr(docs, "features", None) or {}).items():
        kind = getattr(feature, "dtype", "")
        if kind not in ("string", "large_string", "bool", "int64", "int32") and not hasattr(feature, "names"):
            continue
        values = docs.unique(name)
        if 1 < len(values) <= min(_MOST_FACET_VALUES, max(2, len(docs) // 2)) and all(
            len(str(value)) <= _LONGEST_FACET for value in values
        ):
            names.append(name)
    return tuple(names)


def _relate(samples: list[Sample], media: MediaFolder) -> tuple[Path, list[Sample]]:
    """The folder that holds all media, and the samples with paths relative to it."""
    if not media.files:
        return media.folder, samples
    root = Path(os.path.commonpath([str(Path(path).parent) for path in media.files]))
    written = any(
        isinstance(part, Image | Audio) and not os.path.isabs(part.path)  # noqa: PTH117
        for sample in samples
        for part in sample.question
    )
    if written:  # files here and there: links would lead out of the folder, so the common one is named
        root = Path(os.path.commonpath([str(root), str(media.folder)]))
    convert = _Relation(root, media.folder)
    return root, [convert.sample(sample) for sample in samples]


class _Relation:
    """Paths in samples as paths under one folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder

    def sample(self, sample: Sample) -> Sample:
        """A sample whose media are named under the root."""
        extra = dict(sample.extra)
        if "messages" in extra:
            messages = msgspec.convert(extra["messages"], tuple[Message, ...])
            related = tuple(Message(m.role, tuple(map(self._part, m.parts))) for m in messages)
            extra["messages"] = msgspec.to_builtins(related)
        if "simple" in extra:
            parts = msgspec.convert(extra["simple"], tuple[Part, ...])
            extra["simple"] = msgspec.to_builtins(tuple(map(self._part, parts)))
        question = tuple(map(self._part, sample.question))
        return msgspec.structs.replace(sample, question=question, extra=extra)

    def _part(self, part: Part) -> Part:
        if isinstance(part, Text):
            return part
        absolute = os.path.join(self.folder, part.path)  # noqa: PTH118 (an absolute path stays what it is)
        return msgspec.structs.replace(part, path=os.path.relpath(absolute, self.root))
