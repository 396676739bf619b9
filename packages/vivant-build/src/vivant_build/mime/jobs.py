"""Videos as independent jobs that can be stopped and resumed at any point.

A job is done when its video is whole: rendered under a hidden name, decoded and counted, then renamed. What is
done stands in an index (`index.py`), with the fingerprint of all that a video's pictures depend on.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError, MediaError, VivantError
from vivant.core.files import is_temporary, lock_file
from vivant.core.progress import ProgressCallback
from vivant_build.mime.choreography import ACTIONS
from vivant_build.mime.edition import METADATA, PLAN, SHEET, Edition, stage, write_metadata, write_plan
from vivant_build.mime.plan import Shot, Staging
from vivant_build.mime.plan_file import Specification, check_plan
from vivant_build.mime.render_index import RenderedVideo, RenderIndex
from vivant_build.mime.renderers import Renderer
from vivant_build.mime.rendering import (
    ActionSetup,
    RenderStatistics,
    check_files,
    load_renderer,
    recording_state,
    render_shot,
    set_up_action,
)
from vivant_build.mime.semantic_choice import PhraseEncoder
from vivant_build.mime.video import FullDiskError, encode
from vivant_build.mime.video_check import examine_video


class RenderJob(Struct, frozen=True, kw_only=True):
    """One video, with all that a worker on any machine needs besides the files that the plan names."""

    spec: Specification
    staging: Staging
    shot: Shot
    root: str
    """The folder that the plan's paths are relative to."""
    fingerprint: str


class FailedRender(Struct, frozen=True, kw_only=True, tag="failed"):
    """A video that could not be made, and why."""

    file: str
    error: str
    full_disk: bool = False


class RenderOutcome(Struct, frozen=True, kw_only=True):
    """What became of a folder of jobs."""

    total: int
    kept: int
    """Videos that were there already."""
    made: int
    failed: tuple[FailedRender, ...]
    metadata: Path | None
    """Written when nothing is missing."""


class RenderExecutor(Protocol):
    """Does jobs somewhere and yields their results in whatever order they end."""

    def run(
        self, jobs: Sequence[RenderJob], out: Path
    ) -> Generator[RenderedVideo | FailedRender, None, None]:
        """Each job's video is whole in `out` when its `Made` comes; closing it ends what is under way."""


# ── the plan of jobs ─────────────────────────────────────────────────────────────────────────────


def plan_jobs(edition: Edition, root: Path, identity: str | None) -> list[RenderJob]:
    """One job a video. `identity` is the renderer's; without one, nothing is to be made and no file is read."""
    stagings = {staging.action: staging for staging in edition.stagings}
    hashes: dict[Path, str] = {}
    spec = edition.specification
    cast = {action.name: action for action in spec.cast}
    release = version("vivant")
    # The moves themselves, not their name: a choreography may change within a release.
    moves = {
        name: hashlib.sha256(
            msgspec.json.encode((a.seconds, a.heading, a.may_mirror, a.stance, a.moves))
        ).hexdigest()
        for name in {action.motion for action in spec.cast}
        if (a := ACTIONS.get(name)) is not None
    }

    def digest(path: str) -> str:
        file = root / path
        if file not in hashes:
            try:
                hashes[file] = hashlib.sha256(file.read_bytes()).hexdigest()
            except OSError as error:
                raise DataError(f"{file} cannot be read: {error.strerror}") from None
        return hashes[file]

    def fingerprint(shot: Shot) -> str:
        action = cast[shot.action]
        avatar, background = spec.avatars.get(shot.avatar), spec.backgrounds.get(shot.scene)
        about = {
            "vivant": release,
            "renderer": identity,
            "motion": moves[action.motion] if action.motion in ACTIONS else digest(action.motion),
            "who": [spec.seed, shot.actor, shot.action, action.heading],
            "avatar": [shot.avatar, avatar, digest(avatar.file) if avatar and avatar.file else ""],
            "background": digest(background.file) if background else shot.scene,
            "angle": shot.angle,
            "video": [
                *(spec.width, spec.height),
                spec.crop,
                spec.fps,
                spec.seconds,
                spec.quality,
                spec.effort,
            ],
        }
        return hashlib.sha256(msgspec.json.encode(about, order="sorted")).hexdigest()[:24]

    return [
        RenderJob(
            spec=spec,
            staging=stagings[shot.action],
            shot=shot,
            root=str(root),
            fingerprint="" if identity is None else fingerprint(shot),
        )
        for shot in edition.shots
    ]


# ── one job ──────────────────────────────────────────────────────────────────────────────────────

_LAST: list[tuple[bytes, ActionSetup]] = []
"""The last action's motion and camera: its variants come one after the other."""


def load_setup(job: RenderJob) -> ActionSetup:
    """The motion and camera of a job, kept while jobs of the same action follow each other."""
    root = Path(job.root)
    key = msgspec.json.encode((job.spec, job.staging, job.root, recording_state(job.spec, job.staging, root)))
    if not _LAST or _LAST[0][0] != key:
        _LAST[:] = [(key, set_up_action(job.spec, job.staging, root))]
    return _LAST[0][1]


