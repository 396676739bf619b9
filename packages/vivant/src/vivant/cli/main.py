"""`vivant`: one lazily loaded file a command, so that `--help` answers at once."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer import Option
from typer.core import TyperGroup

from vivant.core.errors import VivantError
from vivant.hooks import COMMANDS as HOOK
from vivant.hooks import (
    PRODUCTS,
    Command,
    describe_error,
    format_missing,
    hook_error,
    list_hooks,
    load_hook,
    missing_product_error,
)

EVALUATE, ANALYSE, PEOPLE, MAKE, SET_UP = "Evaluate", "Analyze", "People", "Make", "Set up"
PANELS = (EVALUATE, ANALYSE, PEOPLE, MAKE, SET_UP)
COMMANDS = {
    "demo": Command(
        "vivant.cli.demo:app", "Run a bundled model and two baselines, and show the table.", EVALUATE
    ),
    "run": Command("vivant.cli.run:app", "Evaluate a model on benchmarks; run it again to resume.", EVALUATE),
    "plan": Command(
        "vivant.cli.plan:app", "Show what `run` would send, and what it costs; sends nothing.", EVALUATE
    ),
    "sweep": Command(
        "vivant.cli.sweep:app", "Score against the number of frames, in one table and one figure.", EVALUATE
    ),
    "subset": Command(
        "vivant.cli.subset:app", "A few samples that predict the score on all, from past runs.", EVALUATE
    ),
    "watch": Command("vivant.cli.watch:app", "Evaluate a training's checkpoints as they appear.", EVALUATE),
    "import": Command("vivant.cli.import_:app", "Turn a prediction file into a run.", EVALUATE),
    "serve": Command(
        "vivant.cli.serve:app", "Offer a model to other tools, as an OpenAI-compatible server.", EVALUATE
    ),
    "score": Command(
        "vivant.cli.score:app", "Score runs again, with other settings or another protocol.", ANALYSE
    ),
    "table": Command("vivant.cli.table:app", "Tables of runs: text, CSV, Markdown, LaTeX, JSON.", ANALYSE),
    "report": Command(
        "vivant.cli.report:app", "One HTML file: what was found, tables, figures, settings.", ANALYSE
    ),
    "board": Command(
        "vivant.cli.board:app", "A leaderboard of runs as a static site; check submissions.", ANALYSE
    ),
    "compare": Command(
        "vivant.cli.compare:app", "Runs against each other, sample by sample, with tests.", ANALYSE
    ),
    "items": Command(
        "vivant.cli.items:app", "Which items are hard, suspect, ambiguous or given away.", ANALYSE
    ),
    "rank": Command("vivant.cli.rank:app", "Who is first, how sure that is, and what to ask next.", ANALYSE),
    "view": Command("vivant.cli.view:app", "Look at runs in the browser, sample by sample.", ANALYSE),
    "reasoning": Command(
        "vivant.cli.reasoning:app", "What models reason about, and how they go wrong.", ANALYSE
    ),
    "audit": Command(
        "vivant.cli.audit:app", "Where published figures do not add up, with the arithmetic.", ANALYSE
    ),
    "figures": Command(
        "vivant.cli.figures:app", "Draw the figures of the benchmarks: SVG, PDF or PNG.", ANALYSE
    ),
    "judge": Command("vivant.cli.judge:app", "Plan which judgements by people to ask for next.", ANALYSE),
    "judge-check": Command(
        "vivant.cli.judge_check:app", "How good is a judge? Its scores beside people's.", ANALYSE
    ),
    "export": Command("vivant.cli.export:app", "Write a run in a benchmark's native files.", ANALYSE),
    "publish": Command(
        "vivant.cli.publish:app", "Give results to a hub, a model's card, W&B, MLflow, TensorBoard.", ANALYSE
    ),
    "mimic": Command(
        "vivant.cli.mimic:app", "Who passes as human? Blind packs of comments, judgements, scores.", PEOPLE
    ),
    "benchmarks": Command(
        "vivant.cli.benchmarks:app", "What can be evaluated: tasks, styles, facets, tables.", SET_UP
    ),
    "recipes": Command(
        "vivant.cli.recipes:app", "How each published row was asked; read the original prompts.", SET_UP
    ),
    "models": Command(
        "vivant.cli.models:app", "Which models can be evaluated: backends, and what each needs.", SET_UP
    ),
    "data": Command("vivant.cli.data:app", "Where data are looked for; fetch them, check them.", SET_UP),
    "cache": Command("vivant.cli.cache:app", "What the caches hold, and making room.", SET_UP),
}


class LazyGroup(TyperGroup):
    """Lists the commands above and those of installed packages, and imports a command when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(_list_commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        if entry is None and cmd_name not in list_hooks(HOOK):
            return None
        command = _load_app(entry) if entry is not None else _load_hook_app(cmd_name)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if (
            args
            and not args[0].startswith("-")
            and args[0] not in COMMANDS
            and args[0] not in list_hooks(HOOK)
        ):
            from vivant.core.errors import unknown_name_error

            if args[0] in PRODUCTS:
                raise missing_product_error(args[0])
            raise unknown_name_error("command", args[0], _list_commands(), "(see `vivant --help`)")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        # Typer's own rendering loads Rich's Markdown, tracebacks and more: twice the time of all the rest.
        out = [
            "",
            " Usage: vivant COMMAND [OPTIONS]",
            "",
            *(f" {line}" for line in (self.help or "").strip().splitlines()),
        ]
        commands = _list_commands()
        for panel in dict.fromkeys((*PANELS, *(entry.panel for entry in commands.values()))):
            rows = [f"   {name:<12}{e.help}" for name, e in commands.items() if e.panel == panel]
            out += ["", typer.style(f" {panel}", bold=True), *rows] if rows else []
        out += ["", typer.style(" Options, before COMMAND", bold=True)]
        options: list[Any] = [param for param in self.params if param.name != "help"]
        out += [f"   {', '.join(p.opts):<15}{p.help}" for p in options]
        if missing := [name for name in PRODUCTS if name not in commands]:
            out += ["", format_missing(missing)]
        out += ["", " vivant COMMAND --help explains a command.", ""]
        typer.echo("\n".join(out))


def _list_commands() -> dict[str, Command]:
    commands = dict(COMMANDS)
    for name in sorted(list_hooks(HOOK)):
        try:
            commands.setdefault(name, _load_hook_command(name))
        except VivantError as error:  # a broken package must not take the help of all others with it
            commands.setdefault(name, Command("", str(error)))
    return commands


def _load_hook_command(name: str) -> Command:
    command = load_hook(HOOK, name)
    if not isinstance(command, Command):
        raise hook_error(HOOK, name, f"is {type(command).__name__}, not a vivant.hooks.Command")
    return command


def _load_hook_app(name: str) -> Any:
    command = _load_hook_command(name)
    try:
        return _load_app(command)
    except Exception as error:
        raise hook_error(HOOK, name, f"cannot load {command.app}: {describe_error(error)}") from error


def _load_app(command: Command) -> Any:
    module, _, attribute = command.app.partition(":")
    return typer.main.get_command(getattr(import_module(module), attribute))


# Click's own class, of which some versions of Typer bring a copy.
_UsageError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(cls=LazyGroup, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        from vivant import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def root(
    quiet: bool = Option(False, "--quiet", "-q", help="Print results, warnings and errors only."),
    verbose: bool = Option(False, "--verbose", "-v", help="Print details too."),
    _version: bool = Option(
        False, "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
    ),
) -> None:
    """Evaluate multimodal models on images, video and long interleaved contexts.

    Start with `vivant demo`; then:
    vivant run mime --data mini --model openai/NAME --base-url URL
    """
    from vivant.cli.output import print_log

    print_log(quiet=quiet, verbose=verbose)


def main() -> None:
    """Entry point: a user's mistake is one line on standard error and exit code 1."""
    try:
        code = app(prog_name="vivant", standalone_mode=False)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
        else:
            print(f"vivant: {_describe_usage(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except typer.Abort:
        print("vivant: stopped", file=sys.stderr)
        sys.exit(1)
    except VivantError as error:
        if os.environ.get("VIVANT_DEBUG"):
            raise
        print(f"vivant: {error}", file=sys.stderr)
        sys.exit(1)
    except ModuleNotFoundError as error:
        from vivant.core.optional_packages import describe_missing

        remedy = describe_missing(error)
        if not remedy or os.environ.get("VIVANT_DEBUG"):
            raise
        command = next((word for word in sys.argv[1:] if not word.startswith("-")), "vivant")
        print(f"vivant: {command} {remedy}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        # `vivant table … | head`: the reader has exited, which is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _describe_usage(error: Any) -> str:
    """What is wrong with the words of a command, in the form of all other mistakes."""
    near = getattr(error, "possibilities", None)
    text = f"{error.message}; did you mean {near[0]}?" if near else error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx is not None else "vivant"
    # Some versions of Typer put "Value error, " before what is wrong with a choice.
    return f"{text.replace('Value error, ', '')} (see `{command} --help`)"
