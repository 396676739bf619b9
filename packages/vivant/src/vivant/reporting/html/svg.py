"""Small figures as inline SVG: they take their colours from the page, so they follow light, dark and print."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct

from vivant.reporting.html.markup import element

COLORS, GREYS = 8, 3
_ROW_HEIGHT, _WIDTH, _VALUE_WIDTH = 22, 760, 118


class PlotPoint(Struct, frozen=True, kw_only=True):
    """One value of a figure."""

    label: str
    value: float | None
    interval: tuple[float, float] | None = None
    color: int = 0
    published: bool = False
    reference: bool = False
    """A baseline, which is drawn grey."""
    note: str = ""
    """Shown when pointed at."""


class BarGroup(Struct, frozen=True, kw_only=True):
    """Values that stand together under one name."""

    label: str
    points: tuple[PlotPoint, ...]


def _text_width(label: str) -> float:
    """Roughly how wide a label is drawn, in pixels at 12 px."""
    return sum(12.0 if unicodedata.east_asian_width(char) in "WF" else 7.4 for char in label)


def _shorten(label: str, length: int = 38) -> str:
    return label if len(label) <= length else label[: length - 1] + "…"


def _axis(low: float, high: float) -> tuple[float, float, float]:
    """Ends of an axis and the step between its ticks."""
    if low >= 0 and high <= 100:
        top = next((top for top in (10.0, 25.0, 50.0, 100.0) if high <= top), 100.0)
        return 0.0, top, top / 5
    size = max(high - min(low, 0.0), 1e-9)
    step = 1.0
    while step * 6 < size:
        step *= 2
    while step * 3 > size:
        step /= 2
    first = 0.0 if low >= 0 else -step * (int(-low / step) + 1)
    return first, first + step * (int((high - first) / step) + 1), step


def _color_class(point: PlotPoint) -> str:
    return f"r{point.color % GREYS}" if point.reference else str(point.color % COLORS)


def _draw_text(x: float, y: float, value: str, **attributes: str | None) -> Markup:
    return element("text", value, x=f"{x:.1f}", y=f"{y:.1f}", **attributes)


def _draw_line(x1: float, y1: float, x2: float, y2: float, name: str) -> Markup:
    return element("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=name)


class _Scale(Struct, frozen=True):
    low: float
    high: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        return self.left + (inside - self.low) / (self.high - self.low) * (self.right - self.left)


def _draw_axis(scale: _Scale, step: float, top: float, bottom: float, chance: float | None) -> list[Markup]:
    parts: list[Markup] = []
    value = scale.low
    while value <= scale.high + step / 1000:
        parts.append(_draw_line(scale(value), top, scale(value), bottom, "grid"))
        parts.append(_draw_text(scale(value), bottom + 15, f"{value:g}", text_anchor="middle", class_="tick"))
        value += step
    if chance is not None:
        parts.append(_draw_line(scale(chance), top - 2, scale(chance), bottom, "chance"))
        parts.append(
            _draw_text(scale(chance), top - 5, f"chance {chance:.1f}", text_anchor="middle", class_="tick")
        )
    return parts


def _value_range(points: Sequence[PlotPoint], chance: float | None) -> tuple[float, float]:
    values = [point.value for point in points if point.value is not None]
    ends = [end for point in points if point.interval for end in point.interval]
    if values and min(values) >= 0 and max(values) <= 100:
        # An interval of Student's t may leave the scale of percentages; the figure need not follow it.
        ends = [min(max(end, 0.0), 100.0) for end in ends]
    values += ends
    values += [] if chance is None else [chance]
    return (min(values), max(values)) if values else (0.0, 100.0)


def _draw_figure(height: float, label: str, parts: Sequence[Markup], width: float = _WIDTH) -> Markup:
    return element(
        "svg",
        element("title", label),
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        role="img",
        class_="figure",
        xmlns="http://www.w3.org/2000/svg",
    )


def _format_value(point: PlotPoint) -> str:
    if point.value is None:
        return "–"
    if point.interval is None:
        return f"{point.value:.1f}"
    return f"{point.value:.1f}  [{point.interval[0]:.1f}, {point.interval[1]:.1f}]"


def draw_forest(points: Sequence[PlotPoint], label: str, chance: float | None = None) -> Markup:
    """A line per value: a point with its interval; published values are hollow."""
    left = min(270.0, max([_text_width(_shorten(point.label)) for point in points] + [60.0]) + 14)
    low, high, step = _axis(*_value_range(points, chance))
    scale = _Scale(low, high, left, _WIDTH - _VALUE_WIDTH - 12)
    top = 20.0
    bottom = top + _ROW_HEIGHT * len(points)
    parts = _draw_axis(scale, step, top, bottom, chance)
    for number, point in enumerate(points):
        y = top + _ROW_HEIGHT * number + _ROW_HEIGHT / 2
        drawn = [_draw_text(left - 10, y + 4, _shorten(point.label), text_anchor="end", class_="label")]
        if point.interval is not None:
            a, b = scale(point.interval[0]), scale(point.interval[1])
            drawn.append(_draw_line(a, y, b, y, f"whisker s{_color_class(point)}"))
        if point.value is not None:
            kind = "hollow" if point.published else f"f{_color_class(point)}"
            drawn.append(
                element("circle", cx=f"{scale(point.value):.1f}", cy=f"{y:.1f}", r="4.5", class_=kind)
            )
        drawn.append(_draw_text(_WIDTH - _VALUE_WIDTH, y + 4, _format_value(point), class_="value"))
        parts.append(
            element(
                "g", element("title", f"{point.label}: {_format_value(point)} {point.note}".strip()), *drawn
            )
        )
    return _draw_figure(bottom + 24, label, parts)


def draw_bars(groups: Sequence[BarGroup], label: str, chance: float | None = None) -> Markup:
    """A bar per value with its interval as a whisker, grouped; a legend above."""
    points = [point for group in groups for point in group.points]
    names = list(dict.fromkeys((point.label, _color_class(point)) for point in points))
    left = min(270.0, max([_text_width(_shorten(group.label)) for group in groups] + [60.0]) + 14)
    low, high, step = _axis(*_value_range(points, chance))
    scale = _Scale(low, high, left, _WIDTH - 50.0)
    parts, top = _draw_legend(names, left)
    top += 18
    thickness = 15.0 if len(names) == 1 else max(7.0, min(13.0, 44.0 / len(names)))
    y = top
    drawn: list[Markup] = []
    for group in groups:
        size = thickness * len(group.points)
        drawn.append(
            _draw_text(left - 10, y + size / 2 + 4, _shorten(group.label), text_anchor="end", class_="label")
        )
        for point in group.points:
            if point.value is not None:
                drawn.append(_draw_bar(point, group.label, scale, y, thickness))
            y += thickness
        y += 9
    return _draw_figure(y + 24, label, [*parts, *_draw_axis(scale, step, top - 4, y - 4, chance), *drawn])


def _draw_bar(point: PlotPoint, group: str, scale: _Scale, y: float, thickness: float) -> Markup:
    value = point.value or 0.0
    a, b = sorted((scale(0.0), scale(value)))
    parts = [
        element("title", f"{group}, {point.label}: {_format_value(point)} {point.note}".strip()),
        element(
            "rect",
            x=f"{a:.1f}",
            y=f"{y:.1f}",
            width=f"{max(b - a, 1):.1f}",
            height=f"{thickness - 1.5:.1f}",
            class_=f"f{_color_class(point)}",
        ),
    ]
    end = scale(value)
    if point.interval is not None:
        middle = y + thickness / 2 - 0.75
        ends = scale(point.interval[0]), scale(point.interval[1])
        parts.append(_draw_line(ends[0], middle, ends[1], middle, "error"))
        end = max(end, ends[1])
    if thickness >= 9:
        parts.append(_draw_text(end + 5, y + thickness / 2 + 3, f"{value:.1f}", class_="tick"))
    return element("g", *parts)


def _draw_legend(names: Sequence[tuple[str, str]], left: float) -> tuple[list[Markup], float]:
    parts: list[Markup] = []
    x, y = left, 12.0
    for name, color in names:
        label = _shorten(name, 44)
        if x > left and x + _text_width(label) + 22 > _WIDTH:
            x, y = left, y + 17
        parts.append(element("rect", x=f"{x:.1f}", y=f"{y - 9:.1f}", width=10, height=10, class_=f"f{color}"))
        parts.append(_draw_text(x + 15, y, label, class_="tick"))
        x += _text_width(label) + 34
    return parts, y


def draw_scatter(points: Sequence[tuple[str, float, float]], label: str, across: str, up: str) -> Markup:
    """A named point per (name, x, y); names that end in a dagger are published and stand hollow."""
    low_x, high_x, step_x = _axis(0.0, max(x for _, x, _ in points))
    highest = max(y for _, _, y in points)
    low_y, high_y, step_y = (0.0, 5.0, 1.0) if highest <= 5 else _axis(0.0, highest)
    left, right, top, bottom = 46.0, _WIDTH - 150, 14.0, 274.0
    wide, tall = _Scale(low_x, high_x, left, right), _Scale(low_y, high_y, bottom, top)
    parts = _draw_axis(wide, step_x, top, bottom, None)
    value = low_y
    while value <= high_y + step_y / 1000:
        parts.append(_draw_line(left, tall(value), right, tall(value), "grid"))
        parts.append(_draw_text(left - 8, tall(value) + 4, f"{value:g}", text_anchor="end", class_="tick"))
        value += step_y
    parts.append(_draw_text((left + right) / 2, bottom + 34, across, text_anchor="middle", class_="label"))
    parts.append(_draw_text(left, top - 3, up, class_="label"))
    for name, x, y in points:
        kind = "hollow" if name.rstrip().endswith("†") else "f0"
        parts.append(element("circle", cx=f"{wide(x):.1f}", cy=f"{tall(y):.1f}", r="4.5", class_=kind))
        parts.append(_draw_text(wide(x) + 8, tall(y) + 4, _shorten(name, 22), class_="tick"))
    return _draw_figure(bottom + 44, label, parts)


def draw_heatmap(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], tuple[float | None, int]],
    label: str,
) -> Markup:
    """A cell per pair, from its value and its n: pale for 0, full for 100; dashed where there is none."""
    left = max([_text_width(_shorten(row, 20)) for row in rows] + [30.0]) + 14
    cell = max(16.0, min(46.0, (_WIDTH - left) / max(1, len(columns))))
    parts: list[Markup] = []
    for index, column in enumerate(columns):
        x = left + cell * index + cell / 2
        if cell >= 40:
            parts.append(_draw_text(x, 14, _shorten(column, 8), text_anchor="middle", class_="tick"))
        else:
            parts.append(
                _draw_text(x, 36, _shorten(column, 8), class_="tick", transform=f"rotate(-60 {x:.1f} 36)")
            )
    top = 20.0 if cell >= 40 else 42.0
    for line, row in enumerate(rows):
        y = top + 22.0 * line
        parts.append(_draw_text(left - 8, y + 15, _shorten(row, 20), text_anchor="end", class_="label"))
        for index, column in enumerate(columns):
            parts.append(
                _draw_cell(
                    *values.get((row, column), (None, 0)), left + cell * index, y, cell, f"{row}, {column}"
                )
            )
    return _draw_figure(top + 22.0 * len(rows) + 6, label, parts, max(left + cell * len(columns) + 4, 240))


def _draw_cell(value: float | None, n: int, x: float, y: float, cell: float, name: str) -> Markup:
    box = {"x": f"{x + 0.5:.1f}", "y": f"{y + 0.5:.1f}", "width": f"{cell - 1:.1f}", "height": "21"}
    if value is None:
        return element("g", element("title", f"{name}: no sample"), element("rect", **box, class_="none"))
    share = min(max(value / 100, 0.0), 1.0)
    filled = element("rect", **box, class_="heat", fill_opacity=f"{0.06 + 0.9 * share:.2f}")
    number = None
    if cell >= 22:
        strong = "tick strong" if share > 0.55 else "tick"
        number = _draw_text(x + cell / 2, y + 15, f"{value:.0f}", text_anchor="middle", class_=strong)
    return element("g", element("title", f"{name}: {value:.1f}, n = {n}"), filled, number)
