"""A run in the native files of its benchmarks, which the original scripts read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.core.errors import UsageError, unknown_name_error
from vivant.runs.run import Run


def list_native_formats(run: Run) -> set[str]:
    """Return the formats that the run's benchmarks can write."""
    return {form for name in _list_benchmarks(run) for form in registry.get(name).native.exports}


def _list_benchmarks(run: Run) -> list[str]:
    return sorted({task.partition("/")[0] for task in run.manifest.tasks})


def export_run(
    run: Run,
    kind: str,
    out: str | Path,
    protocol: Protocol | None = None,
    values: Mapping[str, Any] | None = None,
    others: Iterable[str] = (),
) -> list[Path]:
    """Write a run in a native format and return the files.

    Args:
        run: The run.
        kind: A native format of one of its benchmarks (see `vivant benchmarks show NAME`).
        out: The folder to write to.
        protocol: `paper` or `strict`. None takes the first that the run's benchmarks have.
        values: Scoring settings other than the defaults.
        others: Formats that the caller writes itself; an unknown name's error lists them too.
    """
    names = _list_benchmarks(run)
    formats = list_native_formats(run)
    if kind not in formats:
        raise unknown_name_error("export format", kind, {*formats, *others})
    if run.manifest.settings.permute != 1:
        raise UsageError(f"{run.path} asks each question in several orders, which no native format can hold")
    folder = Path(out)
    if folder.is_file():
        raise UsageError(f"{folder} is a file; name a folder")
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        parts = run.scores(protocol, values)
        for name in names:
            if kind in registry.get(name).native.exports:
                own = [part for part in parts if part.task.partition("/")[0] == name]
                written += registry.get(name).native.export(own, kind, folder)
    except OSError as error:
        raise UsageError(f"Cannot write to {folder}: {error.strerror}") from error
    return list(dict.fromkeys(written))
