"""Who judges what: exactly balanced, also when everybody comes at once, leaves, comes back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.study_kit import tiny_study
from tests.support.study_web import Clock, open_served_store
from vivant_study.balance import count_shortage
from vivant_study.loading import LoadedStudy, load_study
from vivant_study.store import StudyStore, answers, assign, open_store
from vivant_study.store.assign import ItemCandidate, choose_items, order_items
from vivant_study.store.attendance import record_fetch, record_playback
from vivant_study.store.database import Job
from vivant_study.store.participant_state import StalePageError, load_state
from vivant_study.store.people import (
    end_session,
    find_by_token,
    invite,
    keep_alive,
    load_row,
    record_consent,
    release,
    withdraw,
)
from vivant_study.store.study_settings import get_setting


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
        count = assign.assign_items(connection, store.clock(), person, loaded.study, loaded.items)
        record_consent(connection, person, store.clock())
        return count

    return person, store.database.write(job)


def work(store: StudyStore, loaded: LoadedStudy, person: int, most: int = 100) -> list[str]:
    """Answer up to so many items; which."""
    done = []
    for _ in range(most):
        with store.database.read() as connection:
            way = load_state(connection, loaded.study, person)
        if way is None or way.current is None:
            break
        current = way.current
        store.database.write(answers.open_page(store, current.assignment, current.page))
        store.database.write(
            answers.finish_page(store, loaded.study, person, lambda _: {"": 0}, loaded.by_id)
        )
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


def test_everybody_at_once(tmp_path: Path, url: str | None) -> None:
    loaded = tiny_study(
        tmp_path / "study",
        count=12,
        items_per_participant=4,
        judgements_per_item=5,
        balance=("angle",),
        checks=2,
    )
    with open_served_store(loaded, url) as store:
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
            mine = load_state(connection, loaded.study, slow)
        assert mine is not None and mine.current is not None
        enter(store, loaded, other)
        with store.database.read() as connection:
            mine = load_state(connection, loaded.study, slow)
        assert mine is not None and mine.lost, "the places were opened when somebody else came"
        with pytest.raises(StalePageError):
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


def test_who_is_taken_back_after_the_visit_ended_blocks_no_place(tmp_path: Path) -> None:
    """They cannot go on, so what they had not finished is others'."""
    loaded = tiny_study(tmp_path / "study", count=3, judgements_per_item=1)
    names = [item.id for item in loaded.items]
    with open_served_store(loaded) as store:
        person, _ = enter(store, loaded)
        work(store, loaded, person, 1)
        store.database.write(end_session(store, person, "failed_attention", "failed 2 attention checks"))
        (first,) = store.people()
        store.exclude(first.annotator, "")
        progress = store.progress(names)
        assert (progress.finished, progress.held, progress.open) == (1, 0, 2)
        other, count = enter(store, loaded)
        assert count == 2
        work(store, loaded, other)
        assert store.progress(names).finished == 3


@pytest.mark.parametrize("ending", ["withdrawn", "timed_out"])
def test_a_page_that_comes_after_the_visit_ended_in_another_window_takes_no_places(
    tmp_path: Path, ending: str
) -> None:
    loaded = tiny_study(tmp_path / "study", count=3, judgements_per_item=1)
    names = [item.id for item in loaded.items]
    with open_served_store(loaded) as store:
        person, _ = enter(store, loaded)
        end = withdraw(store, person) if ending == "withdrawn" else end_session(store, person, "timed_out")
        store.database.write(end)
        count = store.database.write(
            lambda c: assign.assign_items(c, store.clock(), person, loaded.study, loaded.items)
        )
        assert count == 0
        assert store.progress(names).open == 3


def test_two_holders_of_a_place_are_refused_by_the_database(tmp_path: Path) -> None:
    from sqlalchemy import exc, insert

    from vivant_study.store.tables import assignments

    loaded = tiny_study(tmp_path / "study", count=3, judgements_per_item=1)
    with open_served_store(loaded) as store:
        enter(store, loaded)
        thief = somebody(store)
        line = insert(assignments).values(
            participant=thief, item="item-1", slot=0, position=0, shown=[], is_check=False, holds=True
        )
        with pytest.raises(exc.IntegrityError):
            store.database.write(lambda connection: connection.execute(line))


def test_the_remembered_count_of_places_follows_every_change(tmp_path: Path, url: str | None) -> None:
    """Two servers on one database, and everything that takes or frees places between two arrivals."""
    loaded = tiny_study(tmp_path / "s", count=12, items_per_participant=3, judgements_per_item=4)
    twin = load_study(loaded.path)
    clock = Clock()

    def name(person: int) -> str:
        with store.database.read() as connection:
            row = load_row(connection, person)
        assert row is not None
        return str(row.annotator)

    def fail(connection: Any) -> None:
        assign.assign_items(connection, store.clock(), somewhere, loaded.study, loaded.items)
        raise ValueError("rolled back")

    with (
        open_served_store(loaded, url, clock=clock) as store,
        open_store(loaded.path, url, clock=clock) as other,
    ):
        first, second, third, fourth = (enter(store, loaded)[0] for _ in range(4))
        somewhere = somebody(store)
        changes: list[Callable[[], object]] = [
            lambda: enter(other, twin),
            lambda: store.database.write(withdraw(store, first)),
            lambda: release(other, name(second), "left"),
            lambda: store.database.write(end_session(store, third, "timed_out")),
            lambda: other.exclude(name(fourth), "careless"),
            lambda: other.exclude(name(fourth), ""),
            lambda: setattr(clock, "now", clock.now + 10_000),
            lambda: store.database.write(fail),
        ]
        for change in changes:
            try:
                change()
            except ValueError as error:
                assert str(error) == "rolled back"
            enter(store, loaded)
            enter(other, twin)
            for prepared in (
                assign.prepare_items(loaded.study, loaded.items),
                assign.prepare_items(twin.study, twin.items),
            ):
                with store.database.read() as connection:
                    now = get_setting(connection, "places")
                    counted = assign._count_taken(connection, prepared.pool)
                assert prepared.counted_at != now or prepared.taken.tolist() == counted.tolist()
            assert assign.prepare_items(twin.study, twin.items).counted_at == now


def test_a_browser_that_asks_for_a_video_in_pieces_is_noted_once(tmp_path: Path, url: str | None) -> None:
    """Range requests and the player's reports arrive together, in several threads."""
    loaded = tiny_study(tmp_path / "s", count=3)
    with open_served_store(loaded, url) as store, ThreadPoolExecutor(6) as threads:
        person, _ = enter(store, loaded)
        with store.database.read() as connection:
            state = load_state(connection, loaded.study, person)
        assert state is not None
        assert state.current is not None
        assignment = state.current.assignment
        jobs: list[Job[Any]] = []
        for media in range(20):
            jobs += [record_fetch(store, assignment, media)] * 3
            jobs += [record_playback(store, loaded.study, person, assignment, media, "started")] * 2
        list(threads.map(store.database.write, jobs))
        with store.database.read() as connection:
            state = load_state(connection, loaded.study, person)
        assert state is not None
        assert state.current is not None
        assert sorted(state.current.watches) == list(range(20))
        assert {watch.plays for watch in state.current.watches.values()} == {2}
        assert all(watch.fetched is not None for watch in state.current.watches.values())
