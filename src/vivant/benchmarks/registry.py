"""Which benchmarks there are, and where their data are looked for. Nothing is imported to be listed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from vivant import mini
from vivant.benchmarks.base import Benchmark
from vivant.core.errors import DataError, UsageError, unknown_name_error

_BUILTIN: Mapping[str, str] = {
    "mime": "vivant.benchmarks.mime:Mime",
    "mmrv": "vivant.benchmarks.mmrv:MMRV",
    "milebench": "vivant.benchmarks.milebench:MileBench",
    "mmie": "vivant.benchmarks.mmie:MMIE",
    "mimic": "vivant.benchmarks.mimic:Mimic",
    "jsonl": "vivant.benchmarks.jsonl:Jsonl",
}


class Selection(Struct, frozen=True):
    """A benchmark, the tasks of it that are wanted, and the folder (or file) with its data."""

    benchmark: Benchmark
    tasks: tuple[str, ...]
    root: Path
    absent: tuple[str, ...] = ()
    """Tasks of a group that the folder does not hold."""


def names() -> dict[str, str]:
    """All benchmarks by name, with the dotted path of their class."""
    found = dict(_BUILTIN)
    for point in entry_points(group="vivant.benchmarks"):
        found.setdefault(point.name, point.value)
    return found


def get(name: str, **options: Any) -> Benchmark:
    """The benchmark called `name`; options that it does not know are refused."""
    # To list what others installed takes forty times as long as to find one of our own, which come first anyway.
    known = _BUILTIN if name in _BUILTIN else names()
    if name not in known:
        raise unknown_name_error("benchmark", name, known, "(your own questions: a path that ends in .jsonl)")
    module, _, attribute = known[name].partition(":")
    try:
        cls = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The benchmark '{name}' cannot be loaded from {known[name]}: {error}") from error
    try:
        benchmark: Benchmark = cls(**options)
    except TypeError as error:
        raise UsageError(f"{name} does not take {', '.join(options)}: {error}") from error
    return benchmark


def of_task(task: str) -> Benchmark:
    """The benchmark that a task such as `mime/mcq` belongs to."""
    return get(task.partition("/")[0])


def is_file(selector: str) -> bool:
    """Whether the user names a file of questions rather than a benchmark."""
    return selector.endswith((".jsonl", ".ndjson"))


def select(
    selectors: Sequence[str], data: Sequence[str] = (), options: Mapping[str, Any] | None = None
) -> list[Selection]:
    """What `vivant run mime mmrv/… ./mine.jsonl --data …` means."""
    options = options or {}
    roots = _roots(data, [s for s in selectors if not is_file(s)])
    chosen: list[Selection] = []
    for selector in selectors:
        if is_file(selector):
            path = on_this_machine(selector, "copy the questions and their media to it")
            if not path.is_file():
                raise DataError(f"No such file: {path}")
            chosen.append(Selection(get("jsonl"), (f"jsonl/{path.stem}",), path))
            continue
        name, _, rest = selector.partition("/")
        if name == "jsonl":
            raise UsageError("Give the path of your questions instead of 'jsonl', e.g. ./mine.jsonl")
        benchmark = get(name, **options)
        root = locate(benchmark, roots.get(name) or roots.get(""))
        chosen.append(_present(benchmark, benchmark.expand(rest), root))
    return chosen


def _present(benchmark: Benchmark, tasks: tuple[str, ...], root: Path) -> Selection:
    """Of several tasks, those whose data are there; a task named alone must be."""
    there = tasks if len(tasks) == 1 else benchmark.available(root, tasks)
    if not there:
        raise DataError(
            f"{root} holds none of {benchmark.name}'s tasks asked for. {benchmark.data_help}".strip()
        )
    absent = tuple(task for task in tasks if task not in there)
    return Selection(benchmark, tuple(f"{benchmark.name}/{task}" for task in there), root, absent)


def _roots(data: Sequence[str], selectors: Sequence[str]) -> dict[str, str]:
    """`--data PATH` or, with several benchmarks, `--data name=PATH`."""
    wanted = {selector.partition("/")[0] for selector in selectors}
    roots: dict[str, str] = {}
    for entry in data:
        name, equals, path = entry.partition("=")
        if equals and name in wanted:
            roots[name] = path
        elif equals and not Path(entry).exists() and "/" not in name:
            raise unknown_name_error("benchmark in --data", name, wanted)
        else:
            roots[""] = entry
    if "" in roots and len(wanted) > 1 and roots[""] != "mini":
        raise UsageError("With several benchmarks, name each folder: --data mime=PATH --data mmrv=PATH")
    return roots


def on_this_machine(place: str, remedy: str) -> Path:
    """A place as a path. What lies in an object store is fetched when the user asks for it, never by a run."""
    scheme, separator, _ = place.partition("://")
    if not separator:
        return Path(place).expanduser()
    if scheme == "file":
        return Path(unquote(urlsplit(place).path))
    raise UsageError(f"{place}: a run reads files on its own machine and downloads nothing; {remedy}")


def data_root() -> Path:
    """The folder that holds one folder per benchmark: `VIVANT_DATA`, else `./data`."""
    remedy = "point VIVANT_DATA at a folder, and fetch into it with `vivant data get NAME --from URL`"
    return on_this_machine(os.environ.get("VIVANT_DATA") or "data", remedy)


def locate(benchmark: Benchmark, given: str | None = None) -> Path:
    """The folder with a benchmark's data: what the user gave (`mini`: the bundled), or the data root's."""
    if given == "mini":
        found = mini.root(benchmark.name)
        if found is None:
            raise DataError(f"There is no bundled mini-edition of {benchmark.name}")
        return found
    if given:
        remedy = f"fetch it once, on every node: vivant data get {benchmark.name} --from {given}"
        path = on_this_machine(given, remedy)
        if not path.exists():
            raise DataError(
                f"Data for {benchmark.name}: {path} does not exist. {benchmark.data_help}".strip()
            )
        return path
    path = data_root() / benchmark.name
    if path.exists():
        return path
    from vivant.benchmarks.sources import sources

    tail = f" {benchmark.data_help}" if benchmark.data_help else ""
    if benchmark.name in sources():
        tail = f" To fetch it: vivant data get {benchmark.name}.{tail}"
    small = " To try the bundled mini-edition: --data mini." if mini.root(benchmark.name) else ""
    raise DataError(f"No data for {benchmark.name}: {path} does not exist; give --data PATH.{small}{tail}")
