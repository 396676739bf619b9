"""Questions to one run's index: pages of samples, neighbours, facets, kin."""

from __future__ import annotations

import re
import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from msgspec import Struct, field
from msgspec.structs import replace

from vivant.view.outcomes import OUTCOMES

PAGE = 50
HITS = 20_000
"""A search looks at so many texts at most: words that are everywhere find nothing in particular."""
VALUES = 300
"""A facet with more values than this (a video's name, say) is searched as text, not listed."""
_MANY = 20_000
_SORTED = {"score": "value", "time": "seconds", "length": "size"}
SORTS = ("", *(sign + name for name in _SORTED for sign in ("", "-")))
_PLACES = {"key": "key_place", "read": "answer_place"}


class SampleFilter(Struct, frozen=True, kw_only=True):
    """Which samples are selected, as the address says."""

    task: str = ""
    outcome: str = ""
    text: str = ""
    facets: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    """`key` and `read`: at which place the right option stood, and the one that was read in the reply."""
    sort: str = ""

    @classmethod
    def parse(cls, values: Mapping[str, str]) -> SampleFilter:
        """From an address's parameters; what is unknown or empty asks for nothing."""
        outcome, sort = values.get("outcome", ""), values.get("sort", "")
        return cls(
            task=values.get("task", ""),
            outcome=outcome if outcome in OUTCOMES else "",
            text=values.get("q", "")[:200],
            facets={name[2:]: value for name, value in values.items() if name.startswith("f.") and value},
            places={
                name: int(value)
                for name in _PLACES
                if (value := values.get(f"o.{name}", "")).isdecimal() and len(value) < 4
            },
            sort=sort if sort in SORTS else "",
        )

    def address(self, **other: str | int) -> str:
        """The parameters that ask for the same again, with some others."""
        values: dict[str, str | int] = {
            "task": self.task,
            "outcome": self.outcome,
            "q": self.text,
            "sort": self.sort,
            **{f"o.{name}": value for name, value in self.places.items()},
            **{f"f.{name}": value for name, value in self.facets.items()},
            **other,
        }
        return urlencode({name: value for name, value in values.items() if value != ""})


class RowSelection(Struct, frozen=True, kw_only=True):
    """The rows of a search in their order, or a condition that they fulfil."""

    where: str
    values: tuple[str | int, ...]
    column: str
    """What the list is sorted by, then by number in the same direction; rows without a value come last."""
    descending: bool
    row_numbers: array[int] | None = None
    """With a search, the rows themselves."""
    is_cut: bool = False
    """Whether the search hit more texts than it looks at."""


def select_rows(db: sqlite3.Connection, selected: SampleFilter) -> RowSelection:
    """What a filter asks for; a search is made at once."""
    terms, values = _list_terms(db, selected)
    name = selected.sort.removeprefix("-")
    descending = selected.sort.startswith("-")
    column = _SORTED[name] if name else "n"
    words = re.findall(r"[^\W_]+", selected.text)
    if not selected.text.strip():
        return RowSelection(
            where=" AND ".join(terms), values=tuple(values), column=column, descending=descending
        )
    if not words:
        return RowSelection(
            where="0", values=(), column=column, descending=descending, row_numbers=array("q")
        )
    db.execute("CREATE TEMP TABLE IF NOT EXISTS hit (n INTEGER)")
    hits = _find_hits(db, words)
    # The last word may be cut, unless whole words hit enough or it is one letter: to gather all that begin so is slow.
    if hits <= HITS and (len(words[-1]) > 1 or not words[-1].isascii()):
        hits = _find_hits(db, words, "*")
    repeated = db.execute("SELECT 1 FROM row WHERE base IS NOT NULL LIMIT 1").fetchone() is not None
    joined = "n IN (SELECT n FROM hit)" + (" OR base IN (SELECT n FROM hit)" if repeated else "")
    matching = RowSelection(
        where=f"({joined}) AND {' AND '.join(terms)}",
        values=tuple(values),
        column=column,
        descending=descending,
        is_cut=hits > HITS,
    )
    return order_rows(db, matching)


