"""Studies in a real browser: whole sessions, three people at once, with reloads and a server that is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.support.browser_kit import open_browser, record_problems
from tests.support.browser_kit import run_server as a_thread
from tests.support.study_kit import OPTIONS, tiny_study
from tests.support.study_process import StudyProcess
from tests.support.study_web import TOKEN, build_app, fresh_postgres, open_served_store
from vivant.study.design import PAGES, Kind
from vivant.study.loading import LoadedStudy
from vivant.study.store import StudyStore, open_store
from vivant.study.store.people import invite

PATIENCE = 40_000
"""Milliseconds: a machine that is busy with other things is no failure."""
KINDS: tuple[Kind, ...] = get_args(Kind)
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LOOKS: tuple[dict[str, Any], ...] = ({}, PHONE, {"color_scheme": "dark"})
_LOST = (
    "ERR_CONNECTION_",
    "ERR_EMPTY_RESPONSE",
    "ERR_INTERNET_DISCONNECTED",
    "ERR_FAILED",
    "ERR_NETWORK_CHANGED",
    "ERR_SOCKET_NOT_CONNECTED",
    "ERR_CONTENT_LENGTH_MISMATCH",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
)
"""What Chromium says of a connection that is lost."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with open_browser() as result:
        yield result
    expect.set_options(timeout=5_000)


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> dict[Kind, LoadedStudy]:  # noqa: ARG001
    """One of each kind: two items for each of three people."""
    root = tmp_path_factory.mktemp("studies")
    return {
        kind: tiny_study(root / kind, kind, count=3, items_per_participant=2, judgements_per_item=2)
        for kind in KINDS
    }


class Visitor:
    """Somebody with a browser of their own, in whose pages nothing may go wrong."""

    def __init__(self, browser: Browser, address: str, token: str, **given: Any) -> None:
        self.context: BrowserContext = browser.new_context(**{"locale": "en", **given})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.said = record_problems(self.page)
        self._link = f"{address}/join/{token}"
        self.page.goto(self._link)

    def come_back(self) -> None:
        """In a new tab, after the old one was closed."""
        self.page.close()
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(self._link)

    def prepare(self) -> None:
        """From consent to the first item."""
        self.page.get_by_label("I have read this").check()
        self.page.get_by_role("button", name="Begin").click()
        self.page.get_by_label("40 or older").check()
        self.page.get_by_role("button", name="Continue").click()
        self.page.get_by_role("button", name="Start").click()
        expect(self.page.locator("#item")).to_be_visible()

    def play(self) -> None:
        """Let all videos run to their end."""
        for video in self.page.locator("video").all():
            video.evaluate("video => { video.muted = true; return video.play(); }")
        expect(self.page.locator("#next")).to_be_enabled()

    def answer(self, which: int = 1) -> None:
        """Answer everything on the page, and see that it is saved."""
        if self.page.locator("textarea").count():
            self.page.locator("textarea").fill("somebody rows a boat")
        names = self.page.evaluate(
            "[...new Set([...document.querySelectorAll('#item input[type=radio]')].map(i => i.name))]"
        )
        for name in names:
            self.page.locator(f"#item input[name='{name}']").nth(which).check(force=True)
        expect(self.page.locator("#state")).to_have_text("Saved")

    def go_on(self) -> None:
        """To the next page."""
        before = self.page.locator("[name=page]").input_value()
        self.page.locator("#next").click()
        expect(self.page.locator(f"[name=page][value='{before}']")).to_have_count(0)

    def close(self) -> None:
        """Leave; nothing went wrong but the connection."""
        self.context.close()
        assert [line for line in self.said if not any(lost in line for lost in _LOST)] == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("kind", KINDS)
