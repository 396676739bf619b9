"""Who judges what: places are given so that every item ends with exactly its number of judgements.

A place is one of the judgements that an item is to get. Places are given to a person all at once, in one transaction at
a time, and stay theirs until finished or until no sign of life has come for the study's time-out. The database
refuses a second holder of a place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from sqlalchemy import Connection, bindparam, func, insert, select, text, update

from vivant.core.randomness import derive_generator, shuffled_indices
from vivant.study.balance import group_of
from vivant.study.design import Study, StudyItem
from vivant.study.store.statements import Prepared
from vivant.study.store.store import lock_study, note, setting
from vivant.study.store.tables import assignments, participants

# SQLite takes the index of held places only for the very words that the index was made with, which "holds = 1" are not.
_HOLDS = text("assignments.holds")
_OPEN = (assignments.c.holds, assignments.c.finished.is_(None))
_COUNTED = (_HOLDS, assignments.c.slot.is_not(None))
_PERSON = Prepared(
    select(participants.c.annotator, participants.c.excluded).where(participants.c.id == bindparam("who"))
)
_MET = Prepared(
    select(
        assignments.c.item, assignments.c.position, assignments.c.is_check, assignments.c.holds,
        assignments.c.finished,
    ).where(assignments.c.participant == bindparam("who"))
)  # fmt: skip
_GIVE = Prepared(
    insert(assignments).values(
        participant=bindparam("who"), item=bindparam("what"), slot=bindparam("which"), position=bindparam("place"),
        shown=bindparam("order"), is_check=bindparam("check"), holds=bindparam("held"),
    )
)  # fmt: skip
_UNFINISHED = Prepared(
    select(func.count()).select_from(assignments).where(assignments.c.participant == bindparam("who"), *_OPEN)
)
_SILENT = Prepared(
    select(participants.c.id, participants.c.annotator)
    .join(assignments, assignments.c.participant == participants.c.id)
    .where(participants.c.seen < bindparam("since"), participants.c.id != bindparam("but"), *_OPEN)
    .distinct()
)
_RELEASE = Prepared(
    update(assignments)
    .where(assignments.c.participant == bindparam("who"), *_OPEN)
    .values(holds=bindparam("held"))
)
_LOST = Prepared(
    select(assignments.c.id, assignments.c.item, assignments.c.is_check)
    .where(assignments.c.participant == bindparam("who"), assignments.c.holds.is_(False))
    .order_by(assignments.c.position)
)
_HOLD = Prepared(
    update(assignments)
    .where(assignments.c.id == bindparam("where"))
    .values(holds=bindparam("held"), slot=bindparam("which"))
)
_TAKEN = Prepared(select(assignments.c.item, func.count()).where(*_COUNTED).group_by(assignments.c.item))
_SLOTS = Prepared(select(assignments.c.slot).where(assignments.c.item == bindparam("what"), *_COUNTED))


class Candidate(Struct, frozen=True, kw_only=True):
    """An item that may be given, with how many of its places are open."""

    item: str
    group: str
    values: tuple[str, ...] = ()
    """Of the facets over which a person's items are spread."""
    open: int = 1


