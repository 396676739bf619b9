"""Who judges what: places are assigned so that every item ends with exactly its number of judgements.

A place is one of the judgements that an item is to get. Places are assigned to a person all at once, in one
transaction at a time, and stay theirs until finished or until no sign of life has come for the study's time-out. The
database refuses a second holder of a place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, exists, func, insert, select, text, update

from vivant.core.randomness import derive_generator, shuffled_indices
from vivant_study.adaptive import choose_targets
from vivant_study.balance import item_group, list_judged
from vivant_study.design import Study, StudyItem
from vivant_study.item_pool import ItemPool
from vivant_study.store.statements import Statement
from vivant_study.store.store import log_event
from vivant_study.store.study_settings import get_setting, lock_places
from vivant_study.store.tables import assignments, judgements, participants

# SQLite takes the index of held places only for the very words that the index was made with, which "holds = 1" are not.
_HOLDS = text("assignments.holds")
_OPEN = (assignments.c.holds, assignments.c.finished.is_(None))
_COUNTED = (_HOLDS, assignments.c.slot.is_not(None))
_PERSON = Statement(
    select(participants.c.annotator, participants.c.excluded, participants.c.state).where(
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
    select(participants.c.id, participants.c.annotator).where(
        participants.c.seen < bindparam("since"),
        participants.c.id != bindparam("except_id"),
        # Who is through has no open places.
        participants.c.state == "consented",
        exists().where(assignments.c.participant == participants.c.id, *_OPEN),
    )
)
_RELEASE = Statement(
    update(assignments)
    .where(assignments.c.participant == bindparam("participant_id"), *_OPEN)
    .values(holds=bindparam("held"))
)
_LOST = Statement(
    select(assignments.c.id, assignments.c.item, assignments.c.is_check, assignments.c.finished)
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


_OVER = ("finished", "ended", "withdrawn")
"""States in which nobody goes on, so that nobody would release a place either."""
Places = NDArray[np.int64]
"""Places of each item, in the pool's order."""


class ItemCandidate(Struct, frozen=True, kw_only=True):
    """An item that may be assigned, with how many of its places are open."""

    item: str
    group: str
    values: tuple[str, ...] = ()
    """Of the facets over which a person's items are spread."""
    open: int = 1


def choose_items(candidates: Sequence[ItemCandidate], count: int, seed: int, *names: str) -> list[str]:
    """Up to `count` items for one person, no group twice, as `ItemPool.choose` has it."""
    pool = ItemPool(
        [candidate.item for candidate in candidates],
        [candidate.group for candidate in candidates],
        [candidate.values for candidate in candidates],
    )
    open_places = np.array([candidate.open for candidate in candidates], np.int64)
    return [pool.names[index] for index in pool.choose(open_places, count, seed, *names)]


class StudyItems:
    """A study's items, with what choosing among them needs."""

    def __init__(self, study: Study, items: Sequence[StudyItem]) -> None:
        self.items = items
        self.by_id = {item.id: item for item in items}
        self.group = {item.id: item_group(item) for item in items}
        self.checks = [item for item in items if item.check]
        self.training = [item.id for item in items if item.training]
        judged = list_judged(items)
        self.pool = ItemPool(
            [item.id for item in judged],
            [item_group(item) for item in judged],
            [tuple(item.facets.get(facet, "") for facet in study.balance) for item in judged],
        )
        self.taken: Places = np.zeros(len(judged), np.int64)
        """Places of each item that somebody has, as they were at the mark `counted_at` of the database."""
        self.counted_at = ""
        self.queues = [item.facets.get(study.queue, "") for item in judged] if study.queue else []


_KNOWN: list[tuple[Study, Sequence[StudyItem], StudyItems]] = []
"""The studies that this process serves: nearly always one."""


def prepare_items(study: Study, items: Sequence[StudyItem]) -> StudyItems:
    """The items of a study, prepared once."""
    for known, own, prepared in _KNOWN:
        if own is items and known is study:
            return prepared
    prepared = StudyItems(study, items)
    _KNOWN.append((study, items, prepared))
    del _KNOWN[:-4]
    return prepared


