"""Statements that are run for every request.

SQLAlchemy spends six times what SQLite does on a small statement. So on SQLite these are turned into SQL once, by
SQLAlchemy, and run by the driver; on PostgreSQL, where the way to the server counts, they are run as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Delete, Insert, Select, Update
from sqlalchemy.dialects import sqlite

_DIALECT = sqlite.dialect(paramstyle="named")
Change = Callable[[Any], Any]
"""From a value of Python's to one of the driver's, or back."""


class Prepared:
    """One statement. Every value in it that is not fixed must be a named `bindparam`."""

    def __init__(self, statement: Select[Any] | Insert | Update | Delete) -> None:
        self._statement = statement
        compiled = statement.compile(dialect=_DIALECT)
        self._sql = str(compiled)
        kinds = ((name, bind.type.dialect_impl(_DIALECT)) for name, bind in compiled.binds.items())
        self._to = tuple((name, to) for name, kind in kinds if (to := kind.bind_processor(_DIALECT)))
        self._fixed = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        self._from: tuple[tuple[int, Change], ...] = ()
        if isinstance(statement, Select):
            columns = (column.type.dialect_impl(_DIALECT) for column in statement.selected_columns)
            changes = (kind.result_processor(_DIALECT, None) for kind in columns)
            self._from = tuple((place, change) for place, change in enumerate(changes) if change)

    def rows(self, connection: Connection, **given: Any) -> Sequence[Sequence[Any]]:
        """What a SELECT finds."""
        if connection.dialect.name != "sqlite":
            return connection.execute(self._statement, given).all()
        found = self._run(connection, given).fetchall()
        return [self._read(row) for row in found] if self._from else found

    def first(self, connection: Connection, **given: Any) -> Sequence[Any] | None:
        """The first of them, if there is any."""
        found = self.rows(connection, **given)
        return found[0] if found else None

    def change(self, connection: Connection, **given: Any) -> int:
        """Write; how many rows an UPDATE or DELETE met."""
        if connection.dialect.name != "sqlite":
            return connection.execute(self._statement, given).rowcount
        return int(self._run(connection, given).rowcount)

    def _run(self, connection: Connection, given: dict[str, Any]) -> Any:
        for name, to in self._to:
            if name in given:
                given[name] = to(given[name])
        return raw(connection).execute(self._sql, {**self._fixed, **given} if self._fixed else given)

    def _read(self, row: Sequence[Any]) -> Sequence[Any]:
        values = list(row)
        for place, change in self._from:
            values[place] = change(values[place])
        return values


def raw(connection: Connection) -> Any:
    """SQLite's own connection below one of SQLAlchemy's."""
    return connection.connection.dbapi_connection
