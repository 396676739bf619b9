"""Which benchmarks there are, and where their data are looked for. Nothing is imported to be listed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant import mini
from vivant.benchmarks.base import PROTOCOLS, Benchmark, Protocol
from vivant.benchmarks.plugin_files import (
    SUITE,
    is_description,
    list_remembered_files,
    list_suite,
    load_class,
    load_description,
)
from vivant.benchmarks.question_files import find_question_file, is_question_file, on_this_machine
from vivant.benchmarks.task_options import TaskOptionValues, parse_values
from vivant.benchmarks.validation import check_class
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.python_files import digest_code
from vivant.hooks import BENCHMARKS, list_hooks, load_hook

_BUILTIN: Mapping[str, str] = {
    "mime": "vivant.benchmarks.mime:Mime",
    "mmrv": "vivant.benchmarks.mmrv:MMRV",
    "milebench": "vivant.benchmarks.milebench:MileBench",
    "mmie": "vivant.benchmarks.mmie:MMIE",
    "mimic": "vivant.benchmarks.mimic:Mimic",
    "jsonl": "vivant.benchmarks.jsonl:Jsonl",
    "vlmevalkit-tsv": "vivant.benchmarks.vlmevalkit:VlmEvalKit",
    "inspect": "vivant.bridges.imported_results:InspectResultsTasks",
    "vlmevalkit": "vivant.bridges.imported_results:VlmEvalKitResults",
    "lmms": "vivant.bridges.lmms_benchmark:LmmsEval",
}
FILE_BENCHMARKS = frozenset(("jsonl", "vlmevalkit-tsv", "inspect", "vlmevalkit"))
"""Those whose tasks are files that a user names; they have no data folder."""


_FILE = re.compile(r"(?P<path>.+\.(?:py|ya?ml))(?::(?P<cls>\w+))?(?:/(?P<task>.*))?")


class Selection(Struct, frozen=True):
    """A benchmark, the tasks of it that are wanted, and the folder (or file) with its data."""

    benchmark: Benchmark
    tasks: tuple[str, ...]
    root: Path
    absent: tuple[str, ...] = ()
    """Tasks of a group that the folder does not hold."""


def list_benchmarks() -> dict[str, str]:
    """All benchmarks by name, with where their class is: bundled, installed, and files that were run before."""
    installed = _list_installed()
    own = {name: path for name, path in list_remembered_files().items() if name not in installed}
    return {**installed, **own}


def _list_installed() -> dict[str, str]:
    installed = {name: hook.value for name, hook in list_hooks(BENCHMARKS).items()}
    return {**_BUILTIN, **list_suite(), **installed, **list_suite(), **_BUILTIN}


def get(name: str, **options: Any) -> Benchmark:
    """The benchmark called `name`, or the one in `./file.py[:Class]` or `./file.yaml`; unknown options are refused."""
    match = _FILE.fullmatch(name)
    if match:
        if is_description(match["path"]):
            return load_description(Path(match["path"]), _list_installed)(**options)
        return load_class(Path(match["path"]), match["cls"] or "", _list_installed)(**options)
    # To list what others installed takes forty times as long as to find a bundled one, which come first anyway.
    sources: Mapping[str, str] = _BUILTIN
    if name not in sources:
        suite = list_suite()
        sources = suite if name in suite else list_benchmarks()
    if name not in sources:
        hint = "(your own questions: a path that ends in .jsonl; your own benchmark: one in .yaml or .py)"
        raise unknown_name_error("benchmark", name, sources, hint)
    source = sources[name]
    if is_description(source):
        return load_description(Path(source), _list_installed)(**options)
    if ".py:" in source:
        path, _, class_name = source.rpartition(":")
        return load_class(Path(path), class_name, _list_installed)(**options)
    if name in _BUILTIN:
        module, _, attribute = source.partition(":")
        cls = getattr(import_module(module), attribute)
    else:
        cls = load_hook(BENCHMARKS, name)
        check_class(cls, source, name)
    benchmark: Benchmark = cls(**options)
    return benchmark


def list_code_versions(tasks: Iterable[str]) -> dict[str, str]:
    """By name, which code the tasks' benchmarks are now, for those that a user's file or package holds.

    Nothing of it is executed. Descriptions are left out: what they say is among the settings.
    """
    found: dict[str, str] = {}
    own = {**_BUILTIN, **list_suite()}
    for name in dict.fromkeys(task.partition("/")[0] for task in tasks):
        if name in own:
            continue
        if hook := list_hooks(BENCHMARKS).get(name):
            found[name] = f"{hook.dist.name} {hook.dist.version}"
        elif (source := list_remembered_files().get(name, "")) and not is_description(source):
            found[name] = digest_code(Path(source.rpartition(":")[0]))
    return found


def split_selector(selector: str) -> tuple[str, str]:
    """`mime/mcq` as (`mime`, `mcq`); `./my_bench.py:MyBench/mcq` as (`./my_bench.py:MyBench`, `mcq`)."""
    match = _FILE.fullmatch(selector)
    if match:
        return match["path"] + (f":{match['cls']}" if match["cls"] else ""), match["task"] or ""
    name, _, task = selector.partition(":" if selector.startswith("lmms:") else "/")
    return name, task


def _benchmark_names(selectors: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(split_selector(selector)[0] for selector in selectors if not is_file(selector)))


def parse_task_options(selectors: Sequence[str], values: Mapping[str, Any]) -> TaskOptionValues:
    """Check `--task-option NAME=VALUE` and split the values into a run's `variant` and `limits`.

    Args:
        selectors: The benchmarks of the run, as the user names them: `milebench/T-1`, `./mine.jsonl`.
        values: Texts or Python values by name. Each name must belong to one of the benchmarks.
    """
    if not values:
        return TaskOptionValues()
    chosen = _benchmark_names(selectors)
    files = ["jsonl"] if any(is_file(selector) for selector in selectors) else []
    options = [option for name in (*chosen, *files) for option in get(name).task_options]
    return parse_values(options, values, f"task option of {', '.join(chosen) or 'your own questions'}")


def has_task_option(selectors: Sequence[str], name: str) -> bool:
    """Whether a benchmark among the selectors declares a task option."""
    return any(
        option.name == name for each in _benchmark_names(selectors) for option in get(each).task_options
    )


def choose_protocol(tasks: Iterable[str], requested: Protocol | None = None) -> Protocol:
    """The protocol to score these tasks by: the one asked for, else the first that all of them have.

    Raises UsageError where a benchmark does not have the one asked for.
    """
    benchmarks = {name: get(name) for name in dict.fromkeys(split_selector(task)[0] for task in tasks)}
    for protocol in (requested,) if requested else PROTOCOLS:
        lacking = [name for name, benchmark in benchmarks.items() if protocol not in benchmark.protocols]
        if not lacking:
            return protocol
        if requested:
            has = " and ".join(benchmarks[lacking[0]].protocols)
            raise UsageError(f"{lacking[0]} has no protocol '{requested}', only {has}; leave out --protocol")
    raise UsageError(f"{', '.join(benchmarks)} have no protocol in common; look at them one at a time")


def get_by_task(task: str) -> Benchmark:
    """The benchmark that a task such as `mime/mcq` belongs to."""
    return get(task.partition("/")[0])


def is_file(selector: str) -> bool:
    """Whether the user names a file of questions rather than a benchmark."""
    return is_question_file(selector)


def select(
    selectors: Sequence[str], data: Sequence[str] = (), options: Mapping[str, Any] | None = None
) -> list[Selection]:
    """What `vivant run mime mmrv/… ./mine.jsonl ./my_bench.py --data …` means."""
    options = parse_task_options(selectors, options or {}).variant
    benchmarks = {name: get(name) for name in _benchmark_names(selectors)}
    roots = _roots(data, [benchmark.name for benchmark in benchmarks.values()])
    chosen: list[Selection] = []
    for selector in selectors:
        if is_file(selector):
            name, path = find_question_file(selector, data_root)
            chosen.append(Selection(_get_declared(name, options), (f"{name}/{path.stem}",), path))
            continue
        source, task = split_selector(selector)
        if source in ("jsonl", "vlmevalkit-tsv"):
            example = "./mine.jsonl" if source == "jsonl" else "./MMBench_DEV_EN.tsv"
            raise UsageError(f"Give the path of your questions instead of '{source}', e.g. {example}")
        benchmark = _get_declared(source, options)
        tasks = benchmark.expand(task)
        match = _FILE.fullmatch(source)
        folder = Path(match["path"]).expanduser().parent if match else None
        root = locate(benchmark, roots.get(benchmark.name) or roots.get(""), folder)
        chosen.append(_present(benchmark, tasks, root))
    return chosen


def _get_declared(name: str, options: Mapping[str, Any]) -> Benchmark:
    """The benchmark with those options that it declares; the others belong to another one of the run."""
    declared = {option.key for option in get(name).task_options}
    return get(name, **{key: value for key, value in options.items() if key in declared})


def _present(benchmark: Benchmark, tasks: tuple[str, ...], root: Path) -> Selection:
    """Of several tasks, those whose data are there; a task named alone must be."""
    available = tasks if len(tasks) == 1 else benchmark.data.available(benchmark, root, tasks)
    if not available:
        raise DataError(
            f"{root} holds none of {benchmark.name}'s tasks asked for. {benchmark.data.help}".strip()
        )
    absent = tuple(task for task in tasks if task not in available)
    return Selection(benchmark, tuple(f"{benchmark.name}/{task}" for task in available), root, absent)


def _roots(data: Sequence[str], benchmarks: Sequence[str]) -> dict[str, str]:
    """`--data PATH` or, with several benchmarks, `--data name=PATH`."""
    wanted = set(benchmarks)
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


def data_root() -> Path:
    """The folder that holds one folder per benchmark: `VIVANT_DATA`, else `./data`."""
    remedy = "point VIVANT_DATA at a folder, and fetch into it with `vivant data get NAME --from URL`"
    return on_this_machine(os.environ.get("VIVANT_DATA") or "data", remedy)


def locate(benchmark: Benchmark, data: str | None = None, beside: Path | None = None) -> Path:
    """The folder with a benchmark's data.

    Args:
        benchmark: The benchmark.
        data: What the user says with `--data`; `mini` is the bundled edition.
        beside: The folder of a benchmark's own file, used where nothing else is.
    """
    file = getattr(benchmark, "file", None)
    if beside is None and file is not None and file.path.parent != SUITE:
        beside = file.path.parent
    if data == "mini":
        bundled = mini.root(benchmark.name)
        if bundled is None:
            raise DataError(f"There is no bundled mini-edition of {benchmark.name}")
        return bundled
    if data:
        remedy = f"fetch it once, on every node: vivant data get {benchmark.name} --from {data}"
        path = on_this_machine(data, remedy)
        if not path.exists():
            raise DataError(
                f"Data for {benchmark.name}: {path} does not exist. {benchmark.data.help}".strip()
            )
        return path
    path = data_root() / benchmark.name
    if path.exists():
        return path
    beside = beside or benchmark.data.default_root
    if beside is not None:
        return beside
    from vivant.benchmarks.sources import load_sources

    tail = f" {benchmark.data.help}" if benchmark.data.help else ""
    if benchmark.name in load_sources():
        tail = f" To fetch it: vivant data get {benchmark.name}.{tail}"
    small = " To try the bundled mini-edition: --data mini." if mini.root(benchmark.name) else ""
    raise DataError(f"No data for {benchmark.name}: {path} does not exist; give --data PATH.{small}{tail}")
