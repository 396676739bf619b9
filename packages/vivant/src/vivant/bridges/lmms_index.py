"""Which tasks an installed lmms-eval has, read from its YAML files without importing it.

lmms-eval imports torch and takes ten seconds to start. What is checked before that, and what tables need of a task,
is read here: names, groups, tags, the metric, the dataset and how it is fetched. The list is kept in the cache folder.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.files import write_atomic
from vivant.core.paths import cache_root

PACKAGE = "lmms_eval"
_FORMAT = 1


class TaskEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task, group or tag."""

    name: str
    path: str = ""
    """Its YAML file; empty for a tag."""
    members: tuple[str, ...] = ()
    """Of a group or a tag: the tasks and groups in it."""
    metric: str = ""
    """The first metric."""
    output_type: str = "generate_until"
    dataset: str = ""
    dataset_name: str = ""
    dataset_options: Mapping[str, Any] = {}
    foreign: bool = False
    """Whether it lies in a folder of the user's own, outside the installed package."""

    @property
    def is_task(self) -> bool:
        """Whether it can be asked by itself."""
        return not self.members


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """Reads the files without running or importing anything."""


_Loader.add_multi_constructor("!", lambda _loader, _suffix, node: f"!{node.value}")


def find_package() -> Path | None:
    """The folder of the installed lmms-eval; None where there is none."""
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def require_lmms_eval() -> Path:
    """The folder of the installed lmms-eval."""
    package = find_package()
    if package is None:
        raise UsageError("lmms: tasks need lmms-eval; install it: pip install lmms-eval")
    return package


def get_version() -> str:
    """The version of the installed lmms-eval."""
    try:
        return version("lmms-eval")
    except PackageNotFoundError:
        return "unknown"


def list_entries(include: Path | None = None) -> dict[str, TaskEntry]:
    """All tasks, groups and tags by name.

    Args:
        include: A folder of the user's own tasks, whose names win.
    """
    package = find_package()
    entries = dict(_list_installed(package, get_version())) if package is not None else {}
    if include is not None:
        if not include.is_dir():
            raise DataError(f"include={include}: no such folder")
        entries |= _read_folder(include, foreign=True)
    return entries


def find_entry(name: str, include: Path | None = None) -> TaskEntry:
    """A task, group or tag; one that is not there is an error with the nearest name."""
    require_lmms_eval()
    entries = list_entries(include)
    if name not in entries:
        raise unknown_name_error("lmms-eval task", name, entries)
    return entries[name]


def expand_entry(name: str, include: Path | None = None) -> tuple[str, ...]:
    """The tasks that a name stands for, in order, each once."""
    entries = list_entries(include)
    tasks: dict[str, None] = {}

    def visit(current: str, above: tuple[str, ...]) -> None:
        entry = entries.get(current)
        if entry is None:
            raise DataError(f"lmms:{name}: its member '{current}' is no task of this lmms-eval")
        if entry.is_task:
            tasks[current] = None
        for member in entry.members:
            if member not in above:
                visit(member, (*above, current))

    find_entry(name, include)
    visit(name, ())
    return tuple(tasks)


@lru_cache(maxsize=2)
def _list_installed(package: Path, release: str) -> Mapping[str, TaskEntry]:
    file = cache_root() / f"lmms-tasks-{release}-{_FORMAT}.json"
    stamp = f"{package}:{package.stat().st_mtime_ns}"
    try:
        stored = msgspec.json.decode(file.read_bytes(), type=tuple[str, dict[str, TaskEntry]])
        if stored[0] == stamp:
            return stored[1]
    except (OSError, msgspec.MsgspecError):
        pass  # not kept yet, or by another version
    entries = _read_folder(package / "tasks")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, msgspec.json.encode((stamp, entries)), durable=False)
    except OSError:
        pass  # a cache that cannot be written costs seconds, not the run
    return entries


def _read_folder(folder: Path, *, foreign: bool = False) -> dict[str, TaskEntry]:
    entries: dict[str, TaskEntry] = {}
    tags: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        config = _read_config(path)
        name = config.get("task")
        if isinstance(name, list):
            group = str(config.get("group") or path.stem)
            members = tuple(str(m.get("task", "")) if isinstance(m, dict) else str(m) for m in name)
            entries[group] = TaskEntry(name=group, path=str(path), members=members, foreign=foreign)
        elif isinstance(name, str):
            entries[name] = _make_entry(name, path, config, foreign=foreign)
            for field in ("tag", "group"):
                value = config.get(field)
                for tag in [value] if isinstance(value, str) else value or ():
                    tags.setdefault(str(tag), []).append(name)
    for tag, names in tags.items():
        entries.setdefault(tag, TaskEntry(name=tag, members=tuple(names), foreign=foreign))
    return entries


def _make_entry(name: str, path: Path, config: Mapping[str, Any], *, foreign: bool) -> TaskEntry:
    metrics = config.get("metric_list") or [{}]
    first = metrics[0] if isinstance(metrics[0], dict) else {}
    options = config.get("dataset_kwargs") or {}
    return TaskEntry(
        name=name,
        path=str(path),
        metric=str(first.get("metric", "")).rpartition(".")[2],
        output_type=str(config.get("output_type") or "generate_until"),
        dataset=str(config.get("dataset_path") or ""),
        dataset_name=str(config.get("dataset_name") or ""),
        dataset_options={str(key): value for key, value in options.items()}
        if isinstance(options, dict)
        else {},
        foreign=foreign,
    )


def _read_config(path: Path) -> dict[str, Any]:
    """A file over the files that it includes; empty where it is no mapping."""
    merged: dict[str, Any] = {}
    for config in _read_chain(path, 0):
        merged = {**config, **merged}
    return merged


def _read_chain(path: Path, depth: int) -> Iterator[dict[str, Any]]:
    """The file first, then what it includes."""
    try:
        config = yaml.load(path.read_bytes(), Loader=_Loader)
    except (OSError, yaml.YAMLError):
        return  # no task here; whoever names one in it is told that there is none
    if not isinstance(config, dict):
        return
    yield config
    included = config.get("include")
    for name in [included] if isinstance(included, str) else reversed(included or ()):
        if depth < 8:
            yield from _read_chain(path.parent / str(name), depth + 1)
