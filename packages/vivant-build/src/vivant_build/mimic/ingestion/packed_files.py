"""Compressed files as crawlers and archives leave them: .gz, .bz2, .xz and .zst, unpacked one at a time."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vivant_build.mimic.steps import stop_where_unwritable

OPENED = (".gz", ".bz2", ".xz", ".zst")
NOT_OPENED = (
    ".zip", ".7z", ".rar", ".tar", ".tgz", ".lz4", ".br", ".warc", ".har", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods",
    ".numbers", ".sqlite", ".sqlite3", ".db", ".duckdb", ".mdb", ".arrow", ".feather", ".avro", ".orc", ".bson",
    ".msgpack", ".h5", ".hdf5", ".rds", ".rdata", ".sav", ".dta", ".pkl", ".pickle", ".xml",
)  # fmt: skip
"""Containers that may hold records; they are named, not read."""
_CHUNK = 1 << 16


@contextmanager
def unpack(path: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """A file of the content, in `folder` for as long as it is read; and why the rest is missing, where some is."""
    with stop_where_unwritable(folder):  # files of one name may be open in several processes
        own = TemporaryDirectory(dir=folder, prefix="unpacked-")
    with own:
        target = Path(own.name) / path.stem
        yield target, _write_content(path, target)


def _write_content(path: Path, target: Path) -> str:
    """Write what can be unpacked; returns what stopped it, nothing where it came to its end."""
    chunks = _iter_zstandard(path) if path.suffix.lower() == ".zst" else _iter_content(path)
    trouble, unread = "", None
    with stop_where_unwritable(target.parent), target.open("wb") as file:
        while True:
            try:
                chunk = next(chunks, None)
            except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
                if isinstance(error, OSError) and error.errno:
                    unread = error
                else:
                    trouble = f"cannot be unpacked further than {file.tell():,} bytes: {error}"
                break
            if chunk is None:
                break
            file.write(chunk)
    if unread is not None:
        raise unread
    return trouble


def _iter_content(path: Path) -> Iterator[bytes]:
    """What a decompressor gives, piece by piece, so that all before a break is given; several streams in a row too."""
    make: Callable[[], Any] = {
        ".gz": lambda: zlib.decompressobj(zlib.MAX_WBITS | 16),
        ".bz2": bz2.BZ2Decompressor,
        ".xz": lzma.LZMADecompressor,
    }[path.suffix.lower()]
    decompressor = make()
    with path.open("rb") as packed:
        while chunk := packed.read(_CHUNK):
            while chunk:
                if decompressor.eof:
                    decompressor = make()
                yield decompressor.decompress(chunk)
                chunk = decompressor.unused_data.lstrip(b"\0")  # archives are padded
    if not decompressor.eof:
        raise EOFError("it breaks off")


def _iter_zstandard(path: Path) -> Iterator[bytes]:
    import pyarrow as pa

    with pa.CompressedInputStream(str(path), "zstd") as packed:
        while chunk := packed.read(_CHUNK):
            yield chunk
