"""A folder of recordings cleaned up file by file: one that is refused costs only itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vivant.build.mime.clean import CleaningReport
from vivant.build.mime.recording import MOTION_FILES
from vivant.core.errors import UsageError, VivantError

Cleaner = Callable[[Path, Path], CleaningReport]
"""Reads the first file and writes the second: `clean_file` with its options."""


@dataclass(frozen=True)
class FolderOutcome:
    """What became of the files of a folder."""

    cleaned: tuple[Path, ...]
    refused: tuple[str, ...]
    """One line for each refused file, which names it and says why."""
    others: tuple[Path, ...]
    """Files of kinds that hold no motion."""


def clean_folder(
    source: Path, out: Path, cleaner: Cleaner, report: Callable[[list[str]], None] | None = None
) -> FolderOutcome:
    """Clean every recording below a folder into BVH files below another, in the same subfolders.

    Args:
        source: The folder.
        out: Where the results go, as `NAME.bvh`.
        cleaner: Cleans one file.
        report: Called with the sentences on each file as it is done.
    """
    files = sorted(file for file in source.rglob("*") if file.is_file() and not file.name.startswith("."))
    recordings = [file for file in files if file.suffix.lower() in MOTION_FILES]
    if not recordings:
        raise UsageError(f"{source}: holds no recording; a motion is one of {', '.join(MOTION_FILES)}")
    targets: dict[Path, Path] = {}
    for file in recordings:
        target = out / file.relative_to(source).with_suffix(".bvh")
        if target in targets:
            raise UsageError(f"{targets[target]} and {file} would both become {target}; rename one of them")
        if target.resolve() == file.resolve():
            raise UsageError(f"{file}: would be overwritten; choose another folder for the results")
        targets[target] = file
    cleaned, refused = [], []
    for target, file in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            result = cleaner(file, target)
        except VivantError as error:
            refused.append(str(error))
            continue
        cleaned.append(target)
        if report is not None:
            report(result.lines())
    others = tuple(file for file in files if file not in set(recordings))
    return FolderOutcome(tuple(cleaned), tuple(refused), others)
