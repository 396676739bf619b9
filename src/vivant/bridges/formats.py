"""The formats of other harnesses that runs are imported from and exported to, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from vivant.core.errors import DataError, unknown_name_error
from vivant.runs.run import Run

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


def find_exporter(kind: str) -> Callable[..., list[Path]]:
    """The function that writes a run in a format."""
    return _load(EXPORTS[kind])


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
