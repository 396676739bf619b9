"""Statements that are run for every request.

SQLAlchemy spends six times what SQLite does on a small statement. So on SQLite these are turned into SQL once, by
SQLAlchemy, and run by the driver; on PostgreSQL, where the way to the server counts, they are run as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Delete, Insert, Select, Update
from sqlalchemy.dialects import sqlite

_DIALECT = sqlite.dialect(
    paramstyle="named",
    json_serializer=lambda value: msgspec.json.encode(value).decode(),
    json_deserializer=msgspec.json.decode,
)
Convert = Callable[[Any], Any]
"""From a value of Python's to one of the driver's, or back."""


class Statement:
    """One statement. Every value in it that is not fixed must be a named `bindparam`."""

    def __init__(self, statement: Select[Any] | Insert | Update | Delete) -> None:
        self._statement = statement
        compiled = statement.compile(dialect=_DIALECT)
        self._sql = str(compiled)
        types = ((name, bind.type.dialect_impl(_DIALECT)) for name, bind in compiled.binds.items())
        self._to = tuple((name, to) for name, kind in types if (to := kind.bind_processor(_DIALECT)))
        self._fixed = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        self._from: tuple[tuple[int, Convert], ...] = ()
        if isinstance(statement, Select):
            columns = (column.type.dialect_impl(_DIALECT) for column in statement.selected_columns)
            converters = (kind.result_processor(_DIALECT, None) for kind in columns)
            self._from = tuple((index, convert) for index, convert in enumerate(converters) if convert)

    def rows(self, connection: Connection, **values: Any) -> Sequence[Sequence[Any]]:
        """What a SELECT finds."""
        if connection.dialect.name != "sqlite":
            return connection.execute(self._statement, values).all()
        rows = self._run(connection, values).fetchall()
        return [self._read(row) for row in rows] if self._from else rows

    def first(self, connection: Connection, **values: Any) -> Sequence[Any] | None:
        """The first of them, if there is any."""
        rows = self.rows(connection, **values)
        return rows[0] if rows else None

    def change(self, connection: Connection, **values: Any) -> int:
        """Write; how many rows were written."""
        if connection.dialect.name != "sqlite":
            # Without this option SQLAlchemy does not count the rows of an INSERT.
            options = {"preserve_rowcount": True}
            return connection.execute(self._statement, values, execution_options=options).rowcount
        return int(self._run(connection, values).rowcount)

    def _run(self, connection: Connection, values: dict[str, Any]) -> Any:
        for name, to in self._to:
            if name in values:
                values[name] = to(values[name])
        return driver_connection(connection).execute(
            self._sql, {**self._fixed, **values} if self._fixed else values
        )

    def _read(self, row: Sequence[Any]) -> Sequence[Any]:
        values = list(row)
        for index, convert in self._from:
            values[index] = convert(values[index])
        return values


def driver_connection(connection: Connection) -> Any:
    """SQLite's own connection below one of SQLAlchemy's."""
    return connection.connection.dbapi_connection
