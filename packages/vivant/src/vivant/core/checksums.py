"""SHA256SUMS of a folder: written last, so that its presence means that everything is there."""

from __future__ import annotations

import hashlib
from pathlib import Path

from vivant.core.errors import DataError
from vivant.core.files import write_atomic

SUMS = "SHA256SUMS"


def list_files(folder: Path) -> list[str]:
    """Return all files of a folder but hidden ones and the checksums, as sorted paths relative to it."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return sorted(
        p.as_posix() for p in files if not any(part.startswith(".") for part in p.parts) and p.name != SUMS
    )


def digest_file(file: Path) -> str:
    """Return a file's SHA-256."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def write_sums(folder: Path) -> None:
    """Write the checksums of a folder."""
    write_atomic(
        folder / SUMS, "".join(f"{digest_file(folder / path)}  {path}\n" for path in list_files(folder))
    )


def verify_sums(folder: Path) -> dict[str, int]:
    """Check a folder against its checksums and return the size of each file, the checksums included."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(
            f"{folder / SUMS} cannot be read ({error.strerror}); it is written last, so make the dataset anew"
        ) from None
    sums = {path: digest for digest, _, path in (line.partition("  ") for line in lines)}
    files = set(list_files(folder))
    for path in sorted(set(sums) - files):
        raise DataError(f"{folder / path} is missing; make the dataset anew")
    for path in sorted(files - set(sums)):
        raise DataError(f"{folder / path} is not in {SUMS}; remove it or make the dataset anew")
    for path, digest in sums.items():
        if digest_file(folder / path) != digest:
            raise DataError(f"{folder / path} is not as {SUMS} says; make the dataset anew")
    return {path: (folder / path).stat().st_size for path in (*sums, SUMS)}
