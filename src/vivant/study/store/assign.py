"""Who judges what: places are assigned so that every item ends with exactly its number of judgements.

A place is one of the judgements that an item is to get. Places are assigned to a person all at once, in one
transaction at a time, and stay theirs until finished or until no sign of life has come for the study's time-out. The
database refuses a second holder of a place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from sqlalchemy import Connection, bindparam, func, insert, select, text, update

from vivant.core.randomness import derive_generator, shuffled_indices
from vivant.study.balance import item_group
from vivant.study.design import Study, StudyItem
from vivant.study.store.statements import Statement
from vivant.study.store.store import get_setting, lock_study, log_event
from vivant.study.store.tables import assignments, participants

# SQLite takes the index of held places only for the very words that the index was made with, which "holds = 1" are not.
_HOLDS = text("assignments.holds")
_OPEN = (assignments.c.holds, assignments.c.finished.is_(None))
_COUNTED = (_HOLDS, assignments.c.slot.is_not(None))
_PERSON = Statement(
    select(participants.c.annotator, participants.c.excluded).where(
        participants.c.id == bindparam("participant_id")
    )
)
_MET = Statement(
    select(
        assignments.c.item, assignments.c.position, assignments.c.is_check, assignments.c.holds,
        assignments.c.finished,
    ).where(assignments.c.participant == bindparam("participant_id"))
)  # fmt: skip
_ASSIGN = Statement(
    insert(assignments).values(
        participant=bindparam("participant_id"), item=bindparam("item_id"), slot=bindparam("slot_index"),
        position=bindparam("position_index"),
        shown=bindparam("order"), is_check=bindparam("check_item"), holds=bindparam("held"),
    )
)  # fmt: skip
_UNFINISHED = Statement(
    select(func.count())
    .select_from(assignments)
    .where(assignments.c.participant == bindparam("participant_id"), *_OPEN)
)
_SILENT = Statement(
    select(participants.c.id, participants.c.annotator)
    .join(assignments, assignments.c.participant == participants.c.id)
    .where(participants.c.seen < bindparam("since"), participants.c.id != bindparam("except_id"), *_OPEN)
    .distinct()
)
_RELEASE = Statement(
    update(assignments)
    .where(assignments.c.participant == bindparam("participant_id"), *_OPEN)
    .values(holds=bindparam("held"))
)
_LOST = Statement(
    select(assignments.c.id, assignments.c.item, assignments.c.is_check)
    .where(assignments.c.participant == bindparam("participant_id"), assignments.c.holds.is_(False))
    .order_by(assignments.c.position)
)
_HOLD = Statement(
    update(assignments)
    .where(assignments.c.id == bindparam("assignment_id"))
    .values(holds=bindparam("held"), slot=bindparam("slot_index"))
)
_TAKEN = Statement(select(assignments.c.item, func.count()).where(*_COUNTED).group_by(assignments.c.item))
_SLOTS = Statement(select(assignments.c.slot).where(assignments.c.item == bindparam("item_id"), *_COUNTED))


class ItemCandidate(Struct, frozen=True, kw_only=True):
    """An item that may be assigned, with how many of its places are open."""

    item: str
    group: str
    values: tuple[str, ...] = ()
    """Of the facets over which a person's items are spread."""
    open: int = 1


