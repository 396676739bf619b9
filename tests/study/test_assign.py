"""Who judges what: exactly balanced, also when everybody comes at once, leaves, comes back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.study_kit import tiny_study
from tests.support.study_web import Clock, fresh_postgres, open_served_store
from vivant.study.balance import count_shortage
from vivant.study.design import Study, StudyItem
from vivant.study.loading import LoadedStudy
from vivant.study.store import StudyStore, answers, assign
from vivant.study.store.assign import ItemCandidate, choose_items, describe_balance, order_items
from vivant.study.store.people import find_by_token, invite, keep_alive


def somebody(store: StudyStore, token: str | None = None) -> int:
    """Whose link that is; somebody new without one."""
    token = token or invite(store, 1)[0]
    with store.database.read() as connection:
        person = find_by_token(connection, store.secret, token)
    assert person is not None
    return person


def enter(store: StudyStore, loaded: LoadedStudy, token: str | None = None) -> tuple[int, int]:
    """Somebody comes and is given places: who, and how many."""
    person = somebody(store, token)

    def job(connection: Any) -> int:
        keep_alive(connection, person, store.clock())
        return assign.assign_items(connection, store.clock(), person, loaded.study, loaded.items)

    return person, store.database.write(job)


def work(store: StudyStore, loaded: LoadedStudy, person: int, most: int = 100) -> list[str]:
    """Answer up to so many items; which."""
    done = []
    for _ in range(most):
        with store.database.read() as connection:
            way = answers.load_state(connection, loaded.study, person)
        if way is None or way.current is None:
            break
        current = way.current
        store.database.write(answers.open_page(store, loaded.study, person, current.assignment, current.page))
        store.database.write(answers.finish_page(store, loaded.study, person, lambda _: {"": 0}))
        done.append(current.item)
    return done


# ── the choice itself ──


@settings(max_examples=300, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=2, max_size=10),
    judgements=st.integers(1, 4),
    share=st.integers(1, 6),
    seed=st.integers(0, 1000),
)
def test_whatever_can_be_balanced_ends_exactly_balanced(
    sizes: list[int], judgements: int, share: int, seed: int
) -> None:
    if count_shortage(sizes, judgements, share):
        return
    items = [(f"{group}-{n}", str(group)) for group, size in enumerate(sizes) for n in range(size)]
    left = {name: judgements for name, _ in items}
    groups = dict(items)
    person = 0
    while sum(left.values()):
        candidates = [
            ItemCandidate(item=name, group=group, values=(name[-1],), open=left[name])
            for name, group in items
            if left[name]
        ]
        chosen = choose_items(candidates, share, seed, str(person))
        assert chosen
        assert len({groups[name] for name in chosen}) == len(chosen), "no group twice"
        for name in chosen:
            left[name] -= 1
        person += 1
    assert person == -(-len(items) * judgements // share), "with no more people than the places need"


def test_facets_are_spread_evenly_over_each_person() -> None:
    left = {f"{a}{b}{n}": 4 for a in "xy" for b in "pqr" for n in range(3)}
    for person in range(12):
        candidates = [
            ItemCandidate(item=name, group=name, values=(name[0], name[1]), open=count)
            for name, count in left.items()
            if count
        ]
        chosen = choose_items(candidates, 6, 7, str(person))
        assert Counter(name[0] for name in chosen) == {"x": 3, "y": 3}
        assert Counter(name[1] for name in chosen) == {"p": 2, "q": 2, "r": 2}
        for name in chosen:
            left[name] -= 1
        assert max(left.values()) - min(left.values()) <= 1
    assert set(left.values()) == {0}


def test_facets_are_spread_where_everyone_gets_every_group() -> None:
    """MIME's design: 17 actions in ten variants, each person names every action once."""
    items = [
        StudyItem(id=f"{action}-{variant}", group=f"{action}", facets={"variant": f"{variant}"})
        for action in range(17)
        for variant in range(10)
    ]
    study = Study(
        kind="mcq",
        title={"en": "MIME"},
        balance=("variant",),
        items_per_participant=17,
        judgements_per_item=3,
    )
    assert describe_balance(study, items) == [
        "balance over 'variant': a participant gets 1 to 3 items of each value, 1.7 on average"
    ]


def test_choices_are_derived_from_the_person() -> None:
    candidates = [ItemCandidate(item=str(n), group=str(n)) for n in range(30)]
    one = choose_items(candidates, 10, 0, "anna")
    assert one == choose_items(list(reversed(candidates))[::-1], 10, 0, "anna")
    assert one != choose_items(candidates, 10, 0, "ben")


def test_checks_lie_among_the_items() -> None:
    for person in range(50):
        order = order_items([f"i{n}" for n in range(6)], ["c1", "c2"], 0, str(person))
        assert sorted(order) == ["c1", "c2", "i0", "i1", "i2", "i3", "i4", "i5"]
        assert order[0] not in ("c1", "c2")
        assert order.index("c1") < order.index("c2")


# ── in a store ──


