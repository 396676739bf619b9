"""The files of a crawl's folders: which may hold records, which mapping reads them, and what each is opened with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from vivant.benchmarks.mimic.mapping import read_mapping
from vivant.core.errors import DataError, UsageError
from vivant.core.yaml_files import load_yaml
from vivant_build.mimic.ingestion.packed_files import NOT_OPENED, OPENED, unpack
from vivant_build.mimic.ingestion.tables import NOT_READ, TABLES, ingest_table
from vivant_build.mimic.ingestion.writer import RecordWriter
from vivant_build.mimic.ingestion.youtube import ingest_api_responses
from vivant_build.mimic.ingestion.ytdlp import SourceDefaults

JSON_FILES = (".json", ".jsonl", ".jsonlines", ".ndjson", ".jl")
MAPPINGS = (".yaml", ".yml")
_CHATS = (".live_chat.json", ".rechat.json")
"""As yt-dlp names them."""
_BLOCK = ("file", "columns")
"""What a block of a mapping has."""
READ = (*JSON_FILES, *MAPPINGS, *TABLES, *OPENED, *NOT_OPENED)


def list_files(source: Path, work: Path) -> Iterator[str]:
    """The files of a source that may hold records; not what the steps write, if the work folder lies in it.

    Folders behind links are read, each once. A folder that cannot be opened is given itself, to be named.
    """
    if source.is_file():
        yield str(source)
        return
    closed: list[str] = []
    seen = {os.path.realpath(work)}
    for folder, folders, names in os.walk(
        source, onerror=lambda error: closed.append(error.filename), followlinks=True
    ):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        for name in names:
            if name.lower().endswith(READ):
                yield f"{folder}{os.sep}{name}"
    yield from closed


def is_mapping(path: str) -> bool:
    """Whether a YAML file inside a source folder is a mapping and not somebody's settings."""
    try:
        content = load_yaml(Path(path))
    except DataError:
        return False
    return isinstance(content, dict) and isinstance(content.get("videos"), dict)


def find_mapping_error(path: str) -> str:
    """Why a YAML file that speaks of columns is no mapping; nothing where it is one, or somebody's settings."""
    try:
        content = load_yaml(Path(path))
    except DataError as error:
        return str(error)
    if not isinstance(content, dict) or is_mapping(path):
        return ""
    if "videos" in content:
        return "`videos` of a mapping is a block with `file` and `columns`"
    if any(isinstance(block, dict) and not block.keys().isdisjoint(_BLOCK) for block in content.values()):
        return f"a mapping has a block `videos`; this has {', '.join(map(str, content))}"
    return ""


def list_mapped_files(path: str) -> set[str]:
    """The files that a mapping names, which are read by it alone; one that is not there is refused."""
    mapping = read_mapping(Path(path))
    for block in (mapping.videos, mapping.comments):
        if block and not (Path(path).parent / block.file).is_file():
            raise UsageError(
                f"{path} names {block.file}, which is not beside it; put it there, or correct `file`"
            )
    blocks = (mapping.videos, mapping.comments, mapping.items)
    return {str((Path(path).parent / block.file).resolve()) for block in blocks if block}


def read_file(
    path: Path, media: Path, unpacked: Path, writer: RecordWriter, defaults: SourceDefaults
) -> None:
    """Read a file by what its name ends with; of a compressed one, its content, which the folder `unpacked` holds."""
    end = path.suffix.lower()
    inner = Path(path.stem).suffix.lower() if end in OPENED else end
    reason = ""
    if path.exists() and not path.is_file():
        reason = "a pipe or a device, not a file"
    elif end in MAPPINGS:
        reason = find_mapping_error(str(path))
    elif path.name.endswith(_CHATS):
        reason = "a live chat, which is no comment on the video"
    elif inner not in (*JSON_FILES, *TABLES):
        reason = f"{path.suffix} files are not opened; unpack it, or export it as CSV, JSON or Parquet"
    if reason:
        writer.report.quarantine.append((os.path.relpath(path, media), "", f"{NOT_READ}{reason}"))
        return
    read = ingest_table if inner in TABLES else ingest_api_responses
    if end not in OPENED:
        read(path, media, writer, defaults)
        return
    source = os.path.relpath(path, media)
    try:
        with unpack(path, unpacked) as (content, trouble):
            if trouble:
                writer.report.quarantine.append((source, "", trouble))
                writer.note("compressed files that break off, read up to there")
            if content.stat().st_size or not trouble:
                read(path, media, writer, defaults, content)
    except OSError as error:
        writer.leave(source, "", f"cannot be read: {error.strerror}", kind="cannot be read")
