"""The folder's two files → samples. What no run could use is refused here; `check` finds the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.format import (
    ITEMS,
    VIDEOS,
    MimicItem,
    MimicVideo,
    MimicVideoInfo,
    has_items,
    iter_infos,
    iter_items,
    iter_videos,
    select_most_liked,
)
from vivant.core.errors import DataError, unknown_name_error
from vivant.core.types import Option, Sample, Video

HUMAN_COMMENTS = 5
"""How many of the most-liked comments stand for people."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ALL = "(`vivant data check mimic` lists everything that is wrong)"


def load(root: Path, task: str) -> list[Sample]:
    """The samples of one task, `title` or `comment`, from a folder in the format of docs/mimic.md."""
    if not root.is_dir():
        raise DataError(f"{root} is not a folder; MIMIC-Bench is a folder with {VIDEOS} and {ITEMS}")
    if not (root / VIDEOS).is_file():
        raise DataError(f"{root} has no {VIDEOS}; the format is described in docs/mimic.md")
    if task == names.MIMICKING:
        return _load_mimicking(root)
    if not has_items(root):
        raise DataError(f"{root} has no {ITEMS}, so that only comments can be asked for: mimic/comment")
    videos = read_infos(root)
    samples = [build_thinking_sample(item, videos, where) for where, item in _iter_task_items(root, task)]
    if not samples:
        raise DataError(f"{root / ITEMS} holds no items of the task {task}")
    return samples


def read_infos(root: Path) -> dict[str, MimicVideoInfo]:
    """All videos by `platform/id`, without their comments. A video may stand twice if both say the same."""
    videos: dict[str, MimicVideoInfo] = {}
    first: dict[str, int] = {}
    for number, video in iter_infos(root):
        before = videos.setdefault(video.ref, video)
        if before is not video and before != video:
            raise _repeat_error(root, number, video.ref, first[video.ref])
        first.setdefault(video.ref, number)
    return videos


def iter_distinct_videos(root: Path) -> Iterator[tuple[int, MimicVideo]]:
    """Each video once, with the line it stands in. Reads on as it is asked; keeps a hash per video."""
    contents: dict[str, tuple[int, int]] = {}
    for number, video in iter_videos(root):
        content = hash((video.title, video.description, video.path, video.comments))
        line, before = contents.setdefault(video.ref, (number, content))
        if before != content:
            raise _repeat_error(root, number, video.ref, line)
        if line == number:
            yield number, video


def _repeat_error(root: Path, number: int, ref: str, first: int) -> DataError:
    return DataError(
        f"{root / VIDEOS}, line {number}: the video {ref} stands already in line {first}, and "
        f"the two differ; keep one of them {_ALL}"
    )


def _iter_task_items(root: Path, task: str) -> Iterator[tuple[str, MimicItem]]:
    """Items of one task with the place they stand at; ids may stand once in the whole file."""
    first_lines: dict[str, int] = {}
    for number, item in iter_items(root):
        where = f"{root / ITEMS}, line {number} (item {item.id})"
        if item.id in first_lines:
            raise DataError(f"{where}: the id stands already in line {first_lines[item.id]} {_ALL}")
        first_lines[item.id] = number
        if item.task not in (*names.THINKING, names.MIMICKING):
            raise DataError(
                f"{where}: {unknown_name_error('task', item.task, (*names.THINKING, names.MIMICKING))}"
            )
        if item.task == task:
            yield where, item


def find_fault(item: MimicItem) -> str | None:
    """Why an item of a thinking task cannot be asked at all."""
    if len(item.options) < 2:
        return f"{len(item.options)} option(s); four are expected"
    if len(item.options) > len(_LETTERS):
        return f"{len(item.options)} options; four are expected"
    if item.key is None:
        return "there is no key"
    if not 0 <= item.key < len(item.options):
        return f"the key {item.key} is no option (0 to {len(item.options) - 1})"
    empty = [index for index, option in enumerate(item.options) if not option.text.strip()]
    return f"option {empty[0]} is empty" if empty else None


def build_thinking_sample(item: MimicItem, videos: Mapping[str, MimicVideoInfo], where: str) -> Sample:
    """One question with its options in the order of the file."""
    problem = find_fault(item)
    if problem:
        raise DataError(f"{where}: {problem} {_ALL}")
    video = videos.get(item.video)
    if video is None:
        raise DataError(f"{where}: the video {item.video} is not in {VIDEOS} {_ALL}")
    return Sample(
        id=item.id,
        task=names.format_task(item.task),
        question=(Video(video.path),),
        options=tuple(Option(_LETTERS[i], option.text) for i, option in enumerate(item.options)),
        key=item.key,
        facets=build_facets(video, item.task),
        cluster=video.ref,
        extra={"sources": [option.video for option in item.options]},
    )


def list_tasks(root: Path) -> set[str]:
    """The tasks that a folder can ask: those of its items, and comments always."""
    tasks = {item.task for _, item in iter_items(root)} if has_items(root) else set()
    return tasks | {names.MIMICKING}


def build_facets(video: MimicVideoInfo, task: str) -> dict[str, str]:
    """What tables filter and group by."""
    return {
        "axis": names.AXIS_OF.get(task, "mimicking"),
        "task": task,
        "platform": video.platform,
        "category": video.category or "unknown",
        "language": video.language or "unknown",
        "length": names.choose_length_bucket(video.duration),
        "video": video.ref,
    }


def _load_mimicking(root: Path) -> list[Sample]:
    """One sample per video, or per video that an item of the task `comment` names, where there are such."""
    requested = {}
    if has_items(root):
        requested = {item.video: where for where, item in _iter_task_items(root, names.MIMICKING)}
    samples = [
        build_comment_sample(video)
        for _, video in iter_distinct_videos(root)
        if not requested or video.ref in requested
    ]
    unknown_refs = requested.keys() - {sample.id for sample in samples}
    if unknown_refs:
        ref = min(unknown_refs)
        raise DataError(f"{requested[ref]}: the video {ref} is not in {VIDEOS} {_ALL}")
    if not samples:
        raise DataError(f"{root / VIDEOS} holds no videos")
    return samples


def build_comment_sample(video: MimicVideo) -> Sample:
    """A video to be commented on. What people wrote goes along for the figures, never into the prompt."""
    human = select_most_liked(video.comments, HUMAN_COMMENTS)
    return Sample(
        id=video.ref,
        task=names.format_task(names.MIMICKING),
        question=(Video(video.path),),
        facets=build_facets(video, names.MIMICKING),
        cluster=video.ref,
        extra={"description": video.description, "human": [comment.text.strip() for comment in human]},
    )