def order_rows(db: sqlite3.Connection, selection: RowSelection) -> RowSelection:
    """The rows of a selection in their order, so that no page has to look for them again."""
    column, direction = selection.column, "DESC" if selection.descending else "ASC"
    order = f"n {direction}" if column == "n" else f"{column} IS NULL, {column} {direction}, n {direction}"
    numbers = db.execute(f"SELECT n FROM row WHERE {selection.where} ORDER BY {order}", selection.values)
    return replace(selection, where="0", values=(), row_numbers=array("q", (row[0] for row in numbers)))


def _list_terms(db: sqlite3.Connection, selected: SampleFilter) -> tuple[list[str], list[str | int]]:
    terms, values = ["1"], list[str | int]()
    if selected.task:
        terms.append("task = (SELECT id FROM task WHERE name = ?)")
        values.append(selected.task)
    if selected.outcome:
        # By its index only where nothing else is asked: to look up each of many rows takes longer than one scan.
        alone = not (selected.task or selected.places or selected.facets or selected.text.strip())
        terms.append(f"{'' if alone else '+'}outcome = {OUTCOMES.index(selected.outcome)}")
    for name, position in selected.places.items():
        terms.append(f"{_PLACES[name]} = ?")
        values.append(position)
    columns = dict(db.execute("SELECT name, place FROM facet").fetchall())
    for name, value in selected.facets.items():
        if name in columns:
            column = columns[name]
            terms.append(f"f{column} = (SELECT id FROM facet_value WHERE place = {column} AND value = ?)")
            values.append(value)
        else:
            terms.append("0")
    return terms, values


def _find_hits(db: sqlite3.Connection, words: Sequence[str], ending: str = "") -> int:
    """Fill `hit` with the rows whose texts have all words; how many texts they are."""
    db.execute("DELETE FROM hit")
    query = "INSERT INTO hit SELECT rowid >> 1 FROM words WHERE words MATCH ? LIMIT ?"
    # Quoted, so that nothing typed is an operator.
    quoted = " ".join(f'"{word}"' for word in words)
    return db.execute(query, (quoted + ending, HITS + 1)).rowcount


def count_rows(db: sqlite3.Connection, selection: RowSelection) -> int:
    """How many samples there are."""
    if selection.row_numbers is not None:
        return len(selection.row_numbers)
    query = f"SELECT count(*) FROM row WHERE {selection.where}"
    return int(db.execute(query, selection.values).fetchone()[0])


def list_page(
    db: sqlite3.Connection, selection: RowSelection, number: int, total: int, size: int = PAGE
) -> list[sqlite3.Row]:
    """One page of them, the first being 1; `total` is how many there are on all pages."""
    start = (number - 1) * size
    if selection.row_numbers is not None:
        return load_rows(db, selection.row_numbers[start : start + size])
    # In the order of an index only where most rows are wanted: to pass over many of them takes longer than to sort few.
    few = total <= _MANY and selection.column != "n"
    column = f"+{selection.column}" if few else selection.column
    direction = "DESC" if selection.descending else "ASC"
    query = f"SELECT n FROM row WHERE {selection.where} "
    order = f"ORDER BY {column} {direction}, n {direction} LIMIT ? OFFSET ?"
    if selection.descending or selection.column == "n":
        numbers = db.execute(query + order, (*selection.values, size, start)).fetchall()
    else:
        known = f"AND {selection.column} IS NOT NULL "
        numbers = db.execute(query + known + order, (*selection.values, size, start)).fetchall()
        if len(numbers) < size and start + len(numbers) < total:
            count = f"SELECT count(*) FROM row WHERE {selection.where} {known}"
            valued = db.execute(count, selection.values).fetchone()[0]
            rest = f"AND {selection.column} IS NULL ORDER BY n LIMIT ? OFFSET ?"
            bounds = (size - len(numbers), max(0, start - valued))
            numbers += db.execute(query + rest, (*selection.values, *bounds)).fetchall()
    return load_rows(db, [row[0] for row in numbers])


_COLUMNS = (
    "SELECT p.*, r.outcome, r.value, r.base, r.cluster, r.key_place, r.answer_place, r.seconds, r.size, r.frames, "
    "r.video, t.name task, r.task task_number FROM row r JOIN place p ON p.n = r.n JOIN task t ON t.id = r.task"
)


