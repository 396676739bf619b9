"""Small figures as inline SVG: they take their colours from the page, so they follow light, dark and print."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from vivant.report.html.markup import Html, join, tag

COLOURS = 8
_ROW, _WIDTH, _VALUE = 22, 760, 118


class Mark(Struct, frozen=True, kw_only=True):
    """One value of a figure."""

    label: str
    value: float | None
    interval: tuple[float, float] | None = None
    colour: int = 0
    published: bool = False
    note: str = ""
    """Shown when pointed at."""


class Group(Struct, frozen=True, kw_only=True):
    """Values that stand together under one name."""

    label: str
    marks: tuple[Mark, ...]


def _wide(label: str) -> float:
    """Roughly how wide a label is drawn, in pixels at 12 px."""
    return sum(12.0 if unicodedata.east_asian_width(char) in "WF" else 7.4 for char in label)


def _cut(label: str, most: int = 38) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _nice(low: float, high: float) -> tuple[float, float, float]:
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


def _text(x: float, y: float, value: str, **attributes: str | None) -> Html:
    return tag("text", value, x=f"{x:.1f}", y=f"{y:.1f}", **attributes)


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> Html:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=name)


class _Scale(Struct, frozen=True):
    low: float
    high: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        return self.left + (inside - self.low) / (self.high - self.low) * (self.right - self.left)


def _frame(scale: _Scale, step: float, top: float, bottom: float, chance: float | None) -> list[Html]:
    parts: list[Html] = []
    value = scale.low
    while value <= scale.high + step / 1000:
        parts.append(_line(scale(value), top, scale(value), bottom, "grid"))
        parts.append(_text(scale(value), bottom + 15, f"{value:g}", text_anchor="middle", class_="tick"))
        value += step
    if chance is not None:
        parts.append(_line(scale(chance), top - 2, scale(chance), bottom, "chance"))
        parts.append(
            _text(scale(chance), top - 5, f"chance {chance:.1f}", text_anchor="middle", class_="tick")
        )
    return parts


def _bounds(marks: Sequence[Mark], chance: float | None) -> tuple[float, float]:
    values = [mark.value for mark in marks if mark.value is not None]
    ends = [end for mark in marks if mark.interval for end in mark.interval]
    if values and min(values) >= 0 and max(values) <= 100:
        # An interval of Student's t may leave the scale of percentages; the figure need not follow it.
        ends = [min(max(end, 0.0), 100.0) for end in ends]
    values += ends
    values += [] if chance is None else [chance]
    return (min(values), max(values)) if values else (0.0, 100.0)


def _figure(height: float, label: str, parts: Sequence[Html], width: float = _WIDTH) -> Html:
    return tag(
        "svg",
        tag("title", label),
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        role="img",
        class_="figure",
        xmlns="http://www.w3.org/2000/svg",
    )


def _value_text(mark: Mark) -> str:
    if mark.value is None:
        return "–"
    if mark.interval is None:
        return f"{mark.value:.1f}"
    return f"{mark.value:.1f}  [{mark.interval[0]:.1f}, {mark.interval[1]:.1f}]"


def forest(marks: Sequence[Mark], label: str, chance: float | None = None) -> Html:
    """A line per value: a point with its interval; published values are hollow."""
    left = min(270.0, max([_wide(_cut(mark.label)) for mark in marks] + [60.0]) + 14)
    low, high, step = _nice(*_bounds(marks, chance))
    scale = _Scale(low, high, left, _WIDTH - _VALUE - 12)
    top = 20.0
    bottom = top + _ROW * len(marks)
    parts = _frame(scale, step, top, bottom, chance)
    for number, mark in enumerate(marks):
        y = top + _ROW * number + _ROW / 2
        drawn = [_text(left - 10, y + 4, _cut(mark.label), text_anchor="end", class_="label")]
        if mark.interval is not None:
            a, b = scale(mark.interval[0]), scale(mark.interval[1])
            drawn.append(_line(a, y, b, y, f"whisker s{mark.colour % COLOURS}"))
        if mark.value is not None:
            kind = "hollow" if mark.published else f"f{mark.colour % COLOURS}"
            drawn.append(tag("circle", cx=f"{scale(mark.value):.1f}", cy=f"{y:.1f}", r="4.5", class_=kind))
        drawn.append(_text(_WIDTH - _VALUE, y + 4, _value_text(mark), class_="value"))
        parts.append(tag("g", tag("title", f"{mark.label}: {_value_text(mark)} {mark.note}".strip()), *drawn))
    return _figure(bottom + 24, label, parts)


def bars(groups: Sequence[Group], label: str, chance: float | None = None) -> Html:
    """A bar per value with its interval as a whisker, grouped; a legend above."""
    marks = [mark for group in groups for mark in group.marks]
    names = list(dict.fromkeys((mark.label, mark.colour) for mark in marks))
    left = min(270.0, max([_wide(_cut(group.label)) for group in groups] + [60.0]) + 14)
    low, high, step = _nice(*_bounds(marks, chance))
    scale = _Scale(low, high, left, _WIDTH - 50.0)
    parts, top = _legend(names, left)
    top += 18
    thick = 15.0 if len(names) == 1 else max(7.0, min(13.0, 44.0 / len(names)))
    y = top
    drawn: list[Html] = []
    for group in groups:
        size = thick * len(group.marks)
        drawn.append(_text(left - 10, y + size / 2 + 4, _cut(group.label), text_anchor="end", class_="label"))
        for mark in group.marks:
            if mark.value is not None:
                drawn.append(_bar(mark, group.label, scale, y, thick))
            y += thick
        y += 9
    return _figure(y + 24, label, [*parts, *_frame(scale, step, top - 4, y - 4, chance), *drawn])


def _bar(mark: Mark, group: str, scale: _Scale, y: float, thick: float) -> Html:
    value = mark.value or 0.0
    a, b = sorted((scale(0.0), scale(value)))
    parts = [
        tag("title", f"{group}, {mark.label}: {_value_text(mark)} {mark.note}".strip()),
        tag(
            "rect",
            x=f"{a:.1f}",
            y=f"{y:.1f}",
            width=f"{max(b - a, 1):.1f}",
            height=f"{thick - 1.5:.1f}",
            class_=f"f{mark.colour % COLOURS}",
        ),
    ]
    end = scale(value)
    if mark.interval is not None:
        middle = y + thick / 2 - 0.75
        ends = scale(mark.interval[0]), scale(mark.interval[1])
        parts.append(_line(ends[0], middle, ends[1], middle, "error"))
        end = max(end, ends[1])
    if thick >= 9:
        parts.append(_text(end + 5, y + thick / 2 + 3, f"{value:.1f}", class_="tick"))
    return tag("g", *parts)


def _legend(names: Sequence[tuple[str, int]], left: float) -> tuple[list[Html], float]:
    parts: list[Html] = []
    x, y = left, 12.0
    for name, colour in names:
        shown = _cut(name, 44)
        if x > left and x + _wide(shown) + 22 > _WIDTH:
            x, y = left, y + 17
        parts.append(
            tag("rect", x=f"{x:.1f}", y=f"{y - 9:.1f}", width=10, height=10, class_=f"f{colour % COLOURS}")
        )
        parts.append(_text(x + 15, y, shown, class_="tick"))
        x += _wide(shown) + 34
    return parts, y


def scatter(points: Sequence[tuple[str, float, float]], label: str, across: str, up: str) -> Html:
    """A named point per (name, x, y); names that end in a dagger are published and stand hollow."""
    low_x, high_x, step_x = _nice(0.0, max(x for _, x, _ in points))
    highest = max(y for _, _, y in points)
    low_y, high_y, step_y = (0.0, 5.0, 1.0) if highest <= 5 else _nice(0.0, highest)
    left, right, top, bottom = 46.0, _WIDTH - 150, 14.0, 274.0
    wide, tall = _Scale(low_x, high_x, left, right), _Scale(low_y, high_y, bottom, top)
    parts = _frame(wide, step_x, top, bottom, None)
    value = low_y
    while value <= high_y + step_y / 1000:
        parts.append(_line(left, tall(value), right, tall(value), "grid"))
        parts.append(_text(left - 8, tall(value) + 4, f"{value:g}", text_anchor="end", class_="tick"))
        value += step_y
    parts.append(_text((left + right) / 2, bottom + 34, across, text_anchor="middle", class_="label"))
    parts.append(_text(left, top - 3, up, class_="label"))
    for name, x, y in points:
        kind = "hollow" if name.rstrip().endswith("†") else "f0"
        parts.append(tag("circle", cx=f"{wide(x):.1f}", cy=f"{tall(y):.1f}", r="4.5", class_=kind))
        parts.append(_text(wide(x) + 8, tall(y) + 4, _cut(name, 22), class_="tick"))
    return _figure(bottom + 44, label, parts)


def heat(
    rows: Sequence[str], columns: Sequence[str], values: dict[tuple[str, str], float | None], label: str
) -> Html:
    """A cell per pair: pale for 0, full for 100, the figure inside; hatched where there is none."""
    left = max([_wide(_cut(row, 20)) for row in rows] + [30.0]) + 14
    cell = max(16.0, min(46.0, (_WIDTH - left) / max(1, len(columns))))
    parts: list[Html] = []
    for place, column in enumerate(columns):
        x = left + cell * place + cell / 2
        if cell >= 40:
            parts.append(_text(x, 14, _cut(column, 8), text_anchor="middle", class_="tick"))
        else:
            parts.append(_text(x, 36, _cut(column, 8), class_="tick", transform=f"rotate(-60 {x:.1f} 36)"))
    top = 20.0 if cell >= 40 else 42.0
    for line, row in enumerate(rows):
        y = top + 22.0 * line
        parts.append(_text(left - 8, y + 15, _cut(row, 20), text_anchor="end", class_="label"))
        for place, column in enumerate(columns):
            parts.append(_cell(values.get((row, column)), left + cell * place, y, cell, f"{row}, {column}"))
    return _figure(top + 22.0 * len(rows) + 6, label, parts, max(left + cell * len(columns) + 4, 240))


def _cell(value: float | None, x: float, y: float, cell: float, name: str) -> Html:
    box = {"x": f"{x + 0.5:.1f}", "y": f"{y + 0.5:.1f}", "width": f"{cell - 1:.1f}", "height": "21"}
    if value is None:
        return tag("g", tag("title", f"{name}: no sample"), tag("rect", **box, class_="none"))
    share = min(max(value / 100, 0.0), 1.0)
    filled = tag("rect", **box, class_="heat", fill_opacity=f"{0.06 + 0.9 * share:.2f}")
    shown = (
        _text(
            x + cell / 2,
            y + 15,
            f"{value:.0f}",
            text_anchor="middle",
            class_="tick strong" if share > 0.55 else "tick",
        )
        if cell >= 22
        else None
    )
    return tag("g", tag("title", f"{name}: {value:.1f}"), filled, join(shown))
