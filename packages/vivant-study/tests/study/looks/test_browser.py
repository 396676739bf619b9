"""How the pages look in a real browser: to everybody, in every language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest

from tests.support.browser_kit import expect, open_page
from tests.support.page_layout import find_access_faults
from tests.support.study_visitor import LOOKS, PHONE, Visitor
from tests.support.study_web import TOKEN
from vivant_study.design import PAGES, Kind
from vivant_study.judgement import StudyJudgement, StudyPerson
from vivant_study.store.people import invite

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest_plugins = ("tests.support.browser_fixture", "tests.support.study_browser")
KINDS: tuple[Kind, ...] = get_args(Kind)

BOXES = r"""root => {
  const canvas = Object.assign(document.createElement('canvas'), {width: 48, height: 48});
  const pen = canvas.getContext('2d', {willReadFrequently: true});
  const draw = sign => {
    pen.clearRect(0, 0, 48, 48);
    pen.font = '32px ' + getComputedStyle(root).fontFamily;
    pen.fillText(sign, 4, 38);
    return pen.getImageData(0, 0, 48, 48).data.join();
  };
  // No font has a glyph for this one.
  const box = draw('\u{10FFFF}');
  return [...new Set(root.innerText.match(/\p{Letter}/gu))].filter(sign => draw(sign) === box).join('');
}"""
"""Letters on a page that no font here has a glyph for."""


@pytest.mark.parametrize(
    "look", [pytest.param({}, id="desktop", marks=pytest.mark.full), pytest.param(PHONE, id="phone")]
)
def test_chinese_pages_are_drawn(browser: Browser, live: Any, look: dict[str, Any]) -> None:
    """From consent to the end in Chinese: every character has a glyph, no English is left, nothing sticks out."""
    address, store = live("blind-comments", watch_whole=False, count=2, items_per_participant=1)
    person = Visitor(browser, address, invite(store, 1)[0], locale="zh-CN", **look)
    page = person.page

    def check(title: str) -> None:
        expect(page.get_by_text(title).first).to_be_visible()
        assert page.locator("html").get_attribute("lang") == "zh"
        body = page.locator("body")
        assert body.evaluate(BOXES) == "", "boxes instead of glyphs; scripts/ensure-programs installs a font"
        assert page.locator("html").evaluate("root => root.scrollWidth - root.clientWidth") <= 1

    check("小小的研究")
    page.locator("[name=agree]").check()
    page.locator("button.main").click()
    check("您的年龄是？")
    page.get_by_label("40 岁及以上").check()
    page.locator("button.main").click()
    expect(page.locator("form[action$=begin]")).to_be_visible()
    page.locator("button.main").click()
    check("读起来有多真实？")
    person.answer(saved="已保存")
    page.locator("#next").click()
    check("谢谢")
    person.close()


def check_access(page: Page) -> None:
    """Nothing sticks out, and axe finds nothing."""
    page.wait_for_load_state()
    # A locator waits for the page that a click leads to.
    assert page.locator("html").evaluate("root => root.scrollWidth - root.clientWidth") <= 1
    assert find_access_faults(page) == []


@pytest.mark.parametrize(
    ("kind", "look"),
    [
        pytest.param(
            kind,
            LOOKS[number % len(LOOKS)],
            id=kind,
            marks=() if kind == "blind-comments" else pytest.mark.full,
        )
        for number, kind in enumerate(kind for kind in KINDS if kind != "mcq")
    ],
)
def test_items_are_accessible(browser: Browser, live: Any, kind: Kind, look: dict[str, Any]) -> None:
    address, store = live(kind, watch_whole=False, count=2, items_per_participant=1, judgements_per_item=1)
    person = Visitor(browser, address, invite(store, 1)[0], **look)
    person.prepare()
    for _ in PAGES[kind]:
        person.answer()
        check_access(person.page)
        person.go_on()
    person.close()


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(look, id=name, marks=() if name == "dark" else pytest.mark.full)
        for look, name in zip(LOOKS, ("desktop", "phone", "dark"), strict=True)
    ],
)
def test_the_pages_around_the_items_are_accessible(browser: Browser, live: Any, look: dict[str, Any]) -> None:
    address, store = live(watch_whole=False, count=2, items_per_participant=1, judgements_per_item=1)
    person = Visitor(browser, address, invite(store, 1)[0], **look)
    page = person.page
    check_access(page)
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_label("40 or older")).to_be_visible()
    check_access(page)
    # To the browser, the answer to the form without its tick was an error.
    person.said.clear()
    page.get_by_label("40 or older").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    check_access(page)
    page.get_by_role("button", name="Start").click()
    person.answer()
    check_access(page)
    person.go_on()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    check_access(page)
    page.get_by_role("link", name="Withdraw").click()
    expect(page.get_by_role("heading", name="Thank you")).to_have_count(0)
    check_access(page)
    person.close()


def test_the_researchers_pages_are_accessible(browser: Browser, live: Any) -> None:
    address, store = live(watch_whole=False, count=2, items_per_participant=1, judgements_per_item=1)
    answer = StudyJudgement(annotator="ann", item="item-0", page="choose", answer=1, shown=(0, 1, 2, 3))
    store.add_imported([StudyPerson(annotator="ann", state="finished", answers={"age": 1})], [answer])
    page = open_page(browser, viewport={"width": 1200, "height": 800})
    page.goto(f"{address}/admin")
    check_access(page)
    page.get_by_label("Admin token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    check_access(page)
    page.locator("a[href*='/admin/person/']").first.click()
    expect(page.get_by_text("Exclude, because")).to_be_visible()
    check_access(page)
