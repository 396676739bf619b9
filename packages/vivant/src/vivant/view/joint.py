"""Several runs on the same samples, joined by key: who has what right, and where they answer differently.

The join of large runs takes seconds, so it is made once, kept in the cache, and made again when a run changes.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from vivant.core.paths import cache_root
from vivant.view.index import RunIndex
from vivant.view.outcomes import RIGHT, UNPARSED, WRONG
from vivant.view.query import PAGE

MOST = 8
"""Runs that are compared at once."""
_VERSION = 1


class JointKind(Struct, frozen=True, kw_only=True):
    """One kind of samples: `differ`, `all-wrong`, `only-2`."""

    name: str
    title: str
    where: str


def list_kinds(labels: Sequence[str], controls: Sequence[bool]) -> list[JointKind]:
    """The kinds that make sense for these runs.

    Args:
        labels: what each run is called.
        controls: whether each was shown less than the whole question.
    """
    whole = (1 << len(labels)) - 1
    kinds = [JointKind(name="differ", title="answered differently", where="differ = 1")]
    kinds += [
        JointKind(
            name=f"only-{index}",
            title=f"only {label} right",
            where=f"correct = {1 << index} AND incorrect = {whole ^ (1 << index)}",
        )
        for index, label in enumerate(labels)
    ]
    blind = sum(1 << index for index, control in enumerate(controls) if control)
    if blind and blind != whole:
        kinds.append(
            JointKind(
                name="blind",
                title="only a control right",
                where=f"correct & {blind} AND incorrect & {whole ^ blind} = {whole ^ blind}",
            )
        )
    return [
        *kinds,
        JointKind(name="all-wrong", title="all miss", where=f"incorrect = {whole}"),
        JointKind(name="all-right", title="all right", where=f"correct = {whole}"),
        JointKind(name="lost", title="not scored in all", where=f"correct | incorrect != {whole}"),
        JointKind(name="all", title="all in common", where="1"),
    ]


class JointIndex:
    """The rows that runs have in common: bits of `correct` and `incorrect` say which of them have it right."""

    def __init__(self, indexes: Sequence[RunIndex]) -> None:
        self._indexes = indexes
        states = [f"{index.file}|{index.read_meta().get('state', '')}" for index in indexes]
        digest = hashlib.sha256("||".join((str(_VERSION), *states)).encode()).hexdigest()[:24]
        self.file = cache_root() / "view" / f"joint-{digest}.sqlite"

    def exists(self) -> bool:
        """Whether it is made."""
        return self.file.exists()

    def open(self) -> sqlite3.Connection:
        """A connection to read with."""
        db = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, check_same_thread=False)
        db.row_factory = sqlite3.Row
        return db

    def build(self) -> None:
        """Join the runs' indexes."""
        self.file.parent.mkdir(parents=True, exist_ok=True)  # the cache may have been emptied since
        draft = self.file.with_suffix(f".{os.getpid()}.new")
        draft.unlink(missing_ok=True)
        db = sqlite3.connect(f"file:{draft}", uri=True, isolation_level=None)
        try:
            for setting in ("journal_mode = OFF", "synchronous = OFF"):
                db.execute(f"PRAGMA {setting}")
            numbers = range(len(self._indexes))
            for number, index in enumerate(self._indexes):
                db.execute(f"ATTACH DATABASE ? AS d{number}", (f"file:{index.file}?mode=ro",))
            joins = " ".join(
                f"JOIN d{i}.place p{i} ON p{i}.key = p0.key JOIN d{i}.row r{i} ON r{i}.n = p{i}.n"
                for i in numbers
                if i
            )
            # A reply that cannot be read is wrong in most tables; one that is missing is not.
            correct = " | ".join(f"((r{i}.outcome = {RIGHT}) << {i})" for i in numbers)
            incorrect = " | ".join(f"((r{i}.outcome IN ({WRONG}, {UNPARSED})) << {i})" for i in numbers)
            unlike = " OR ".join(
                f"r{i}.answer_option IS NOT r0.answer_option OR (r{i}.outcome = {RIGHT}) != (r0.outcome = {RIGHT})"
                for i in numbers
                if i
            )
            scored = " AND ".join(f"r{i}.outcome IN ({RIGHT}, {WRONG}, {UNPARSED})" for i in numbers)
            places = ", ".join(f"p{i}.n n{i}" for i in numbers)
            db.execute(
                f"CREATE TABLE joint AS SELECT t.name task, {correct} correct, {incorrect} incorrect, "
                f"(({scored}) AND ({unlike})) differ, {places} FROM d0.row r0 JOIN d0.place p0 ON p0.n = r0.n "
                f"JOIN d0.task t ON t.id = r0.task {joins} ORDER BY p0.n"
            )
            for number in numbers:
                db.execute(f"DETACH DATABASE d{number}")
            db.close()
            draft.replace(self.file)
        finally:
            db.close()
            Path(draft).unlink(missing_ok=True)


def count_kinds(db: sqlite3.Connection, kinds: Sequence[JointKind], task: str) -> dict[str, int]:
    """How many samples are of each kind."""
    sums = ", ".join(f"coalesce(sum({kind.where}), 0)" for kind in kinds)
    row = db.execute(f"SELECT {sums} FROM joint WHERE ? IN ('', task)", (task,)).fetchone()
    return dict(zip((kind.name for kind in kinds), row, strict=True))


def list_tasks(db: sqlite3.Connection) -> list[str]:
    """The tasks that the runs have in common."""
    return [row[0] for row in db.execute("SELECT DISTINCT task FROM joint ORDER BY task")]


def list_joint_page(db: sqlite3.Connection, kind: JointKind, task: str, number: int) -> list[sqlite3.Row]:
    """A page of one kind: the row numbers in each run."""
    return db.execute(
        f"SELECT * FROM joint WHERE ? IN ('', task) AND {kind.where} ORDER BY rowid LIMIT {PAGE} OFFSET ?",
        (task, (number - 1) * PAGE),
    ).fetchall()
