"""A folder of recordings, or a file of several animations, cleaned up one by one: a refused one costs only itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from vivant.build.mime.clean import CleaningReport
from vivant.build.mime.recording import MOTION_FILES, list_animations
from vivant.core.errors import UsageError, VivantError

Cleaner = Callable[[Path, Path, str | None], CleaningReport]
"""Reads the first file, of several animations the one named, and writes the second: `clean_file` with its options."""


@dataclass(frozen=True)
class FolderOutcome:
    """What became of the recordings of a folder."""

    cleaned: tuple[Path, ...]
    refused: tuple[str, ...]
    """One line for each refused recording, which names it and says why."""
    others: tuple[Path, ...]
    """Files of kinds that hold no motion."""


def clean_folder(
    source: Path,
    out: Path,
    cleaner: Cleaner,
    report: Callable[[list[str]], None] | None = None,
    *,
    animation: str | None = None,
) -> FolderOutcome:
    """Clean every recording below a folder into BVH files below another, in the same subfolders.

    A file of several animations becomes a folder of its name, with one BVH file for each.

    Args:
        source: The folder; or one file, whose animations are written right into `out`.
        out: Where the results go, as `NAME.bvh`.
        cleaner: Cleans one recording.
        report: Called with the sentences on each recording as it is done.
        animation: Of files with several animations only the one of this name.
    """
    files = [source]
    if source.is_dir():
        files = sorted(file for file in source.rglob("*") if file.is_file() and not file.name.startswith("."))
    recordings = [file for file in files if file.suffix.lower() in MOTION_FILES]
    if not recordings:
        raise UsageError(f"{source}: holds no recording; a motion is one of {', '.join(MOTION_FILES)}")
    cleaned, refused = [], []
    targets: dict[Path, tuple[Path, str | None]] = {}
    for file in recordings:
        target = out / file.relative_to(source if source.is_dir() else source.parent).with_suffix(".bvh")
        try:
            names = list_animations(file)
        except VivantError as error:
            refused.append(_name_fault(file, error))
            continue
        parts: list[tuple[Path, str | None]] = [(target, animation if names else None)]
        if len(names) > 1 and animation is None:
            below = target.with_suffix("") if source.is_dir() else out
            parts = [(below / f"{part}.bvh", name) for part, name in _name_files(names)]
        for path, name in parts:
            if path in targets:
                raise UsageError(
                    f"{targets[path][0]} and {file} would both become {path}; rename one of them"
                )
            if path.resolve() == file.resolve():
                raise UsageError(f"{file}: would be overwritten; choose another folder for the results")
            targets[path] = file, name
    for target, (file, name) in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            result = cleaner(file, target, name)
        except VivantError as error:
            refused.append(_name_fault(file, error))
            continue
        cleaned.append(target)
        if report is not None:
            report(result.lines())
    others = tuple(file for file in files if file not in set(recordings))
    return FolderOutcome(tuple(cleaned), tuple(refused), others)


def _name_fault(file: Path, error: VivantError) -> str:
    """The error with the file: what is wrong with this machine (no Blender, say) does not name one."""
    return str(error) if str(file) in str(error) else f"{file}: {error}"


def _name_files(animations: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A file's name for each animation, all different, also where letter case is not told apart."""
    taken: set[str] = set()
    for animation in animations:
        plain = re.sub(r"[^\w.-]+", "_", animation).strip("._") or "animation"
        numbered = (f"{plain}_{number}" for number in count(2))
        name = next(
            each for each in (plain, *islice(numbered, len(animations))) if each.casefold() not in taken
        )
        taken.add(name.casefold())
        yield name, animation
