"""`vivant data check`: read every sample, open every file, and say all that is wrong at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, DataReport
from vivant.benchmarks.editions import compare_size, find_edition
from vivant.benchmarks.missing_media import list_media_paths
from vivant.benchmarks.validation import load_samples
from vivant.core.errors import VivantError
from vivant.core.progress import ProgressCallback
from vivant.core.types import Audio, Image, Part, Video
from vivant.media.inspection import find_problem


def check_data(name: str, path: str | None, progress: ProgressCallback | None = None) -> DataReport:
    """The benchmark's own check where it has one, else every sample and every media file."""
    if registry.is_file(name):
        selection = registry.select([name])[0]
        return check_media(selection.benchmark, selection.root, selection.tasks, progress)
    benchmark = registry.get(name)
    root = registry.locate(benchmark, path)
    report = benchmark.data.check(benchmark, root, progress)
    if report is None:
        wanted = benchmark.expand("")
        tasks = benchmark.data.available(benchmark, root, wanted) or wanted
        report = check_media(benchmark, root, [f"{benchmark.name}/{task}" for task in tasks], progress)
        absent = [task for task in wanted if task not in tasks]
        if absent:
            line = f"{len(absent)} tasks of {benchmark.name} have no data in {root}: {', '.join(absent)}"
            report = msgspec.structs.replace(report, problems=(line, *report.problems))
    return _compare_size(report, benchmark, root)


def _compare_size(report: DataReport, benchmark: Benchmark, root: Path) -> DataReport:
    """Add how much of the edition is there. What cannot be read is a problem already."""
    edition = find_edition(benchmark, root)
    if edition is None:
        return report
    try:
        tasks = benchmark.data.available(benchmark, root, benchmark.expand(""))
        pools = {task: load_samples(benchmark, root, f"{benchmark.name}/{task}") for task in tasks}
        if tasks:
            pools |= {task: [] for task in edition.tasks if task not in pools and task != "*"}
    except VivantError:
        return report
    size = compare_size(benchmark.name, edition, pools)
    if size is None:
        return report
    if size.fits:
        return msgspec.structs.replace(report, contents=(*report.contents, size.line))
    return msgspec.structs.replace(report, warnings=(*report.warnings, size.line))


def check_media(
    benchmark: Benchmark, root: Path, tasks: Sequence[str], progress: ProgressCallback | None
) -> DataReport:
    """Load the tasks, then open each file that their samples name, once."""
    lines: list[str] = []
    problems: list[str] = []
    parts: dict[str, tuple[Part, str]] = {}
    for task in tasks:
        try:
            samples = load_samples(benchmark, root, task)
        except VivantError as error:
            problems.append(str(error))
            continue
        lines.append(
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
    return DataReport(contents=tuple(lines), problems=tuple(problems))