def load_rows(db: sqlite3.Connection, numbers: Sequence[int]) -> list[sqlite3.Row]:
    """Rows by their numbers, in that order."""
    marks = ", ".join("?" * len(numbers))
    rows = {row["n"]: row for row in db.execute(f"{_COLUMNS} WHERE r.n IN ({marks})", tuple(numbers))}
    return [rows[number] for number in numbers if number in rows]


def find_row(db: sqlite3.Connection, key: str) -> sqlite3.Row | None:
    """A row by its key."""
    row: sqlite3.Row | None = db.execute(f"{_COLUMNS} WHERE p.key = ?", (key,)).fetchone()
    return row


def find_neighbours(db: sqlite3.Connection, selection: RowSelection, n: int) -> tuple[str, str]:
    """Keys of the samples before and after, among those selected, in the order of the list."""
    if selection.row_numbers is not None:
        index = selection.row_numbers.index(n) if n in selection.row_numbers else None
        before = selection.row_numbers[index - 1] if index else None
        after = (
            selection.row_numbers[index + 1]
            if index is not None and index + 1 < len(selection.row_numbers)
            else None
        )
        return _key(db, before), _key(db, after)
    descending = selection.descending
    # Without a value comes last, either way.
    order = f"coalesce({selection.column}, {'-' if descending else ''}9e99)"
    here = db.execute(f"SELECT {order} FROM row WHERE n = ?", (n,)).fetchone()[0]
    keys = []
    for back in (True, False):
        sign, along = ("<", "DESC") if back != descending else (">", "ASC")
        row = db.execute(
            f"SELECT n FROM row WHERE {selection.where} AND ({order}, n) {sign} (?, ?) "
            f"ORDER BY {order} {along}, n {along} LIMIT 1",
            (*selection.values, here, n),
        ).fetchone()
        keys.append(_key(db, row[0] if row else None))
    return keys[0], keys[1]


def _key(db: sqlite3.Connection, n: int | None) -> str:
    row = db.execute("SELECT key FROM place WHERE n = ?", (n,)).fetchone() if n is not None else None
    return str(row[0]) if row else ""


def list_kin(db: sqlite3.Connection, row: sqlite3.Row) -> list[sqlite3.Row]:
    """Samples of the same cluster and other repeats of the same one."""
    base = row["base"] or row["n"]
    numbers = db.execute(
        "SELECT n FROM row WHERE n != ? AND (cluster = ? OR base = ? OR n = ?) ORDER BY n LIMIT 40",
        (row["n"], row["cluster"], base, base),
    ).fetchall()
    return load_rows(db, [number[0] for number in numbers])


def list_facets(db: sqlite3.Connection, task: str = "") -> dict[str, list[str]]:
    """Facets with few enough values to choose from, and those values."""
    facets: dict[str, list[str]] = {}
    for column, name in db.execute("SELECT place, name FROM facet ORDER BY place").fetchall():
        values = db.execute(
            "SELECT DISTINCT v.value FROM facet_task t JOIN facet_value v ON v.place = t.place AND v.id = t.id "
            f"WHERE t.place = ? AND (? = '' OR t.task = (SELECT id FROM task WHERE name = ?)) LIMIT {VALUES + 1}",
            (column, task, task),
        ).fetchall()
        if 1 < len(values) <= VALUES:
            facets[name] = sorted(value[0] for value in values)
    return facets


def row_facets(db: sqlite3.Connection, n: int) -> dict[str, str]:
    """A row's facets."""
    columns = db.execute("SELECT place, name FROM facet ORDER BY place").fetchall()
    if not columns:
        return {}
    numbers = db.execute(
        f"SELECT {', '.join(f'f{c}' for c, _ in columns)} FROM row WHERE n = ?", (n,)
    ).fetchone()
    query = "SELECT value FROM facet_value WHERE place = ? AND id = ?"
    return {
        name: db.execute(query, (column, number)).fetchone()[0]
        for (column, name), number in zip(columns, numbers, strict=True)
        if number is not None
    }
