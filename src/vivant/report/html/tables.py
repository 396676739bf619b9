"""Tables as HTML: scrollable where they are wide, long ones folded."""

from __future__ import annotations

from collections.abc import Sequence

from vivant.core.table import Cell, Table, format_cell, is_numeric_column
from vivant.report.html.markup import Html, join, own, tag

_LONG = 40
_CELL = 400
"""Characters of one cell: names are short, and what is not a name need not be whole here."""


def table(value: Table, *, caption: bool = True, folded: bool | None = None) -> Html:
    """A table with its notes; with more than forty rows it is folded, unless told otherwise."""
    numeric = [is_numeric_column(value, index) for index in range(len(value.columns))]
    drawn = tag(
        "div",
        tag(
            "table",
            tag("caption", value.title) if caption else None,
            tag(
                "thead",
                tag("tr", *(_head(name, num) for name, num in zip(value.columns, numeric, strict=True))),
            ),
            tag("tbody", *(_row(value, number, numeric) for number in range(len(value.body)))),
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=value.title,
    )
    notes = (
        tag("ul", *(tag("li", own(note)) for note in value.notes), class_="notes") if value.notes else None
    )
    if folded if folded is not None else len(value.body) > _LONG:
        summary = tag("summary", f"{value.title} ({len(value.body):,} rows)")
        return tag("details", summary, drawn, join(notes))
    return join(drawn, notes)


def _head(name: str, numeric: bool) -> Html:
    return tag("th", name.replace("\n", " "), scope="col", class_="num" if numeric else None)


def _row(value: Table, number: int, numeric: Sequence[bool]) -> Html:
    cells = [_cell(cell, value.decimals, num) for cell, num in zip(value.body[number], numeric, strict=True)]
    marked = any(cell == "published" for cell in value.body[number])
    names = " ".join(filter(None, ("rule" if number in value.rules else "", "published" if marked else "")))
    return tag("tr", *cells, class_=names or None)


def _cell(cell: Cell, decimals: int, numeric: bool) -> Html:
    shown = format_cell(cell, decimals)
    if len(shown) > _CELL:
        shown = shown[:_CELL] + f"… ({len(shown):,} characters)"
    return tag("td", shown if numeric else own(shown), class_="num" if numeric else None)


def pairs(entries: Sequence[tuple[str, Html | str]]) -> Html:
    """Names and what belongs to them."""
    return tag("dl", *(join(tag("dt", name), tag("dd", value)) for name, value in entries))
