"""`vivant benchmarks`."""

from __future__ import annotations

from typing import Annotated

import typer

from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark
from vivant.benchmarks.task_options import TaskOption
from vivant.cli.help import CommandApp
from vivant.cli.output import say, show
from vivant.core.table import Table

app = CommandApp(invoke_without_command=True)


@app.callback()
def benchmarks(ctx: typer.Context) -> None:
    """List what can be evaluated, one benchmark a line."""
    if ctx.invoked_subcommand is not None:
        return
    body = tuple(
        (b.name, b.title, ", ".join(b.styles), "yes" if mini.root(b.name) is not None else "no", b.summary)
        for b in map(registry.get, registry.names())
    )
    show(Table(title="Benchmarks", columns=("name", "title", "styles", "mini", ""), body=body))
    say("One of them in full: vivant benchmarks show NAME")


@app.command(name="show")
def show_benchmark(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A benchmark, e.g. mime.")],
) -> None:
    """Show one benchmark: tasks, styles, facets, options, tables, where its data come from."""
    show(_describe(registry.get(name)))


def _format_value(option: TaskOption) -> str:
    """The default, as a user would write it."""
    if option.default is None or option.default == "":
        return "…"
    return str(option.default).lower() if option.kind == "bool" else str(option.default)


def _describe(benchmark: Benchmark) -> Table:
    tasks = ", ".join(f"{benchmark.name}/{task.name}" for task in benchmark.tasks) or "one per file"
    body = [
        ("summary", benchmark.summary),
        ("tasks", tasks),
        ("styles", ", ".join(benchmark.styles)),
        ("facets", ", ".join(benchmark.facets) or "as the data have them"),
        ("protocols", ", ".join(benchmark.protocols)),
        ("scoring settings", ", ".join(f"{k}={v}" for k, v in benchmark.settings.items()) or "none"),
        *((f"--task-option {o.name}={_format_value(o)}", o.help) for o in benchmark.task_options),
        *((f"--layout {benchmark.name}:{k}", v) for k, v in benchmark.tables.layouts.items()),
        ("exports", ", ".join(benchmark.native.exports) or "none"),
        ("data", benchmark.data.help),
    ]
    return Table(title=benchmark.title, columns=("", ""), body=tuple(body))
