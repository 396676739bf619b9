"""Where the parts of a step lie: a folder, or a place in object storage (`s3://bucket/prefix`, `gs://…`).

Object storage is spoken to by pyarrow. An object appears when it is whole, so a part is there or not. Parquet is read
by row groups: a node fetches the stretch that it works on and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from pyarrow import fs

from vivant.core.errors import UsageError, VivantError
from vivant.core.files import write_atomic

_T = TypeVar("_T")


class PartStore(Struct, frozen=True):
    """Files under one place, by names such as `dealt/0001/00002.parquet`."""

    location: str
    """A folder, or an address with `://`."""

    @property
    def is_remote(self) -> bool:
        """Whether it is no folder."""
        return "://" in self.location

    def read(self, name: str) -> bytes | None:
        """A file's bytes; None where it is not there."""
        with self._open(name) as (system, path):
            if system.get_file_info(path).type != fs.FileType.File:
                return None
            with system.open_input_stream(path) as file:
                return bytes(file.read())

    def read_report(self, name: str, kind: type[_T]) -> _T | None:
        """What a finished part says of itself; None where nothing can be read, so that it is done again."""
        content = self.read(name)
        try:
            return None if content is None else msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Put a file there, which appears whole or not at all."""
        with self._open(name) as (system, path):
            self._make_folder(system, path)
            if not self.is_remote:
                write_atomic(Path(path), content)
                return
            with system.open_output_stream(path) as file:
                file.write(content)

    def list_tables(self, folder: str) -> list[str]:
        """Names of the Parquet files in a folder and below it, sorted."""
        with self._open(folder) as (system, path):
            entries = system.get_file_info(fs.FileSelector(path, allow_not_found=True, recursive=True))
            start = len(path) + 1
            return sorted(
                f"{folder}/{info.path[start:]}" for info in entries if info.path.endswith(".parquet")
            )

    def list_states(self) -> dict[str, tuple[int, int]]:
        """Size and time of change in nanoseconds of every file, by name."""
        with self._open("") as (system, path):
            entries = system.get_file_info(fs.FileSelector(path, allow_not_found=True, recursive=True))
            start = len(path) + 1
            return {
                info.path[start:]: (info.size, info.mtime_ns or 0)
                for info in entries
                if info.type == fs.FileType.File
            }

    @contextmanager
    def open_table(self, name: str) -> Iterator[pq.ParquetFile]:
        """A Parquet file, of which row groups are fetched as they are asked for."""
        with self._open(name) as (system, path), system.open_input_file(path) as file:
            yield pq.ParquetFile(file)

    def read_tables(self, folder: str, columns: list[str] | None = None) -> pa.Table | None:
        """All Parquet files of a folder as one table, in the order of their names; None where there are none."""
        tables = []
        for name in self.list_tables(folder):
            with self.open_table(name) as file:
                tables.append(file.read(columns))
        return pa.concat_tables(tables) if tables else None

    def write_table(self, name: str, table: pa.Table, **options: Any) -> None:
        """Put a Parquet file there."""
        with self._open(name) as (system, path):
            self._make_folder(system, path)
            pq.write_table(table, path, filesystem=system, **options)

    def push(self, file: Path, name: str) -> None:
        """Copy a file of this machine there, unless one of the same size is there."""
        with self._open(name) as (system, path):
            info = system.get_file_info(path)
            if info.type == fs.FileType.File and info.size == file.stat().st_size:
                return
            self._make_folder(system, path)
            fs.copy_files(
                str(file.resolve()),
                path,
                source_filesystem=fs.LocalFileSystem(),
                destination_filesystem=system,
            )

    def fetch(self, name: str, target: Path) -> bool:
        """Copy one file to this machine; False where it is not there."""
        with self._open(name) as (system, path):
            if system.get_file_info(path).type != fs.FileType.File:
                return False
            fs.copy_files(
                path, str(target), source_filesystem=system, destination_filesystem=fs.LocalFileSystem()
            )
            return True

    def pull(self, folder: str, target: Path) -> None:
        """Copy the Parquet files of a folder to this machine."""
        for name in self.list_tables(folder):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            self.fetch(name, target / name)

    def remove(self, folder: str = "") -> None:
        """Delete a folder with all that is in it."""
        with self._open(folder) as (system, path):
            system.delete_dir_contents(path, missing_dir_ok=True)

    def check(self) -> None:
        """Write, read and delete a small file, so that a wrong address or key is told before any work."""
        name = ".vivant-check"
        self.write(name, b"ok")
        if self.read(name) != b"ok":
            raise UsageError(f"{self.location} does not give back what was written to it")
        with self._open(name) as (system, path):
            system.delete_file(path)

    def _make_folder(self, system: fs.FileSystem, path: str) -> None:
        if not self.is_remote:
            system.create_dir(path.rpartition("/")[0])

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[fs.FileSystem, str]]:
        """The file system and the whole path of a name; what goes wrong becomes one line with the address."""
        try:
            system, base = _connect(self.location)
            yield system, f"{base}/{name}".rstrip("/")
        except (OSError, pa.ArrowException) as error:
            line = str(error).strip().splitlines()[0][:300]
            raise VivantError(f"{self.location.partition('?')[0]}: {line}") from error


@cache
def _connect(location: str) -> tuple[fs.FileSystem, str]:
    if "://" not in location:
        return fs.LocalFileSystem(), str(Path(location).resolve())
    system, path = fs.FileSystem.from_uri(location)
    return system, path.rstrip("/")


def join_location(location: str, name: str) -> str:
    """The address of a folder below another; what stands after a question mark stays at the end."""
    base, mark, query = location.partition("?")
    return f"{base.rstrip('/')}/{name}{mark}{query}"
