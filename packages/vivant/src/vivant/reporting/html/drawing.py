"""A figure of a page with what it was drawn from: both can be downloaded, with no script and no network."""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import ClassVar

from markupsafe import Markup
from msgspec import Struct

from vivant.reporting.html import svg
from vivant.reporting.html.blocks import replace_controls
from vivant.reporting.html.svg import BarGroup, PlotPoint

Cells = Sequence[str | int | float | None]


class Drawing(Struct, frozen=True, kw_only=True):
    """One figure."""

    kind: ClassVar[str] = "drawing"
    name: str
    """The name of the downloaded files: letters, digits and hyphens."""
    svg: Markup
    columns: tuple[str, ...]
    rows: Sequence[Cells]

    @property
    def svg_url(self) -> str:
        """The figure as a file of its own, in the colours of light paper."""
        style = f"<style>{_standalone_style()}</style>"
        start = self.svg.index(">") + 1  # behind <svg …>
        return _encode("image/svg+xml", f"{self.svg[:start]}{style}{self.svg[start:]}")

    @property
    def csv_url(self) -> str:
        """The figures in it."""
        return _encode("text/csv", to_csv(self.columns, self.rows))


def _encode(kind: str, text: str) -> str:
    encoded = base64.b64encode(replace_controls(text).encode()).decode()
    return f"data:{kind};charset=utf-8;base64,{encoded}"


@cache
def _standalone_style() -> str:
    """The page's rules for figures, with the colours of its light form written in."""
    folder = files("vivant.reporting").joinpath("templates")
    page = folder.joinpath("style.css").read_text(encoding="utf-8")
    rules = folder.joinpath("figure.css").read_text(encoding="utf-8")
    colors = dict(re.findall(r"(--[a-z0-9]+): (#[0-9a-f]{3,6});", page[: page.index("@media")]))
    text = re.sub(r"var\((--[a-z0-9]+)\)", lambda match: colors[match[1]], rules)
    return "svg{font-family:sans-serif;background:#fff}" + re.sub(r"\s+", " ", text.replace("svg .", "."))


def to_csv(columns: Sequence[str], rows: Sequence[Cells]) -> str:
    """Comma-separated values in full precision; nothing in them is a spreadsheet's formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([["" if cell is None else _guard_cell(cell) for cell in row] for row in rows])
    return buffer.getvalue()


def _guard_cell(value: str | int | float) -> str | int | float:
    """A text that a spreadsheet would take for a formula is marked as text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def draw_forest(name: str, points: Sequence[PlotPoint], label: str, chance: float | None = None) -> Drawing:
    """A line per value: a point with its interval."""
    rows = [_list_point(point) for point in points]
    return Drawing(name=name, svg=svg.draw_forest(points, label, chance), columns=_POINT, rows=rows)


_POINT = ("name", "value", "low", "high", "source", "note")


def _list_point(point: PlotPoint) -> Cells:
    low, high = point.interval or (None, None)
    source = "published" if point.published else "measured"
    return (point.label, point.value, low, high, source, point.note)


def draw_bars(name: str, groups: Sequence[BarGroup], label: str, chance: float | None = None) -> Drawing:
    """A bar per value with its interval as a whisker, grouped."""
    rows = [(group.label, *_list_point(point)) for group in groups for point in group.points]
    return Drawing(name=name, svg=svg.draw_bars(groups, label, chance), columns=("group", *_POINT), rows=rows)


def draw_scatter(
    name: str, points: Sequence[tuple[str, float, float]], label: str, across: str, up: str
) -> Drawing:
    """A named point per (name, x, y)."""
    drawn = svg.draw_scatter(points, label, across, up)
    return Drawing(name=name, svg=drawn, columns=("name", across, up), rows=points)


def draw_heatmap(
    name: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], tuple[float | None, int]],
    label: str,
) -> Drawing:
    """A cell per pair, from its value and its n."""
    cells = [(row, column, *values.get((row, column), (None, 0))) for row in rows for column in columns]
    drawn = svg.draw_heatmap(rows, columns, values, label)
    return Drawing(name=name, svg=drawn, columns=("down", "across", "value", "n"), rows=cells)
