"""Whether a study's places can give every item its judgements exactly, with nobody seeing a group twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from vivant_study.design import ITEMS_FILE, STUDY_FILE, Study, StudyItem


def item_group(item: StudyItem) -> str:
    """What nobody meets twice: the item's group, or the item itself."""
    # Told apart by a sign that no id begins with, so that an item named like a group is not taken for it.
    return item.group or f"\x1f{item.id}"


def list_place_sizes(judgements: int, per_participant: int) -> list[int]:
    """Items for each place: all full, and a smaller last one for what is left."""
    full, rest = divmod(judgements, per_participant)
    return [per_participant] * full + ([rest] if rest else [])


def count_shortage(groups: Sequence[int], judgements_per_item: int, per_participant: int) -> int:
    """How many judgements no place can give, for groups of so many items each.

    A group of g items needs g times the judgements of an item, each from another person. By the theorem of
    Gale and Ryser the most that can be had is the least, over k, of what the places give to the k largest
    groups plus all that the others need.
    """
    needs = sorted((size * judgements_per_item for size in groups), reverse=True)
    total = sum(needs)
    places = Counter(list_place_sizes(total, per_participant))
    most = remaining = total
    for k, need in enumerate(needs, 1):
        remaining -= need
        most = min(most, remaining + sum(min(size, k) * count for size, count in places.items()))
    return total - most


def find_largest_share(groups: Sequence[int], judgements_per_item: int, at_most: int) -> int:
    """The most items per participant, up to a bound, with which nothing is short."""
    bound = max(1, min(at_most, len(groups)))
    return next((n for n in range(bound, 1, -1) if not count_shortage(groups, judgements_per_item, n)), 1)


def list_judged(items: Sequence[StudyItem]) -> list[StudyItem]:
    """The items that count: no attention checks, no training."""
    return [item for item in items if not item.check and not item.training]


def count_places(study: Study, items: Sequence[StudyItem]) -> int:
    """How many people a study needs; where everybody stays in one queue, queue by queue."""
    judged = list_judged(items)
    queues = (
        Counter(item.facets.get(study.queue, "") for item in judged) if study.queue else {"": len(judged)}
    )
    return sum(
        len(list_place_sizes(size * study.judgements_per_item, min(size, study.items_per_participant)))
        for size in queues.values()
        if size
    )


def find_balance_faults(folder: Path, study: Study, items: Sequence[StudyItem]) -> Iterator[str]:
    """Numbers that cannot come true, with what to change."""
    judged = list_judged(items)
    groups = list(Counter(map(item_group, judged)).values())
    checks = len({item_group(item) for item in items if item.check})
    if checks < study.checks_per_participant:
        yield (
            f"{folder / STUDY_FILE}: checks_per_participant is {study.checks_per_participant}, but "
            f"{ITEMS_FILE} holds {checks} attention checks; add {study.checks_per_participant - checks} "
            f"items with `check`, or set it to {checks}"
        )
    if not groups or study.queue:
        # A queue is taken whole: whoever has it meets each of its groups once, as far as it holds them once.
        for queue, group in _find_repeated_groups(study, judged):
            yield (
                f"{folder / ITEMS_FILE}: the queue '{queue}' holds the group '{group}' twice, and nobody "
                "may meet it twice; give the items other groups, or other queues"
            )
        return
    short = count_shortage(groups, study.judgements_per_item, study.items_per_participant)
    if not short:
        return
    total = len(judged) * study.judgements_per_item
    fits = find_largest_share(groups, study.judgements_per_item, study.items_per_participant)
    reason = (
        f"nobody may meet one of the {len(groups)} groups twice"
        if len(groups) < len(judged)
        else f"there are only {len(judged)} items"
    )
    remedy = f"set items_per_participant to {fits}"
    if len(groups) < study.items_per_participant:
        remedy += f", or add items from {study.items_per_participant - len(groups)} more videos"
    yield (
        f"{folder / STUDY_FILE}: with items_per_participant {study.items_per_participant} and "
        f"judgements_per_item {study.judgements_per_item}, {short} of {total} judgements are short, because "
        f"{reason}; {remedy}"
    )


def _find_repeated_groups(study: Study, judged: Sequence[StudyItem]) -> Iterator[tuple[str, str]]:
    if study.queue:
        counts = Counter((item.facets.get(study.queue, ""), item_group(item)) for item in judged)
        yield from (pair for pair, count in counts.items() if count > 1)
