"""Leaderboard and report in a real browser: every width, light and dark, filters, hostile text, accessibility."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.support.board_kit import make_run
from tests.support.browser_kit import open_page, record_problems, run_apart
from tests.support.page_layout import WIDTHS, find_access_faults, find_layout_faults
from tests.support.view_kit import choice_samples, make_records, write_run
from vivant.core.types import Reply
from vivant.engine.evaluation import evaluate
from vivant.reporting.board.entries import BoardConfig, gather_sources
from vivant.reporting.board.site import write_board
from vivant.reporting.board.submission import Submission, write_submission
from vivant.reporting.html import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest_plugins = ("tests.support.browser_fixture",)

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202eevil\u2066"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board of made-up runs, of baselines on a bundled benchmark with many tasks, and of somebody hostile."""
    folder = tmp_path_factory.mktemp("board")
    for name, right, weights in (("strong", 55, "open"), ("also-strong", 52, "closed"), ("weak", 20, "open")):
        run = make_run(folder / "runs" / name, right, name)
        stated = Submission(name=name, protocol="strict", contributor="Ann Example", weights=weights)  # type: ignore[arg-type]
        write_submission(run, folder / "subs" / name, stated)
    write_submission(
        make_run(folder / "runs" / "evil", 33, "evil"),
        folder / "subs" / "evil",
        Submission(name=EVIL, protocol="strict", contributor=EVIL),
    )
    run_apart(evaluate, "mimic/thinking", "random", data=("mini",), out=str(folder / "subs" / "guess"))
    sources, refused = gather_sources([folder / "subs"])
    assert refused == []
    return write_board(sources, folder / "site", BoardConfig(title="Ours"), refused=["x: no log"])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on two models and two baselines, one of them hostile, with many tasks and a needle map."""
    folder = tmp_path_factory.mktemp("report")
    make_run(folder / "strong", 55, "provider/a-model-with-a-long-name-2026")
    make_run(folder / "weak", 20, EVIL, errors=3)
    for name in ("random", "first"):
        run_apart(evaluate, "mimic/thinking", name, data=("mini",), out=str(folder / name))
    needles = "milebench/TextNeedleInAHaystack"
    run_apart(evaluate, needles, "random", data=("mini",), out=str(folder / "needles"))
    return write_report([folder], folder / "report.html")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in which nothing may go wrong."""
    page = open_page(browser, viewport={"width": 1280, "height": 900})
    problems = record_problems(page)
    yield page
    page.close()
    assert problems == []


@pytest.fixture
def file(request: pytest.FixtureRequest) -> Path:
    """One of the pages, by its name."""
    if request.param == "report":
        report: Path = request.getfixturevalue("report")
        return report
    site: Path = request.getfixturevalue("site")
    return site if request.param == "board" else site.parent / "models" / "strong.html"


@pytest.mark.parametrize("file", ["board", "model", "report"], indirect=True)
def test_pages_are_readable_at_every_width(page: Page, file: Path) -> None:
    """With what is folded, and with all of it open."""
    page.goto(file.as_uri())
    assert "owned" not in page.title().split("'")[0]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert find_layout_faults(page) == [], width
    page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert find_layout_faults(page) == [], f"unfolded, {width}"


QUICK = (("board", "dark", 390), ("report", "light", 1280))
LOOKS = [
    pytest.param(*look, marks=() if look in QUICK else pytest.mark.full)
    for look in product(("board", "model", "report"), ("light", "dark"), (390, 1280))
]


