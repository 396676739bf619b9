"""DuckDB over a work folder: bounded memory, spilling into the folder itself."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vivant.core.errors import DataError, UsageError
from vivant.core.files import lock_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SPILL = ".duckdb-"
_WILDCARD = re.compile(r"[*?\[]")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT])(i?)B", re.IGNORECASE)
_SHARE, _PER_THREAD = 16, 128_000_000
"""Of the memory, and at least so many bytes for each thread: enough to sort 15 million comments."""


@contextlib.contextmanager
def connect(work: Path, memory: str = "2GB", threads: int = 2) -> Iterator[DuckDBPyConnection]:
    """Open a connection that uses up to `memory` and spills beyond it into `WORK/.duckdb-…`.

    Files that a killed process left there are deleted. Rows have no order: sort where it matters. Running out of
    memory or disk is reported to the user in one line; any other DuckDB error is a bug and propagates.
    """
    try:
        import duckdb
    except ImportError as error:
        raise UsageError("This needs DuckDB: pip install 'vivant[build]'") from error
    if not _SIZE.fullmatch(memory):
        raise UsageError(f"memory: '{memory}' is not a size; write for example 2GB")
    work.mkdir(parents=True, exist_ok=True)
    _delete_abandoned(work)
    with _make_spill_folder(work) as spill:
        connection = duckdb.connect(":memory:")
        try:
            connection.execute("SET temp_directory = ?", [str(spill)])
            connection.execute("SET memory_limit = ?", [memory])
            connection.execute(f"SET threads = {max(1, int(threads))}")
            connection.execute("SET preserve_insertion_order = false")
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET TimeZone = 'UTC'")
            yield connection
        except duckdb.OutOfMemoryException as error:
            raise DataError(
                f"out of memory at {memory}: raise `memory` in the settings ({_first_line(error)})"
            ) from error
        except duckdb.IOException as error:
            raise DataError(f"cannot read or write: {_first_line(error)}") from error
        finally:
            connection.close()


def spill_early(connection: DuckDBPyConnection, memory: str, threads: int, work: Callable[[], None]) -> None:
    """Do work with a small share of the memory; where that does not do, begin it again with all.

    DuckDB takes what it may before it spills, though a sort is hardly slower on disk.
    """
    import duckdb

    number, unit, binary = _SIZE.fullmatch(memory).groups()  # type: ignore[union-attr]  # `connect` has checked it
    whole = float(number) * (1024 if binary else 1000) ** (" KMGT".index(unit.upper()))
    share = max(whole / _SHARE, _PER_THREAD * max(1, threads))
    if share < whole:
        try:
            connection.execute(f"SET memory_limit = '{int(share)}B'")
            work()
            return
        except duckdb.OutOfMemoryException:
            pass
        finally:
            # Written out: a bound parameter needs memory, and at this point there may be none left.
            connection.execute(f"SET memory_limit = '{memory}'")
    work()


@contextlib.contextmanager
def _make_spill_folder(work: Path) -> Iterator[Path]:
    """A folder that is gone in the end. Its lock is held before it is there, so one without a holder is abandoned."""
    folder = work / f"{_SPILL}{secrets.token_hex(6)}"
    lock = folder.with_name(f"{folder.name}.lock")
    with lock_file(lock, UsageError(f"{lock} is locked")):
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)


def _delete_abandoned(work: Path) -> None:
    for folder in sorted(path for path in work.glob(f"{_SPILL}*") if path.is_dir()):
        lock = folder.with_name(f"{folder.name}.lock")
        held = UsageError(f"{lock} is locked")
        try:
            with lock_file(lock, held):
                shutil.rmtree(folder, ignore_errors=True)
                lock.unlink(missing_ok=True)
        except UsageError as error:
            if error is not held:
                raise


def parquet_source(folder: Path) -> str:
    """All Parquet files of a folder as a DuckDB table expression; a single file as itself."""
    path = _WILDCARD.sub(r"[\g<0>]", str(folder)).replace("'", "''")
    return f"read_parquet('{path}')" if folder.suffix == ".parquet" else f"read_parquet('{path}/*.parquet')"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200]
