"""Studies in a real browser: whole sessions, three people at once, with reloads and a server that is killed."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import pytest

from tests.support.browser_kit import expect, run_server
from tests.support.study_kit import tiny_study
from tests.support.study_process import StudyProcess
from tests.support.study_visitor import LOOKS, PHONE, Visitor
from tests.support.study_web import build_app, open_served_store
from vivant_study.design import PAGES, Kind, StudyPart, StudyText
from vivant_study.loading import load_study
from vivant_study.store import open_store
from vivant_study.store.people import invite
from vivant_study.writing import write_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ("tests.support.browser_fixture", "tests.support.study_browser")
QUICK = ("sqlite", "blind-comments")
SESSIONS = [
    pytest.param(*session, marks=() if session == QUICK else pytest.mark.full)
    for session in product(("sqlite", "postgresql"), get_args(Kind))
]


@pytest.mark.playback
@pytest.mark.parametrize(("url", "kind"), SESSIONS, indirect=["url"])
def test_three_at_once_with_reloads_and_a_killed_server(
    browser: Browser, tmp_path: Path, url: str | None, kind: Kind
) -> None:
    study = tiny_study(tmp_path / "study", kind, count=3, items_per_participant=2, judgements_per_item=2)
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
                    typed = person.page.locator("textarea, [name=spans], input[type=number]")
                    assert checked or typed.first.input_value() in ("somebody rows a boat", "0.2-0.6", "51")
            for person in people:
                person.go_on()
        for person in people:
            expect(person.page.get_by_role("heading", name="Thank you")).to_be_visible()
            person.close()
    with open_store(study.path, url) as store:
        result = list(store.judgements())
        parts = {"blind-comments": 3, "sliders": 3}.get(kind, 1)
        assert len(result) == 3 * 2 * len(PAGES[kind]) * parts, "none lost"
        assert len({(j.annotator, j.item, j.page, j.part) for j in result}) == len(result), "none doubled"
        assert all(judgement.complete for judgement in result)
        assert [line.finished for line in store.progress().items] == [2, 2, 2]
        assert [person.state for person in store.people()] == ["finished"] * 3


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


def test_what_waits_for_one_study_is_not_handed_to_another_of_the_host(
    browser: Browser, tmp_path: Path
) -> None:
    studies = {
        root: tiny_study(tmp_path / root.strip("/"), "free-then-mcq", watch_whole=False)
        for root in ("/a", "/b")
    }
    with ExitStack() as opened:
        stores = {root: opened.enter_context(open_served_store(study)) for root, study in studies.items()}
        apps = {root: build_app(studies[root], store, root=root) for root, store in stores.items()}

        async def serve_both(scope: Any, receive: Any, send: Any) -> None:
            await apps[scope.get("path", "/a")[:2] or "/a"](scope, receive, send)

        address = opened.enter_context(run_server(serve_both))
        person = Visitor(browser, f"{address}/a", invite(stores["/a"], 1)[0])
        person.prepare()
        person.page.route("**/study/save", lambda route: route.abort())
        person.page.locator("textarea").press_sequentially("peeling")
        expect(person.page.locator("#state")).to_contain_text("Not saved yet")
        person._link = f"{address}/b/join/{invite(stores['/b'], 1)[0]}"
        person.come_back()
        person.prepare()
        person.page.goto(f"{address}/a/study")
        expect(person.page.locator("#state")).to_have_text("Saved")
        assert [judgement.answer for judgement in stores["/a"].judgements()] == ["peeling"]
        person.close()


def test_what_waits_in_one_tab_is_not_taken_for_saved_by_another(browser: Browser, live: Any) -> None:
    address, store = live("free-then-mcq", watch_whole=False)
    person = Visitor(browser, address, invite(store, 1)[0])
    person.prepare()
    other = person.context.new_page()
    other.goto(f"{address}/study")
    person.page.route("**/study/save", lambda route: route.abort())
    person.page.locator("textarea").press_sequentially("peeling")
    expect(person.page.locator("#state")).to_contain_text("Not saved yet")
    other.locator("textarea").press_sequentially("something else")
    expect(other.locator("#state")).to_have_text("Saved")
    person.page.unroute("**/study/save")
    expect(person.page.locator("#state")).to_have_text("Saved")
    (judgement,) = store.judgements()
    assert judgement.answer == "peeling"
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


@pytest.mark.playback
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


def test_twenty_nine_comments_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    """The size of the published test, 5 of people and 24 of machines: two keys a comment, nothing to scroll for."""
    loaded = tiny_study(
        tmp_path / "study",
        "blind-comments",
        count=2,
        watch_whole=False,
        items_per_participant=1,
        questions=(),
    )
    parts = tuple(
        StudyPart(id=f"p{n}", content=(StudyText(f"Comment number {n} says a word. " * (1 + n % 7)),))
        for n in range(29)
    )
    items = [msgspec.structs.replace(item, parts=parts) for item in loaded.items]
    write_study(loaded.path, loaded.study, items, (), loaded.texts)
    loaded = load_study(loaded.path)
    store = open_served_store(loaded)
    with run_server(build_app(loaded, store)) as address:
        person = Visitor(browser, address, invite(store, 1)[0], viewport={"width": 1280, "height": 800})
        page = person.page
        page.get_by_label("I have read this").check()
        page.get_by_role("button", name="Begin").click()
        page.get_by_role("button", name="Start").click()
        expect(page.locator(".counter")).to_have_text("1 of 29")
        expect(page.locator(".comment:visible")).to_have_count(1)
        screens = page.evaluate("document.documentElement.scrollHeight / innerHeight")
        assert screens < 1.3
        expect(page.locator("#next")).to_be_in_viewport(ratio=1)
        assert page.locator("video").bounding_box()["y"] < 400  # type: ignore[index]
        for number in range(28):
            page.keyboard.press("a" if number % 3 else "h")
            page.keyboard.press(str(number % 6))
            # From the fifteenth on somebody types faster than the page turns.
            if number < 15:
                expect(page.locator(".counter")).to_have_text(f"{number + 2} of 29")
        expect(page.locator(".counter")).to_have_text("29 of 29")
        page.get_by_role("button", name="Comment 5, judged").click()
        page.keyboard.press("0")
        expect(page.locator(".counter")).to_have_text("5 of 29")
        page.locator("#next").click()
        expect(page.get_by_role("alert")).to_contain_text("Not judged yet: 1")
        expect(page.locator(".counter")).to_have_text("29 of 29")
        page.keyboard.press("h")
        page.keyboard.press("5")
        expect(page.locator("#state")).to_have_text("Saved")
        expect(page.locator("#next")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        person.close()
        order = next(store.judgements()).shown
        answers = {judgement.part: judgement.answer for judgement in store.judgements()}
    for number, part in enumerate(order[:28]):
        realism = 0 if number == 4 else number % 6
        assert answers[f"p{part}"] == {"verdict": "ai" if number % 3 else "human", "realism": realism}
    assert answers[f"p{order[28]}"] == {"verdict": "human", "realism": 5}


@pytest.mark.parametrize("height", [700, pytest.param(844, marks=pytest.mark.full)])
def test_a_comment_on_a_phone_is_never_under_the_video(browser: Browser, tmp_path: Path, height: int) -> None:
    loaded = tiny_study(
        tmp_path / "study", "blind-comments", count=2, watch_whole=False, items_per_participant=1
    )
    caption = StudyText("A man in a kitchen explains at length how he cuts an onion without any tears")
    items = [msgspec.structs.replace(item, content=(caption, *item.content)) for item in loaded.items]
    write_study(loaded.path, loaded.study, items, (), loaded.texts)
    loaded = load_study(loaded.path)
    store = open_served_store(loaded)
    with run_server(build_app(loaded, store)) as address:
        person = Visitor(
            browser, address, invite(store, 1)[0], **{**PHONE, "viewport": {"width": 390, "height": height}}
        )
        person.prepare()
        page = person.page

        def check_in_view() -> None:
            quote = page.locator(".comment:visible .quote").bounding_box()
            video = page.locator(".look").bounding_box()
            assert quote is not None and video is not None
            assert video["y"] + video["height"] <= quote["y"], "not under the video"
            assert quote["y"] + quote["height"] <= height, "not below the screen"

        words = page.locator(".look .words")
        assert words.evaluate("words => words.scrollHeight <= words.clientHeight"), "the caption is whole"
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        page.locator("#next").click()
        expect(page.get_by_role("alert")).to_contain_text("Not judged yet: 3")
        expect(page.get_by_role("alert")).to_be_in_viewport(ratio=1)
        check_in_view()
        for number in (2, 3):
            page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
            for field in ("[data-hotkey=a]", "[data-hotkey='3']"):
                page.locator(f".comment:visible {field}").evaluate("field => field.click()")
            expect(page.locator(".counter")).to_have_text(f"{number} of 3")
            check_in_view()
        person.close()


def test_a_number_off_the_scale_costs_no_other_answer(browser: Browser, live: Any) -> None:
    address, store = live("sliders", watch_whole=False, count=2, items_per_participant=1)
    person = Visitor(browser, address, invite(store, 1)[0], **PHONE)
    person.prepare()
    page = person.page
    numbers = page.locator("input[type=number]")
    for place, value in enumerate(("20", "30", "250")):
        numbers.nth(place).fill(value)
    expect(page.locator("#state")).to_have_text("Saved")
    assert [numbers.nth(place).input_value() for place in range(3)] == ["20", "30", "250"]
    expect(page.get_by_role("alert")).to_have_text("Please give a whole number from 0 to 100.")
    assert sorted(judgement.answer["quality"] for judgement in store.judgements()) == [20, 30]
    # The browser takes this for a number; the page comes back with all that was typed.
    numbers.nth(2).fill("1e2")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.locator("#next").click()
    expect(page.get_by_role("alert")).to_contain_text("not on its scale")
    assert [numbers.nth(place).input_value() for place in range(3)] == ["20", "30", "1e2"]
    numbers.nth(2).fill("100")
    page.locator("#next").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert sorted(judgement.answer["quality"] for judgement in store.judgements()) == [20, 30, 100]
    person.said.clear()
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
