"""What a store keeps by name: whether the study is paused, its secret, and the lock and mark of places."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from vivant_study.store.statements import Statement
from vivant_study.store.tables import settings

_SETTING = Statement(select(settings.c.value).where(settings.c.name == bindparam("setting_name")))
_LOCK = Statement(select(settings.c.value).where(settings.c.name == "secret").with_for_update())
_MARK = Statement(
    update(settings).where(settings.c.name == bindparam("setting_name")).values(value=bindparam("new_value"))
)
_PLACES = "places"


def get_setting(connection: Connection, name: str) -> str | None:
    """A setting's value; None where it was never set."""
    row = _SETTING.first(connection, setting_name=name)
    return None if row is None else str(row[0])


def set_setting(connection: Connection, name: str, value: str, *, overwrite: bool = True) -> str:
    """Set a setting, or with `overwrite=False` only where it has none; what it is then."""
    from sqlalchemy.dialects import postgresql, sqlite

    insert_into = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    statement: Any = insert_into(settings).values(name=name, value=value)
    if overwrite:
        statement = statement.on_conflict_do_update(index_elements=["name"], set_={"value": value})
    else:
        statement = statement.on_conflict_do_nothing()
    connection.execute(statement)
    return get_setting(connection, name) or value


def lock_study(connection: Connection) -> None:
    """Let one transaction at a time give places. SQLite has one writer anyway."""
    _LOCK.rows(connection)


def lock_places(connection: Connection) -> tuple[str, str]:
    """The same for whoever gives places or takes them away: the mark of how they were, and of how they will be.

    A mark is drawn anew each time, so that whoever has counted under one knows whether the count still holds, in
    whatever process and after whatever was rolled back.
    """
    lock_study(connection)
    before, after = get_setting(connection, _PLACES) or "", secrets.token_hex(8)
    if not _MARK.change(connection, setting_name=_PLACES, new_value=after):
        set_setting(connection, _PLACES, after)
    return before, after
