"""Render jobs on this machine: in this process, or in worker processes."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

from vivant.core.worker_pool import ProcessPool
from vivant_build.mime.jobs import FailedRender, RenderJob, do_job
from vivant_build.mime.render_index import RenderedVideo
from vivant_build.mime.rendering import load_renderer

_ATTEMPTS = 3


class LocalRenderExecutor:
    """Render in this process (one worker) or in worker processes."""

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def run(
        self, jobs: Sequence[RenderJob], out: Path
    ) -> Generator[RenderedVideo | FailedRender, None, None]:
        """See `Executor.run`."""
        if self._workers <= 1:
            renderer = load_renderer(jobs[0].spec) if jobs else None
            for job in jobs:
                yield do_job(job, out, renderer)
            return
        pool = ProcessPool[tuple[RenderJob, Path], RenderedVideo | FailedRender](
            self._workers, _work, attempts=_ATTEMPTS
        )
        with closing(pool.run([(job, out) for job in jobs])) as results:
            for (job, _), result in results:
                lost = f"{job.shot.file}: {_ATTEMPTS} workers died over it (is there memory enough for --workers?)"
                yield result if result is not None else FailedRender(file=job.shot.file, error=lost)


def _work(task: tuple[RenderJob, Path]) -> RenderedVideo | FailedRender:
    return do_job(*task)
