"""Report and viewer in a real browser: load, filter, open, play, compare, keyboard, dark mode, hostile text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.support.browser_kit import expect, open_page, record_problems, run_apart, run_viewer
from tests.support.helpers import vivant
from tests.support.page_layout import find_layout_faults
from tests.support.view_kit import choice_samples, make_records, write_large, write_run
from vivant.core.types import Option, Reply
from vivant.engine.evaluation import evaluate
from vivant.reporting.html import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest_plugins = ("tests.support.browser_fixture",)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache for all tests here, because they share a viewer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIVANT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


LOOKER = """
from vivant.models.base import Capabilities
from vivant.core.types import Reply

class M:
    capabilities = Capabilities(images=True)

    async def generate(self, request):
        name = request.options[request.seed % 2].name
        return Reply(text="<think>First I look at the hands.</think>" + request.answer_form.format(name))
"""


EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202eevil\u2066"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of a model with eyes and of two without, on the bundled videos."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "m.py").write_text(LOOKER)
    for name, model in (("eyes", f"{folder / 'm.py'}:M"), ("random", "random"), ("first", "first")):
        run_apart(evaluate, "mmrv", model, data=("mini",), limit=12, out=str(folder / name)).scores()
    return folder


@pytest.fixture(scope="module")
def report(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on the two models without eyes."""
    return write_report([root / "random", root / "first"], tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def viewer(root: Path) -> Iterator[str]:
    with run_viewer(root) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in which nothing may go wrong."""
    opened = open_page(browser, viewport={"width": 1300, "height": 900})
    text = record_problems(opened)
    yield opened
    opened.close()
    assert text == []


def test_from_the_list_of_runs_to_a_sample(page: Page, viewer: str) -> None:
    page.goto(f"{viewer}/runs")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_label("Search").fill("random")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("a[data-item]").first.click()
    expect(page.locator("#total")).to_have_text("12")
    page.get_by_label("Outcome").select_option("wrong")
    page.wait_for_url(re.compile("outcome=wrong"))
    expect(page.locator("tbody .mark.right")).to_have_count(0)
    wrong = int(page.locator("#total").inner_text())
    assert 0 < wrong <= 12
    assert page.locator("tbody .mark.wrong").count() == wrong
    page.locator("a[data-item]").first.click()
    expect(page.locator("h1 .mark")).to_have_text("wrong")
    assert "key=" in page.url and "outcome=wrong" in page.url


def test_the_matrix_sorts_searches_pins_hides_and_keeps_it_in_the_address(page: Page, viewer: str) -> None:
    page.goto(viewer)
    lines = page.locator("tr[data-entry]:not([hidden])")
    expect(lines).to_have_count(3)
    page.get_by_label("baselines", exact=True).uncheck()
    expect(page.locator("tbody[data-kind=baseline]")).to_be_hidden()
    page.get_by_label("baselines", exact=True).check()
    page.get_by_label("Search").fill("first")
    expect(lines).to_have_count(1)
    page.get_by_label("Search").fill("")
    page.get_by_label("Pin random").click()
    expect(page.locator("tbody[data-kind=baseline] tr[data-entry]").first).to_contain_text("random")
    page.get_by_label("Hide first").click()
    expect(lines).to_have_count(2)
    page.get_by_role("button", name="mcq").click()
    assert all(part in page.url for part in ("pin=random", "hide=first", "sort=mmrv"))
    page.reload()
    expect(lines).to_have_count(2)
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("mcq")
    page.get_by_role("button", name="Reset").click()
    expect(lines).to_have_count(3)


def test_cells_are_selected_and_compared(page: Page, viewer: str) -> None:
    page.goto(viewer)
    compare = page.locator("[data-compare]")
    expect(compare).to_be_disabled()
    boxes = page.locator("input[name=cell]")
    boxes.nth(0).check()
    boxes.nth(1).check()
    expect(compare).to_be_enabled()
    compare.click()
    page.wait_for_url(re.compile("/compare"))
    expect(page.locator(".runs li")).to_have_count(2)
    page.get_by_role("link", name=re.compile("all in common")).click()
    expect(page.locator("#total")).to_have_text("12")
    page.go_back()
    expect(page.locator(".tile.current")).to_contain_text("answered differently")


def test_a_facet_chip_leads_to_its_like(page: Page, viewer: str) -> None:
    page.goto(f"{viewer}/run/eyes")
    page.locator("a[data-item]").first.click()
    chip = page.locator("a.chip").first
    chip.click()
    page.wait_for_url(re.compile(r"f\."))
    assert 0 < int(page.locator("#total").inner_text()) <= 12


@pytest.mark.playback
def test_plays_the_video_and_shows_the_frames_that_the_model_saw(page: Page, viewer: str) -> None:
    page.goto(f"{viewer}/run/eyes")
    page.locator("a[data-item]").first.click()
    page.locator("video").evaluate("async v => { v.muted = true; await v.play() }")
    page.wait_for_function("document.querySelector('video').currentTime > 0")
    page.locator("video").evaluate("v => { v.currentTime = v.duration * 0.8 }")
    frames = page.locator(".frames img")
    expect(frames).to_have_count(8)
    for place in range(8):
        frames.nth(place).scroll_into_view_if_needed()
        assert frames.nth(place).evaluate("async i => { await i.decode(); return i.naturalWidth }") > 0
    expect(page.locator(".frames figcaption").first).to_contain_text("0.00 s")


def test_the_chain_of_thought_is_folded(page: Page, viewer: str) -> None:
    page.goto(f"{viewer}/run/eyes")
    page.locator("a[data-item]").first.click()
    thought = page.get_by_text("First I look at the hands.")
    expect(thought).to_be_hidden()
    page.get_by_text("Chain of thought").click()
    expect(thought).to_be_visible()


def test_two_runs_side_by_side(page: Page, viewer: str) -> None:
    page.goto(f"{viewer}/compare?run=eyes&run=first&kind=all")
    expect(page.locator("#total")).to_have_text("12")
    page.get_by_role("link", name=re.compile("only A right")).click()
    expect(page.locator(".tile.current")).to_contain_text("only A right")
    rows = page.locator("tbody tr")
    for place in range(rows.count()):
        expect(rows.nth(place).locator(".mark").first).to_have_text("right")
        expect(rows.nth(place).locator(".mark").nth(1)).not_to_have_text("right")
    page.goto(f"{viewer}/compare?run=eyes&run=first&kind=all")
    page.locator("a[data-item]").first.click()
    expect(page.locator(".columns.even > div")).to_have_count(2)


def test_everything_can_be_reached_with_the_keyboard(page: Page, viewer: str) -> None:
    page.goto(f"{viewer}/run/eyes")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    first = page.locator("a[data-item]").first.get_attribute("title") or ""
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text(first)
    page.keyboard.press("ArrowRight")
    expect(page.locator("h1")).not_to_contain_text(first)
    page.keyboard.press("p")
    expect(page.locator("h1")).to_contain_text(first)
    page.keyboard.press("u")
    page.wait_for_url(re.compile(r"/run/eyes\??$"))
    page.keyboard.press("w")
    page.wait_for_url(re.compile("outcome=wrong"))
    expect(page.locator("tbody .mark.right")).to_have_count(0)
    page.keyboard.press("r")
    page.wait_for_url(re.compile("outcome=right"))
    page.keyboard.press("a")
    expect(page.locator("#total")).to_have_text("12")
    page.keyboard.press("/")
    page.keyboard.type("j k / n")
    assert page.locator("[data-search]").input_value() == "j k / n"
    page.goto(viewer)
    page.keyboard.press("Tab")
    expect(page.locator("a.skip")).to_be_focused()


def _lightness(page: Page) -> float:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 765


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(page: Page, viewer: str, report: Path, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    for address in (f"{viewer}/run/eyes", report.as_uri()):
        page.goto(address)
        assert (_lightness(page) > 0.5) == (scheme == "light")
        ink = page.evaluate("getComputedStyle(document.querySelector('h1')).color")
        assert (sum(int(p) for p in re.findall(r"\d+", ink)[:3]) / 765 > 0.5) == (scheme == "dark")


def test_the_report_opens_from_disk_and_folds_with_the_keyboard(page: Page, report: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    expect(page.get_by_role("heading", name="What to take from it")).to_be_visible()
    folded = page.locator("details.fold").first
    folded.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert folded.evaluate("d => d.open")
    page.get_by_role("link", name="Settings", exact=True).click()
    expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_in_viewport()
    assert asked == [report.as_uri()]
    page.emulate_media(media="print")
    expect(page.locator("nav.wide")).to_be_hidden()
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 1


def test_hostile_text_stays_text(page: Page, tmp_path: Path) -> None:
    samples = choice_samples(3)
    samples[0] = type(samples[0])(
        id=EVIL, task="jsonl/made", question=samples[0].question,
        options=tuple(Option(name, EVIL) for name in "ABCD"), key=0, facets={EVIL: EVIL, "half": "even"},
    )  # fmt: skip
    replies = [
        Reply(text=EVIL + "B", thinking=EVIL),
        Reply(text="x" * 1_000_000),
        Reply(status="error", error=EVIL),
    ]
    write_run(tmp_path / "runs" / "run", samples, make_records(samples, replies), model=EVIL).scores()
    report = write_report([tmp_path / "runs" / "run"], tmp_path / "report.html", title=EVIL)
    with run_viewer(tmp_path / "runs") as address:
        for place in (address, f"{address}/runs", f"{address}/run/run", report.as_uri()):
            page.goto(place)
            assert page.evaluate("document.title") != "owned"
            assert page.locator("img").count() == 0
        for number in range(3):
            page.goto(f"{address}/run/run")
            page.locator("a[data-item]").nth(number).click()
            expect(page.locator("h1")).to_be_visible()
            assert page.evaluate("document.title") != "owned"
            wide = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 1
        assert "document.title" in page.locator("body").inner_text()


def test_a_missing_video_says_so(browser: Browser, root: Path, tmp_path: Path) -> None:
    import json
    import shutil

    run = tmp_path / "runs" / "run"
    shutil.copytree(root / "eyes", run)
    (tmp_path / "data").mkdir()
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["roots"] = {"mmrv/mcq": str(tmp_path / "data")}
    (run / "manifest.json").write_text(json.dumps(manifest))
    page = open_page(browser)
    with run_viewer(tmp_path / "runs") as address:
        page.goto(f"{address}/run/run")
        page.locator("a[data-item]").first.click()
        expect(page.locator(".missing").first).to_contain_text("is missing from")
        expect(page.locator("h1")).to_be_visible()


@pytest.mark.parametrize("count", [5_000, pytest.param(200_000, marks=pytest.mark.full)])
def test_many_samples(page: Page, tmp_path: Path, count: int) -> None:
    write_large(tmp_path / "runs" / "large", count)
    with run_viewer(tmp_path / "runs") as address:
        page.goto(f"{address}/run/large")
        expect(page.locator("#total")).to_have_text(f"{count:,}")
        page.get_by_label("Search").fill(f"take {count - 3}")
        expect(page.locator("#total")).to_have_text("1")
        page.goto(f"{address}/run/large?page={count // 50}")
        expect(page.locator("tbody tr")).to_have_count(50)
        page.get_by_label("Outcome").select_option("error")
        page.wait_for_url(re.compile("outcome=error"))
        expect(page.locator("tbody tr").first).to_contain_text("HTTP 503: overloaded")
        errors = int(page.locator("#total").inner_text().replace(",", ""))
        assert 0.0075 < errors / count < 0.0125
        page.locator("a[data-item]").first.click()
        expect(page.get_by_text("HTTP 503: overloaded")).to_be_visible()


def test_a_run_under_way_is_followed_without_a_reload(page: Page, tmp_path: Path) -> None:
    from vivant.runs.log import LogWriter

    samples = choice_samples(5)
    records = make_records(samples, [Reply(text="B")] * 5)
    run = write_run(tmp_path / "run", samples, records[:2])
    with run_viewer(tmp_path) as address:
        page.goto(address)
        expect(page.locator(".cell .small").first).to_have_text("n 22 of 5 answered")
        page.evaluate("window.stays = true")
        with LogWriter(run.dir.log_file) as log:
            log.append(records[2])
            expect(page.locator(".cell .small").first).to_have_text("n 33 of 5 answered")
            for record in records[3:]:
                log.append(record)
        expect(page.locator(".cell .small").first).to_have_text("n 5")
        assert page.evaluate("window.stays"), "the page was not loaded again"
        page.goto(f"{address}/runs")
        expect(page.locator(".mark.done")).to_be_visible()


def test_an_export_compares_selected_cells_and_plays_videos(page: Page, exported: Path) -> None:
    page.goto((exported / "index.html").as_uri())
    boxes = page.locator("input[name=cell]")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.locator("[data-compare]").click()
    page.wait_for_url(re.compile(r"/compare/\d+/differ\.html"))
    expect(page.locator(".runs li")).to_have_count(2)
    page.get_by_role("link", name=re.compile("all in common")).click()
    expect(page.locator("#total")).to_have_text("12")
    page.locator("a[data-item]").first.click()
    expect(page.locator(".columns.even > div")).to_have_count(2)
    seconds = page.locator("video").evaluate(
        "async v => { if (!v.readyState) await new Promise(r => v.addEventListener('loadedmetadata', r)); "
        "return v.duration }"
    )
    assert seconds > 1
    assert find_layout_faults(page) == []


@pytest.fixture(scope="module")
def exported(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that was exported."""
    site = tmp_path_factory.mktemp("export") / "site"
    done = run_apart(vivant, "view", root, "--export", site, "--media", "9", cwd=root)
    assert done.returncode == 0, done.stderr
    return site


def test_published_rows_stay_short_on_a_phone(browser: Browser, viewer: str) -> None:
    page = open_page(browser, viewport={"width": 390, "height": 900})
    page.goto(f"{viewer}/?published=1")
    shown = page.locator("[data-kind=published] tr[data-entry]:visible")
    total = page.locator("[data-kind=published] tr[data-entry]").count()
    assert total > 20
    expect(shown).to_have_count(20)
    assert page.evaluate("document.documentElement.scrollHeight") < 3000
    page.get_by_role("button", name=f"all {total} lines").click()
    expect(shown).to_have_count(total)
