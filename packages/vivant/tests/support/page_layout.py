"""What a reader would call a broken page: it scrolls sideways, a table leaves its frame, a word is cut in two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (390, 768, 1280, 1920)
_LONGEST_WORD = 24
"""Characters without a space: what is longer (a digest, a path) may be cut."""
_FIND = """(longest) => {
  const faults = [];
  const root = document.documentElement;
  const excess = root.scrollWidth - root.clientWidth;
  if (excess > 0) faults.push(`the page is ${excess} px too wide`);
  for (const table of document.querySelectorAll("table")) {
    if (!table.checkVisibility()) continue;
    let frame = table.parentElement;
    while (frame && !["auto", "scroll"].includes(getComputedStyle(frame).overflowX)) frame = frame.parentElement;
    const box = table.getBoundingClientRect();
    if (!frame && box.right > root.clientWidth + 1) faults.push(`a table ends at ${Math.round(box.right)} px`);
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const cell = node.parentElement.closest("td, th, h1, h2, h3, dt, summary, label, button");
    if (!cell || !cell.checkVisibility() || node.parentElement.closest("svg")) continue;
    for (const match of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const before = node.data.slice(0, match.index).match(/\\S*$/)[0];
      const chunk = before + node.data.slice(match.index).match(/^\\S*/)[0];
      if (chunk.length > longest || match[0].length < 2) continue;
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
      if (lines.size > 1) faults.push(`the word ${match[0]} is broken`);
    }
  }
  return [...new Set(faults)];
}"""


def find_layout_faults(page: Page) -> list[str]:
    """What is wrong with the layout of a page at its present width."""
    faults: list[str] = page.evaluate(_FIND, _LONGEST_WORD)
    return faults


def find_access_faults(page: Page) -> list[str]:
    """What axe finds: who cannot use the page, and where."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    response: dict[str, Any] = Axe().run(page).response
    return [f"{fault['id']}: {fault['nodes'][0]['html'][:200]}" for fault in response["violations"]]