@pytest.mark.parametrize(("file", "scheme", "width"), LOOKS, indirect=["file"])
def test_axe_finds_nothing(page: Page, file: Path, scheme: Literal["light", "dark"], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    assert find_access_faults(page) == []


def test_a_table_that_is_cut_says_so_and_keeps_its_models_in_sight(page: Page, site: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(site.as_uri())
    page.locator(".scroll.cut:has(table.overview)").evaluate("(box) => { box.scrollLeft = box.scrollWidth }")
    model = page.locator("table.overview tbody th").first.bounding_box()
    assert model is not None and model["x"] >= 0
    page.set_viewport_size({"width": 2400, "height": 900})
    page.wait_for_selector(".scroll:not(.cut) table.overview")


def test_the_name_of_a_task_opens_its_table(page: Page, site: Path) -> None:
    page.goto(site.as_uri())
    assert page.title() == "Ours"
    table = page.locator("#mimic-title-mini-paper table")
    assert table.is_hidden()
    page.click("table.overview a[href='#mimic-title-mini-paper']")
    table.wait_for(state="visible")


def test_hostile_names_do_nothing(page: Page, site: Path) -> None:
    page.goto(site.as_uri())
    link = page.locator("table.ranking a", has_text="document.title")
    link.click()
    assert "owned" not in page.title().split("'")[0]
    assert page.locator("h1").inner_text().startswith("<script>")


def test_filters_hide_lines_rank_the_rest_and_stay_in_the_address(page: Page, site: Path) -> None:
    def read_ranks() -> dict[str, str]:
        rows = page.locator("section[data-benchmark=jsonl] table.ranking tbody tr:visible")
        return {row.locator("th a").inner_text(): row.locator(".rank").inner_text() for row in rows.all()}

    page.goto(site.as_uri())
    assert {name: rank for name, rank in read_ranks().items() if "script" not in name} == {
        "strong": "1–3", "also-strong": "1–3", "weak": "3–4",
    }  # fmt: skip
    page.select_option("select[name=weights]", "open")
    assert read_ranks() == {"strong": "1", "weak": "2"}
    assert "weights=open" in page.url
    page.reload()
    assert read_ranks() == {"strong": "1", "weak": "2"}
    page.fill("input[name=name]", "WEAK")
    assert read_ranks() == {"weak": "–"}  # nothing is left to compare it with
    page.click("button[type=reset]")
    page.wait_for_url(lambda address: "?" not in address)
    assert len(read_ranks()) == 4
    page.fill("input[name=to]", "2001-01-01")
    assert page.locator("section[data-benchmark]:visible").count() == 0
    assert page.locator("output").inner_text() == "0 scores shown"


def test_ranks_of_the_overview_follow_the_filters(page: Page, tmp_path: Path) -> None:
    tasks = ("jsonl/made", "jsonl/other")
    for name, right, weights in (("strong", 60, "closed"), ("middle", 30, "open"), ("weak", 3, "open")):
        run = make_run(tmp_path / "runs" / name, right, name, tasks=tasks)
        stated = Submission(name=name, protocol="strict", contributor="Ann", weights=weights)  # type: ignore[arg-type]
        write_submission(run, tmp_path / "subs" / name, stated)
    sources, refused = gather_sources([tmp_path / "subs"])
    assert refused == []
    both = {task: {digest: "both"} for task, digest in run.manifest.settings.data.items()}
    page.goto(write_board(sources, tmp_path / "site", BoardConfig(editions=both)).as_uri())

    def read_ranks() -> dict[str, list[str]]:
        rows = page.locator("table.overview tbody tr:visible").all()
        return {row.locator("th a").inner_text(): row.locator("td small").all_inner_texts() for row in rows}

    assert read_ranks() == {"strong": ["1", "1"], "middle": ["2", "2"], "weak": ["3", "3"]}
    page.select_option("select[name=weights]", "open")
    assert read_ranks() == {"middle": ["1", "1"], "weak": ["2", "2"]}


def test_the_board_is_complete_without_script(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.as_uri())
    assert page.locator("form.filters").is_hidden()
    entries = json.loads((site.parent / "board.json").read_text())["entries"]
    assert page.locator("table.ranking tbody tr").count() == len(entries)
    context.close()


def test_the_first_screen_of_the_report_is_one_screen(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    found, doubts = page.locator("ul.found").bounding_box(), page.locator("ul.doubts").first.bounding_box()
    assert found is not None and doubts is not None
    assert found["y"] == doubts["y"] < 900, "side by side, below the matrix of all tasks"
    height = page.evaluate("document.documentElement.scrollHeight")
    assert height < 2_000, "what is folded takes no room"
    section = page.locator("section", has=page.locator("h2", has_text="MIMIC-Bench"))
    assert section.locator("svg").first.is_hidden()
    page.click("nav.wide a[href='#mimic']")
    section.locator("svg").first.wait_for(state="visible")


def test_six_long_names_of_models_fit_the_width_of_a_screen(page: Page, tmp_path: Path) -> None:
    samples = choice_samples(8)
    for number in range(6):
        model = f"organisation/Model-{number}.5-vision-instruct"
        write_run(tmp_path / f"{number}", samples, make_records(samples, [Reply(text="B")] * 8), model=model)
    page.goto(write_report([tmp_path], tmp_path / "report.html").as_uri())
    widths = page.locator(".scroll:has(.matrix)").evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert widths[0] <= widths[1]


def test_the_menu_of_a_phone_leads_to_the_sections(page: Page, report: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(report.as_uri())
    link = page.locator("nav.narrow a[href='#effort']")
    assert link.is_hidden() and page.locator("nav.wide").is_hidden()
    page.click("nav.narrow summary")
    link.click()
    page.locator("#effort table").wait_for(state="visible")


def test_paper_shows_what_a_screen_folds(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    heading = page.locator("#mimic h3").first
    assert heading.is_hidden()
    page.emulate_media(media="print")
    assert heading.is_visible()
    assert page.locator("nav.wide").is_hidden() and page.locator(".download").first.is_hidden()


def test_a_figure_of_the_report_is_downloaded_as_a_file(page: Page, report: Path) -> None:
    page.goto(f"{report.as_uri()}#jsonl")
    with page.expect_download() as download:
        page.click("a[download='jsonl-made-scores.svg']")
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename == "jsonl-made-scores.svg" and text.startswith("<svg")
