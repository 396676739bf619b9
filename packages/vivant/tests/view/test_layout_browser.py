"""The viewer's layout in a real browser: every width, a phone, accessibility in light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_kit import expect, open_page, run_viewer
from tests.support.page_layout import WIDTHS, find_access_faults, find_layout_faults
from tests.support.view_kit import choice_samples, make_records, write_run
from vivant.core.types import Option, Reply

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ("tests.support.browser_fixture",)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache for all tests here, because they share a viewer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIVANT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Many models with long names on long questions, failures among them; one of them on many tasks."""
    root = tmp_path_factory.mktemp("crowded")
    samples = [
        type(sample)(
            id=sample.id, task=sample.task, question=sample.question, key=sample.key, facets=sample.facets,
            options=tuple(Option(o.name, f"{o.text}, described at considerable length") for o in sample.options),
        )
        for sample in choice_samples(12)
    ]  # fmt: skip
    for number in range(6):
        replies = [Reply(text="ABCD"[(place + number) % 4]) for place in range(10)]
        replies.append(Reply(status="error", error="HTTP 429: the provider's rate limit was reached; " * 3))
        replies.append(Reply(text="I cannot tell from these pictures. " * 9))
        name = f"provider/extraordinarily-long-model-name-{number}-instruct-preview"
        write_run(root / f"run-{number}", samples, make_records(samples, replies), model=name)
    for number in range(12):
        samples = choice_samples(3, f"jsonl/a-task-of-its-own-{number}")
        write_run(root / f"wide-{number}", samples, make_records(samples, [Reply(text="B")] * 3), model=name)
    with run_viewer(root) as address:
        yield address


PAGES = (
    "", "/?published=1", "/runs", "/run/run-1", "/run/run-1/breakdown", "/compare?run=run-1&run=run-2&run=run-3",
    "/run/run-1/sample?key=jsonl%2Fmade%2Fq10", "/compare/sample?run=run-1&run=run-2&key=jsonl%2Fmade%2Fq1",
)  # fmt: skip


def test_a_phone_shows_some_tasks_of_a_line_and_the_rest_on_demand(browser: Browser, crowded: str) -> None:
    page = open_page(browser, viewport={"width": 390, "height": 900})
    page.goto(crowded)
    line = page.locator("tr[data-entry]", has=page.get_by_role("button", name=re.compile("^All 13 tasks")))
    expect(line).to_have_count(1)
    shown = line.locator("td.cell:visible")
    expect(shown).to_have_count(6)
    line.get_by_role("button", name=re.compile("^All 13 tasks")).click()
    expect(shown).to_have_count(13)
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator("[data-rest]:visible")).to_have_count(0)


@pytest.mark.parametrize(
    "width", [pytest.param(width, marks=() if width in (390, 1280) else pytest.mark.full) for width in WIDTHS]
)
def test_no_table_overflows_or_breaks_words(browser: Browser, crowded: str, width: int) -> None:
    page = open_page(browser, viewport={"width": width, "height": 900})
    for path in PAGES:
        page.goto(crowded + path)
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("body")).not_to_contain_text("read for the first time")
        assert find_layout_faults(page) == [], f"{path} at {width}"
        assert page.evaluate("document.documentElement.scrollHeight") < 12_000, f"{path} at {width}"


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "dark"),
        *(
            pytest.param(*look, marks=pytest.mark.full)
            for look in ((390, "light"), (1280, "light"), (1280, "dark"))
        ),
    ],
)
def test_axe_finds_nothing(browser: Browser, crowded: str, scheme: str, width: int) -> None:
    page = open_page(browser, viewport={"width": width, "height": 900}, color_scheme=scheme)
    for path in PAGES:
        page.goto(crowded + path)
        expect(page.locator("body")).not_to_contain_text("read for the first time")
        assert find_access_faults(page) == [], f"{path} in {scheme} at {width}"
