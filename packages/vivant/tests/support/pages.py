"""Pages as text: parsed strictly, and read as a person would."""

from __future__ import annotations

import base64
import re
from html import unescape
from html.parser import HTMLParser

_VOID = ("meta", "br", "hr", "input", "wbr")
_DOWNLOADS = ("data:image/svg+xml;", "data:text/csv;")


class PageParser(HTMLParser):
    """Checks that elements are closed in order, and finds everything that could run or load something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.dangers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "link", "img"):
            self.dangers.append(tag)
        self.dangers += [f"{tag} {name}" for name, value in attrs if name.startswith("on") or name == "src"]
        values = dict(attrs)
        href = values.get("href") or ""
        download = "download" in values and href.startswith(_DOWNLOADS)
        if href and not download and re.match(r"\s*(?!https?:)[a-z][a-z0-9+.-]*:", href, re.IGNORECASE):
            self.dangers.append(f"href {href[:80]}")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parse_page(page: str) -> PageParser:
    """Parse a page; elements must be closed in order."""
    parser = PageParser()
    parser.feed(page)
    assert parser.open == []
    return parser


def read_words(page: str) -> str:
    """The words of a page."""
    plain = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", plain)))


def read_list(page: str, css_class: str) -> list[str]:
    """The lines of the first list of a class."""
    match = re.search(rf'<ul class="{css_class}">(.*?)</ul>', page, re.DOTALL)
    assert match is not None, f"no list of the class {css_class}"
    return [read_words(line).strip() for line in re.findall(r"<li>(.*?)</li>", match[1], re.DOTALL)]


def decode_downloads(page: str) -> dict[str, str]:
    """The files that a page holds in its links, by name."""
    links = re.findall(r'download="([^"]*)" href="data:[^"]*?;base64,([^"]*)"', page)
    assert len({name for name, _ in links}) == len(links), "two downloads have one name"
    return {name: base64.b64decode(data).decode() for name, data in links}
