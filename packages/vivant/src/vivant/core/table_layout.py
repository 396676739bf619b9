"""A table as lines of text that fit a terminal: no line is wider than it, and no word is ever broken.

Where a table is too wide, these steps are tried in turn, and the first that fits is printed:

1. heads and cells are wrapped between words;
2. columns with the same value in every row become a line under the table;
3. long heads get a short form, explained under the table;
4. columns that the table calls optional are left out, the first of them first, and named under the table; before the
   second one goes, the rows are stacked in sections, with what the first columns say as their head lines;
5. a table with few rows is turned: rows become columns;
6. the columns are divided into parts, one below the other, each with the columns that name the rows; stacked where
   that makes fewer parts;
7. each row becomes a block of lines, `name  value`.

A single word that is wider than the terminal, such as a path, keeps a line of its own, and the terminal wraps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from vivant.core.text_wrapping import (
    has_letters,
    measure_longest_word,
    measure_widest_line,
    measure_width,
    pad_text,
    wrap_text,
)

if TYPE_CHECKING:
    from vivant.core.table import Table

SHORT_HEADS = {
    "95 % interval": "95 %",
    "above chance, 95 %": "abv. 95 %",
    "above chance": "abv.",
    "category": "cat.",
    "clusters": "clust.",
    "corrected": "corr.",
    "detectable": "det.",
    "diagnostic": "diagn.",
    "errors": "err.",
    "guessed": "gues.",
    "inconsistent": "incons.",
    "pictures": "pict.",
    "realistic": "real.",
    "requests": "req.",
    "truncated": "cut",
    "unpaired": "unp'd",
    "unparsed": "unp.",
}
"""Heads that take more room than what stands under them."""

PLAIN, TITLE, HEAD, NOTE = "", "bold", "bold", "dim"
_GAP, _MARGIN = 2, 1
_MOST_HEAD_LINES, _MOST_CELL_LINES, _MOST_LINES_BESIDE_FIGURES = 4, 6, 2
_MOST_SECTIONS = 0.75
"""Sections for each row, at most: more of them would make the table longer than it helps."""


class StyledLine(NamedTuple):
    """A line of text and how a terminal shows it."""

    text: str
    style: str = PLAIN


class _Grid(Struct, frozen=True):
    """A table whose cells are text, with the notes that its form needs."""

    heads: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]
    """Columns of figures, which stand at the right."""
    keys: int
    """How many of the first columns say what a row is about."""
    kept: int = 1
    """How many of them stay whatever the width."""
    rules: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    sections: tuple[tuple[int, str], ...] = ()
    """Rows that begin a section, with its head line."""

    def column(self, index: int) -> list[str]:
        return [row[index] for row in self.body]

    def select(self, indices: Sequence[int]) -> _Grid:
        return structs.replace(
            self,
            heads=tuple(self.heads[i] for i in indices),
            body=tuple(tuple(row[i] for i in indices) for row in self.body),
            right=tuple(self.right[i] for i in indices),
            keys=sum(i < self.keys for i in indices),
        )

    def without(self, names: Sequence[str]) -> _Grid:
        return self.select([i for i, head in enumerate(self.heads) if head not in names])


def layout_table(table: Table, width: int) -> list[StyledLine]:
    """The table with title and notes, as lines of at most `width` columns."""
    grid = _make_grid(table)
    lines = [StyledLine(line, TITLE) for line in wrap_text(table.title, width)] if table.title else []
    notes: tuple[str, ...] = ()
    if grid.heads:
        parts, notes = _choose_form(grid, table.optional, width)
        for part in parts:
            lines += [StyledLine(""), *part]
    lines.append(StyledLine(""))
    for note in (*notes, *table.notes):
        lines += [StyledLine(f"  {line}".rstrip(), NOTE) for line in wrap_text(note, width - 2)]
    return lines


def _make_grid(table: Table) -> _Grid:
    from vivant.core.table import format_cell, is_numeric_column

    right = tuple(is_numeric_column(table, i) for i in range(len(table.columns)))
    keys = next((i for i, numeric in enumerate(right) if numeric), len(right))
    return _Grid(
        heads=table.columns,
        body=tuple(tuple(format_cell(cell, table.decimals) for cell in row) for row in table.body),
        right=right,
        keys=max(1, keys),
        kept=table.kept,
        rules=table.rules,
    )


_Parts = tuple[list[list[StyledLine]], tuple[str, ...]]


def _choose_form(grid: _Grid, optional: Sequence[str], width: int) -> _Parts:
    for form in _list_forms(grid, optional, width):
        lines = _draw(form, width)
        if lines is not None:
            return [lines], (*form.notes, *_explain_heads(form, grid))
    # What fits in no one piece is shown whole: in parts with all columns, or else row by row.
    *_, hoisted = _list_hoisted(grid)
    short = _shorten_heads(hoisted)
    divided = [parts for form in (short, *_list_stacked(short)) if (parts := _divide(form, width))]
    if not divided:
        return _list_rows(grid, width), ()
    return min(divided, key=len), (*short.notes, *_explain_heads(short, grid))


def _explain_heads(form: _Grid, grid: _Grid) -> tuple[str, ...]:
    """What the short heads of a form stand for."""
    legend = [f"{short} = {head}" for head in grid.heads if (short := SHORT_HEADS.get(head)) in form.heads]
    return (f"Heads: {', '.join(legend)}.",) if legend else ()


def _list_forms(grid: _Grid, optional: Sequence[str], width: int) -> Iterator[_Grid]:
    """The forms of a table in one piece, the best first. They are made one by one, as they are needed."""
    for smaller in _list_hoisted(grid):
        yield smaller
        grid = smaller
    hoisted = grid
    grid = _shorten_heads(grid)
    yield grid
    dropped: list[str] = []
    names = {short: head for head, short in SHORT_HEADS.items()}
    for name in optional:
        head_shown = next((head for head in grid.heads if name in (head, names.get(head))), None)
        if head_shown is None:
            continue
        dropped.append(name)
        grid = grid.without([head_shown])
        note = f"Left out to fit {width} columns: {', '.join(dropped)} (a wider window shows all)."
        smaller = structs.replace(grid, notes=(*grid.notes, note))
        yield smaller
        yield from _list_stacked(smaller)
    if not dropped:
        yield from _list_stacked(grid)
    if len(hoisted.body) < len(hoisted.heads) and hoisted.keys < len(hoisted.heads):
        yield _transpose(hoisted)


def _list_hoisted(grid: _Grid) -> Iterator[_Grid]:
    """The table, and the same with ever fewer columns: one whose cells are all alike becomes a note."""
    yield grid
    while (smaller := _hoist_constant(grid)) is not grid:
        grid = smaller
        yield grid


def _hoist_constant(grid: _Grid) -> _Grid:
    """The same table without one column whose cells are all alike; a note says what they are.

    The first columns stay, as many as the table says. In a table of one row, where all cells are alike, no figure goes.
    """
    if not grid.body or len(grid.heads) < 3:
        return grid
    figures = [right or not any(map(has_letters, grid.column(i))) for i, right in enumerate(grid.right)]
    chosen = [
        i
        for i in range(grid.kept, len(grid.heads))
        if len(set(grid.column(i))) == 1
        and grid.body[0][i]
        and not (figures[i] and (len(grid.body) == 1 or grid.body[0][i] not in ("0", "–")))
    ]
    if not chosen:
        return grid
    index = max(chosen, key=lambda i: (not figures[i], i))
    fact = f"{grid.heads[index]} {grid.body[0][index]}".strip()
    start = "In every row: " if len(grid.body) > 1 else "Also: "
    earlier = next((note for note in grid.notes if note.startswith(start)), "")
    note = f"{earlier.rstrip('.')}; {fact}." if earlier else f"{start}{fact}."
    rest = grid.select([i for i in range(len(grid.heads)) if i != index])
    return structs.replace(rest, notes=(*(n for n in grid.notes if n != earlier), note))


def _shorten_heads(grid: _Grid) -> _Grid:
    heads: list[str] = []
    for index, head in enumerate(grid.heads):
        short = SHORT_HEADS.get(head)
        wide = short is None or max(
            map(measure_width, grid.column(index)), default=0
        ) >= measure_longest_word(head)
        heads.append(head if wide or short is None else short)
    return structs.replace(grid, heads=tuple(heads))


def _list_stacked(grid: _Grid) -> Iterator[_Grid]:
    """The table in sections: their head lines take the place of the first column, or of the first few."""
    for count in range(1, grid.keys if not grid.rules else 1):
        names = [row[:count] for row in grid.body]
        values = {name: number for number, name in enumerate(dict.fromkeys(names))}
        if len(values) > _MOST_SECTIONS * len(names):
            return
        order = sorted(range(len(names)), key=lambda i: values[names[i]])
        starts = [
            (number, ", ".join(f"{h} {v}".strip() for h, v in zip(grid.heads, names[i], strict=False) if v))
            for number, i in enumerate(order)
            if number == 0 or names[order[number - 1]] != names[i]
        ]
        rest = grid.select(range(count, len(grid.heads)))
        yield structs.replace(rest, body=tuple(rest.body[i] for i in order), sections=tuple(starts))


def _transpose(grid: _Grid) -> _Grid:
    """Rows as columns; the heads of what was the keys are joined, as are the keys themselves."""
    corner = ", ".join(head for head in grid.heads[: grid.keys] if head)
    heads = (corner, *(" ".join(filter(None, row[: grid.keys])) for row in grid.body))
    values = range(grid.keys, len(grid.heads))
    return structs.replace(
        grid,
        heads=heads,
        body=tuple((grid.heads[i], *grid.column(i)) for i in values),
        right=(False, *(True for _ in grid.body)),
        keys=1,
        rules=(),
    )


def _divide(grid: _Grid, width: int) -> list[list[StyledLine]] | None:
    """The columns in parts of about the same width, each with the key columns; None where not even one fits."""
    keys = list(range(grid.keys))
    values = list(range(grid.keys, len(grid.heads)))
    for count in range(1, len(values) + 1):
        size = -(-len(values) // count)
        groups = [values[start : start + size] for start in range(0, len(values), size)]
        parts = [_draw(grid.select([*keys, *group]), width) for group in groups]
        if all(part is not None for part in parts):
            return [part for part in parts if part is not None]
    return None


def _list_rows(grid: _Grid, width: int) -> list[list[StyledLine]]:
    """Each row as a block: its first cell, then name and value of each other cell, one below the other."""
    indent = 2
    name_width = max(map(measure_width, grid.heads[1:]), default=0)
    hanging = indent + name_width + _GAP
    if hanging > width // 2:
        hanging = 2 * indent
    blocks: list[list[StyledLine]] = []
    for row in grid.body:
        block = [StyledLine(f"{' ' * _MARGIN}{line}", HEAD) for line in wrap_text(row[0], width - _MARGIN)]
        for head, cell in zip(grid.heads[1:], row[1:], strict=True):
            if not cell:
                continue
            lines = wrap_text(cell, width - hanging)
            first = f"{' ' * indent}{head}"
            if (
                hanging >= indent + measure_width(head) + _GAP
                and measure_longest_word(cell) <= width - hanging
            ):
                block.append(StyledLine(pad_text(first, hanging) + lines[0]))
                lines = lines[1:]
            else:
                block.append(StyledLine(first))
            block += [StyledLine(" " * hanging + line) for line in lines]
        blocks.append(block)
    return blocks


def _draw(grid: _Grid, width: int) -> list[StyledLine] | None:
    """The grid in columns; None where it does not fit."""
    widths = _choose_widths(grid, width)
    if widths is None:
        return None
    heads = [wrap_text(head, w) for head, w in zip(grid.heads, widths, strict=True)]
    rows = [[wrap_text(cell, w) for cell, w in zip(row, widths, strict=True)] for row in grid.body]
    if len(rows) > 1 or len(grid.heads) > 2:  # a list of names and texts may have a long text
        if any(len(head) > _MOST_HEAD_LINES for head in heads):
            return None
        most = _MOST_LINES_BESIDE_FIGURES if any(grid.right) else _MOST_CELL_LINES
        if any(len(cell) > most for row in rows for cell in row) and len(grid.heads) > 2:
            return None
    rule = " " * _MARGIN + "─" * (sum(widths) + _GAP * (len(widths) - 1))
    lines: list[StyledLine] = []
    if any(head for head in grid.heads):
        height = max(map(len, heads))
        raised = [[""] * (height - len(head)) + head for head in heads]
        lines += [StyledLine(text, HEAD) for text in _join_cells(raised, widths, grid.right)]
        lines.append(StyledLine(rule))
    spaced = any(len(cell) > 2 for row in rows for cell in row) and len(grid.heads) > 2
    sections = dict(grid.sections)
    for number, row in enumerate(rows):
        if number and number in grid.rules:
            lines.append(StyledLine(rule))
        elif number and (spaced or number in sections):
            lines.append(StyledLine(""))
        if number in sections:
            lines += [
                StyledLine(" " * _MARGIN + line, HEAD) for line in wrap_text(sections[number], width - 1)
            ]
        lines += [StyledLine(text) for text in _join_cells(row, widths, grid.right)]
    return lines


def _choose_widths(grid: _Grid, width: int) -> list[int] | None:
    """A width for each column, at least that of its longest word; None where even these are too wide together."""
    columns = range(len(grid.heads))
    least = [max(measure_longest_word(text) for text in (grid.heads[i], *grid.column(i))) for i in columns]
    if (
        len(least) == 2 and not grid.right[1]
    ):  # names and texts: names stay whole, a long word begins further left
        least[0] = max(
            least[0], min(max(map(measure_widest_line, grid.column(0)), default=0), width * 2 // 5)
        )
        least[1] = max(min(least[1], width - _MARGIN - _GAP - least[0]), min(least[1], width // 3))
    room = width - _MARGIN - _GAP * (len(least) - 1) - sum(least)
    if room < 0:
        return None
    widest = measure_widest_line
    _grant(least, [max(map(widest, grid.column(i)), default=0) for i in columns], room)
    room = width - _MARGIN - _GAP * (len(least) - 1) - sum(least)
    _grant(least, [widest(grid.heads[i]) for i in columns], room)
    return least


def _grant(widths: list[int], wanted: Sequence[int], room: int) -> None:
    """Share out room between the columns that want more; those that want little get all they want."""
    short = sorted((i for i in range(len(widths)) if wanted[i] > widths[i]), key=lambda i: wanted[i])
    while short and room > 0:
        # Every column may come up to the same width; what a narrow one leaves over goes to the wider ones.
        level = (room + sum(widths[i] for i in short)) // len(short)
        index = next((i for i in short if wanted[i] <= level or widths[i] >= level), None)
        if index is None:
            for i in short:
                room -= level - widths[i]
                widths[i] = level
            return
        more = min(room, max(0, min(wanted[index], level) - widths[index]))
        widths[index] += more
        room -= more
        short.remove(index)


def _join_cells(
    cells: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]
) -> Iterator[str]:
    *others, last = cells
    if not right[-1] and measure_width(last[0]) > widths[-1]:
        cells = (*others, ("", *last))
    for number in range(max(map(len, cells))):
        pieces = [
            pad_text(cell[number] if number < len(cell) else "", width, right=to_right)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        ]
        line = (" " * _MARGIN + (" " * _GAP).join(pieces)).rstrip()
        excess = measure_width(pieces[-1]) - widths[-1]
        yield (
            line[excess:]
            if excess > 0 and not line[:excess].strip()
            else line.lstrip()
            if excess > 0
            else line
        )
