"""A table as HTML for notebooks: a plain `<table>`, which takes the look of the notebook."""

from __future__ import annotations

import html

from vivant.core.table import Table, format_cell, is_numeric_column


def to_html(table: Table) -> str:
    """The table with its title above and its notes below; every text is escaped."""
    sides = ["right" if is_numeric_column(table, i) else "left" for i in range(len(table.columns))]
    rule = "border-top:1px solid currentColor;"

    def line(cells: list[str], tag: str, style: str = "") -> str:
        joined = "".join(
            f'<{tag} style="{style}text-align:{side}">{html.escape(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{joined}</tr>"

    body = "".join(
        line(
            [format_cell(cell, table.decimals) for cell in row],
            "td",
            rule if number in table.rules and number else "",
        )
        for number, row in enumerate(table.body)
    )
    notes = "".join(f"<div><small>{html.escape(note)}</small></div>" for note in table.notes)
    title = f"<div><b>{html.escape(table.title)}</b></div>" if table.title else ""
    return (
        f"{title}<table><thead>{line(list(table.columns), 'th')}</thead><tbody>{body}</tbody></table>{notes}"
    )
