"""`vivant benchmarks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark
from vivant.benchmarks.plugin_files import is_description
from vivant.benchmarks.task_options import TaskOption
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message, print_table
from vivant.cli.run_options import with_run_options
from vivant.core.errors import UsageError, VivantError
from vivant.core.table import Table
from vivant.engine.options import RunOptions

app = CommandApp(invoke_without_command=True)


@app.callback()
def benchmarks(ctx: typer.Context) -> None:
    """List what can be evaluated.

    Examples:

        vivant benchmarks

        vivant benchmarks show mime
    """
    if ctx.invoked_subcommand is None:
        body = tuple(_line(name) for name in registry.list_benchmarks())
        columns = ("name", "title", "styles", "mini", "what it asks")
        optional = ("styles", "mini", "what it asks")
        print_table(Table(title="Benchmarks", columns=columns, body=body, optional=optional))
        print_message(
            "One in full: vivant benchmarks show NAME    one of your own: vivant benchmarks new --help"
        )


@app.command("show")
def show_benchmark(
    name: Annotated[
        str, Argument(metavar="NAME", help="A benchmark, or your own: ./mine.yaml, ./my_bench.py[:Class].")
    ],
) -> None:
    """Show one benchmark in full: tasks, styles, facets, protocols, its own options, tables and export formats.

    Example:

        vivant benchmarks show mime
    """
    print_table(_describe(registry.get(name)))


@app.command()
def new(
    path: Annotated[
        Path | None, Argument(metavar="FILE", help="FILE.yaml for a description, FILE.py for code.")
    ] = None,
    data: Annotated[
        Path | None, Option("--from", metavar="DATA", help="Draft a description of this file or folder.")
    ] = None,
    hub: Annotated[
        str, Option("--from-hub", metavar="ORG/NAME", help="Draft a description of a dataset on the hub.")
    ] = "",
    file: Annotated[
        str, Option("--file", metavar="PATTERN", help="With --from-hub: the data files to look at.")
    ] = "",
) -> None:
    """Begin a benchmark of your own: a description drafted from your data, or an example in Python.

    Examples:

        vivant benchmarks new mine.yaml --from questions.parquet

        vivant benchmarks new --from-hub ORG/NAME

        vivant benchmarks new my_bench.py
    """
    from vivant.cli.benchmark_drafts import draft_from_data, draft_from_hub

    if data is not None and hub:
        raise UsageError("--from and --from-hub are two sources; choose one")
    if hub:
        draft_from_hub(hub, path, file)
    elif data is not None:
        draft_from_data(data, path)
    elif path is None or is_description(path.name):
        raise UsageError("Say what to describe: --from DATA (a file or a folder), or --from-hub ORG/NAME")
    else:
        from vivant.benchmarks.template import write_template

        write_template(path)
        print_message(
            f"Written. Describe your data in load(), then: vivant run ./{path} --data FOLDER --model random"
        )


@app.command()
@with_run_options(only=("data", "style", "task_options", "trust_remote_code"))
def check(options: RunOptions) -> None:
    """Check a benchmark of your own: its file, every row of its data, and ten questions to look at.

    It takes what `vivant run` takes: ./mine.yaml, ./mine.jsonl, ./mine.tsv, ./my_bench.py, hub:ORG/NAME, lmms:TASK.

    Examples:

        vivant benchmarks check ./mine.yaml

        vivant benchmarks check lmms:mine --task-option include=TASKS --trust-remote-code
    """
    from vivant.cli.benchmark_drafts import check_benchmarks

    if not check_benchmarks(options):
        raise typer.Exit(1)


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
        *_describe_origin(benchmark),
    ]
    return Table(title=benchmark.title, columns=("", ""), body=tuple(body))


def _describe_origin(benchmark: Benchmark) -> list[tuple[str, str]]:
    """What a description says about itself."""
    file = getattr(benchmark, "file", None)
    if file is None:
        return []
    rules = dict.fromkeys(rule for spec in file.tasks.values() for rule in spec.rules)
    lines = [("description", str(file.path)), ("follows", file.whole.follows), ("rules", ", ".join(rules))]
    lines += [("not verified", line) for line in file.whole.unverified]
    return [line for line in lines if line[1]]
