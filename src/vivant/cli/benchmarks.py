"""`vivant benchmarks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark
from vivant.benchmarks.task_options import TaskOption
from vivant.cli.help import CommandApp
from vivant.cli.output import print_table, say
from vivant.core.errors import VivantError
from vivant.core.table import Table

app = CommandApp(invoke_without_command=True)


@app.callback()
def benchmarks(ctx: typer.Context) -> None:
    """List what can be evaluated, one line per benchmark."""
    if ctx.invoked_subcommand is None:
        body = tuple(_line(name) for name in registry.names())
        print_table(Table(title="Benchmarks", columns=("name", "title", "styles", "mini", ""), body=body))
        say("One in full: vivant benchmarks show NAME    one of your own: vivant benchmarks new FILE.py")


@app.command("show")
def show_benchmark(
    name: Annotated[str, Argument(metavar="NAME", help="A benchmark, or your own: ./my_bench.py[:Class].")],
) -> None:
    """Show one benchmark in full: tasks, styles, facets, protocols, its own options, tables and export formats."""
    print_table(_describe(registry.get(name)))


@app.command()
def new(path: Annotated[Path, Argument(metavar="FILE.py")]) -> None:
    """Write a working example of a benchmark of your own.

    Example:

        vivant benchmarks new my_bench.py
    """
    from vivant.benchmarks.template import write_template

    write_template(path)
    say(f"Written. Describe your data in load(), then: vivant run ./{path} --data FOLDER --model random")


def _line(name: str) -> tuple[str, ...]:
    """A benchmark's line; a plug-in that cannot be loaded says why and hides no other."""
    try:
        benchmark = registry.get(name)
    except VivantError as error:
        return name, "", "", "no", str(error)
    bundled = "yes" if mini.root(name) is not None else "no"
    return benchmark.name, benchmark.title, ", ".join(benchmark.styles), bundled, benchmark.summary


def _default(option: TaskOption) -> str:
    """The default, as a user would write it."""
    if option.default is None or option.default == "":
        return "…"
    return str(option.default).lower() if option.kind == "bool" else str(option.default)


def _describe(benchmark: Benchmark) -> Table:
    tasks = ", ".join(f"{benchmark.name}/{task.name}" for task in benchmark.tasks) or "one per file"
    groups = ", ".join(f"{benchmark.name}/{group}" for group in benchmark.groups if group)
    body = [
        ("summary", benchmark.summary),
        ("tasks", tasks),
        *([("groups of tasks", groups)] if groups else []),
        ("styles", ", ".join(benchmark.styles)),
        ("facets", ", ".join(benchmark.facets) or "as the data have them"),
        ("protocols", ", ".join(benchmark.protocols)),
        ("scoring settings", ", ".join(f"{k}={v}" for k, v in benchmark.settings.items()) or "none"),
        *((f"--task-option {o.name}={_default(o)}", o.help) for o in benchmark.task_options),
        *((f"--layout {benchmark.name}:{name}", title) for name, title in benchmark.tables.layouts.items()),
        ("exports", ", ".join(benchmark.native.exports) or "none"),
        ("data", benchmark.data.help),
    ]
    return Table(title=benchmark.title, columns=("", ""), body=tuple(body))
