"""Parquet and Arrow shards as the Hugging Face hub and `datasets` leave them, videos inside included.

Videos that a shard holds as bytes are written out once, beside the shard, because media are files in the data
folder. `index.json` is written last: a folder that has one is complete, and the bytes are not read again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from vivant.benchmarks.mime import names
from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant.core.optional_packages import require_package

if TYPE_CHECKING:
    import polars

SUFFIXES = (".parquet", ".arrow")
_STEP = 16
"""Videos held in memory at once."""


def read_shard(path: Path) -> list[dict[str, Any]]:
    """The rows of a shard; a video column becomes `video`, a file's path relative to the shard's folder."""
    require_package("polars", "parquet", f"Reading {path}")
    import polars

    try:
        return _read_rows(path)
    except (polars.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path} cannot be read as a table: {reason}; download it again") from error


def _read_rows(path: Path) -> list[dict[str, Any]]:
    import polars

    schema = dict(_scan(path).collect_schema())
    video = next((name for name in ("video", "mp4", "file") if name in schema), None)
    kind = schema.get(video) if video else None
    embedded = kind == polars.Binary or (
        isinstance(kind, polars.Struct) and "bytes" in {field.name for field in kind.fields}
    )
    if not video or not embedded:
        return _scan(path).collect().rename({video: "video"} if video else {}).to_dicts()
    rows = _scan(path).select([name for name in schema if name != video]).collect().to_dicts()
    count = _scan(path).select(polars.len()).collect().item()
    # A table with no column but the video has rows all the same.
    rows = rows or [{} for _ in range(count)]
    for row, (file, name) in zip(rows, _extract_videos(path, video, rows), strict=True):
        row["video"] = file
        row["file_name"] = row.get("file_name") or name
    return rows


def _scan(path: Path) -> polars.LazyFrame:
    import polars

    if path.suffix == ".parquet":
        return polars.scan_parquet(path)
    try:
        return polars.read_ipc_stream(path).lazy()
    except polars.exceptions.PolarsError:
        # `datasets` writes streams, other programs write files; both are called .arrow.
        return polars.scan_ipc(path)


def _extract_videos(path: Path, column: str, rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """For each row the file with its video, relative to the shard's folder, and the video's own name."""
    state = path.stat()
    # A shard that was replaced gets a folder of its own: old videos are never taken for new ones.
    folder = path.parent / ".vivant" / f"{path.stem}-{state.st_size:x}-{state.st_mtime_ns:x}"
    index = folder / "index.json"
    if index.is_file():
        try:
            stored = msgspec.json.decode(index.read_bytes(), type=list[tuple[str, str]])
        except msgspec.DecodeError as error:
            raise DataError(f"{index} is damaged; delete the folder {folder}") from error
        if len(stored) == len(rows):
            return stored
    try:
        folder.mkdir(parents=True, exist_ok=True)
        entries: list[tuple[str, str]] = []
        frames = _scan(path).select(column)
        for start in range(0, len(rows), _STEP):
            for value in frames.slice(start, _STEP).collect()[column].to_list():
                entries.append(_extract_video(path, folder, len(entries), value, rows[len(entries)]))
        write_atomic(index, msgspec.json.encode(entries))
    except OSError as error:
        raise DataError(
            f"{path} holds its videos inside, and they cannot be written to {folder} "
            f"({error.strerror or error}); copy the data to a folder that you may write to"
        ) from error
    return entries


def _extract_video(path: Path, folder: Path, number: int, value: Any, row: dict[str, Any]) -> tuple[str, str]:
    data, source = value, ""
    if isinstance(value, dict):
        data, source = value.get("bytes"), value.get("path") or ""
    name = names.file_name(str(row.get("file_name") or source or row.get("s3_url") or "video.mp4"))
    if data is None:
        return source, name
    target = folder / f"{number:06d}_{re.sub(r'[^A-Za-z0-9._+@-]', '_', name)}"
    if not target.exists() or target.stat().st_size != len(data):
        write_atomic(target, data)
    return target.relative_to(path.parent).as_posix(), name