@pytest.mark.parametrize("url", [lambda: None, fresh_postgres], ids=["sqlite", "postgresql"])
def test_everybody_at_once(tmp_path: Path, url: Callable[[], str | None]) -> None:
    loaded = tiny_study(
        tmp_path / "study",
        count=12,
        items_per_participant=4,
        judgements_per_item=5,
        balance=("angle",),
        checks=2,
    )
    with open_served_store(loaded, url()) as store:
        tokens = invite(store, 20)
        ready = threading.Barrier(len(tokens))
        failed: list[BaseException] = []

        def come(token: str) -> None:
            try:
                ready.wait()
                person, count = enter(store, loaded, token)
                if count:
                    work(store, loaded, person)
            except BaseException as error:
                failed.append(error)
                raise

        threads = [threading.Thread(target=come, args=(token,)) for token in tokens]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        progress = store.progress()
        assert [line.finished for line in progress.items] == [5] * 12
        assert progress.open == progress.held == 0
        by_person: dict[str, list[str]] = {}
        for judgement in store.judgements():
            if not judgement.check:
                by_person.setdefault(judgement.annotator, []).append(judgement.item)
        assert len(by_person) == 15, "the last five found all places taken"
        for items in by_person.values():
            assert len(set(items)) == len(items) == 4
            assert Counter(loaded.by_id[item].facets["angle"] for item in items) == {"0": 2, "90": 2}


def test_abandoned_places_are_given_on(tmp_path: Path) -> None:
    clock = Clock()
    loaded = tiny_study(tmp_path / "study", count=3, judgements_per_item=1, place_timeout=600)
    with open_served_store(loaded, clock=clock) as store:
        gone, count = enter(store, loaded)
        assert count == 3
        work(store, loaded, gone, 1)
        assert enter(store, loaded)[1] == 0
        clock.now += 601
        heir, count = enter(store, loaded)
        assert count == 2, "the finished one stays with who finished it"
        assert len(work(store, loaded, heir)) == 2
        assert [line.finished for line in store.progress().items] == [1, 1, 1]
        assert enter(store, loaded)[1] == 0
        assert [event.kind for event in store.events() if event.kind == "recycled"] == ["recycled"]


def test_who_comes_back_in_time_to_find_their_places(tmp_path: Path) -> None:
    clock = Clock()
    loaded = tiny_study(tmp_path / "study", count=4, items_per_participant=2, judgements_per_item=1)
    with open_served_store(loaded, clock=clock) as store:
        token, other = invite(store, 2)
        slow, _ = enter(store, loaded, token)
        clock.now += 5000
        with store.database.read() as connection:
            mine = answers.load_state(connection, loaded.study, slow)
        assert mine is not None and mine.current is not None
        enter(store, loaded, other)
        with store.database.read() as connection:
            mine = answers.load_state(connection, loaded.study, slow)
        assert mine is not None and mine.lost, "the places were opened when somebody else came"
        with pytest.raises(answers.StalePageError):
            store.database.write(answers.save_answers(store, loaded.study, slow, lambda _: {"": 0}))
        assert enter(store, loaded, token)[1] == 2, "nobody had taken them, or others are open"
        assert len(work(store, loaded, slow)) == 2
        held = Counter(line.item for line in store.progress().items if line.finished + line.held > 1)
        assert not held, "no place has two holders"


def test_nobody_meets_an_item_twice_whatever_happens(tmp_path: Path) -> None:
    clock = Clock()
    loaded = tiny_study(tmp_path / "study", count=6, groups=3, items_per_participant=2, judgements_per_item=2)
    groups = {item.id: item.group for item in loaded.items}
    with open_served_store(loaded, clock=clock) as store:
        tokens = invite(store, 8)
        met: dict[str, list[str]] = {}
        for turn in range(30):
            token = tokens[turn * 5 % len(tokens)]
            clock.now += 2000
            person, _ = enter(store, loaded, token)
            met.setdefault(token, []).extend(work(store, loaded, person, turn % 2))
        for items in met.values():
            assert len({groups[item] for item in items}) == len(items) <= 2
        assert all(line.finished <= 2 for line in store.progress().items)


def test_an_excluded_persons_places_go_to_others_and_can_come_back(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study", count=3, judgements_per_item=1)
    names = [item.id for item in loaded.items]
    with open_served_store(loaded) as store:
        person, _ = enter(store, loaded)
        work(store, loaded, person)
        (first,) = store.people()
        store.exclude(first.annotator, "asleep")
        assert store.progress(names).open == 3
        assert all(judgement.complete for judgement in store.judgements()), "nothing is deleted"
        store.exclude(first.annotator, "")
        assert store.progress(names).open == 0
        store.exclude(first.annotator, "asleep")
        other, count = enter(store, loaded)
        assert count == 3
        work(store, loaded, other)
        store.exclude(first.annotator, "")
        assert [line.finished for line in store.progress().items] == [1, 1, 1], "places taken stay taken"


def test_two_holders_of_a_place_are_refused_by_the_database(tmp_path: Path) -> None:
    from sqlalchemy import exc, insert

    from vivant.study.store.tables import assignments

    loaded = tiny_study(tmp_path / "study", count=3, judgements_per_item=1)
    with open_served_store(loaded) as store:
        enter(store, loaded)
        thief = somebody(store)
        line = insert(assignments).values(
            participant=thief, item="item-1", slot=0, position=0, shown=[], is_check=False, holds=True
        )
        with pytest.raises(exc.IntegrityError):
            store.database.write(lambda connection: connection.execute(line))
