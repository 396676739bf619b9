"""Pages link to what exists, and every page has one place on the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from build_site import list_pages, plan_navigation, write_api_reference, write_command_reference

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += [ROOT / "docs" / page for page in list_pages(ROOT / "docs")]
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def list_anchors(page: Path) -> set[str]:
    """The anchors that a page's headings make."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ +(.*?)\s*$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading)) for heading in headings)
    return {heading.strip().lower().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in (first or second for first, second in _LINK.findall(text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or target.suffix != ".md" or anchor in list_anchors(target), f"{page.name}: {link}"


def test_every_page_has_one_place() -> None:
    sections = yaml.safe_load((ROOT / "docs" / "nav.yaml").read_text(encoding="utf-8"))
    assert list(sections) == ["Start", "How-to", "Benchmarks", "Reference", "Explanation"]
    pages = list_pages(ROOT / "docs")
    placed = [page for files in plan_navigation(sections, pages).values() for page in files]
    assert sorted(placed) == pages


def test_a_new_page_is_not_lost() -> None:
    planned = plan_navigation({"Start": ["index.md"], "How-to": ["a*.md"]}, ["abc.md", "index.md", "new.md"])
    assert planned == {"Start": ["index.md"], "How-to": ["abc.md", "new.md"]}


def test_the_reference_is_made_from_the_code() -> None:
    commands = write_command_reference()
    for name in ("run", "study new", "build mimic restore", "train mimic-chat"):
        assert f"### vivant {name}\n" in commands, name
    assert "| `--max-frames` |  | At most N frames" in commands
    api = write_api_reference()
    for name in ("evaluate", "load_run", "compare", "Benchmark", "MultipleChoice", "Model"):
        assert re.search(rf"^::: vivant\.[\w.]+\.{name}$", api, re.MULTILINE), name
