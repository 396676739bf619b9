"""Benchmarks in a file of the user's own, `./my_bench.py[:Class]` or `./mine.yaml`, and the file behind a name.

Later commands know a run's benchmark by name alone. So the files that a user ran are remembered in the cache folder.
A run directory from somebody else never decides which code is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path

import msgspec

from vivant.benchmarks.base import Benchmark
from vivant.benchmarks.validation import check_class
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.files import write_atomic
from vivant.core.paths import cache_root
from vivant.core.python_files import load_python_file

SUITE = Path(__file__).resolve().parent / "suite"
"""The descriptions that come with the package."""
_classes: dict[tuple[str, int], type[Benchmark]] = {}


def is_description(source: str) -> bool:
    """Whether a benchmark's source is a YAML file."""
    return source.endswith((".yaml", ".yml"))


def list_suite() -> dict[str, str]:
    """The described benchmarks of the package: file by name."""
    return {path.stem: str(path) for path in sorted(SUITE.glob("*.yaml"))}


def load_class(path: Path, class_name: str, installed: Callable[[], Container[str]]) -> type[Benchmark]:
    """Load the benchmark class in a Python file, check it and remember the file.

    Args:
        path: The file.
        class_name: The class; empty for the only one.
        installed: Lists the names that a file may not take.
    """
    path = path.expanduser().resolve()
    if not path.is_file():
        raise UsageError(
            f"Benchmark file {path} does not exist; `vivant benchmarks new {path.name}` writes an example"
        )
    key = (f"{path}:{class_name}", path.stat().st_mtime_ns)
    if key in _classes:
        return _classes[key]
    module = load_python_file(path, "Benchmark file")
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Benchmark) and value.__module__ == module.__name__
    }
    if class_name and class_name not in classes:
        raise unknown_name_error(f"benchmark class in {path}", class_name, classes)
    if not class_name and len(classes) != 1:
        listed = ", ".join(classes) or "none"
        raise UsageError(
            f"{path} holds these subclasses of Benchmark: {listed}. It must hold one, or name one: "
            f"{path.name}:Class"
        )
    class_name = class_name or next(iter(classes))
    cls = classes[class_name]
    check_class(cls, f"{path}:{class_name}")
    if cls.name in installed():
        raise UsageError(f"Benchmark file {path}: the name '{cls.name}' is taken; choose another `name`")
    _remember(cls.name, f"{path}:{class_name}")
    _classes[key] = cls
    return cls


def load_description(path: Path, installed: Callable[[], Container[str]]) -> type[Benchmark]:
    """Load the benchmark that a YAML file describes and remember the file.

    Args:
        path: The file. One of the package's own is not remembered.
        installed: Lists the names that a file may not take.
    """
    from vivant.benchmarks.declarative.benchmark import make_class
    from vivant.benchmarks.declarative.spec import read_spec

    path = path.expanduser().resolve()
    if not path.is_file():
        raise UsageError(
            f"Benchmark file {path} does not exist; `vivant benchmarks new {path.name} --from DATA` drafts one"
        )
    key = (str(path), path.stat().st_mtime_ns)
    if key not in _classes:
        cls = make_class(read_spec(path))
        if path.parent != SUITE:
            if cls.name in installed():
                raise UsageError(
                    f"Benchmark file {path}: the name '{cls.name}' is taken; choose another `name`"
                )
            _remember(cls.name, str(path))
        _classes[key] = cls
    return _classes[key]


def list_remembered_files() -> dict[str, str]:
    """`file:Class` or `file.yaml` by benchmark name, for files that this user ran and that are still there."""
    try:
        sources = msgspec.json.decode(_memory().read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}
    return {
        name: source
        for name, source in sources.items()
        if Path(source if is_description(source) else source.rpartition(":")[0]).is_file()
    }


def _remember(name: str, source: str) -> None:
    sources = list_remembered_files()
    if sources.get(name) != source:
        _memory().parent.mkdir(parents=True, exist_ok=True)
        write_atomic(_memory(), msgspec.json.encode({**sources, name: source}, order="sorted"))


def _memory() -> Path:
    return cache_root() / "benchmarks.json"
