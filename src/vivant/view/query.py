"""Questions to an index: pages of samples, neighbours, facets, sums, and what flipped between two runs."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from urllib.parse import urlencode

from msgspec import Struct, field

from vivant.benchmarks import registry
from vivant.core.errors import VivantError
from vivant.metrics.intervals import Interval, mean_interval
from vivant.view.index import VALUES

PAGE = 50
HITS = 20_000
"""A search looks at so many texts at most: words that are everywhere find nothing in particular."""
_OUTCOME = {
    "right": "outcome = 'scored' AND value >= 0.5",
    "wrong": "outcome = 'scored' AND value < 0.5",
    **{name: f"outcome = '{name}'" for name in ("unparsed", "truncated", "missing", "excluded")},
    "unscored": "outcome = ''",
}
OUTCOMES = tuple(_OUTCOME)
STATUSES = ("ok", "refused", "truncated", "too_long", "error", "none")
_SORTED = {"score": "value", "seconds": "seconds", "length": "size"}
SORTS = {"": "n"} | {
    sign + name: f"{column}{order}, n"
    for name, column in _SORTED.items()
    for sign, order in (("", ""), ("-", " DESC"))
}


class SampleFilter(Struct, frozen=True, kw_only=True):
    """Which samples are selected, as the address says."""

    task: str = ""
    status: str = ""
    outcome: str = ""
    text: str = ""
    facets: Mapping[str, str] = field(default_factory=dict)
    sort: str = ""

    @classmethod
    def parse(cls, values: Mapping[str, str]) -> SampleFilter:
        """From an address's parameters; what is unknown or empty asks for nothing."""
        outcome, status, sort = values.get("outcome", ""), values.get("status", ""), values.get("sort", "")
        return cls(
            task=values.get("task", ""),
            status=status if status in STATUSES else "",
            outcome=outcome if outcome in OUTCOMES else "",
            text=values.get("q", "")[:200],
            facets={name[2:]: value for name, value in values.items() if name.startswith("f.") and value},
            sort=sort if sort in SORTS else "",
        )

    def address(self, **other: str | int) -> str:
        """The parameters that ask for the same again, with some others."""
        values: dict[str, str | int] = {
            "task": self.task,
            "status": self.status,
            "outcome": self.outcome,
            "q": self.text,
            "sort": self.sort,
            **{f"f.{name}": value for name, value in self.facets.items()},
            **other,
        }
        return urlencode({name: value for name, value in values.items() if value != ""})


def _where(db: sqlite3.Connection, selected: SampleFilter) -> tuple[str, list[str]]:
    terms, values = ["1"], []
    if selected.task:
        terms.append("task = ?")
        values.append(selected.task)
    if selected.status == "none":
        terms.append("log_at IS NULL")
    elif selected.status:
        terms.append("status = ?")
        values.append(selected.status)
    if selected.outcome:
        terms.append(_OUTCOME[selected.outcome])
    columns = dict(db.execute("SELECT name, place FROM facet").fetchall())
    for name, value in selected.facets.items():
        if name in columns:
            terms.append(f"f{columns[name]} = ?")
            values.append(value)
        else:
            terms.append("0")
    match = _match(selected.text)
    if match:
        hit = f"(SELECT rowid / 2 FROM words WHERE words MATCH ? LIMIT {HITS})"
        repeated = db.execute("SELECT 1 FROM row WHERE base IS NOT NULL LIMIT 1").fetchone() is not None
        terms.append(f"(n IN {hit} OR base IN {hit})" if repeated else f"n IN {hit}")
        values += [match, match] if repeated else [match]
    elif selected.text.strip():
        terms.append("0")
    return " AND ".join(terms), values


def _match(text: str) -> str:
    """Words as the full-text index takes them: quoted, so that nothing typed is an operator; the last may be cut."""
    words = re.findall(r"[^\W_]+", text)
    return " ".join(f'"{word}"' for word in words) + "*" if words else ""


