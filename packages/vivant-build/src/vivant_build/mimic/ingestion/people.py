"""Files of the names that the readers hand over: one beside each part, deleted when the step is finished."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vivant.core.files import write_atomic

_SUFFIX = ".names"


def write_names(path: Path, names: pa.Array) -> None:
    """Write the folded names of one part, beside its report at `path`."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"name": names}), sink, use_dictionary=False, compression="zstd")
    write_atomic(path.with_suffix(_SUFFIX), sink.getvalue().to_pybytes(), durable=False)


def read_names(folder: Path) -> pa.Array:
    """Return the names of all parts, each once, in no particular order."""
    names = pa.array([], pa.string())
    for path in folder.glob(f"*{_SUFFIX}"):
        more = pq.read_table(path, partitioning=None).column("name")
        names = pc.unique(pa.chunked_array([names, *more.chunks]))
    return names
