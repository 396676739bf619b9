"""What is wrong with a folder, all of it at once: lines, references, keys, leaks between options, files.

A wrong option must come from another video and must not be true of the one that is asked about; the right one
must be. Where options name their source, both are looked up in the metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import DataReport
from vivant.benchmarks.data_files import decode_json, iter_lines
from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.data import find_fault
from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, MimicItem, MimicOption, MimicVideo
from vivant.benchmarks.mimic.pack_builder import LONG
from vivant.benchmarks.mimic.packs import hash_file
from vivant.core.errors import DataError
from vivant.metrics.text import normalise_text

_T = TypeVar("_T")


class VideoFacts(Struct, frozen=True, kw_only=True):
    """What is true of a video, in plain form, task by task; comments by their ids as well."""

    true: Mapping[str, frozenset[str]]
    comments: Mapping[str, tuple[str, int | None]]
    """Plain text and likes by id."""
    likes: tuple[int, ...]
    """Of all comments that have any, the most first: a rank is a place here."""
    file: str

    def holds(self, task: str, text: str) -> bool:
        """Whether a text is true of the video."""
        return not self.true[_KIND[task]].isdisjoint(_split_option(task, text))


_KIND = {task: "comment" if task.startswith("comment") else task for task in names.THINKING}


def check(root: Path) -> DataReport:
    """Read everything and open every video file."""
    lines: list[str] = []
    problems: list[str] = []
    if not (root / VIDEOS).is_file():
        return DataReport(problems=(f"{root} has no {VIDEOS}; the format is described in docs/mimic.md",))
    videos = _check_videos(root, lines, problems)
    if (root / ITEMS).is_file():
        _check_items(root, videos, lines, problems)
    else:
        lines.append(f"no {ITEMS}: only mimic/comment can be asked")
    problems += _check_files(root, videos)
    return DataReport(contents=tuple(lines), problems=tuple(problems))


def _iter_valid(path: Path, kind: type[_T], problems: list[str]) -> Iterator[tuple[int, bytes, _T]]:
    """Number, content and value of the lines that can be read; the others are problems."""
    decoder = msgspec.json.Decoder(kind)
    for number, line in iter_lines(path):
        try:
            value = decode_json(line, f"{path}, line {number}", decoder)
        except DataError as error:
            problems.append(str(error))
        else:
            yield number, line, value


# ── videos ──


def _check_videos(root: Path, lines: list[str], problems: list[str]) -> dict[str, VideoFacts]:
    """The videos that can be used, by `platform/id`."""
    videos: dict[str, VideoFacts] = {}
    seen: dict[str, tuple[int, bytes]] = {}
    titles: dict[tuple[str, str], str] = {}
    platforms: Counter[str] = Counter()
    odd: Counter[str] = Counter()
    for number, line, video in _iter_valid(root / VIDEOS, MimicVideo, problems):
        where = f"{root / VIDEOS}, line {number}"
        if video.ref in seen:
            first, before = seen[video.ref]
            relation = "word for word" if before == line.strip() else "and the two differ"
            problems.append(f"{where}: the video {video.ref} stands already in line {first}, {relation}")
            continue
        seen[video.ref] = (number, line.strip())
        twin = titles.setdefault((video.title, video.description), video.ref)
        if twin != video.ref and video.title and video.description:
            problems.append(f"{where}: {video.ref} has the title and description of {twin}; the same video?")
        platforms[video.platform] += 1
        _count_comments(video, odd)
        problems += [f"{where}: two comments have the id {name}" for name in _find_repeated_ids(video)]
        videos[video.ref] = _collect_facts(video)
    summary = ", ".join(f"{count} {platform}" for platform, count in sorted(platforms.items()))
    lines.append(f"{len(videos)} videos ({summary})")
    lines += [f"{count} {label}" for label, count in odd.items() if count]
    return videos


def _count_comments(video: MimicVideo, odd: Counter[str]) -> None:
    odd["comments"] += len(video.comments)
    odd["comments without likes (they have no rank)"] += sum(c.likes is None for c in video.comments)
    odd["empty comments (never used)"] += sum(not c.text.strip() for c in video.comments)
    odd[f"comments of more than {LONG} characters"] += sum(len(c.text) > LONG for c in video.comments)
    odd["videos without comments"] += not video.comments
    odd[f"videos with fewer than {names.RANKS[-1]} comments with likes (no popularity item)"] += (
        sum(c.likes is not None for c in video.comments) < names.RANKS[-1]
    )


def _find_repeated_ids(video: MimicVideo) -> list[str]:
    return [name for name, count in Counter(c.id for c in video.comments).items() if count > 1]


def _collect_facts(video: MimicVideo) -> VideoFacts:
    true = {
        "title": (video.title,),
        "description": (video.description,),
        "tag": video.tags,
        "topic": video.topics,
        "category": (video.category,),
        "comment": tuple(c.text for c in video.comments),
    }
    return VideoFacts(
        true={kind: frozenset(map(normalise_text, texts)) - {""} for kind, texts in true.items()},
        comments={c.id: (normalise_text(c.text), c.likes) for c in video.comments},
        likes=tuple(sorted((c.likes for c in video.comments if c.likes is not None), reverse=True)),
        file=video.path,
    )


def _split_option(task: str, text: str) -> set[str]:
    """An option in plain form; tags and topics may be several, after commas or hash signs."""
    pieces = {normalise_text(text)}
    if task in ("tag", "topic"):
        pieces |= {normalise_text(piece) for piece in text.replace("#", ",").split(",")}
    return pieces - {""}


# ── items ──


def _check_items(root: Path, videos: Mapping[str, VideoFacts], lines: list[str], problems: list[str]) -> None:
    first_lines: dict[str, int] = {}
    tasks: Counter[str] = Counter()
    unnamed = 0
    questions: dict[tuple[str, ...], str] = {}
    for number, _, item in _iter_valid(root / ITEMS, MimicItem, problems):
        where = f"{root / ITEMS}, line {number}"
        where += f" (item {item.id})"
        if item.id in first_lines:
            problems.append(f"{where}: the id stands already in line {first_lines[item.id]}")
            continue
        first_lines[item.id] = number
        content = (item.task, item.video, *sorted(option.text for option in item.options))
        twin = questions.setdefault(content, item.id)
        if twin != item.id:
            problems.append(f"{where}: asks the same as the item {twin}")
        tasks[item.task] += 1
        unnamed += any(not option.video for option in item.options)
        problems += [f"{where}: {problem}" for problem in list_item_problems(item, videos)]
    lines += [f"{names.format_task(task)}: {count} items" for task, count in tasks.items()]
    if unnamed:
        lines.append(
            f"{unnamed} items do not name the source of every option: leaks cannot be ruled out there"
        )


def list_item_problems(item: MimicItem, videos: Mapping[str, VideoFacts]) -> Iterator[str]:
    """Everything that is wrong with one item."""
    if item.task not in (*names.THINKING, names.MIMICKING):
        yield f"the task '{item.task}' is none of {', '.join((*names.THINKING, names.MIMICKING))}"
        return
    facts = videos.get(item.video)
    if facts is None:
        yield f"the video {item.video} is not in {VIDEOS}"
        return
    if item.task == names.MIMICKING:
        if item.options:
            yield "the task comment has no options"
        return
    basic_fault = find_fault(item)
    if basic_fault:
        yield basic_fault
        return
    if len(item.options) != 4:
        yield f"{len(item.options)} options; four are expected"
    texts = Counter(normalise_text(option.text) for option in item.options)
    if max(texts.values()) > 1:
        yield f"two options say the same: '{_shorten(texts.most_common(1)[0][0])}'"
    for index, option in enumerate(item.options):
        yield from (
            f"option {index} ('{_shorten(option.text)}'): {problem}"
            for problem in _list_option_problems(item, index, option, facts, videos)
        )
    if item.task == names.OWN:
        yield from _list_popularity_problems(item, facts)


def _list_option_problems(
    item: MimicItem, index: int, option: MimicOption, facts: VideoFacts, videos: Mapping[str, VideoFacts]
) -> Iterator[str]:
    true = facts.holds(item.task, option.text)
    if index == item.key or item.task == names.OWN:
        if option.video and option.video != item.video:
            yield f"it should come from {item.video}, not from {option.video}"
        elif not true:
            yield f"it is not in the metadata of {item.video}"
    else:
        if option.video == item.video:
            yield f"a wrong option comes from {item.video} itself"
        elif true:
            yield f"a wrong option is true of {item.video}"
        source = videos.get(option.video)
        if option.video and source is None:
            yield f"its source {option.video} is not in {VIDEOS}"
        elif source is not None and not source.holds(item.task, option.text):
            yield f"it is not in the metadata of its source {option.video}"
    source_facts = videos.get(option.video or item.video)
    if (
        option.comment
        and source_facts is not None
        and source_facts.comments.get(option.comment, ("",))[0] != normalise_text(option.text)
    ):
        yield f"it is not the text of the comment {option.comment}"


def _list_popularity_problems(item: MimicItem, facts: VideoFacts) -> Iterator[str]:
    """The key must have more likes than each of the others, by the video's own comments."""
    likes = [_get_likes(option, facts) for option in item.options]
    unknown = [index for index, count in enumerate(likes) if count is None]
    if unknown:
        yield f"option {unknown[0]} has no likes, so that the most popular cannot be told"
        return
    counts = [count or 0 for count in likes]
    assert item.key is not None
    best = counts[item.key]
    if best < max(counts):
        yield f"the key has {best} likes, another option has {max(counts)}"
    elif counts.count(best) > 1:
        yield f"two options share the most likes ({best})"
    for index, option in enumerate(item.options):
        stored = facts.comments.get(option.comment)
        if stored is not None and option.likes is not None and stored[1] not in (None, option.likes):
            yield f"option {index} says {option.likes} likes, its comment has {stored[1]}"
        rank = option.rank
        if rank is not None and (rank > len(facts.likes) or facts.likes[rank - 1] != counts[index]):
            yield f"option {index} says rank {rank}, but does not have that rank's likes"


def _get_likes(option: MimicOption, facts: VideoFacts) -> int | None:
    if option.likes is not None:
        return option.likes
    return facts.comments.get(option.comment, ("", None))[1]


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:39] + "…"


# ── files ──


def _check_files(root: Path, videos: Mapping[str, VideoFacts]) -> Iterator[str]:
    """Files that are missing or do not open, and files that are the same."""
    from vivant.core.types import Video
    from vivant.media.inspection import find_problem

    by_size: dict[int, list[str]] = {}
    for ref, facts in videos.items():
        problem = find_problem(root, Video(facts.file))
        if problem is not None:
            yield f"{root / facts.file} (video {ref}): {problem}"
        else:
            by_size.setdefault((root / facts.file).stat().st_size, []).append(ref)
    for refs in by_size.values():
        contents: dict[str, str] = {}
        for ref in refs if len(refs) > 1 else ():
            path = root / videos[ref].file
            twin = contents.setdefault(hash_file(path), ref)
            if twin != ref:
                yield f"{path} (video {ref}): the same file as {twin}"
