"""The step train: instruction-tuning data from the train split, as questions of the benchmark's own shape.

`WORK/train` is a folder in the benchmark's format (so that a trainer phrases its prompts with the benchmark's code),
with an item of the task `comment` for each video that has comments to learn from. `qa.jsonl` has the same as
plain pairs of prompt and answer. Where videos are at hand, `shards/` holds them with their items as WebDataset tars.

Videos are taken some thousands at a time, so that memory does not grow with their number.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import PromptContext
from vivant.benchmarks.mimic import data, prompts
from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, MimicItem, MimicVideo, select_most_liked
from vivant.benchmarks.mimic.names import MIMICKING
from vivant.core.progress import ProgressCallback, ignore_progress
from vivant.core.randomness import derive_seed, sample_ids
from vivant.core.types import Sample, Text
from vivant_build.mimic.database import connect
from vivant_build.mimic.items import ItemMaker
from vivant_build.mimic.media_files import find_media, link_or_copy
from vivant_build.mimic.practice_items import list_train_refs
from vivant_build.mimic.settings import PipelineSettings
from vivant_build.mimic.shards import Shards
from vivant_build.mimic.split import TRAIN
from vivant_build.mimic.steps import BuildStep, begin_step
from vivant_build.mimic.vectors import TextEncoder, VectorStore
from vivant_build.mimic.video_records import VideoRecord, read_video_records

STEP = "train"
QA = "qa.jsonl"
_CHUNK = 8000
_STYLE = "zero-shot"


class TrainingPair(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `qa.jsonl`."""

    id: str
    task: str
    video: str
    prompt: str
    """What stands after the video."""
    answer: str
    """A letter, or the most-liked comment."""
    references: tuple[str, ...] = ()
    """For a comment to be written: the most-liked ones."""


def make_training_set(
    work: Path,
    settings: PipelineSettings,
    progress: ProgressCallback = ignore_progress,
    *,
    force: bool = False,
    encoder: TextEncoder | None = None,
) -> BuildStep:
    """Make training data of the benchmark's shape from the train split: questions, comments, shards."""
    parameters = {
        "train": msgspec.to_builtins(settings.train),
        "tasks": msgspec.to_builtins(settings.tasks),
        "seed": settings.seed,
    }
    with begin_step(work, STEP, ["clean", "split"], parameters, version=3, force=force) as step:
        if not step.done:
            store = VectorStore(work, progress, encoder) if settings.train.meaning else None
            writer = _Writer(work, step.folder, settings)
            with writer:
                refs = _sample_refs(work, settings)
                for number, chunk in enumerate(_read_chunks(work, settings, refs)):
                    progress(number * _CHUNK, len(refs), "videos asked about")
                    writer.add(chunk, ItemMaker(chunk, settings.tasks, settings.seed, store))
            _finish(step, writer, len(refs), settings)
    return step


def _sample_refs(work: Path, settings: PipelineSettings) -> list[str]:
    refs = list_train_refs(work, settings)
    if settings.train.videos is not None:
        refs = sample_ids(refs, settings.train.videos, settings.seed, STEP)
    # Mixed, so that every part holds all kinds: wrong options come from the same part.
    random.Random(derive_seed(settings.seed, STEP, "order")).shuffle(refs)
    return refs


def _read_chunks(work: Path, settings: PipelineSettings, refs: list[str]) -> Iterator[list[VideoRecord]]:
    pieces = max(1, round(len(refs) / _CHUNK))
    with connect(work, settings.memory, settings.workers) as connection:
        for piece in range(pieces):
            yield list(read_video_records(connection, work, TRAIN, settings.tasks, refs[piece::pieces]))


