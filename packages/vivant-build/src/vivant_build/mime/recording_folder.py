"""A folder of recordings, or a file of several animations, cleaned up one by one: a refused one costs only itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from vivant.core.errors import UsageError, VivantError
from vivant_build.mime.clean import CleaningReport
from vivant_build.mime.keypoints import NoKeypointsError, load_keypoints
from vivant_build.mime.openpose import is_openpose
from vivant_build.mime.recording import (
    FOREIGN_FILES,
    KEYPOINT_FILES,
    MOTION_FILES,
    is_motive,
    list_animations,
)

Cleaner = Callable[[Path, Path, str | None], CleaningReport]
"""Reads the first file, of several animations the one named, and writes the second: `clean_file` with its options."""


@dataclass(frozen=True)
class RefusedRecording:
    """A recording that could not be cleaned, and why."""

    file: Path
    animation: str | None
    """Its name, where the file holds several."""
    error: VivantError

    @property
    def reason(self) -> str:
        """What is wrong, without the names of file and animation."""
        text = str(self.error).removeprefix(str(self.file)).removeprefix(f", animation {self.animation}")
        return text.removeprefix(": ").replace(f"the animation {self.animation} ", "the animation ")


@dataclass(frozen=True)
class FolderOutcome:
    """What became of the recordings of a folder."""

    cleaned: tuple[Path, ...]
    refused: tuple[RefusedRecording, ...]
    others: tuple[Path, ...]
    """Files that hold no motion."""

    def refusals(self) -> list[str]:
        """A line for each refused recording; animations of one file that share a reason share a line."""
        groups: dict[tuple[Path, str], list[RefusedRecording]] = {}
        for entry in self.refused:
            groups.setdefault((entry.file, entry.reason), []).append(entry)
        return [_format_refusal(entries) for entries in groups.values()]


def choose_target(source: Path, out: Path) -> Path:
    """The BVH file that one recording becomes: `out`, or a file of the recording's name in the folder `out`."""
    if not out.is_dir() and out.suffix:
        if out.suffix.lower() != ".bvh":
            raise UsageError(f"{out}: the result is BVH, not '{out.suffix}'; name a .bvh file, or a folder")
        return out
    target = out / f"{source.name if source.is_dir() else source.stem}.bvh"
    if target.resolve() == source.resolve():
        raise UsageError(f"{source}: would be overwritten; choose another folder for the results")
    return target


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
        # A folder that OpenPose wrote is one recording, however many files it has.
        folders = sorted({file.parent for file in files if is_openpose(file)})
        files = [*folders, *(file for file in files if not is_openpose(file))]
    recordings = [
        file for file in files if file.is_dir() or file.suffix.lower() in (*MOTION_FILES, *FOREIGN_FILES)
    ]
    if any(not file.is_dir() and file.suffix.lower() not in KEYPOINT_FILES for file in recordings):
        # Beside skeletons' files, data sets keep tables of labels and cuts.
        recordings = [file for file in recordings if not _is_table(file)]
    if not recordings:
        raise UsageError(f"{source}: holds no recording; a motion is one of {', '.join(MOTION_FILES)}")
    cleaned: list[Path] = []
    refused: list[RefusedRecording] = []
    targets: dict[Path, tuple[Path, str | None]] = {}
    for file in recordings:
        target = out / file.relative_to(source if source.is_dir() else source.parent)
        target = target.with_name(f"{target.name}.bvh") if file.is_dir() else target.with_suffix(".bvh")
        try:
            names = () if file.is_dir() else list_animations(file)
        except VivantError as error:
            refused.append(RefusedRecording(file, None, error))
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
            refused.append(RefusedRecording(file, name, error))
            continue
        cleaned.append(target)
        if report is not None:
            report(result.lines())
    others = tuple(file for file in files if file not in set(recordings))
    return FolderOutcome(tuple(cleaned), tuple(refused), others)


def _is_table(file: Path) -> bool:
    """Whether a file whose kind can hold keypoints is about something else."""
    if file.is_dir() or file.suffix.lower() not in KEYPOINT_FILES or is_motive(file):
        return False
    try:
        load_keypoints(file)
    except NoKeypointsError:
        return True
    except VivantError:
        return False  # keypoints with a fault, which cleaning names
    return False


def _format_refusal(entries: list[RefusedRecording]) -> str:
    first = entries[0]
    if len(entries) == 1:
        # What is wrong with this machine (no Blender, say) does not name a file.
        text = str(first.error)
        return text if str(first.file) in text else f"{first.file}: {text}"
    names = ", ".join(str(entry.animation) for entry in entries[:4]) + (" …" if len(entries) > 4 else "")
    return f"{first.file}, {len(entries)} animations ({names}): {first.reason}"


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
