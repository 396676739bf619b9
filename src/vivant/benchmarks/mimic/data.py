"""The folder's two files → samples. What no run could use is refused here; `check` finds the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.format import (
    ITEMS,
    VIDEOS,
    Item,
    VideoInfo,
    VideoLine,
    has_items,
    iter_infos,
    iter_items,
    iter_videos,
    most_liked,
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
        return _mimicking(root)
    if not has_items(root):
        raise DataError(f"{root} has no {ITEMS}, so that only comments can be asked for: mimic/comment")
    videos = read_infos(root)
    samples = [thinking_sample(item, videos, place) for place, item in _items(root, task)]
    if not samples:
        raise DataError(f"{root / ITEMS} holds no items of the task {task}")
    return samples


def read_infos(root: Path) -> dict[str, VideoInfo]:
    """All videos by `platform/id`, without their comments. A video may stand twice if both say the same."""
    videos: dict[str, VideoInfo] = {}
    first: dict[str, int] = {}
    for number, video in iter_infos(root):
        before = videos.setdefault(video.ref, video)
        if before is not video and before != video:
            raise _twice(root, number, video.ref, first[video.ref])
        first.setdefault(video.ref, number)
    return videos


def distinct_videos(root: Path) -> Iterator[tuple[int, VideoLine]]:
    """Each video once, with the line it stands in. Reads on as it is asked; keeps a hash per video."""
    seen: dict[str, tuple[int, int]] = {}
    for number, video in iter_videos(root):
        content = hash((video.title, video.description, video.path, video.comments))
        line, before = seen.setdefault(video.ref, (number, content))
        if before != content:
            raise _twice(root, number, video.ref, line)
        if line == number:
            yield number, video


def _twice(root: Path, number: int, ref: str, first: int) -> DataError:
    return DataError(
        f"{root / VIDEOS}, line {number}: the video {ref} stands already in line {first}, "
        f"and the two differ; keep one of them {_ALL}"
    )


def _items(root: Path, task: str) -> Iterator[tuple[str, Item]]:
    """Items of one task with the place they stand at; ids may stand once in the whole file."""
    seen: dict[str, int] = {}
    for number, item in iter_items(root):
        place = f"{root / ITEMS}, line {number} (item {item.id})"
        if item.id in seen:
            raise DataError(f"{place}: the id stands already in line {seen[item.id]} {_ALL}")
        seen[item.id] = number
        if item.task not in (*names.THINKING, names.MIMICKING):
            raise DataError(
                f"{place}: {unknown_name_error('task', item.task, (*names.THINKING, names.MIMICKING))}"
            )
        if item.task == task:
            yield place, item


def fault(item: Item) -> str | None:
    """Why an item of a thinking task cannot be asked at all."""
    if len(item.options) < 2:
        return f"{len(item.options)} option(s); four are expected"
    if len(item.options) > len(_LETTERS):
        return f"{len(item.options)} options; four are expected"
    if item.key is None:
        return "there is no key"
    if not 0 <= item.key < len(item.options):
        return f"the key {item.key} is no option (0 to {len(item.options) - 1})"
    empty = [place for place, option in enumerate(item.options) if not option.text.strip()]
    return f"option {empty[0]} is empty" if empty else None


def thinking_sample(item: Item, videos: Mapping[str, VideoInfo], place: str) -> Sample:
    """One question with its options in the order of the file."""
    wrong = fault(item)
    if wrong:
        raise DataError(f"{place}: {wrong} {_ALL}")
    video = videos.get(item.video)
    if video is None:
        raise DataError(f"{place}: the video {item.video} is not in {VIDEOS} {_ALL}")
    return Sample(
        id=item.id,
        task=names.task_name(item.task),
        question=(Video(video.path),),
        options=tuple(Option(_LETTERS[i], option.text) for i, option in enumerate(item.options)),
        key=item.key,
        facets=facets(video, item.task),
        cluster=video.ref,
        extra={"sources": [option.video for option in item.options]},
    )


def tasks_in(root: Path) -> set[str]:
    """The tasks that a folder can ask: those of its items, and comments always."""
    asked = {item.task for _, item in iter_items(root)} if has_items(root) else set()
    return asked | {names.MIMICKING}


def facets(video: VideoInfo, task: str) -> dict[str, str]:
    """What tables filter and group by."""
    return {
        "axis": names.AXIS_OF.get(task, "mimicking"),
        "task": task,
        "platform": video.platform,
        "category": video.category or "unknown",
        "language": video.language or "unknown",
        "length": names.length_bucket(video.duration),
        "video": video.ref,
    }


def _mimicking(root: Path) -> list[Sample]:
    """One sample per video, or per video that an item of the task `comment` names, where there are such."""
    asked = {}
    if has_items(root):
        asked = {item.video: place for place, item in _items(root, names.MIMICKING)}
    samples = [comment_sample(video) for _, video in distinct_videos(root) if not asked or video.ref in asked]
    strangers = asked.keys() - {sample.id for sample in samples}
    if strangers:
        ref = min(strangers)
        raise DataError(f"{asked[ref]}: the video {ref} is not in {VIDEOS} {_ALL}")
    if not samples:
        raise DataError(f"{root / VIDEOS} holds no videos")
    return samples


def comment_sample(video: VideoLine) -> Sample:
    """A video to be commented on. What people wrote goes along for the figures, never into the prompt."""
    human = most_liked(video.comments, HUMAN_COMMENTS)
    return Sample(
        id=video.ref,
        task=names.task_name(names.MIMICKING),
        question=(Video(video.path),),
        facets=facets(video, names.MIMICKING),
        cluster=video.ref,
        extra={"description": video.description, "human": [comment.text.strip() for comment in human]},
    )