def choose_items(candidates: Sequence[ItemCandidate], count: int, seed: int, *names: str) -> list[str]:
    """Up to `count` items for one person, no group twice.

    First come the groups that the remaining people could no longer use up: if the open places suffice for R more
    people, a group with R open places must be given to each of them. Within a group, and then among all others, the
    values that are furthest behind their share of all open places come first, and of their items one with the most open
    places. Ties are broken by chance derived from `names`.
    """
    total = sum(candidate.open for candidate in candidates)
    if not total or not count:
        return []
    people = -(-total // count)
    group_open: Counter[str] = Counter()
    shares: list[Counter[str]] = [Counter() for _ in candidates[0].values]
    for candidate in candidates:
        group_open[candidate.group] += candidate.open
        for share, value in zip(shares, candidate.values, strict=True):
            share[value] += candidate.open
    rng = derive_generator(seed, "items", *names)
    drawn = {candidate.item: rng.random() for candidate in candidates}
    ranked = sorted(candidates, key=lambda c: (-c.open, -group_open[c.group], drawn[c.item]))
    chosen: list[str] = []
    used: set[str] = set()
    own_counts: list[Counter[str]] = [Counter() for _ in shares]

    def take(candidate: ItemCandidate) -> None:
        chosen.append(candidate.item)
        used.add(candidate.group)
        for counted, value in zip(own_counts, candidate.values, strict=True):
            counted[value] += 1

    def lag(values: tuple[str, ...]) -> float:
        return round(
            sum(
                (counted[v] + 1) / share[v]
                for counted, share, v in zip(own_counts, shares, values, strict=True)
            ),
            9,
        )

    def spread(candidates: Sequence[ItemCandidate]) -> None:
        """Take items, one of a group, always of the values that are furthest behind."""
        cells: dict[tuple[str, ...], list[ItemCandidate]] = {}
        for candidate in candidates:
            cells.setdefault(candidate.values, []).append(candidate)
        while len(chosen) < count:
            heads = []
            for values, waiting in cells.items():
                while waiting and waiting[0].group in used:
                    waiting.pop(0)
                if waiting:
                    heads.append((lag(values), -waiting[0].open, drawn[waiting[0].item], waiting[0]))
            if not heads:
                return
            take(min(heads, key=lambda head: head[:3])[3])

    spread([c for c in ranked if group_open[c.group] >= people])
    spread(ranked)
    return chosen


def describe_balance(study: Study, items: Sequence[StudyItem], most_people: int = 50) -> list[str]:
    """How evenly each participant's items are spread, a line for each facet: found by giving places to the first
    participants who get their full number of items."""
    by_id = {item.id: item for item in items}
    left = {item.id: study.judgements_per_item for item in items if not item.check}
    values = {facet: [by_id[name].facets.get(facet, "") for name in left] for facet in study.balance}
    counts: dict[str, list[int]] = {facet: [] for facet in study.balance}
    for person in range(most_people if study.balance else 0):
        candidates = _list_candidates(study, by_id, left)
        chosen = choose_items(candidates, study.items_per_participant, study.seed, str(person))
        if len(chosen) < study.items_per_participant:
            break
        for name in chosen:
            left[name] -= 1
        for facet, levels in values.items():
            own = Counter(by_id[name].facets.get(facet, "") for name in chosen)
            counts[facet] += [own[level] for level in set(levels)]
    return [
        f"balance over '{facet}': a participant gets {min(seen)} to {max(seen)} items of each value, "
        f"{sum(seen) / len(seen):.1f} on average"
        for facet, seen in counts.items()
        if seen
    ]


def _list_candidates(
    study: Study, items: Mapping[str, StudyItem], left: Mapping[str, int]
) -> list[ItemCandidate]:
    return [
        ItemCandidate(
            item=name,
            group=item_group(items[name]),
            values=tuple(items[name].facets.get(facet, "") for facet in study.balance),
            open=open_places,
        )
        for name, open_places in left.items()
        if open_places > 0
    ]


def order_items(items: Sequence[str], checks: Sequence[str], seed: int, *names: str) -> list[str]:
    """The order in which one person meets items, with the checks spread among them and none at the start."""
    order = [items[index] for index in shuffled_indices(len(items), seed, "sequence", *names)]
    rng = derive_generator(seed, "checks", *names)
    for number, check in enumerate(checks):
        low = len(items) * number // len(checks)
        high = len(items) * (number + 1) // len(checks)
        order.insert(number + rng.randint(min(low + 1, high), high), check)
    return order


def draw_order(item: StudyItem, seed: int, annotator: str) -> tuple[int, ...]:
    """The order in which a person sees an item's options or parts. The annotator's hash is salted, so nobody outside
    can work it out."""
    return shuffled_indices(len(item.options) or len(item.parts), seed, "order", annotator, item.id)


def assign_items(
    connection: Connection, now: float, participant: int, study: Study, items: Iterable[StudyItem]
) -> int:
    """Assign a person the places that they are to have, as far as there are any; how many are unfinished.

    Reclaims their own places that were released, where they are still open, before it assigns new ones.
    """
    lock_study(connection)
    release_silent(connection, now, study.place_timeout, keep=participant)
    reclaim(connection, participant)
    person = _PERSON.first(connection, participant_id=participant)
    assert person is not None
    annotator, excluded = person
    rows = _MET.rows(connection, participant_id=participant)
    all_items = list(items)
    by_id = {item.id: item for item in all_items}
    met = {item_group(by_id[item]) for item, *_ in rows if item in by_id}
    assigned = sum(not check and (holds or finished is not None) for _, _, check, holds, finished in rows)
    position = max((position for _, position, *_ in rows), default=-1) + 1
    needed = max(0, study.items_per_participant - assigned)
    if needed and not excluded:
        target = int(get_setting(connection, "target") or study.judgements_per_item)
        taken = _count_taken(connection)
        left = {
            item.id: target - taken[item.id]
            for item in all_items
            if not item.check and item_group(item) not in met
        }
        chosen = choose_items(_list_candidates(study, by_id, left), needed, study.seed, annotator)
        met |= {item_group(by_id[name]) for name in chosen}
        checks = _choose_checks(all_items, met, study, annotator) if chosen and not rows else []
        slots = _free_slots(connection, chosen, target)
        for index, name in enumerate(order_items(chosen, checks, study.seed, annotator)):
            _ASSIGN.change(
                connection, participant_id=participant, item_id=name, slot_index=slots.get(name),
                position_index=position + index,
                order=draw_order(by_id[name], study.seed, annotator), check_item=by_id[name].check, held=True,
            )  # fmt: skip
    unfinished = _UNFINISHED.first(connection, participant_id=participant)
    return int(unfinished[0]) if unfinished else 0


def release_silent(connection: Connection, now: float, timeout: float, *, keep: int | None = None) -> int:
    """Release the unfinished places of people who have gone silent; how many. `keep` keeps theirs."""
    total = 0
    for person, annotator in _SILENT.rows(connection, since=now - timeout, except_id=keep or 0):
        released = _RELEASE.change(connection, participant_id=person, held=False)
        log_event(connection, now, "recycled", annotator, f"{released} unfinished")
        total += released
    return total


def reclaim(connection: Connection, participant: int) -> None:
    """Give a person back the places that they lost and that nobody took."""
    target = int(get_setting(connection, "target") or 0)
    person = _PERSON.first(connection, participant_id=participant)
    if person is None or person[1]:
        return
    for assignment, item, check in _LOST.rows(connection, participant_id=participant):
        slot = None if check else _free_slots(connection, [item], target).get(item, -1)
        if slot != -1:
            _HOLD.change(connection, assignment_id=assignment, held=True, slot_index=slot)


def _count_taken(connection: Connection) -> Counter[str]:
    return Counter({str(item): int(count) for item, count in _TAKEN.rows(connection)})


def _free_slots(connection: Connection, items: Sequence[str], target: int) -> dict[str, int]:
    """The first free place of each item that has one."""
    used = {item: {slot for (slot,) in _SLOTS.rows(connection, item_id=item)} for item in items}
    return {item: free for item, held in used.items() if (free := _first_gap(held)) < target}


def _first_gap(held: set[int]) -> int:
    return next(slot for slot in range(len(held) + 1) if slot not in held)


def _choose_checks(items: Iterable[StudyItem], met: set[str], study: Study, annotator: str) -> list[str]:
    candidates = [
        ItemCandidate(item=item.id, group=item_group(item))
        for item in items
        if item.check and item_group(item) not in met
    ]
    return choose_items(candidates, study.checks_per_participant, study.seed, annotator, "checks")
