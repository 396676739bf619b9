"""Measure how large each package is, and compare it with its budget in tools/budget.toml.

python tools/budget.py            exit with 1 if a figure exceeds its budget
python tools/budget.py --write    set every budget to the measured figure
"""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from inspect import CO_OPTIMIZED
from itertools import combinations
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUDGET = "tools/budget.toml"
KINDS = {
    "lines": "lines of Python in src",
    "files": "Python files in src",
    "commands": "commands, without the groups that contain them",
    "options": "options with different names",
    "long_functions": "functions longer than 60 lines",
    "any": "uses of `Any`",
    "broad_excepts": "`except Exception`, `except BaseException` and `except:`",
    "duplicate_blocks": "pairs of places with the same 6 or more lines",
    "run_files": "files in which `vivant run mime/mcq --data mini --model random --limit 1` calls a function",
    "table_files": "files in which `vivant table` of that run calls a function",
}
TRACED = ("run_files", "table_files")
HEADER = """\
# Upper limits for each package. `make check` fails if one is exceeded. If you need more, raise the number in the same
# commit and say why. `tools/budget.py --write` sets all numbers to what is measured.
#"""
REMEDY = f"Make it smaller, or raise {BUDGET} in the same commit and say why."
LONGEST_FUNCTION = 60
SHORTEST_BLOCK = 6

Counts = Counter[str]
"""Counts of one kind by file. Their sum is the figure."""
Measured = dict[str, Counts]
"""Return the counts of one package by kind."""

_STRING_OR_COMMENT = re.compile(r'("""|\'\'\')[\s\S]*?\1|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*')
_IMPORT = re.compile(r"^[ \t]*(?:from [\w.]+ )?import (?:\([^)]*\)|.*)$", re.MULTILINE)


def measure_sources(root: Path, package: str) -> Measured:
    """Count what the source files alone show."""
    measured: Measured = {
        kind: Counter() for kind in ("lines", "files", "long_functions", "any", "broad_excepts")
    }
    sources: dict[str, str] = {}
    for path in sorted((root / "packages" / package / "src").rglob("*.py")):
        name, text = path.relative_to(root).as_posix(), path.read_text()
        sources[name] = text
        measured["lines"][name] = text.count("\n")
        measured["files"][name] = 1
        measured["any"][name] = len(re.findall(r"\bAny\b", _IMPORT.sub("", _STRING_OR_COMMENT.sub("", text))))
        for node in _list_statements(ast.parse(text, name)):
            if isinstance(node, ast.ExceptHandler):
                measured["broad_excepts"][name] += _is_broad(node.type)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                measured["long_functions"][name] += length > LONGEST_FUNCTION
    return {**measured, "duplicate_blocks": count_duplicates(sources)}


def _list_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk statements only: expressions are most of a tree, and nothing counted here is in one."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        children = getattr(tree, field, ())
        for node in children if isinstance(children, list) else ():
            yield node
            yield from _list_statements(node)


def _is_broad(caught: ast.expr | None) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in ("Exception", "BaseException"))
        for name in names
    )


def count_duplicates(sources: Mapping[str, str]) -> Counts:
    """Count pairs of identical blocks; the later file of a pair gets the count.

    Imports, comments and lines without a word are left out. A longer block counts once, not once for each line.
    """
    lines: list[tuple[str, str]] = []
    for name, text in sources.items():
        lines.append((name, f"# start of {name}"))  # so that no block reaches from one file into the next
        kept = (line.strip() for line in _IMPORT.sub("", text).splitlines())
        lines += [(name, line) for line in kept if re.search(r"\w", line) and not line.startswith("#")]
    windows: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    texts = [line for _, line in lines]
    for start in range(len(texts) - SHORTEST_BLOCK + 1):
        windows[tuple(texts[start : start + SHORTEST_BLOCK])].append(start)
    blocks: Counts = Counter()
    for starts in windows.values():
        for first, second in combinations(starts, 2):
            if second - first >= SHORTEST_BLOCK and texts[first - 1] != texts[second - 1]:
                blocks[lines[second][0]] += 1
    return blocks


def measure_commands() -> dict[str, Measured]:
    """Count commands and options of every package by loading the whole command line."""
    import typer

    from vivant.cli.main import app

    measured: dict[str, Measured] = defaultdict(lambda: {"commands": Counter(), "options": Counter()})
    seen: set[tuple[str, str]] = set()
    for command, is_leaf in _list_commands(typer.main.get_command(app)):
        module = command.callback.__module__
        package = module.partition(".")[0].replace("_", "-")
        file = f"packages/{package}/src/{module.replace('.', '/')}.py"
        measured[package]["commands"][file] += is_leaf
        for option in {param.opts[0] for param in command.params if param.param_type_name == "option"}:
            if option != "--help" and (package, option) not in seen:
                seen.add((package, option))
                measured[package]["options"][file] += 1
    return measured


def _list_commands(command: Any) -> Iterator[tuple[Any, bool]]:
    names = command.list_commands(None) if hasattr(command, "list_commands") else ()
    if command.callback is not None:
        yield command, not names
    for name in names:
        yield from _list_commands(command.get_command(None, name))


