"""A folder of videos against its plan: every fault at once, not the first alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.errors import VivantError
from vivant.core.progress import ProgressCallback
from vivant.core.worker_pool import ProcessPool
from vivant_build.mime.bad_frames import format_count
from vivant_build.mime.edition import METADATA, Edition, format_metadata, read_edition
from vivant_build.mime.jobs import RenderJob, load_setup, plan_jobs
from vivant_build.mime.rasterizer import to_picture
from vivant_build.mime.render_index import RenderIndex
from vivant_build.mime.rendering import load_background
from vivant_build.mime.video import crop_centre
from vivant_build.mime.video_check import examine_video

_STRANGER = "it is not in the plan; delete it"


class FolderCheck(Struct, frozen=True):
    """What was looked at, and what is wrong with it."""

    videos: int
    frames: int
    lines: tuple[str, ...]
    """One a fault, beginning with the file."""

    def summary(self, folder: Path, named: int = 0) -> str:
        """How many faults there are, the first `named` of them, and what mends them."""
        strangers = sum(line.endswith(_STRANGER) for line in self.lines)
        remedies = ["`vivant build mime render` makes them anew"] if strangers < len(self.lines) else []
        remedies += ["delete what is not in the plan"] if strangers else []
        count = f"{format_count(len(self.lines), 'fault')} in {folder}"
        first = f": {'; '.join(self.lines[:named])}{' …' if named < len(self.lines) else ''}" if named else ""
        return f"{count}{first}; {', and '.join(remedies)}"


class VideoCheck(Struct, frozen=True):
    """One video."""

    file: str
    frames: int
    faults: tuple[str, ...]


def check_folder(
    folder: Path, *, root: Path | None = None, workers: int = 1, progress: ProgressCallback | None = None
) -> FolderCheck:
    """Examine every video that the folder's plan names, and say what else is there or missing.

    The plan's own files (recordings, pictures) are looked for in `root`, else where they were when the videos
    were rendered: the background must be known to see a person before it. A video that looks right must also be the
    one that rendering noted, where it left an index.
    """
    edition = read_edition(folder)
    index = RenderIndex(folder)
    base = root or index.root or folder
    jobs = plan_jobs(edition, base, None)
    checks: dict[str, VideoCheck] = {}
    for result in _check_all([(job, folder) for job in jobs], workers):
        if not result.faults and index.differs(result.file):
            other = "it is not the video that was rendered for it; run render again"
            result = msgspec.structs.replace(result, faults=(other,))
        checks[result.file] = result
        if progress is not None:
            progress(len(checks), len(jobs), result.file)
    lines = [f"{job.shot.file}: {fault}" for job in jobs for fault in checks[job.shot.file].faults]
    lines += _beside(edition, folder, set(checks))
    return FolderCheck(len(jobs), sum(result.frames for result in checks.values()), tuple(lines))


def _check_all(tasks: Sequence[tuple[RenderJob, Path]], workers: int) -> Iterator[VideoCheck]:
    for (job, _), result in ProcessPool[tuple[RenderJob, Path], VideoCheck](workers, check_video).run(tasks):
        yield result or VideoCheck(job.shot.file, 0, ("it kills whoever decodes it",))


def check_video(task: tuple[RenderJob, Path]) -> VideoCheck:
    """Examine one video before the background that it should have."""
    job, folder = task
    file = folder / job.shot.file
    if not file.is_file():
        return VideoCheck(job.shot.file, 0, ("it is missing",))
    spec = job.spec
    try:
        scene = load_setup(job)
        view = replace(scene.camera, angle=float(job.shot.angle))
        empty = to_picture(load_background(spec, job.shot.scene, view, Path(job.root)))
    except VivantError as error:
        return VideoCheck(job.shot.file, 0, (f"what it was made from cannot be had: {error}",))
    faults = examine_video(
        file,
        frames=len(scene.motion),
        fps=spec.fps,
        size=spec.size,
        background=crop_centre(empty, spec.crop) if spec.crop else empty,
    )
    return VideoCheck(job.shot.file, len(scene.motion), tuple(faults))


def _beside(edition: Edition, folder: Path, planned: set[str]) -> list[str]:
    """What lies beside the videos: strangers, and metadata that do not fit."""
    strangers = sorted(path.name for path in folder.glob("*.mp4") if path.name not in planned)
    lines = [f"{name}: {_STRANGER}" for name in strangers]
    metadata = folder / METADATA
    if not metadata.is_file():
        lines.append(f"{METADATA}: it is missing; rendering has not ended")
    elif metadata.read_bytes() != format_metadata(edition.specification, edition.stagings):
        lines.append(f"{METADATA}: it is not the plan's")
    return lines
