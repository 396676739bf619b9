"""DuckDB over a work folder: bounded memory, spilling into the folder itself."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vivant.core.errors import DataError, UsageError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SIZE = re.compile(r"\d+(\.\d+)? ?[KMGT]i?B", re.IGNORECASE)


@contextlib.contextmanager
def connect(work: Path, memory: str = "2GB", threads: int = 2) -> Iterator[DuckDBPyConnection]:
    """A connection that lives in memory up to `memory` and in `WORK/.duckdb-…` beyond it.

    Rows keep no order of their own (sort where it matters). What DuckDB cannot do for lack of memory or disk is
    a line for the user; any other error of it is a defect of ours and passes through.
    """
    try:
        import duckdb
    except ImportError as error:
        raise UsageError("This needs DuckDB: pip install 'vivant[pipeline]'") from error
    import tempfile

    if not _SIZE.fullmatch(memory):
        raise UsageError(f"memory: '{memory}' is not a size; write for example 2GB")
    work.mkdir(parents=True, exist_ok=True)
    spill = Path(tempfile.mkdtemp(prefix=".duckdb-", dir=work))
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
        shutil.rmtree(spill, ignore_errors=True)


def parquet_source(folder: Path) -> str:
    """All Parquet files of a folder as a DuckDB table expression; a single file as itself."""
    path = str(folder if folder.suffix == ".parquet" else folder / "*.parquet").replace("'", "''")
    return f"read_parquet('{path}')"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200]
