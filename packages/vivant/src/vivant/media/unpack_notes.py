"""The note of a finished unpacking, left beside its files: it need not be done again, and the files are its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.files import write_atomic


class UnpackNote(Struct, frozen=True):
    """What was unpacked, and what came of it."""

    pieces: tuple[tuple[str, int, int, str], ...]
    """Name, size, time of change, sha256 (empty for a zip, which has checksums of its own)."""
    files: dict[str, int]
    problems: tuple[str, ...]


def read_state(path: Path) -> tuple[str, int, int]:
    """Name, size and time of change."""
    status = path.stat()
    return path.name, status.st_size, status.st_mtime_ns


def write_note(
    file: Path,
    sources: Sequence[Path],
    digests: Sequence[str],
    problems: tuple[str, ...],
    files: dict[str, int],
) -> None:
    """Say that the sources are unpacked."""
    read = zip(sources, digests, strict=True)
    note = UnpackNote(tuple((*read_state(path), digest) for path, digest in read), files, problems)
    write_atomic(file, msgspec.json.encode(note))


def read_note(file: Path) -> UnpackNote | None:
    """None where there is none; a torn one costs a second unpacking, nothing else."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=UnpackNote)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def list_owners(out: Path, own: Path) -> dict[str, str]:
    """The files that the notes of a folder name, but for the note `own` → the archive that they are from."""
    notes = [read_note(file) for file in sorted(out.glob(".unpacked-*.json")) if file != own]
    return {name: note.pieces[0][0] for note in notes if note for name in note.files}