def is_too_common(db: sqlite3.Connection, selected: SampleFilter) -> bool:
    """Whether a search hits more than is looked at."""
    match = _match(selected.text)
    if not match:
        return False
    hits = f"SELECT 1 FROM words WHERE words MATCH ? LIMIT {HITS + 1}"
    return bool(db.execute(f"SELECT count(*) FROM ({hits})", (match,)).fetchone()[0] > HITS)


def count_rows(db: sqlite3.Connection, selected: SampleFilter) -> int:
    """How many samples there are."""
    where, values = _where(db, selected)
    return int(db.execute(f"SELECT count(*) FROM row WHERE {where}", values).fetchone()[0])


def list_page(db: sqlite3.Connection, selected: SampleFilter, number: int) -> list[sqlite3.Row]:
    """One page of them, the first being 1."""
    where, values = _where(db, selected)
    return db.execute(
        f"SELECT * FROM row WHERE {where} ORDER BY {SORTS[selected.sort]} LIMIT {PAGE} OFFSET ?",
        [*values, (number - 1) * PAGE],
    ).fetchall()


def find_row(db: sqlite3.Connection, key: str) -> sqlite3.Row | None:
    """A row by its key."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM row WHERE key = ?", (key,)).fetchone()
    return row


def find_neighbours(db: sqlite3.Connection, selected: SampleFilter, n: int) -> tuple[str, str]:
    """Keys of the samples before and after, among those selected, in the order of the file."""
    where, values = _where(db, selected)
    before = db.execute(f"SELECT key FROM row WHERE {where} AND n < ? ORDER BY n DESC LIMIT 1", [*values, n])
    after = db.execute(f"SELECT key FROM row WHERE {where} AND n > ? ORDER BY n LIMIT 1", [*values, n])
    first, last = before.fetchone(), after.fetchone()
    return (first[0] if first else ""), (last[0] if last else "")


def list_kin(db: sqlite3.Connection, row: sqlite3.Row) -> list[sqlite3.Row]:
    """Other samples of the same cluster (the same video or action), and repeats."""
    return db.execute(
        "SELECT * FROM row WHERE n != ? AND ((cluster != '' AND cluster = ? AND task = ?) OR (task = ? AND id = ?)) "
        "ORDER BY n LIMIT 40",
        (row["n"], row["cluster"], row["task"], row["task"], row["id"]),
    ).fetchall()


def list_facets(db: sqlite3.Connection, task: str = "") -> dict[str, list[str]]:
    """Facets with few enough values to choose from, and those values."""
    facets: dict[str, list[str]] = {}
    for column, name in db.execute("SELECT place, name FROM facet ORDER BY place").fetchall():
        values = db.execute(
            f"SELECT DISTINCT f{column} FROM row WHERE f{column} IS NOT NULL AND ? IN ('', task) LIMIT {VALUES + 1}",
            (task,),
        ).fetchall()
        if 1 < len(values) <= VALUES:
            facets[name] = sorted(value[0] for value in values)
    return facets


def row_facets(db: sqlite3.Connection, row: sqlite3.Row) -> dict[str, str]:
    """A row's facets."""
    columns = db.execute("SELECT place, name FROM facet ORDER BY place").fetchall()
    return {name: row[f"f{column}"] for column, name in columns if row[f"f{column}"] is not None}


class TaskSummary(Struct, frozen=True, kw_only=True):
    """One task of a run at a glance."""

    task: str
    samples: int
    answered: int
    errors: int
    right: int
    wrong: int
    unparsed: int
    truncated: int
    unscored: int
    mean: float | None = None
    interval: Interval | None = None
    metric: str = ""


