"""A table as data, and its five forms: text, CSV, Markdown, LaTeX, JSON."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from vivant.core.data_frames import require_library
from vivant.core.errors import unknown_name_error

if TYPE_CHECKING:
    import pandas
    import polars

Cell = str | int | float | None


class Row(Struct, frozen=True, kw_only=True):
    """One figure with everything needed to judge it. A JSON table is a list of these."""

    run: str
    benchmark: str
    task: str
    group: Mapping[str, str]
    """The facets that the row is restricted to; empty for the whole task."""
    metric: str
    value: float | None
    """On the table's scale (percent for accuracies); None where nothing could be scored."""
    n: int
    """Replies that count: scored, and unparsed where the protocol counts them."""
    errors: int = 0
    """Samples with no reply to score: errors, refusals, no record."""
    unparsed: int = 0
    truncated: int = 0
    """Replies cut off before an answer began; not part of `n`."""
    interval: tuple[float, float] | None = None
    """95 %, same scale as `value`."""
    interval_method: str = ""
    guessed: int = 0
    """Answers that the protocol supplied."""
    chance: float | None = None
    """Expected value of a guess on the same samples, same scale; None where it is not known for all."""
    corrected: float | None = None
    """The value with chance as 0 and the top of the scale as it is; None where chance is not known."""
    corrected_interval: tuple[float, float] | None = None
    p: float | None = None
    """For a difference: the p value of its own test."""
    p_adjusted: float | None = None
    """The same after Holm's correction over the table's comparisons of the same benchmark."""
    test: str = ""
    model: str = ""
    style: str = ""
    protocol: str = ""
    source: str = "measured"
    """`measured`, or where a published figure comes from."""


class Table(Struct, frozen=True, kw_only=True):
    """Columns of text and figures, with notes that belong under it."""

    title: str
    columns: tuple[str, ...]
    body: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    """The figures behind the cells, for the JSON form."""
    decimals: int = 1
    rules: tuple[int, ...] = field(default_factory=tuple)
    """Body rows before which a rule is drawn."""
    optional: tuple[str, ...] = ()
    """Columns that a narrow terminal may leave out, the least important first."""
    kept: int = 1
    """Columns at the start that stay in every row; others may become a note where all their cells are alike."""

    def __repr__(self) -> str:
        return to_text(self, shutil.get_terminal_size((PIPED_WIDTH, 24)).columns).rstrip()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from vivant.core.table_html import to_html

        return to_html(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The cells as a pandas data frame."""
        frame: pandas.DataFrame = require_library("pandas").DataFrame(self._list_columns())
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The cells as a Polars data frame."""
        frame: polars.DataFrame = require_library("polars").DataFrame(self._list_columns(), strict=False)
        return frame

    def _list_columns(self) -> dict[str, list[Cell]]:
        return {name: [row[i] for row in self.body] for i, name in enumerate(self.columns)}


def format_cell(cell: Cell, decimals: int = 1) -> str:
    """A cell as text: figures with fixed decimals, nothing as a dash."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.{decimals}f}"
    return str(cell)


PIPED_WIDTH = 160
"""Columns of a text that goes to a file or another program, unless $COLUMNS says otherwise."""


def to_text(table: Table, width: int | None = None) -> str:
    """The table as plain text of at most `width` columns; `table_layout` says how it is made to fit."""
    from vivant.core.table_layout import layout_table

    return "\n".join(line.text for line in layout_table(table, width or PIPED_WIDTH)) + "\n"


_MARKED_FIGURE = re.compile(r"[+−-]?\d[\d.,]*\*")


def is_numeric_column(table: Table, index: int) -> bool:
    """Whether a column is one of figures, marked ones (`12.5*`) too.

    One that is all dashes counts as well, for others of its kind hold some.
    """
    cells = [row[index] for row in table.body]
    texts = [cell for cell in cells if isinstance(cell, str)]
    return any(isinstance(c, int | float) for c in cells) or all(_MARKED_FIGURE.fullmatch(t) for t in texts)


def to_csv(table: Table) -> str:
    """Comma-separated values; notes are left out."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.body:
        writer.writerow(["" if cell is None else format_cell(cell, table.decimals) for cell in row])
    return buffer.getvalue()


def to_markdown(table: Table) -> str:
    """A Markdown table with its title above and its notes below."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    numeric = [is_numeric_column(table, i) for i in range(len(table.columns))]
    lines = [f"**{table.title}**", "", line(table.columns), line(["---:" if n else "---" for n in numeric])]
    lines += [line([format_cell(cell, table.decimals) for cell in row]) for row in table.body]
    lines += [f"\n{note}" for note in table.notes]
    return "\n".join(lines) + "\n"


_LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "–": "--",
    }
)


def escape_latex(text: str) -> str:
    """A text as LaTeX prints it."""
    return text.translate(_LATEX)


def to_latex(table: Table) -> str:
    """A `booktabs` table that compiles as it is."""
    numeric = [is_numeric_column(table, i) for i in range(len(table.columns))]
    spec = "".join("r" if n else "l" for n in numeric)
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{spec}}}", r"\toprule"]
    lines.append(" & ".join(c.translate(_LATEX) for c in table.columns) + r" \\")
    lines.append(r"\midrule")
    for number, row in enumerate(table.body):
        if number and number in table.rules:
            lines.append(r"\midrule")
        lines.append(" & ".join(format_cell(c, table.decimals).translate(_LATEX) for c in row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    caption = " ".join([table.title + ".", *table.notes]).translate(_LATEX)
    lines += [rf"\caption{{{caption}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def to_json(tables: Sequence[Table]) -> str:
    """The rows behind one or several tables, as one JSON list; if none has any, the cells by column."""
    rows = [msgspec.to_builtins(row) for table in tables for row in table.rows]
    if not rows:
        rows = [dict(zip(table.columns, cells, strict=True)) for table in tables for cells in table.body]
    return msgspec.json.format(msgspec.json.encode(rows), indent=1).decode() + "\n"


_WRITERS: Mapping[str, Callable[[Table], str]] = {
    "text": to_text,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
    "json": lambda table: to_json([table]),
}
FORMATS = tuple(_WRITERS)


def render(table: Table, form: str) -> str:
    """The table in one of `FORMATS`."""
    if form not in _WRITERS:
        raise unknown_name_error("format", form, FORMATS)
    return _WRITERS[form](table)
