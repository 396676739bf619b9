"""How the pages look in a real browser: to everybody, in every language."""

from __future__ import annotations

from typing import Any, get_args

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, Page, expect

from tests.support.study_visitor import LOOKS, PHONE, Visitor
from tests.support.study_web import TOKEN
from vivant.study.design import PAGES, Kind
from vivant.study.store.people import invite

pytest_plugins = ("tests.support.study_browser",)
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


@pytest.mark.parametrize("look", [{}, PHONE], ids=["desktop", "phone"])
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

    kinds: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "mcq")
    for number, kind in enumerate(kinds):
        given = LOOKS[number % len(LOOKS)]
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
