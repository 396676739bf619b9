"""Who judges what: places are given so that every item ends with exactly its number of judgements.

A place is one of the judgements that an item is to get. Places are given to a person all at once, in one transaction at
a time, and stay theirs until finished or until no sign of life has come for the study's time-out. The database
refuses a second holder of a place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from sqlalchemy import Connection, func, insert, select, update

from vivant.chance import generator, permutation
from vivant.study.balance import group_of
from vivant.study.design import Study, StudyItem
from vivant.study.store.store import lock_study, note, setting
from vivant.study.store.tables import assignments, participants


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
    chance = generator(seed, "items", *names)
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
    order = [items[place] for place in permutation(len(items), seed, "sequence", *names)]
    chance = generator(seed, "checks", *names)
    for number, check in enumerate(checks):
        low = len(items) * number // len(checks)
        high = len(items) * (number + 1) // len(checks)
        order.insert(number + chance.randint(min(low + 1, high), high), check)
    return order


def shown_order(item: StudyItem, seed: int, annotator: str) -> tuple[int, ...]:
    """The order in which a person sees an item's options or parts. The annotator's hash is salted, so nobody outside
    can work it out."""
    return permutation(len(item.options) or len(item.parts), seed, "order", annotator, item.id)


def give(
    connection: Connection, now: float, participant: int, study: Study, items: Iterable[StudyItem]
) -> int:
    """See that a person has the places that they are to have, as far as there are any; how many are unfinished.

    Takes back their own places that were given on, where they are still open, before it gives new ones.
    """
    lock_study(connection)
    recycle(connection, now, study.place_timeout, but=participant)
    hold_again(connection, participant)
    person = connection.execute(
        select(participants.c.annotator, participants.c.excluded).where(participants.c.id == participant)
    ).one()
    rows = connection.execute(select(assignments).where(assignments.c.participant == participant)).all()
    known = list(items)
    by_id = {item.id: item for item in known}
    met = {group_of(by_id[row.item]) for row in rows if row.item in by_id}
    has = sum(1 for row in rows if not row.is_check and (row.holds or row.finished is not None))
    position = max((row.position for row in rows), default=-1) + 1
    wanted = max(0, study.items_per_participant - has)
    if wanted and not person.excluded:
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
        chosen = choose(candidates, wanted, study.seed, person.annotator)
        met |= {group_of(by_id[name]) for name in chosen}
        checks = _checks(known, met, study, person.annotator) if chosen and not rows else []
        slots = _free_slots(connection, chosen, target)
        for place, name in enumerate(sequence(chosen, checks, study.seed, person.annotator)):
            connection.execute(
                insert(assignments).values(
                    participant=participant,
                    item=name,
                    slot=slots.get(name),
                    position=position + place,
                    shown=shown_order(by_id[name], study.seed, person.annotator),
                    is_check=by_id[name].check,
                    holds=True,
                )
            )
    unfinished = select(func.count()).where(
        assignments.c.participant == participant, assignments.c.holds, assignments.c.finished.is_(None)
    )
    return connection.scalar(unfinished) or 0


def recycle(connection: Connection, now: float, timeout: float, *, but: int | None = None) -> int:
    """Open the unfinished places of people who have gone silent; how many."""
    silent = (
        select(participants.c.id, participants.c.annotator)
        .join(assignments, assignments.c.participant == participants.c.id)
        .where(
            participants.c.seen < now - timeout,
            assignments.c.holds,
            assignments.c.finished.is_(None),
            participants.c.id != (but or 0),
        )
        .distinct()
    )
    freed = 0
    for person, annotator in connection.execute(silent).all():
        released = connection.execute(
            update(assignments)
            .where(assignments.c.participant == person, assignments.c.holds, assignments.c.finished.is_(None))
            .values(holds=False)
        ).rowcount
        note(connection, now, "recycled", annotator, f"{released} unfinished")
        freed += released
    return freed


def hold_again(connection: Connection, participant: int) -> None:
    """Give a person back the places that they lost and that nobody took."""
    target = int(setting(connection, "target") or 0)
    lost = connection.execute(
        select(assignments)
        .where(assignments.c.participant == participant, assignments.c.holds.is_(False))
        .order_by(assignments.c.position)
    ).all()
    excluded = connection.scalar(select(participants.c.excluded).where(participants.c.id == participant))
    for row in lost if not excluded else ():
        slot = None if row.is_check else _free_slots(connection, [row.item], target).get(row.item, -1)
        if slot != -1:
            connection.execute(
                update(assignments).where(assignments.c.id == row.id).values(holds=True, slot=slot)
            )


def _taken(connection: Connection) -> Counter[str]:
    rows = connection.execute(
        select(assignments.c.item, func.count())
        .where(assignments.c.holds, assignments.c.slot.is_not(None))
        .group_by(assignments.c.item)
    )
    return Counter({row[0]: row[1] for row in rows})


def _free_slots(connection: Connection, items: Sequence[str], target: int) -> dict[str, int]:
    """The first free place of each item that has one."""
    used: dict[str, set[int]] = {item: set() for item in items}
    rows = connection.execute(
        select(assignments.c.item, assignments.c.slot).where(
            assignments.c.holds, assignments.c.slot.is_not(None), assignments.c.item.in_(items)
        )
    )
    for item, slot in rows:
        used[item].add(slot)
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
