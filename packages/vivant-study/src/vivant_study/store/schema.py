"""Versions of the tables: a new database gets the newest, an older one is named until `vivant study upgrade`."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from vivant_study.store.database import Database, StoreError

_SCRIPTS = Path(__file__).parent / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    return config


def newest_version() -> str:
    """The version that this program reads and writes."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def read_version(database: Database) -> str | None:
    """The version of a database; None for an empty one. Raises StoreError where the tables are others'."""
    with database.read() as connection:
        tables = inspect(connection).get_table_names()
        if not tables:
            return None
        if "alembic_version" not in tables or "participants" not in tables:
            raise StoreError(
                f"The database {database.display_url} holds other tables than a study's; name an empty one"
            )
        return MigrationContext.configure(connection).get_current_revision()


def check_version(database: Database, study: Path, *, create: bool) -> None:
    """See that the tables are there and of this version; make them in an empty database."""
    version = read_version(database)
    if version is None:
        if not create:
            raise StoreError(
                f"{study} has no answers yet: {database.display_url} is empty; `vivant study serve {study}`"
            )
        upgrade(database)
    elif version != newest_version():
        known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
        if version in known:
            raise StoreError(
                f"The database {database.display_url} has version {version}, this Vivant needs {newest_version()}; "
                f"make a copy of it, then run: vivant study upgrade {study}"
            )
        raise StoreError(
            f"The database {database.display_url} has version {version}, made by a newer Vivant; update yours"
        )


def upgrade(database: Database, to: str = "head") -> None:
    """Bring the tables to a version, in one transaction."""
    config = _config()

    def job(connection: Connection) -> None:
        if not connection.in_transaction():
            # Else Alembic would commit after each step.
            connection.begin()
        config.attributes["connection"] = connection
        command.upgrade(config, to)

    database.write(job)