def describe_balance(study: Study, items: Sequence[StudyItem], most_people: int = 50) -> list[str]:
    """How evenly each participant's items are spread, a line for each facet: found by giving places to the first
    participants who get their full number of items. Where values are unequally frequent, each is told by itself."""
    prepared = StudyItems(study, items)
    pool, by_id = prepared.pool, prepared.by_id
    left = np.full(len(pool.names), study.judgements_per_item, np.int64)
    values = {facet: [by_id[name].facets.get(facet, "") for name in pool.names] for facet in study.balance}
    counts: dict[str, dict[str, list[int]]] = {
        facet: {level: [] for level in sorted(set(levels))} for facet, levels in values.items()
    }
    for person in range(most_people if study.balance else 0):
        open_now = _keep_queue(study, prepared, left, None, str(person)) if study.queue else left
        chosen = pool.choose(open_now, study.items_per_participant, study.seed, str(person))
        if len(chosen) < study.items_per_participant:
            break
        left[chosen] -= 1
        for facet, levels in values.items():
            own = Counter(levels[index] for index in chosen)
            for level, seen in counts[facet].items():
                seen.append(own[level])
    return [
        f"balance over '{facet}': a participant gets {_describe_spread(seen, Counter(values[facet]))}"
        for facet, seen in counts.items()
        if all(seen.values())
    ]


def _describe_spread(counts: Mapping[str, list[int]], items: Mapping[str, int]) -> str:
    """How many items of each value people get. `items`: how many there are of each."""

    def describe(seen: list[int], what: str) -> str:
        return f"{min(seen)} to {max(seen)} {what}, {sum(seen) / len(seen):.1f} on average"

    if len(set(items.values())) == 1:
        return describe([count for seen in counts.values() for count in seen], "items of each value")
    return "; ".join(describe(seen, f"of '{level}'") for level, seen in counts.items())


def order_items(items: Sequence[str], checks: Sequence[str], seed: int, *names: str) -> list[str]:
    """The order in which one person meets items, with the checks spread among them and none at the start."""
    order = [items[index] for index in shuffled_indices(len(items), seed, "sequence", *names)]
    rng = derive_generator(seed, "checks", *names)
    for number, check in enumerate(checks):
        low = len(items) * number // len(checks)
        high = len(items) * (number + 1) // len(checks)
        order.insert(number + rng.randint(min(low + 1, high), high), check)
    return order


def draw_order(item: StudyItem, seed: int, reader: str) -> tuple[int, ...]:
    """The order in which a person sees an item's options or parts. `reader` is the annotator's hash, which is salted,
    so nobody outside can work it out; empty where everybody sees one order."""
    return shuffled_indices(len(item.options) or len(item.parts), seed, "order", reader, item.id)


