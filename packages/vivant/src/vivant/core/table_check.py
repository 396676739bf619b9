"""What can be wrong with a table that someone else's code built."""

from __future__ import annotations

from vivant.core.table import Row, Table


def find_table_fault(table: Table) -> str:
    """Return what would keep a table from being shown, in a few words; empty if nothing would."""
    if not isinstance(table.title, str):
        return f"its title is {_name(table.title)}, not text"
    for field, kind in (("columns", str), ("notes", str), ("optional", str), ("rules", int), ("rows", Row)):
        values = getattr(table, field)
        if not isinstance(values, tuple | list) or not all(isinstance(value, kind) for value in values):
            return f"`{field}` is not a tuple of {kind.__name__}"
    if not table.columns:
        return "it has no columns"
    if not isinstance(table.body, tuple | list):
        return f"`body` is {_name(table.body)}, not a tuple of rows"
    for number, row in enumerate(table.body, 1):
        if not isinstance(row, tuple | list) or len(row) != len(table.columns):
            size = f"{len(row)} cells" if isinstance(row, tuple | list) else _name(row)
            return f"row {number} is {size}, and there are {len(table.columns)} columns"
        for column, cell in zip(table.columns, row, strict=True):
            if not isinstance(cell, str | int | float | None):
                return f"row {number}, column '{column}' is {_name(cell)}; use str, int, float or None"
    return ""


def _name(value: object) -> str:
    return type(value).__name__