def summarize_tasks(db: sqlite3.Connection) -> list[TaskSummary]:
    """Counts per task, and the score with its interval where scores are there."""
    rows = db.execute(
        "SELECT task, count(*) samples, sum(log_at IS NOT NULL) answered, "
        "sum(status NOT IN ('', 'ok', 'truncated')) errors, "
        + ", ".join(
            f'coalesce(sum({_OUTCOME[name]}), 0) "{name}"'
            for name in ("right", "wrong", "unparsed", "truncated", "unscored")
        )
        + " FROM row GROUP BY task ORDER BY task"
    ).fetchall()
    return [_summarize(db, row) for row in rows]


def _summarize(db: sqlite3.Connection, row: sqlite3.Row) -> TaskSummary:
    counts = {name: row[name] for name in row.keys() if name != "task"}  # noqa: SIM118 (a Row is no dict)
    try:
        benchmark = registry.of_task(row["task"])
        info = benchmark.task(row["task"])
    except VivantError:
        # A run of a benchmark that is not installed here can be looked at all the same.
        return TaskSummary(task=row["task"], **counts)
    unparsed = benchmark.unparsed_value
    scored = db.execute(
        "SELECT value, CASE cluster WHEN '' THEN id ELSE cluster END, outcome FROM row "
        "WHERE task = ? AND outcome IN ('scored', 'unparsed')",
        (row["task"],),
    ).fetchall()
    pairs = [(value if outcome == "scored" else unparsed, cluster) for value, cluster, outcome in scored]
    counted = [(value, cluster) for value, cluster in pairs if value is not None]
    if not counted:
        return TaskSummary(task=row["task"], metric=info.metric, **counts)
    values = [value for value, _ in counted]
    interval = mean_interval(values, [cluster for _, cluster in counted])
    return TaskSummary(
        task=row["task"],
        metric=info.metric,
        mean=sum(values) / len(values) * info.scale,
        interval=interval.scaled(info.scale) if interval else None,
        **counts,
    )


FLIPS = {
    "a": "A right, B wrong",
    "b": "B right, A wrong",
    "both": "both right",
    "neither": "both wrong",
    "lost": "not scored in both",
    "all": "all in common",
}
_RIGHT = "({0}.outcome = 'scored' AND {0}.value >= 0.5)"
# A reply that cannot be read is wrong in most tables; one that is missing is not.
_WRONG = "({0}.outcome = 'unparsed' OR ({0}.outcome = 'scored' AND {0}.value < 0.5))"
_FLIP = {
    "a": f"{_RIGHT.format('a')} AND {_WRONG.format('b')}",
    "b": f"{_RIGHT.format('b')} AND {_WRONG.format('a')}",
    "both": f"{_RIGHT.format('a')} AND {_RIGHT.format('b')}",
    "neither": f"{_WRONG.format('a')} AND {_WRONG.format('b')}",
    "lost": "(a.outcome NOT IN ('scored', 'unparsed') OR b.outcome NOT IN ('scored', 'unparsed'))",
    "all": "1",
}


def count_flips(db: sqlite3.Connection, task: str) -> dict[str, int]:
    """How many samples are of each kind; `db` has the other run attached as `other`."""
    row = db.execute(
        "SELECT "
        + ", ".join(f"coalesce(sum({_FLIP[kind]}), 0)" for kind in FLIPS)
        + " FROM main.row a JOIN other.row b ON a.key = b.key WHERE ? IN ('', a.task)",
        (task,),
    ).fetchone()
    return dict(zip(FLIPS, row, strict=True))


def list_flips(db: sqlite3.Connection, kind: str, task: str, number: int) -> list[sqlite3.Row]:
    """A page of one kind."""
    return db.execute(
        "SELECT a.key key, a.task task, a.id id, a.question question, a.answer a_answer, b.answer b_answer, "
        "a.value a_value, b.value b_value, a.outcome a_outcome, b.outcome b_outcome "
        "FROM main.row a JOIN other.row b ON a.key = b.key "
        f"WHERE ? IN ('', a.task) AND {_FLIP[kind]} ORDER BY a.n LIMIT {PAGE} OFFSET ?",
        (task, (number - 1) * PAGE),
    ).fetchall()
