"""`vivant benchmarks`."""

from __future__ import annotations

from typing import Annotated

import typer

from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark
from vivant.benchmarks.task_options import TaskOption
from vivant.cli.output import show
from vivant.core.table import Table

app = typer.Typer(add_completion=False)


@app.command()
def benchmarks(
    name: Annotated[str | None, typer.Argument(help="One benchmark, in full.")] = None,
) -> None:
    """What can be evaluated: all benchmarks in a line each, or one of them in full."""
    if name:
        show(_one(registry.get(name)))
        return
    found = [registry.get(each) for each in registry.names()]
    body = tuple(
        (b.name, b.title, ", ".join(b.styles), "yes" if _mini(b.name) else "no", b.summary) for b in found
    )
    show(Table(title="Benchmarks", columns=("name", "title", "styles", "mini", ""), body=body))


def _mini(name: str) -> bool:
    from vivant import mini

    return mini.root(name) is not None


def _value(option: TaskOption) -> str:
    """The default, as a user would write it."""
    if option.default is None or option.default == "":
        return "…"
    return str(option.default).lower() if option.kind == "bool" else str(option.default)


def _one(benchmark: Benchmark) -> Table:
    tasks = ", ".join(f"{benchmark.name}/{task.name}" for task in benchmark.tasks) or "one per file"
    body = [
        ("summary", benchmark.summary),
        ("tasks", tasks),
        ("styles", ", ".join(benchmark.styles)),
        ("facets", ", ".join(benchmark.facets) or "as the data have them"),
        ("protocols", ", ".join(benchmark.protocols)),
        ("scoring settings", ", ".join(f"{k}={v}" for k, v in benchmark.settings.items()) or "none"),
        *((f"--task-option {o.name}={_value(o)}", o.help) for o in benchmark.task_options),
        *((f"--layout {benchmark.name}:{k}", v) for k, v in benchmark.tables.layouts.items()),
        ("exports", ", ".join(benchmark.native.exports) or "none"),
        ("data", benchmark.data.help),
    ]
    return Table(title=benchmark.title, columns=("", ""), body=tuple(body))