def measure_traces(root: Path) -> Measured:
    """Count the files that a small run, and the table of it, enter."""
    with tempfile.TemporaryDirectory() as folder:
        run = ("run", "mime/mcq", "--data", "mini", "--model", "random", "--limit", "1", "--out", "traced")
        return {
            "run_files": _trace_process(root, Path(folder), *run),
            "table_files": _trace_process(root, Path(folder), "table", "traced"),
        }


def _trace_process(root: Path, folder: Path, *arguments: str) -> Counts:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VIVANT_")}
    environment |= {"VIVANT_CACHE": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config")}
    command = [sys.executable, __file__, "--trace", "entered.txt", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"budget: `vivant {' '.join(arguments)}` failed, so it can't be traced:\n{done.stderr}")
    packages = f"{root}/packages/"
    entered = {os.path.realpath(path) for path in (folder / "entered.txt").read_text().splitlines()}
    counts = Counter(Path(path).relative_to(root).as_posix() for path in entered if path.startswith(packages))
    if not counts:
        sys.exit(f"budget: `vivant` isn't installed from {packages}. Run `make check`, which installs it.")
    return counts


def trace_command(output: Path, arguments: list[str]) -> None:
    """Run `vivant` in this process, and write the files in which a function was called, in any thread.

    Code that runs on import (modules, bodies of classes, comprehensions) doesn't count.
    """
    entered: set[CodeType] = set()

    def note(frame: Any, event: str, _argument: object) -> None:
        if event == "call":
            entered.add(frame.f_code)

    sys.argv = ["vivant", *arguments]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        from vivant.cli.main import main

        main()
    finally:
        sys.setprofile(None)
        functions = (code for code in entered if code.co_flags & CO_OPTIMIZED and code.co_name.isidentifier())
        output.write_text("\n".join(sorted({code.co_filename for code in functions})))


def measure(root: Path, wanted: Mapping[str, Iterable[str]]) -> dict[str, Measured]:
    """Measure the wanted kinds of each package, and load or run nothing that they don't need."""
    kinds = {kind for own in wanted.values() for kind in own}
    commands = measure_commands() if kinds & {"commands", "options"} else {}
    traces = measure_traces(root) if kinds & set(TRACED) else {}
    measured = {}
    for package, own in wanted.items():
        counts = measure_sources(root, package) | commands.get(package, {}) | traces
        measured[package] = {kind: counts.get(kind, Counter()) for kind in own}
    return measured


def measure_before(root: Path, packages: Iterable[str]) -> dict[str, Measured]:
    """Measure the sources of the commit that last changed the budget; empty without git."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True).stdout

    try:
        commit = git("log", "-1", "--format=%H", "--", BUDGET).decode().strip()
        archive = git("archive", commit, "packages")
    except (OSError, subprocess.CalledProcessError):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        return {package: measure_sources(Path(folder), package) for package in packages}


def find_cause(kind: str, now: Measured, before: Measured) -> str:
    """Name the file that most likely explains an exceeded budget."""
    # What a source alone doesn't show is explained by the lines that a file gained.
    by = kind if kind in before else "lines"
    growth = {name: now[by][name] - before[by][name] for name in sorted(now[kind])} if before else {}
    file = max(growth, key=growth.__getitem__, default="")
    if file and growth[file] > 0:
        return f"{file} grew most ({growth[file]:+})"
    file = max(sorted(now[kind]), key=now[kind].__getitem__)
    return f"{file} has most ({now[kind][file]})"


def format_figures(measured: Mapping[str, Measured], budget: Mapping[str, Mapping[str, int]]) -> str:
    """Format measured figures and budgets: a row for each kind, a column for each package."""
    rows = [["measured / budget", *measured]]
    for kind in KINDS:
        pairs = [
            (own.get(kind, Counter()).total(), budget[package].get(kind)) for package, own in measured.items()
        ]
        rows.append([kind, *("" if limit is None else f"{figure} / {limit}" for figure, limit in pairs)])
    return "\n".join(f"{row[0]:<17}{''.join(f'{cell:>18}' for cell in row[1:])}".rstrip() for row in rows)


def write_budget(path: Path, measured: Mapping[str, Measured]) -> None:
    """Write the measured figures as the new budget."""
    lines = [HEADER, *(f"# {kind}: {meaning}" for kind, meaning in KINDS.items())]
    for package, own in measured.items():
        lines += ["", f"[{package}]", *(f"{kind} = {counts.total()}" for kind, counts in own.items())]
    path.write_text("\n".join(lines) + "\n")


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Compare, or write; return the exit code. Only kinds that the budget states are measured."""
    path = root / BUDGET
    budget: dict[str, dict[str, int]] = tomllib.loads(path.read_text())
    measured = measure(root, budget)
    if arguments == ["--write"]:
        write_budget(path, measured)
        return 0
    print(format_figures(measured, budget))
    exceeded = [
        (package, kind)
        for package, own in measured.items()
        for kind, counts in own.items()
        if counts.total() > budget[package][kind]
    ]
    before = measure_before(root, {package for package, _ in exceeded}) if exceeded else {}
    failures = [
        f"{package}: {KINDS[kind]}: {measured[package][kind].total()}, the budget is {budget[package][kind]}: "
        f"{find_cause(kind, measured[package], before.get(package, {}))}. {REMEDY}"
        for package, kind in exceeded
    ]
    print("\n".join(failures), file=sys.stderr, end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--trace"]:
        trace_command(Path(sys.argv[2]), sys.argv[3:])
    else:
        sys.exit(main(sys.argv[1:]))
