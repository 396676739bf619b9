"""Videos that must be watched, files that come by range, and time that runs out: the server's clock counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.study_kit import tiny_study
from tests.support.study_web import Clock, Walker, build_app, invite_walker, open_served_store
from vivant_study.design import Kind
from vivant_study.loading import LoadedStudy
from vivant_study.store import StudyStore
from vivant_study.store.people import invite


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., tuple[LoadedStudy, StudyStore, Any]]]:
    """Studies with their store and application."""
    stores: list[StudyStore] = []

    def make(kind: Kind = "mcq", **given: Any) -> tuple[LoadedStudy, StudyStore, Any]:
        own = {name: given.pop(name) for name in ("clock",) if name in given}
        loaded = tiny_study(tmp_path / f"study{len(stores)}", kind, **{"watch_whole": False, **given})
        stores.append(open_served_store(loaded, **own))
        return loaded, stores[-1], build_app(loaded, stores[-1])

    yield make
    for store in stores:
        store.close()


def test_watching(made: Any) -> None:
    clock = Clock()
    _, store, app = made(watch_whole=True, clock=clock)
    walker = invite_walker(app, store)
    name = walker.media[0].rpartition("/")[2]
    assert walker.next().status_code == 422
    assert "watch the video to its end" in walker.text
    assert walker.script("/study/watch", media=name, what="ended").status_code == 409, "never started"
    assert walker.script("/study/watch", media="0" * 32, what="started").status_code == 409
    assert walker.script("/study/watch", media=name, what="teleported").status_code == 400
    assert walker.script("/study/watch", media=name, what="started").status_code == 200
    clock.now += 2
    assert walker.script("/study/watch", media=name, what="ended", seconds=1.0).status_code == 200
    before = walker.page
    walker.next()
    assert walker.page != before


def test_an_end_that_comes_too_soon(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from vivant_study.server import media

    monkeypatch.setattr(media, "media_duration", lambda _: 30.0)
    clock = Clock()
    _, store, app = made(watch_whole=True, clock=clock)
    walker = invite_walker(app, store)
    name = walker.media[0].rpartition("/")[2]
    walker.script("/study/watch", media=name, what="started")
    clock.now += 20
    assert walker.script("/study/watch", media=name, what="ended", seconds=30).status_code == 409
    clock.now += 10
    assert walker.script("/study/watch", media=name, what="ended", seconds=10).status_code == 200


def test_a_start_that_is_reported_late(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a slow connection the reports follow the player by seconds: what was played still counts."""
    from vivant_study.server import media

    monkeypatch.setattr(media, "media_duration", lambda _: 10.0)
    clock = Clock()
    _, store, app = made(watch_whole=True, clock=clock)
    walker = invite_walker(app, store)
    name = walker.media[0].rpartition("/")[2]
    walker.client.get(walker.media[0])
    clock.now += 6
    walker.script("/study/watch", media=name, what="started")
    clock.now += 4
    assert walker.script("/study/watch", media=name, what="ended", seconds=10).status_code == 200


