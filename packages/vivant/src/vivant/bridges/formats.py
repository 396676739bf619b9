"""The formats of other harnesses that runs are imported from and exported to, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from vivant.benchmarks.base import Protocol
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.hooks import EXPORTERS, call_hook, hook_error, list_hooks
from vivant.runs.exporting import export_run, list_native_formats
from vivant.runs.run import Run, choose_common_protocol

EXPORTS: Mapping[str, str] = {"inspect": "vivant.bridges.inspect_export:export_inspect"}
IMPORTS: Mapping[str, str] = {
    "inspect": "vivant.bridges.inspect_import:import_inspect",
    "lmms-eval": "vivant.bridges.lmms_import:import_lmms_eval",
    "vlmevalkit": "vivant.bridges.vlmevalkit_import:import_vlmevalkit",
}
_SUFFIXES = {
    "inspect": (".eval", ".json"),
    "lmms-eval": ("_samples_*.jsonl",),
    "vlmevalkit": (".xlsx", ".tsv", ".csv", ".json"),
}


def export_results(
    kind: str, run: Run, out: Path, protocol: Protocol | None = None, values: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write a run in a format of another harness, of its benchmark or of an installed package; return the files.

    Args:
        kind: `inspect`, a native format of one of the run's benchmarks, or a hook of the group `vivant.exporters`.
        run: The run.
        out: The folder to write to.
        protocol: `paper` or `strict`. None takes the first that the run's benchmarks have.
        values: Scoring settings other than the defaults.
    """
    if kind in EXPORTS:
        exporter: Callable[..., list[Path]] = _load(EXPORTS[kind])
        return exporter(run, out, protocol, values)
    hooks = list_hooks(EXPORTERS)
    if kind in hooks and kind not in list_native_formats(run):
        return _export_by_hook(kind, run, out, choose_common_protocol([run], protocol), values or {})
    return export_run(run, kind, out, protocol, values, others=(*EXPORTS, *hooks))


def _export_by_hook(
    kind: str, run: Run, out: Path, protocol: Protocol, values: Mapping[str, Any]
) -> list[Path]:
    run.score_file(protocol, values)  # raises if a benchmark has no such setting
    if out.is_file():
        raise UsageError(f"{out} is a file; name a folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"Cannot write to {out}: {error.strerror}") from error
    files = call_hook(EXPORTERS, kind, run, out, protocol, values)
    if not isinstance(files, list) or not all(isinstance(file, Path) for file in files):
        raise hook_error(EXPORTERS, kind, "did not return a list of Path")
    for file in files:
        if not file.exists():
            raise hook_error(EXPORTERS, kind, f"returned {file}, which does not exist")
    return files


def import_results(kind: str, path: Path, out: Path | None = None, model: str | None = None) -> list[Run]:
    """Turn another harness's results into runs.

    Args:
        kind: `inspect`, `lmms-eval` or `vlmevalkit`.
        path: A file of its results, or a folder of them.
        out: The run directory; with several files, the folder of their run directories. Default: in `runs`.
        model: Name of the model. Default: from the file.
    """
    if kind not in IMPORTS:
        raise unknown_name_error("import format", kind, IMPORTS)
    importer: Callable[[Path, Path | None, str | None], Run] = _load(IMPORTS[kind])
    if not path.exists():
        raise DataError(f"No such file: {path}")
    if path.is_file():
        return [importer(path, out, model)]
    files = list_result_files(kind, path)
    return [importer(file, out / file.stem if out and len(files) > 1 else out, model) for file in files]


def list_result_files(kind: str, folder: Path) -> list[Path]:
    """The result files in a folder, folders in it included."""
    patterns = [pattern if "*" in pattern else f"*{pattern}" for pattern in _SUFFIXES[kind]]
    patterns = [pattern if pattern.startswith("*") else f"*{pattern}" for pattern in patterns]
    files = sorted({file for pattern in patterns for file in folder.rglob(pattern) if file.is_file()})
    if not files:
        raise DataError(f"{folder} holds no results of {kind}: no file is called {' or '.join(patterns)}")
    return files


def _load(path: str) -> Callable:  # type: ignore[type-arg]
    module, _, name = path.partition(":")
    function: Callable = getattr(import_module(module), name)  # type: ignore[type-arg]
    return function