def assign_items(
    connection: Connection, now: float, participant: int, study: Study, items: Sequence[StudyItem]
) -> int:
    """Assign a person the places that they are to have, as far as there are any; how many are unfinished.

    Reclaims their own places that were released, where they are still open, before it assigns new ones.
    """
    before, after = lock_places(connection)
    changed = release_silent(connection, now, study.place_timeout, keep=participant)
    changed += reclaim(connection, participant)
    person = _PERSON.first(connection, participant_id=participant)
    assert person is not None
    annotator, excluded, state = person
    rows = _MET.rows(connection, participant_id=participant)
    prepared = prepare_items(study, items)
    by_id, pool = prepared.by_id, prepared.pool
    seen_groups = {prepared.group[item] for item, *_ in rows if item in by_id}
    assigned = sum(not check and (holds or finished is not None) for _, _, check, holds, finished in rows)
    position = max((position for _, position, *_ in rows), default=-1) + 1
    needed = max(0, study.items_per_participant - assigned)
    # Their visit may have ended, in another window, since the page was asked for.
    if needed and not excluded and state not in _OVER:
        target = int(get_setting(connection, "target") or study.judgements_per_item)
        disputed = _find_disputed(connection, study, target) if study.adaptive else {}
        if changed or prepared.counted_at != before:
            prepared.taken = _count_taken(connection, pool)
        left = _count_left(pool, prepared.taken, target, disputed)
        if seen_groups:
            left[[prepared.group[name] in seen_groups for name in pool.names]] = 0
        if study.queue:
            own = next((name for name, _, check, *_ in rows if not check and name in pool.index), None)
            left = _keep_queue(study, prepared, left, own, annotator)
        chosen = [pool.names[index] for index in pool.choose(left, needed, study.seed, annotator)]
        seen_groups |= {prepared.group[name] for name in chosen}
        checks = _choose_checks(prepared.checks, seen_groups, study, annotator) if chosen and not rows else []
        training = prepared.training if chosen and not rows else []
        slots = _free_slots(connection, chosen, target, disputed)
        prepared.taken[[pool.index[name] for name in slots]] += 1
        prepared.counted_at = after
        reader = "" if study.same_order else annotator
        if study.same_order:
            chosen.sort()
        for index, name in enumerate([*training, *order_items(chosen, checks, study.seed, reader)]):
            _ASSIGN.change(
                connection, participant_id=participant, item_id=name, slot_index=slots.get(name),
                position_index=position + index,
                order=draw_order(by_id[name], study.seed, reader),
                check_item=by_id[name].check or by_id[name].training, held=True,
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


def reclaim(connection: Connection, participant: int) -> int:
    """Give a person back the places that they lost and that nobody took; how many.

    Whose visit has ended gets back only what they finished: nobody would ever release the rest.
    """
    target = int(get_setting(connection, "target") or 0)
    person = _PERSON.first(connection, participant_id=participant)
    count = 0
    if person is None or person[1]:
        return 0
    over = person[2] in _OVER
    for assignment, item, check, finished in _LOST.rows(connection, participant_id=participant):
        if over and finished is None:
            continue
        slot = None if check else _free_slots(connection, [item], target).get(item, -1)
        if slot != -1:
            count += _HOLD.change(connection, assignment_id=assignment, held=True, slot_index=slot)
    return count


def _count_taken(connection: Connection, pool: ItemPool) -> Places:
    """How many places of each item somebody has."""
    taken = np.zeros(len(pool.names), np.int64)
    # Lists of numbers, not of pairs: NumPy takes them five times as fast.
    index = pool.index
    rows = [row for row in _TAKEN.rows(connection) if row[0] in index]
    taken[[index[row[0]] for row in rows]] = np.array([row[1] for row in rows], np.int64)
    return taken


def _count_left(pool: ItemPool, taken: Places, target: int, more: Mapping[str, int]) -> Places:
    """Open places of each item; `more` says which items have more than `target`."""
    places = np.full(len(pool.names), target, np.int64)
    for name, count in more.items():
        places[pool.index[name]] = count
    left: Places = places - taken
    return left


def _free_slots(
    connection: Connection, items: Sequence[str], target: int, more: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The first free place of each item that has one; `more` says which items have more than `target`."""
    used = {item: {slot for (slot,) in _SLOTS.rows(connection, item_id=item)} for item in items}
    targets = more or {}
    return {
        item: free for item, held in used.items() if (free := _first_gap(held)) < targets.get(item, target)
    }


def _keep_queue(study: Study, prepared: StudyItems, left: Places, own: str | None, annotator: str) -> Places:
    """Only the places of one queue: the person's own, else the one with the most open places."""
    pool, queues = prepared.pool, prepared.queues
    if own is not None:
        queue = queues[pool.index[own]]
    else:
        places: Counter[str] = Counter()
        for name, count in zip(queues, left.tolist(), strict=True):
            places[name] += max(0, count)
        most = max(places.values(), default=0)
        fullest = sorted(name for name, count in places.items() if count == most)
        queue = fullest[shuffled_indices(len(fullest), study.seed, "queue", annotator)[0]] if fullest else ""
    return np.where(np.array([name == queue for name in queues], bool), left, 0)


def _find_disputed(connection: Connection, study: Study, target: int) -> dict[str, int]:
    """How many judgements disputed items get: of those that have their usual number, all of them finished."""
    rows = connection.execute(
        select(
            assignments.c.item,
            assignments.c.participant,
            judgements.c.page,
            judgements.c.part,
            judgements.c.answer,
        )
        .join(judgements, judgements.c.assignment == assignments.c.id)
        .where(*_COUNTED, assignments.c.finished.is_not(None))
    )
    answers: dict[str, dict[tuple[str, str], list[Any]]] = {}
    people: dict[str, set[int]] = {}
    for item, person, page, part, answer in rows:
        answers.setdefault(item, {}).setdefault((page, part), []).append(answer)
        people.setdefault(item, set()).add(person)
    ready = {item: given for item, given in answers.items() if len(people[item]) >= target}
    return choose_targets(study, target, ready)


def _first_gap(held: set[int]) -> int:
    return next(slot for slot in range(len(held) + 1) if slot not in held)


def _choose_checks(
    items: Sequence[StudyItem], seen_groups: set[str], study: Study, annotator: str
) -> list[str]:
    candidates = [
        ItemCandidate(item=item.id, group=item_group(item))
        for item in items
        if item_group(item) not in seen_groups
    ]
    return choose_items(candidates, study.checks_per_participant, study.seed, annotator, "checks")