def do_job(job: RenderJob, out: Path, renderer: Renderer | None = None) -> RenderedVideo | FailedRender:
    """Render, encode and examine one video; it appears in `out` when it is whole, or not at all."""
    began = time.monotonic()
    spec, file, statistics = job.spec, out / job.shot.file, RenderStatistics()
    try:
        scene = load_setup(job)
        drawn = render_shot(
            spec, scene, job.shot, renderer or load_renderer(spec), Path(job.root), statistics
        )

        def examine(part: Path) -> None:
            # Names the video, since the hidden file will be gone.
            faults = examine_video(part, frames=len(scene.motion), fps=spec.fps, size=spec.size)
            if statistics.frames != len(scene.motion):
                faults.append(f"the renderer gave {statistics.frames} of {len(scene.motion)} frames")
            if statistics.least == 0.0:
                faults.append("there is a frame without the person")
            if faults:
                raise MediaError(f"{job.shot.file}: {'; '.join(faults)}")

        encode(drawn, file, spec.fps, crf=spec.quality, preset=spec.effort, examine=examine)
        return describe_video(job, file, statistics, time.monotonic() - began)
    except FullDiskError as error:
        return FailedRender(file=job.shot.file, error=str(error), full_disk=True)
    except VivantError as error:
        return FailedRender(file=job.shot.file, error=str(error))


def describe_video(job: RenderJob, file: Path, statistics: RenderStatistics, seconds: float) -> RenderedVideo:
    """What the index keeps of a finished video."""
    content = file.read_bytes()
    return RenderedVideo(
        file=job.shot.file,
        fingerprint=job.fingerprint,
        frames=statistics.frames,
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        least=round(statistics.least, 5),
        seconds=round(seconds, 3),
        mtime_ns=file.stat().st_mtime_ns,
    )


# ── all of them ──────────────────────────────────────────────────────────────────────────────────


LOCK = ".render.lock"


def run_jobs(
    edition: Edition,
    root: Path,
    out: Path,
    executor: RenderExecutor,
    progress: ProgressCallback | None = None,
) -> RenderOutcome:
    """Make what is missing in `out`. Raises where the disk is full, or another run is at work there; single failures
    are in the outcome."""
    if (out / SHEET).exists() and not (out / PLAN).exists():
        raise DataError(f"{out / SHEET} is not of an edition and would be lost; choose another folder")
    busy = DataError(f"Another run is making videos in {out}; wait for it, or choose another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror or error}") from None
    with lock_file(out / LOCK, busy):
        return _run(edition, root, out, executor, progress)


def _run(
    edition: Edition, root: Path, out: Path, executor: RenderExecutor, progress: ProgressCallback | None
) -> RenderOutcome:
    identity = load_renderer(edition.specification).identity
    jobs = plan_jobs(edition, root, identity)
    write_plan(edition, out)
    _sweep(out)
    index = RenderIndex(out)
    todo = [job for job in jobs if not index.holds(job.shot.file, job.fingerprint)]
    if todo:
        check_files(edition.specification, root)
        # It says that all is there.
        (out / METADATA).unlink(missing_ok=True)
    failed: list[FailedRender] = []
    done = len(jobs) - len(todo)
    clock = _Clock(len(todo))
    try:
        index.begin(root)
        with closing(executor.run(todo, out)) as results:
            for result in results:
                if isinstance(result, FailedRender):
                    if result.full_disk:
                        raise _full(out, done, len(jobs))
                    failed.append(result)
                else:
                    index.add(result)
                    done += 1
                left = clock.tick()
                if progress is not None:
                    progress(done, len(jobs), f"{result.file}, {left} left")
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _full(out, done, len(jobs)) from None
        raise DataError(f"{out} cannot be written: {error.strerror or error}") from None
    finally:
        _sweep(out)
    metadata = None if failed else write_metadata(edition, out)
    return RenderOutcome(
        total=len(jobs),
        kept=len(jobs) - len(todo),
        made=done - len(jobs) + len(todo),
        failed=tuple(failed),
        metadata=metadata,
    )


def _full(out: Path, done: int, total: int) -> DataError:
    return DataError(
        f"The disk of {out} is full: {done} of {total} videos are there and whole, none is half; make room and "
        "run the same command again"
    )


def _sweep(out: Path) -> None:
    """Remove what killed workers left under hidden names."""
    for path in filter(is_temporary, out.iterdir()):
        path.unlink(missing_ok=True)


class _Clock:
    """How long the rest will take, by what has been done in this run."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._began = total, 0, time.monotonic()

    def tick(self) -> str:
        self._done += 1
        return format_duration((time.monotonic() - self._began) / self._done * (self._total - self._done))


def format_duration(seconds: float) -> str:
    """A stretch of time for people: 1:02:03 or 2:03."""
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def build(
    spec: Specification,
    out: Path,
    progress: ProgressCallback | None = None,
    encoder: PhraseEncoder | None = None,
    *,
    root: Path | None = None,
    workers: int = 1,
) -> Path:
    """Make an edition in the folder `out` and return its metadata file, which is written last."""
    from vivant_build.mime.local_executor import LocalRenderExecutor

    base = (root or Path.cwd()).resolve()
    check_plan(spec, "The plan", base)
    edition = Edition(spec, tuple(stage(spec, encoder)))
    outcome = run_jobs(edition, base, out, LocalRenderExecutor(workers), progress)
    if outcome.metadata is None:
        raise DataError(
            f"{len(outcome.failed)} videos could not be made; the first: {outcome.failed[0].error}"
        )
    return outcome.metadata


def count_workers() -> int:
    """How many workers suit this machine."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
