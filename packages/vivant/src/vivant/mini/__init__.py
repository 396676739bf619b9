"""The bundled mini-editions: small, made by this project, in each benchmark's own format."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def root(benchmark: str) -> Path | None:
    """The folder of a benchmark's mini-edition, or None where there is none."""
    path = _HERE / benchmark
    return path if benchmark.isidentifier() and path.is_dir() else None


def is_bundled(folder: str | Path, benchmark: str) -> bool:
    """Whether a folder is the benchmark's mini-edition: this installation's, or that of another one.

    A run keeps the folder of its data. The package may be in another place when the run is read again.
    """
    bundled = root(benchmark)
    if bundled is None:
        return False
    resolved = Path(folder).resolve()
    return resolved == bundled.resolve() or resolved.parts[-3:] == bundled.parts[-3:]


def list_installed() -> list[str]:
    """The benchmarks that have one."""
    return sorted(p.name for p in _HERE.iterdir() if p.is_dir() and not p.name.startswith("_"))
