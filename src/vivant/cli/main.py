"""`vivant`: one lazily loaded file a command, so that `--help` answers at once."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class Entry(NamedTuple):
    """A command before its module is imported."""

    module: str
    help: str
    panel: str


EVALUATE, ANALYSE, MAKE, SET_UP = "Evaluate", "Analyse", "Make", "Set up"
COMMANDS = {
    "demo": Entry("demo", "Run the baselines on the bundled minis and show the tables.", EVALUATE),
    "run": Entry("run", "Evaluate a model on benchmarks; run it again to resume.", EVALUATE),
    "plan": Entry("plan", "Show what `run` with the same arguments would send; sends nothing.", EVALUATE),
    "import": Entry("import_", "Turn a prediction file into a run.", EVALUATE),
    "score": Entry("score", "Score runs again, with other settings or another protocol.", ANALYSE),
    "table": Entry("table", "Tables of runs: text, CSV, Markdown, LaTeX, JSON.", ANALYSE),
    "export": Entry("export", "Write a run in a benchmark's native files.", ANALYSE),
    "build": Entry("build", "Make benchmarks: render MIME-like videos.", MAKE),
    "benchmarks": Entry("benchmarks", "What can be evaluated: tasks, styles, facets, tables.", SET_UP),
    "models": Entry("models", "What can be evaluated on: backends and what each needs.", SET_UP),
    "data": Entry("data", "Where data are looked for, and whether they are whole.", SET_UP),
}


class LazyGroup(TyperGroup):
    """Lists commands from the table above and imports a command's module when it is called."""

    listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if self.listing:
            return TyperCommand(cmd_name, help=entry.help, rich_help_panel=entry.panel)
        module = import_module(f"vivant.cli.{entry.module}")
        command: Any = typer.main.get_command(module.app)
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self.listing = False


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Evaluate multimodal models on images, video and long interleaved contexts.

    Start with `vivant demo`; then `vivant run mime --data mini --model openai/NAME --base-url URL`.
    """
    if version:
        from vivant import __version__

        print(__version__)
        raise typer.Exit


def main() -> None:
    """Entry point: a user's mistake is one line on standard error and exit code 1."""
    from vivant.errors import VivantError

    try:
        app()
    except VivantError as error:
        if os.environ.get("VIVANT_DEBUG"):
            raise
        print(f"vivant: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        # `vivant table … | head`: the reader has gone, and that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
