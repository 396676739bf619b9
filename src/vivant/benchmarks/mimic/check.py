"""What is wrong with a folder, all of it at once: lines, references, keys, leaks between options, files.

A wrong option must come from another video and must not be true of the one that is asked about; the right one
must be. Where options name their source, both are looked up in the metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks.base import DataReport
from vivant.benchmarks.mimic import names
from vivant.benchmarks.mimic.data import fault
from vivant.benchmarks.mimic.format import ITEMS, VIDEOS, Item, ItemOption, VideoLine, raw_lines
from vivant.benchmarks.mimic.packing import LONG
from vivant.benchmarks.mimic.packs import digest
from vivant.metrics.text import plain


class Facts(Struct, frozen=True, kw_only=True):
    """What is true of a video, in plain form, task by task; comments by their ids as well."""

    true: Mapping[str, frozenset[str]]
    comments: Mapping[str, tuple[str, int | None]]
    """Plain text and likes by id."""
    likes: tuple[int, ...]
    """Of all comments that have any, the most first: a rank is a place here."""
    file: str

    def holds(self, task: str, text: str) -> bool:
        """Whether a text is true of the video."""
        return not self.true[_KIND[task]].isdisjoint(_pieces(task, text))


_KIND = {task: "comment" if task.startswith("comment") else task for task in names.THINKING}


def check(root: Path) -> DataReport:
    """Read everything and open every video file."""
    found: list[str] = []
    problems: list[str] = []
    if not (root / VIDEOS).is_file():
        return DataReport(problems=(f"{root} has no {VIDEOS}; the format is described in docs/mimic.md",))
    videos = _videos(root, found, problems)
    if (root / ITEMS).is_file():
        _items(root, videos, found, problems)
    else:
        found.append(f"no {ITEMS}: only mimic/comment can be asked")
    problems += _files(root, videos)
    return DataReport(found=tuple(found), problems=tuple(problems))


# ── videos ──


def _videos(root: Path, found: list[str], problems: list[str]) -> dict[str, Facts]:
    """The videos that can be used, by `platform/id`."""
    videos: dict[str, Facts] = {}
    lines: dict[str, tuple[int, bytes]] = {}
    titles: dict[tuple[str, str], str] = {}
    platforms: Counter[str] = Counter()
    odd: Counter[str] = Counter()
    decoder = msgspec.json.Decoder(VideoLine)
    for number, line in raw_lines(root / VIDEOS):
        place = f"{root / VIDEOS}, line {number}"
        try:
            video = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            problems.append(f"{place}: {error}")
            continue
        if video.ref in lines:
            first, before = lines[video.ref]
            how = "word for word" if before == line.strip() else "and the two differ"
            problems.append(f"{place}: the video {video.ref} stands already in line {first}, {how}")
            continue
        lines[video.ref] = (number, line.strip())
        twin = titles.setdefault((video.title, video.description), video.ref)
        if twin != video.ref and video.title and video.description:
            problems.append(f"{place}: {video.ref} has the title and description of {twin}; the same video?")
        platforms[video.platform] += 1
        _count_comments(video, odd)
        problems += [f"{place}: two comments have the id {name}" for name in _repeated_ids(video)]
        videos[video.ref] = _facts(video)
    shown = ", ".join(f"{count} {platform}" for platform, count in sorted(platforms.items()))
    found.append(f"{len(videos)} videos ({shown})")
    found += [f"{count} {what}" for what, count in odd.items() if count]
    return videos


def _count_comments(video: VideoLine, odd: Counter[str]) -> None:
    odd["comments"] += len(video.comments)
    odd["comments without likes (they have no rank)"] += sum(c.likes is None for c in video.comments)
    odd["empty comments (never used)"] += sum(not c.text.strip() for c in video.comments)
    odd[f"comments of more than {LONG} characters"] += sum(len(c.text) > LONG for c in video.comments)
    odd["videos without comments"] += not video.comments
    odd[f"videos with fewer than {names.RANKS[-1]} comments with likes (no popularity item)"] += (
        sum(c.likes is not None for c in video.comments) < names.RANKS[-1]
    )


def _repeated_ids(video: VideoLine) -> list[str]:
    return [name for name, count in Counter(c.id for c in video.comments).items() if count > 1]


def _facts(video: VideoLine) -> Facts:
    true = {
        "title": (video.title,),
        "description": (video.description,),
        "tag": video.tags,
        "topic": video.topics,
        "category": (video.category,),
        "comment": tuple(c.text for c in video.comments),
    }
    return Facts(
        true={kind: frozenset(map(plain, texts)) - {""} for kind, texts in true.items()},
        comments={c.id: (plain(c.text), c.likes) for c in video.comments},
        likes=tuple(sorted((c.likes for c in video.comments if c.likes is not None), reverse=True)),
        file=video.path,
    )


def _pieces(task: str, text: str) -> set[str]:
    """An option in plain form; tags and topics may be several, after commas or hash signs."""
    whole = {plain(text)}
    if task in ("tag", "topic"):
        whole |= {plain(piece) for piece in text.replace("#", ",").split(",")}
    return whole - {""}


# ── items ──


def _items(root: Path, videos: Mapping[str, Facts], found: list[str], problems: list[str]) -> None:
    seen: dict[str, int] = {}
    tasks: Counter[str] = Counter()
    unnamed = 0
    questions: dict[tuple[str, ...], str] = {}
    decoder = msgspec.json.Decoder(Item)
    for number, line in raw_lines(root / ITEMS):
        place = f"{root / ITEMS}, line {number}"
        try:
            item = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            problems.append(f"{place}: {error}")
            continue
        place += f" (item {item.id})"
        if item.id in seen:
            problems.append(f"{place}: the id stands already in line {seen[item.id]}")
            continue
        seen[item.id] = number
        content = (item.task, item.video, *sorted(option.text for option in item.options))
        twin = questions.setdefault(content, item.id)
        if twin != item.id:
            problems.append(f"{place}: asks the same as the item {twin}")
        tasks[item.task] += 1
        unnamed += any(not option.video for option in item.options)
        problems += [f"{place}: {problem}" for problem in item_problems(item, videos)]
    found += [f"{names.task_name(task)}: {count} items" for task, count in tasks.items()]
    if unnamed:
        found.append(
            f"{unnamed} items do not name the source of every option: leaks cannot be ruled out there"
        )


def item_problems(item: Item, videos: Mapping[str, Facts]) -> Iterator[str]:
    """Everything that is wrong with one item."""
    if item.task not in (*names.THINKING, names.MIMICKING):
        yield f"the task '{item.task}' is none of {', '.join((*names.THINKING, names.MIMICKING))}"
        return
    own = videos.get(item.video)
    if own is None:
        yield f"the video {item.video} is not in {VIDEOS}"
        return
    if item.task == names.MIMICKING:
        if item.options:
            yield "the task comment has no options"
        return
    wrong = fault(item)
    if wrong:
        yield wrong
        return
    if len(item.options) != 4:
        yield f"{len(item.options)} options; four are expected"
    texts = Counter(plain(option.text) for option in item.options)
    if max(texts.values()) > 1:
        yield f"two options say the same: '{_short(texts.most_common(1)[0][0])}'"
    for place, option in enumerate(item.options):
        yield from (
            f"option {place} ('{_short(option.text)}'): {problem}"
            for problem in _option_problems(item, place, option, own, videos)
        )
    if item.task == names.OWN:
        yield from _popularity_problems(item, own)


def _option_problems(
    item: Item, place: int, option: ItemOption, own: Facts, videos: Mapping[str, Facts]
) -> Iterator[str]:
    true = own.holds(item.task, option.text)
    if place == item.key or item.task == names.OWN:
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
    known = videos.get(option.video or item.video)
    if (
        option.comment
        and known is not None
        and known.comments.get(option.comment, ("",))[0] != plain(option.text)
    ):
        yield f"it is not the text of the comment {option.comment}"


def _popularity_problems(item: Item, own: Facts) -> Iterator[str]:
    """The key must have more likes than each of the others, by the video's own comments."""
    likes = [_likes(option, own) for option in item.options]
    unknown = [place for place, count in enumerate(likes) if count is None]
    if unknown:
        yield f"option {unknown[0]} has no likes, so that the most popular cannot be told"
        return
    known = [count or 0 for count in likes]
    assert item.key is not None
    best = known[item.key]
    if best < max(known):
        yield f"the key has {best} likes, another option has {max(known)}"
    elif known.count(best) > 1:
        yield f"two options share the most likes ({best})"
    for place, option in enumerate(item.options):
        stored = own.comments.get(option.comment)
        if stored is not None and option.likes is not None and stored[1] not in (None, option.likes):
            yield f"option {place} says {option.likes} likes, its comment has {stored[1]}"
        rank = option.rank
        if rank is not None and (rank > len(own.likes) or own.likes[rank - 1] != known[place]):
            yield f"option {place} says rank {rank}, but does not have that rank's likes"


def _likes(option: ItemOption, own: Facts) -> int | None:
    if option.likes is not None:
        return option.likes
    return own.comments.get(option.comment, ("", None))[1]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:39] + "…"


# ── files ──


def _files(root: Path, videos: Mapping[str, Facts]) -> Iterator[str]:
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
            twin = contents.setdefault(digest(path), ref)
            if twin != ref:
                yield f"{path} (video {ref}): the same file as {twin}"