def test_three_at_once_with_reloads_and_a_killed_server(
    browser: Browser, studies: dict[Kind, LoadedStudy], kind: Kind, database: str
) -> None:
    study = studies[kind]
    url = fresh_postgres() if database == "postgresql" else f"sqlite:///{study.path}/{database}.db"
    with open_store(study.path, url) as store:
        tokens = invite(store, 3)
    with StudyProcess(study.path, url) as server:
        people = [
            Visitor(browser, server.address, token, **given)
            for token, given in zip(tokens, LOOKS, strict=True)
        ]
        for person in people:
            person.prepare()
        for number in range(2 * len(PAGES[kind])):
            for place, person in enumerate(people):
                person.play()
                person.answer(which=(place + number) % 2)
            if number == 0:
                server.kill()
                server.start()
                people[0].page.reload()
                people[1].come_back()
                for person in people[:2]:
                    expect(person.page.locator("#next")).to_be_enabled()
                    checked = person.page.locator("#item input:checked").count()
                    assert checked or person.page.locator("textarea").input_value() == "somebody rows a boat"
            for person in people:
                person.go_on()
        for person in people:
            expect(person.page.get_by_role("heading", name="Thank you")).to_be_visible()
            person.close()
    with open_store(study.path, url) as store:
        result = list(store.judgements())
        parts = {"blind-comments": 3}.get(kind, 1)
        assert len(result) == 3 * 2 * len(PAGES[kind]) * parts, "none lost"
        assert len({(j.annotator, j.item, j.page, j.part) for j in result}) == len(result), "none doubled"
        assert all(judgement.complete for judgement in result)
        assert [line.finished for line in store.progress().items] == [2, 2, 2]
        assert [person.state for person in store.people()] == ["finished"] * 3


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Any]:
    """Studies served from a thread, with their stores."""
    opened: list[Any] = []

    def start(kind: Kind = "mcq", **given: Any) -> tuple[str, StudyStore]:
        loaded = tiny_study(tmp_path / f"study{len(opened)}", kind, **given)
        store = open_served_store(loaded)
        server = a_thread(build_app(loaded, store))
        opened.append(server)
        return server.__enter__(), store

    yield start
    for server in opened:
        server.__exit__(None, None, None)


def test_a_lost_connection_loses_nothing(browser: Browser, live: Any) -> None:
    address, store = live(watch_whole=False)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    person.context.set_offline(True)
    person.page.get_by_role("radio").nth(2).check()
    expect(person.page.locator("#state")).to_contain_text("Not saved yet")
    person.page.locator("#next").click()
    assert list(store.judgements()) == []
    person.context.set_offline(False)
    expect(person.page.get_by_role("heading", name="Task 2 of 3")).to_be_visible()
    (judgement,) = store.judgements()
    assert judgement.answer == judgement.shown[2]
    person.page.go_back()
    expect(person.page.locator("#item, .notice, form")).not_to_have_count(0)
    person.page.goto(f"{address}/study")
    expect(person.page.get_by_role("heading", name="Task 2 of 3")).to_be_visible()
    person.close()


def test_typing_during_an_outage_loses_nothing(browser: Browser, live: Any) -> None:
    """Keystrokes that fall between two tries to save must not stop the tries."""
    address, store = live("free-then-mcq", watch_whole=False)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    text = person.page.locator("textarea")
    person.page.route("**/study/save", lambda route: route.abort())
    for word in ("Someone ", "peels ", "an orange"):
        text.press_sequentially(word)
        expect(person.page.locator("#state")).to_contain_text("Not saved yet")
    person.page.unroute("**/study/save")
    expect(person.page.locator("#state")).to_contain_text("Saved")
    (judgement,) = store.judgements()
    assert judgement.answer == "Someone peels an orange"
    person.page.locator("#next").click()
    expect(person.page.get_by_role("radio")).not_to_have_count(0)
    person.close()


def test_two_tabs_of_one_person(browser: Browser, live: Any) -> None:
    address, store = live(watch_whole=False)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    other = person.context.new_page()
    other.goto(f"{address}/study")
    person.answer(0)
    person.page.locator("#next").dblclick()
    expect(person.page.get_by_role("heading", name="Task 2 of 3")).to_be_visible()
    # Not `check`, which clicks again where the page has changed: that would be an answer to the second task.
    other.get_by_role("radio").nth(3).click()
    expect(other.get_by_role("heading", name="Task 2 of 3")).to_be_visible()
    (judgement,) = [each for each in store.judgements() if each.position == 0]
    assert judgement.answer == judgement.shown[0]
    person.close()


