"""Draw the pictures of pages in docs/images: the viewer and the report, over runs of models that come with the package.

Runs that FOLDER already holds are used as they are; new ones do without the cache, which keeps no
frames. Needs Chromium.

    PYTHONPATH=packages/vivant python tools/page_pictures.py FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support.browser_kit import open_browser, run_viewer
from vivant.core.types import Control
from vivant.engine.evaluation import evaluate
from vivant.reporting.html import write_report

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "images"
RUNS: tuple[tuple[str, str, tuple[str, ...], Control], ...] = (
    ("tiny", "vivant/tiny", ("mime", "mimic/thinking"), "none"),
    ("tiny-one-frame", "vivant/tiny", ("mime/mcq", "mimic/thinking"), "one-frame"),
    ("nearest", "nearest", ("mime/mcq", "mimic/thinking"), "none"),
    ("longest", "longest", ("mime/mcq", "mimic/thinking"), "none"),
    ("random", "random", ("mime/mcq", "mimic/thinking"), "none"),
)


def main(folder: Path) -> None:
    """Make the runs that are missing, then the pictures."""
    for name, model, tasks, control in RUNS:
        if not (folder / name / "log.jsonl").exists():
            evaluate(
                tasks, model, data=("mini",), control=control, out=str(folder / name), cache="off"
            ).scores()
    report = write_report([folder], folder.parent / "report.html", title="vivant/tiny on its mini-editions")
    os.chdir(folder.parent)  # pages name the folder as it is given
    with open_browser() as browser, run_viewer(Path(folder.name)) as address:
        draw_viewer(browser, address)
        draw_report(browser, report)


def draw_viewer(browser: Browser, address: str) -> None:
    """One picture per page of the viewer."""
    page = browser.new_page(viewport={"width": 1280, "height": 760}, device_scale_factor=1)
    page.goto(address)
    expect(page.locator("tr[data-entry]")).to_have_count(len(RUNS), timeout=300_000)
    expect(page.locator("body")).not_to_contain_text("for the first time")
    page.locator("input[name=cell]").first.check()
    save(page, "viewer-home", 740)
    page.goto(f"{address}/run/tiny?task=mime%2Fmcq&outcome=wrong")
    save(page, "viewer-samples", 640)
    page.locator("a[data-item]").first.click()
    page.locator(".frames img").last.scroll_into_view_if_needed()
    for image in page.locator(".frames img").all():
        image.evaluate("each => each.decode()")
    page.evaluate("window.scrollTo(0, 0)")
    save(page, "viewer-sample", 860)
    page.goto(f"{address}/run/nearest/breakdown?task=mime%2Fmcq")
    save(page, "viewer-breakdown", 760)
    page.goto(f"{address}/compare?run=tiny&run=tiny-one-frame&run=nearest&task=mime%2Fmcq")
    save(page, "viewer-compare", 760)
    page.close()


def draw_report(browser: Browser, report: Path) -> None:
    """The first screen, and a section that is unfolded."""
    page = browser.new_page(viewport={"width": 1280, "height": 960}, device_scale_factor=1)
    page.goto(report.as_uri())
    save(page, "report-first-screen", 960)
    page.locator("details.fold > summary").first.click()
    page.locator("details.fold").first.scroll_into_view_if_needed()
    page.evaluate("document.querySelector('details.fold').scrollIntoView()")
    save(page, "report-section", 800)
    page.close()


def save(page: Page, name: str, height: int) -> None:
    """The top of the page as it stands."""
    page.set_viewport_size({"width": 1280, "height": height})
    page.screenshot(path=PICTURES / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