def choose(candidates: Sequence[Candidate], count: int, seed: int, *names: str) -> list[str]:
    """Up to `count` items for one person, no group twice.

    First what the remaining people could no longer use up: if the open places suffice for R more people, a group with R
    open places must be given to each of them. Then, of the values that are furthest behind their share of all open
    places, an item with the most open places. Ties are broken by chance derived from `names`.
    """
    total = sum(candidate.open for candidate in candidates)
    if not total or not count:
        return []
    people = -(-total // count)
    of_group: Counter[str] = Counter()
    shares: list[Counter[str]] = [Counter() for _ in candidates[0].values]
    for candidate in candidates:
        of_group[candidate.group] += candidate.open
        for share, value in zip(shares, candidate.values, strict=True):
            share[value] += candidate.open
    chance = derive_generator(seed, "items", *names)
    drawn = {candidate.item: chance.random() for candidate in candidates}
    ranked = sorted(candidates, key=lambda c: (-c.open, -of_group[c.group], drawn[c.item]))
    chosen: list[str] = []
    used: set[str] = set()
    mine: list[Counter[str]] = [Counter() for _ in shares]

    def take(candidate: Candidate) -> None:
        chosen.append(candidate.item)
        used.add(candidate.group)
        for counted, value in zip(mine, candidate.values, strict=True):
            counted[value] += 1

    cells: dict[tuple[str, ...], list[Candidate]] = {}
    for candidate in ranked:
        cells.setdefault(candidate.values, []).append(candidate)

    def behind(values: tuple[str, ...]) -> float:
        return round(
            sum((counted[v] + 1) / share[v] for counted, share, v in zip(mine, shares, values, strict=True)),
            9,
        )

    urgent = [c for c in ranked if of_group[c.group] >= people]
    for candidate in sorted(urgent, key=lambda c: -of_group[c.group]):
        if len(chosen) < count and candidate.group not in used:
            take(candidate)
    while len(chosen) < count:
        heads = []
        for values, waiting in cells.items():
            while waiting and waiting[0].group in used:
                waiting.pop(0)
            if waiting:
                heads.append((behind(values), -waiting[0].open, drawn[waiting[0].item], waiting[0]))
        if not heads:
            break
        take(min(heads, key=lambda head: head[:3])[3])
    return chosen


def sequence(items: Sequence[str], checks: Sequence[str], seed: int, *names: str) -> list[str]:
    """The order in which one person meets items, with the checks spread among them and none at the start."""
    order = [items[place] for place in shuffled_indices(len(items), seed, "sequence", *names)]
    chance = derive_generator(seed, "checks", *names)
    for number, check in enumerate(checks):
        low = len(items) * number // len(checks)
        high = len(items) * (number + 1) // len(checks)
        order.insert(number + chance.randint(min(low + 1, high), high), check)
    return order


def shown_order(item: StudyItem, seed: int, annotator: str) -> tuple[int, ...]:
    """The order in which a person sees an item's options or parts. The annotator's hash is salted, so nobody outside
    can work it out."""
    return shuffled_indices(len(item.options) or len(item.parts), seed, "order", annotator, item.id)


def give(
    connection: Connection, now: float, participant: int, study: Study, items: Iterable[StudyItem]
) -> int:
    """See that a person has the places that they are to have, as far as there are any; how many are unfinished.

    Takes back their own places that were given on, where they are still open, before it gives new ones.
    """
    lock_study(connection)
    recycle(connection, now, study.place_timeout, but=participant)
    hold_again(connection, participant)
    person = _PERSON.first(connection, who=participant)
    assert person is not None
    annotator, excluded = person
    rows = _MET.rows(connection, who=participant)
    known = list(items)
    by_id = {item.id: item for item in known}
    met = {group_of(by_id[item]) for item, *_ in rows if item in by_id}
    has = sum(not check and (holds or finished is not None) for _, _, check, holds, finished in rows)
    position = max((place for _, place, *_ in rows), default=-1) + 1
    wanted = max(0, study.items_per_participant - has)
    if wanted and not excluded:
        target = int(setting(connection, "target") or study.judgements_per_item)
        taken = _taken(connection)
        candidates = [
            Candidate(
                item=item.id,
                group=group_of(item),
                values=tuple(item.facets.get(facet, "") for facet in study.balance),
                open=target - taken[item.id],
            )
            for item in known
            if not item.check and taken[item.id] < target and group_of(item) not in met
        ]
        chosen = choose(candidates, wanted, study.seed, annotator)
        met |= {group_of(by_id[name]) for name in chosen}
        checks = _checks(known, met, study, annotator) if chosen and not rows else []
        slots = _free_slots(connection, chosen, target)
        for place, name in enumerate(sequence(chosen, checks, study.seed, annotator)):
            _GIVE.change(
                connection, who=participant, what=name, which=slots.get(name), place=position + place,
                order=shown_order(by_id[name], study.seed, annotator), check=by_id[name].check, held=True,
            )  # fmt: skip
    unfinished = _UNFINISHED.first(connection, who=participant)
    return int(unfinished[0]) if unfinished else 0


def recycle(connection: Connection, now: float, timeout: float, *, but: int | None = None) -> int:
    """Open the unfinished places of people who have gone silent; how many."""
    freed = 0
    for person, annotator in _SILENT.rows(connection, since=now - timeout, but=but or 0):
        released = _RELEASE.change(connection, who=person, held=False)
        note(connection, now, "recycled", annotator, f"{released} unfinished")
        freed += released
    return freed


def hold_again(connection: Connection, participant: int) -> None:
    """Give a person back the places that they lost and that nobody took."""
    target = int(setting(connection, "target") or 0)
    person = _PERSON.first(connection, who=participant)
    if person is None or person[1]:
        return
    for assignment, item, check in _LOST.rows(connection, who=participant):
        slot = None if check else _free_slots(connection, [item], target).get(item, -1)
        if slot != -1:
            _HOLD.change(connection, where=assignment, held=True, which=slot)


def _taken(connection: Connection) -> Counter[str]:
    return Counter({str(item): int(count) for item, count in _TAKEN.rows(connection)})


def _free_slots(connection: Connection, items: Sequence[str], target: int) -> dict[str, int]:
    """The first free place of each item that has one."""
    used = {item: {slot for (slot,) in _SLOTS.rows(connection, what=item)} for item in items}
    return {item: free for item, held in used.items() if (free := _first_gap(held)) < target}


def _first_gap(held: set[int]) -> int:
    return next(slot for slot in range(len(held) + 1) if slot not in held)


def _checks(items: Iterable[StudyItem], met: set[str], study: Study, annotator: str) -> list[str]:
    candidates = [
        Candidate(item=item.id, group=group_of(item))
        for item in items
        if item.check and group_of(item) not in met
    ]
    return choose(candidates, study.checks_per_participant, study.seed, annotator, "checks")
