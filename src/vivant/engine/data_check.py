"""`vivant data check`: read every sample, open every file, and say all that is wrong at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, DataReport
from vivant.benchmarks.validation import load_samples
from vivant.core.errors import VivantError
from vivant.core.progress import ProgressCallback
from vivant.core.types import Audio, Image, Part, Video
from vivant.engine.plan import list_media_paths
from vivant.media.inspection import find_problem


def check_data(name: str, given: str | None, progress: ProgressCallback | None = None) -> DataReport:
    """The benchmark's own check where it has one, else every sample and every media file."""
    if registry.is_file(name):
        selection = registry.select([name])[0]
        return check_media(selection.benchmark, selection.root, selection.tasks, progress)
    benchmark = registry.get(name)
    root = registry.locate(benchmark, given)
    own = benchmark.data.check(benchmark, root, progress)
    if own is not None:
        return own
    tasks = [f"{name}/{task}" for task in benchmark.expand("")]
    return check_media(benchmark, root, tasks, progress)


def check_media(
    benchmark: Benchmark, root: Path, tasks: Sequence[str], progress: ProgressCallback | None
) -> DataReport:
    """Load the tasks, then open each file that their samples name, once."""
    found: list[str] = []
    problems: list[str] = []
    parts: dict[str, tuple[Part, str]] = {}
    for task in tasks:
        try:
            samples = load_samples(benchmark, root, task)
        except VivantError as error:
            problems.append(str(error))
            continue
        found.append(
            f"{task}: {len(samples)} samples, {len({p for s in samples for p in list_media_paths(s)})} files"
        )
        for sample in samples:
            for part in sample.question:
                if isinstance(part, Image | Video | Audio):
                    parts.setdefault(part.path, (part, sample.id))
    folder = benchmark.data.media_root(root)
    for number, (path, (part, sample_id)) in enumerate(parts.items(), 1):
        problem = find_problem(folder, part)
        if problem is not None:
            problems.append(f"{folder / path} (sample {sample_id}): {problem}")
        if progress is not None:
            progress(number, len(parts), path)
    return DataReport(found=tuple(found), problems=tuple(problems))