def test_waiting_is_not_watching(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a pause nor a reload of the page stands for the video."""
    from vivant_study.server import media

    monkeypatch.setattr(media, "media_duration", lambda _: 30.0)
    clock = Clock()
    _, store, app = made(watch_whole=True, clock=clock)
    walker = invite_walker(app, store)
    name = walker.media[0].rpartition("/")[2]
    walker.client.get(walker.media[0])
    walker.script("/study/watch", media=name, what="ready")
    clock.now += 100
    walker.get("/study")
    assert walker.next().status_code == 422, "fetched, never played"
    walker.script("/study/watch", media=name, what="started")
    walker.script("/study/watch", media=name, what="playing", seconds=2)
    clock.now += 100
    walker.script("/study/watch", media=name, what="playing", seconds=8)
    assert walker.script("/study/watch", media=name, what="ended").status_code == 409, (
        "paused after ten seconds"
    )
    assert walker.next().status_code == 422


def test_watching_and_leaving_are_exported(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from vivant_study.server import media

    monkeypatch.setattr(media, "media_duration", lambda _: 30.0)
    clock = Clock()
    _, store, app = made(watch_whole=True, time_limit=60, clock=clock)
    walker = invite_walker(app, store)
    name = walker.media[0].rpartition("/")[2]
    walker.script("/study/watch", media=name, what="started")
    clock.now += 31
    assert walker.script("/study/watch", media=name, what="ended", seconds=30).status_code == 200
    assert walker.script("/study/watch", media=name, what="started").status_code == 200
    assert walker.script("/study/watch", what="away", seconds=4.5).status_code == 200
    assert walker.script("/study/watch", what="away", seconds=-1).status_code == 400
    walker.next()
    name = walker.media[0].rpartition("/")[2]
    walker.script("/study/watch", media=name, what="started")
    walker.script("/study/save", fields={"choice": "1"})
    clock.now += 70
    walker.get("/study")
    first, second = store.judgements()
    assert (first.watched, first.played, first.plays, first.away, first.leaves) == ("whole", 30.0, 2, 4.5, 1)
    assert first.started and first.ended
    assert (second.watched, second.plays, second.ended) == ("part", 1, ""), "the time was up"


def test_the_instructions_tell_the_time_for_each_task(made: Any) -> None:
    _, store, app = made(time_limit=125)
    walker = Walker(app)
    walker.get(f"/join/{invite(store, 1)[0]}")
    walker.post("/study/consent", agree="yes")
    walker.send("/study/about", {"about.age": "1"})
    assert "Time for each task: 2:05 minutes." in walker.text


def test_a_report_that_is_sent_again_counts_once(made: Any) -> None:
    """The answer to a report may be lost on its way: the page then sends the report again."""
    clock = Clock()
    _, store, app = made(watch_whole=False, clock=clock)
    walker = invite_walker(app, store)
    name = walker.media[0].rpartition("/")[2]
    clock.now += 60
    for number, what, media, seconds in (
        ("a.1", "started", name, 0.0), ("a.2", "playing", name, 5.0), ("a.3", "playing", name, 5.0),
        ("a.4", "away", "", 3.0), ("a.5", "away", "", 3.0),
    ):  # fmt: skip
        for _ in range(2):
            sent = {"what": what, "media": media, "seconds": seconds, "report": number}
            assert walker.script("/study/watch", **sent).status_code == 200
            clock.now += 20
    assert walker.script("/study/watch", what="away", report="x" * 41).status_code == 400
    walker.next()
    (judgement,) = store.judgements()
    assert (judgement.plays, judgement.played) == (1, 10.0)
    assert (judgement.leaves, judgement.away) == (2, 6.0)


def test_without_scripts_the_time_since_fetching_counts(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from vivant_study.server import media

    monkeypatch.setattr(media, "media_duration", lambda _: 30.0)
    clock = Clock()
    _, store, app = made(watch_whole=True, clock=clock)
    walker = invite_walker(app, store)
    clock.now += 100
    assert walker.next().status_code == 422, "the file was never fetched"
    assert walker.client.get(walker.media[0]).status_code == 200
    assert walker.next().status_code == 422
    clock.now += 30
    before = walker.page
    walker.next()
    assert walker.page and walker.page != before
    assert [judgement.watched for judgement in store.judgements()] == ["unconfirmed"]


def test_media_by_range(made: Any) -> None:
    loaded, store, app = made()
    walker = invite_walker(app, store)
    whole = walker.client.get(walker.media[0])
    assert whole.status_code == 200
    assert whole.headers["content-type"] == "video/mp4"
    assert whole.content in {file.read_bytes() for file in loaded.media_root.iterdir()}
    part = walker.client.get(walker.media[0], headers={"range": "bytes=100-199"})
    assert part.status_code == 206
    assert part.content == whole.content[100:200]
    assert part.headers["content-range"] == f"bytes 100-199/{len(whole.content)}"
    assert walker.client.get(walker.media[0], headers={"range": "bytes=99999999-"}).status_code == 416


def test_time_is_up(made: Any) -> None:
    clock = Clock()
    _, store, app = made("free-then-mcq", time_limit=60, clock=clock)
    walker = invite_walker(app, store)
    assert 'data-left="60"' in walker.answer.text
    first = walker.page
    walker.script("/study/save", fields={"text": "half a th"})
    clock.now += 70
    walker.get("/study")
    assert "time for the last task was up" in walker.text
    assert walker.page != first
    result = [(j.page, j.answer, j.complete, j.late) for j in store.judgements()]
    assert result == [("free", "half a th", True, False), ("choose", None, True, False)]
    clock.now += 62
    assert walker.script("/study/save", fields={"text": "on its way"}).status_code == 200, "a moment of grace"


def test_the_time_for_an_item_outlasts_a_restart(made: Any) -> None:
    """What was written while the server was away is taken for a while, although the time was up meanwhile."""
    clock = Clock()
    _, store, app = made("free-then-mcq", time_limit=60, clock=clock)
    walker = invite_walker(app, store)
    first = walker.page
    clock.now += 300
    store.opened = clock.now
    clock.now += 15
    assert walker.script("/study/save", fields={"text": "an orange"}).status_code == 200
    walker.get("/study")
    assert (walker.page, 'data-left="5"' in walker.text) == (first, True)
    clock.now += 10
    walker.get("/study")
    assert "time for the last task was up" in walker.text
    assert 'data-left="60"' in walker.text, "the next item has its own time"
    assert [(j.answer, j.late) for j in store.judgements()][:1] == [("an orange", False)]


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("by", ["script", "form"])
def test_what_comes_after_the_time_is_kept_and_marked(made: Any, closed: bool, by: str) -> None:
    clock = Clock()
    _, store, app = made("free-then-mcq", time_limit=60, clock=clock)
    walker = invite_walker(app, store)
    first = walker.page
    walker.script("/study/save", fields={"text": "half a th"})
    clock.now += 400
    if closed:
        walker.get("/study")
    for _ in range(2):
        if by == "script":
            assert (
                walker.script("/study/save", page=first, fields={"text": "half a thought"}).status_code == 200
            )
        else:
            walker.send("/study/answer", {"page": first, "text": "half a thought"})
    walker.get("/study")
    result = [(j.page, j.answer, j.seconds, j.late) for j in store.judgements()]
    assert result == [("free", "half a thought", None, True), ("choose", None, None, False)]
    assert walker.page and walker.page != first


def test_a_page_that_was_answered_takes_nothing_late(made: Any) -> None:
    clock = Clock()
    _, store, app = made("free-then-mcq", time_limit=60, clock=clock)
    walker = invite_walker(app, store)
    first = walker.page
    walker.next()
    clock.now += 400
    walker.get("/study")
    answer = walker.script("/study/save", page=first, fields={"text": "second thoughts"})
    assert answer.status_code == 409
    assert walker.script("/study/save", page="0" * 24, fields={"text": "forged"}).status_code == 400
    assert [(j.answer, j.late) for j in store.judgements()] == [("a made-up deed", False), (None, False)]
