"""Videos and time limits in a real browser: players and networks that fail, time that runs out."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, expect

from tests.support.study_kit import OPTIONS
from tests.support.study_visitor import Visitor
from vivant.study.store.people import invite

pytest_plugins = ("tests.support.study_browser",)


def test_the_time_runs_out_while_the_server_is_away(browser: Browser, live: Any) -> None:
    """The page stays until the server is back, which then takes what was written."""
    address, store = live("free-then-mcq", watch_whole=False, time_limit=3)
    # As after a start that is never long ago, however slow this computer is.
    store.opened = store.clock() + 3600
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    page = person.page
    page.route("**/*", lambda route: route.abort())
    page.locator("textarea").fill("Someone peels an orange")
    expect(page.get_by_role("timer")).to_contain_text("0:00")
    # Later than a page whose server answers would have left.
    page.wait_for_timeout(4_500)
    expect(page.locator("#state")).to_contain_text("Not saved yet")
    page.unroute("**/*")
    expect(page.locator("textarea")).to_have_value("Someone peels an orange")
    expect(page.locator("#state")).not_to_contain_text("Not saved yet")
    (judgement,) = store.judgements()
    assert judgement.answer == "Someone peels an orange"
    person.close()


def test_a_video_is_watched_before_the_answer_counts(browser: Browser, live: Any) -> None:
    address, store = live("free-then-mcq")
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    page = person.page
    expect(page.locator("#next")).to_be_disabled()
    expect(page.locator("#hint")).to_contain_text("watch the video")
    page.locator("textarea").fill("x")
    expect(page.locator("#state")).to_have_text("Saved")
    assert not any(option in page.content() for option in OPTIONS)
    person.play()
    expect(page.get_by_text("Watched to the end.")).to_be_visible()
    page.get_by_role("button", name="Play again").click()
    page.reload()
    expect(page.locator("#next")).to_be_enabled()
    expect(page.locator("textarea")).to_have_value("x")
    person.close()


def test_a_player_that_never_says_it_ended(browser: Browser, live: Any) -> None:
    """WebKit on a busy computer stops a frame before the end and sends no `ended`."""
    address, store = live(count=2, items_per_participant=1, judgements_per_item=1)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.page.add_init_script(
        "document.addEventListener('ended', event => event.stopImmediatePropagation(), true)"
    )
    person.prepare()
    person.play()
    person.answer()
    person.go_on()
    assert [judgement.watched for judgement in store.judgements()] == ["whole"]
    person.close()


def test_a_report_that_is_never_answered_is_sent_again(browser: Browser, live: Any) -> None:
    address, store = live(count=2, items_per_participant=1, judgements_per_item=1)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.page.add_init_script("const wait = setTimeout; setTimeout = (f, ms) => wait(f, ms / 20)")
    held: list[Any] = []
    # The first report is left without an answer, as by a network that swallows it.
    person.page.route("**/study/watch", lambda route: route.continue_() if held else held.append(route))
    person.prepare()
    person.play()
    person.answer()
    person.go_on()
    assert [judgement.watched for judgement in store.judgements()] == ["whole"]
    person.close()


def test_time_runs_out_by_itself(browser: Browser, live: Any) -> None:
    address, store = live(watch_whole=False, time_limit=3)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    expect(person.page.get_by_role("timer")).to_contain_text("0:0")
    expect(person.page.get_by_role("alert")).to_contain_text("time for the last task was up")
    assert next(store.judgements()).answer is None
    person.close()


def test_the_time_limit_does_not_stand_for_the_video(browser: Browser, live: Any) -> None:
    """Who lets the time run out instead of watching is told apart, and flagged."""
    address, store = live(time_limit=4, count=2, items_per_participant=1, judgements_per_item=1)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    person.page.get_by_role("radio").nth(1).check()
    expect(person.page.locator("#state")).to_have_text("Saved")
    expect(person.page.locator("#next")).to_be_disabled()
    expect(person.page.get_by_role("heading", name="Thank you")).to_be_visible()
    (judgement,) = store.judgements()
    assert (judgement.watched, judgement.plays, judgement.ended) == ("part", 0, "")
    person.close()


def test_text_outlasts_a_network_that_is_down_past_the_time(browser: Browser, live: Any) -> None:
    """What was written in time is delivered late; nothing can be written any more while the network is down."""
    address, store = live("free-then-mcq", watch_whole=False, time_limit=5)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    page = person.page
    page.route("**/*", lambda route: route.abort())
    page.locator("textarea").fill("Someone peels an orange")
    expect(page.get_by_role("timer")).to_contain_text("0:00")
    page.locator("textarea").press_sequentially(" and more", timeout=1_000, no_wait_after=True)
    # Later than the server closes the item.
    page.wait_for_timeout(4_500)
    page.unroute("**/*")
    expect(page.get_by_role("alert")).to_contain_text("time for the last task was up")
    free = next(judgement for judgement in store.judgements() if judgement.page == "free")
    assert (free.answer, free.late) == ("Someone peels an orange", True)
    person.close()


def test_text_is_delivered_by_the_next_visit(browser: Browser, live: Any) -> None:
    """The tab was closed while the network was down, and the item was the last one."""
    address, store = live(
        "free-then-mcq", watch_whole=False, time_limit=3, languages=("en",), count=2,
        items_per_participant=1, judgements_per_item=1,
    )  # fmt: skip
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    person.page.route("**/*", lambda route: route.abort())
    person.page.locator("textarea").fill("Someone peels an orange")
    expect(person.page.locator("#state")).to_contain_text("Not saved yet")
    expect(person.page.get_by_role("timer")).to_contain_text("0:00")
    person.page.wait_for_timeout(3_500)
    with person.page.expect_event("close"):
        person.page.close()
    person.page = person.context.new_page()
    with person.page.expect_response("**/study/save") as saved:
        person.page.goto(f"{address}/study")
    assert saved.value.ok
    expect(person.page.get_by_role("heading", name="Thank you")).to_be_visible()
    free = next(judgement for judgement in store.judgements() if judgement.page == "free")
    assert (free.answer, free.late) == ("Someone peels an orange", True)
    assert person.page.evaluate("localStorage.length") == 0
    person.close()