class _Writer:
    """All files of the training set, written as parts of it come."""

    def __init__(self, work: Path, folder: Path, settings: PipelineSettings) -> None:
        self._work = work
        self._folder = folder
        self._settings = settings
        self._context = PromptContext(style=_STYLE, seed=settings.seed)
        self._files: dict[str, IO[bytes]] = {}
        self._encoder = msgspec.json.Encoder()
        self.shards = Shards(folder / "shards", settings.train.shard_bytes)
        self.items: Counter[str] = Counter()
        self.without: dict[str, Counter[str]] = {}
        self.videos = 0

    def __enter__(self) -> _Writer:
        self._files = {name: (self._folder / name).open("wb") for name in (VIDEOS, ITEMS, QA)}
        return self

    def __exit__(self, *_: object) -> None:
        self.shards.close()
        for file in self._files.values():
            file.close()

    def add(self, videos: Sequence[VideoRecord], maker: ItemMaker) -> None:
        """Some videos with all that is asked about them."""
        items_by_video: dict[str, list[MimicItem]] = {video.line.ref: [] for video in videos}
        for task, task_items in maker.make_all().items():
            self.without.setdefault(task, Counter()).update(task_items.without)
            for item in task_items.items:
                items_by_video[item.video].append(_without_ranks(item))
        references = {
            video.line.ref: select_most_liked(video.line.comments, self._settings.train.references)
            for video in videos
        }
        for ref, liked in references.items():
            if liked:
                items_by_video[ref].append(MimicItem(id=f"{MIMICKING}:{ref}", task=MIMICKING, video=ref))
        named = {
            (o.video, o.comment) for items in items_by_video.values() for item in items for o in item.options
        }
        infos: dict[str, MimicVideo] = {}
        for video in videos:
            line = video.line
            comments = tuple(
                c for c in line.comments if (line.ref, c.id) in named or c in references[line.ref]
            )
            infos[line.ref] = msgspec.structs.replace(line, comments=comments)
        for video in videos:
            self._write(video, infos, items_by_video[video.line.ref])

    def _write(self, video: VideoRecord, infos: Mapping[str, MimicVideo], items: Sequence[MimicItem]) -> None:
        line = infos[video.line.ref]
        self._put(VIDEOS, line)
        self.videos += 1
        for item in items:
            self.items[item.task] += 1
            self._put(ITEMS, item)
            self._put(QA, self._make_pair(item, infos))
        media = find_media(self._work, video.media)
        if media is not None:
            link_or_copy(media, self._folder / line.path)
            self.shards.add(line, items, media)

    def _put(self, name: str, value: Struct) -> None:
        self._files[name].write(self._encoder.encode(value) + b"\n")

    def _make_pair(self, item: MimicItem, infos: Mapping[str, MimicVideo]) -> TrainingPair:
        line = infos[item.video]
        if item.task == MIMICKING:
            sample = data.build_comment_sample(line)
            human = tuple(sample.extra["human"])
            return TrainingPair(
                id=item.id,
                task=item.task,
                video=item.video,
                prompt=self._phrase(sample)[0],
                answer=human[0],
                references=human,
            )
        sample = data.build_thinking_sample(item, infos, item.id)
        text, order = self._phrase(sample)
        assert sample.key is not None
        answer = sample.options[order.index(sample.key)].name
        return TrainingPair(id=item.id, task=item.task, video=item.video, prompt=text, answer=answer)

    def _phrase(self, sample: Sample) -> tuple[str, tuple[int, ...]]:
        prompt = prompts.build_prompt(sample, self._context)
        parts = [part.text for message in prompt.messages for part in message.parts if isinstance(part, Text)]
        return "\n".join(parts), prompt.order


def _without_ranks(item: MimicItem) -> MimicItem:
    """Ranks count comments that the training set does not carry along; likes say the same."""
    options = tuple(msgspec.structs.replace(option, rank=None) for option in item.options)
    return msgspec.structs.replace(item, options=options)


def _finish(step: BuildStep, writer: _Writer, videos: int, settings: PipelineSettings) -> None:
    if not writer.items:
        raise step.fail("nothing can be asked about the videos of the train split; see tasks.tasks")
    step.count("videos", into=videos, out=writer.videos)
    for task in settings.tasks.tasks:
        step.count(f"{task} items", into=videos, out=writer.items[task], why=writer.without[task])
    step.count(
        f"{MIMICKING} items",
        into=videos,
        out=writer.items[MIMICKING],
        why={"no comments": videos - writer.items[MIMICKING]},
    )
    shards = len(writer.shards.written)
    with_media = (
        sum(1 for _ in (step.folder / "videos").iterdir()) if (step.folder / "videos").is_dir() else 0
    )
    step.note(
        f"videos at hand: {with_media:,}; shards: {shards:,}"
        if shards
        else "no videos are at hand: no shards"
    )
