"""Jobs on a Ray cluster: nodes render, and send back whole videos; this process writes them and keeps the index.

Nodes need no shared disk for what they make. The plan's own files (recordings, characters, pictures) travel with
the jobs, once for each node.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Generator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant.core.ray_connection import connect
from vivant.models.base import require_package
from vivant_build.mime.jobs import FailedRender, RenderJob, do_job
from vivant_build.mime.plan_file import Specification
from vivant_build.mime.render_index import RenderedVideo

logger = logging.getLogger("vivant")
_AHEAD = 2
"""Jobs under way for each core of the cluster."""
_RETRIES = 3
"""How often a job is begun anew when its node is lost."""


class RayRenderExecutor:
    """One job at a time for each core that the cluster has."""

    def __init__(self, address: str | None = None) -> None:
        require_package("ray", "ray", "--executor ray")
        self._address = address

    def run(
        self, jobs: Sequence[RenderJob], out: Path
    ) -> Generator[RenderedVideo | FailedRender, None, None]:
        """See `Executor.run`."""
        if not jobs:
            return
        import ray

        mine = connect(self._address)
        try:
            cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
            logger.info("Ray: %d nodes, %d cores", len(ray.nodes()), cores)
            yield from self._rounds(jobs, out, cores)
        finally:
            if mine:
                ray.shutdown()

    def _rounds(
        self, jobs: Sequence[RenderJob], out: Path, cores: int
    ) -> Generator[RenderedVideo | FailedRender, None, None]:
        import ray

        remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(_work)
        files = ray.put(_read_files(jobs[0].spec, Path(jobs[0].root)))
        waiting = iter(jobs)
        under_way: dict[Any, RenderJob] = {}
        while True:
            while len(under_way) < _AHEAD * cores and (job := next(waiting, None)) is not None:
                under_way[remote.remote(msgspec.json.encode(job), files)] = job
            if not under_way:
                return
            (ready, *_), _ = ray.wait(list(under_way), num_returns=1)
            job = under_way.pop(ready)
            try:
                answer: tuple[bytes, bytes] = ray.get(ready)
            except ray.exceptions.RayError as error:
                line = str(error).strip().rpartition("\n")[2][:200]
                yield FailedRender(file=job.shot.file, error=f"{job.shot.file}: its node failed: {line}")
                continue
            yield _write_video(answer, out)


def _write_video(answer: tuple[bytes, bytes], out: Path) -> RenderedVideo | FailedRender:
    """Write a video that came from a node; it appears under its name when it is whole."""
    result = msgspec.json.decode(answer[0], type=RenderedVideo | FailedRender)
    if isinstance(result, FailedRender):
        return result
    file = out / result.file
    write_atomic(file, answer[1], durable=False)
    return msgspec.structs.replace(result, mtime_ns=file.stat().st_mtime_ns)


def _read_files(spec: Specification, root: Path) -> dict[str, bytes]:
    """The plan's own files by their paths in the plan."""
    named = [action.motion for action in spec.cast if (root / action.motion).is_file()]
    named += [avatar.file for avatar in spec.avatars.values() if avatar.file]
    named += [background.file for background in spec.backgrounds.values()]
    try:
        return {path: (root / path).read_bytes() for path in named}
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {error.strerror}") from None


def _work(job: bytes, files: dict[str, bytes]) -> tuple[bytes, bytes]:
    """On a node: the result, and the video."""
    order = msgspec.json.decode(job, type=RenderJob)
    if files:
        order = msgspec.structs.replace(order, root=_unpack(order.root, tuple(files.items())))
    with tempfile.TemporaryDirectory(prefix="vivant-mime-") as folder:
        result = do_job(order, Path(folder))
        video = b"" if isinstance(result, FailedRender) else (Path(folder) / result.file).read_bytes()
    return msgspec.json.encode(result), video


@lru_cache(maxsize=1)
def _unpack(_: str, files: tuple[tuple[str, bytes], ...]) -> str:
    """The plan's files in a folder of this worker's, unpacked once; paths that lead elsewhere are flattened."""
    folder = Path(tempfile.mkdtemp(prefix="vivant-plan-"))
    for path, content in files:
        target = folder / path
        if not target.resolve().is_relative_to(folder.resolve()):
            raise DataError(
                f"{path} lies outside the plan's folder; put it beside the plan to render with Ray"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return str(folder)
