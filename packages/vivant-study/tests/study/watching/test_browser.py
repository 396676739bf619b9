"""Videos and time limits in a real browser: players and networks that fail, time that runs out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser_kit import expect
from tests.support.processes import wait_until
from tests.support.study_kit import OPTIONS
from tests.support.study_visitor import Visitor
from tests.support.study_web import Clock
from vivant_study.store.people import invite

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest_plugins = ("tests.support.browser_fixture", "tests.support.study_browser")
LIMIT = 600
"""Seconds for an item: on a busy machine too, tests are done with a page before their clocks are turned on."""


def arrive(browser: Browser, address: str, token: str) -> Visitor:
    """Somebody at the first item, whose browser has a clock that can be turned on."""
    person = Visitor(browser, address, token)
    person.page.clock.install()
    person.prepare()
    return person


def cut_off(page: Page) -> None:
    """Let the page reach no server."""
    page.route("**/*", lambda route: route.abort())


def let_time_run_out(page: Page, clock: Clock) -> None:
    """Turn on the clocks of a page without a connection and of its server, past the time for the item."""
    page.clock.fast_forward(LIMIT * 1000)
    expect(page.get_by_role("timer")).to_contain_text("0:00")
    # Later than a page whose server answers would have left, and than the server closes the item.
    page.clock.fast_forward(10_000)
    clock.now += LIMIT + 10


def test_the_time_runs_out_while_the_server_is_away(browser: Browser, live: Any) -> None:
    """The page stays until the server is back, which then takes what was written."""
    clock = Clock()
    address, store = live("free-then-mcq", watch_whole=False, time_limit=LIMIT, clock=clock)
    person = arrive(browser, address, invite(store, 1)[0])
    page = person.page
    cut_off(page)
    page.locator("textarea").fill("Someone peels an orange")
    let_time_run_out(page, clock)
    expect(page.locator("#state")).to_contain_text("Not saved yet")
    # The server was started again just now.
    store.opened = clock.now
    page.unroute("**/*")
    expect(page.locator("textarea")).to_have_value("Someone peels an orange")
    (judgement,) = wait_until(lambda: list(store.judgements()))
    assert judgement.answer == "Someone peels an orange"
    person.close()


@pytest.mark.playback
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


@pytest.mark.playback
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


@pytest.mark.playback
def test_a_report_that_is_never_answered_is_sent_again(browser: Browser, live: Any) -> None:
    address, store = live(count=2, items_per_participant=1, judgements_per_item=1)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.page.clock.install()
    held: list[Any] = []
    # The first report is left without an answer, as by a network that swallows it.
    person.page.route("**/study/watch", lambda route: route.continue_() if held else held.append(route))
    with person.page.expect_request("**/study/watch"):
        person.prepare()
    with person.page.expect_response("**/study/watch"):
        person.page.clock.run_for(20_000)
    person.play()
    person.answer()
    person.go_on()
    assert [judgement.watched for judgement in store.judgements()] == ["whole"]
    person.close()


@pytest.mark.playback
def test_what_was_played_until_the_page_was_left_counts(browser: Browser, live: Any) -> None:
    """A video that need not be watched whole plays on while somebody answers."""
    address, store = live(count=2, items_per_participant=1, judgements_per_item=1, watch_whole=False)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    person.answer()
    person.page.evaluate(
        "const v = document.querySelector('video'); v.muted = true; v.playbackRate = 0.1; v.play()"
    )
    person.page.wait_for_function("() => document.querySelector('video').currentTime > 0.05", polling=100)
    person.go_on()
    (judgement,) = store.judgements()
    assert judgement.played is not None and judgement.played >= 0.4, (
        "ten seconds have not passed since the start"
    )
    person.close()


def test_time_runs_out_by_itself(browser: Browser, live: Any) -> None:
    clock = Clock()
    address, store = live(watch_whole=False, time_limit=LIMIT, clock=clock)
    person = arrive(browser, address, invite(store, 1)[0])
    # A page that left while its clock is being turned on would take the clock with it.
    cut_off(person.page)
    let_time_run_out(person.page, clock)
    person.page.unroute("**/*")
    expect(person.page.get_by_role("alert")).to_contain_text("time for the last task was up")
    assert next(store.judgements()).answer is None
    person.close()


def test_the_time_limit_does_not_stand_for_the_video(browser: Browser, live: Any) -> None:
    """Who lets the time run out instead of watching is told apart, and flagged."""
    clock = Clock()
    address, store = live(
        time_limit=LIMIT, count=2, items_per_participant=1, judgements_per_item=1, clock=clock
    )
    person = arrive(browser, address, invite(store, 1)[0])
    person.page.get_by_role("radio").nth(1).check()
    expect(person.page.locator("#state")).to_have_text("Saved")
    expect(person.page.locator("#next")).to_be_disabled()
    cut_off(person.page)
    let_time_run_out(person.page, clock)
    person.page.unroute("**/*")
    expect(person.page.get_by_role("heading", name="Thank you")).to_be_visible()
    (judgement,) = store.judgements()
    assert (judgement.watched, judgement.plays, judgement.ended) == ("part", 0, "")
    person.close()


def test_text_outlasts_a_network_that_is_down_past_the_time(browser: Browser, live: Any) -> None:
    """What was written in time is delivered late; nothing can be written any more while the network is down."""
    clock = Clock()
    address, store = live("free-then-mcq", watch_whole=False, time_limit=LIMIT, clock=clock)
    person = arrive(browser, address, invite(store, 1)[0])
    page = person.page
    cut_off(page)
    page.locator("textarea").fill("Someone peels an orange")
    let_time_run_out(page, clock)
    page.locator("textarea").focus()
    page.keyboard.type(" and more")
    page.unroute("**/*")
    expect(page.get_by_role("alert")).to_contain_text("time for the last task was up")
    free = next(judgement for judgement in store.judgements() if judgement.page == "free")
    assert (free.answer, free.late) == ("Someone peels an orange", True)
    person.close()


def test_text_is_delivered_by_the_next_visit(browser: Browser, live: Any) -> None:
    """The tab was closed while the network was down, and the item was the last one."""
    clock = Clock()
    address, store = live(
        "free-then-mcq", watch_whole=False, time_limit=LIMIT, languages=("en",), count=2,
        items_per_participant=1, judgements_per_item=1, clock=clock,
    )  # fmt: skip
    person = arrive(browser, address, invite(store, 1)[0])
    cut_off(person.page)
    person.page.locator("textarea").fill("Someone peels an orange")
    expect(person.page.locator("#state")).to_contain_text("Not saved yet")
    let_time_run_out(person.page, clock)
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
