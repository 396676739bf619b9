"""The seven tasks from the clips' own metadata. Wrong options come from clips of other categories.

Every text is the right option once and a wrong one three times, so that no option is likelier than another by
itself; wrong ones are near the right one in length and, where a text has a language, of the same language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from vivant.benchmarks.mimic.format import Item, ItemOption, VideoLine
from vivant.benchmarks.mimic.names import RANKS
from vivant.build.mini_mimic.comments import Thread
from vivant.chance import generator, permutation

WRONG = 3
_ROUNDS = 12_000
_CLASH = 10_000.0


def make_items(videos: Sequence[VideoLine], threads: Mapping[str, Thread]) -> Iterator[Item]:
    """All items of all tasks, in the order of the videos."""
    plain: dict[str, Callable[[VideoLine], str]] = {
        "title": lambda v: v.title,
        "description": lambda v: v.description,
        "tag": lambda v: " ".join(f"#{tag}" for tag in v.tags),
        "topic": lambda v: v.topics[0],
        "category": lambda v: v.category,
    }
    for task, text in plain.items():
        options = {video.ref: ItemOption(text=text(video), video=video.ref) for video in videos}
        spoken = task in ("title", "description", "tag")
        yield from _match(task, videos, options, by_language=spoken)
    chance = generator(0, "mimic-mini", "comment-match")
    comments = {}
    for video in videos:
        chosen = chance.choice(threads[video.ref].about)
        comments[video.ref] = ItemOption(
            text=chosen.text, video=video.ref, comment=chosen.id, likes=chosen.likes
        )
    yield from _match("comment-match", videos, comments, by_language=True)
    for video in videos:
        if threads[video.ref].ranks:
            yield _popularity(video, threads[video.ref])


def _match(
    task: str, videos: Sequence[VideoLine], options: Mapping[str, ItemOption], *, by_language: bool
) -> Iterator[Item]:
    wrong: dict[str, list[VideoLine]] = {}
    groups: dict[str, list[VideoLine]] = {}
    for video in videos:
        groups.setdefault(video.language if by_language else "", []).append(video)
    for group in groups.values():
        chance = generator(0, "mimic-mini", task, group[0].language)
        wrong |= _others(group, {v.ref: options[v.ref].text for v in group}, chance)
    for video in videos:
        yield _item(task, video, [options[video.ref], *(options[other.ref] for other in wrong[video.ref])])


def _others(
    group: Sequence[VideoLine], texts: Mapping[str, str], chance: Random
) -> dict[str, list[VideoLine]]:
    """For each video three others, each video being taken three times in all: three permutations, improved by
    swaps until nothing clashes and lengths are near."""
    size = len(group)
    rows = [list(range(size)) for _ in range(WRONG)]
    for shift, row in enumerate(rows, 1):
        row[:] = row[shift:] + row[:shift]

    def cost(column: int) -> float:
        own = group[column]
        others = [group[row[column]] for row in rows]
        categories = {own.category, *(other.category for other in others)}
        distinct = {texts[own.ref].casefold(), *(texts[other.ref].casefold() for other in others)}
        clashes = 2 * (WRONG + 1) - len(categories) - len(distinct)
        shared = sum(
            bool(set(own.tags) & set(other.tags) or set(own.topics) & set(other.topics)) for other in others
        )
        lengths = sum(abs(len(texts[own.ref]) - len(texts[other.ref])) for other in others)
        return _CLASH * (clashes + shared) + lengths

    costs = [cost(column) for column in range(size)]
    for _ in range(_ROUNDS if size > WRONG + 1 else 0):
        row = chance.choice(rows)
        a, b = chance.sample(range(size), 2)
        row[a], row[b] = row[b], row[a]
        new = cost(a), cost(b)
        if sum(new) <= costs[a] + costs[b]:
            costs[a], costs[b] = new
        else:
            row[a], row[b] = row[b], row[a]
    if max(costs) >= _CLASH:
        raise ValueError("There are not enough unrelated videos for three wrong options each")
    return {video.ref: [group[row[column]] for row in rows] for column, video in enumerate(group)}


def _popularity(video: VideoLine, thread: Thread) -> Item:
    options = [
        ItemOption(text=comment.text, video=video.ref, comment=comment.id, rank=rank, likes=comment.likes)
        for rank, comment in zip(RANKS, thread.ranks, strict=True)
    ]
    return _item("comment-popularity", video, options)


def _item(task: str, video: VideoLine, options: Sequence[ItemOption]) -> Item:
    """An item whose right option, the first given, stands anywhere."""
    name = f"{task}-{video.id}"
    order = permutation(len(options), 0, "mimic-mini", name)
    return Item(
        id=name,
        task=task,
        video=video.ref,
        options=tuple(options[place] for place in order),
        key=order.index(0),
    )
