"""A participant with a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.browser_kit import expect, open_page, record_problems

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LOOKS: tuple[dict[str, Any], ...] = ({}, PHONE, {"color_scheme": "dark"})


class Visitor:
    """Somebody with a browser of their own, in whose pages nothing may go wrong."""

    def __init__(self, browser: Browser, address: str, token: str, **given: Any) -> None:
        self.page = open_page(browser, **{"locale": "en", **given})
        self.context = self.page.context
        self.said = record_problems(self.page)
        self._link = f"{address}/join/{token}"
        self.page.goto(self._link)

    def come_back(self) -> None:
        """In a new tab, after the old one was closed."""
        self.page.close()
        self.page = self.context.new_page()
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
        """Let all videos run to their end: press play, and press it again where a player gave up."""
        self.page.wait_for_function(
            """() => {
                for (const video of document.querySelectorAll("video")) {
                    video.muted = true;
                    if (video.paused && !video.ended) video.play().catch(() => {});
                }
                return !document.getElementById("next").disabled;
            }""",
            polling=200,
        )

    def answer(self, which: int = 1, saved: str = "Saved") -> None:
        """Answer everything on the page, and see that it is saved, in whatever language it says so."""
        if self.page.locator("textarea").count():
            self.page.locator("textarea").fill("somebody rows a boat")
        if self.page.locator("[name=spans]").count():
            self.page.locator("[name=spans]").fill("0.2-0.6")
        for slider in self.page.locator("input[type=range]").all():
            slider.press("ArrowRight")
        names = self.page.evaluate(
            "[...new Set([...document.querySelectorAll('#item input[type=radio]')].map(i => i.name))]"
        )
        one_at_a_time = self.page.locator(".strip").count() > 0
        for name in names:
            # The best and the worst are not the same.
            place = 2 if name == "worst" else which
            field = self.page.locator(f"#item input[name='{name}']").nth(place)
            if one_at_a_time:
                field.evaluate("field => field.click()")
            else:
                field.check(force=True)
        expect(self.page.locator("#state")).to_have_text(saved)

    def go_on(self) -> None:
        """To the next page."""
        before = self.page.locator("[name=page]").input_value()
        self.page.locator("#next").click()
        expect(self.page.locator(f"[name=page][value='{before}']")).to_have_count(0)

    def close(self) -> None:
        """Leave; nothing went wrong but the connection."""
        self.context.close()
        # Whatever Chromium calls a connection that a killed server cut; what the page's own policy blocks is none.
        lost = [line for line in self.said if "net::ERR_" in line and "BLOCKED" not in line]
        assert [line for line in self.said if line not in lost] == []