def test_the_keyboard_alone(browser: Browser, live: Any) -> None:
    address, store = live(
        "free-then-mcq", count=3, items_per_participant=1, judgements_per_item=1, questions=()
    )
    person = Visitor(browser, address, invite(store, 1)[0])
    page, press = person.page, person.page.keyboard.press

    def tab_to(what: str) -> None:
        for _ in range(30):
            press("Tab")
            if page.evaluate("what => document.activeElement.matches(what)", what):
                return
        raise AssertionError(f"Tab never came to {what}")

    tab_to("[name=agree]")
    press("Space")
    tab_to("button.main")
    press("Enter")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    tab_to("button.main")
    press("Enter")
    expect(page.locator("video")).to_be_visible()
    tab_to("video")
    press("Space")
    tab_to("textarea")
    page.keyboard.type("rowing")
    expect(page.locator("#next")).to_be_enabled()
    tab_to("#next")
    press("Enter")
    expect(page.get_by_role("radio")).to_have_count(4)
    press("3")
    expect(page.get_by_role("radio").nth(2)).to_be_checked()
    press("ArrowUp")
    expect(page.get_by_role("radio").nth(1)).to_be_checked()
    press("Enter")
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert [(j.page, j.answer if j.page == "free" else j.shown.index(j.answer)) for j in store.judgements()] == [
        ("free", "rowing"), ("choose", 1),
    ]  # fmt: skip
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


def test_without_scripts(browser: Browser, live: Any) -> None:
    address, store = live(
        "blind-comments", count=3, items_per_participant=2, judgements_per_item=2, watch_whole=False
    )
    person = Visitor(browser, address, invite(store, 1)[0], java_script_enabled=False)
    person.prepare()
    for _ in range(2):
        for place in range(3):
            person.page.locator(f"[name='verdict.{place}']").nth(1).check(force=True)
            person.page.locator(f"[name='scale.realism.{place}']").nth(5).check(force=True)
        person.page.get_by_role("button", name="Continue").click()
    expect(person.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert [j.answer for j in store.judgements()] == [{"verdict": "ai", "realism": 5}] * 6
    person.close()


def test_time_runs_out_by_itself(browser: Browser, live: Any) -> None:
    address, store = live(watch_whole=False, time_limit=1)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    expect(person.page.get_by_role("timer")).to_contain_text("0:0")
    expect(person.page.get_by_role("alert")).to_contain_text("time for the last task was up")
    assert next(store.judgements()).answer is None
    person.close()


@pytest.mark.timeout(300)
def test_pages_are_accessible(browser: Browser, live: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    axe = Axe()

    def fine(page: Page) -> None:
        page.wait_for_load_state()
        # A locator waits for the page that a click leads to.
        wide = page.locator("html").evaluate("root => root.scrollWidth - root.clientWidth")
        assert wide <= 1, "nothing sticks out"
        result = axe.run(page)
        assert result.violations_count == 0, result.generate_report()

    kinds: tuple[Kind, ...] = ("free-then-mcq", "blind-comments", "rating", "pairwise")
    for kind, given in zip(kinds, (*LOOKS[:2], *LOOKS[1:]), strict=True):
        address, store = live(
            kind, watch_whole=False, count=2, items_per_participant=1, judgements_per_item=1
        )
        person = Visitor(browser, address, invite(store, 1)[0], **given)
        page = person.page
        if kind == "free-then-mcq":
            fine(page)
            page.get_by_role("button", name="Begin").click()
            page.get_by_label("I have read this").check()
            page.get_by_role("button", name="Begin").click()
            fine(page)
            page.get_by_label("40 or older").check()
            page.get_by_role("button", name="Continue").click()
            fine(page)
            page.get_by_role("button", name="Start").click()
        else:
            person.prepare()
        for _ in PAGES[kind]:
            person.answer()
            fine(page)
            person.go_on()
        fine(page)
        page.get_by_role("link", name="Withdraw").click()
        fine(page)
        person.said.clear()
        person.close()
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto(f"{address}/admin")
    fine(page)
    page.get_by_label("Admin token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    fine(page)
    page.locator("a[href*='/admin/person/']").first.click()
    expect(page.get_by_text("Exclude, because")).to_be_visible()
    fine(page)
    page.close()
